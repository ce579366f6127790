//! ONNX's operators by version: their attributes, their inputs, and the operations that they become.

mod attention;
mod build;
mod constant;
mod early;
mod element_wise;
mod indices;
mod microsoft;
mod pooling;
mod products;
mod quantization;
mod random;
mod recurrent;
mod refused;
mod regions;
mod resize;
mod rows;
#[cfg(test)]
mod schemas;
mod selection;
mod sequences;
mod signal;
mod states;
mod support;
mod versions;

use std::ops::RangeInclusive;

use dml_core::{FieldValue, ReduceFunction};

use crate::error::{Error, NodeName, Result, shortened};
use crate::graph::{
    Broadcasting, CenterCropPad, Determinant, ElementOf, ElementWise, Function, HARDMAX,
    HasElement, Identity, LOG_SOFTMAX, Mean, Mish, Op, OptionalOf, Power, Range, SOFTMAX, Size,
    Slice, Squeeze, Tile, Unsqueeze,
};

use super::attributes::{Attributes, Kind};
use super::proto::{NodeProto, OperatorSetIdProto};
use super::scope::Scope;
use refused::{REFUSED, UNKNOWN};

pub use support::{OperatorSupport, Support, support};

/// The highest known version of ai.onnx: a later one may give operators another meaning.
const HIGHEST_OPSET: i64 = 28;

/// The domain of ONNX Runtime's own operators.
pub(super) const MICROSOFT: &str = "com.microsoft";
/// The only version of com.microsoft.
pub(super) const CONTRIB_OPSET: i64 = 1;
/// The domain of operators that only definitions use.
pub(super) const INTERNAL: &str = "internal";

/// One version of an operator.
pub(super) struct OperatorVersion {
    /// The domain; empty for ai.onnx.
    domain: &'static str,
    name: &'static str,
    /// The version of the domain that introduces this version of the operator.
    since: i64,
    pub(super) attributes: &'static [(&'static str, Kind)],
    pub(super) inputs: RangeInclusive<usize>,
    pub(super) outputs: RangeInclusive<usize>,
    build: Build,
}

/// How a row makes an operation of a node.
enum Build {
    /// From the node's attributes.
    From(fn(&Attributes<'_>) -> Result<Box<dyn Op>>),
    /// An element-wise operation with NumPy's broadcasting rule.
    ElementWise(Function),
    /// An element-wise operation with the attributes `broadcast` and `axis` instead of NumPy's rule.
    Legacy(Function),
    /// A reduction.
    Reduce(ReduceFunction),
    /// An element-wise operation with FLOAT parameters: the defaults of the row's attributes, followed by fixed
    /// values without an attribute.
    Parameterized(Function, &'static [f32]),
}

const ANY: usize = usize::MAX;

const fn row(
    name: &'static str,
    since: i64,
    attributes: &'static [(&'static str, Kind)],
    inputs: RangeInclusive<usize>,
    build: fn(&Attributes<'_>) -> Result<Box<dyn Op>>,
) -> OperatorVersion {
    let domain = "";
    OperatorVersion {
        domain,
        name,
        since,
        attributes,
        inputs,
        outputs: 1..=1,
        build: Build::From(build),
    }
}

const EYE: [(&str, Kind); 2] = [("dtype", Kind::Int), ("k", Kind::Int)];
const AXIS: [(&str, Kind); 1] = [("axis", Kind::Int)];
const SCATTER_16: [(&str, Kind); 2] = [("axis", Kind::Int), ("reduction", Kind::Text)];
const REDUCTION: [(&str, Kind); 1] = [("reduction", Kind::Text)];
const UNPOOL: [(&str, Kind); 3] =
    [("kernel_shape", Kind::Ints), ("strides", Kind::Ints), ("pads", Kind::Ints)];
const REVERSE: [(&str, Kind); 2] = [("batch_axis", Kind::Int), ("time_axis", Kind::Int)];
const TOP_K_1: [(&str, Kind); 2] = [("axis", Kind::Int), ("k", Kind::Int)];
const TOP_K_11: [(&str, Kind); 3] =
    [("axis", Kind::Int), ("largest", Kind::Int), ("sorted", Kind::Int)];
const AXES: [(&str, Kind); 1] = [("axes", Kind::Ints)];
const CLIP: [(&str, Kind); 2] = [("min", Kind::Float), ("max", Kind::Float)];
const MODE: [(&str, Kind); 1] = [("mode", Kind::Text)];
const PAD_2: [(&str, Kind); 3] =
    [("mode", Kind::Text), ("pads", Kind::Ints), ("value", Kind::Float)];
const BLOCK: [(&str, Kind); 1] = [("blocksize", Kind::Int)];
const BLOCK_11: [(&str, Kind); 2] = [("blocksize", Kind::Int), ("mode", Kind::Text)];
const RATIO: [(&str, Kind); 1] = [("ratio", Kind::Float)];
const SPLIT_2: [(&str, Kind); 2] = [("axis", Kind::Int), ("split", Kind::Ints)];
const SPLIT_18: [(&str, Kind); 2] = [("axis", Kind::Int), ("num_outputs", Kind::Int)];
const CONSTANT_11: [(&str, Kind); 2] =
    [("value", Kind::Tensor), ("sparse_value", Kind::SparseTensor)];
const CONSTANT_12: [(&str, Kind); 7] = [
    ("value", Kind::Tensor),
    ("sparse_value", Kind::SparseTensor),
    ("value_float", Kind::Float),
    ("value_floats", Kind::Floats),
    ("value_int", Kind::Int),
    ("value_ints", Kind::Ints),
    ("value_string", Kind::Text),
];
const SLICE_1: [(&str, Kind); 3] =
    [("starts", Kind::Ints), ("ends", Kind::Ints), ("axes", Kind::Ints)];
const CAST_19: [(&str, Kind); 2] = [("to", Kind::Int), ("saturate", Kind::Int)];
const CAST_24: [(&str, Kind); 3] =
    [("to", Kind::Int), ("saturate", Kind::Int), ("round_mode", Kind::Text)];
const CAST_LIKE: [(&str, Kind); 2] = [("saturate", Kind::Int), ("round_mode", Kind::Text)];
const IS_INF: [(&str, Kind); 2] = [("detect_negative", Kind::Int), ("detect_positive", Kind::Int)];

/// All versions of the other operators, in any order.
static OTHERS: &[OperatorVersion] = &[
    row("EyeLike", 9, &EYE, 1..=1, |it| build::eye_like(it, &build::EYE_TYPES[..12])),
    row("EyeLike", 22, &EYE, 1..=1, |it| build::eye_like(it, &build::EYE_TYPES)),
    row("Trilu", 14, &[("upper", Kind::Int)], 1..=2, build::trilu),
    row("Constant", 1, &[("value", Kind::Tensor)], 0..=0, constant::constant),
    row("Constant", 11, &CONSTANT_11, 0..=0, constant::constant),
    row("Constant", 12, &CONSTANT_12, 0..=0, constant::constant),
    row("ConstantOfShape", 9, &[("value", Kind::Tensor)], 1..=1, constant::of_shape),
    row("Shape", 1, &[], 1..=1, build::shape),
    row("Shape", 15, &[("start", Kind::Int), ("end", Kind::Int)], 1..=1, build::shape),
    row("Size", 1, &[], 1..=1, |_| Ok(Box::new(Size))),
    row("Range", 11, &[], 3..=3, |_| Ok(Box::new(Range))),
    // FLOAT16 ranges are computed with more precision than required, and rounded once.
    row("Range", 27, &[("stash_type", Kind::Int)], 3..=3, |_| Ok(Box::new(Range))),
    row("Gather", 1, &AXIS, 2..=2, build::gather),
    row("GatherElements", 11, &AXIS, 2..=2, indices::gather_elements),
    row("GatherND", 11, &[], 2..=2, indices::gather_nd),
    row("GatherND", 12, &[("batch_dims", Kind::Int)], 2..=2, indices::gather_nd),
    row("Scatter", 9, &AXIS, 3..=3, indices::scatter_elements),
    row("ScatterElements", 11, &AXIS, 3..=3, indices::scatter_elements),
    row("ScatterElements", 16, &SCATTER_16, 3..=3, indices::scatter_elements),
    row("ScatterND", 11, &[], 3..=3, indices::scatter_nd),
    row("ScatterND", 16, &REDUCTION, 3..=3, indices::scatter_nd),
    row("OneHot", 9, &AXIS, 3..=3, indices::one_hot),
    row("MaxUnpool", 9, &UNPOOL, 2..=3, indices::max_unpool),
    row("ReverseSequence", 10, &REVERSE, 2..=2, indices::reverse_sequence),
    OperatorVersion { outputs: 1..=2, ..row("TopK", 1, &TOP_K_1, 1..=1, indices::top_k) },
    OperatorVersion { outputs: 1..=2, ..row("TopK", 10, &AXIS, 2..=2, indices::top_k) },
    OperatorVersion { outputs: 1..=2, ..row("TopK", 11, &TOP_K_11, 2..=2, indices::top_k) },
    row("Concat", 4, &AXIS, 1..=ANY, build::concat),
    OperatorVersion { outputs: 1..=ANY, ..row("Split", 2, &SPLIT_2, 1..=1, build::split_2) },
    OperatorVersion { outputs: 1..=ANY, ..row("Split", 13, &AXIS, 1..=2, build::split) },
    OperatorVersion { outputs: 1..=ANY, ..row("Split", 18, &SPLIT_18, 1..=2, build::split) },
    row("Slice", 1, &SLICE_1, 1..=1, build::slice_1),
    row("Slice", 10, &[], 3..=5, |_| Ok(Box::new(Slice::Inputs { axes: 3, steps: 4 }))),
    row("Pad", 2, &PAD_2, 1..=1, build::pad_2),
    row("Pad", 11, &MODE, 2..=3, |it| build::pad(it, &build::PADDING_MODES[..3])),
    row("Pad", 18, &MODE, 2..=4, |it| build::pad(it, &build::PADDING_MODES[..3])),
    row("Pad", 19, &MODE, 2..=4, |it| build::pad(it, &build::PADDING_MODES)),
    row("CenterCropPad", 18, &AXES, 2..=2, |it| {
        Ok(Box::new(CenterCropPad { axes: it.ints("axes") }))
    }),
    row("Tile", 6, &[], 2..=2, |_| Ok(Box::new(Tile::EachDimension))),
    row("SpaceToDepth", 1, &BLOCK, 1..=1, build::space_to_depth),
    row("SpaceToDepth", 28, &BLOCK_11, 1..=1, build::space_to_depth),
    row("DepthToSpace", 1, &BLOCK, 1..=1, build::depth_to_space),
    row("DepthToSpace", 11, &BLOCK_11, 1..=1, build::depth_to_space),
    row("Unsqueeze", 1, &AXES, 1..=1, build::unsqueeze_1),
    row("Unsqueeze", 13, &[], 2..=2, |_| Ok(Box::new(Unsqueeze { axes: None }))),
    row("Squeeze", 1, &AXES, 1..=1, |it| Ok(Box::new(Squeeze { axes: it.ints("axes") }))),
    row("Squeeze", 13, &[], 1..=2, |_| Ok(Box::new(Squeeze { axes: None }))),
    row("Reshape", 5, &[], 2..=2, build::reshape),
    row("Reshape", 14, &[("allowzero", Kind::Int)], 2..=2, build::reshape),
    row("Flatten", 1, &AXIS, 1..=1, build::flatten),
    row("Transpose", 1, &[("perm", Kind::Ints)], 1..=1, build::transpose),
    row("Expand", 8, &[], 2..=2, build::expand),
    OperatorVersion { outputs: 1..=2, ..row("Dropout", 7, &RATIO, 1..=1, build::dropout_7) },
    OperatorVersion { outputs: 1..=2, ..row("Dropout", 10, &RATIO, 1..=1, build::dropout) },
    OperatorVersion {
        outputs: 1..=2,
        ..row("Dropout", 12, &[("seed", Kind::Int)], 1..=3, build::dropout)
    },
    row("Identity", 1, &[], 1..=1, |_| Ok(Box::new(Identity))),
    row("Cast", 6, &[("to", Kind::Int)], 1..=1, build::cast),
    row("Cast", 19, &CAST_19, 1..=1, build::cast),
    row("Cast", 24, &CAST_24, 1..=1, build::cast),
    row("BitCast", 26, &[("to", Kind::Int)], 1..=1, build::bit_cast),
    row("CastLike", 15, &[], 2..=2, build::cast_like),
    row("CastLike", 19, &CAST_LIKE, 2..=2, build::cast_like),
    row("Optional", 15, &[("type", Kind::Type)], 0..=1, |_| Ok(Box::new(OptionalOf))),
    row("OptionalGetElement", 15, &[], 1..=1, |_| Ok(Box::new(ElementOf))),
    row("OptionalHasElement", 15, &[], 0..=1, |_| Ok(Box::new(HasElement))),
    row("Mean", 6, &[], 1..=ANY, |_| Ok(Box::new(Mean))),
    row("Einsum", 12, &[("equation", Kind::Text)], 1..=ANY, build::einsum),
    row("Det", 11, &[], 1..=1, |_| Ok(Box::new(Determinant))),
    row("MatMul", 1, &[], 2..=2, products::matrices),
    row("MatMulInteger", 10, &[], 2..=4, products::matrices_of_integers),
    row("QLinearMatMul", 10, &[], 8..=8, products::quantized_matrices),
    row("Gemm", 1, &products::GEMM_1, 3..=3, products::gemm),
    row("Gemm", 7, &products::GEMM, 3..=3, products::gemm),
    row("Gemm", 11, &products::GEMM, 2..=3, products::gemm),
    row("Conv", 1, &products::CONVOLUTION, 2..=3, products::convolution),
    row("ConvTranspose", 1, &products::TRANSPOSED, 2..=3, products::transposed_convolution),
    row("ConvInteger", 10, &products::CONVOLUTION, 2..=4, products::convolution_of_integers),
    row("QLinearConv", 10, &products::CONVOLUTION, 8..=9, products::quantized_convolution),
    row("Clip", 6, &CLIP, 1..=1, build::clip_6),
    row("Clip", 11, &[], 1..=3, build::clip),
    row("BitShift", 11, &[("direction", Kind::Text)], 2..=2, build::bit_shift),
    row("IsInf", 10, &IS_INF, 1..=1, build::is_infinity),
    row("Mod", 10, &[("fmod", Kind::Int)], 2..=2, build::modulus),
    row("Pow", 7, &[], 2..=2, |_| Ok(Box::new(Power))),
    row("PRelu", 1, &element_wise::CONSUMED, 2..=2, element_wise::slope_of_channels),
    row("SwiGLU", 28, &[("alpha", Kind::Float)], 2..=2, build::swi_glu),
    row("Gelu", 20, &[("approximate", Kind::Text)], 1..=1, build::gelu),
    row("Softmax", 1, &AXIS, 1..=1, |it| build::softmax(it, SOFTMAX, true)),
    row("Softmax", 13, &AXIS, 1..=1, |it| build::softmax(it, SOFTMAX, false)),
    row("LogSoftmax", 1, &AXIS, 1..=1, |it| build::softmax(it, LOG_SOFTMAX, true)),
    row("LogSoftmax", 13, &AXIS, 1..=1, |it| build::softmax(it, LOG_SOFTMAX, false)),
    row("Hardmax", 1, &AXIS, 1..=1, |it| build::softmax(it, HARDMAX, true)),
    row("Hardmax", 13, &AXIS, 1..=1, |it| build::softmax(it, HARDMAX, false)),
    row("Mish", 18, &[], 1..=1, |_| Ok(Box::new(Mish))),
];

impl OperatorVersion {
    /// The operation of a node with these attributes.
    pub(super) fn op(&self, attributes: &Attributes<'_>) -> Result<Box<dyn Op>> {
        match &self.build {
            Build::From(build) => build(attributes),
            Build::ElementWise(function) => Ok(Box::new(ElementWise::new(*function))),
            Build::Parameterized(function, defaults) => {
                let names = self.attributes.iter().map(|(name, _)| Some(*name));
                let given = |name: Option<&str>| name.and_then(|name| attributes.float(name));
                let values = defaults.iter().zip(names.chain(std::iter::repeat(None)));
                let value =
                    |(default, name): (&f32, _)| FieldValue::Float(given(name).unwrap_or(*default));
                let attributes = values.map(value).collect();
                Ok(Box::new(ElementWise { attributes, ..ElementWise::new(*function) }))
            }
            Build::Reduce(function) => Ok(rows::reduce(attributes, *function)),
            Build::Legacy(function) => {
                let is_allowed = attributes.flag("broadcast", false);
                let axis = attributes.int("axis").filter(|_| is_allowed);
                let broadcasting = Broadcasting::Legacy { is_allowed, axis };
                Ok(Box::new(ElementWise { broadcasting, ..ElementWise::new(*function) }))
            }
        }
    }
}

/// All versions of all operators, in any order.
static ALL: [&[OperatorVersion]; 16] = [
    attention::ROWS,
    early::ROWS,
    element_wise::ROWS,
    microsoft::ROWS,
    pooling::ROWS,
    quantization::ROWS,
    random::ROWS,
    recurrent::ROWS,
    regions::ROWS,
    resize::ROWS,
    rows::ROWS,
    selection::ROWS,
    sequences::ROWS,
    signal::ROWS,
    states::ROWS,
    OTHERS,
];

/// The row for a node's operator in the versions that its graph imports.
pub(super) fn row_of(
    name: &NodeName,
    proto: &NodeProto,
    scope: &Scope<'_>,
) -> Result<&'static OperatorVersion> {
    let domain = if is_default(&proto.domain) { "" } else { proto.domain.as_str() };
    let opset = match domain {
        "" => version(name, scope.opset)?,
        MICROSOFT => contrib_version(name, scope.contrib)?,
        INTERNAL if scope.caller().is_some() => CONTRIB_OPSET,
        other => {
            let domain = shortened(other);
            return Err(name.not_supported(format!("no operator of the domain '{domain}' is run")));
        }
    };
    let is_named = |row: &&OperatorVersion| row.domain == domain && row.name == proto.op_type;
    let rows = || ALL.into_iter().flatten().filter(is_named);
    rows().filter(|row| row.since <= opset).max_by_key(|row| row.since).ok_or_else(|| {
        let refused = REFUSED.iter().find(|(name, _)| *name == proto.op_type);
        match (rows().map(|row| row.since).min(), refused) {
            (Some(since), _) => too_early(name, opset, since),
            (None, Some((_, reason))) => name.not_supported(*reason),
            (None, None) => name.not_supported(UNKNOWN),
        }
    })
}

/// The version of ai.onnx that a node's graph imports.
pub(super) fn version(name: &NodeName, opset: Option<i64>) -> Result<i64> {
    opset.ok_or_else(|| {
        name.invalid("opset_import", "nothing", "is said of ai.onnx", "a version of it")
    })
}

/// Checks that the imported version of ai.onnx is at least `since`.
pub(super) fn at_least(name: &NodeName, opset: Option<i64>, since: i64) -> Result<()> {
    let opset = version(name, opset)?;
    if opset < since { Err(too_early(name, opset, since)) } else { Ok(()) }
}

/// The version of com.microsoft that a node's graph imports.
pub(super) fn contrib_version(name: &NodeName, opset: Option<i64>) -> Result<i64> {
    match opset {
        Some(CONTRIB_OPSET) => Ok(CONTRIB_OPSET),
        Some(other) => {
            let given = format!("{MICROSOFT} {other}");
            Err(name.invalid("opset_import", given, "is not known", CONTRIB_OPSET.to_string()))
        }
        None => {
            let problem = format!("is said of {MICROSOFT}");
            Err(name.invalid("opset_import", "nothing", problem, CONTRIB_OPSET.to_string()))
        }
    }
}

/// The error of an operator that versions before `since` do not have.
pub(super) fn too_early(name: &NodeName, opset: i64, since: i64) -> Error {
    let (given, accepted) = (format!("ai.onnx {opset}"), format!("{since} and later"));
    name.invalid("opset_import", given, "is too early", accepted)
}

/// The version of ai.onnx that a model or a function imports; `None` if it does not import ai.onnx.
pub(super) fn opset(imports: &[OperatorSetIdProto]) -> Result<Option<i64>> {
    let default = imports.iter().find(|import| is_default(&import.domain));
    let Some(version) = default.map(|default| default.version) else { return Ok(None) };
    if (1..=HIGHEST_OPSET).contains(&version) {
        return Ok(Some(version));
    }
    let problem = if version < 1 { "is not a version" } else { "is not known" };
    Err(Error::malformed(format!(
        "opset_import: ai.onnx {version} {problem}; accepted: 1 to {HIGHEST_OPSET}"
    )))
}

/// The version of com.microsoft that a model or a function imports; `None` if it does not import com.microsoft.
pub(super) fn contrib_opset(imports: &[OperatorSetIdProto]) -> Option<i64> {
    imports.iter().find(|import| import.domain == MICROSOFT).map(|it| it.version)
}

pub(super) fn is_default(domain: &str) -> bool {
    matches!(domain, "" | "ai.onnx")
}

/// A range of counts in messages: `1`, `1 to 3` or `1 and more`.
pub(super) fn counts(range: &RangeInclusive<usize>) -> String {
    match (*range.start(), *range.end()) {
        (first, last) if first == last => first.to_string(),
        (first, usize::MAX) => format!("{first} and more"),
        (first, last) => format!("{first} to {last}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_names_every_operator() {
        let document = include_str!("../../../../docs/importer.md");
        let is_letter = |it: char| it.is_ascii_alphanumeric();
        let words: Vec<&str> = document.split(|it| !is_letter(it)).collect();
        let mut missing: Vec<&str> = ALL.into_iter().flatten().map(|row| row.name).collect();
        missing.retain(|name| !name.starts_with('_') && !words.contains(name));
        assert!(missing.is_empty(), "{missing:?}");
    }
}
