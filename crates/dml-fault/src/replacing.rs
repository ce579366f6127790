//! Functions of one's own in the place of Vulkan's.

use dml_vk::ash::vk;
use dml_vk::{EntryPoints, Result};

use crate::error::Call as _;

/// [`EntryPoints`] with functions of one's own in the place of Vulkan's. Each is
/// written as its name, its type, its arguments, the name by which it calls the original, and what it
/// does:
///
/// ```
/// use dml_fault::dml_vk::ash::vk;
///
/// let entry_points = dml_fault::replacing! {
///     vkQueueWaitIdle = PFN_vkQueueWaitIdle(queue: vk::Queue) -> vk::Result, |original| {
///         // SAFETY: the caller keeps the function's own contract.
///         unsafe { original(queue) }
///     }
/// };
/// # drop(entry_points);
/// ```
///
/// The compiler checks the signatures; that the bodies keep Vulkan's contract is the writer's promise.
/// The originals belong to one device at a time.
#[macro_export]
macro_rules! replacing {
    ($($name:ident = $pfn:ident($($argument:ident: $kind:ty),* $(,)?) $(-> $result:ty)?,
        |$original:ident| $body:block)*) => {{
        use std::mem::transmute;
        use std::sync::atomic::{AtomicUsize, Ordering};
        use $crate::dml_vk::ash::vk as vulkan;

        fn replaced(
            name: &std::ffi::CStr,
            original: vulkan::PFN_vkVoidFunction,
        ) -> vulkan::PFN_vkVoidFunction {
            $(
                if name.to_bytes() == stringify!($name).as_bytes() {
                    static ORIGINAL: AtomicUsize = AtomicUsize::new(0);

                    unsafe extern "system" fn replacement($($argument: $kind),*) $(-> $result)? {
                        let original = ORIGINAL.load(Ordering::SeqCst);
                        // SAFETY: the address is that of the original, stored before any call.
                        let $original = unsafe { transmute::<usize, vulkan::$pfn>(original) };
                        $body
                    }

                    ORIGINAL.store(original? as usize, Ordering::SeqCst);
                    let typed: vulkan::$pfn = replacement;
                    // SAFETY: only the type is erased; whoever looks it up by its name restores it.
                    return Some(unsafe {
                        transmute::<vulkan::$pfn, unsafe extern "system" fn()>(typed)
                    });
                }
            )*
            original
        }

        // SAFETY: each replacement has its function's signature, checked by the compiler, and its body
        // keeps the function's contract by the promise of whoever wrote it.
        unsafe { $crate::dml_vk::EntryPoints::replacing(replaced) }
    }};
}

/// A table whose `vkCmdPipelineBarrier` records nothing: steps that depend on each other race.
pub fn without_pipeline_barriers() -> EntryPoints {
    replacing! {
        vkCmdPipelineBarrier = PFN_vkCmdPipelineBarrier(
            _commands: vk::CommandBuffer,
            _from: vk::PipelineStageFlags,
            _to: vk::PipelineStageFlags,
            _flags: vk::DependencyFlags,
            _count: u32,
            _barriers: *const vk::MemoryBarrier<'_>,
            _buffer_count: u32,
            _buffer_barriers: *const vk::BufferMemoryBarrier<'_>,
            _image_count: u32,
            _image_barriers: *const vk::ImageMemoryBarrier<'_>,
        ), |_original| {}
    }
}

/// The name and the version of the validation layer, where it is installed.
///
/// # Errors
///
/// [`dml_vk::Error::NoLoader`], and what Vulkan reports.
pub fn validation_layer() -> Result<Option<String>> {
    let layer = c"VK_LAYER_KHRONOS_validation";
    // SAFETY: the call needs no instance.
    let layers = unsafe { crate::bare::loader()?.enumerate_instance_layer_properties() }
        .call("vkEnumerateInstanceLayerProperties")?;
    let layer = layers.iter().find(|it| it.layer_name_as_c_str() == Ok(layer));
    Ok(layer.map(|layer| {
        let version = layer.spec_version;
        let [major, minor] = [vk::api_version_major(version), vk::api_version_minor(version)];
        let patch = vk::api_version_patch(version);
        format!("VK_LAYER_KHRONOS_validation {major}.{minor}.{patch}")
    }))
}
