//! A bitonic network that sorts rows of numbers of 64 bits.
//!
//! Sorted blocks of twice the length are made of two that are sorted in opposite directions, in steps that
//! each compare numbers half as far apart as the step before did. Where only the least numbers are wanted,
//! blocks as long as that are sorted; then the lesser ones of two blocks are those of both, which halves what
//! there is until one block is left.

use dml_core::{Error, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::DIMENSIONS;
use dml_spirv::functions as f;

use crate::ir::Recorder;
use crate::ir::space::Operand;
use crate::lowering::map_builder::MapBuilder;

/// Rows of numbers in the temporary resource.
pub(super) struct Rows {
    rows: u32,
    /// Rows have 2^length numbers.
    pub(super) length: u32,
    /// The first number of the first row; there are no gaps.
    pub(super) numbers: Operand,
    /// Place for as many.
    other: Operand,
    /// 1 where the greater of two numbers belongs: by which of two blocks it is, and which of two numbers.
    is_greater: Operand,
}

/// The dimensions of a space, from this one on: rows, pairs of blocks, which of the two, pairs of parts of a
/// block, which of the two, and places in a part.
const ROW: usize = DIMENSIONS - 6;
const BLOCK: usize = ROW + 2;
const PART: usize = ROW + 4;

impl Rows {
    /// Rows of so many numbers, which are to be written, and the greatest number after them.
    ///
    /// # Errors
    /// [`Error::DeviceLimit`]: there are too many.
    pub(super) fn new(
        recorder: &mut Recorder<'_>,
        operator: &Validated,
        rows: u32,
        numbers: u32,
    ) -> Result<Self, Error> {
        let length = u64::from(numbers).next_power_of_two().trailing_zeros();
        let count = u64::from(rows) << length;
        if count > u64::from(u32::MAX) {
            return Err(Error::DeviceLimit {
                operator: operator.schema().name,
                field: "InputTensor",
                needed: count,
                unit: "elements",
                limit: "what can be sorted, each row as long as a power of two",
                available: u32::MAX.into(),
            });
        }
        let [all, other] = [(); 2].map(|()| recorder.temporary(ElementWidth::B64, count));
        let is_greater = Operand::at(recorder.constants(&[0, 1, 1, 0]), ElementWidth::B32, 0);
        let new = Self { rows, length, numbers: all, other, is_greater };
        new.fill(recorder, numbers)?;
        Ok(new)
    }

    /// Writes the greatest number after the first ones of each row.
    fn fill(&self, recorder: &mut Recorder<'_>, first: u32) -> Result<(), Error> {
        let length = 1 << self.length;
        if first == length {
            return Ok(());
        }
        let sizes = [self.rows, 1, 1, 1, 1, length - first];
        let (sizes, rows) = self.space(sizes, [length.into(), 0, 0, 0, 0, 1]);
        let mut map = MapBuilder::default();
        let greatest = map.input(recorder.constant(ElementWidth::B64, u64::MAX));
        map.apply(&f::MINIMUM_U64, &[greatest, greatest], &[]);
        map.record(recorder, sizes, Operand { base: rows.base + i64::from(first), ..rows })
    }

    /// Sorts the least 2^wanted numbers of each row, which are all that is left of it then.
    ///
    /// # Errors
    /// As [`Recorder::map`].
    pub(super) fn sort(&mut self, recorder: &mut Recorder<'_>, wanted: u32) -> Result<(), Error> {
        (1..=wanted).try_for_each(|block| self.merge(recorder, block))?;
        while self.length > wanted {
            self.halve(recorder, wanted)?;
            self.merge(recorder, wanted)?;
        }
        Ok(())
    }

    /// Sorts blocks of 2^block numbers, the halves of which are sorted in opposite directions: even blocks
    /// upwards, odd ones downwards.
    fn merge(&mut self, recorder: &mut Recorder<'_>, block: u32) -> Result<(), Error> {
        (0..block).rev().try_for_each(|part| self.compare(recorder, block, part))
    }

    /// A space, and the numbers in it.
    fn space(&self, sizes: [u32; 6], strides: [i64; 6]) -> ([u32; DIMENSIONS], Operand) {
        let (mut all_sizes, mut all_strides) = ([1; DIMENSIONS], [0; DIMENSIONS]);
        all_sizes[ROW..].copy_from_slice(&sizes);
        all_strides[ROW..].copy_from_slice(&strides);
        (all_sizes, Operand { strides: all_strides, ..self.numbers.clone() })
    }

    /// Compares numbers 2^part apart.
    fn compare(&mut self, recorder: &mut Recorder<'_>, block: u32, part: u32) -> Result<(), Error> {
        let is_last = block == self.length;
        let pairs = if is_last { [1, 1] } else { [1 << (self.length - block - 1), 2] };
        let sizes = [self.rows, pairs[0], pairs[1], 1 << (block - 1 - part), 2, 1 << part];
        let [length, block, part] = [self.length, block, part].map(|it| 1_i64 << it);
        let (sizes, own) = self.space(sizes, [length, 2 * block, block, 2 * part, part, 1]);
        let mut partner = Operand { base: own.base + part, ..own.clone() };
        partner.strides[PART] = -part;
        let mut is_greater = self.is_greater.clone();
        (is_greater.strides[BLOCK], is_greater.strides[PART]) = (2, 1);
        let output = Operand { strides: own.strides, ..self.other.clone() };
        let mut map = MapBuilder::default();
        let [own, partner, is_greater] = [own, partner, is_greater].map(|it| map.input(it));
        let is_less = map.apply(&f::LESS_THAN_U64, &[own, partner], &[]);
        let is_greater = map.apply(&f::U32_TO_U64, &[is_greater], &[]);
        let stays = map.apply(&f::BIT_XOR_WIDE, &[is_less, is_greater], &[]);
        map.apply(&f::CHOOSE_WIDE, &[stays, own, partner], &[]);
        map.record(recorder, sizes, output)?;
        std::mem::swap(&mut self.numbers, &mut self.other);
        Ok(())
    }

    /// Keeps the lesser numbers of two blocks of 2^block, not sorted yet.
    fn halve(&mut self, recorder: &mut Recorder<'_>, block: u32) -> Result<(), Error> {
        let sizes = [self.rows, 1 << (self.length - block - 1), 1, 1, 1, 1 << block];
        let [row, block] = [self.length, block].map(|it| 1_i64 << it);
        let (sizes, first) = self.space(sizes, [row, 2 * block, 0, 0, 0, 1]);
        let second = Operand { base: first.base + block, ..first.clone() };
        let mut output = Operand { strides: first.strides, ..self.other.clone() };
        (output.strides[ROW], output.strides[ROW + 1]) = (row / 2, block);
        let mut map = MapBuilder::default();
        let blocks = [first, second].map(|it| map.input(it));
        map.apply(&f::MINIMUM_U64, &blocks, &[]);
        map.record(recorder, sizes, output)?;
        std::mem::swap(&mut self.numbers, &mut self.other);
        self.length -= 1;
        Ok(())
    }
}
