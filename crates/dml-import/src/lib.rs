//! Runs models that were made for other runtimes: ONNX, OpenVINO IR and DxDispatch JSON.
//!
//! ```text
//! file --read--> Model --bind(inputs)--> Program --compile--> Executable --run--> tensors
//! ```
//!
//! - A [`Model`] is read once. Its shapes may be open.
//! - [`Model::bind`] binds inputs, or only their shapes where that is enough. Shapes and the integers that
//!   they are computed from are evaluated on the host; the rest becomes a graph of DirectML's operators, each
//!   the one with the lowest feature level that can express the node.
//! - A [`Program`] runs any number of times on any device, also with other values of its inputs: each
//!   run is one submission.
//! - A [`Session`](struct.Session.html) runs a model with inputs of any shapes: it keeps the programs that it has
//!   compiled.
//! - An [`IoBinding`](struct.IoBinding.html) says which inputs and outputs stay on the device, such as the state of a recurrent model.
//!
//! # An ONNX model
//!
//! ```no_run
//! use dml_import::{Inputs, Model, Session, npy};
//!
//! # #[cfg(feature = "execute")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let device = dml::Device::open(dml::FeatureLevel::V6_4)?;
//! let session = Session::new(&device, Model::read("classifier.onnx")?);
//! let image = npy::read("image.npy".as_ref())?;
//! for output in session.run(&Inputs::new().with_tensor("image", image))? {
//!     println!("{:?}: {:?}", output.destination, output.tensor.shape());
//! }
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "execute"))]
//! # fn main() {}
//! ```
//!
//! # State that stays on the device
//!
//! A state is an output that the next run reads as an input, such as a cache of keys and values:
//!
//! ```no_run
//! # #[cfg(feature = "execute")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use dml_import::{DeviceTensor, Inputs, IoBinding, Model, Session, npy};
//! # let device = dml::Device::open(dml::FeatureLevel::V6_4)?;
//! # let session = Session::new(&device, Model::read("voice.onnx")?);
//! # let (zeros, chunks) = (npy::read("zeros.npy".as_ref())?, [npy::read("chunk.npy".as_ref())?]);
//! let start = DeviceTensor::new(&device, &zeros)?;
//! let mut binding = IoBinding::new().with_state("stateN", "state", start);
//! for chunk in chunks {
//!     let inputs = Inputs::new().with_tensor("input", chunk);
//!     let outputs = session.run_bound(&mut binding, &inputs)?;
//! }
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "execute"))]
//! # fn main() {}
//! ```
//!
//! # Without a device
//!
//! Reading, [inspecting](Model::inspect) and binding need no device. Running needs the feature
//! `execute`, which is on by default.
//!
//! ```
//! use dml_import::{Inputs, Model};
//!
//! # fn main() -> Result<(), dml_import::Error> {
//! let model = r#"{
//!     "resources": { "Out": { "initialValuesDataType": "FLOAT32",
//!                             "initialValues": { "valueCount": 6, "value": 0 } } },
//!     "dispatchables": { "eye": { "type": "DIAGONAL_MATRIX", "desc": {
//!         "OutputTensor": { "DataType": "FLOAT32", "Sizes": [2, 3] },
//!         "Offset": 0, "Value": 1 } } },
//!     "commands": [
//!         { "type": "dispatch", "dispatchable": "eye",
//!           "bindings": { "OutputTensor": "Out" } },
//!         { "type": "print", "resource": "Out" } ]
//! }"#;
//! let program = Model::from_bytes(model)?.bind(&Inputs::new())?;
//! assert_eq!(program.operators()[0].operators()[0].schema().name, "DIAGONAL_MATRIX");
//! # Ok(())
//! # }
//! ```
//!
//! Files are not trusted: declared sizes are compared with the file's real size before anything is allocated,
//! paths in them cannot leave their folder, and no input makes this crate panic.
#![forbid(unsafe_code)]

mod assemble;
pub mod claims;
mod constant;
mod convert;
mod dxdispatch;
mod element;
mod error;
#[cfg(feature = "execute")]
mod execute;
mod files;
mod format;
mod graph;
mod inputs;
mod inspect;
mod limits;
mod model;
pub mod npy;
pub mod onnx;
mod openvino;
pub mod program;
mod random;
mod sequence;
#[cfg(feature = "execute")]
mod session;
mod small_float;
mod tensor;

pub use element::ElementType;
#[cfg(feature = "execute")]
pub use error::MissingMemory;
pub use error::{Error, InvalidInput, InvalidNode, InvalidOutput, NodeName, Requirement, Result};
#[cfg(feature = "execute")]
pub use execute::{DeviceTensor, Executable, IoBinding, Progress};
pub use format::Format;
pub use inputs::{Input, Inputs};
pub use inspect::{InputReport, NodeReport, NodeSupport, Report, ValueReport};
pub use model::{InputForm, Model};
pub use program::Program;
#[cfg(feature = "execute")]
pub use session::{Session, SessionMemory};
pub use small_float::SmallFloat;
pub use tensor::Tensor;

// The examples of the page on models are compiled like every other one.
#[cfg(all(doctest, feature = "execute"))]
#[doc = include_str!("../../../docs/models.md")]
mod models {}
