//! A Vulkan driver that wraps another one, for programs that are not to know: a manifest names it in
//! VK_DRIVER_FILES. `DML_DRIVER_LIBRARY` is the wrapped driver's library, and `DML_DRIVER_MODE` says what is
//! done differently:
//!
//! - `null`: a device that compiles and executes nothing, such as RADV's null device, gets memory,
//!   synchronization and command buffers that do nothing. What each pipeline became and which commands were
//!   recorded is written to the folder `DML_DRIVER_OUTPUT`.
//! - `discrete`: a driver of a CPU answers as a discrete card does. The host sees no device memory, and of its
//!   own a copy that is brought up to date by flushes and invalidations alone.
//!
//! Handles are the wrapped driver's, so that the loader finds its word at the start of those that it
//! dispatches by. One library serves one wrapped driver.
#![allow(unsafe_code, reason = "it stands between C functions")]
#![allow(non_snake_case, reason = "the names are Vulkan's")]

mod discrete;
mod null;
mod wrapped;

use std::ffi::{CStr, c_char};

use dml_vk::ash::vk;

use wrapped::{Function, Wrapped};

/// The function of the mode that takes the place of the one with this name.
type Find = fn(&[u8]) -> Option<Function>;

/// Writes `find`, a table of functions in the place of Vulkan's. The compiler checks their signatures.
macro_rules! functions {
    ($($name:ident: $pfn:ident = $function:path;)*) => {
        pub(crate) fn find(name: &[u8]) -> Option<$crate::wrapped::Function> {
            $(
                if name == stringify!($name).as_bytes() {
                    let typed: dml_vk::ash::vk::$pfn = $function;
                    // SAFETY: only the type is erased; whoever looks it up by its name restores it.
                    return Some(unsafe {
                        std::mem::transmute::<
                            dml_vk::ash::vk::$pfn,
                            $crate::wrapped::Function,
                        >(typed)
                    });
                }
            )*
            None
        }
    };
}
pub(crate) use functions;

/// Writes functions that ask the wrapped driver what a buffer or an image needs, and change its answer.
macro_rules! requirements {
    ($change:ident, $($function:ident: $name:literal,
        $pfn:ident($argument:ident: $kind:ty) -> $answer:ty $(, $member:ident)?;)*) => {
        $(
            pub(super) unsafe extern "system" fn $function(
                device: dml_vk::ash::vk::Device,
                $argument: $kind,
                answer: *mut $answer,
            ) {
                // SAFETY: the function with this name has this type.
                let original = unsafe {
                    $crate::wrapped::of_device::<dml_vk::ash::vk::$pfn>(device, $name)
                };
                let Some(original) = original else { return };
                // SAFETY: the caller's promise.
                unsafe { original(device, $argument, answer) };
                // SAFETY: as above.
                let answer = unsafe { &mut *answer };
                $change(&mut (*answer)$(.$member)?);
            }
        )*
    };
}
pub(crate) use requirements;

/// In both modes memory stays where the host sees it until it is freed, and nothing is copied.
pub(crate) unsafe extern "system" fn unmap(_: vk::Device, _: vk::DeviceMemory) {}

/// As [`unmap`].
pub(crate) unsafe extern "system" fn unmap_2(
    _: vk::Device,
    _: *const vk::MemoryUnmapInfoKHR<'_>,
) -> vk::Result {
    vk::Result::SUCCESS
}

/// The mode that the environment names.
fn mode() -> Option<Find> {
    match std::env::var("DML_DRIVER_MODE").as_deref() {
        Ok("null") => Some(null::find),
        Ok("discrete") => Some(discrete::find),
        _ => None,
    }
}

/// The mode's function, also under the name that it had as an extension. Functions that the wrapped driver lacks
/// (`original`) stay away, but for commands, which a null device may record without having them.
fn replaced(name: &CStr, original: Option<Function>) -> Option<Function> {
    let (name, find) = (name.to_bytes(), mode()?);
    let core = [&b"KHR"[..], b"EXT"].iter().find_map(|suffix| name.strip_suffix(*suffix));
    let found = find(name).or_else(|| find(core?))?;
    (original.is_some() || name.starts_with(b"vkCmd")).then_some(found)
}

/// # Safety
///
/// As Vulkan says of vkGetInstanceProcAddr.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn vk_icdGetInstanceProcAddr(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    mode()?;
    let wrapped = Wrapped::get()?;
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) };
    let original = wrapped.of_instance(instance, name);
    match name.to_bytes() {
        b"vkGetInstanceProcAddr" => {
            // SAFETY: only the type is erased; whoever looks it up by its name restores it.
            Some(unsafe {
                std::mem::transmute::<vk::PFN_vkGetInstanceProcAddr, Function>(
                    vk_icdGetInstanceProcAddr,
                )
            })
        }
        b"vkGetDeviceProcAddr" if original.is_some() => {
            // SAFETY: as above.
            Some(unsafe {
                std::mem::transmute::<vk::PFN_vkGetDeviceProcAddr, Function>(get_device_proc_addr)
            })
        }
        _ => replaced(name, original).or(original),
    }
}

/// # Safety
///
/// As the loader's interface says.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn vk_icdGetPhysicalDeviceProcAddr(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) };
    // What this function knows is a function of physical devices.
    let original = Wrapped::get()?.of_physical_device(instance, name)?;
    Wrapped::get()?.of_instance(instance, name);
    replaced(name, Some(original)).or(Some(original))
}

/// # Safety
///
/// As the loader's interface says.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn vk_icdNegotiateLoaderICDInterfaceVersion(
    version: *mut u32,
) -> vk::Result {
    match Wrapped::get() {
        // SAFETY: the caller's promise.
        Some(wrapped) if mode().is_some() => unsafe { wrapped.negotiate(version) },
        _ => vk::Result::ERROR_INITIALIZATION_FAILED,
    }
}

unsafe extern "system" fn get_device_proc_addr(
    device: vk::Device,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) };
    let original = Wrapped::get()?.of_device(device, name);
    match name.to_bytes() {
        b"vkGetDeviceProcAddr" => {
            // SAFETY: only the type is erased; whoever looks it up by its name restores it.
            Some(unsafe {
                std::mem::transmute::<vk::PFN_vkGetDeviceProcAddr, Function>(get_device_proc_addr)
            })
        }
        _ => replaced(name, original).or(original),
    }
}
