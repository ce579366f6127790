//! The feature-level conformance runner: checks on a device, at every feature level, what DirectML's
//! documentation states for the level.
//!
//! ```text
//! selection -> Case  --execute::run(executor)-->  CaseResult  -->  Outcomes  -->  Run  -->  report
//! ```
//!
//! An executor is a Vulkan device or the host interpreter, as it is or under a profile
//! ([`target::Target`]). Cases run in worker processes, so that a crash ends nothing else.
//!
//! Cases can be written as scripts for DirectML itself, and what it gave compared ([`dxdispatch`]).
//!
//! Beside that it runs the tests that ONNX has of its operators ([`onnx`]).
//!
//! Nothing here knows an operator of DirectML: cases come from what the documents accept and refuse at each level,
//! from the rules of tensors, and from each operator's own corner cases.
#![forbid(unsafe_code)]

pub mod agreement;
pub mod cases;
pub mod child;
pub mod cli;
mod documents;
mod dump;
pub mod dxdispatch;
pub mod execute;
mod exit;
pub mod expectations;
pub mod fault;
mod figures;
mod matrices;
pub mod onnx;
pub mod outcomes;
pub mod parallel;
pub mod pattern;
mod pool;
mod protocol;
pub mod report;
pub mod results;
pub mod runner;
pub mod selection;
pub mod target;
pub mod webnn;
mod worker;
