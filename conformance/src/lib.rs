//! The feature-level conformance runner: does a device deliver, at every feature level, exactly
//! what that level promises?
//!
//! ```text
//! cases::generate(level)  ->  Case  --execute::run(device)-->  Outcome  -->  report
//! ```
//!
//! Nothing here knows an operator: cases come from the schema (what each level accepts and refuses,
//! and the rules of tensors) and from each operator's own corner cases.
#![forbid(unsafe_code)]

mod buffers;
pub mod cases;
pub mod cli;
pub mod compare;
pub mod execute;
pub mod report;
mod rules;
