//! Messages of drivers and layers through VK_EXT_debug_utils, and object names for them.

use std::ffi::{CStr, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use ash::vk;

/// Further messages are only logged, so that a layer cannot fill the memory.
const MAX_KEPT: usize = 4096;

/// The severity of a validation message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValidationSeverity {
    /// Allowed, but probably a mistake.
    Warning,
    /// Forbidden by Vulkan.
    Error,
}

/// One message of a validation layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidationMessage {
    /// The severity.
    pub severity: ValidationSeverity,
    /// The rule, such as `SYNC-HAZARD-WRITE-AFTER-WRITE` or a `VUID-...`; empty if the layer gives none.
    pub id: String,
    /// The layer's text.
    pub text: String,
}

impl std::fmt::Display for ValidationMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.id, self.text)
    }
}

/// The validation messages of an instance. The log outlives the instance, so that messages from the destruction of
/// objects can be read as well.
#[derive(Clone, Debug, Default)]
pub struct ValidationLog {
    kept: Arc<Mutex<Vec<ValidationMessage>>>,
}

impl ValidationLog {
    /// Removes and returns everything reported since the last call, oldest first.
    pub fn take(&self) -> Vec<ValidationMessage> {
        std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn push(&self, message: ValidationMessage) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MAX_KEPT {
            kept.push(message);
        }
    }

    /// The description of a messenger that writes here. The log must stay at its address and alive as long as the
    /// messenger.
    pub(crate) fn messenger_info(self: &Arc<Self>) -> vk::DebugUtilsMessengerCreateInfoEXT<'_> {
        use vk::{
            DebugUtilsMessageSeverityFlagsEXT as Severity, DebugUtilsMessageTypeFlagsEXT as Type,
        };
        vk::DebugUtilsMessengerCreateInfoEXT::default()
            .message_severity(Severity::WARNING | Severity::ERROR)
            .message_type(Type::GENERAL | Type::VALIDATION | Type::PERFORMANCE)
            .pfn_user_callback(Some(on_message))
            .user_data(Arc::as_ptr(self).cast_mut().cast())
    }
}

/// Receives messages from the loader, layers and drivers.
///
/// Messages of type VALIDATION go to the [`ValidationLog`] and to `log`; others only to `log`, because a
/// loader also reports drivers that are unrelated to this project.
unsafe extern "system" fn on_message(
    severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    kinds: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    user_data: *mut c_void,
) -> vk::Bool32 {
    // A panic must not cross into the driver; a logger that panics is not ours to report.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: Vulkan passes a structure that is valid during the callback, or null.
        let Some(data) = (unsafe { data.as_ref() }) else { return };
        // SAFETY: the strings of the structure are null or end with a NUL, and live as long as it.
        let id = unsafe { data.message_id_name_as_c_str() };
        // SAFETY: as above.
        let message = unsafe { data.message_as_c_str() };
        let text = |it: Option<&CStr>| it.unwrap_or_default().to_string_lossy().into_owned();
        let (id, message) = (text(id), text(message));
        let is_error = severity.contains(vk::DebugUtilsMessageSeverityFlagsEXT::ERROR);
        let level = if is_error { log::Level::Error } else { log::Level::Warn };
        log::log!(target: "dml_vk::validation", level, "{id}: {message}");
        if !kinds.contains(vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION) {
            return;
        }
        // SAFETY: the pointer was made from the log that the instance keeps alive until after its
        // own destruction, and a log is only used through shared references.
        let Some(log) = (unsafe { user_data.cast::<ValidationLog>().as_ref() }) else { return };
        log.push(ValidationMessage {
            severity: if is_error {
                ValidationSeverity::Error
            } else {
                ValidationSeverity::Warning
            },
            id,
            text: message,
        });
    }));
    vk::FALSE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(log: &Arc<ValidationLog>, kind: vk::DebugUtilsMessageTypeFlagsEXT) {
        let info = log.messenger_info();
        let data = vk::DebugUtilsMessengerCallbackDataEXT::default()
            .message_id_name(c"VUID-1")
            .message(c"a message");
        // SAFETY: the structure and the log live during the call.
        unsafe {
            on_message(
                vk::DebugUtilsMessageSeverityFlagsEXT::ERROR,
                kind,
                &raw const data,
                info.p_user_data,
            )
        };
    }

    #[test]
    fn only_validation_messages_are_kept() {
        let log = Arc::new(ValidationLog::default());
        call(&log, vk::DebugUtilsMessageTypeFlagsEXT::GENERAL);
        assert_eq!(log.take(), []);
        call(&log, vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION);
        let taken = log.take();
        assert_eq!(taken.len(), 1);
        assert_eq!(taken[0].id, "VUID-1");
        assert_eq!(taken[0].severity, ValidationSeverity::Error);
        assert_eq!(log.take(), []);
    }
}
