//! RNN, LSTM and GRU, and their attributes.

use dml_core::operators::{
    ACTIVATION_ELU, ACTIVATION_HARD_SIGMOID, ACTIVATION_LEAKY_RELU, ACTIVATION_LINEAR,
    ACTIVATION_RELU, ACTIVATION_SCALED_TANH, ACTIVATION_SIGMOID, ACTIVATION_SOFTPLUS,
    ACTIVATION_SOFTSIGN, ACTIVATION_TANH, ACTIVATION_THRESHOLDED_RELU,
};
use dml_core::schema::OperatorSchema;
use dml_core::{AbstractOperator, FieldValue, RecurrentNetworkDirection};

use super::build::{Built, choice};
use super::{OperatorVersion, row};
use crate::error::{Result, shortened};
use crate::graph::{Cell, Recurrent};
use crate::onnx::attributes::{Attributes, Kind};

const ALPHA: (&str, Kind) = ("activation_alpha", Kind::Floats);
const BETA: (&str, Kind) = ("activation_beta", Kind::Floats);
const FUNCTIONS: (&str, Kind) = ("activations", Kind::Texts);
const CLIP: (&str, Kind) = ("clip", Kind::Float);
const DIRECTION: (&str, Kind) = ("direction", Kind::Text);
const SIZE: (&str, Kind) = ("hidden_size", Kind::Int);
const LAYOUT: (&str, Kind) = ("layout", Kind::Int);
const COUPLED: (&str, Kind) = ("input_forget", Kind::Int);
const LINEAR: (&str, Kind) = ("linear_before_reset", Kind::Int);

pub(super) const RNN: [(&str, Kind); 7] = [ALPHA, BETA, FUNCTIONS, CLIP, DIRECTION, SIZE, LAYOUT];
pub(super) const LSTM: [(&str, Kind); 8] =
    [ALPHA, BETA, FUNCTIONS, CLIP, DIRECTION, SIZE, LAYOUT, COUPLED];
/// The attributes of com.microsoft's DynamicQuantizeLSTM.
pub(super) const QUANTIZED: [(&str, Kind); 7] =
    [ALPHA, BETA, FUNCTIONS, CLIP, DIRECTION, SIZE, COUPLED];
pub(super) const GRU: [(&str, Kind); 8] =
    [ALPHA, BETA, FUNCTIONS, CLIP, DIRECTION, SIZE, LAYOUT, LINEAR];

/// All versions of these operators. The attribute `layout` exists from version 14 on, and is 0 before.
pub(super) static ROWS: &[OperatorVersion] = &[
    OperatorVersion { outputs: 0..=2, ..row("RNN", 7, &RNN, 3..=6, simple) },
    OperatorVersion { outputs: 0..=2, ..row("GRU", 7, &GRU, 3..=6, gated) },
    OperatorVersion { outputs: 0..=3, ..row("LSTM", 7, &LSTM, 3..=8, long_short_term) },
];

/// An activation function: its name, DirectML's operator, and the defaults of `activation_alpha` and
/// `activation_beta`; `None` if the function does not have the parameter.
type Known = (&'static str, &'static OperatorSchema, [Option<f32>; 2]);

static KNOWN: [Known; 11] = [
    ("Affine", &ACTIVATION_LINEAR, [Some(1.0), Some(0.0)]),
    ("Elu", &ACTIVATION_ELU, [Some(1.0), None]),
    ("HardSigmoid", &ACTIVATION_HARD_SIGMOID, [Some(0.2), Some(0.5)]),
    ("LeakyRelu", &ACTIVATION_LEAKY_RELU, [Some(0.01), None]),
    ("Relu", &ACTIVATION_RELU, [None, None]),
    ("ScaledTanh", &ACTIVATION_SCALED_TANH, [Some(1.0), Some(1.0)]),
    ("Sigmoid", &ACTIVATION_SIGMOID, [None, None]),
    ("Softplus", &ACTIVATION_SOFTPLUS, [None, None]),
    ("Softsign", &ACTIVATION_SOFTSIGN, [None, None]),
    ("Tanh", &ACTIVATION_TANH, [None, None]),
    ("ThresholdedRelu", &ACTIVATION_THRESHOLDED_RELU, [Some(1.0), None]),
];

pub(super) fn simple(it: &Attributes<'_>) -> Built {
    recurrent(it, Cell::Simple, &["Tanh"])
}

pub(super) fn gated(it: &Attributes<'_>) -> Built {
    let linear_before_reset = it.flag("linear_before_reset", false);
    recurrent(it, Cell::Gated { linear_before_reset }, &["Sigmoid", "Tanh"])
}

pub(super) fn long_short_term(it: &Attributes<'_>) -> Built {
    Ok(Box::new(lstm(it)?))
}

/// com.microsoft's LSTM with integer weights.
pub(super) fn quantized(it: &Attributes<'_>) -> Built {
    Ok(Box::new(Recurrent { is_quantized: true, ..lstm(it)? }))
}

fn lstm(it: &Attributes<'_>) -> Result<Recurrent> {
    let couple_input_forget = it.flag("input_forget", false);
    network(it, Cell::LongShortTerm { couple_input_forget }, &["Sigmoid", "Tanh", "Tanh"])
}

fn recurrent(it: &Attributes<'_>, cell: Cell, usual: &[&str]) -> Built {
    Ok(Box::new(network(it, cell, usual)?))
}

/// The limit to which inputs of activation functions are clamped; `None` for no limit.
fn clip(it: &Attributes<'_>) -> Result<Option<f32>> {
    match it.float("clip") {
        Some(clip) if clip.is_nan() || clip < 0.0 => {
            Err(it.node.invalid("attribute clip", clip, "is not a limit", "0 and more"))
        }
        given => Ok(given),
    }
}

fn network(it: &Attributes<'_>, cell: Cell, usual: &[&str]) -> Result<Recurrent> {
    let given = it.text("direction");
    let known = [
        ("forward", (RecurrentNetworkDirection::Forward, 1)),
        ("reverse", (RecurrentNetworkDirection::Backward, 1)),
        ("bidirectional", (RecurrentNetworkDirection::Bidirectional, 2)),
    ];
    let (direction, directions) =
        choice(it, "direction", given.as_deref().unwrap_or("forward"), &known)?;
    Ok(Recurrent {
        cell,
        direction,
        functions: functions(it, usual, directions)?,
        clip: clip(it)?,
        is_quantized: false,
        is_batch_first: it.flag("layout", false),
        outputs: it.outputs,
    })
}

/// The activation functions of all directions.
fn functions(
    it: &Attributes<'_>,
    usual: &[&str],
    directions: usize,
) -> Result<Vec<AbstractOperator>> {
    let count = usual.len() * directions;
    let mut names = it
        .texts("activations")
        .unwrap_or_else(|| usual.repeat(directions).into_iter().map(str::to_owned).collect());
    // The default of RNN is stated for two directions, even for networks of one; other readers pass it on.
    if usual.len() == 1 && names == usual.repeat(2) {
        names.truncate(count);
    }
    if names.len() != count {
        let accepted = count.to_string();
        let problem = "is the wrong number of functions";
        return Err(it.node.invalid("attribute activations", names.len(), problem, accepted));
    }
    // The functions that have such a parameter take the values in order.
    let [mut alphas, mut betas] = ["activation_alpha", "activation_beta"]
        .map(|name| it.floats(name).unwrap_or_default().into_iter());
    let function = |name: &String| {
        let is_it = |(known, ..): &&Known| known.eq_ignore_ascii_case(name);
        let (_, schema, [alpha, beta]) = KNOWN.iter().find(is_it).ok_or_else(|| {
            let names: Vec<&str> = KNOWN.iter().map(|(known, ..)| *known).collect();
            let (given, problem) = (shortened(name), "is not a function");
            it.node.invalid("attribute activations", given, problem, names.join(", "))
        })?;
        let alpha = alpha.map(|usual| alphas.next().unwrap_or(usual));
        let beta = beta.map(|usual| betas.next().unwrap_or(usual));
        let mut values: Vec<FieldValue> =
            [alpha, beta].into_iter().flatten().map(FieldValue::Float).collect();
        // DirectML's Softplus has a steepness, and ONNX's does not.
        if *schema == &ACTIVATION_SOFTPLUS {
            values.push(FieldValue::Float(1.0));
        }
        AbstractOperator::nested(schema, values)
            .map_err(|error| it.node.not_supported(error.to_string()))
    };
    names.iter().map(function).collect()
}
