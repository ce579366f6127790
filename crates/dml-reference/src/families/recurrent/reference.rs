//! References of recurrent networks by the documentation: each sequence by itself, in double precision.

use dml_core::operators::recurrent::{Network, flag, functions, threshold};
use dml_core::schema::{Comparison, FieldKind, OperatorSchema};
use dml_core::{DataType, Error, TensorLayout, Validated};

use super::cases::CaseGenerator;
use crate::families::element_wise;
use crate::number::{double, encoded};
use crate::{Random, Reference};

/// The reference of a network with this cell.
pub(super) struct Recurrent {
    pub(super) schema: &'static OperatorSchema,
    pub(super) step: CellFunction,
}

/// Computes the states after a step from those before it; only an LSTM has a cell state.
type CellFunction = fn(&Cell<'_>, &States) -> States;

#[derive(Clone)]
pub(super) struct States {
    hidden: Vec<f64>,
    cell: Vec<f64>,
}

/// The cell of a direction, at a step of a sequence.
pub(super) struct Cell<'a> {
    inputs: &'a Inputs<'a>,
    network: Network,
    functions: &'a [Validated],
    threshold: Option<f64>,
    direction: u32,
    time: usize,
    sequence: usize,
}

/// The elements of the inputs in row-major order.
struct Inputs<'a> {
    operator: &'a Validated,
    elements: Vec<(&'static str, Vec<f64>)>,
}

impl Inputs<'_> {
    fn get(&self, name: &str) -> Option<&[f64]> {
        self.elements.iter().find(|(it, _)| *it == name).map(|(_, elements)| elements.as_slice())
    }

    /// An element of a tensor of these sizes; 0 if the tensor is left out.
    fn at<const N: usize>(&self, name: &str, places: [(usize, usize); N]) -> f64 {
        let place = places.iter().fold(0, |place, (size, at)| place * size + at);
        self.get(name).map_or(0.0, |elements| elements[place])
    }
}

impl Cell<'_> {
    fn hidden(&self) -> usize {
        self.network.hidden as usize
    }

    fn rows(&self) -> usize {
        self.network.width() as usize
    }

    fn bias(&self, row: usize) -> f64 {
        self.inputs.at("BiasTensor", [(0, self.direction as usize), (2 * self.rows(), row)])
    }

    /// The input's contribution to a gate, including its bias.
    fn of_input(&self, gate: usize, at: usize) -> f64 {
        let (elements, row) = (self.network.elements as usize, gate * self.hidden() + at);
        let sequences = self.network.sequences as usize;
        let product = |element: usize| {
            let x = [(0, self.time), (sequences, self.sequence), (elements, element)];
            let w = [(0, self.direction as usize), (self.rows(), row), (elements, element)];
            self.inputs.at("InputTensor", x) * self.inputs.at("WeightTensor", w)
        };
        (0..elements).map(product).sum::<f64>() + self.bias(row)
    }

    /// The state's contribution to a gate, including its bias.
    fn of_state(&self, gate: usize, at: usize, state: &[f64]) -> f64 {
        let row = gate * self.hidden() + at;
        let product = |(element, value): (usize, &f64)| {
            let r = [(0, self.direction as usize), (self.rows(), row), (self.hidden(), element)];
            value * self.inputs.at("RecurrenceTensor", r)
        };
        let sum: f64 = state.iter().enumerate().map(product).sum();
        sum + self.bias(self.rows() + row)
    }

    fn sum(&self, gate: usize, at: usize, states: &States) -> f64 {
        self.of_input(gate, at) + self.of_state(gate, at, &states.hidden)
    }

    fn peephole(&self, gate: usize, at: usize) -> f64 {
        let row = gate * self.hidden() + at;
        self.inputs.at("PeepholeTensor", [(0, self.direction as usize), (3 * self.hidden(), row)])
    }

    fn function(&self, index: usize, value: f64) -> f64 {
        let same = |it| it;
        let seen = self.threshold.map_or(value, |most| value.clamp(-most, most));
        element_wise::function(&self.functions[index], seen, [same; 2])
    }

    fn flag(&self, name: &str) -> bool {
        flag(self.inputs.operator, name).unwrap_or(false)
    }

    /// A value for each hidden element.
    fn each(&self, of: impl Fn(usize) -> f64) -> Vec<f64> {
        (0..self.hidden()).map(of).collect()
    }
}

pub(super) fn simple(cell: &Cell<'_>, before: &States) -> States {
    States { hidden: cell.each(|at| cell.function(0, cell.sum(0, at, before))), cell: vec![] }
}

pub(super) fn long_short_term(cell: &Cell<'_>, before: &States) -> States {
    let gate = |gate: usize, at: usize, state: f64| {
        cell.function(0, cell.sum(gate, at, before) + cell.peephole(gate, at) * state)
    };
    let next = cell.each(|at| {
        let input = gate(0, at, before.cell[at]);
        let forget = match cell.flag("CoupleInputForget") {
            true => 1.0 - input,
            false => gate(2, at, before.cell[at]),
        };
        forget * before.cell[at] + input * cell.function(1, cell.sum(3, at, before))
    });
    let hidden = cell.each(|at| gate(1, at, next[at]) * cell.function(2, next[at]));
    States { hidden, cell: next }
}

pub(super) fn gated(cell: &Cell<'_>, before: &States) -> States {
    let reset = cell.each(|at| cell.function(0, cell.sum(1, at, before)));
    let after: Vec<f64> = reset.iter().zip(&before.hidden).map(|(r, h)| r * h).collect();
    let hidden = cell.each(|at| {
        let update = cell.function(0, cell.sum(0, at, before));
        let of_state = match cell.flag("LinearBeforeReset") {
            true => reset[at] * cell.of_state(2, at, &before.hidden),
            false => cell.of_state(2, at, &after),
        };
        let new = cell.function(1, cell.of_input(2, at) + of_state);
        (1.0 - update) * new + update * before.hidden[at]
    });
    States { hidden, cell: vec![] }
}

impl Recurrent {
    /// The states after each step of a sequence in a direction; steps beyond its end repeat the last states.
    fn states(
        &self,
        inputs: &Inputs<'_>,
        network: Network,
        direction: u32,
        sequence: usize,
    ) -> Result<Vec<Option<States>>, Error> {
        let [hidden, sequences] = [network.hidden, network.sequences].map(|it| it as usize);
        let first = |name: &str| -> Vec<f64> {
            let at = |at| {
                inputs.at(name, [(0, direction as usize), (sequences, sequence), (hidden, at)])
            };
            (0..hidden).map(at).collect()
        };
        let mut states =
            States { hidden: first("HiddenInitTensor"), cell: first("CellMemInitTensor") };
        let is_backward = network.directions()[direction as usize];
        let length = inputs.get("SequenceLengthsTensor").map(|lengths| lengths[sequence]);
        let functions = functions(inputs.operator, direction)?;
        let threshold = threshold(inputs.operator)?.map(f64::from);
        let mut all = vec![None; network.steps as usize];
        for time in network.order(is_backward) {
            if length.is_some_and(|length| f64::from(time) >= length) {
                continue;
            }
            let cell = Cell {
                inputs,
                network,
                functions,
                threshold,
                direction,
                time: time as usize,
                sequence,
            };
            states = (self.step)(&cell, &states);
            all[time as usize] = Some(states.clone());
        }
        all.push(Some(states));
        Ok(all)
    }
}

impl Reference for Recurrent {
    fn schema(&self) -> &'static OperatorSchema {
        self.schema
    }

    fn outputs(
        &self,
        operator: &Validated,
        elements: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        let tensors = operator.tensors(FieldKind::Input).zip(elements);
        let decoded = tensors.filter_map(|((path, tensor), bits)| {
            let (data_type, bits) = (tensor?.data_type(), bits.as_ref()?);
            Some((path.field.name, bits.iter().map(|it| double(data_type, *it)).collect()))
        });
        let inputs = Inputs { operator, elements: decoded.collect() };
        let network = Network::of(operator)?;
        // By step, direction and sequence; the final states follow those of the last step.
        let mut all = vec![];
        for (direction, _) in (0..).zip(network.directions()) {
            let of = |sequence| self.states(&inputs, network, direction, sequence as usize);
            all.push((0..network.sequences).map(of).collect::<Result<Vec<_>, Error>>()?);
        }
        let steps = network.steps as usize;
        let of_output = |name: &str| -> Vec<f64> {
            let times = if name == "OutputSequenceTensor" { 0..steps } else { steps..steps + 1 };
            let sequences = times.flat_map(|time| all.iter().flatten().map(move |it| &it[time]));
            let state = |states: &Option<States>| match states {
                None => vec![0.0; network.hidden as usize],
                Some(states) if name == "OutputCellSingleTensor" => states.cell.clone(),
                Some(states) => states.hidden.clone(),
            };
            sequences.flat_map(state).collect()
        };
        let outputs = operator.tensors(FieldKind::Output);
        let encoded = outputs.map(|(path, tensor)| {
            let Some(data_type) = tensor.map(TensorLayout::data_type) else { return vec![] };
            let values = of_output(path.field.name).into_iter();
            values.map(|value| encoded(data_type, value)).collect()
        });
        Ok(encoded.collect())
    }

    /// Positive numbers with small sums: activation functions are steep there, and nothing cancels.
    fn input_elements(
        &self,
        random: &mut Random,
        operator: &Validated,
        _index: usize,
        layout: &TensorLayout,
    ) -> Vec<u64> {
        let network = Network::of(operator);
        let [steps, terms] = network.map_or([1, 1], |it| [it.steps, it.elements + it.hidden]);
        let data_type = layout.data_type();
        let mut element = || match data_type.integer_range() {
            Some(_) => u64::from(random.below(steps + 2)),
            None => {
                let share = f64::from(1 + random.below(63)) / 64.0;
                encoded(data_type, share * (2.0 / f64::from(terms)).min(1.0))
            }
        };
        (0..layout.element_count()).map(|_| element()).collect()
    }

    /// Each step adds the errors of a product, of functions and of differences from 1 to the error so far.
    fn comparison(&self, operator: &Validated, data_type: DataType) -> Comparison {
        let own = operator.schema().comparison(data_type);
        let (Comparison::Ulp(bound), Ok(network)) = (own, Network::of(operator)) else {
            return own;
        };
        let of_steps = match data_type {
            DataType::Float16 => 0,
            _ => network.steps.saturating_mul(2).saturating_add(4),
        };
        Comparison::Ulp(bound.saturating_add(of_steps))
    }

    cases_by!(self, signature: CaseGenerator { schema: self.schema, signature });
}
