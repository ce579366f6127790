//! Which objects carry names for debuggers.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "a replacement for one of Vulkan's functions")]

mod common;

use std::sync::Mutex;

use common::kernels::{plan, ramp};
use common::{bind, buffer, compile, each_device_through};
use dml_core::plan::Slot;
use dml_vk::ash::vk;

/// The types of what was named. The originals are not called: only names would be lost.
static NAMED: Mutex<Vec<vk::ObjectType>> = Mutex::new(Vec::new());

/// Mesa's drivers leak the name of a descriptor set that is freed with its pool: 45 bytes for each
/// operator that was ever bound.
#[test]
fn a_binding_table_names_its_pool_and_not_the_sets_in_it() {
    let entry_points = dml_fault::replacing! {
        vkSetDebugUtilsObjectNameEXT = PFN_vkSetDebugUtilsObjectNameEXT(
            _device: vk::Device,
            info: *const vk::DebugUtilsObjectNameInfoEXT<'_>,
        ) -> vk::Result, |_original| {
            // SAFETY: the caller passes a structure that lives during the call.
            let info = unsafe { &*info };
            NAMED.lock().unwrap().push(info.object_type);
            vk::Result::SUCCESS
        }
    };
    each_device_through(entry_points, |device| {
        let buffer = buffer(device, 1024);
        let plan = plan(1024, vec![ramp(Slot::Output(0), 0..1024, 3)]);
        let compiled = compile(device, plan);
        NAMED.lock().unwrap().clear();
        drop(bind(&compiled, &buffer));
        let named = std::mem::take(&mut *NAMED.lock().unwrap());
        assert_eq!(named, [vk::ObjectType::DESCRIPTOR_POOL]);
    });
}
