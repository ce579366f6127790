//! The profiles that are part of the crate.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::path::Path;

use dml::profiles::{Error, Limit, Origin, Profile, all, find, names};
use dml_core::capabilities::{CapabilityCap, Feature, Features};

#[test]
fn every_file_is_part_of_the_crate_and_loads() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("profiles");
    let mut files = BTreeSet::new();
    for kind in ["extremes", "devices"] {
        for entry in std::fs::read_dir(folder.join(kind)).unwrap() {
            let path = entry.unwrap().path();
            let profile = Profile::read(&path).unwrap();
            assert_eq!(profile.is_device(), kind == "devices", "{}", path.display());
            assert_eq!(find(&profile.name).unwrap(), profile);
            files.insert(profile.name);
        }
    }
    assert_eq!(names().map(str::to_owned).collect::<BTreeSet<_>>(), files);
    assert_eq!(all().unwrap().len(), 68 + 7);
}

#[test]
fn a_device_states_every_feature_and_the_limits_that_every_report_has() {
    let sometimes_absent = [
        Limit::MaxBufferSize,
        Limit::MaxPerStageDescriptorStorageBuffers,
        Limit::MaxComputeWorkGroupSizeX,
        Limit::MaxComputeWorkGroupSizeY,
        Limit::MaxComputeWorkGroupSizeZ,
        // A fact of the host device, which a cap does not change.
        Limit::SubgroupSize,
        Limit::MinSubgroupSize,
        Limit::MaxSubgroupSize,
        Limit::CooperativeMatrixM,
        Limit::CooperativeMatrixN,
        Limit::CooperativeMatrixK,
    ];
    for profile in all().unwrap().iter().filter(|it| it.is_device()) {
        // Features that a file leaves out are assumed missing, except those of every device.
        for feature in Features::ALL.without(Features::LEAST).iter() {
            assert!(profile.cap.feature(feature).is_some(), "{}: {feature}", profile.name);
        }
        assert_eq!(profile.cap.alone().features.and(Features::LEAST), Features::LEAST);
        for limit in Limit::ALL.iter().filter(|limit| !sometimes_absent.contains(limit)) {
            assert!(profile.cap.limit(*limit).is_some(), "{}: {}", profile.name, limit.name());
        }
        let limits = profile.cap.alone().limits;
        assert!(limits.max_storage_buffer_range >= 1 << 27, "{}", profile.name);
        assert!(limits.max_memory_allocation_size >= 1 << 30, "{}", profile.name);
        assert!(limits.max_compute_work_group_count.iter().all(|it| *it >= 65_535));
        assert!(limits.max_push_constants_size >= 128, "{}", profile.name);
        // None of the reports that the files are from was read for these.
        let uniform = (
            limits.max_uniform_buffer_range,
            limits.min_uniform_buffer_offset_alignment,
            limits.max_per_stage_descriptor_uniform_buffers,
        );
        assert_eq!(uniform, (16 << 10, 256, 12), "{}", profile.name);
        assert_eq!(limits.max_compute_shared_memory_size, 16 << 10, "{}", profile.name);
    }
}

#[test]
fn a_device_has_what_its_report_has() {
    let profile = find("apple-m1-0-2-1911-osx-11-2").unwrap();
    let Origin::Device { device, driver, source } = &profile.origin else { panic!("a device") };
    assert_eq!((device.as_str(), driver.as_str()), ("Apple M1", "0.2.1911 on macOS 11.2"));
    assert!(source.ends_with("report apple_m1_0_2_1911_osx_11_2"));
    assert_eq!(profile.cap.api_version().unwrap().to_string(), "1.1.176");
    assert_eq!(profile.cap.feature(Feature::ShaderFloat64), Some(false));
    assert_eq!(profile.cap.limit(Limit::MinStorageBufferOffsetAlignment), Some(16));
    let profile = find("nvidia-geforce-gtx-660-470-161-3-0-ubuntu-22-04").unwrap();
    assert_eq!(profile.cap.alone().limits.max_compute_work_group_size, [1536, 1024, 64]);
}

#[test]
fn the_profile_without_features_states_every_one_that_a_kernel_could_use() {
    let profile = find("no-optional-features").unwrap();
    assert_eq!(profile.cap, CapabilityCap::NONE.without_features());
}

#[test]
fn a_profile_is_found_by_name_a_part_of_it_or_path() {
    assert_eq!(find("api-1-1").unwrap().name, "api-1-1");
    for part in ["5090", "RTX 5090", "rtx_5090"] {
        assert_eq!(find(part).unwrap().name, "nvidia-geforce-rtx-5090-610-43-2-0-freebsd-15-1");
    }
    let error = find("apple").unwrap_err().to_string();
    let expected =
        "'apple' is in the names of several profiles; accepted: one of apple-m1-0-2-1911";
    assert!(error.starts_with(expected), "{error}");
    let error = find("riva 128").unwrap_err().to_string();
    assert!(error.contains("no-transfer-usage") && error.contains("68 devices"), "{error}");
    let error = find("adreno").unwrap_err().to_string();
    assert!(error.starts_with("no profile is called 'adreno'; accepted: "), "{error}");
    assert!(error.contains("amd, apple, intel, llvmpipe, nvidia, radeon"), "{error}");
    let error = find("storage-range-16-kb").unwrap_err().to_string();
    assert!(error.contains("(did you mean storage-range-16-kib"), "{error}");
    let error = find("gefroce").unwrap_err().to_string();
    assert!(error.contains("(did you mean nvidia-geforce-gtx-"), "{error}");
    assert!(matches!(find("no/such/file.toml"), Err(Error::Read { .. })));
    assert!(matches!(find("nosuch.toml"), Err(Error::Read { .. })));
}
