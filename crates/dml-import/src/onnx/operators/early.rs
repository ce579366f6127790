//! The first versions of operators that changed later. Most have the attribute `consumed_inputs`, which tells
//! which inputs may be overwritten, and affects no result.

use std::ops::RangeInclusive;

use dml_core::operators as tables;
use dml_core::schema::OperatorSchema;

use super::build::{self, Built, padding_mode};
use super::element_wise::{CONSUMED, SELU, activation, element_wise};
use super::{ANY, OperatorVersion, pooling, recurrent, row};
use crate::graph::{
    ABSOLUTE, ADD, CEIL, Cast, Common, Concat, Equal, FLOOR, Function, MAXIMUM, MINIMUM, Margins,
    Mean, NEGATE, Pad, Parts, RELU, Reshape, Split, Tile, Types, Zero,
};
use crate::onnx::attributes::{Attributes, Kind};
use crate::onnx::tensor;
use crate::small_float::Rounding;

const CONSUMING: (&str, Kind) = ("consumed_inputs", Kind::Ints);
const ALPHA: [(&str, Kind); 2] = [("alpha", Kind::Float), CONSUMING];
const ALPHA_BETA: [(&str, Kind); 3] = [("alpha", Kind::Float), ("beta", Kind::Float), CONSUMING];
const ALPHA_GAMMA: [(&str, Kind); 3] = [("alpha", Kind::Float), ("gamma", Kind::Float), CONSUMING];
const CLIP: [(&str, Kind); 3] = [("min", Kind::Float), ("max", Kind::Float), CONSUMING];
const DROPOUT: [(&str, Kind); 3] = [("is_test", Kind::Int), ("ratio", Kind::Float), CONSUMING];
const EPSILON: [(&str, Kind); 2] = [("epsilon", Kind::Float), CONSUMING];
const PADDINGS: [(&str, Kind); 3] =
    [("mode", Kind::Text), ("paddings", Kind::Ints), ("value", Kind::Float)];
const SHAPE: [(&str, Kind); 2] = [("shape", Kind::Ints), CONSUMING];
const SPLIT: [(&str, Kind); 2] = [("axis", Kind::Int), ("split", Kind::Ints)];

const DEGREE: (&str, Kind) = ("p", Kind::Float);
const POOLING: [(&str, Kind); 5] = [
    ("auto_pad", Kind::Text),
    ("kernel_shape", Kind::Ints),
    ("pads", Kind::Ints),
    ("strides", Kind::Ints),
    DEGREE,
];
/// Whether all states are wanted; ignored, since the node's outputs tell.
const SEQUENCE: (&str, Kind) = ("output_sequence", Kind::Int);
const RNN: [(&str, Kind); 8] = with_sequence(recurrent::RNN);
const GRU: [(&str, Kind); 9] = with_sequence(recurrent::GRU);
const LSTM: [(&str, Kind); 9] = with_sequence(recurrent::LSTM);

const fn with_sequence<const N: usize, const M: usize>(
    later: [(&'static str, Kind); N],
) -> [(&'static str, Kind); M] {
    let mut all = [SEQUENCE; M];
    let mut at = 0;
    while at < N {
        all[at] = later[at];
        at += 1;
    }
    all
}

/// An element-wise operator with `consumed_inputs`.
const fn consuming(
    name: &'static str,
    inputs: RangeInclusive<usize>,
    function: Function,
) -> OperatorVersion {
    OperatorVersion { attributes: &CONSUMED, ..element_wise(name, 1, inputs, function) }
}

/// An operator of one input with `consumed_inputs`, for numbers.
const fn unary(name: &'static str, schema: &'static OperatorSchema) -> OperatorVersion {
    consuming(name, 1..=1, Function::new(Types::Numbers, schema))
}

/// Version 1 of these operators, unless stated otherwise.
pub(super) static ROWS: &[OperatorVersion] = &[
    consuming("Abs", 1..=1, ABSOLUTE),
    consuming("Ceil", 1..=1, CEIL),
    consuming("Floor", 1..=1, FLOOR),
    consuming("Max", 1..=ANY, MAXIMUM),
    consuming("Min", 1..=ANY, MINIMUM),
    consuming("Neg", 1..=1, NEGATE),
    consuming("Relu", 1..=1, RELU),
    consuming("Sum", 1..=ANY, ADD),
    unary("Exp", &tables::ELEMENT_WISE_EXP),
    unary("Log", &tables::ELEMENT_WISE_LOG),
    unary("Reciprocal", &tables::ELEMENT_WISE_RECIP),
    unary("Sigmoid", &tables::ACTIVATION_SIGMOID),
    unary("Sqrt", &tables::ELEMENT_WISE_SQRT),
    unary("Tanh", &tables::ACTIVATION_TANH),
    activation("Elu", 1, &tables::ACTIVATION_ELU, &ALPHA, &[1.0]),
    activation("HardSigmoid", 1, &tables::ACTIVATION_HARD_SIGMOID, &ALPHA_BETA, &[0.2, 0.5]),
    activation("LeakyRelu", 1, &tables::ACTIVATION_LEAKY_RELU, &ALPHA, &[0.01]),
    activation("Selu", 1, &tables::ACTIVATION_SCALED_ELU, &ALPHA_GAMMA, &SELU),
    row("Cast", 1, &[("to", Kind::Text)], 1..=1, cast),
    row("Clip", 1, &CLIP, 1..=1, build::clip_6),
    row("Concat", 1, &[("axis", Kind::Int)], 1..=ANY, concat),
    // Version 6 lacks `consumed_inputs`, and is otherwise equal.
    OperatorVersion { outputs: 1..=2, ..row("Dropout", 1, &DROPOUT, 1..=1, dropout) },
    row("InstanceNormalization", 1, &EPSILON, 3..=3, |it| {
        super::rows::normalize(it, Common::Channel)
    }),
    row("Mean", 1, &CONSUMED, 1..=ANY, |_| Ok(Box::new(Mean))),
    row("Pad", 1, &PADDINGS, 1..=1, pad),
    row("Reshape", 1, &SHAPE, 1..=1, reshape),
    OperatorVersion { outputs: 1..=ANY, ..row("Split", 1, &SPLIT, 1..=2, split) },
    row("LpPool", 1, &POOLING, 1..=1, pooling::early_norm),
    row("GlobalLpPool", 1, &[DEGREE], 1..=1, pooling::early_global_norm),
    OperatorVersion { outputs: 0..=2, ..row("RNN", 1, &RNN, 3..=6, recurrent::simple) },
    OperatorVersion { outputs: 0..=2, ..row("GRU", 1, &GRU, 3..=6, recurrent::gated) },
    OperatorVersion { outputs: 0..=3, ..row("LSTM", 1, &LSTM, 3..=8, recurrent::long_short_term) },
    row("Tile", 1, &[], 3..=3, |_| Ok(Box::new(Tile::OneDimension))),
];

/// The attribute names the type instead of giving its number.
fn cast(it: &Attributes<'_>) -> Built {
    let name = it.text("to").ok_or_else(|| it.missing("to"))?;
    let to = tensor::element_of_name(&name).ok_or_else(|| {
        let accepted = "the names of TensorProto.DataType, such as FLOAT";
        it.node.invalid("attribute to", crate::error::shortened(&name), "is not a type", accepted)
    })?;
    Ok(Box::new(Cast { to, rounding: Rounding::default() }))
}

fn concat(it: &Attributes<'_>) -> Built {
    Ok(Box::new(Concat { axis: it.int("axis").unwrap_or(1) }))
}

/// Dropout is for training unless `is_test` is set. A ratio of 0 keeps everything in both cases.
fn dropout(it: &Attributes<'_>) -> Built {
    if !it.flag("is_test", false) && it.float("ratio") != Some(0.0) {
        let reason = "without is_test it is for training, whose results are random";
        return Err(it.node.not_supported(reason));
    }
    build::dropout_7(it)
}

fn pad(it: &Attributes<'_>) -> Built {
    let mode = padding_mode(it, &build::PADDING_MODES[..3])?;
    let pads = it.ints("paddings").ok_or_else(|| it.missing("paddings"))?;
    let value = it.float("value").unwrap_or(0.0);
    Ok(Box::new(Pad { mode, source: Margins::Attributes { pads, value } }))
}

fn reshape(it: &Attributes<'_>) -> Built {
    // An empty list is the shape of a scalar.
    let shape = Some(it.ints("shape").ok_or_else(|| it.missing("shape"))?);
    Ok(Box::new(Reshape { zero: Zero::Copied, shape }))
}

/// The lengths are in the attribute, or else in the second input.
fn split(it: &Attributes<'_>) -> Built {
    let parts = match it.ints("split") {
        Some(lengths) if !lengths.is_empty() => Parts::Lengths(lengths),
        _ => Parts::AnyInput(Equal { count: it.outputs, has_rest: false }),
    };
    Ok(Box::new(Split { axis: it.int("axis").unwrap_or(0), parts }))
}
