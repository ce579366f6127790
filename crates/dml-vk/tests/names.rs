//! Which objects carry names for debuggers.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "a replacement for one of Vulkan's functions")]

mod common;

use std::ffi::CStr;
use std::sync::Mutex;

use common::kernels::{plan, ramp};
use common::{buffer, compile, each_device_with};
use dml_core::plan::Slot;
use dml_vk::ash::vk;
use dml_vk::{BindingTable, Bindings, BufferBinding, DeviceDesc, EntryPoints, InstanceDesc};

/// The types of what was named. The originals are not called: only names would be lost.
static NAMED: Mutex<Vec<vk::ObjectType>> = Mutex::new(Vec::new());

unsafe extern "system" fn set_name(
    _: vk::Device,
    info: *const vk::DebugUtilsObjectNameInfoEXT<'_>,
) -> vk::Result {
    // SAFETY: the caller passes a structure that lives during the call.
    let info = unsafe { &*info };
    NAMED.lock().unwrap().push(info.object_type);
    vk::Result::SUCCESS
}

fn replace(name: &CStr, original: vk::PFN_vkVoidFunction) -> vk::PFN_vkVoidFunction {
    if name != c"vkSetDebugUtilsObjectNameEXT" {
        return original;
    }
    let replacement = set_name as *const ();
    // SAFETY: only the type is erased; the table gives it back under the same name.
    Some(unsafe { std::mem::transmute::<*const (), unsafe extern "system" fn()>(replacement) })
}

/// Mesa's drivers leak the name of a descriptor set that is freed with its pool: 45 bytes for each
/// operator that was ever bound.
#[test]
fn a_binding_table_names_its_pool_and_not_the_sets_in_it() {
    // SAFETY: the replacement has its function's signature, and the name of an object is optional.
    let entry_points = unsafe { EntryPoints::replacing(replace) };
    let instance = InstanceDesc { entry_points, ..InstanceDesc::default() };
    each_device_with(instance, &DeviceDesc::default(), |device| {
        let buffer = buffer(device, 1024);
        let plan = plan(1024, vec![ramp(Slot::Output(0), 0..1024, 3)]);
        let compiled = compile(device, plan);
        let outputs = [Some(BufferBinding::whole(&buffer))];
        let bindings = Bindings { outputs: &outputs, ..Bindings::default() };
        NAMED.lock().unwrap().clear();
        BindingTable::new(&compiled, &bindings).unwrap();
        let named = std::mem::take(&mut *NAMED.lock().unwrap());
        assert_eq!(named, [vk::ObjectType::DESCRIPTOR_POOL]);
    });
}
