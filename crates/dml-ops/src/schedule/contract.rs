//! Kernels that add up products of words.
//!
//! Where a sum has more products than an invocation has iterations, or than a window shows, the next dispatch
//! goes on from what the output has: nothing is added in another order. Rows are copied first to where they can
//! be read as quads, where several columns take them, and columns where many rows do.

mod bytes;
mod cooperative;
mod few;
mod parts;
mod tile;

use dml_core::plan::{Access as Touch, Cost, Slot, Step, Window};
use dml_core::{Error, Numerics};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, PushConstants, QUAD};
use dml_spirv::product::{
    Arithmetic, BATCHES, COLUMNS, DEPTHS, Product, Record, Strides, Tile, words_of_zeros,
};

use super::{Schedule, modulo_2_32};
use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{BufferPosition, Computation, Dimension, Numbers, OPERANDS, SUMS, Stage, Sums};
use crate::schedule::boxes::{Placement, TensorBox, View};
use crate::schedule::cost;
use crate::schedule::dispatches::Alignment;

/// Products that one dispatch adds to a sum: on lavapipe an invocation has 65,535 iterations, and each product
/// may take one of every loop.
const MOST_OF_A_SUM: u32 = 8192;
/// And at least, however little work a dispatch may have.
const LEAST_OF_A_SUM: u32 = 64;
/// A work group has at most so many sums, with operations and bytes for each product of one.
const WORK_OF_A_GROUP: u64 = 4 * 128 * 128;

/// The dimensions of sums, outermost first: batches, the row, columns, and depths.
const AXES: usize = BATCHES + 1 + COLUMNS + DEPTHS;
const ROW: usize = BATCHES;
const FIRST_COLUMN: usize = ROW + 1;
const FIRST_DEPTH: usize = FIRST_COLUMN + COLUMNS;

/// A factor of products, with its number among the operands of sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Factor {
    Rows = 0,
    Columns = 1,
}

impl Schedule<'_> {
    /// Adds the steps that write all of these, of which no two have an element in common. Those that take a
    /// dispatch each, or the parts of one, run at the same time.
    ///
    /// # Errors
    /// As [`Self::map`].
    pub(super) fn contract(&mut self, all: Vec<Sums<Slot>>) -> Result<(), Error> {
        let packed =
            all.into_iter().map(|sums| self.packed(sums)).collect::<Result<Vec<_>, _>>()?;
        for (index, sums) in packed.iter().enumerate() {
            let before = self.exec.len();
            self.add_up_in_parts(sums)?;
            let added = self.exec.get_mut(before..).unwrap_or_default();
            // One dispatch, which may be divided by its work groups.
            if let (true, Some((Step::Dispatch(first), parts))) =
                (index > 0, added.split_first_mut())
                && parts.iter().all(Step::is_concurrent)
            {
                first.is_concurrent = true;
            }
        }
        Ok(())
    }

    /// The sums with their factors copied to where they can be read as quads, if that is worth a copy.
    fn packed(&mut self, sums: Sums<Slot>) -> Result<Sums<Slot>, Error> {
        let mut sums = sums.coalesced();
        let columns: u64 = sums.columns.iter().map(|column| u64::from(column.size)).product();
        if sums.columns.len() == 1 && columns < u64::from(QUAD).min(sums.row.size.into()) {
            sums = sums.transposed();
        }
        if self.has_few_rows(&sums) {
            return Ok(sums);
        }
        if self.dispatches().alignment() == Alignment::Quads {
            let columns: u64 = sums.columns.iter().map(|column| u64::from(column.size)).product();
            if sums.row.size >= QUAD && columns >= QUAD.into() && !sums.rows_are_quads() {
                self.repack(&mut sums, Factor::Rows)?;
            }
            if sums.columns_are_worth_a_copy() && !sums.columns_are_quads() {
                self.repack(&mut sums, Factor::Columns)?;
            }
        }
        Ok(sums)
    }

    /// Copies a factor to where it can be read as quads, unless no buffer is large enough for the copy.
    fn repack(&mut self, sums: &mut Sums<Slot>, factor: Factor) -> Result<(), Error> {
        let operand = factor as usize;
        // The last dimension is the one whose elements become neighbours.
        let last = match factor {
            Factor::Rows => vec![sums.row],
            Factor::Columns => sums.columns.clone(),
        };
        let used = [sums.batches.clone(), sums.depths.clone(), last].concat();
        let first = DIMENSIONS - used.len();
        let (mut sizes, mut from, mut to) = ([1; DIMENSIONS], [0; DIMENSIONS], [0; DIMENSIONS]);
        let mut next = 1_i64;
        for (at, dimension) in used.iter().enumerate().rev() {
            let stride = dimension.strides[operand];
            if dimension.size == 1 || stride == 0 {
                continue;
            }
            (sizes[first + at], from[first + at], to[first + at]) = (dimension.size, stride, next);
            let size = match at == used.len() - 1 {
                true => dimension.size.next_multiple_of(QUAD),
                false => dimension.size,
            };
            next *= i64::from(size);
        }
        // A quad may begin at any element.
        let count = next.cast_unsigned() + u64::from(QUAD - 1);
        if ElementWidth::B32.bytes_of(count) > self.target.max_buffer() {
            return Ok(());
        }
        let place = sums.places[operand];
        let input =
            Operand { strides: from, ..Operand::at(place.buffer, ElementWidth::B32, place.base) };
        let stage = Stage::of_derived([self.stage(place.buffer)]);
        let output = Operand { strides: to, ..self.made(ElementWidth::B32, count, stage) };
        sums.places[operand] = BufferPosition { has_slack: true, ..BufferPosition::of(&output) };
        let mut strides = to[first..].iter();
        let all = sums.batches.iter_mut().chain(&mut sums.depths);
        let last = match factor {
            Factor::Rows => std::slice::from_mut(&mut sums.row),
            Factor::Columns => sums.columns.as_mut_slice(),
        };
        for (dimension, stride) in all.chain(last).zip(&mut strides) {
            dimension.strides[operand] = *stride;
        }
        let space = IterationSpace { sizes, inputs: vec![input], output };
        self.map(space, &Computation::copy())
    }

    /// With `has_few_rows` the kernel divides sums into parts itself; the parts of sums are never divided again.
    fn add_up(&mut self, sums: &Sums<Slot>, has_few_rows: bool) -> Result<(), Error> {
        let alignment = self.dispatches().alignment();
        let sizes = sums.sizes();
        let placements = [0, 1, SUMS].map(|operand| sums.placement(operand, alignment));
        let mut dispatches = self.dispatches();
        let most = match has_few_rows {
            true => sizes,
            false => most_depths(sizes, most_of_a_sum(self.target.tuning.dispatch_bound)),
        };
        let boxes = dispatches.boxes(sizes, &placements)?.of_at_most(most);
        for part in boxes {
            let views = placements.map(|placement| placement.view(&part));
            let starts = [0, 1, SUMS].map(|operand| views[operand].start);
            let record = sums.record(&part, starts);
            let [rows, columns] = sums.are_read_as_quads(&part, starts, alignment);
            let best = match has_few_rows {
                true => sums.few_tile(&part, starts, alignment),
                false => tile::best(&record, rows, dispatches.target()),
            };
            let arithmetic = arithmetic(&sums.numbers, best, dispatches.target().numerics());
            let tile = if arithmetic.has(best) { best } else { Tile::Registers };
            let columns_are_whole = columns && tile != Tile::FewDeep;
            let kernel = Product { tile, columns_are_whole, arithmetic };
            self.strategy = tile::strategy(tile);
            let zeros = sums.zeros_of(&part);
            let words = [record.words(tile), words_of_zeros(kernel.arithmetic, zeros.places)];
            let block = words.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
            let block = self.constants.add_uniform(block);
            let count = u32::try_from(record.count(tile)).expect("no more than sums");
            let push = PushConstants { count, ..Default::default() };
            let window = |operand: usize, access, base_word_at| Window {
                slot: sums.places[operand].buffer,
                range: views[operand].range.clone(),
                access,
                base_word_at,
            };
            let mut windows = vec![
                window(0, Touch::Read, PushConstants::base_word_at(0)),
                window(1, Touch::Read, PushConstants::base_word_at(1)),
            ];
            windows.extend(zeros.windows(&views));
            windows.push(window(SUMS, Touch::ReadWrite, PushConstants::BASE_WORD_OF_OUTPUT_AT));
            let cost = sums.cost(&part, &views, record.goes_on);
            dispatches.push_with_block(&kernel.variant(), &windows, &push, Some(block), cost)?;
        }
        self.add_dispatches(dispatches)
    }
}

/// How sums are added up: floats as the caller of the device has chosen, integers always alike.
fn arithmetic(numbers: &Numbers<Slot>, tile: Tile, numerics: Numerics) -> Arithmetic {
    match (numbers, numerics) {
        (Numbers::Bytes([rows, columns]), _) => {
            Arithmetic::Bytes { rows: rows.sign, columns: columns.sign }
        }
        (Numbers::Integers, _) => Arithmetic::Integers,
        // GPUs gain by one operation for a product and its sum; CPU drivers, which do not share tiles, do not.
        (Numbers::Halves, _) if Arithmetic::Halves.has(tile) => Arithmetic::Halves,
        (Numbers::Floats | Numbers::Halves, Numerics::Exact) => Arithmetic::Floats,
        (Numbers::Floats | Numbers::Halves, Numerics::Fast) => Arithmetic::FusedFloats,
    }
}

/// How many products one dispatch adds to a sum: where one work group would be above the bound, the next dispatch
/// goes on.
fn most_of_a_sum(bound: u64) -> u32 {
    let most = u32::try_from(bound / WORK_OF_A_GROUP).unwrap_or(u32::MAX);
    most.clamp(LEAST_OF_A_SUM, MOST_OF_A_SUM)
}

/// How many elements a box has in each dimension so that no sum has more products than a dispatch adds, `left`.
fn most_depths(sizes: [u32; AXES], mut left: u32) -> [u32; AXES] {
    let mut most = sizes;
    for at in (FIRST_DEPTH..AXES).rev() {
        most[at] = sizes[at].min(left);
        left = (left / most[at]).max(1);
    }
    most
}

/// Dimensions of more than one element, of which neighbours that every operand goes through as through one are one.
fn merged(dimensions: Vec<Dimension>) -> Vec<Dimension> {
    let mut kept: Vec<Dimension> = Vec::new();
    for inner in dimensions.into_iter().filter(|dimension| dimension.size > 1) {
        let follows = |outer: &Dimension| {
            let mut strides = outer.strides.iter().zip(inner.strides);
            strides.all(|(outer, stride)| *outer == stride * i64::from(inner.size))
        };
        let size = kept.last().filter(|it| follows(it)).map(|it| it.size.checked_mul(inner.size));
        match (size.flatten(), kept.last_mut()) {
            (Some(size), Some(last)) => *last = Dimension { size, ..inner },
            _ => kept.push(inner),
        }
    }
    kept
}

impl Sums<Slot> {
    fn coalesced(mut self) -> Self {
        self.batches = merged(self.batches);
        self.columns = merged(self.columns);
        // What is divided into parts stays as it is.
        let divided = self.outermost_depth().filter(|_| self.length_of_a_part().is_some());
        let others = self.depths.into_iter().skip_while(|depth| depth.size == 1);
        let others = merged(others.skip(usize::from(divided.is_some())).collect());
        self.depths = divided.into_iter().chain(others).collect();
        if self.columns.is_empty() {
            self.columns.push(Dimension::ONE);
        }
        self
    }

    /// These sums with rows and the only dimension of columns exchanged.
    fn transposed(self) -> Self {
        let swap = |it: Dimension| {
            let [one, other, sum] = it.strides;
            Dimension { strides: [other, one, sum], ..it }
        };
        let all = |them: Vec<Dimension>| them.into_iter().map(swap).collect();
        let [one, other, sum] = self.places;
        Self {
            batches: all(self.batches),
            row: swap(self.columns[0]),
            columns: vec![swap(self.row)],
            depths: all(self.depths),
            places: [other, one, sum],
            numbers: self.numbers.transposed(),
            ..self
        }
    }

    /// The dimensions in their places, outermost first: what is not used has size 1.
    fn axes(&self) -> [Dimension; AXES] {
        let mut all = [Dimension::ONE; AXES];
        let mut put = |end: usize, dimensions: &[Dimension]| {
            all[end - dimensions.len()..end].copy_from_slice(dimensions);
        };
        put(BATCHES, &self.batches);
        put(FIRST_COLUMN, &[self.row]);
        put(FIRST_DEPTH, &self.columns);
        put(AXES, &self.depths);
        all
    }

    fn sizes(&self) -> [u32; AXES] {
        self.axes().map(|axis| axis.size)
    }

    fn strides(&self, operand: usize) -> [i64; AXES] {
        self.axes().map(|axis| if axis.size > 1 { axis.strides[operand] } else { 0 })
    }

    fn placement(&self, operand: usize, alignment: Alignment) -> Placement<AXES> {
        let place = self.places[operand];
        let words = Operand::at(place.buffer, ElementWidth::B32, place.base);
        let is_read_beyond = place.has_slack && alignment == Alignment::Quads;
        Placement {
            first: place.base,
            strides: self.strides(operand),
            repeats: 0,
            element_bits: words.width.bits(),
            granule: words.placement(alignment).granule,
            beyond: if is_read_beyond { u64::from(QUAD) - 1 } else { 0 },
        }
    }

    /// Whether an operand is one of quads along a dimension, but for where it begins.
    fn are_quads(&self, operand: usize, along: usize) -> bool {
        let (sizes, strides) = (self.sizes(), self.strides(operand));
        let is_whole = self.may_end_anywhere(operand) || sizes[along].is_multiple_of(QUAD);
        let mut others = (0..AXES).filter(|at| *at != along);
        let is_one = sizes[along] == 1 || strides[along] == 1;
        is_whole && is_one && others.all(|at| strides[at] % i64::from(QUAD) == 0)
    }

    /// Whether an operand's last quad need not be full: what follows it may be read, and no other quad goes on
    /// from it, as where columns have several dimensions.
    fn may_end_anywhere(&self, operand: usize) -> bool {
        self.places[operand].has_slack && (operand == 0 || self.columns.len() == 1)
    }

    fn rows_are_quads(&self) -> bool {
        self.are_quads(0, ROW)
    }

    fn columns_are_quads(&self) -> bool {
        self.are_quads(1, FIRST_DEPTH - 1)
    }

    /// Whether the rows of a box whose operands begin at `starts` are read as quads, and its columns.
    fn are_read_as_quads(
        &self,
        part: &TensorBox<AXES>,
        starts: [u32; OPERANDS],
        alignment: Alignment,
    ) -> [bool; 2] {
        // A box may end, or begin, within a quad.
        let fits = |operand: usize, along: usize| {
            alignment == Alignment::Quads
                && starts[operand].is_multiple_of(QUAD)
                && (part.sizes[along].is_multiple_of(QUAD) || self.may_end_anywhere(operand))
        };
        [
            fits(0, ROW) && self.rows_are_quads() && part.sizes[ROW] > 1,
            fits(1, FIRST_DEPTH - 1) && self.columns_are_quads(),
        ]
    }

    /// The cost of the sums of a box: a multiplication and an addition for each product. Sums that go on are read
    /// as well.
    fn cost(&self, part: &TensorBox<AXES>, views: &[View; OPERANDS], goes_on: bool) -> Cost {
        let bytes = |operand: usize| {
            cost::bytes(
                &part.sizes,
                &self.strides(operand),
                ElementWidth::B32,
                &views[operand].range,
            )
        };
        let factor = |at: usize| (self.places[at].buffer, bytes(at), views[at].range.clone());
        let of_sums = bytes(SUMS) * if goes_on { 2 } else { 1 };
        let of_a_depth = 2 * self.numbers.products_of_a_depth();
        let operations = cost::elements(&part.sizes).saturating_mul(of_a_depth);
        Cost { operations, bytes: cost::bytes_read([factor(0), factor(1)]) + of_sums }
    }

    /// The record of a box whose operands begin at `starts`.
    fn record(&self, part: &TensorBox<AXES>, starts: [u32; OPERANDS]) -> Record {
        let of = |operand: usize| {
            let strides = self.strides(operand).map(modulo_2_32);
            Strides {
                start: starts[operand],
                batches: std::array::from_fn(|at| strides[at]),
                row: strides[ROW],
                columns: std::array::from_fn(|at| strides[FIRST_COLUMN + at]),
                depths: std::array::from_fn(|at| strides[FIRST_DEPTH + at]),
            }
        };
        Record {
            goes_on: self.goes_on || part.origin[FIRST_DEPTH..].iter().any(|at| *at > 0),
            batches: std::array::from_fn(|at| part.sizes[at]),
            rows: part.sizes[ROW],
            columns: std::array::from_fn(|at| part.sizes[FIRST_COLUMN + at]),
            depths: std::array::from_fn(|at| part.sizes[FIRST_DEPTH + at]),
            part: self.length_of_a_part().unwrap_or(u32::MAX),
            operands: [of(0), of(1), of(SUMS)],
        }
    }
}
