//! ONNX Runtime's plug-in execution provider: the nodes of a model that [`dml_import`] supports run on a
//! Vulkan device, the others stay with ONNX Runtime.
//!
//! ```text
//! CreateEpFactories -> factory --CreateEp(options)--> provider
//!   GetCapability(graph)   node views -> Source -> claims -> groups without cycles
//!   Compile(groups)        each becomes a Model, with a Session on the device
//!   Compute(inputs)        tensors of the host or of the device; a program for each new set of shapes
//! ```
//!
//! ONNX Runtime's device memory is that of [`memory`]; the nodes that copy between it and the host are in [`copies`].
//!
//! # Unsafe code
//!
//! ONNX Runtime's functions are declared in [`abi`]; [`api`] and [`view`] call them. The functions that ONNX
//! Runtime calls are in [`factory`], [`provider`], [`kernel`], [`memory`] and [`copies`], and catch panics
//! ([`boundary`]).
//!
//! # Assumptions
//!
//! The pointers from ONNX Runtime are as its header states, and its tables have the functions of the
//! version that it states.
#![allow(unsafe_code, reason = "the boundary to ONNX Runtime reads and writes its memory")]

mod abi;
mod api;
mod boundary;
mod copies;
mod counters;
mod device;
mod factory;
mod kernel;
mod listing;
mod memory;
mod options;
mod partition;
mod process;
mod provider;
mod run;
mod view;
