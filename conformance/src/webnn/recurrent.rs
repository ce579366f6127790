//! Recurrent networks and cells.

use anyhow::{Context as _, bail, ensure};
use dml_import::onnx::proto::AttributeProto;
use serde_json::Value;

use super::attribute;
use super::json::Number;
use super::model::Call;

/// The differences between WebNN's recurrent operations.
struct Network {
    operator: &'static str,
    /// The gates of ONNX by their letters, and the allowed layouts.
    gates: &'static str,
    /// The activation functions of one direction.
    functions: &'static [&'static str],
    /// The number of states.
    states: usize,
}

const GRU: Network =
    Network { operator: "GRU", gates: "zrn", functions: &["sigmoid", "tanh"], states: 1 };
const LSTM: Network =
    Network { operator: "LSTM", gates: "iofg", functions: &["sigmoid", "tanh", "tanh"], states: 2 };

/// The values of an operation's outputs.
type Results = anyhow::Result<Vec<String>>;

pub(super) fn gru(call: &mut Call<'_>) -> Results {
    GRU.sequence(call)
}

pub(super) fn lstm(call: &mut Call<'_>) -> Results {
    LSTM.sequence(call)
}

pub(super) fn gru_cell(call: &mut Call<'_>) -> Results {
    GRU.cell(call)
}

pub(super) fn lstm_cell(call: &mut Call<'_>) -> Results {
    LSTM.cell(call)
}

/// The names of the arguments for the initial states.
const STATES: [&str; 2] = ["initialHiddenState", "initialCellState"];
const STATES_OF_CELL: [&str; 2] = ["hiddenState", "cellState"];

impl Network {
    /// The final states, and with `returnSequence` those of all steps.
    fn sequence(&self, call: &mut Call<'_>) -> Results {
        let mut outputs = self.node(call, false)?;
        let steps = outputs.remove(0);
        if call.flag("returnSequence") {
            outputs.push(steps);
        }
        Ok(outputs)
    }

    /// The states after one step.
    fn cell(&self, call: &mut Call<'_>) -> Results {
        let outputs = self.node(call, true)?;
        let axis = call.builder.integers(&[0])?;
        let squeezed =
            |it: &String| call.builder.node("Squeeze", &[it.clone(), axis.clone()], vec![]);
        Ok(outputs[1..].iter().map(squeezed).collect())
    }

    /// The outputs of ONNX's operator, all steps first.
    fn node(&self, call: &mut Call<'_>, is_cell: bool) -> anyhow::Result<Vec<String>> {
        let lift = |call: &mut Call<'_>, value: String| -> anyhow::Result<String> {
            if !is_cell {
                return Ok(value);
            }
            let axis = call.builder.integers(&[0])?;
            Ok(call.builder.node("Unsqueeze", &[value, axis], vec![]))
        };
        let mut operands = vec![];
        let input = call.required("input")?;
        operands.push(lift(call, input)?);
        for name in ["weight", "recurrentWeight"] {
            let value = self.ordered(call, name)?.with_context(|| format!("{name} is missing"))?;
            operands.push(lift(call, value)?);
        }
        let bias = self.biases(call, is_cell)?;
        operands.push(match bias {
            Some(bias) => lift(call, bias)?,
            None => String::new(),
        });
        // ONNX has the lengths of sequences as the next operand.
        operands.push(String::new());
        let states = if is_cell { STATES_OF_CELL } else { STATES };
        for name in &states[..self.states] {
            operands.push(match call.operand(name)? {
                Some(state) => lift(call, state)?,
                None => String::new(),
            });
        }
        if self.states == 2 {
            operands.push(match call.operand("peepholeWeight")? {
                Some(weight) => lift(call, weight)?,
                None => String::new(),
            });
        }
        let attributes = self.attributes(call)?;
        Ok(call.builder.nodes(self.operator, &operands, attributes, self.states + 1))
    }

    /// An operand with its gates in ONNX's order.
    fn ordered(&self, call: &mut Call<'_>, name: &str) -> anyhow::Result<Option<String>> {
        let Some(value) = call.operand(name)? else { return Ok(None) };
        let layout = call.text("layout").unwrap_or(self.gates).to_owned();
        if layout == self.gates {
            return Ok(Some(value));
        }
        let place = |gate: char| layout.find(gate).with_context(|| format!("layout: '{layout}'"));
        let places = self.gates.chars().map(place).collect::<anyhow::Result<Vec<usize>>>()?;
        let rank = call.known(name)?.shape.len();
        let is_bias = name.ends_with("ias");
        let axis = i64::try_from(rank)? - if is_bias { 1 } else { 2 };
        ensure!(axis >= 0, "{name}: it has {rank} dimensions");
        let of_axis = || vec![attribute::int("axis", axis)];
        let parts = call.builder.nodes("Split", &[value], of_axis(), places.len());
        let ordered: Vec<String> = places.iter().map(|at| parts[*at].clone()).collect();
        Ok(Some(call.builder.node("Concat", &ordered, of_axis())))
    }

    /// Both biases, concatenated; zeros for a missing one.
    fn biases(&self, call: &mut Call<'_>, is_cell: bool) -> anyhow::Result<Option<String>> {
        let names = ["bias", "recurrentBias"];
        let given = [call.operand(names[0])?, call.operand(names[1])?];
        let Some(one) = given.iter().position(Option::is_some) else { return Ok(None) };
        let known = call.known(names[one])?;
        let mut both = vec![];
        for name in names {
            both.push(match self.ordered(call, name)? {
                Some(bias) => bias,
                None => {
                    let count: u64 = known.shape.iter().product();
                    let zeros = vec![Number::Float(0.0); usize::try_from(count)?];
                    call.builder.constant(known.element, &known.shape, &zeros)?
                }
            });
        }
        let axis = attribute::int("axis", if is_cell { 0 } else { 1 });
        Ok(Some(call.builder.node("Concat", &both, vec![axis])))
    }

    fn attributes(&self, call: &Call<'_>) -> anyhow::Result<Vec<AttributeProto>> {
        let direction = match call.text("direction").unwrap_or("forward") {
            "forward" => "forward",
            "backward" => "reverse",
            "both" => "bidirectional",
            other => bail!("direction: '{other}'; accepted: forward, backward, both"),
        };
        let mut functions: Vec<String> = match call.operator.argument("activations") {
            None => self.functions.iter().map(|function| (*function).to_owned()).collect(),
            Some(given) => super::json::names(given)?,
        };
        if direction == "bidirectional" {
            functions.extend(functions.clone());
        }
        let size = call.integer("hiddenSize")?.context("argument hiddenSize: it is missing")?;
        let mut attributes = vec![
            attribute::int("hidden_size", size),
            attribute::text("direction", direction),
            attribute::texts("activations", functions),
        ];
        if self.states == 1 {
            let resets_after = call.operator.argument("resetAfter").and_then(Value::as_bool);
            let flag = i64::from(resets_after.unwrap_or(true));
            attributes.push(attribute::int("linear_before_reset", flag));
        }
        Ok(attributes)
    }
}
