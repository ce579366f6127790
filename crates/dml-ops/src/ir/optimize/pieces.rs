//! Products by copies of factors that exceed the largest buffer of the device, though the tensors do not: the padded
//! input of a convolution, or FLOAT16 weights as words.
//!
//! Such a product is divided along a dimension of its results. Each part reads a piece of the copy, which has a buffer of
//! its own; pieces overlap where neighbouring results read the same elements. No sum is divided, so that the order of
//! additions is that of the whole product.

use std::ops::Range;

use dml_spirv::ElementWidth;
use rustc_hash::{FxHashMap, FxHashSet};

use super::uses::Uses;
use crate::ir::space::{IterationSpace, Operand, SLACK};
use crate::ir::{
    Buffer, BufferPosition, Content, Dimension, Map, Node, Numbers, Program, Recorded, SUMS, Stage,
    Sums,
};

/// A part with a single result along a dimension may be a product of a vector, which is added up in another order.
const LEAST_RESULTS: u32 = 2;

/// Divides the products of `program` by copies of more than `most` bytes.
pub(super) fn divide(program: &mut Program, most: u64) {
    let is_large = |content: &Content| content.bytes() > most;
    if !program.locals.iter().any(is_large) {
        return;
    }
    let uses = Uses::of(std::mem::take(&mut program.nodes));
    let found = uses.numbers().filter_map(|number| {
        let divisions =
            (0..SUMS).filter_map(|factor| Division::of(program, &uses, (number, factor), most));
        Some((number, divisions.min_by_key(|it| it.parts.len())?))
    });
    let found: FxHashMap<usize, Division> = found.collect();
    if found.is_empty() {
        program.nodes = uses.into_nodes();
        return;
    }
    let copying: FxHashSet<usize> = found.values().flat_map(|it| it.writers.clone()).collect();
    for number in uses.numbers().filter(|number| !copying.contains(number)) {
        let Some(recorded) = uses.get(number) else { continue };
        match found.get(&number) {
            Some(division) => division.record(program, &uses, recorded),
            None => program.nodes.push(recorded.clone()),
        }
    }
}

/// A dimension of a buffer: so many rows of `unit` elements each, again and again.
#[derive(Clone, Copy)]
struct Axis {
    unit: i64,
    rows: i64,
}

/// The extent of a view along an axis.
struct Extent {
    /// The first row and the last one, of each repetition.
    rows: [i64; 2],
    /// The last repetition.
    outer: i64,
}

impl Axis {
    /// The axis that a stride leads along in a buffer of `count` elements, which is written with the strides `written`.
    fn along(stride: i64, written: &[i64], count: i64) -> Option<Self> {
        let units = written.iter().copied().filter(|it| *it <= stride && stride % it == 0);
        let unit = units.max()?;
        let outer = written.iter().copied().filter(|it| *it > unit).min();
        let across = outer.unwrap_or(count - count % unit);
        (across % unit == 0).then_some(Self { unit, rows: across / unit })
    }

    /// Elements from a repetition to the next.
    fn across(self) -> i64 {
        self.unit * self.rows
    }

    fn is_along(self, stride: i64) -> bool {
        (self.unit..self.across()).contains(&stride)
    }

    fn row(self, element: i64) -> i64 {
        element % self.across() / self.unit
    }

    /// The extent of a view; `None` if one of its strides leads along more than one dimension of the buffer.
    fn extent(self, base: i64, dimensions: impl Iterator<Item = (u32, i64)>) -> Option<Extent> {
        let first = self.row(base);
        let (mut within, mut last, mut outer) = (base % self.unit, first, base / self.across());
        for (size, stride) in dimensions.filter(|(size, stride)| *size > 1 && *stride != 0) {
            let extent = i64::from(size - 1).checked_mul(stride)?;
            let unit = if stride < self.unit {
                within += extent;
                1
            } else if self.is_along(stride) {
                last += extent / self.unit;
                self.unit
            } else {
                outer += extent / self.across();
                self.across()
            };
            if stride < 0 || stride % unit != 0 {
                return None;
            }
        }
        let is_inside = base >= 0 && within < self.unit && last < self.rows;
        is_inside.then_some(Extent { rows: [first, last], outer })
    }

    /// The element of a piece from row `first` on, with `rows` rows, for an element of the buffer.
    fn moved(self, element: i64, first: i64, rows: i64) -> i64 {
        let row = (element / self.across() * rows + self.row(element) - first) * self.unit;
        row + element % self.unit
    }

    /// The stride in a piece with `rows` rows.
    fn stride(self, stride: i64, rows: i64) -> i64 {
        match stride / self.across() {
            0 => stride,
            steps => steps * self.unit * rows,
        }
    }
}

/// A dimension of the results of a product.
#[derive(Clone, Copy)]
enum Results {
    Batches(usize),
    Rows,
    Columns(usize),
}

impl Results {
    fn all(sums: &Sums) -> impl Iterator<Item = Self> {
        let batches = (0..sums.batches.len()).map(Self::Batches);
        batches.chain([Self::Rows]).chain((0..sums.columns.len()).map(Self::Columns))
    }

    fn of(self, sums: &mut Sums) -> &mut Dimension {
        match self {
            Self::Batches(at) => &mut sums.batches[at],
            Self::Rows => &mut sums.row,
            Self::Columns(at) => &mut sums.columns[at],
        }
    }
}

/// A product by a copy of a factor, and the Maps that write the copy.
struct Division {
    writers: Vec<usize>,
    sums: Sums,
    /// The number of the factor among the operands of `sums`.
    factor: usize,
    results: Results,
    axis: Axis,
    /// The number of repetitions of the axis.
    outer: i64,
    /// Rows of the first result, and from a result to the next.
    first: i64,
    step: i64,
    /// The results of each part.
    parts: Vec<Range<u32>>,
    /// The most rows that a part reads.
    rows: i64,
    stage: Stage,
}

impl Division {
    /// The division of the product `number` by its factor `factor` into pieces of at most `most` bytes each, into as few
    /// as possible; `None` where the factor is no larger copy, or cannot be divided.
    fn of(
        program: &Program,
        uses: &Uses,
        (number, factor): (usize, usize),
        most: u64,
    ) -> Option<Self> {
        let Node::Contract(all) = &uses.get(number)?.node else { return None };
        let [sums] = all.as_slice() else { return None };
        let buffer = sums.places[factor].buffer;
        let Buffer::Local(local) = buffer else { return None };
        let Content::Computed { width: ElementWidth::B32, count, stage } = program.locals[local]
        else {
            return None;
        };
        let is_apart = sums.places.iter().filter(|place| place.buffer == buffer).count() == 1;
        if program.locals[local].bytes() <= most
            || !is_apart
            || matches!(sums.numbers, Numbers::Bytes(_))
            || uses.only_reader(buffer) != Some(number)
        {
            return None;
        }
        let writers: Vec<usize> = uses.writers(buffer).collect();
        let maps = writers.iter().map(|it| writer(uses, *it, number));
        let maps: Vec<&Map> = maps.collect::<Option<_>>()?;
        let mut written: Vec<i64> = maps.iter().flat_map(|map| strides(map)).collect();
        written.retain(|stride| *stride > 0);
        let count = i64::try_from(count).ok()?;
        let dimensions = Results::all(sums).filter_map(|results| {
            let stride = results.of(&mut sums.clone()).strides[factor];
            let axis = Axis::along(stride, &written, count)?;
            let whole = Self {
                writers: writers.clone(),
                sums: sums.clone(),
                factor,
                results,
                axis,
                outer: 0,
                first: 0,
                step: stride / axis.unit,
                parts: vec![],
                rows: 0,
                stage,
            };
            whole.divided(&maps, most)
        });
        dimensions.min_by_key(|division| division.parts.len())
    }

    /// This division with its parts.
    fn divided(mut self, maps: &[&Map], most: u64) -> Option<Self> {
        let (axis, factor) = (self.axis, self.factor);
        let dimensions = self.sums.dimensions().map(|it| (it.size, it.strides[factor]));
        let read = axis.extent(self.sums.places[factor].base, dimensions)?;
        self.outer = read.outer + 1;
        for map in maps {
            let IterationSpace { sizes, output, .. } = &map.space;
            let extent = axis.extent(output.base, sizes.iter().copied().zip(output.strides))?;
            let along = sizes.iter().zip(output.strides);
            if along.filter(|(size, stride)| **size > 1 && axis.is_along(*stride)).count() > 1 {
                return None;
            }
            self.outer = self.outer.max(extent.outer + 1);
        }
        let results = self.results.of(&mut self.sums).size;
        let [first, last] = read.rows;
        let of_one = last - first + 1 - i64::from(results - 1) * self.step;
        let words = (most / u64::from(ElementWidth::B32.bytes())).checked_sub(SLACK as u64)?;
        let fitting = i64::try_from(words).ok()? / (self.outer * axis.unit);
        let of_a_part =
            (fitting - of_one).checked_div(self.step).filter(|_| fitting >= of_one)? + 1;
        let parts = results.div_ceil(u32::try_from(of_a_part).unwrap_or(u32::MAX));
        // Parts are as long as each other, or longer by one.
        let [least, longer] = [results / parts, results % parts];
        let begin = |part: u32| part * least + part.min(longer);
        self.parts = (0..parts).map(|part| begin(part)..begin(part + 1)).collect();
        self.first = first;
        self.rows = of_one + i64::from(least + u32::from(longer > 0) - 1) * self.step;
        (least >= LEAST_RESULTS && parts > 1).then_some(self)
    }

    /// Adds the Maps and the product of each part to `program`.
    fn record(&self, program: &mut Program, uses: &Uses, product: &Recorded) {
        let of_one = self.rows - i64::from(self.parts[0].end - self.parts[0].start - 1) * self.step;
        for part in &self.parts {
            let results = i64::from(part.end - part.start);
            let first = self.first + i64::from(part.start) * self.step;
            let rows = first..first + of_one + (results - 1) * self.step;
            let count = (self.outer * self.axis.unit * self.rows).cast_unsigned() + SLACK as u64;
            let (width, stage) = (ElementWidth::B32, self.stage);
            let piece = program.declare(Content::Computed { width, count, stage });
            for recorded in self.writers.iter().filter_map(|writer| uses.get(*writer)) {
                let Node::Map(map) = &recorded.node else { continue };
                let Some(map) = self.written(map, &rows, piece) else { continue };
                program.nodes.push(Recorded { node: Node::Map(map), ..recorded.clone() });
            }
            let node = Node::Contract(vec![self.product(part, piece)]);
            program.nodes.push(Recorded { node, ..product.clone() });
        }
    }

    /// The part of a Map that writes these rows, to `piece`; `None` if it writes none of them.
    fn written(&self, map: &Map, rows: &Range<i64>, piece: Buffer) -> Option<Map> {
        let (axis, mut map) = (self.axis, map.clone());
        let IterationSpace { sizes, inputs, output } = &mut map.space;
        let mut along =
            (0..sizes.len()).filter(|at| sizes[*at] > 1 && axis.is_along(output.strides[*at]));
        let first = axis.row(output.base);
        match along.next() {
            Some(at) => {
                let step = output.strides[at] / axis.unit;
                let before = |row: i64| {
                    let coordinates =
                        (row - first).max(0).unsigned_abs().div_ceil(step.unsigned_abs());
                    u32::try_from(coordinates).map_or(sizes[at], |it| it.min(sizes[at]))
                };
                let [begin, end] = [before(rows.start), before(rows.end)];
                sizes[at] = end.checked_sub(begin).filter(|size| *size > 0)?;
                for operand in inputs.iter_mut().chain([&mut *output]) {
                    operand.base += i64::from(begin) * operand.strides[at];
                }
            }
            None if rows.contains(&first) => {}
            None => return None,
        }
        let base = axis.moved(output.base, rows.start, self.rows);
        let strides = output.strides.map(|stride| axis.stride(stride, self.rows));
        *output = Operand { buffer: Some(piece), base, strides, ..output.clone() };
        Some(map)
    }

    /// The product that has these results, by `piece`.
    fn product(&self, part: &Range<u32>, piece: Buffer) -> Sums {
        let mut sums = self.sums.clone();
        sums.slice_of = Some(sums.slice_of.unwrap_or_else(|| self.sums.count()));
        let results = self.results.of(&mut sums);
        results.size = part.end - part.start;
        let strides = results.strides;
        for (place, stride) in sums.places.iter_mut().zip(strides) {
            place.base += i64::from(part.start) * stride;
        }
        let first = self.first + i64::from(part.start) * self.step;
        let place = sums.places[self.factor];
        let base = self.axis.moved(place.base, first, self.rows);
        sums.places[self.factor] = BufferPosition { buffer: piece, base, ..place };
        let all = sums.batches.iter_mut().chain([&mut sums.row]);
        for dimension in all.chain(&mut sums.columns).chain(&mut sums.depths) {
            let stride = &mut dimension.strides[self.factor];
            *stride = self.axis.stride(*stride, self.rows);
        }
        sums
    }
}

/// The Map `number`, if it can be executed where the product `reader` is.
fn writer(uses: &Uses, number: usize, reader: usize) -> Option<&Map> {
    let Node::Map(map) = &uses.get(number)?.node else { return None };
    let is_words = map.space.output.is_plain() && map.space.output.width == ElementWidth::B32;
    (number < reader && is_words && uses.reads_the_same(&map.space, number, reader)).then_some(map)
}

/// The strides that a Map writes with.
fn strides(map: &Map) -> impl Iterator<Item = i64> + '_ {
    let dimensions = map.space.sizes.iter().zip(map.space.output.strides);
    dimensions.filter(|(size, _)| **size > 1).map(|(_, stride)| stride)
}
