//! Few sums of many products: each is added up in parts, which other invocations have, and then these are.

use dml_core::Error;
use dml_core::plan::Slot;
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, ElementFormula, QUAD, Value};
use dml_spirv::functions as f;

use super::FIRST_DEPTH;
use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{BufferPosition, Computation, SUMS, Sums};
use crate::schedule::Schedule;

impl Sums<Slot> {
    /// These sums for `count` of the outermost depths, starting at `from`, written to another place.
    fn part(&self, from: u32, count: u32, to: &Operand<Slot>) -> Self {
        let mut part = self.clone();
        part.depths[0].size = count;
        for (place, stride) in part.places.iter_mut().zip(self.depths[0].strides) {
            place.base += i64::from(from) * stride;
        }
        part.places[SUMS] = BufferPosition::of(to);
        let mut next = 1;
        let batches = part.batches.iter_mut();
        let all = batches.chain([&mut part.row]).chain(&mut part.columns);
        for dimension in all.collect::<Vec<_>>().into_iter().rev() {
            dimension.strides[SUMS] = next;
            next *= i64::from(dimension.size);
        }
        part
    }

    /// The sums as an operand of an iteration space, and that space's sizes.
    fn as_operand(&self) -> (Operand<Slot>, [u32; DIMENSIONS]) {
        let place = self.places[SUMS];
        let mut operand = Operand::at(place.buffer, ElementWidth::B32, place.base);
        let mut sizes = [1; DIMENSIONS];
        let first = DIMENSIONS - FIRST_DEPTH;
        sizes[first..].copy_from_slice(&self.sizes()[..FIRST_DEPTH]);
        operand.strides[first..].copy_from_slice(&self.strides(SUMS)[..FIRST_DEPTH]);
        (operand, sizes)
    }
}

impl Schedule<'_> {
    /// Adds the steps that write sums which need no further copies.
    ///
    /// # Errors
    /// As [`Self::map`].
    pub(super) fn add_up_in_parts(&mut self, sums: &Sums<Slot>) -> Result<(), Error> {
        let has_few_rows = self.has_few_rows(sums);
        let parts = sums.length_of_a_part().filter(|_| !has_few_rows);
        let Some(length) = parts else { return self.add_up(sums, has_few_rows) };
        let (output, sizes) = sums.as_operand();
        let count: u64 = sizes.iter().map(|size| u64::from(*size)).product();
        let count = count.next_multiple_of(QUAD.into());
        let all = sums.depths[0].size;
        let mut place = self.place_of_parts(count * u64::from(all.div_ceil(length)));
        let mut inputs = Vec::new();
        for from in (0..all).step_by(length as usize) {
            let part = sums.part(from, length.min(all - from), &place);
            place.base += count.cast_signed();
            self.add_up(&part, false)?;
            inputs.push(part.as_operand().0);
        }
        let sum = if sums.numbers.are_integers() { &f::ADD_I32 } else { &f::ADD_F32 };
        let mut program = ElementFormula::default();
        let with = |one, at| program.apply(sum, [one, Value::Input(at)]);
        (1..inputs.len()).fold(Value::Input(0), with);
        let space = IterationSpace { sizes, inputs, output };
        self.map(space, &Computation { program, ..Computation::default() })
    }
}
