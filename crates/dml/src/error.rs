//! The error type of the runtime.

use dml_core::{DataType, FeatureLevel, HResult};

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the runtime. Messages are one line and name the operator, the field, the given value and
/// the accepted values.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operator was refused before any device was involved.
    #[error(transparent)]
    Operator(#[from] dml_core::Error),
    /// A binding was refused, or Vulkan failed.
    #[error(transparent)]
    Vulkan(#[from] dml_vk::Error),
    /// A tensor description was refused.
    #[error("tensor: {0}")]
    Tensor(#[from] dml_core::InvalidField),
    /// A tensor was read as another type.
    #[error("a {tensor} tensor cannot be read as {element} (accepted: {accepted})")]
    ElementType {
        /// The tensor's type.
        tensor: DataType,
        /// The requested Rust type.
        element: &'static str,
        /// The tensor type that this Rust type reads.
        accepted: DataType,
    },
    /// The number of given elements is not the tensor's.
    #[error("{given} elements for a tensor of {needed} (accepted: {needed})")]
    ElementCount {
        /// The number of given elements.
        given: u64,
        /// The number of the tensor's elements.
        needed: u64,
    },
    /// The host has not enough memory for a result.
    #[error("out of host memory for {what}")]
    HostMemory {
        /// The use of the memory.
        what: &'static str,
    },
    /// The minimum feature level is above the device's level.
    #[error(
        "minimum feature level {minimum}: not supported by a device created at {created_at} \
         (accepted: up to {created_at})"
    )]
    MinimumFeatureLevel {
        /// The minimum level.
        minimum: FeatureLevel,
        /// The level that the device is created at.
        created_at: FeatureLevel,
    },
    /// A device profile was refused.
    #[error("{0}")]
    Profile(String),
    /// An environment variable has an invalid value.
    #[error("{variable} is '{value}'; accepted: {accepted}")]
    Environment {
        /// The variable.
        variable: &'static str,
        /// The variable's value.
        value: String,
        /// The accepted values.
        accepted: &'static str,
    },
    /// An operator was given to a device that it was not compiled for.
    #[error("{operator}: compiled for another device (accepted: operators of this device)")]
    OtherDevice {
        /// The operator's name.
        operator: &'static str,
    },
    /// The operator has an input that is OWNED_BY_DML, and has not been initialized.
    #[error(
        "{operator}: not initialized, though an input is OWNED_BY_DML (accepted: an operator that \
         is initialized before it is executed)"
    )]
    NotInitialized {
        /// The operator's name.
        operator: &'static str,
    },
    /// An execution flag is unknown.
    #[error("execution flags: {0}")]
    ExecutionFlags(String),
}

impl Error {
    /// The HRESULT that DirectML would give for this kind of failure.
    pub fn hresult(&self) -> HResult {
        match self {
            Self::Operator(error) => error.hresult(),
            Self::Vulkan(error) => error.hresult(),
            Self::HostMemory { .. } => HResult::E_OUTOFMEMORY,
            Self::MinimumFeatureLevel { .. } => HResult::DXGI_ERROR_UNSUPPORTED,
            Self::Tensor(_)
            | Self::ElementType { .. }
            | Self::ElementCount { .. }
            | Self::Profile(_)
            | Self::Environment { .. }
            | Self::OtherDevice { .. }
            | Self::NotInitialized { .. }
            | Self::ExecutionFlags(_) => HResult::E_INVALIDARG,
        }
    }

    /// Whether the device was lost; nothing works on it any more.
    pub fn is_device_lost(&self) -> bool {
        self.hresult() == HResult::DXGI_ERROR_DEVICE_REMOVED
    }

    /// Whether memory ran out; the device remains usable.
    pub fn is_out_of_memory(&self) -> bool {
        self.hresult() == HResult::E_OUTOFMEMORY
    }

    /// Whether the machine or the device does not support the request.
    pub fn is_unsupported(&self) -> bool {
        self.hresult() == HResult::DXGI_ERROR_UNSUPPORTED
    }

    /// Whether the caller's input was invalid.
    pub fn is_invalid(&self) -> bool {
        self.hresult() == HResult::E_INVALIDARG
    }
}

#[cfg(feature = "profiles")]
impl From<crate::profiles::Error> for Error {
    fn from(error: crate::profiles::Error) -> Self {
        Self::Profile(error.to_string())
    }
}
