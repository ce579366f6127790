//! Runs DirectML-style operators on any Vulkan device, at a chosen DirectML feature level.
//!
//! ```no_run
//! use dml::{BufferBinding, DataType, Device, DiagonalMatrixDesc, FeatureLevel, TensorDesc};
//!
//! # fn main() -> Result<(), dml::Error> {
//! let device = Device::open(FeatureLevel::V5_1)?;
//! let tensor = TensorDesc::packed(DataType::Int64, &[3, 4]);
//! let eye = device.compile(DiagonalMatrixDesc {
//!     output_tensor: tensor.clone(),
//!     offset: 1,
//!     value: 7.0,
//! })?;
//! let buffer = device.create_buffer(eye.output_size(0))?;
//! device.execute(&eye, &[], &[Some(BufferBinding::whole(&buffer))])?;
//! assert_eq!(device.read::<i64>(&buffer, 0, &tensor)?[..4], [0, 7, 0, 0]);
//! # Ok(())
//! # }
//! ```
//!
//! A [`Device`] refuses operators, data types and dimension counts above its feature level. Results have the
//! same bits on every device; types that the hardware lacks are emulated. Feature levels and results are checked
//! against DirectML's documentation, never against DirectML itself. All types are `Send + Sync`; objects may be
//! dropped in any order.
//!
//! [`support`] tells which operators and types are supported before a device is created; a [`CapabilityCap`]
//! lowers a device's features and limits. With the feature `profiles`, profiles of real devices are available as
//! caps by name, and the environment variable `DML_PROFILE` applies one to every device.
//!
//! Compiled pipelines are kept on disk for the next process, in the user's cache folder; [`PipelineCache`]
//! changes the folder or turns the cache off.
//!
//! The layers below are re-exported: [`core`] (descriptors, validation, plans), [`ops`] (lowering),
//! [`vk`] (Vulkan objects), and [`ash`].

mod compiled;
mod device;
mod element;
mod environment;
mod error;
mod graph_compiler;
mod pipeline_cache;
#[cfg(feature = "profiles")]
pub mod profiles;
pub mod support;

pub use compiled::CompiledOperator;
pub use device::{Device, DeviceOptions, Initialization, tuning_for};
pub use element::Element;
pub use error::{Error, Result};
pub use graph_compiler::GraphCompiler;
pub use pipeline_cache::PipelineCache;

pub use dml_core::enums::*;
pub use dml_core::graph::{GraphBuilder, GraphDesc};
pub use dml_core::operators::descs::*;
pub use dml_core::plan::WorkBound;
pub use dml_core::{
    AbstractOperator, CapabilityCap, DataType, ExecutionFlags, FeatureLevel, HResult, Numerics,
    ScalarUnion, TensorDesc, TensorFlags, TensorLayout,
};
pub use dml_ops::graph::GraphOptions;
pub use dml_vk::{
    BindingProperties, Buffer, BufferBinding, BufferDesc, BufferUsage, DeviceSelector, EntryPoints,
    Instance, InstanceDesc, MemoryLocation, PhysicalDevice, QueueChoice, Submission, Validation,
    ValidationMessage,
};

pub use dml_core as core;
pub use dml_ops as ops;
pub use dml_vk as vk;
pub use dml_vk::ash;
pub use half::f16;

// The examples of the README and of the page on integration are compiled and run like every other one.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
#[cfg(doctest)]
#[doc = include_str!("../../../docs/integrating.md")]
struct Integrating;
