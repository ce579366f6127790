//! Lowers a recurrent layer: RNN, LSTM or GRU.
//!
//! RNN of 2 steps, 3 input elements and 2 hidden elements in FLOAT32:
//!
//! ```text
//! RNN
//!   input 0 = InputTensor FLOAT32 [1, 2, 1, 3]
//!   input 1 = WeightTensor FLOAT32 [1, 1, 2, 3]
//!   input 2 = RecurrenceTensor FLOAT32 [1, 1, 2, 2]
//!   output 1 = OutputSingleTensor FLOAT32 [1, 1, 1, 2]
//!   %0 = 4 elements of 32 bits
//!   %0 = contract input 0 by input 1: batches [1], rows 2, columns [2], depths [3]
//!     64 bytes, 24 operations, 4 invocations
//!   %1 = 4 elements of 32 bits
//!   %1 over [2] = map tanh_f32 (%0)
//!     16 bytes, 2 operations, 2 invocations
//!   %0+2 = contract on from there %1 by input 2: batches [], rows 1, columns [2], depths [2]
//!     40 bytes, 8 operations, 2 invocations
//!   %1+2 over [2] = map tanh_f32 (%0+2)
//!     16 bytes, 2 operations, 2 invocations
//!   output 1 over [2] = map same (%1+2)
//!     16 bytes, 2 operations, 2 invocations
//! ```
//!
//! A Contract multiplies the whole input by the weights first. Then each step in turn adds the product of the hidden
//! state to its gates' sums, and the cell computes the new state from them. States and sums are in single precision.
//! A sequence that has ended keeps its state. A direction that begins at the end steps through the padding after a
//! sequence without changing its state.

use std::ops::Range;

use dml_core::{DataType, Error, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::DIMENSIONS;
use dml_spirv::functions as f;

use super::network::{self, Network, flag, functions, threshold};
use super::program::CellProgram;
use crate::Target;
use crate::families::products::{ProductRecorder, Storage, Words};
use crate::ir::space::{Operand, leading};
use crate::ir::{self, Dimension, Numbers, Place, Sums};
use crate::target::ROWS_WORTH_A_COPY;

/// A cell's computation in a step: it adds the nodes that compute the next states from the states before.
pub(super) type Step = fn(&mut Layer<'_, '_>, &At) -> Result<State, Error>;

/// The dimensions of steps, sequences and hidden elements in a space.
pub(super) const STEPS: usize = DIMENSIONS - 3;
const SEQUENCES: usize = DIMENSIONS - 2;
const HIDDEN: usize = DIMENSIONS - 1;

/// Weights are read in place.
const ROWS: Storage<'_> = Storage { innermost: 3, margins: &[], channels: 1, is_copied: false };

/// The program of a layer with this cell.
pub(super) fn lower(
    operator: &Validated,
    target: &Target<'_>,
    step: Step,
) -> Result<ir::Program, Error> {
    let network = Network::of(operator)?;
    network::check(&network, operator)?;
    let mut products = ProductRecorder::new(operator, target, false);
    // Every step reads the recurrence weights.
    let by_gates = Storage { innermost: 2, is_copied: true, ..ROWS };
    let is_worth_it = network.sequences >= ROWS_WORTH_A_COPY;
    let recurrence = if is_worth_it { &by_gates } else { &ROWS };
    let factors = Factors {
        input: products.factor(["InputTensor", ""], &ROWS)?,
        weight: products.factor(["WeightTensor", ""], &ROWS)?,
        recurrence: products.factor(["RecurrenceTensor", ""], recurrence)?,
    };
    for (direction, is_backward) in (0..).zip(network.directions()) {
        let mut layer = Layer::new(&mut products, network, &factors, direction)?;
        layer.write_masks()?;
        layer.add_up_inputs()?;
        let mut state = layer.first_state()?;
        for time in network.order(*is_backward) {
            state = step(&mut layer, &At { time, before: state })?;
        }
        layer.write_outputs(&state)?;
    }
    Ok(products.recorder.finish())
}

/// The factors of a layer's products.
struct Factors {
    input: Words,
    weight: Words,
    recurrence: Words,
}

/// States of every sequence; `None` if they are zeros. Only an LSTM has cell states.
#[derive(Clone, Default)]
pub(super) struct State {
    pub(super) hidden: Option<Operand>,
    pub(super) cell: Option<Operand>,
}

/// A step, and the states before it.
pub(super) struct At {
    pub(super) time: u32,
    pub(super) before: State,
}

/// One direction of a layer.
pub(super) struct Layer<'b, 'a> {
    pub(super) operator: &'a Validated,
    pub(super) direction: u32,
    functions: &'a [Validated],
    threshold: Option<f32>,
    pub(super) network: Network,
    pub(super) products: &'b mut ProductRecorder<'a>,
    factors: &'b Factors,
    /// Whether each sequence has each step; `None` if all sequences have all steps.
    pub(super) masks: Option<Operand>,
    /// The gates' sums of every step.
    sums: Operand,
    /// The hidden states after every step.
    pub(super) states: Operand,
    scratch: [Option<Operand>; 2],
}

impl<'b, 'a> Layer<'b, 'a> {
    fn new(
        products: &'b mut ProductRecorder<'a>,
        network: Network,
        factors: &'b Factors,
        direction: u32,
    ) -> Result<Self, Error> {
        let Network { steps, sequences, hidden, .. } = network;
        let count = |size: u32| u64::from(steps) * u64::from(sequences) * u64::from(size);
        Ok(Self {
            operator: products.operator,
            direction,
            functions: functions(products.operator, direction)?,
            threshold: threshold(products.operator)?,
            network,
            factors,
            masks: None,
            sums: products.recorder.temporary(ElementWidth::B32, count(network.width())),
            states: products.recorder.temporary(ElementWidth::B32, count(hidden)),
            scratch: [None, None],
            products,
        })
    }

    /// An empty program of the cell.
    pub(super) fn program(&self) -> CellProgram<'a> {
        CellProgram::new(self.functions, self.threshold)
    }

    fn write_masks(&mut self) -> Result<(), Error> {
        let Some((lengths, _)) = self.products.input("SequenceLengthsTensor")? else {
            return Ok(());
        };
        let Network { steps, sequences, .. } = self.network;
        let strides = of_strides([0, lengths.strides[HIDDEN], 0]);
        let mut program = self.program();
        let time = program.read(Operand::numbers(0, of_strides([1, 0, 0])));
        let length = program.read(Operand { strides, ..lengths });
        program.apply(&f::LESS_THAN_U32, vec![time, length]);
        let count = u64::from(steps) * u64::from(sequences);
        let masks = self.products.recorder.temporary(ElementWidth::B32, count);
        let masks = Operand { strides: of_strides([sequences.into(), 1, 0]), ..masks };
        self.compute([steps, sequences, 1], program, masks.clone())?;
        self.masks = Some(masks);
        Ok(())
    }

    /// Sets the sums to the biases, and adds the products of the input.
    fn add_up_inputs(&mut self) -> Result<(), Error> {
        let goes_on = self.write_biases()?;
        let Network { steps, sequences, elements, .. } = self.network;
        let (x, w) = (&self.factors.input, &self.factors.weight);
        let width = self.network.width();
        let row = i64::from(width);
        let of_steps = [x.strides[1], 0, row * i64::from(sequences)];
        let of_sequences = [x.strides[2], 0, row];
        let is_one = sequences == 1 || of_steps[0] == of_sequences[0] * i64::from(sequences);
        let rows = match (is_one, sequences) {
            (true, 1) => [Dimension::ONE, Dimension { size: steps, strides: of_steps }],
            // As many rows as a tensor has elements at most.
            (true, _) => {
                [Dimension::ONE, Dimension { size: steps * sequences, strides: of_sequences }]
            }
            (false, _) => [
                Dimension { size: steps, strides: of_steps },
                Dimension { size: sequences, strides: of_sequences },
            ],
        };
        let weight = self.of_direction(w, 0);
        let sums = Sums {
            batches: vec![rows[0]],
            row: rows[1],
            columns: vec![Dimension { size: width, strides: [0, w.strides[2], 1] }],
            depths: vec![Dimension { size: elements, strides: [x.strides[3], w.strides[3], 0] }],
            places: [x.place, weight, Place::of(&self.sums)],
            numbers: Numbers::Floats,
            goes_on,
        };
        self.products.recorder.multiply(sums)
    }

    /// The weights of this direction, from a row on.
    fn of_direction(&self, words: &Words, row: u32) -> Place {
        // The offset of an element in a tensor is far too small to overflow.
        let direction = i64::from(self.direction) * words.strides[1];
        let base = words.place.base + direction + i64::from(row) * words.strides[2];
        Place { base, ..words.place }
    }

    /// Writes the biases to the sums; returns whether there are any.
    fn write_biases(&mut self) -> Result<bool, Error> {
        let Some((bias, data_type)) = self.products.input("BiasTensor")? else { return Ok(false) };
        let Network { steps, sequences, .. } = self.network;
        let width = self.network.width();
        // With LinearBeforeReset, the hidden gate's recurrence bias is added after the reset.
        let both = match flag(self.operator, "LinearBeforeReset")? {
            true => width - self.network.hidden,
            false => width,
        };
        for (range, parts) in [(0..both, 2), (both..width, 1)] {
            if range.is_empty() {
                continue;
            }
            let mut program = self.program();
            let values: Vec<_> = (0..parts)
                .map(|part| {
                    let from = self.bias(&bias, part * width + range.start);
                    program.read_as(from, data_type)
                })
                .collect();
            match values[..] {
                [one, other] => program.apply(&f::ADD_F32, vec![one, other]),
                _ => values[0],
            };
            let of_steps = i64::from(sequences) * i64::from(width);
            let strides = of_strides([of_steps, width.into(), 1]);
            let base = self.sums.base + i64::from(range.start);
            let output = Operand { strides, base, ..self.sums.clone() };
            self.compute([steps, sequences, range.end - range.start], program, output)?;
        }
        Ok(true)
    }

    /// The biases from a number on, the same for all sequences.
    fn bias(&self, bias: &Operand, first: u32) -> Operand {
        let strides = bias.strides;
        let of_direction = i64::from(self.direction) * strides[SEQUENCES];
        let base = bias.base + of_direction + i64::from(first) * strides[HIDDEN];
        let mut own = [0; DIMENSIONS];
        own[HIDDEN] = strides[HIDDEN];
        Operand { base, strides: own, ..bias.clone() }
    }

    /// The bias that is added to a gate's recurrence product alone.
    pub(super) fn bias_of_recurrence(
        &self,
        gate: u32,
    ) -> Result<Option<(Operand, DataType)>, Error> {
        let first = self.network.width() + gate * self.network.hidden;
        let bias = self.products.input("BiasTensor")?;
        Ok(bias.map(|(bias, data_type)| (self.bias(&bias, first), data_type)))
    }

    /// The weights by which gates depend on the cell state (peepholes).
    pub(super) fn peephole(&self, gate: u32) -> Result<Option<(Operand, DataType)>, Error> {
        let peephole = self.products.input("PeepholeTensor")?;
        Ok(peephole.map(|(it, data_type)| (self.bias(&it, gate * self.network.hidden), data_type)))
    }

    fn first_state(&mut self) -> Result<State, Error> {
        Ok(State {
            hidden: self.given("HiddenInitTensor")?,
            cell: self.given("CellMemInitTensor")?,
        })
    }

    /// Initial states from an input, if it is present.
    fn given(&mut self, name: &'static str) -> Result<Option<Operand>, Error> {
        if self.products.input(name)?.is_none() {
            return Ok(None);
        }
        let words = self.products.factor([name, ""], &ROWS)?;
        let Place { buffer, base, .. } = self.of_direction(&words, 0);
        let mut strides = [0; DIMENSIONS];
        (strides[SEQUENCES], strides[HIDDEN]) = (words.strides[2], words.strides[3]);
        Ok(Some(Operand { strides, ..Operand::at(buffer, ElementWidth::B32, base) }))
    }

    /// The sums of a gate in a step.
    pub(super) fn gate(&self, time: u32, gate: u32) -> Operand {
        let Network { sequences, hidden, .. } = self.network;
        let width = self.network.width();
        let first = u64::from(time) * u64::from(sequences) * u64::from(width);
        let base = self.sums.base + first.cast_signed() + i64::from(gate * hidden);
        Operand { base, strides: of_strides([0, width.into(), 1]), ..self.sums.clone() }
    }

    /// Scratch memory for numbers of each sequence: one of two buffers that all steps share.
    pub(super) fn scratch(&mut self, second: bool) -> Operand {
        let Network { sequences, hidden, .. } = self.network;
        let count = u64::from(sequences) * u64::from(hidden);
        let recorder = &mut self.products.recorder;
        let scratch = &mut self.scratch[usize::from(second)];
        let place = scratch.get_or_insert_with(|| recorder.temporary(ElementWidth::B32, count));
        Operand { strides: of_strides([0, hidden.into(), 1]), ..place.clone() }
    }

    /// Adds the products of `hidden` with some gates' recurrence weights to their sums in a step.
    pub(super) fn add_up(
        &mut self,
        hidden: &Operand,
        time: u32,
        gates: Range<u32>,
    ) -> Result<(), Error> {
        let output = self.gate(time, gates.start);
        self.multiply(hidden, gates, &output, true)
    }

    /// Writes the products of `hidden` with some gates' recurrence weights, or adds them to the values there.
    pub(super) fn multiply(
        &mut self,
        hidden: &Operand,
        gates: Range<u32>,
        output: &Operand,
        goes_on: bool,
    ) -> Result<(), Error> {
        let r = &self.factors.recurrence;
        let size = self.network.hidden;
        let (first, count) = (gates.start * size, (gates.end - gates.start) * size);
        let of_sequences = [hidden.strides[SEQUENCES], 0, output.strides[SEQUENCES]];
        let recurrence = self.of_direction(r, first);
        let sums = Sums {
            batches: vec![],
            row: Dimension { size: self.network.sequences, strides: of_sequences },
            columns: vec![Dimension { size: count, strides: [0, r.strides[2], 1] }],
            depths: vec![Dimension { size, strides: [hidden.strides[HIDDEN], r.strides[3], 0] }],
            places: [Place::of(hidden), recurrence, Place::of(output)],
            numbers: Numbers::Floats,
            goes_on,
        };
        self.products.recorder.multiply(sums)
    }

    /// Writes the program's result as the next state of all sequences that have the step; the others keep
    /// their state.
    pub(super) fn next(
        &mut self,
        mut program: CellProgram<'a>,
        time: u32,
        before: Option<&Operand>,
        output: Operand,
    ) -> Result<Operand, Error> {
        if let Some(masks) = &self.masks {
            let base = masks.base + i64::from(time) * masks.strides[STEPS];
            program.keep_past_end(Operand { base, ..masks.clone() }, before);
        }
        let Network { sequences, hidden, .. } = self.network;
        self.compute([1, sequences, hidden], program, output.clone())?;
        Ok(output)
    }

    /// As [`Self::next`], for the hidden state, which has memory of its own for each step.
    pub(super) fn next_hidden(
        &mut self,
        program: CellProgram<'a>,
        at: &At,
    ) -> Result<Option<Operand>, Error> {
        let Network { sequences, hidden, .. } = self.network;
        let first = u64::from(at.time) * u64::from(sequences) * u64::from(hidden);
        let base = self.states.base + first.cast_signed();
        let output =
            Operand { base, strides: of_strides([0, hidden.into(), 1]), ..self.states.clone() };
        self.next(program, at.time, at.before.hidden.as_ref(), output).map(Some)
    }

    /// Writes the results of a program on elements of steps, sequences and hidden elements.
    pub(super) fn compute(
        &mut self,
        sizes: [u32; 3],
        program: CellProgram<'_>,
        output: Operand,
    ) -> Result<(), Error> {
        program.into_map().record(&mut self.products.recorder, leading(&sizes, 1), output)
    }
}

/// Strides of steps, sequences and hidden elements.
pub(super) fn of_strides(strides: [i64; 3]) -> [i64; DIMENSIONS] {
    let mut all = [0; DIMENSIONS];
    all[STEPS..].copy_from_slice(&strides);
    all
}
