//! A device under a cap behaves as one that has less.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::kernels::{SHARED, changed, plan, ramp, ramp_of_size_in, sum};
use common::{
    buffer, buffer_with, each_device_with, execute, instance, pattern, try_bind, try_compile, words,
};
use dml_core::CapabilityCap;
use dml_core::capabilities::{ApiVersion, Feature, Features, Limit};
use dml_core::plan::Slot;
use dml_vk::{
    BufferDesc, BufferUsage, Device, DeviceDesc, Error, InstanceDesc, MemoryLocation, Recorder,
    Result, packed_version,
};

const OUT: Slot = Slot::Output(0);

fn each_device_under(cap: CapabilityCap, test: impl Fn(&Device)) {
    let max_api_version = cap.api_version().map(packed_version);
    let instance = InstanceDesc { max_api_version, ..InstanceDesc::default() };
    each_device_with(instance, &DeviceDesc { cap, ..DeviceDesc::default() }, test);
}

fn limited(limit: Limit, value: u64) -> CapabilityCap {
    CapabilityCap::NONE.with_limit(limit, value).unwrap()
}

/// Compiles, runs and reads a plan that counts up from 1 in 64 words at `offset`.
fn count_up(device: &Device, offset: u64) -> Result<Vec<u32>> {
    let plan = plan(256, vec![ramp(OUT, 0..256, 1)]);
    let compiled = try_compile(device, plan)?;
    let buffer = buffer(device, 256 + offset);
    execute(device, &try_bind(&compiled, &buffer, offset, 256)?);
    Ok(words(&device.read_buffer(&buffer, offset..offset + 256)?))
}

#[track_caller]
fn refused(result: Result<Vec<u32>>, limit: &str) {
    let error = result.unwrap_err();
    assert!(error.is_unsupported() && error.to_string().contains(limit), "{error}");
}

#[test]
fn a_device_reports_what_the_cap_leaves() {
    let cap = limited(Limit::MaxBufferSize, 4096).without_features();
    each_device_under(cap, |device| {
        assert_eq!(device.capabilities().limits.max_buffer_size, 4096);
        assert_eq!(device.offered().limits, device.capabilities().limits);
        assert_eq!(device.offered().features, Features::LEAST);
        assert_eq!(device.capabilities().features, Features::LEAST);
        assert!(device.shortfalls().is_empty());
        let too_large = BufferDesc {
            size: 4100,
            usage: BufferUsage::STORAGE,
            location: MemoryLocation::Device,
            name: "b",
        };
        let error = device.create_buffer(&too_large).unwrap_err().to_string();
        assert_eq!(error, "buffer `b`: needs 4100, but maxBufferSize of this device is 4096");
    });
}

#[test]
fn without_a_cap_a_device_offers_what_the_physical_device_does() {
    each_device_under(CapabilityCap::NONE, |device| {
        assert_eq!(&device.offered(), device.physical().capabilities());
    });
}

#[test]
fn what_a_device_cannot_represent_is_reported() {
    let cap = Feature::ALL
        .into_iter()
        .fold(limited(Limit::MaxBufferSize, 1 << 60), |cap, it| cap.with_feature(it, true))
        .with_api_version(ApiVersion::new(1, 9));
    each_device_with(
        InstanceDesc::default(),
        &DeviceDesc { cap, ..DeviceDesc::default() },
        |device| {
            let texts: Vec<String> = device.shortfalls().iter().map(ToString::to_string).collect();
            assert!(texts[0].starts_with("Vulkan 1.9"), "{texts:?}");
            assert!(texts.iter().any(|text| text.starts_with("maxBufferSize")), "{texts:?}");
            let lacking =
                Feature::ALL.iter().filter(|it| !device.offered().features.has(**it)).count();
            assert_eq!(texts.len(), 2 + lacking);
        },
    );
}

#[test]
fn kernels_keep_the_lowered_limits() {
    each_device_under(limited(Limit::MaxPushConstantsSize, 8), |device| {
        refused(count_up(device, 0), "maxPushConstantsSize of this device is 8");
    });
    each_device_under(limited(Limit::MaxPerStageDescriptorStorageBuffers, 1), |device| {
        assert_eq!(count_up(device, 0).unwrap(), (1..65).collect::<Vec<_>>());
        let step = sum((OUT, 0..128), (OUT, 128..256));
        let error = try_compile(device, plan(256, vec![step])).unwrap_err();
        let limit = "maxPerStageDescriptorStorageBuffers of this device is 1";
        assert_eq!(error.to_string(), format!("kernel sum: needs 2, but {limit}"));
    });
    each_device_under(limited(Limit::MaxComputeWorkGroupInvocations, 32), |device| {
        refused(count_up(device, 0), "maxComputeWorkGroupInvocations of this device is 32");
    });
    each_device_under(limited(Limit::MaxStorageBufferRange, 128), |device| {
        let error = count_up(device, 0).unwrap_err();
        assert!(error.to_string().contains("exceeds maxStorageBufferRange 128"), "{error}");
    });
    each_device_under(limited(Limit::MaxComputeWorkGroupSizeZ, 8), |device| {
        let variant = ramp_of_size_in([false, false, true]);
        let step = changed(ramp(OUT, 0..256, 1), |it| it.kernel.variant = variant);
        let error = try_compile(device, plan(256, vec![step])).unwrap_err();
        let expected = "kernel ramp: needs 64, but maxComputeWorkGroupSize[2] of this device is 8";
        assert_eq!(error.to_string(), expected);
    });
    let with_shared_memory = |device: &Device| {
        let step = changed(ramp(OUT, 0..256, 1), |it| it.kernel.variant = (&*SHARED).into());
        try_compile(device, plan(256, vec![step])).map(drop)
    };
    each_device_under(limited(Limit::MaxComputeSharedMemorySize, 4095), |device| {
        let error = with_shared_memory(device).unwrap_err();
        let expected =
            "kernel shared: needs 4096, but maxComputeSharedMemorySize of this device is 4095";
        assert_eq!(error.to_string(), expected);
    });
    each_device_under(limited(Limit::MaxComputeSharedMemorySize, 4096), |device| {
        with_shared_memory(device).unwrap();
    });
    // The window fits, but not the descriptor that starts at the aligned address below.
    let exact = limited(Limit::MaxStorageBufferRange, 256)
        .with_limit(Limit::MinStorageBufferOffsetAlignment, 256)
        .unwrap();
    each_device_under(exact, |device| {
        assert_eq!(count_up(device, 0).unwrap(), (1..65).collect::<Vec<_>>());
        let error = count_up(device, 16).unwrap_err();
        assert!(error.to_string().contains("272 bytes exceeds maxStorageBufferRange"), "{error}");
    });
    each_device_under(limited(Limit::MaxComputeWorkGroupCountX, 1), |device| {
        let step = changed(ramp(OUT, 0..256, 1), |it| it.groups = [2, 1, 1]);
        let error = try_compile(device, plan(256, vec![step])).unwrap_err();
        assert!(matches!(error, Error::Internal { .. }), "{error}");
    });
}

#[test]
fn a_raised_alignment_moves_the_descriptor_and_not_the_tensor() {
    each_device_under(limited(Limit::MinStorageBufferOffsetAlignment, 256), |device| {
        assert_eq!(device.capabilities().limits.min_storage_buffer_offset_alignment, 256);
        for offset in [16, 240, 272] {
            assert_eq!(count_up(device, offset).unwrap(), (1..65).collect::<Vec<_>>());
        }
    });
}

#[test]
fn a_lowered_version_takes_timeline_semaphores_from_their_extension() {
    let cap = CapabilityCap::NONE.with_api_version(ApiVersion::new(1, 1));
    each_device_under(cap, |device| {
        assert_eq!(count_up(device, 0).unwrap(), (1..65).collect::<Vec<_>>());
    });
    // The instance need not be capped as well.
    let desc = DeviceDesc { cap, ..DeviceDesc::default() };
    each_device_with(InstanceDesc::default(), &desc, |device| {
        assert_eq!(count_up(device, 0).unwrap(), (1..65).collect::<Vec<_>>());
    });
}

#[test]
fn without_transfer_usage_bytes_go_through_mapped_memory() {
    each_device_under(CapabilityCap::NONE.without_transfer_usage(), |device| {
        let locations = [MemoryLocation::Device, MemoryLocation::Upload, MemoryLocation::Readback];
        for location in locations {
            let buffer = buffer_with(device, 1024, BufferUsage::all(), location);
            assert_eq!(buffer.usage(), BufferUsage::STORAGE);
            let bytes = pattern(1000);
            device.write_buffer(&buffer, 24, &bytes).unwrap();
            assert_eq!(device.read_buffer(&buffer, 24..1024).unwrap(), bytes);
            let mut recorder = Recorder::new(device).unwrap();
            let error = recorder.copy_buffer(&buffer, 0, &buffer, 512, 4).unwrap_err();
            assert!(error.to_string().contains("TRANSFER_SRC"), "{error}");
        }
        assert_eq!(count_up(device, 16).unwrap(), (1..65).collect::<Vec<_>>());
        let transfers_only = BufferDesc {
            size: 4,
            usage: BufferUsage::TRANSFER_SRC,
            location: MemoryLocation::Upload,
            name: "b",
        };
        assert!(device.create_buffer(&transfers_only).unwrap_err().is_unsupported());
    });
}

#[test]
fn staging_everything_without_transfer_usage_is_refused() {
    let (_messages, instance) = instance();
    let cap = CapabilityCap::NONE.without_transfer_usage();
    for physical in instance.physical_devices().unwrap() {
        let desc = DeviceDesc { always_stage: true, cap, ..DeviceDesc::default() };
        let error = Device::with_desc(&physical, &desc).unwrap_err();
        assert!(error.is_invalid() || physical.unsuitable().is_some(), "{error}");
    }
}
