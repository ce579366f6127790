//! ONNX Runtime's plug-in execution provider: the nodes of a model that [`dml_import`] runs are run on a
//! Vulkan device, the others stay with ONNX Runtime.
//!
//! ```text
//! CreateEpFactories -> factory --CreateEp(options)--> provider
//!   GetCapability(graph)   node views -> Source -> claims -> groups that make no circle
//!   Compile(groups)        each becomes a Model, with a Session on the device
//!   Compute(inputs)        tensors of the host; a program for each new set of shapes
//! ```
//!
//! # Unsafe code
//!
//! ONNX Runtime's functions are declared in [`abi`]; [`api`] and [`view`] make results of what they answer.
//! What ONNX Runtime calls is in [`factory`], [`provider`] and [`kernel`], and catches panics ([`boundary`]).
//!
//! # What is taken on trust
//!
//! That the pointers which ONNX Runtime gives are what its header says, and that its tables have the
//! functions of the version that it states.
#![allow(unsafe_code, reason = "the boundary to ONNX Runtime reads and writes its memory")]

mod abi;
mod api;
mod boundary;
mod device;
mod factory;
mod kernel;
mod listing;
mod options;
mod partition;
mod process;
mod provider;
mod view;
