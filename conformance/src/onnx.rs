//! Tests of ONNX models, as the `onnx` package carries them: a folder with `model.onnx`, and below it
//! folders `test_data_set_N` with tensors `input_N.pb` and `output_N.pb`.
//!
//! ```text
//! suite::find -> Test  --test::run(device)-->  Ended  -->  TargetResults  -->  report: table, JSON
//!                                                                        \-->  passing, requirements: what has to run
//! ```
//!
//! The importer decides what runs. What it refuses is reported with its own message; what it runs has to
//! give ONNX's answer.

mod compare;
mod given;
pub mod libraries;
pub mod measure;
mod outline;
pub mod passing;
pub mod report;
pub mod requirements;
pub(crate) mod runner;
pub mod suite;
pub(crate) mod test;
