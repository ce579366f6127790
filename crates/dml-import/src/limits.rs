//! What a file may ask for before it is refused.
//!
//! Nothing is allocated by a size that a file declares before that size was held against the file's
//! real length or one of these.

/// Bytes of an ONNX file; its format allows 2 GiB.
pub(crate) const ONNX_BYTES: u64 = 1 << 30;
/// Bytes that the messages and texts of an ONNX file take in memory, without the elements of tensors:
/// enough for some 300,000 nodes.
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
/// Dimensions of any value.
pub(crate) const RANK: usize = 64;

/// Elements that the evaluation of a graph reads and writes on the host, altogether.
pub(crate) const HOST_WORK: u64 = 1 << 22;
/// Bytes of values that the host computes of inputs, with which a program is compared with other inputs.
pub(crate) const CONCLUSIONS: usize = 1 << 20;
/// Elements of a tensor that is computed on the host: shapes are far smaller.
pub(crate) const HOST_ELEMENTS: u64 = 1 << 20;
/// Elements of a tensor that is computed on the host though a device could: more of them are left to it.
pub(crate) const HOST_FOLD: u64 = 1 << 16;
/// Operators that a device is given for one model.
pub(crate) const DEVICE_NODES: usize = 1 << 20;
/// Nodes of a model, those of its functions and subgraphs wherever they are used included.
pub(crate) const NODES: usize = 1 << 19;
/// Values that the nodes of all iterations of all loops read and write, and entries of their attributes.
pub(crate) const LOOP_VALUES: u64 = 1 << 20;
/// Values of a device that the host has to know of one model: conditions of iterations, and sizes.
#[cfg(feature = "execute")]
pub(crate) const ANSWERS: usize = 1 << 10;
/// How deep subgraphs and functions are nested.
pub(crate) const SUBGRAPHS: usize = 8;
/// Bytes of a constant that a program has a copy of, together with others like it.
pub(crate) const SMALL_CONSTANT: usize = 1 << 10;

/// Bytes of an Einsum's equation.
pub(crate) const EQUATION: usize = 4096;
