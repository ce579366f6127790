//! Optional features: what is enabled, and that a kernel is used only where its features are.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::kernels::{RAMP, changed, plan, ramp};
use common::{bind, buffer, each_device, each_device_with, execute, try_compile, words};
use dml_core::CapabilityCap;
use dml_core::capabilities::{ApiVersion, Enabling, Feature, Features};
use dml_core::kernel::{KernelDescription, KernelModule};
use dml_core::plan::Slot;
use dml_vk::{CompiledOperator, Device, DeviceDesc, Error, InstanceDesc};

const OUT: Slot = Slot::Output(0);

fn each_device_under(cap: CapabilityCap, test: impl Fn(&Device)) {
    each_device_with(InstanceDesc::default(), &DeviceDesc { cap, ..DeviceDesc::default() }, test);
}

fn when(enabling: &[Enabling]) -> Features {
    Feature::ALL.into_iter().filter(|it| enabling.contains(&it.enabling())).collect()
}

#[test]
fn a_device_enables_what_it_offers_and_says_so() {
    let wanted = when(&[Enabling::Always, Enabling::WhereOffered, Enabling::ByChoice]);
    each_device(|device| {
        let (offered, enabled) = (device.offered().features, device.capabilities().features);
        assert_eq!(offered, device.physical().capabilities().features);
        assert_eq!(enabled, offered.and(wanted));
        assert_eq!(enabled, device.physical().enablement(&DeviceDesc::default()).features);
        // Both drivers here have some of it.
        assert!(enabled.has(Feature::ShaderInt64) || enabled.has(Feature::SubgroupShuffle));
        let text = format!("{device:?}");
        for feature in offered.iter() {
            assert!(text.contains(&format!("{:?}", feature.name())), "{feature}: {text}");
        }
    });
    let desc = DeviceDesc { without_robust_access: true, ..DeviceDesc::default() };
    each_device_with(InstanceDesc::default(), &desc, |device| {
        let features = device.offered().features.and(wanted);
        let robust = Feature::RobustBufferAccess;
        assert_eq!(device.capabilities().features, features.with(robust, false));
    });
}

#[test]
fn each_feature_can_be_capped_by_itself() {
    for feature in Feature::ALL.into_iter().filter(|it| it.enabling() != Enabling::Always) {
        each_device_under(CapabilityCap::NONE.with_feature(feature, false), |device| {
            let everything = device.physical().enablement(&DeviceDesc::default()).features;
            let mut enabled = everything.with(feature, false);
            // Alone it would forbid what kernels do.
            if feature == Feature::VulkanMemoryModelDeviceScope {
                enabled = enabled.with(Feature::VulkanMemoryModel, false);
            }
            assert_eq!(device.capabilities().features, enabled);
            assert!(!device.offered().features.has(feature), "{feature}");
        });
    }
    let cap = CapabilityCap::NONE.with_feature(Feature::TimelineSemaphore, false);
    let (_messages, instance) = common::instance();
    for physical in instance.physical_devices().unwrap() {
        let desc = DeviceDesc { cap, ..DeviceDesc::default() };
        let error = Device::with_desc(&physical, &desc).unwrap_err();
        assert!(error.is_unsupported(), "{error}");
        assert!(!physical.enablement(&desc).features.has(Feature::TimelineSemaphore));
    }
}

#[test]
fn an_older_version_takes_features_from_their_extensions() {
    for (version, own) in [(ApiVersion::new(1, 1), false), (ApiVersion::new(1, 2), true)] {
        each_device_under(CapabilityCap::NONE.with_api_version(version), |device| {
            let cap = CapabilityCap::NONE.with_api_version(version);
            let desc = DeviceDesc { cap, ..DeviceDesc::default() };
            let found = device.physical().enablement(&desc);
            assert_eq!(device.capabilities().features, found.features);
            for extension in found.features.iter().filter_map(Feature::extension) {
                let is_core = extension.promoted.is_some_and(|promoted| !promoted.exceeds(version));
                let is_listed = found.extensions.contains(&extension.name);
                assert_ne!(is_core, is_listed, "{:?}", extension.name);
            }
            let timeline = Feature::TimelineSemaphore.extension().unwrap();
            assert_ne!(found.extensions.contains(&timeline.name), own);
            let mut once = found.extensions.clone();
            once.sort_unstable();
            once.dedup();
            assert_eq!(once.len(), found.extensions.len());
        });
    }
}

#[test]
fn a_kernel_whose_features_are_not_enabled_is_refused() {
    each_device_under(CapabilityCap::NONE.without_features(), |device| {
        let required_features = vec![Feature::ShaderInt64, Feature::StorageBuffer8BitAccess];
        let variant = KernelModule::new(KernelDescription {
            name: "needs_features".into(),
            required_features: required_features.into(),
            ..RAMP.description().clone()
        });
        let step = changed(ramp(OUT, 0..256, 0), |it| it.kernel.variant = variant.into());
        let error = try_compile(device, plan(256, vec![step])).unwrap_err();
        assert!(error.is_unsupported());
        assert_eq!(
            error.to_string(),
            "kernel needs_features: needs shaderInt64, storageBuffer8BitAccess, \
             not enabled on this device"
        );
    });
}

/// RAMP, where it also declares a capability of SPIR-V, and says nothing of it.
fn declaring(capability: u32) -> KernelModule {
    let (header, rest) = RAMP.spirv.split_at(20);
    let instruction = [2 << 16 | 17, capability].map(u32::to_le_bytes).concat();
    let spirv = [header, &instruction, rest].concat().into();
    KernelModule::new(KernelDescription {
        name: "declares".into(),
        spirv,
        ..RAMP.description().clone()
    })
}

fn compile_declaring(device: &Device, capability: u32) -> Result<CompiledOperator, Error> {
    let step = changed(ramp(OUT, 0..256, 1), |it| it.kernel.variant = declaring(capability).into());
    try_compile(device, plan(256, vec![step]))
}

/// Features whose capability needs neither an execution mode nor an extension of SPIR-V.
fn declared() -> impl Iterator<Item = (Feature, u32)> {
    const EXTENSIONS: u32 = 4096;
    let capability = |it: Feature| Some((it, it.capability()?.code));
    Feature::ALL.into_iter().filter_map(capability).filter(|(_, code)| *code < EXTENSIONS)
}

#[test]
fn what_the_spirv_declares_counts_whatever_the_kernel_says() {
    assert!(declared().count() > 5);
    each_device_under(CapabilityCap::NONE.without_features(), |device| {
        for (feature, code) in declared() {
            let error = compile_declaring(device, code).unwrap_err();
            let expected = format!("kernel declares: needs {feature}, not enabled on this device");
            assert_eq!(error.to_string(), expected);
        }
        let error = compile_declaring(device, 2).unwrap_err();
        assert!(matches!(error, Error::Internal { .. }), "{error}");
    });
}

/// The validation layer finds a capability whose feature was not enabled.
#[test]
fn a_kernel_that_declares_what_is_enabled_runs() {
    each_device(|device| {
        for (feature, code) in declared() {
            if !device.capabilities().features.has(feature) {
                continue;
            }
            let compiled = compile_declaring(device, code).unwrap();
            let buffer = buffer(device, 256);
            execute(device, &bind(&compiled, &buffer));
            let found = words(&device.read_buffer(&buffer, 0..256).unwrap());
            assert_eq!(found, (1..65).collect::<Vec<u32>>(), "{feature}");
        }
    });
}
