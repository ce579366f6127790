//! The VkDevice itself, to which every other object of a device has a reference.

use std::ffi::CString;
use std::fmt;
use std::sync::{Arc, OnceLock};

use ash::prelude::VkResult;
use ash::vk;

use crate::error::{Error, Result};
use crate::instance::InstanceShared;
use crate::instance::entry::DeviceTable;
use crate::instance::process::Process;

/// A VkDevice, owned or the caller's. Remembers whether it was lost.
pub(crate) struct RawDevice {
    table: DeviceTable,
    /// Whether the device is destroyed with `self`.
    owned: bool,
    process: Process,
    /// The first call that reported the loss.
    lost: OnceLock<&'static str>,
    /// Keeps the VkInstance alive; dropped after the device was destroyed.
    _instance: Arc<InstanceShared>,
}

impl RawDevice {
    /// `table`'s device, which was created from `instance`. An owned one belongs to nobody else; any other
    /// is destroyed by its owner after `self` is gone.
    pub(crate) fn new(table: DeviceTable, instance: Arc<InstanceShared>, owned: bool) -> Self {
        let (process, lost) = (instance.process, OnceLock::new());
        Self { table, owned, process, lost, _instance: instance }
    }

    /// Whether this crate created the device.
    pub(crate) fn is_owned(&self) -> bool {
        self.owned
    }

    /// The hooked core functions.
    pub(crate) fn core(&self) -> &ash::Device {
        &self.table.core
    }

    /// The hooked functions of timeline semaphores.
    pub(crate) fn timeline(&self) -> &ash::khr::timeline_semaphore::DeviceFn {
        &self.table.timeline
    }

    /// The hooked functions of names and labels, if the instance supports them.
    pub(crate) fn debug(&self) -> Option<&ash::ext::debug_utils::DeviceFn> {
        self.table.debug.as_ref()
    }

    /// Turns a result code into an error that names `call`, and remembers a loss.
    pub(crate) fn check<T>(&self, call: &'static str, result: VkResult<T>) -> Result<T> {
        result.map_err(|code| self.remember(Error::from_vk(call, code)))
    }

    /// Remembers a loss that `error` may report; from then on, every error is that loss.
    pub(crate) fn remember(&self, error: Error) -> Error {
        match error {
            Error::DeviceLost { call } => {
                Error::DeviceLost { call: self.lost.get_or_init(|| call) }
            }
            other => other,
        }
    }

    /// Fails if the device was lost, or belongs to the process that this one was forked from.
    pub(crate) fn ensure_alive(&self) -> Result<()> {
        self.process.ensure_current()?;
        self.lost.get().map_or(Ok(()), |call| Err(Error::DeviceLost { call }))
    }

    /// Whether this process was forked from the device's. Objects of the device are then not destroyed, and no lock
    /// of it is taken: a thread that this process does not have may hold it.
    pub(crate) fn is_forked(&self) -> bool {
        !self.process.is_current()
    }

    /// Whether the device was lost.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.get().is_some()
    }

    /// Names `object` for debuggers and validation messages. Costs nothing without VK_EXT_debug_utils.
    pub(crate) fn set_name<T: vk::Handle>(&self, object: T, name: &str) {
        let Some(debug) = self.debug() else { return };
        let Ok(name) = CString::new(name.replace('\0', " ")) else { return };
        let info =
            vk::DebugUtilsObjectNameInfoEXT::default().object_handle(object).object_name(&name);
        // SAFETY: the object belongs to this device, is alive, and was not yet shared with another
        // thread; `info` outlives the call.
        let result = unsafe {
            (debug.set_debug_utils_object_name_ext)(self.core().handle(), &raw const info)
        };
        if result != vk::Result::SUCCESS {
            log::debug!("vkSetDebugUtilsObjectNameEXT: {result:?}");
        }
    }
}

impl Drop for RawDevice {
    fn drop(&mut self) {
        if self.owned && !self.is_forked() {
            // SAFETY: every object of the device owned a reference to `self`, so none is left, and
            // nothing is in flight, as a submission keeps what it uses until it has completed.
            unsafe { self.core().destroy_device(None) };
        }
    }
}

impl fmt::Debug for RawDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawDevice")
            .field("handle", &self.core().handle())
            .field("lost", &self.lost)
            .finish_non_exhaustive()
    }
}
