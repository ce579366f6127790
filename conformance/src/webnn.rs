//! Tests of WebNN, as its web platform tests come in JSON: a file for each operation, and in it tests with
//! inputs, one operation or several, and the outputs that they must have.
//!
//! ```text
//! suite::find -> Test  --translate--> ONNX model --dml_import, device--> tensors --compare(tolerance)--> Ended
//! ```
//!
//! An operation becomes the operators of ONNX that mean the same, so that what reaches DirectML's operators
//! is what the importer makes of them. What it refuses is reported with its own message.

mod attribute;
mod compare;
mod json;
mod layers;
mod model;
mod normalize;
mod operations;
mod recurrent;
mod shapes;
pub mod suite;
pub(crate) mod test;
mod tolerance;
mod translate;
