//! DirectML as a judge: cases as scripts of Microsoft's DxDispatch, which runs DirectML on Windows, and what
//! came of them.
//!
//! ```text
//! cases --export--> scripts, inputs, expected bytes, manifest.json, run.ps1
//!                   --run.ps1 (Windows)--> files of results, results.json --import--> comparison
//! ```
//!
//! A script is made from the operator's schema, so that it is the inverse of what [`dml::core::json`] reads.

mod descriptor;
pub mod export;
pub mod import;
mod left_out;
pub mod manifest;
mod script;

pub use left_out::LeftOut;
