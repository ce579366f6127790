//! What a file may ask for before it is refused.
//!
//! Nothing is allocated by a size that a file declares before that size was held against the file's
//! real length or one of these.

/// Bytes of an ONNX file; its format allows 2 GiB.
pub(crate) const ONNX_BYTES: u64 = 1 << 30;
/// Messages and texts in an ONNX file.
pub(crate) const ONNX_MESSAGES: usize = 1 << 19;
/// Bytes of an OpenVINO .xml file.
pub(crate) const XML_BYTES: u64 = 32 << 20;
/// Elements, attributes and texts of an OpenVINO .xml file.
pub(crate) const XML_NODES: u32 = 1 << 20;
/// Bytes of a DxDispatch .json file.
pub(crate) const JSON_BYTES: u64 = 16 << 20;
/// Bytes of a file with a tensor, and of a DxDispatch resource.
pub(crate) const TENSOR_BYTES: u64 = 8 << 30;
/// Dimensions of any value.
pub(crate) const RANK: usize = 64;
/// How many values that are not computed yet are made from each other.
pub(crate) const NESTING: u32 = 32;
/// Elements that the evaluation of a graph reads and writes on the host, altogether.
pub(crate) const HOST_WORK: u64 = 1 << 22;
/// Elements of a tensor that is computed on the host: shapes are far smaller.
pub(crate) const HOST_ELEMENTS: u64 = 1 << 20;
