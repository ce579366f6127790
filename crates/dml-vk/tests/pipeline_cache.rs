//! The pipeline cache on disk: it is written, found again, and nothing wrong reaches a driver.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "a replacement for one of Vulkan's functions")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::kernels::{plan, ramp};
use common::{
    NoMessages, bind, buffer, compile, execute, instance, instance_with, one_at_a_time, words,
};
use dml_core::plan::Slot;
use dml_fault::usable_devices;
use dml_vk::ash::vk;
use dml_vk::{Device, DeviceDesc, Instance, InstanceDesc, PhysicalDevice};

fn desc(folder: &Path) -> DeviceDesc {
    DeviceDesc { pipeline_cache: Some(folder.to_owned()), ..DeviceDesc::default() }
}

/// Runs one operator on a device of its own, and drops the device.
fn run(physical: &PhysicalDevice, desc: &DeviceDesc) {
    drop(run_and_keep(physical, desc));
}

fn run_and_keep(physical: &PhysicalDevice, desc: &DeviceDesc) -> Device {
    let device = Device::with_desc(physical, desc).unwrap();
    let compiled = compile(&device, plan(256, vec![ramp(Slot::Output(0), 0..256, 5)]));
    let buffer = buffer(&device, 256);
    execute(&device, &bind(&compiled, &buffer));
    let found = words(&device.read_buffer(&buffer, 0..256).unwrap());
    assert_eq!(found, (5..69).collect::<Vec<u32>>());
    device
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Bytes of initial data in the last call of vkCreatePipelineCache.
static INITIAL: AtomicUsize = AtomicUsize::new(0);

/// Vulkan with a look at what drivers are given.
fn watched() -> (NoMessages, Instance) {
    let entry_points = dml_fault::replacing! {
        vkCreatePipelineCache = PFN_vkCreatePipelineCache(
            device: vk::Device,
            info: *const vk::PipelineCacheCreateInfo<'_>,
            callbacks: *const vk::AllocationCallbacks<'_>,
            cache: *mut vk::PipelineCache,
        ) -> vk::Result, |original| {
            // SAFETY: Vulkan demands that `info` is valid.
            INITIAL.store(unsafe { (*info).initial_data_size }, Ordering::SeqCst);
            // SAFETY: the caller keeps the function's own contract.
            unsafe { original(device, info, callbacks, cache) }
        }
    };
    instance_with(InstanceDesc { entry_points, ..InstanceDesc::default() })
}

#[test]
fn pipelines_are_kept_and_given_back_to_the_driver() {
    let _guard = one_at_a_time();
    let (_messages, instance) = watched();
    for physical in usable_devices(&instance) {
        let folder = tempfile::tempdir().unwrap();
        let desc = desc(&folder.path().join("made/as/needed"));
        let inner = desc.pipeline_cache.clone().unwrap();
        run(&physical, &desc);
        assert_eq!(INITIAL.load(Ordering::SeqCst), 0);
        let [file] = &files(&inner)[..] else { panic!("one file for one device") };
        let written = fs::read(file).unwrap();
        run(&physical, &desc);
        println!("{}: {} bytes", physical.info().name, written.len());
        assert_eq!(INITIAL.load(Ordering::SeqCst) + 24, written.len());
        assert_eq!(files(&inner).len(), 1);
    }
}

#[test]
fn nothing_wrong_reaches_a_driver_and_everything_wrong_is_replaced() {
    let _guard = one_at_a_time();
    let (_messages, instance) = watched();
    for physical in usable_devices(&instance) {
        let folder = tempfile::tempdir().unwrap();
        let desc = desc(folder.path());
        run(&physical, &desc);
        let file = files(folder.path()).pop().unwrap();
        let good = fs::read(&file).unwrap();
        let flipped = |at: usize| {
            let mut bad = good.clone();
            bad[at] ^= 1;
            bad
        };
        // Damaged in both headers and at the end, truncated, empty, longer, something else.
        let bad = [
            flipped(0),
            flipped(13),
            flipped(24 + 20),
            flipped(good.len() - 1),
            good[..good.len() / 2].to_vec(),
            vec![],
            [&good[..], &good[..]].concat(),
            b"GIF89a".to_vec(),
        ];
        for (index, bad) in bad.iter().enumerate() {
            fs::write(&file, bad).unwrap();
            run(&physical, &desc);
            assert_eq!(INITIAL.load(Ordering::SeqCst), 0, "wrong file {index}");
            run(&physical, &desc);
            assert_ne!(INITIAL.load(Ordering::SeqCst), 0, "wrong file {index} was not replaced");
        }
    }
}

#[test]
fn the_file_of_another_device_is_foreign() {
    let _guard = one_at_a_time();
    let (_messages, instance) = watched();
    let devices: Vec<_> = usable_devices(&instance);
    for (one, other) in devices.iter().zip(devices.iter().skip(1)) {
        let folder = tempfile::tempdir().unwrap();
        run(one, &desc(folder.path()));
        let ones = files(folder.path()).pop().unwrap();
        run(other, &desc(folder.path()));
        let others = files(folder.path()).into_iter().find(|it| *it != ones).unwrap();
        fs::copy(&ones, &others).unwrap();
        run(other, &desc(folder.path()));
        assert_eq!(INITIAL.load(Ordering::SeqCst), 0);
        assert_ne!(fs::read(&others).unwrap(), fs::read(&ones).unwrap());
    }
}

#[test]
fn a_folder_that_cannot_be_is_no_error() {
    let (_messages, instance) = instance();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a file");
    fs::write(&file, b"kept").unwrap();
    for physical in usable_devices(&instance) {
        run(&physical, &desc(&file.join("below")));
    }
    assert_eq!(fs::read(&file).unwrap(), b"kept");
}

#[test]
fn by_default_nothing_is_kept_and_unused_devices_write_nothing() {
    let (_messages, instance) = instance();
    assert_eq!(DeviceDesc::default().pipeline_cache, None);
    let folder = tempfile::tempdir().unwrap();
    for physical in usable_devices(&instance) {
        drop(Device::with_desc(&physical, &desc(folder.path())).unwrap());
    }
    assert_eq!(files(folder.path()).len(), 0);
}

/// The folder that several processes share; set for children of the next tests alone.
const SHARED: &str = "DML_TEST_SHARED_PIPELINE_CACHE";

/// This program, running one test alone on `folder`.
fn child(test: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test]).env(SHARED, folder);
    command
}

#[test]
fn a_process_that_is_killed_leaves_what_it_compiled() {
    let _guard = one_at_a_time();
    let (_messages, instance) = watched();
    if let Some(folder) = std::env::var_os(SHARED) {
        let desc = desc(Path::new(&folder));
        let _devices: Vec<_> =
            usable_devices(&instance).iter().map(|it| run_and_keep(it, &desc)).collect();
        std::process::abort();
    }
    let folder = tempfile::tempdir().unwrap();
    let test = "a_process_that_is_killed_leaves_what_it_compiled";
    let status = child(test, folder.path()).status().unwrap();
    assert!(!status.success(), "{status}");
    assert_eq!(files(folder.path()).len(), usable_devices(&instance).len());
    for physical in usable_devices(&instance) {
        run(&physical, &desc(folder.path()));
        assert_ne!(INITIAL.load(Ordering::SeqCst), 0, "{}", physical.info().name);
    }
}

#[test]
fn processes_and_threads_share_a_folder() {
    let (_messages, instance) = instance();
    if let Some(folder) = std::env::var_os(SHARED) {
        let desc = desc(Path::new(&folder));
        for physical in usable_devices(&instance) {
            (0..3).for_each(|_| run(&physical, &desc));
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let test = "processes_and_threads_share_a_folder";
    let children = [(); 3].map(|()| child(test, folder.path()).spawn().unwrap());
    std::thread::scope(|scope| {
        for physical in usable_devices(&instance).into_iter().chain(usable_devices(&instance)) {
            let folder = folder.path();
            scope.spawn(move || run(&physical, &desc(folder)));
        }
    });
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    // One for each device and nothing temporary.
    assert_eq!(files(folder.path()).len(), usable_devices(&instance).len());
}
