//! The whole suite, on every device, under the validation layer where `cargo xtask test` asks for it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use dml::{FeatureLevel, Instance, InstanceDesc, Validation};
use dml_conformance::cases::generate;
use dml_conformance::cli::run_on;

#[test]
fn every_case_passes_on_every_device() {
    let validation = match std::env::var("DML_TEST_VALIDATION").as_deref() {
        Ok("required") => Validation::Required,
        _ => Validation::Off,
    };
    let instance = Instance::new(&InstanceDesc { validation, ..InstanceDesc::default() })
        .expect("a Vulkan loader; run `cargo xtask test`");
    let cases: Vec<_> = FeatureLevel::ALL.into_iter().flat_map(generate).collect();
    let devices = instance.physical_devices().unwrap();
    let usable: Vec<_> = devices.iter().filter(|device| device.unsuitable().is_none()).collect();
    assert!(!usable.is_empty(), "there is no Vulkan device; run `cargo xtask test`");
    for device in usable {
        let report = run_on(&cases, &instance, device).unwrap();
        eprintln!("{report}");
        assert_eq!(report.total.pass, cases.len() as u64, "{report}");
    }
}
