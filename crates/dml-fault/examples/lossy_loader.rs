//! A Vulkan loader that loses devices, to be found in the place of `libvulkan.so.1` by programs that take no
//! other table of functions. While there is a file `DML_LOSE_DEVICE`, vkQueueSubmit answers that the device
//! is lost; everything else is done by the loader `DML_REAL_LOADER`.
#![allow(unsafe_code, reason = "it stands between C functions")]
#![allow(non_snake_case, reason = "the names are Vulkan's")]

use std::ffi::{CStr, c_char};
use std::path::Path;
use std::sync::OnceLock;

use dml_vk::ash::{self, vk};

/// Any function.
type Function = unsafe extern "system" fn();

static LOADER: OnceLock<Option<ash::Entry>> = OnceLock::new();
static DEVICE_FUNCTIONS: OnceLock<vk::PFN_vkGetDeviceProcAddr> = OnceLock::new();
static SUBMIT: OnceLock<vk::PFN_vkQueueSubmit> = OnceLock::new();

fn loader() -> Option<&'static ash::Entry> {
    let load = || {
        let path = std::env::var_os("DML_REAL_LOADER")?;
        // SAFETY: whoever runs the program says that this is a Vulkan loader.
        unsafe { ash::Entry::load_from(path) }.ok()
    };
    LOADER.get_or_init(load).as_ref()
}

/// # Safety
///
/// As Vulkan says of vkGetInstanceProcAddr.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn vkGetInstanceProcAddr(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    let get = loader()?.static_fn().get_instance_proc_addr;
    // SAFETY: the caller's promise.
    let found = unsafe { get(instance, name) }?;
    // SAFETY: the caller's promise.
    Some(match unsafe { CStr::from_ptr(name) }.to_bytes() {
        b"vkGetDeviceProcAddr" => {
            // SAFETY: the function with this name has this type.
            let real =
                unsafe { std::mem::transmute::<Function, vk::PFN_vkGetDeviceProcAddr>(found) };
            DEVICE_FUNCTIONS.get_or_init(|| real);
            // SAFETY: any function may be given as one without arguments.
            unsafe {
                std::mem::transmute::<vk::PFN_vkGetDeviceProcAddr, Function>(get_device_proc_addr)
            }
        }
        _ => found,
    })
}

unsafe extern "system" fn get_device_proc_addr(
    device: vk::Device,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    let get = DEVICE_FUNCTIONS.get()?;
    // SAFETY: the caller's promise.
    let found = unsafe { get(device, name) }?;
    // SAFETY: the caller's promise.
    Some(match unsafe { CStr::from_ptr(name) }.to_bytes() {
        b"vkQueueSubmit" => {
            // SAFETY: the function with this name has this type.
            let real = unsafe { std::mem::transmute::<Function, vk::PFN_vkQueueSubmit>(found) };
            SUBMIT.get_or_init(|| real);
            // SAFETY: any function may be given as one without arguments.
            unsafe { std::mem::transmute::<vk::PFN_vkQueueSubmit, Function>(queue_submit) }
        }
        _ => found,
    })
}

unsafe extern "system" fn queue_submit(
    queue: vk::Queue,
    count: u32,
    submits: *const vk::SubmitInfo<'_>,
    fence: vk::Fence,
) -> vk::Result {
    let is_lost = std::env::var_os("DML_LOSE_DEVICE").is_some_and(|it| Path::new(&it).exists());
    match SUBMIT.get() {
        // SAFETY: the caller's promise.
        Some(real) if !is_lost => unsafe { real(queue, count, submits, fence) },
        _ => vk::Result::ERROR_DEVICE_LOST,
    }
}
