//! A box of an iteration space for one kernel: how its rows lie in each operand.

use std::ops::Range;

use dml_core::Error;
use dml_core::kernel::{KernelModule, Shared};
use dml_core::plan::{Cost, Slot, Window};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{
    self, AccessPattern, DIMENSIONS, OperandRecord, PushConstants, QUAD, Quads, Record,
};

use super::modulo_2_32;
use crate::ir::space::{IterationSpace, Operand, SecondResult};
use crate::schedule::boxes::TensorBox;
use crate::schedule::constants::Constants;
use crate::schedule::cost;
use crate::schedule::dispatches::{Alignment, Dispatches};

/// A box of an iteration space that one dispatch computes.
pub(super) struct Piece<'a> {
    space: &'a IterationSpace<Slot>,
    pub(super) sizes: [u32; DIMENSIONS],
    alignment: Alignment,
    /// For each operand, the range in bytes of its window, and the element at the box's origin counted from
    /// its start.
    views: Vec<(Range<u64>, u32)>,
}

/// The size and the cost of a dispatch.
pub(super) struct Work {
    /// The number of indices, which is less than the elements of a tensor.
    pub(super) count: u64,
    pub(super) operations: u64,
    /// The indices of a work group, if the kernel's specialization does not determine them.
    pub(super) of_a_group: Option<u32>,
}

/// An operand of a piece as a kernel accesses it.
pub(super) struct KernelAccess {
    pub(super) operand: element_wise::KernelOperand,
    pub(super) record: OperandRecord,
}

impl<'a> Piece<'a> {
    /// A box of a space, with windows of this alignment.
    pub(super) fn of(
        space: &'a IterationSpace<Slot>,
        part: &TensorBox<DIMENSIONS>,
        alignment: Alignment,
    ) -> Self {
        let views = space.operands().map(|operand| match operand.buffer {
            Some(_) => {
                let view = operand.placement(alignment).view(part);
                (view.range, view.start)
            }
            None => (0..0, modulo_2_32(operand.element(part.origin))),
        });
        Self { space, sizes: part.sizes, alignment, views: views.collect() }
    }

    /// The operands, each with the element at the piece's origin in its window.
    pub(super) fn operands(&self) -> impl Iterator<Item = (&Operand<Slot>, u32)> {
        self.space.operands().zip(self.views.iter().map(|(_, start)| *start))
    }

    /// The alignment of windows.
    pub(super) fn alignment(&self) -> Alignment {
        self.alignment
    }

    /// The second result of the output.
    pub(super) fn second_result(&self) -> Option<SecondResult> {
        self.space.output.second
    }

    /// The number of elements in a row.
    pub(super) fn inner(&self) -> u32 {
        self.sizes[DIMENSIONS - 1]
    }

    /// Whether the elements of rows are adjacent in every input.
    pub(super) fn are_neighbours(&self) -> bool {
        let stored = self.space.inputs.iter().filter(|input| input.buffer.is_some());
        let mut goes_on = stored.filter(|it| it.repeats == 0).map(|it| it.strides[DIMENSIONS - 1]);
        goes_on.all(|stride| (0..=1).contains(&stride))
    }

    /// The kernel's record of the operands, the output last, and the accesses of inputs and output.
    pub(super) fn record(
        &self,
        taken: &[KernelAccess],
        parameters: &[u32],
    ) -> (Record, Vec<element_wise::KernelOperand>, element_wise::KernelOperand) {
        record(self.sizes, taken, parameters)
    }

    /// Whether rows consist of whole quads, and which inputs are the same for all rows.
    pub(super) fn quads(&self, record: &Record) -> Quads {
        let outer = |it: &[u32; DIMENSIONS]| {
            let mut of_rows = self.sizes.iter().zip(it).take(DIMENSIONS - 1);
            of_rows.all(|(size, stride)| *size == 1 || *stride == 0)
        };
        let inputs = record.inputs.iter().enumerate().take(self.space.inputs.len());
        // A single row begins where every row does, so that it shares the kernel of several.
        let has_rows = record.rows() > 1;
        let in_every_row = inputs.filter(|(_, it)| has_rows && outer(&it.strides));
        Quads {
            are_whole: self.inner().is_multiple_of(QUAD),
            in_every_row: in_every_row.fold(0, |all, (input, _)| all | 1 << input),
        }
    }

    /// The bytes of the elements of all operands. A displaced operand has one element for each coordinate.
    fn bytes(&self) -> u64 {
        let of = |(operand, (range, _)): (&Operand<Slot>, &(Range<u64>, u32))| {
            let strides = match operand.displacement {
                Some(_) => [1; DIMENSIONS],
                None => operand.strides,
            };
            let mut sizes = self.sizes;
            sizes[DIMENSIONS - 1] = sizes[DIMENSIONS - 1].div_ceil(1 << operand.repeats);
            let of_a_result = cost::bytes(&sizes, &strides, operand.width, range);
            let results = if operand.second.is_some() { 2 } else { 1 };
            Some((operand.buffer?, of_a_result.saturating_mul(results), range.clone()))
        };
        let read = self.space.inputs.iter().zip(&self.views).filter_map(of);
        let written = self.views.last().and_then(|view| of((&self.space.output, view)));
        cost::bytes_read(read).saturating_add(written.map_or(0, |(_, bytes, _)| bytes))
    }

    /// Adds the dispatch of a kernel.
    pub(super) fn dispatch(
        &self,
        variant: &Shared<KernelModule>,
        block: &[u32],
        Work { count, operations, of_a_group }: Work,
        dispatches: &mut Dispatches<'_>,
        constants: &mut Constants,
    ) -> Result<(), Error> {
        let block = block.iter().flat_map(|word| word.to_le_bytes()).collect();
        let block = constants.add_uniform(block);
        let count = u32::try_from(count).expect("less than the elements of a tensor");
        let push = PushConstants { count, ..Default::default() };
        let cost = Cost { operations, bytes: self.bytes() };
        let windows = self.windows(variant);
        let of_a_group = of_a_group.unwrap_or_else(|| dispatches.target().group_length(variant));
        dispatches.push_groups(variant, &windows, &push, Some(block), of_a_group, cost)
    }

    /// The windows of the operands that have buffers, which are the bindings of a kernel; the output's last.
    fn windows(&self, variant: &KernelModule) -> Vec<Window> {
        let inputs = self.space.inputs.iter().zip(0..);
        let inputs = inputs.map(|(it, index)| (it, PushConstants::base_word_at(index)));
        let output = (&self.space.output, PushConstants::BASE_WORD_OF_OUTPUT_AT);
        let operands = inputs.chain([output]).zip(&self.views);
        let stored = operands
            .filter_map(|((it, base_word_at), view)| Some((it.buffer?, base_word_at, view)));
        let windows = stored.zip(variant.bindings.iter());
        windows
            .map(|((slot, base_word_at, (range, _)), binding)| Window {
                slot,
                range: range.clone(),
                access: binding.access,
                base_word_at,
            })
            .collect()
    }

    /// Whether rows of inputs that lie so consist of `count` elements each time, and begin at a multiple of it.
    pub(super) fn are_in_multiples(&self, count: u32) -> bool {
        let lie_so =
            |it: &(&Operand<Slot>, u32)| it.0.strides[DIMENSIONS - 1] == 1 && it.0.repeats == 0;
        let mut inputs = self.operands().take(self.space.inputs.len()).filter(lie_so);
        self.inner().is_multiple_of(count) && inputs.all(|it| self.is_in_multiples(it, count))
    }

    /// Whether neighbouring rows, along the last outer dimension, have the elements of an input in common.
    pub(super) fn have_in_common(&self, input: usize) -> bool {
        self.space.inputs[input].strides[DIMENSIONS - 2] == 0
    }

    fn is_in_multiples(&self, (operand, start): (&Operand<Slot>, u32), count: u32) -> bool {
        is_in_multiples(operand, start, &self.sizes, self.alignment, count)
    }

    /// Whether an input has one displacement for all elements of a row: the inputs that determine it have one
    /// element for each row.
    fn moves_rows(&self, operand: &Operand<Slot>) -> bool {
        let mut others = self.space.inputs.iter().filter(|input| *input != operand);
        self.space.output.displacement.is_none()
            && others.all(|other| other.strides[DIMENSIONS - 1] == 0)
    }

    /// An operand that is accessed by elements.
    pub(super) fn take(&self, (operand, start): (&Operand<Slot>, u32)) -> KernelAccess {
        let mut taken = take(operand, start, &self.sizes, self.alignment);
        let access = &mut taken.operand.access;
        *access = match operand.displacement {
            None => *access,
            Some(it)
                if it.is_of_quads
                    && *access == AccessPattern::Whole
                    && self.moves_rows(operand) =>
            {
                AccessPattern::Moved(it.by)
            }
            Some(it) => AccessPattern::Displaced(it.by),
        };
        taken
    }

    /// The number of elements in a word, if all operands can be accessed by words.
    pub(super) fn elements_of_words(&self) -> Option<u32> {
        let width = self.space.output.width;
        let per_word = 32 / width.bits().min(32);
        let fits = |it: (&Operand<Slot>, u32)| match it.0.strides[DIMENSIONS - 1] {
            0 => it.0 != &self.space.output,
            stride => stride == 1 && self.is_in_multiples(it, QUAD * per_word),
        };
        let is_alike = self.space.operands().all(|operand| operand.width == width);
        let is_one = self.second_result().is_none();
        (per_word > 1 && is_one && is_alike && self.operands().all(fits)).then_some(per_word)
    }

    /// As [`Self::take`], but accessed by words, unless rows have a single element of the operand.
    pub(super) fn take_words(
        &self,
        (operand, start): (&Operand<Slot>, u32),
        per_word: u32,
    ) -> KernelAccess {
        if operand.strides[DIMENSIONS - 1] == 0 {
            return self.take((operand, start));
        }
        let words = Operand {
            width: ElementWidth::B32,
            strides: std::array::from_fn(|at| match at == DIMENSIONS - 1 {
                true => 1,
                false => operand.strides[at] / i64::from(per_word),
            }),
            ..operand.clone()
        };
        let taken = self.take((&words, start / per_word));
        let operand = element_wise::KernelOperand { access: AccessPattern::Whole, ..taken.operand };
        KernelAccess { operand, ..taken }
    }
}

/// Whether rows are whole multiples of `count` elements, and start at such.
fn is_in_multiples(
    operand: &Operand<Slot>,
    start: u32,
    sizes: &[u32; DIMENSIONS],
    alignment: Alignment,
    count: u32,
) -> bool {
    let outer = sizes.iter().zip(&operand.strides).take(DIMENSIONS - 1);
    let mut outer = outer.filter(|(size, _)| **size > 1);
    alignment == Alignment::Quads
        && (operand.has_slack || sizes[DIMENSIONS - 1].is_multiple_of(count))
        && start.is_multiple_of(count)
        && outer.all(|(_, stride)| stride % i64::from(count) == 0)
}

/// An operand that is not displaced, in a space of `sizes`; `start` is its first element in its window.
pub(super) fn take(
    operand: &Operand<Slot>,
    start: u32,
    sizes: &[u32; DIMENSIONS],
    alignment: Alignment,
) -> KernelAccess {
    let access = match operand.strides[DIMENSIONS - 1] {
        _ if operand.buffer.is_none() => AccessPattern::Index,
        _ if operand.repeats > 0 => AccessPattern::Repeated(operand.repeats),
        0 if sizes[DIMENSIONS - 1] > 1 => AccessPattern::Single,
        1 if is_in_multiples(operand, start, sizes, alignment, QUAD) => AccessPattern::Whole,
        _ => AccessPattern::Ragged,
    };
    let strides = operand.strides.map(modulo_2_32);
    KernelAccess {
        operand: element_wise::KernelOperand { width: operand.width, access },
        record: OperandRecord { start, strides },
    }
}

/// The record of a space of `sizes` with these operands, the output last, and the access to them.
pub(super) fn record(
    sizes: [u32; DIMENSIONS],
    taken: &[KernelAccess],
    parameters: &[u32],
) -> (Record, Vec<element_wise::KernelOperand>, element_wise::KernelOperand) {
    let (output, inputs) = taken.split_last().expect("the output");
    let mut record = Record {
        sizes,
        inputs: Default::default(),
        output: output.record,
        parameters: parameters.to_vec(),
    };
    for (place, input) in record.inputs.iter_mut().zip(inputs) {
        *place = input.record;
    }
    (record, inputs.iter().map(|input| input.operand).collect(), output.operand)
}
