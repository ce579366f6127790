//! Descriptors, validation, graphs and plans of DirectML's operators: the part of the runtime that needs no device.
//!
//! ```text
//! AbstractOperator  --validate(level)-->  Validated  --(dml-ops) lower-->  Plan
//! ```
//!
//! - Descriptors ([`TensorDesc`], [`AbstractOperator`]) are unchecked data, as a caller fills them.
//! - [`validate()`] finds every mistake that a caller can make; its result, [`Validated`], is never refused for one.
//! - [`plan`] is what `dml-ops` produces and `dml-vk` executes; [`host`] executes the same plan on
//!   the CPU, so that lowering is testable without a device.
//!
//! ```
//! use dml_core::operators::DiagonalMatrixDesc;
//! use dml_core::{DataType, FeatureLevel, TensorDesc, validate};
//!
//! let eye = |data_type| DiagonalMatrixDesc {
//!     output_tensor: TensorDesc::packed(data_type, &[3, 4]),
//!     offset: 1,
//!     value: 7.0,
//! };
//! assert!(validate(&eye(DataType::Float32).into(), FeatureLevel::V4_0).is_ok());
//! let refusal = validate(&eye(DataType::Int64).into(), FeatureLevel::V4_0).unwrap_err();
//! assert_eq!(
//!     refusal.to_string(),
//!     "DIAGONAL_MATRIX: OutputTensor.DataType: INT64 needs feature level 5_1; \
//!      this device was created at 4_0 \
//!      (allowed: FLOAT32, FLOAT16, UINT32, UINT16, UINT8, INT32, INT16, INT8)"
//! );
//! ```
//!
//! Sizes and strides of tensors are counts of elements, and offsets and sizes of buffers are bytes, unless a name
//! says otherwise. Feature levels, operators and fields are those of DirectML.h; [`schema`] has them as data, read
//! from one table for each operator.
//!
//! The crate has no Vulkan bindings, names no kernel and has no `unsafe`; a test keeps it so.
#![forbid(unsafe_code)]

pub mod c_layout;
pub mod capabilities;
mod error;
pub mod graph;
pub mod host;
#[cfg(feature = "json")]
pub mod json;
pub mod operators;
pub mod plan;
mod recent;
pub mod schema;
mod similar;
pub mod support;
mod tensor;
mod types;
mod validate;

pub use capabilities::{Capabilities, CapabilityCap};
pub use error::{Error, HResult, LevelRefusal};
pub use graph::{GraphDesc, ValidatedGraph, validate_graph, validate_known_graph};
pub use plan::kernel;
pub use recent::Recent;
pub use schema::operator::{AbstractOperator, FieldValue};
pub use schema::validated::Validated;
pub use similar::{similar_names, suggestion};
pub use tensor::{
    MAX_DIMENSION_COUNT, MAX_ELEMENT_COUNT, MINIMUM_TENSOR_ALIGNMENT, TensorDesc, TensorFlags,
    TensorLayout,
};
pub use types::enums::*;
pub use types::{
    DataType, DataTypeSet, ExecutionFlags, FeatureLevel, InvalidField, Numerics, ScalarUnion,
    Strategy, Tuning, UnknownName, enums, value,
};
pub use validate::{KnownOperators, validate};
