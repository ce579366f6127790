//! The pure half of the runtime: what a DirectML-style operator *is*, before any device is involved.
//!
//! ```text
//! AbstractOperator  --validate(level)-->  Validated  --(dml-ops) lower-->  Plan
//! ```
//!
//! - Descriptors ([`TensorDesc`], [`AbstractOperator`]) are unchecked data, as a caller fills them.
//! - [`validate()`] finds every mistake that a caller can make; after it a wrong value is our bug.
//! - [`plan`] is what `dml-ops` produces and `dml-vk` executes; [`host`] executes the same plan on
//!   the CPU, so that lowering is testable without a device.
//!
//! Three things are absent on purpose and a test keeps them so: Vulkan bindings, the name of any
//! kernel, and `unsafe`.
#![forbid(unsafe_code)]

pub mod c_layout;
pub mod capabilities;
mod data_type;
mod error;
mod feature_level;
mod flags;
pub mod host;
#[cfg(feature = "json")]
pub mod json;
pub mod kernel;
mod layout;
mod operator;
pub mod operators;
mod overlap;
pub mod plan;
mod rules;
mod scalar;
pub mod schema;
mod strategy;
pub mod support;
mod tensor;
mod tuning;
mod validate;
pub mod value;

pub use capabilities::{Capabilities, CapabilityCap};
pub use data_type::{DataType, DataTypeSet};
pub use error::{Error, HResult, InvalidField, LevelRefusal, UnknownName};
pub use feature_level::FeatureLevel;
pub use flags::ExecutionFlags;
pub use layout::TensorLayout;
pub use operator::{AbstractOperator, FieldValue};
pub use scalar::ScalarUnion;
pub use strategy::Strategy;
pub use tensor::{
    MAX_DIMENSION_COUNT, MAX_ELEMENT_COUNT, MINIMUM_TENSOR_ALIGNMENT, TensorDesc, TensorFlags,
};
pub use tuning::Tuning;
pub use validate::{Validated, validate};
