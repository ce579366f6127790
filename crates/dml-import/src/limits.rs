//! Limits on the sizes and counts that a file may declare.
//!
//! Nothing is allocated by a size that a file declares before that size has been compared with the file's real
//! length or one of these limits.

/// Bytes of an ONNX file; its format allows 2 GiB.
pub(crate) const ONNX_BYTES: u64 = 1 << 30;
/// Bytes that the messages and strings of an ONNX file take in memory, without the elements of tensors: enough
/// for about 300,000 nodes.
pub(crate) const ONNX_MEMORY: usize = 128 << 20;
/// Bytes of an OpenVINO .xml file.
pub(crate) const XML_BYTES: u64 = 32 << 20;
/// Elements, attributes and texts of an OpenVINO .xml file.
pub(crate) const XML_NODES: u32 = 1 << 20;
/// Bytes of a DxDispatch .json file.
pub(crate) const JSON_BYTES: u64 = 16 << 20;
/// Bytes of a file with a tensor, and of a DxDispatch resource.
pub(crate) const TENSOR_BYTES: u64 = 8 << 30;
/// Bytes of a sparse tensor with its zeros: as many as an ONNX file may have.
pub(crate) const SPARSE_BYTES: u64 = ONNX_BYTES;
/// Dimensions of a value.
pub(crate) const RANK: usize = 64;

/// Elements that the evaluation of a graph reads and writes on the host, in total.
pub(crate) const HOST_WORK: u64 = 1 << 22;
/// Bytes of values that the host computes of inputs, with which a program is compared with other inputs.
pub(crate) const CONCLUSIONS: usize = 1 << 20;
/// Elements of a tensor that is computed on the host: shapes are far smaller.
pub(crate) const HOST_ELEMENTS: u64 = 1 << 20;
/// Elements of a tensor that the host computes although a device could; larger ones are left to the device.
pub(crate) const HOST_FOLD: u64 = 1 << 16;
/// Device operators of one model.
pub(crate) const DEVICE_NODES: usize = 1 << 20;
/// Nodes of a model, with the nodes of functions and subgraphs counted at each use.
pub(crate) const NODES: usize = 1 << 19;
/// Values that the nodes of all loop iterations read and write, plus entries of their attributes.
pub(crate) const LOOP_VALUES: u64 = 1 << 20;
/// Device values of one model that the host has to know: loop and branch conditions, and sizes.
#[cfg(feature = "execute")]
pub(crate) const ANSWERS: usize = 1 << 10;
/// Nesting depth of subgraphs and functions.
pub(crate) const SUBGRAPHS: usize = 8;
/// Bytes of a constant that is copied into the program's shared constant buffer.
pub(crate) const SMALL_CONSTANT: usize = 1 << 10;

/// Bytes of an Einsum's equation.
pub(crate) const EQUATION: usize = 4096;
