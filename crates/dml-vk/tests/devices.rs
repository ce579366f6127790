//! Which devices there are, and how one is chosen.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::instance;
use dml_vk::{Device, DeviceSelector, DeviceType};

#[test]
fn every_device_says_who_it_is_and_what_it_can() {
    let (_messages, instance) = instance();
    let devices = instance.physical_devices().unwrap();
    assert!(!devices.is_empty(), "there is no Vulkan device: run `cargo xtask test`");
    for device in devices {
        let info = device.info();
        assert!(!info.name.is_empty());
        assert!(info.api_version >= dml_vk::ash::vk::API_VERSION_1_1);
        assert_eq!(info.device_uuid_text().len(), 36);
        let limits = &device.capabilities().limits;
        assert!(limits.max_storage_buffer_range >= 1 << 27);
        assert!(limits.min_storage_buffer_offset_alignment.is_power_of_two());
        assert!(limits.min_storage_buffer_offset_alignment <= 256);
        assert!(limits.max_memory_allocation_size >= 1 << 30);
        assert!(limits.max_buffer_size >= 1 << 30);
        assert!(limits.max_push_constants_size >= 128);
        assert!(limits.max_compute_shared_memory_size >= 16 << 10);
        let sizes = limits.min_subgroup_size..=limits.max_subgroup_size;
        assert!(sizes.contains(&limits.subgroup_size) && limits.subgroup_size > 0);
        if device.unsuitable().is_none() {
            let created = Device::new(&device).unwrap();
            assert_eq!(created.capabilities().limits, *limits);
            let features = device.capabilities().features;
            assert_eq!(created.offered().features, features);
        }
    }
}

/// `cargo xtask test` names the drivers that it brings: one that does not answer tests nothing.
#[test]
fn the_devices_that_must_answer_do() {
    let wanted = std::env::var("DML_TEST_DEVICES").unwrap_or_default();
    let (_messages, instance) = instance();
    let devices = instance.physical_devices().unwrap();
    let names: Vec<&str> = devices
        .iter()
        .filter(|device| device.unsuitable().is_none())
        .map(|device| device.info().name.as_str())
        .collect();
    for part in wanted.split(',').filter(|it| !it.is_empty()) {
        let is_there = names.iter().any(|name| name.contains(part));
        assert!(is_there, "{part} does not answer, see `cargo xtask setup`; {names:?} do");
    }
}

#[test]
fn a_device_is_found_by_index_name_and_uuid() {
    let (_messages, instance) = instance();
    for (index, device) in instance.physical_devices().unwrap().iter().enumerate() {
        if device.unsuitable().is_some() {
            continue;
        }
        let info = device.info();
        let by_index = instance.select(&DeviceSelector::Index(index)).unwrap();
        assert_eq!(by_index.info(), info);
        let uuid: DeviceSelector = info.device_uuid_text().parse().unwrap();
        assert_eq!(instance.select(&uuid).unwrap().info(), info);
        let name = DeviceSelector::Name(info.name.to_uppercase());
        assert_eq!(instance.select(&name).unwrap().info(), info);
    }
}

#[test]
fn a_selector_that_names_none_or_several_lists_the_devices() {
    let (_messages, instance) = instance();
    let devices = instance.physical_devices().unwrap();
    for selector in [
        DeviceSelector::Name("no such device".to_owned()),
        DeviceSelector::Index(devices.len()),
        DeviceSelector::Uuid([0xA5; 16]),
    ] {
        let error = instance.select(&selector).unwrap_err();
        assert!(error.is_invalid());
        let first = format!("; devices are: 0: {} (", devices[0].info().name);
        let error = error.to_string();
        assert!(error.starts_with("no device ") && error.contains(&first), "{error}");
    }
    if devices.len() > 1 {
        let error = instance.select(&DeviceSelector::Name(String::new())).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("several devices whose name contains ''; devices are: 0: "),
            "{error}"
        );
    }
}

#[test]
fn the_best_device_is_the_first_of_the_most_preferred() {
    let (_messages, instance) = instance();
    let devices = instance.physical_devices().unwrap();
    let usable: Vec<_> = devices.iter().filter(|device| device.unsuitable().is_none()).collect();
    let best = instance.select(&DeviceSelector::Best).unwrap();
    let first = usable.iter().min_by_key(|device| device.info().preference()).unwrap();
    assert_eq!(best.info(), first.info());
    assert!(DeviceType::Discrete < DeviceType::Integrated);
    assert!(DeviceType::Virtual < DeviceType::Cpu);
}
