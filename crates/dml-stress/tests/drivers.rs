//! A driver that fails hides nobody else's devices.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]

use dml::ash::vk::Result as Code;
use dml::vk::{Device, DeviceSelector, Instance, InstanceDesc};
use dml_fault::{Fault, Injector};

const CALL: &str = "vkEnumerateDeviceExtensionProperties";

#[test]
fn a_device_whose_driver_fails_is_unusable_and_the_others_answer() {
    let injector = Injector::new().unwrap();
    let entry_points = injector.entry_points();
    let instance =
        Instance::new(&InstanceDesc { entry_points, ..InstanceDesc::default() }).unwrap();
    let devices = instance.physical_devices().unwrap();
    let are_usable: Vec<_> = devices.iter().map(|device| device.unsuitable().is_none()).collect();
    assert!(are_usable.contains(&true), "there is no device: run `cargo xtask test`");
    for (bad, device) in devices.iter().enumerate() {
        // Each device is asked twice: for how many there are, and for them.
        for first in [2 * bad + 1, 2 * bad + 2] {
            println!("{}, call {first}", device.info().name);
            let fail = || {
                let result = Code::ERROR_OUT_OF_HOST_MEMORY;
                injector.arm(Some(Fault::Named { name: CALL, first, count: 1, result }));
            };
            fail();
            let found = instance.physical_devices().unwrap();
            assert!(injector.hit().is_some());
            assert_eq!(found[bad].info().name, device.info().name);
            let reason = "out of host memory in vkEnumerateDeviceExtensionProperties";
            assert_eq!(found[bad].unsuitable(), Some(reason));
            assert!(Device::new(&found[bad]).unwrap_err().is_out_of_memory());
            for other in (0..devices.len()).filter(|it| *it != bad) {
                assert_eq!(found[other].unsuitable().is_none(), are_usable[other]);
                assert_eq!(found[other].info(), devices[other].info());
            }
            fail();
            let error = instance.select(&DeviceSelector::Index(bad)).unwrap_err();
            assert_eq!(error.to_string(), reason);
            fail();
            match instance.select(&DeviceSelector::Best) {
                Ok(best) => assert_ne!(best.info(), device.info()),
                Err(error) => {
                    assert_eq!(are_usable.iter().filter(|usable| **usable).count(), 1);
                    assert!(error.to_string().contains(reason), "{error}");
                }
            }
        }
    }
    injector.arm(None);
    assert!(instance.select(&DeviceSelector::Best).is_ok());
}
