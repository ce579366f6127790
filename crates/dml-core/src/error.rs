//! Errors of validation and lowering, and their messages.

use std::fmt;

use crate::types::{FeatureLevel, InvalidField};

/// An error of validation or lowering. Its message is one line that names the operator, the field, the
/// given value and the accepted values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The descriptor breaks a rule that holds at every feature level.
    #[error("{operator}: {field}")]
    Invalid {
        /// The operator's name.
        operator: &'static str,
        /// The field, and why its value is refused.
        field: InvalidField,
    },
    /// The device was created at a feature level that does not accept the descriptor.
    #[error("{0}")]
    FeatureLevel(Box<LevelRefusal>),
    /// DirectML's reference does not say what the operator accepts, so no level accepts anything.
    #[error("{operator}: {field}: DirectML's reference states no data types; none is accepted")]
    Undocumented {
        /// The operator's name.
        operator: &'static str,
        /// The field's path.
        field: String,
    },
    /// A graph's own description breaks a rule.
    #[error("graph: {0}")]
    InvalidGraph(InvalidField),
    /// An operator of a graph is refused.
    #[error("graph: {node}: {error}")]
    InNode {
        /// The node, such as `Nodes[3]`, followed by its name if it has one.
        node: String,
        /// Why the operator is refused.
        error: Box<Error>,
    },
    /// The operator is part of DirectML but not of this runtime.
    #[error("{operator}: not implemented by this runtime (implemented: {implemented})")]
    NotImplemented {
        /// The operator's name.
        operator: &'static str,
        /// Names of the operators that are implemented.
        implemented: String,
    },
    /// A nested operator is part of DirectML but not of this runtime.
    #[error(
        "{operator}: {field}: {nested} is not implemented by this runtime \
         (implemented here: {implemented})"
    )]
    NestedNotImplemented {
        /// The outer operator's name.
        operator: &'static str,
        /// The field that holds the nested operator, such as `FusedActivation` or `ActivationDescs[1]`.
        field: String,
        /// The nested operator's name.
        nested: &'static str,
        /// Names of the operators that this runtime implements in that field.
        implemented: String,
    },
    /// The descriptor is legal, but the device cannot carry it.
    #[error("{operator}: {field}: {needed} {unit} exceed {limit} of this device ({available})")]
    DeviceLimit {
        /// The operator's name.
        operator: &'static str,
        /// The field that exceeds the limit.
        field: &'static str,
        /// The number of units that are needed.
        needed: u64,
        /// The unit of both numbers, such as `bytes` or `dispatches`.
        unit: &'static str,
        /// Vulkan's name of the limit, or a description of a limit that follows from several.
        limit: &'static str,
        /// The number of units that the device allows.
        available: u64,
    },
    /// A defect of this runtime.
    #[error("{operator}: internal error: {problem}; please report it")]
    Internal {
        /// The operator's name.
        operator: &'static str,
        /// A description of the defect.
        problem: String,
    },
}

impl Error {
    /// The HRESULT that DirectML would give for this kind of failure.
    pub fn hresult(&self) -> HResult {
        match self {
            Self::Invalid { .. } | Self::InvalidGraph(_) | Self::FeatureLevel(_) => {
                HResult::E_INVALIDARG
            }
            Self::InNode { error, .. } => error.hresult(),
            Self::Undocumented { .. }
            | Self::NotImplemented { .. }
            | Self::NestedNotImplemented { .. } => HResult::E_NOTIMPL,
            Self::DeviceLimit { .. } => HResult::DXGI_ERROR_UNSUPPORTED,
            Self::Internal { .. } => HResult::E_UNEXPECTED,
        }
    }

    /// The error of an operator that is nested in `outer` at `path`, as an error of `outer`.
    pub(crate) fn inside(self, outer: &'static str, path: &str) -> Self {
        match self {
            Self::Invalid { field, .. } => {
                Self::Invalid { operator: outer, field: field.inside(path) }
            }
            other => other,
        }
    }

    /// A defect of this runtime, found in `operator`.
    pub fn internal(operator: &'static str, problem: impl Into<String>) -> Self {
        Self::Internal { operator, problem: problem.into() }
    }
}

/// An operator or a value that the device's feature level does not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelRefusal {
    /// The operator's name.
    pub operator: &'static str,
    /// The level that introduced the operator. If the device's is lower, the message begins with that.
    pub introduced: FeatureLevel,
    /// The field and its value, such as `OutputTensor.DataType` and `INT64`; `None` if the
    /// operator itself is refused.
    pub field: Option<(String, String)>,
    /// The lowest level that accepts the operator or the value; `None` if no level does.
    pub needs: Option<FeatureLevel>,
    /// The level that the device was created at.
    pub created_at: FeatureLevel,
    /// The values that the device's level accepts in the field.
    pub allowed: Option<String>,
}

impl fmt::Display for LevelRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.operator)?;
        if let Some((path, value)) = &self.field {
            if self.introduced > self.created_at {
                write!(f, "needs feature level {}; ", self.introduced)?;
            }
            write!(f, "{path}: {value} ")?;
        }
        match self.needs {
            Some(level) => write!(f, "needs feature level {level}")?,
            None => write!(f, "is not supported at any feature level")?,
        }
        write!(f, "; this device was created at {}", self.created_at)?;
        if let Some(allowed) = &self.allowed {
            write!(f, " (allowed: {allowed})")?;
        }
        Ok(())
    }
}

/// A Windows error code, for callers that port from DirectML.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HResult(pub u32);

impl HResult {
    /// The caller's mistake: an invalid descriptor or binding, or a feature level too low.
    pub const E_INVALIDARG: Self = Self(0x8007_0057);
    /// The device lacks a required feature, or one of its limits is too low.
    pub const DXGI_ERROR_UNSUPPORTED: Self = Self(0x887A_0004);
    /// The device is lost.
    pub const DXGI_ERROR_DEVICE_REMOVED: Self = Self(0x887A_0005);
    /// The operator is not implemented.
    pub const E_NOTIMPL: Self = Self(0x8000_4001);
    /// Out of host or device memory.
    pub const E_OUTOFMEMORY: Self = Self(0x8007_000E);
    /// A defect of the runtime.
    pub const E_UNEXPECTED: Self = Self(0x8000_FFFF);
}

impl fmt::Display for HResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:08X}", self.0)
    }
}
