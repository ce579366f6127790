//! Runs DirectML-style operators on any Vulkan device, at a chosen DirectML feature level.
//!
//! # An operator
//!
//! A descriptor says what to compute, [`Device::compile`] checks it and makes pipelines, and [`Device::execute`]
//! runs them on buffers:
//!
//! ```no_run
//! use dml::{BufferBinding, DataType, Device, ElementWiseAddDesc, FeatureLevel, TensorDesc};
//!
//! # fn main() -> Result<(), dml::Error> {
//! let device = Device::open(FeatureLevel::V5_1)?;
//! let tensor = TensorDesc::packed(DataType::Int64, &[2, 3]);
//! let desc = ElementWiseAddDesc {
//!     a_tensor: tensor.clone(),
//!     b_tensor: tensor.clone(),
//!     output_tensor: tensor.clone(),
//! };
//! let add = device.compile(desc)?;
//!
//! let a = device.create_buffer(add.input_size(0))?;
//! let sum = device.create_buffer(add.output_size(0))?;
//! device.write(&a, 0, &tensor, &[1i64, 2, 3, 4, 5, 6])?;
//! let input = Some(BufferBinding::whole(&a));
//! device.execute(&add, &[input, input], &[Some(BufferBinding::whole(&sum))])?;
//! assert_eq!(device.read::<i64>(&sum, 0, &tensor)?, [2, 4, 6, 8, 10, 12]);
//! # Ok(())
//! # }
//! ```
//!
//! Sizes of buffers are bytes. Element `[i, j]` of a tensor is `offset + i * stride[0] + j * stride[1]` elements
//! into its buffer; [`TensorDesc::packed`] has the strides of a row-major tensor without gaps.
//!
//! # Feature levels
//!
//! A [`Device`] refuses operators, data types and dimension counts above its feature level, whatever the hardware
//! has, and emulates types that the hardware lacks. The refusal says which level is needed:
//!
//! ```
//! use dml::{DataType, DiagonalMatrixDesc, FeatureLevel, TensorDesc};
//!
//! let output_tensor = TensorDesc::packed(DataType::Int64, &[3, 4]);
//! let eye = DiagonalMatrixDesc { output_tensor, offset: 0, value: 1.0 };
//! let error = dml::core::validate(&eye.into(), FeatureLevel::V4_0).unwrap_err();
//! assert!(error.to_string().contains("INT64 needs feature level 5_1"));
//! ```
//!
//! [`support`] answers such questions without a descriptor, before a device is opened. Results have the same bits
//! on every device ([`Numerics::Exact`], the default). Feature levels and results are checked against DirectML's
//! documentation, never against DirectML itself.
//!
//! # Graphs
//!
//! Operators that read each other's results belong in a graph: they are fused where that changes no bit, and
//! their intermediate tensors share memory or are never stored.
//!
//! ```no_run
//! # use dml::{ActivationReluDesc, DataType, Device, ElementWiseAddDesc, FeatureLevel, GraphBuilder, TensorDesc};
//! # fn main() -> Result<(), dml::Error> {
//! # let device = Device::open(FeatureLevel::V5_1)?;
//! # let tensor = || TensorDesc::packed(DataType::Float32, &[3, 4]);
//! let mut graph = GraphBuilder::new();
//! let [a, b] = [graph.input(), graph.input()];
//! let [a_tensor, b_tensor, output_tensor] = [tensor(), tensor(), tensor()];
//! let sum = ElementWiseAddDesc { a_tensor, b_tensor, output_tensor };
//! let sum = graph.operator(sum, &[a, b]);
//! let relu = ActivationReluDesc { input_tensor: tensor(), output_tensor: tensor() };
//! let relu = graph.operator(relu, &[sum]);
//! graph.output(relu);
//! let operator = device.compile_graph(&graph.finish())?;
//! println!("{}", operator.explanation().expect("of a graph"));
//! # Ok(())
//! # }
//! ```
//!
//! # Weights
//!
//! An input with [`TensorFlags::OWNED_BY_DML`] is bound once, by [`Device::initialize`], which copies and packs it;
//! later executions bind `None` in its place.
//!
//! # Waiting, and your own Vulkan
//!
//! [`Device::submit`] returns a [`Submission`] instead of waiting. A [`vk::Recorder`] records many operators, uploads
//! and read-backs for one submission. [`Device::from_vulkan`] works on a Vulkan device of yours, and records into
//! your command buffer (docs/integrating.md).
//!
//! All types are `Send + Sync`; objects may be dropped in any order. Compiled pipelines are kept on disk for the next
//! process, in the user's cache folder; [`PipelineCache`] changes the folder or turns the cache off. A
//! [`CapabilityCap`] lowers a device's features and limits; with the feature `profiles`, profiles of real devices
//! are available by name, and the environment variable `DML_PROFILE` applies one to every device.
//!
//! # Layers
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
