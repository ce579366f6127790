//! The zero points of factors of bytes.

use std::ops::Range;

use dml_core::plan::{Access as Touch, Slot, Window};
use dml_spirv::element_wise::PushConstants;
use dml_spirv::product::ZeroPoints as ZerosPlace;

use super::{AXES, FIRST_DEPTH, ROW};
use crate::ir::{Numbers, OPERANDS, Sums, ZeroPoints};
use crate::schedule::boxes::{TensorBox, View};

/// The bindings of the zero points of rows and of columns.
const BINDINGS: [u32; 2] = [2, 3];

/// Words are read.
const WORD: i64 = 4;

/// The zero points of the rows and columns of a box.
pub(super) struct ZerosOfBox<'a> {
    sums: &'a Sums<Slot>,
    /// The bytes of the words that have them, in the buffer.
    ranges: [Range<u64>; 2],
    /// Where the kernel finds them.
    pub(super) places: [Option<ZerosPlace>; 2],
}

impl Sums<Slot> {
    /// The zero points of the rows and columns of a box.
    pub(super) fn zeros_of(&self, part: &TensorBox<AXES>) -> ZerosOfBox<'_> {
        let lines = [ROW, FIRST_DEPTH - 1];
        let found = self.numbers.zero_points();
        let of = |factor: usize| {
            let ZeroPoints { base, stride, .. } = found[factor].copied()?;
            let (origin, size) = (part.origin[lines[factor]], part.sizes[lines[factor]]);
            let first = base + i64::from(origin) * stride;
            let last = first + i64::from(size - 1) * stride;
            let start = first.min(last) / WORD * WORD;
            let end = (first.max(last) / WORD + 1) * WORD;
            let place = ZerosPlace {
                start: super::modulo_2_32(first - start),
                stride: super::modulo_2_32(stride),
            };
            Some((start.cast_unsigned()..end.cast_unsigned(), place))
        };
        let both = [0, 1].map(of);
        ZerosOfBox {
            sums: self,
            ranges: both.each_ref().map(|it| it.as_ref().map_or(0..0, |it| it.0.clone())),
            places: both.map(|it| it.map(|it| it.1)),
        }
    }
}

impl ZerosOfBox<'_> {
    /// The windows of zero points, if the kernel reads any. Where a factor has none, the kernel is shown the factor's
    /// first word, of which it uses no bits.
    pub(super) fn windows(&self, views: &[View; OPERANDS]) -> Vec<Window> {
        let Numbers::Bytes(factors) = &self.sums.numbers else { return vec![] };
        let window = |factor: usize| {
            let first = views[factor].range.start;
            let (slot, range) = match factors[factor].zero_points {
                Some(zeros) => (zeros.buffer, self.ranges[factor].clone()),
                None => (self.sums.places[factor].buffer, first..first + WORD.cast_unsigned()),
            };
            let base_word_at = PushConstants::base_word_at(BINDINGS[factor]);
            Window { slot, range, access: Touch::Read, base_word_at }
        };
        [0, 1].map(window).into()
    }
}
