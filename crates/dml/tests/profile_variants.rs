//! Kernels with variants, for every device profile.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use dml::profiles::all;
use dml_core::capabilities::{Enabling, Feature};
use dml_core::host::{HostDispatch, HostError};
use dml_core::kernel::{KernelDescription, KernelModule, Shared, select};

fn nothing(_: &mut HostDispatch<'_>) -> Result<(), HostError> {
    Ok(())
}

fn made_up(required_features: Vec<Feature>) -> Shared<KernelModule> {
    KernelModule::new(KernelDescription {
        name: required_features.first().map_or("plain", |it| it.name()).into(),
        spirv: Vec::new().into(),
        entry_point: "main",
        bindings: Vec::new().into(),
        push_fields: &[],
        uniform_binding: None,
        specialization_constants: &[],
        required_features: required_features.into(),
        required_limits: Vec::new().into(),
        host: Shared::Static(&nothing),
    })
    .into()
}

/// Each device gets the best variant that it supports, where one of two needs a feature.
#[test]
fn every_device_gets_the_variant_that_it_can_run() {
    let used = Feature::ALL.into_iter().filter(|it| it.enabling() == Enabling::WhereOffered);
    let mut better = 0;
    for feature in used {
        let variants = [made_up(vec![feature]), made_up(Vec::new())];
        for profile in all().unwrap() {
            let device = profile.cap.alone();
            let has = device.features.has(feature);
            let expected = if has { feature.name() } else { "plain" };
            assert_eq!(select(&variants, &device).name, expected, "{}", profile.name);
            better += usize::from(has);
        }
    }
    assert!(better > 100, "{better} of the devices have something");
}
