//! The errors of this crate, and their mapping from Vulkan's result codes.

use ash::vk;
use dml_core::HResult;
use dml_core::kernel::Feature;

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// How to get a Vulkan loader and a driver, for messages.
const INSTALL_HINT: &str = "on Debian and Ubuntu install libvulkan1 and mesa-vulkan-drivers; \
     in the project's repository run `cargo xtask setup`";

/// The errors that functions of this crate report.
///
/// No error here is caused by a wrong tensor description: `dml-core` refuses those before.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A buffer cannot be bound like this: a mistake of the caller.
    #[error("{operator}: {field}: {problem} (accepted: {accepted})")]
    InvalidBinding {
        /// The operator's name.
        operator: &'static str,
        /// The bound field, such as `OutputTensor`.
        field: String,
        /// The problem, with the value given.
        problem: String,
        /// The values that would be accepted.
        accepted: String,
    },
    /// An argument is out of its range or does not fit the others: a mistake of the caller.
    #[error("{argument}: {problem}")]
    InvalidArgument {
        /// The argument.
        argument: String,
        /// The problem, with the value given.
        problem: String,
    },
    /// A selector matches no physical device, or several: a mistake of the caller.
    #[error("{problem}; devices are: {devices}")]
    DeviceSelection {
        /// The selector, and whether it matches none or more than one.
        problem: String,
        /// Every device with its index, kind and UUID.
        devices: String,
    },
    /// The device, driver or loader does not support the request.
    #[error("{what}: not supported: {lacking}")]
    Unsupported {
        /// The request.
        what: String,
        /// The missing support.
        lacking: String,
    },
    /// A limit of the device is too low for the request.
    #[error("{what}: needs {needed}, but {limit} of this device is {available}")]
    LimitExceeded {
        /// The request.
        what: String,
        /// Vulkan's name of the limit.
        limit: &'static str,
        /// The value that was needed.
        needed: u64,
        /// The value that the device has.
        available: u64,
    },
    /// A kernel needs features that the device has not enabled.
    #[error("kernel {kernel}: needs {}, not enabled on this device", join(features))]
    MissingFeatures {
        /// The kernel variant.
        kernel: String,
        /// The missing features.
        features: Vec<Feature>,
    },
    /// No Vulkan loader was found.
    #[error("no Vulkan loader was found ({reason}): {INSTALL_HINT}")]
    NoLoader {
        /// The message of the dynamic linker.
        reason: String,
    },
    /// There is a loader, but no usable device.
    #[error("no usable Vulkan device was found ({reason}): {INSTALL_HINT}")]
    NoDevice {
        /// The devices that were found, and why they are not usable.
        reason: String,
    },
    /// The device was lost. Every later call on the device fails in the same way.
    #[error("the device was lost, as reported by {call}; create a new device")]
    DeviceLost {
        /// The call that reported it first.
        call: &'static str,
    },
    /// The device or instance belongs to the process that this one was forked from. Every call on it fails in the
    /// same way, and nothing of it is destroyed here.
    #[error(
        "the device belongs to process {parent}, which this process was forked from; create a new instance and a \
         new device"
    )]
    Forked {
        /// The process that created it.
        parent: u32,
    },
    /// There is not enough memory for this call. The device remains usable.
    #[error("out of {kind} memory in {call}")]
    OutOfMemory {
        /// The memory that ran out.
        kind: MemoryKind,
        /// The call that failed.
        call: &'static str,
    },
    /// A call failed with a result that has no variant of its own.
    #[error("{call} failed: {result:?}")]
    Vulkan {
        /// The call that failed.
        call: &'static str,
        /// Its result.
        result: vk::Result,
    },
    /// A defect of this project. Please report it.
    #[error("internal error, please report it: {problem}")]
    Internal {
        /// The problem.
        problem: String,
    },
}

fn join(features: &[Feature]) -> String {
    features.iter().map(|feature| feature.name()).collect::<Vec<_>>().join(", ")
}

/// The memory that ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// Memory of the host.
    Host,
    /// Memory of the device, mapped memory and pools included.
    Device,
}

impl std::fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Host => "host",
            Self::Device => "device",
        })
    }
}

impl Error {
    /// Whether the device was lost, or was left behind in the process that this one was forked from.
    pub fn is_device_lost(&self) -> bool {
        matches!(self, Self::DeviceLost { .. } | Self::Forked { .. })
    }

    /// Whether memory ran out.
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, Self::OutOfMemory { .. })
    }

    /// Whether the machine does not support the request.
    pub fn is_unsupported(&self) -> bool {
        matches!(
            self,
            Self::Unsupported { .. }
                | Self::LimitExceeded { .. }
                | Self::MissingFeatures { .. }
                | Self::NoLoader { .. }
                | Self::NoDevice { .. }
        )
    }

    /// Whether an argument was wrong, on any device.
    pub fn is_invalid(&self) -> bool {
        matches!(
            self,
            Self::InvalidBinding { .. }
                | Self::InvalidArgument { .. }
                | Self::DeviceSelection { .. }
        )
    }

    /// The nearest HRESULT.
    pub fn hresult(&self) -> HResult {
        match self {
            Self::InvalidBinding { .. }
            | Self::InvalidArgument { .. }
            | Self::DeviceSelection { .. } => HResult::E_INVALIDARG,
            Self::Unsupported { .. }
            | Self::LimitExceeded { .. }
            | Self::MissingFeatures { .. }
            | Self::NoLoader { .. }
            | Self::NoDevice { .. } => HResult::DXGI_ERROR_UNSUPPORTED,
            Self::DeviceLost { .. } | Self::Forked { .. } => HResult::DXGI_ERROR_DEVICE_REMOVED,
            Self::OutOfMemory { .. } => HResult::E_OUTOFMEMORY,
            Self::Vulkan { .. } | Self::Internal { .. } => HResult::E_UNEXPECTED,
        }
    }

    /// The error for a failing result of `call`. Must not be called with success codes.
    pub(crate) fn from_vk(call: &'static str, result: vk::Result) -> Self {
        match result {
            vk::Result::ERROR_OUT_OF_HOST_MEMORY => {
                Self::OutOfMemory { kind: MemoryKind::Host, call }
            }
            vk::Result::ERROR_OUT_OF_DEVICE_MEMORY
            | vk::Result::ERROR_OUT_OF_POOL_MEMORY
            | vk::Result::ERROR_FRAGMENTED_POOL
            | vk::Result::ERROR_FRAGMENTATION
            | vk::Result::ERROR_TOO_MANY_OBJECTS => {
                Self::OutOfMemory { kind: MemoryKind::Device, call }
            }
            vk::Result::ERROR_DEVICE_LOST => Self::DeviceLost { call },
            result => Self::Vulkan { call, result },
        }
    }

    pub(crate) fn invalid(argument: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::InvalidArgument { argument: argument.into(), problem: problem.into() }
    }

    pub(crate) fn unsupported(what: impl Into<String>, lacking: impl Into<String>) -> Self {
        Self::Unsupported { what: what.into(), lacking: lacking.into() }
    }

    pub(crate) fn internal(problem: impl Into<String>) -> Self {
        Self::Internal { problem: problem.into() }
    }
}

/// Adds the call's name to the error of a call that has no device yet.
pub(crate) trait VkContext<T> {
    fn call(self, call: &'static str) -> Result<T>;
}

impl<T> VkContext<T> for ash::prelude::VkResult<T> {
    fn call(self, call: &'static str) -> Result<T> {
        self.map_err(|result| Error::from_vk(call, result))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_become_typed_errors_that_keep_the_call() {
        let lost = Error::from_vk("vkQueueSubmit", vk::Result::ERROR_DEVICE_LOST);
        assert!(lost.is_device_lost());
        assert!(lost.to_string().contains("vkQueueSubmit"));
        let host = Error::from_vk("vkCreateBuffer", vk::Result::ERROR_OUT_OF_HOST_MEMORY);
        assert_eq!(host.to_string(), "out of host memory in vkCreateBuffer");
        let pool = Error::from_vk("vkAllocateDescriptorSets", vk::Result::ERROR_OUT_OF_POOL_MEMORY);
        assert!(pool.is_out_of_memory());
        let other = Error::from_vk("vkCreateDevice", vk::Result::ERROR_FEATURE_NOT_PRESENT);
        assert!(other.to_string().contains("ERROR_FEATURE_NOT_PRESENT"));
    }

    #[test]
    fn each_kind_has_its_hresult() {
        let invalid = Error::invalid("size", "0");
        assert!(invalid.is_invalid());
        assert_eq!(invalid.hresult(), HResult::E_INVALIDARG);
        let unsupported = Error::unsupported("a buffer", "maxBufferSize");
        assert!(unsupported.is_unsupported());
        assert_eq!(unsupported.hresult(), HResult::DXGI_ERROR_UNSUPPORTED);
        assert_eq!(Error::internal("x").hresult(), HResult::E_UNEXPECTED);
    }
}
