//! The validation layer, as a program sees it that owns its Vulkan objects.

use std::sync::Arc;

use ash::{ext, vk};

use crate::error::{Error, Result, VkContext as _};
use crate::instance::VALIDATION_LAYER;
use crate::instance::debug::ValidationLog;
use crate::instance::info::version_text;

/// The name and the version of the validation layer, where it is installed.
///
/// # Errors
///
/// [`Error::NoLoader`], and what Vulkan reports.
pub fn validation_layer() -> Result<Option<String>> {
    // SAFETY: the call needs no instance.
    let layers = unsafe { loader()?.enumerate_instance_layer_properties() }
        .call("vkEnumerateInstanceLayerProperties")?;
    let layer = layers.iter().find(|it| it.layer_name_as_c_str() == Ok(VALIDATION_LAYER));
    Ok(layer.map(|it| {
        let name = VALIDATION_LAYER.to_string_lossy();
        format!("{name} {}", version_text(it.spec_version))
    }))
}

pub(super) fn loader() -> Result<ash::Entry> {
    // SAFETY: loading runs the initialisers of the system's loader, which has no precondition.
    unsafe { ash::Entry::load() }.map_err(|error| Error::NoLoader { reason: error.to_string() })
}

/// An instance whose validation messages are kept, where a layer is on and the loader can tell.
pub(super) struct Watched {
    pub(super) instance: ash::Instance,
    pub(super) log: Arc<ValidationLog>,
    messenger: Option<(ext::debug_utils::Instance, vk::DebugUtilsMessengerEXT)>,
}

impl Watched {
    pub(super) fn new(entry: &ash::Entry, api_version: u32) -> Result<Self> {
        // SAFETY: the call needs no instance.
        let offered = unsafe { entry.enumerate_instance_extension_properties(None) }
            .call("vkEnumerateInstanceExtensionProperties")?;
        let mut names = offered.iter().map(vk::ExtensionProperties::extension_name_as_c_str);
        let can_tell = names.any(|name| name == Ok(ext::debug_utils::NAME));
        let extensions = [ext::debug_utils::NAME.as_ptr()];
        let extensions = if can_tell { &extensions[..] } else { &[] };
        let log = Arc::new(ValidationLog::default());
        // Also covers the instance's own creation and destruction.
        let mut messages = log.messenger_info();
        let application = vk::ApplicationInfo::default().api_version(api_version);
        let mut info = vk::InstanceCreateInfo::default()
            .application_info(&application)
            .enabled_extension_names(extensions);
        if can_tell {
            info = info.push_next(&mut messages);
        }
        // SAFETY: what `info` points to outlives the call, and the log the instance.
        let instance = unsafe { entry.create_instance(&info, None) }.call("vkCreateInstance")?;
        let mut watched = Self { instance, log, messenger: None };
        if can_tell {
            let functions = ext::debug_utils::Instance::new(entry, &watched.instance);
            let messages = watched.log.messenger_info();
            // SAFETY: the extension is enabled; the log outlives the messenger.
            let made = unsafe { functions.create_debug_utils_messenger(&messages, None) };
            watched.messenger = Some((functions, made.call("vkCreateDebugUtilsMessengerEXT")?));
        }
        Ok(watched)
    }
}

impl Drop for Watched {
    /// Whoever owns it has destroyed everything made from the instance.
    fn drop(&mut self) {
        if let Some((functions, messenger)) = self.messenger.take() {
            // SAFETY: the messenger was created by this instance, and is used no more.
            unsafe { functions.destroy_debug_utils_messenger(messenger, None) };
        }
        // SAFETY: nothing made from the instance is left.
        unsafe { self.instance.destroy_instance(None) };
    }
}
