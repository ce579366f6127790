//! The Vulkan instance and its loader.

pub(crate) mod capabilities;
pub(crate) mod debug;
pub(crate) mod entry;
pub(crate) mod features;
pub(crate) mod info;
pub(crate) mod physical;
pub(crate) mod process;
pub(crate) mod queues;
pub(crate) mod raw;
pub(crate) mod select;

use std::ffi::CStr;
use std::fmt;
use std::sync::Arc;

use ash::{ext, khr, vk};

use crate::error::{Error, Result, VkContext};
use crate::instance::debug::{ValidationLog, ValidationMessage};
use crate::instance::entry::{EntryPoints, InstanceTable, Loader};
use crate::instance::physical::PhysicalDevice;
use crate::instance::process::Process;
use crate::instance::select::DeviceSelector;

pub(crate) const VALIDATION_LAYER: &CStr = c"VK_LAYER_KHRONOS_validation";

/// The layer's setting that limits how often it repeats a message.
const MESSAGE_LIMIT: &CStr = c"enable_message_limit";

/// Whether Vulkan's validation layer checks every call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Validation {
    /// No layer is enabled by this crate; environment variables of the loader still work.
    #[default]
    Off,
    /// VK_LAYER_KHRONOS_validation is enabled; without it, creating an instance fails. It reports every
    /// message, however often it repeats.
    Required,
}

/// The options for creating an [`Instance`].
#[derive(Clone, Debug, Default)]
pub struct InstanceDesc {
    /// Whether the validation layer is enabled. The default is off.
    pub validation: Validation,
    /// The functions to call. The default is those of the loader and the driver.
    pub entry_points: EntryPoints,
    /// Use no later version of Vulkan than this one (packed as Vulkan packs it, at least 1.1), as if loader
    /// and devices were older. The default is no cap.
    pub max_api_version: Option<u32>,
}

/// The connection to Vulkan: a loaded loader and a VkInstance.
///
/// A cheap handle: clones share the instance, which is destroyed after everything made from it.
#[derive(Clone, Debug)]
pub struct Instance {
    shared: Arc<InstanceShared>,
}

impl Instance {
    /// Loads the Vulkan loader and creates an instance.
    ///
    /// # Errors
    ///
    /// [`Error::NoLoader`] or [`Error::NoDevice`] if Vulkan is not installed, [`Error::Unsupported`] if the
    /// loader is older than Vulkan 1.1 or lacks the required validation layer, [`Error::InvalidArgument`] if
    /// the cap is below 1.1, [`Error::OutOfMemory`].
    pub fn new(desc: &InstanceDesc) -> Result<Self> {
        let cap = desc.max_api_version.unwrap_or(vk::API_VERSION_1_3);
        if cap < vk::API_VERSION_1_1 {
            return Err(Error::invalid("max_api_version", "below Vulkan 1.1"));
        }
        let loader = Loader::open(desc.entry_points.clone())?;
        let api_version = loader.version()?.min(vk::API_VERSION_1_3).min(cap);
        if api_version < vk::API_VERSION_1_1 {
            return Err(Error::unsupported("the Vulkan loader", "it speaks 1.0, 1.1 is needed"));
        }
        let layers = required_layers(&loader, desc.validation)?;
        let extensions = Extensions::query(&loader, &layers)?;
        let log = Arc::new(ValidationLog::default());
        let handle = create(&loader, api_version, &layers, extensions, &log)?;
        // From here on `shared` destroys the handle, whatever fails.
        let table = loader.load_instance(handle);
        let mut shared = InstanceShared {
            messenger: None,
            table,
            api_version,
            debug_utils: extensions.debug_utils,
            owned: true,
            process: Process::current(),
            validated: desc.validation == Validation::Required || is_validated_by_environment(),
            log,
            loader,
        };
        if extensions.debug_utils {
            shared.messenger = Some(Messenger::new(&shared)?);
        }
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The version of Vulkan that the instance was created with: 1.3, or less if the loader is older or the
    /// cap lower.
    pub fn api_version(&self) -> u32 {
        self.shared.api_version
    }

    /// Every physical device in the loader's order, usable or not. A device whose driver fails is
    /// [unusable](PhysicalDevice::unsuitable), and does not affect the others.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], or [`Error::Vulkan`] if the loader cannot list the devices.
    pub fn physical_devices(&self) -> Result<Vec<PhysicalDevice>> {
        self.shared.process.ensure_current()?;
        // SAFETY: the instance is alive, as `self` owns it.
        let handles = unsafe { self.shared.table.core().enumerate_physical_devices() }
            .call("vkEnumeratePhysicalDevices")?;
        Ok(handles.into_iter().map(|handle| PhysicalDevice::query(&self.shared, handle)).collect())
    }

    /// The physical device that `selector` selects, which is usable.
    ///
    /// # Errors
    ///
    /// [`Error::NoDevice`] if no device is usable, [`Error::InvalidArgument`] if the selector matches no
    /// device or several, [`Error::Unsupported`] if it selects an unusable one, or the error of its driver.
    /// The first two list the existing devices.
    pub fn select(&self, selector: &DeviceSelector) -> Result<PhysicalDevice> {
        select::choose(self.physical_devices()?, selector)
    }

    /// Removes and returns the messages of validation layers since the last call.
    pub fn take_validation_messages(&self) -> Vec<ValidationMessage> {
        self.shared.log.take()
    }

    /// The log of validation messages, which also receives those from the instance's destruction.
    pub fn validation_log(&self) -> ValidationLog {
        ValidationLog::clone(&self.shared.log)
    }

    /// `ash`'s instance, for calls that this crate does not make.
    ///
    /// Its functions are unsafe; it must not be used to destroy the instance.
    pub fn raw(&self) -> &ash::Instance {
        self.shared.table.core()
    }
}

/// A VkInstance, owned or the caller's. Fields are dropped in the order they are declared: the loader
/// goes last.
pub(crate) struct InstanceShared {
    messenger: Option<Messenger>,
    pub(crate) table: InstanceTable,
    pub(crate) api_version: u32,
    /// Whether VK_EXT_debug_utils is enabled.
    pub(crate) debug_utils: bool,
    /// Whether the instance is destroyed with `self`.
    owned: bool,
    pub(crate) process: Process,
    /// Whether the validation layer is known to be on.
    pub(crate) validated: bool,
    log: Arc<ValidationLog>,
    loader: Loader,
}

impl InstanceShared {
    /// A caller's instance. Nothing is created on it, and it is not destroyed.
    ///
    /// # Safety
    ///
    /// `handle` is an instance of `loader` with this version of Vulkan, with VK_EXT_debug_utils
    /// enabled where `debug_utils` says so, and outlives the result.
    pub(crate) unsafe fn of_caller(
        loader: Loader,
        handle: vk::Instance,
        api_version: u32,
        debug_utils: bool,
    ) -> Self {
        let table = loader.load_instance(handle);
        let log = Arc::default();
        let validated = is_validated_by_environment();
        let (messenger, owned) = (None, false);
        let process = Process::current();
        Self { messenger, table, api_version, debug_utils, owned, process, validated, log, loader }
    }
}

impl Drop for InstanceShared {
    fn drop(&mut self) {
        if !self.process.is_current() {
            return;
        }
        let core = self.table.core();
        if let Some(messenger) = self.messenger.take() {
            let destroy = messenger.functions.destroy_debug_utils_messenger_ext;
            // SAFETY: the messenger was created by this instance, which is alive, and is used no
            // more.
            unsafe { destroy(core.handle(), messenger.handle, std::ptr::null()) };
        }
        if self.owned {
            // SAFETY: everything made from the instance owned a reference to `self`, so nothing of
            // it is left. The log, which the layers may still write to, is dropped after this.
            unsafe { core.destroy_instance(None) };
        }
    }
}

impl fmt::Debug for InstanceShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InstanceShared")
            .field("api_version", &self.api_version)
            .finish_non_exhaustive()
    }
}

struct Messenger {
    functions: ext::debug_utils::InstanceFn,
    handle: vk::DebugUtilsMessengerEXT,
}

impl Messenger {
    fn new(shared: &InstanceShared) -> Result<Self> {
        let instance = shared.table.core().handle();
        let functions = shared.loader.load_debug_utils(instance);
        let info = shared.log.messenger_info();
        let mut handle = vk::DebugUtilsMessengerEXT::null();
        let create = functions.create_debug_utils_messenger_ext;
        // SAFETY: the extension is enabled; `info` points to the log, which outlives the instance.
        let result =
            unsafe { create(instance, &raw const info, std::ptr::null(), &raw mut handle) };
        result.result().call("vkCreateDebugUtilsMessengerEXT")?;
        Ok(Self { functions, handle })
    }
}

#[derive(Clone, Copy, Default)]
struct Extensions {
    debug_utils: bool,
    portability: bool,
    /// Whether the layer to be enabled supports settings. Layers accept them even if the extension is not
    /// enabled, and a loader that is older than the extension would refuse to enable it.
    layer_settings: bool,
}

impl Extensions {
    fn query(loader: &Loader, layers: &[&CStr]) -> Result<Self> {
        let mut found = Self::default();
        for layer in std::iter::once(None).chain(layers.iter().map(|layer| Some(*layer))) {
            // SAFETY: the call needs no instance, and `layer` ends with a NUL.
            let offered = unsafe { loader.entry().enumerate_instance_extension_properties(layer) }
                .call("vkEnumerateInstanceExtensionProperties")?;
            for extension in &offered {
                let name = extension.extension_name_as_c_str().unwrap_or_default();
                found.debug_utils |= name == ext::debug_utils::NAME;
                found.portability |= name == khr::portability_enumeration::NAME;
                found.layer_settings |= layer.is_some() && name == ext::layer_settings::NAME;
            }
        }
        Ok(found)
    }

    fn names(self) -> Vec<*const std::ffi::c_char> {
        let mut names = Vec::new();
        if self.debug_utils {
            names.push(ext::debug_utils::NAME.as_ptr());
        }
        if self.portability {
            names.push(khr::portability_enumeration::NAME.as_ptr());
        }
        names
    }
}

/// Whether the loader's variable enables the layer for every instance of the process.
fn is_validated_by_environment() -> bool {
    let layers = std::env::var("VK_INSTANCE_LAYERS").unwrap_or_default();
    VALIDATION_LAYER.to_str().is_ok_and(|name| layers.contains(name))
}

fn required_layers(loader: &Loader, validation: Validation) -> Result<Vec<&'static CStr>> {
    if validation == Validation::Off {
        return Ok(Vec::new());
    }
    // SAFETY: the call needs no instance.
    let layers = unsafe { loader.entry().enumerate_instance_layer_properties() }
        .call("vkEnumerateInstanceLayerProperties")?;
    let is_there = layers
        .iter()
        .any(|layer| layer.layer_name_as_c_str().is_ok_and(|name| name == VALIDATION_LAYER));
    if is_there {
        return Ok(vec![VALIDATION_LAYER]);
    }
    Err(Error::unsupported(
        "validation",
        "VK_LAYER_KHRONOS_validation is not installed (on Debian and Ubuntu: \
         vulkan-validationlayers; in the project's repository: `cargo xtask setup`)",
    ))
}

fn create(
    loader: &Loader,
    api_version: u32,
    layers: &[&CStr],
    extensions: Extensions,
    log: &Arc<ValidationLog>,
) -> Result<vk::Instance> {
    let application = vk::ApplicationInfo::default().engine_name(c"dml").api_version(api_version);
    let layer_names: Vec<_> = layers.iter().map(|name| name.as_ptr()).collect();
    let extension_names = extensions.names();
    let mut messenger_info = log.messenger_info();
    let mut info = vk::InstanceCreateInfo::default()
        .application_info(&application)
        .enabled_layer_names(&layer_names)
        .enabled_extension_names(&extension_names);
    if extensions.portability {
        info = info.flags(vk::InstanceCreateFlags::ENUMERATE_PORTABILITY_KHR);
    }
    if extensions.debug_utils {
        // Covers the creation and destruction of the instance itself.
        info = info.push_next(&mut messenger_info);
    }
    // Without this the layer reports a message at most 9 times.
    let no = vk::FALSE.to_ne_bytes();
    let mut setting = vk::LayerSettingEXT::default()
        .layer_name(VALIDATION_LAYER)
        .setting_name(MESSAGE_LIMIT)
        .ty(vk::LayerSettingTypeEXT::BOOL32)
        .values(&no);
    // The count is of values, not of their bytes.
    setting.value_count = 1;
    let settings = [setting];
    let mut settings = vk::LayerSettingsCreateInfoEXT::default().settings(&settings);
    if extensions.layer_settings {
        info = info.push_next(&mut settings);
    }
    let mut instance = vk::Instance::null();
    let create = loader.entry().fp_v1_0().create_instance;
    // SAFETY: everything that `info` points to outlives the call; the log outlives the instance.
    let result = unsafe { create(&raw const info, std::ptr::null(), &raw mut instance) };
    match result {
        vk::Result::SUCCESS => Ok(instance),
        vk::Result::ERROR_INCOMPATIBLE_DRIVER => {
            Err(Error::NoDevice { reason: "the loader found no driver".to_owned() })
        }
        result => Err(Error::from_vk("vkCreateInstance", result)),
    }
}
