//! The passes of a bitonic network, each a Map.

use dml_core::Error;
use dml_core::plan::Slot;
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, Value};
use dml_spirv::functions as f;
use dml_spirv::sort::{NUMBER_BITS, Record};

use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{Computation, Sort};
use crate::schedule::Schedule;

/// Rows of numbers while they are sorted.
pub(super) struct Network<'a, 'b> {
    schedule: &'a mut Schedule<'b>,
    rows: u32,
    /// The exponent of the row length: rows have 2^length numbers.
    pub(super) length: u32,
    /// The first number of the first row; there are no gaps.
    numbers: Operand<Slot>,
    /// Memory for as many numbers, allocated when a pass first needs it.
    other: Option<Operand<Slot>>,
    /// 1 where the greater of two numbers belongs: by which of two blocks, and which of two numbers in a
    /// pair, it is.
    is_greater: Operand<Slot>,
}

/// The first of the dimensions of a space: rows, pairs of blocks, the block in a pair, pairs of parts of a
/// block, the part in a pair, and positions in a part.
const ROW: usize = DIMENSIONS - 6;
const BLOCK: usize = ROW + 2;
const PART: usize = ROW + 4;

impl<'a, 'b> Network<'a, 'b> {
    /// The rows of `sort`, with their numbers and the place of the results.
    pub(super) fn new(
        schedule: &'a mut Schedule<'b>,
        sort: &Sort,
        [numbers, result]: [&Operand<Slot>; 2],
    ) -> Self {
        let words = [0_u32, 1, 1, 0].map(u32::to_le_bytes);
        let start = schedule.constants.add_aligned(words.as_flattened(), 4).start;
        let is_greater = Operand::at(Slot::Constants, ElementWidth::B32, (start / 4).cast_signed());
        let (rows, length) = (sort.rows, sort.length);
        // The result's buffer, if it holds all numbers, serves passes in between.
        let is_other = length == sort.wanted && sort.result.buffer != sort.numbers.buffer;
        let other = is_other.then(|| result.clone());
        Self { schedule, rows, length, numbers: numbers.clone(), other, is_greater }
    }

    /// Sorts the least 2^wanted numbers of each row; the last pass writes `result`.
    ///
    /// # Errors
    /// As [`Schedule::map`].
    pub(super) fn sort(mut self, wanted: u32, result: &Operand<Slot>) -> Result<(), Error> {
        let is_all = self.length == wanted;
        for block in 1..=wanted {
            let is_last = is_all && block == wanted;
            self.merge(block, is_last.then_some(result))?;
        }
        while self.length > wanted {
            let is_last = self.length == wanted + 1;
            self.halve(wanted, (is_last && wanted == 0).then_some(result))?;
            self.merge(wanted, is_last.then_some(result))?;
        }
        Ok(())
    }

    /// Sorts blocks of 2^block numbers, whose halves are sorted in opposite directions: even blocks upwards,
    /// odd ones downwards. The last pass writes `to`, if that is given.
    fn merge(&mut self, block: u32, to: Option<&Operand<Slot>>) -> Result<(), Error> {
        for part in (0..block).rev() {
            self.compare(block, part, to.filter(|_| part == 0))?;
        }
        Ok(())
    }

    /// As [`Self::merge`], but distances within a work group's numbers are compared in one dispatch.
    pub(super) fn merge_in_groups(
        &mut self,
        block: u32,
        to: Option<&Operand<Slot>>,
    ) -> Result<(), Error> {
        for part in (NUMBER_BITS..block).rev() {
            self.compare(block, part, None)?;
        }
        self.sort_in_groups([block, block], to)
    }

    /// Compares the numbers of blocks within a work group, in place or from one buffer to another.
    pub(super) fn sort_in_groups(
        &mut self,
        blocks: [u32; 2],
        to: Option<&Operand<Slot>>,
    ) -> Result<(), Error> {
        let Self { length, .. } = *self;
        let numbers = self.rows << length;
        let record = Record { numbers, length, blocks, halvings: 0, starts: [0; 2] };
        let to = to.unwrap_or(&self.numbers);
        self.schedule.sort_in_groups(record, &self.numbers, to)
    }

    /// The operand that the next pass writes, which then has the numbers.
    fn next(&mut self, to: Option<&Operand<Slot>>) -> Operand<Slot> {
        let count = u64::from(self.rows) << self.length;
        let place = || self.schedule.temporary(self.numbers.width, count);
        let next = to.cloned().or_else(|| self.other.take()).unwrap_or_else(place);
        self.other = Some(std::mem::replace(&mut self.numbers, next.clone()));
        next
    }

    /// The sizes of a space, and the numbers as an operand in it.
    fn space(&self, sizes: [u32; 6], strides: [i64; 6]) -> ([u32; DIMENSIONS], Operand<Slot>) {
        let (mut all_sizes, mut all_strides) = ([1; DIMENSIONS], [0; DIMENSIONS]);
        all_sizes[ROW..].copy_from_slice(&sizes);
        all_strides[ROW..].copy_from_slice(&strides);
        (all_sizes, Operand { strides: all_strides, ..self.numbers.clone() })
    }

    /// Compares numbers that are 2^part apart.
    fn compare(&mut self, block: u32, part: u32, to: Option<&Operand<Slot>>) -> Result<(), Error> {
        let is_last = block == self.length;
        let pairs = if is_last { [1, 1] } else { [1 << (self.length - block - 1), 2] };
        let sizes = [self.rows, pairs[0], pairs[1], 1 << (block - 1 - part), 2, 1 << part];
        let [length, block, part] = [self.length, block, part].map(|it| 1_i64 << it);
        let (sizes, own) = self.space(sizes, [length, 2 * block, block, 2 * part, part, 1]);
        let mut partner = Operand { base: own.base + part, ..own.clone() };
        partner.strides[PART] = -part;
        let mut is_greater = self.is_greater.clone();
        (is_greater.strides[BLOCK], is_greater.strides[PART]) = (2, 1);
        let output = Operand { strides: own.strides, ..self.next(to) };
        let mut computation = Computation::default();
        let [own_number, other, belongs] = [0, 1, 2].map(Value::Input);
        let is_less = computation.apply(&f::LESS_THAN_U64, &[own_number, other], &[]);
        let belongs = computation.apply(&f::U32_TO_U64, &[belongs], &[]);
        let stays = computation.apply(&f::BIT_XOR_WIDE, &[is_less, belongs], &[]);
        computation.apply(&f::CHOOSE_WIDE, &[stays, own_number, other], &[]);
        let inputs = vec![own, partner, is_greater];
        self.schedule.map(IterationSpace { sizes, inputs, output }, &computation)
    }

    /// Keeps the lesser numbers of two blocks of 2^block, not sorted yet, and writes them to `to`, if that is
    /// given.
    pub(super) fn halve(&mut self, block: u32, to: Option<&Operand<Slot>>) -> Result<(), Error> {
        let sizes = [self.rows, 1 << (self.length - block - 1), 1, 1, 1, 1 << block];
        let [row, block] = [self.length, block].map(|it| 1_i64 << it);
        let (sizes, first) = self.space(sizes, [row, 2 * block, 0, 0, 0, 1]);
        let second = Operand { base: first.base + block, ..first.clone() };
        let mut output = Operand { strides: first.strides, ..self.next(to) };
        (output.strides[ROW], output.strides[ROW + 1]) = (row / 2, block);
        let mut computation = Computation::default();
        computation.apply(&f::MINIMUM_U64, &[0, 1].map(Value::Input), &[]);
        let inputs = vec![first, second];
        self.schedule.map(IterationSpace { sizes, inputs, output }, &computation)?;
        self.length -= 1;
        Ok(())
    }
}
