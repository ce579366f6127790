//! One step of a recurrent network, composed of operators.

use dml_core::AbstractOperator;
use dml_core::schema::FieldKind;

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::NodeInputs;
use crate::graph::ops::arithmetic::{ADD, MAXIMUM, MINIMUM, MULTIPLY, SUBTRACT};
use crate::graph::ops::element_wise::{ElementWise, apply};
use crate::graph::ops::function::{Function, Types};
use crate::graph::ops::recurrent::Cell;
use crate::graph::ops::recurrent::weights::Weights;
use crate::graph::ops::scalar::Scalar;
use crate::graph::ops::split::parts;
use crate::graph::value::Value;

const FLOAT: ElementType = ElementType::FLOAT32;

/// The states that a step passes to the next one, by batches.
#[derive(Clone)]
pub(super) struct Memory {
    pub(super) state: Value,
    /// The cell state, for an LSTM only.
    pub(super) cell: Option<Value>,
}

/// The gates of one direction.
pub(super) struct Gates {
    pub(super) cell: Cell,
    /// The recurrent weights: of all gates together, or with the last gate's weights separate.
    pub(super) weights: Vec<Weights>,
    /// Biases of the state's products.
    pub(super) bias: Option<Value>,
    pub(super) peepholes: Option<Value>,
    pub(super) functions: Vec<AbstractOperator>,
    pub(super) clip: Option<f32>,
    pub(super) hidden: u64,
}

impl Gates {
    /// The states after `memory`, given the input's contribution `fed` to all gates.
    pub(super) fn step(
        &self,
        operands: &NodeInputs<'_>,
        fed: &Value,
        memory: &Memory,
    ) -> Result<Memory> {
        match self.cell {
            Cell::Simple => {
                let sum = sum(operands, fed, &self.product(operands, 0, &memory.state)?)?;
                Ok(Memory { state: self.activated(operands, 0, &sum)?, cell: None })
            }
            Cell::Gated { linear_before_reset } => {
                let state = self.gated(operands, fed, &memory.state, linear_before_reset)?;
                Ok(Memory { state, cell: None })
            }
            Cell::LongShortTerm { couple_input_forget } => {
                self.long_short_term(operands, fed, memory, couple_input_forget)
            }
        }
    }

    /// A GRU's new state: a weighted mean of the previous state and a candidate.
    fn gated(
        &self,
        operands: &NodeInputs<'_>,
        fed: &Value,
        state: &Value,
        linear_before_reset: bool,
    ) -> Result<Value> {
        let fed = self.parts(operands, fed, 3)?;
        let count = if linear_before_reset { 3 } else { 2 };
        let kept = self.parts(operands, &self.product(operands, 0, state)?, count)?;
        let update = self.activated(operands, 0, &sum(operands, &fed[0], &kept[0])?)?;
        let reset = self.activated(operands, 0, &sum(operands, &fed[1], &kept[1])?)?;
        let remembered = match linear_before_reset {
            true => product(operands, &reset, &kept[2])?,
            false => self.product(operands, 1, &product(operands, &reset, state)?)?,
        };
        let new = self.activated(operands, 1, &sum(operands, &fed[2], &remembered)?)?;
        let new = product(operands, &complement(operands, &update)?, &new)?;
        sum(operands, &new, &product(operands, &update, state)?)
    }

    fn long_short_term(
        &self,
        operands: &NodeInputs<'_>,
        fed: &Value,
        memory: &Memory,
        couple_input_forget: bool,
    ) -> Result<Memory> {
        let sums = sum(operands, fed, &self.product(operands, 0, &memory.state)?)?;
        let sums = self.parts(operands, &sums, 4)?;
        let before = memory.cell.as_ref().unwrap_or(&memory.state);
        let seen = match &self.peepholes {
            Some(peepholes) => parts(operands, peepholes, 0, &[self.hidden; 3])?,
            None => vec![],
        };
        let gate = |gate: usize, peephole: usize, cell: &Value| {
            let sum_of_gate = match seen.get(peephole) {
                Some(weight) => sum(operands, &sums[gate], &product(operands, weight, cell)?)?,
                None => sums[gate].clone(),
            };
            self.activated(operands, 0, &sum_of_gate)
        };
        let input = gate(0, 0, before)?;
        let forget = match couple_input_forget {
            true => complement(operands, &input)?,
            false => gate(2, 2, before)?,
        };
        let new = self.activated(operands, 1, &sums[3])?;
        let kept = product(operands, &forget, before)?;
        let cell = sum(operands, &kept, &product(operands, &input, &new)?)?;
        let output = gate(1, 1, &cell)?;
        let state = product(operands, &output, &self.activated(operands, 2, &cell)?)?;
        Ok(Memory { state, cell: Some(cell) })
    }

    fn product(&self, operands: &NodeInputs<'_>, weights: usize, state: &Value) -> Result<Value> {
        let product = self.weights[weights].multiply(operands, state)?;
        match &self.bias {
            Some(bias) => sum(operands, &product, bias),
            None => Ok(product),
        }
    }

    /// The columns of each of `count` gates.
    fn parts(&self, operands: &NodeInputs<'_>, value: &Value, count: usize) -> Result<Vec<Value>> {
        parts(operands, value, 1, &vec![self.hidden; count])
    }

    /// Applies the activation function with this index to the clipped value.
    fn activated(&self, operands: &NodeInputs<'_>, index: usize, value: &Value) -> Result<Value> {
        let mut value = value.clone();
        if let Some(clip) = self.clip {
            for (limit, function) in [(-clip, MAXIMUM), (clip, MINIMUM)] {
                let limit = Value::scalar(FLOAT, Scalar::Float(limit.into()).bits(FLOAT));
                value = apply(operands, function, &[value, limit])?;
            }
        }
        let Some(operator) = self.functions.get(index) else { return Ok(value) };
        let schema = operator.schema();
        let fields = schema.fields.iter().zip(operator.fields());
        let attributes = fields.filter(|(field, _)| field.kind == FieldKind::Attribute);
        let attributes = attributes.map(|(_, value)| value.clone()).collect();
        let function = Function::new(Types::Floats, schema);
        ElementWise { attributes, ..ElementWise::new(function) }.apply(operands, &[value])
    }
}

fn sum(operands: &NodeInputs<'_>, a: &Value, b: &Value) -> Result<Value> {
    apply(operands, ADD, &[a.clone(), b.clone()])
}

fn product(operands: &NodeInputs<'_>, a: &Value, b: &Value) -> Result<Value> {
    apply(operands, MULTIPLY, &[a.clone(), b.clone()])
}

/// `1 - a`.
fn complement(operands: &NodeInputs<'_>, a: &Value) -> Result<Value> {
    apply(operands, SUBTRACT, &[Value::scalar(FLOAT, FLOAT.one()), a.clone()])
}
