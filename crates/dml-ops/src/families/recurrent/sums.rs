//! The gates' sums of a layer: biases and the input's products for all steps at once, and the hidden state's products
//! in each step.

use std::ops::Range;

use dml_core::Error;
use dml_spirv::ElementWidth;
use dml_spirv::functions as f;

use super::axes::{HIDDEN, SEQUENCES, of_strides};
use super::layer::Layer;
use super::network::Network;
use crate::families::products::Words;
use crate::ir::space::Operand;
use crate::ir::{BufferPosition, Dimension, Numbers, Sums};

/// Sums of gates that follow each other.
struct GateRange {
    gates: Range<u32>,
    /// The place of the first one among the sums of a sequence, counted in hidden states.
    place: u32,
    has_input: bool,
    has_state: bool,
}

impl Layer<'_, '_> {
    /// The sums of a sequence in a step, gate after gate. With LinearBeforeReset the last gate has two: that of the hidden
    /// state, which the reset gate scales, and then that of the input.
    fn parts(&self) -> Vec<GateRange> {
        let gates = self.network.gates;
        let part = |gates, place| GateRange { gates, place, has_input: true, has_state: true };
        if !self.is_linear {
            return vec![part(0..gates, 0)];
        }
        let last = gates - 1;
        vec![
            part(0..last, 0),
            GateRange { has_input: false, ..part(last..gates, last) },
            GateRange { has_state: false, ..part(last..gates, gates) },
        ]
    }

    /// Sets the sums to the biases, and adds the products of the input.
    pub(super) fn add_up_inputs(&mut self) -> Result<(), Error> {
        let goes_on = self.write_biases()?;
        for part in self.parts().iter().filter(|part| part.has_input) {
            self.multiply_inputs(part, goes_on)?;
        }
        Ok(())
    }

    fn multiply_inputs(&mut self, part: &GateRange, goes_on: bool) -> Result<(), Error> {
        let Network { steps, sequences, elements, hidden, .. } = self.network;
        let (x, w) = (&self.factors.input, &self.factors.weight);
        let row = i64::from(self.width);
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
        let columns = (part.gates.end - part.gates.start) * hidden;
        let sums = Sums {
            batches: vec![rows[0]],
            row: rows[1],
            columns: vec![Dimension { size: columns, strides: [0, w.strides[2], 1] }],
            depths: vec![Dimension { size: elements, strides: [x.strides[3], w.strides[3], 0] }],
            places: [
                x.place,
                self.of_direction(w, part.gates.start * hidden),
                BufferPosition::of(&self.gate(&self.sums, part.place)),
            ],
            numbers: Numbers::Floats,
            goes_on,
            slice_of: None,
        };
        self.products.recorder.multiply(sums)
    }

    /// The weights of this direction, from a row on.
    pub(super) fn of_direction(&self, words: &Words, row: u32) -> BufferPosition {
        // The offset of an element in a tensor is far too small to overflow.
        let direction = i64::from(self.direction) * words.strides[1];
        let base = words.place.base + direction + i64::from(row) * words.strides[2];
        BufferPosition { base, ..words.place }
    }

    /// Writes the biases to the sums, and zeros where only a state's products would be; returns whether there are
    /// biases.
    fn write_biases(&mut self) -> Result<bool, Error> {
        let bias = self.products.input("BiasTensor")?;
        let Network { steps, sequences, hidden, .. } = self.network;
        let of_states = self.network.width();
        for part in self.parts() {
            let mut program = self.program();
            let first = part.gates.start * hidden;
            let sizes = [steps, sequences, (part.gates.end - part.gates.start) * hidden];
            let used = [(part.has_input, 0), (part.has_state, of_states)];
            let used = used.iter().filter(|(is_used, _)| *is_used);
            let values: Vec<_> = match &bias {
                Some((bias, data_type)) => used
                    .map(|(_, of)| program.read_as(self.bias(bias, of + first), *data_type))
                    .collect(),
                None if part.has_input => continue,
                None => vec![program.read(self.products.recorder.constant(ElementWidth::B32, 0))],
            };
            if let [one, other] = values[..] {
                program.apply(&f::ADD_F32, [one, other]);
            }
            let of_steps = i64::from(sequences) * i64::from(self.width);
            let strides = of_strides([of_steps, self.width.into(), 1]);
            let output = Operand { strides, ..self.gate(&self.sums, part.place) };
            self.compute(sizes, program, output)?;
        }
        Ok(bias.is_some())
    }

    /// The biases from a number on, the same for all sequences.
    pub(super) fn bias(&self, bias: &Operand, first: u32) -> Operand {
        let strides = bias.strides;
        let of_direction = i64::from(self.direction) * strides[SEQUENCES];
        let base = bias.base + of_direction + i64::from(first) * strides[HIDDEN];
        Operand { base, strides: of_strides([0, 0, strides[HIDDEN]]), ..bias.clone() }
    }

    /// The sums of all gates in a step, before the products of the hidden state are added.
    pub(super) fn sums_of(&self, time: u32) -> Operand {
        let first = u64::from(time) * u64::from(self.network.sequences) * u64::from(self.width);
        let base = self.sums.base + first.cast_signed();
        Operand { base, strides: of_strides([0, self.width.into(), 1]), ..self.sums.clone() }
    }

    /// The sums of the gate at a place among those of a sequence.
    pub(super) fn gate(&self, sums: &Operand, place: u32) -> Operand {
        let base = sums.base + i64::from(place) * i64::from(self.network.hidden);
        Operand { base, ..sums.clone() }
    }

    /// Adds the products of `hidden` with the recurrence weights of some gates to the sums of a step, and returns
    /// the sums, of these gates alone.
    pub(super) fn add_up(
        &mut self,
        hidden: &Operand,
        sums: &Operand,
        gates: Range<u32>,
    ) -> Result<Operand, Error> {
        let r = &self.factors.recurrence;
        let Network { sequences, hidden: size, .. } = self.network;
        let [of_rows, of_columns] = [SEQUENCES, HIDDEN].map(|at| sums.strides[at]);
        let of_sequences = [hidden.strides[SEQUENCES], 0, of_rows];
        let gate = [0, i64::from(size) * r.strides[2], i64::from(size) * of_columns];
        let gate = Dimension { size: gates.end - gates.start, strides: gate };
        let column = Dimension { size, strides: [0, r.strides[2], of_columns] };
        // A Map of several gates is over the same dimensions as the sums of one sequence, whose end it can be.
        let (batches, columns) = match sequences {
            1 => (vec![gate], vec![column]),
            _ => (vec![], vec![gate, column]),
        };
        let first = self.gate(sums, gates.start);
        let rows =
            BufferPosition { has_slack: self.states.has_slack(), ..BufferPosition::of(hidden) };
        let place = self.products.recorder.multiply_anew(Sums {
            batches,
            row: Dimension { size: sequences, strides: of_sequences },
            columns,
            depths: vec![Dimension { size, strides: [hidden.strides[HIDDEN], r.strides[3], 0] }],
            places: [rows, self.of_direction(r, gates.start * size), BufferPosition::of(&first)],
            numbers: Numbers::Floats,
            goes_on: true,
            slice_of: None,
        })?;
        let base = place.base - i64::from(gates.start) * i64::from(size);
        Ok(Operand { buffer: Some(place.buffer), base, ..sums.clone() })
    }
}
