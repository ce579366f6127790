//! Lowers FOLD: each output element is the sum of a row of candidates; candidates that do not contribute to
//! the element are 0.
//!
//! In each dimension an output coordinate receives element `e` of window `w` where `e * dilation + w * stride
//! = coordinate + padding`. One of both numbers is tried, and the other one follows from it.

use dml_core::{DataType, Error, Validated};
use dml_spirv::element_wise::{DIMENSIONS, Value};
use dml_spirv::functions as f;
use dml_spirv::reduce::{SUM_F32, SUM_I32, SUM_I64};

use super::columns::{Along, Columns, DimensionRanges, Index, ROW};
use crate::Target;
use crate::ir::space::{Displacement, IterationSpace, Operand, bytes_shown};
use crate::ir::{self, Computation, Recorder};
use crate::lowering::conversion::{narrowed, widened};
use crate::lowering::map_builder::MapBuilder;
use crate::lowering::operands::required;

/// A row of elements is not divided into parts with fewer elements than this.
const LEAST_PART: u64 = 8;

/// Lowers FOLD: puts windows together, and sums elements where windows overlap.
pub(super) fn fold(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let mut recorder = Recorder::new(operator, target);
    let [input] = required(operator, recorder.inputs()?)?;
    let [output] = required(operator, recorder.outputs()?)?;
    let tensors = ["OutputTensor", "InputTensor"].map(|it| operator.required_tensor(it));
    let [to, from] = tensors;
    let (to, from) = (to?, from?);
    for columns in Columns::of(operator, [to, from], [output, input])? {
        let all = columns.along.iter().map(|it| 0..it.size).collect();
        let mut folding = Folding { columns, data_type: to.data_type(), recorder: &mut recorder };
        folding.write(&all)?;
    }
    Ok(recorder.finish())
}

struct Folding<'k, 'a> {
    columns: Columns,
    data_type: DataType,
    recorder: &'k mut Recorder<'a>,
}

/// The index that is tried in a dimension, and the other index, which follows from it.
#[derive(Clone, Copy)]
struct Pair {
    tried: Index,
    other: Index,
}

impl Pair {
    fn of_elements(along: &Along) -> Self {
        Self { tried: along.elements, other: along.windows }
    }

    fn of_windows(along: &Along) -> Self {
        Self { tried: along.windows, other: along.elements }
    }

    /// The number of indices to try.
    fn candidates(&self) -> u32 {
        let apart = self.other.last() / i64::from(self.tried.weight) + 1;
        u32::try_from(apart).unwrap_or(u32::MAX).min(self.tried.count)
    }

    /// The least other index for elements from `first` to `last`, and the number of such indices.
    fn others(&self, first: u32, last: u32) -> (u32, u32) {
        let weight = i64::from(self.other.weight);
        let greatest = i64::from(self.other.count) - 1;
        let least = (i64::from(first) - self.tried.last()).max(0) + weight - 1;
        let least = (least / weight).min(i64::from(first) / weight).min(greatest);
        let greatest = (i64::from(last) / weight).min(greatest);
        let number = |it: i64| u32::try_from(it).expect("less than the count");
        (number(least), number(greatest - least + 1))
    }
}

/// A stride in elements of the columns, as a function's parameter; 0 where it does not fit.
fn word(stride: i64) -> u32 {
    u32::try_from(stride).unwrap_or(0)
}

impl Folding<'_, '_> {
    /// Adds the steps that write the elements of a part, divided further where a binding cannot show all of
    /// its columns.
    fn write(&mut self, part: &DimensionRanges) -> Result<(), Error> {
        let along = &self.columns.along;
        let most = |index: Index| u64::from(index.count - 1) * index.stride.unsigned_abs();
        let all = along.iter().map(|it| most(it.elements) + most(it.windows)).sum();
        if self.shows(all) {
            return self.by_candidates(part, all);
        }
        let count = |of: fn(&Along) -> Index| -> u64 {
            along.iter().map(|it| u64::from(of(it).count)).product()
        };
        let of: fn(&Along) -> Pair = match count(|it| it.elements) <= count(|it| it.windows) {
            true => Pair::of_elements,
            false => Pair::of_windows,
        };
        let reach = |at: usize| {
            let (_, others) = self.others(of, part, at);
            u64::from(others - 1) * of(&along[at]).other.stride.unsigned_abs()
        };
        let most = (0..along.len()).map(reach).sum();
        // Rows of adjacent elements are divided into parts of at least `LEAST_PART` elements.
        let is_packed = along.last().is_some_and(|it| of(it).tried.stride == 1);
        if self.shows(most + if is_packed { LEAST_PART } else { 0 }) {
            return self.by_rows(part, of, most);
        }
        match Columns::halves(part, reach) {
            Some(halves) => halves.iter().try_for_each(|half| self.write(half)),
            None => self.one_element(part),
        }
    }

    fn shows(&self, reach: u64) -> bool {
        bytes_shown(self.columns.columns.width, reach) <= self.recorder.most_shown()
    }

    /// The range of other indices that a part needs in a dimension: the least one, and their number.
    fn others(&self, of: fn(&Along) -> Pair, part: &DimensionRanges, at: usize) -> (u32, u32) {
        let along = &self.columns.along[at];
        of(along).others(part[at].start + along.start, part[at].end - 1 + along.start)
    }

    /// Adds an input for the columns.
    fn input(&self, row: i64) -> (MapBuilder, Value) {
        let mut map = MapBuilder::default();
        let mut columns = self.columns.columns.clone();
        columns.strides[ROW] = row;
        let value = map.input(columns);
        (map, value)
    }

    /// Tries every candidate of an element, by an offset into the columns that is computed for each of them.
    fn by_candidates(&mut self, part: &DimensionRanges, most: u64) -> Result<(), Error> {
        let (mut map, value) = self.input(0);
        let along = || self.columns.along.iter().zip(part);
        let walks = along().map(|(along, it)| (i64::from(it.start + along.start), 1));
        let walks: Vec<(i64, u32)> = walks.collect();
        let (mut taps, mut row) = (vec![], 1);
        for along in self.columns.along.iter().rev() {
            let pairs = [Pair::of_elements(along), Pair::of_windows(along)];
            let [one, other] = pairs;
            let pair = if other.candidates() < one.candidates() { other } else { one };
            let Pair { tried, other } = pair;
            let candidates = pair.candidates();
            taps.push([
                row,
                candidates,
                tried.weight,
                tried.count,
                word(tried.stride),
                other.weight,
                word(other.stride),
                other.count,
            ]);
            row *= candidates;
        }
        taps.reverse();
        let (columns, walked) = (&self.columns, (part, walks.as_slice()));
        let offset = columns.offset(&mut map, self.recorder, row, walked, |map, at, elements| {
            map.apply(&f::PAIR_OF_CANDIDATE, &elements, &taps[at])
        });
        map.inputs[0].displacement = offset.map(|by| Displacement::new(by, most));
        self.sum(map, value, row, part)
    }

    /// Tries all indices of one kind, which are a row of the columns; the other indices give the offset of
    /// each element.
    fn by_rows(
        &mut self,
        part: &DimensionRanges,
        of: fn(&Along) -> Pair,
        most: u64,
    ) -> Result<(), Error> {
        let row = self.columns.along.last().map_or(0, |it| of(it).tried.stride);
        let (mut map, value) = self.input(row);
        let others: Vec<(u32, u32)> = (0..part.len()).map(|at| self.others(of, part, at)).collect();
        let walk = |at: usize| {
            let along = &self.columns.along[at];
            let before = i64::from(others[at].0) * i64::from(of(along).other.weight);
            (i64::from(part[at].start + along.start) - before, 1)
        };
        let walks: Vec<(i64, u32)> = (0..part.len()).map(walk).collect();
        let (mut taps, mut count) = (vec![], 1);
        for (along, (least, others)) in self.columns.along.iter().zip(others) {
            let Pair { tried, other } = of(along);
            map.inputs[0].base += i64::from(least) * other.stride;
            let stride = word(other.stride);
            taps.push([tried.inner, tried.count, tried.weight, others, stride, other.weight]);
            count *= tried.count;
        }
        let (columns, walked) = (&self.columns, (part, walks.as_slice()));
        let offset = columns.offset(&mut map, self.recorder, count, walked, |map, at, elements| {
            map.apply(&f::PAIR_OF_ROW, &elements, &taps[at])
        });
        map.inputs[0].displacement = offset.map(|by| Displacement::new(by, most));
        self.sum(map, value, count, part)
    }

    /// Writes one element of each channel whose candidates are too far apart for one binding: those that
    /// contribute are evenly spaced in each dimension.
    fn one_element(&mut self, part: &DimensionRanges) -> Result<(), Error> {
        let mut map = MapBuilder::default();
        let value = map.input(self.columns.columns.clone());
        let mut sizes = self.columns.sizes(1, part);
        for (along, at) in self.columns.along.iter().zip(part) {
            let offsets = offsets(along, at.start + along.start);
            let [first, ..] = offsets[..] else { return self.zero(part) };
            map.inputs[0].base += first;
            map.inputs[0].strides[along.at] = offsets.get(1).map_or(0, |it| it - first);
            sizes[along.at] = u32::try_from(offsets.len()).expect("as many as a number has");
        }
        let mut output = self.columns.tensor_at(part);
        self.columns.along.iter().for_each(|it| output.strides[it.at] = 0);
        self.reduce(map, value, sizes, output)
    }

    fn zero(&mut self, part: &DimensionRanges) -> Result<(), Error> {
        let output = self.columns.tensor_at(part);
        let zero = self.recorder.constant(output.width, 0);
        let sizes = self.columns.sizes(1, part);
        let space = IterationSpace { sizes, inputs: vec![zero], output };
        self.recorder.map(space, Computation::copy())
    }

    /// Adds a Reduce that sums rows of `row` candidates.
    fn sum(
        &mut self,
        map: MapBuilder,
        value: Value,
        row: u32,
        part: &DimensionRanges,
    ) -> Result<(), Error> {
        let sizes = self.columns.sizes(row, part);
        let output = self.columns.tensor_at(part);
        self.reduce(map, value, sizes, output)
    }

    fn reduce(
        &mut self,
        mut map: MapBuilder,
        value: Value,
        sizes: [u32; DIMENSIONS],
        output: Operand,
    ) -> Result<(), Error> {
        let value = map.apply_all(widened(self.data_type), value);
        let reducer = match self.data_type {
            DataType::Int32 | DataType::Uint32 => &SUM_I32,
            DataType::Int64 | DataType::Uint64 => &SUM_I64,
            _ => &SUM_F32,
        };
        let (space, reduction) = map.reduced(value, reducer, (sizes, output), |map, mut sum| {
            if self.data_type.integer_range().is_none() {
                // A sum of nothing but -0 is to be +0 as elsewhere, where other candidates add 0.
                sum = map.computation.scaled(sum, 1.0, 0.0);
            }
            map.apply_all(narrowed(self.data_type), sum);
        });
        self.recorder.reduce(space, reduction)
    }
}

/// The offsets into the columns of the elements that contribute to `position` in one dimension. Iterates the
/// index with the smaller count, which is below 2^16, since columns have less than 2^32 elements.
fn offsets(along: &Along, position: u32) -> Vec<i64> {
    let fewer = match along.elements.count <= along.windows.count {
        true => Pair::of_elements(along),
        false => Pair::of_windows(along),
    };
    let Pair { tried, other } = fewer;
    let of = |number: u32| {
        let rest = i64::from(position) - i64::from(number) * i64::from(tried.weight);
        let (at, weight) = (rest / i64::from(other.weight), i64::from(other.weight));
        let is_one = rest >= 0 && rest % weight == 0 && at < i64::from(other.count);
        is_one.then(|| i64::from(number) * tried.stride + at * other.stride)
    };
    (0..tried.count).filter_map(of).collect()
}
