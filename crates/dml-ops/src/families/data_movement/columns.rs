//! The windows of a tensor and its columns, which UNFOLD and FOLD share.

use std::ops::Range;

use dml_core::{Error, TensorLayout, Validated};
use dml_spirv::element_wise::{DIMENSIONS, Value};
use dml_spirv::functions as f;

use crate::ir::Recorder;
use crate::ir::space::Operand;
use crate::lowering::map_builder::MapBuilder;
use crate::lowering::tables::fits_table;

/// The number of dimensions without windows: batches and channels.
const OUTER: usize = 2;

/// The dimension of a space for the columns' rows, then for channels, and for batches if there are several.
pub(super) const ROW: usize = 0;
const CHANNEL: usize = 1;
const BATCH: usize = 2;

/// A dimension that windows go along.
#[derive(Clone, Debug)]
pub(super) struct Along {
    /// Its dimension in a space.
    pub(super) at: usize,
    /// The number of the tensor's elements along it, and their stride.
    pub(super) size: u32,
    pub(super) stride: i64,
    /// The padding before the first element.
    pub(super) start: u32,
    /// The elements of a window, as an index.
    pub(super) elements: Index,
    pub(super) windows: Index,
}

/// A counter of the elements of a window, or of the windows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Index {
    pub(super) count: u32,
    /// Coordinates of the tensor from one to the next.
    pub(super) weight: u32,
    /// The number of column elements or columns that have the same index, one after the other.
    pub(super) inner: u32,
    /// Elements of the columns from one index to the next.
    pub(super) stride: i64,
}

impl Index {
    /// Coordinates of the tensor from the first to the last one.
    pub(super) fn last(&self) -> i64 {
        i64::from(self.count - 1) * i64::from(self.weight)
    }
}

/// Some of the windows, or some elements of the tensor: a range in each dimension.
pub(super) type DimensionRanges = Vec<Range<u32>>;

/// A tensor and its columns.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    /// The tensor, with strides along the windowed dimensions.
    pub(super) tensor: Operand,
    /// The columns, with strides along batches and channels alone.
    pub(super) columns: Operand,
    pub(super) along: Vec<Along>,
    /// Elements of the columns from a row to the next, and from a column to the next.
    pub(super) strides: [i64; 2],
    /// The sizes of the space in the dimensions that have neither rows nor windows.
    sizes: [u32; DIMENSIONS],
}

impl Columns {
    /// The columns of each batch that has no dimension in the space, or of all batches.
    pub(super) fn of(
        operator: &Validated,
        tensors: [&TensorLayout; 2],
        [mut tensor, mut columns]: [Operand; 2],
    ) -> Result<Vec<Self>, Error> {
        let [sizes, of_tensor] = [tensors[0].sizes(), tensors[0].strides()];
        let of_columns = &tensors[1].strides()[tensors[1].strides().len() - OUTER - 1..];
        let strides = [of_columns[1], of_columns[2]].map(i64::from);
        let along = along(operator, tensors[0], strides)?;
        let elements: i64 = along.iter().map(|it| i64::from(it.elements.count)).product();
        let mut space = [1; DIMENSIONS];
        space[CHANNEL] = sizes[1];
        tensor.strides = [0; DIMENSIONS];
        along.iter().for_each(|it| tensor.strides[it.at] = it.stride);
        columns.strides = [0; DIMENSIONS];
        let channels = [i64::from(of_tensor[1]), elements * strides[0]];
        let batches = [of_tensor[0], of_columns[0]].map(i64::from);
        let has_place = DIMENSIONS - along.len() > BATCH;
        for ((operand, channel), batch) in
            [&mut tensor, &mut columns].into_iter().zip(channels).zip(batches)
        {
            operand.strides[CHANNEL] = channel;
            if has_place {
                operand.strides[BATCH] = batch;
            }
        }
        let count = if has_place { 1 } else { sizes[0] };
        if has_place {
            space[BATCH] = sizes[0];
        }
        let all = Self { tensor, columns, along, strides, sizes: space };
        let of_batch = |number: u32| {
            let mut it = all.clone();
            it.tensor.base += i64::from(number) * batches[0];
            it.columns.base += i64::from(number) * batches[1];
            it
        };
        Ok((0..count).map(of_batch).collect())
    }

    /// The sizes of a space with so many elements in a row, and the windows of a part.
    pub(super) fn sizes(&self, row: u32, part: &DimensionRanges) -> [u32; DIMENSIONS] {
        let mut sizes = self.sizes;
        sizes[ROW] = row;
        for (along, range) in self.along.iter().zip(part) {
            sizes[along.at] = range.end - range.start;
        }
        sizes
    }

    /// The tensor's elements along the windowed dimensions, from the start of a part on.
    pub(super) fn tensor_at(&self, part: &DimensionRanges) -> Operand {
        let starts = self.along.iter().zip(part).map(|(it, at)| i64::from(at.start) * it.stride);
        Operand { base: self.tensor.base + starts.sum::<i64>(), ..self.tensor.clone() }
    }

    /// Adds the offset of each of the `row` elements of a row: a sum over the dimensions. For each dimension, `tap`
    /// gets the element's number in the row and the coordinate, which begins at the walk's first one and grows by
    /// the walk's step at each position of the part. Offsets are read from tables where these are small.
    pub(super) fn offset(
        &self,
        map: &mut MapBuilder,
        recorder: &mut Recorder<'_>,
        row: u32,
        (part, walks): (&DimensionRanges, &[(i64, u32)]),
        tap: impl Fn(&mut MapBuilder, usize, [Value; 2]) -> Value,
    ) -> Option<Value> {
        let mut in_row = [0; DIMENSIONS];
        in_row[ROW] = 1;
        let tables: Vec<[u32; DIMENSIONS]> = (0..part.len())
            .map(|number| {
                let mut sizes = [1; DIMENSIONS];
                (sizes[ROW], sizes[self.along[number].at]) =
                    (row, part[number].end - part[number].start);
                sizes
            })
            .collect();
        let mut offset = None;
        if !tables.iter().all(fits_table) {
            let number = map.input(Operand::numbers(0, in_row));
            for (at, coordinate) in self.coordinates(map, part, walks).into_iter().enumerate() {
                let by = tap(map, at, [number, coordinate]);
                offset = join(map, offset, by);
            }
            return offset;
        }
        for (at, sizes) in tables.into_iter().enumerate() {
            let [by] = map.tabulated(recorder, sizes, |map| {
                let number = map.input(Operand::numbers(0, in_row));
                let coordinate = self.coordinate(map, at, walks[at]);
                [tap(map, at, [number, coordinate])]
            });
            offset = join(map, offset, by);
        }
        offset
    }

    /// Adds the coordinate of a dimension.
    fn coordinate(&self, map: &mut MapBuilder, at: usize, (first, step): (i64, u32)) -> Value {
        let mut strides = [0; DIMENSIONS];
        strides[self.along[at].at] = i64::from(step);
        map.input(Operand::numbers(first, strides))
    }

    /// Adds a coordinate for each dimension: the first coordinate and so much more at each position of a
    /// part. A kernel has too few inputs for one in each dimension if there are many: the first ones then
    /// share an input.
    fn coordinates(
        &self,
        map: &mut MapBuilder,
        part: &DimensionRanges,
        walks: &[(i64, u32)],
    ) -> Vec<Value> {
        const INPUTS: usize = 5;
        let shared = if walks.len() > INPUTS { walks.len() + 1 - INPUTS } else { 0 };
        let mut inner = 1;
        let mut numbers = [0; DIMENSIONS];
        let mut inners = vec![1; shared];
        for at in (0..shared).rev() {
            inners[at] = inner;
            numbers[self.along[at].at] = i64::from(inner);
            inner *= part[at].end - part[at].start;
        }
        let number = (shared > 0).then(|| map.input(Operand::numbers(0, numbers)));
        let coordinate = |at: usize| {
            let ((first, step), range) = (walks[at], &part[at]);
            match number.filter(|_| at < shared) {
                Some(number) => {
                    let parameters = [inners[at], range.end - range.start, step, word(first)];
                    map.apply(&f::WINDOW_AT, &[number], &parameters)
                }
                None => self.coordinate(map, at, walks[at]),
            }
        };
        (0..walks.len()).map(coordinate).collect()
    }

    /// Both halves of a part along the dimension with the greatest `reach` of those with several positions;
    /// `None` for a single position.
    pub(super) fn halves(
        part: &DimensionRanges,
        reach: impl Fn(usize) -> u64,
    ) -> Option<[DimensionRanges; 2]> {
        let several = (0..part.len()).filter(|at| part[*at].len() > 1);
        let at = several.max_by_key(|at| reach(*at))?;
        let middle = part[at].start + (part[at].end - part[at].start) / 2;
        let [mut one, mut other] = [part.clone(), part.clone()];
        one[at].end = middle;
        other[at].start = middle;
        Some([one, other])
    }
}

/// A coordinate modulo 2^32.
fn word(coordinate: i64) -> u32 {
    let word = coordinate.rem_euclid(1 << 32);
    u32::try_from(word).expect("less than 2^32")
}

/// The dimensions of a tensor that have windows; `strides` are those of the columns' rows and columns.
fn along(
    operator: &Validated,
    tensor: &TensorLayout,
    strides: [i64; 2],
) -> Result<Vec<Along>, Error> {
    let array = |name| operator.uint_array(name);
    let (windows, steps, dilations) =
        (array("WindowSizes")?, array("Strides")?, array("Dilations")?);
    let (start, end) = (array("StartPadding")?, array("EndPadding")?);
    let index = |count: u32, weight: u32, inner: u32, stride: i64| Index {
        count,
        weight,
        inner,
        stride: stride * i64::from(inner),
    };
    let mut inner = [1; 2];
    let mut all = Vec::new();
    for at in (0..windows.len()).rev() {
        let size = tensor.sizes()[OUTER + at];
        let room = size + start[at] + end[at] - 1 - (windows[at] - 1) * dilations[at];
        let elements = index(windows[at], dilations[at], inner[0], strides[0]);
        let windows_at = index(room / steps[at] + 1, steps[at], inner[1], strides[1]);
        inner = [inner[0] * elements.count, inner[1] * windows_at.count];
        all.push(Along {
            at: DIMENSIONS - windows.len() + at,
            size,
            stride: tensor.strides()[OUTER + at].into(),
            start: start[at],
            elements,
            windows: windows_at,
        });
    }
    all.reverse();
    Ok(all)
}

/// Adds the join of two offsets.
fn join(map: &mut MapBuilder, offset: Option<Value>, other: Value) -> Option<Value> {
    Some(match offset {
        Some(offset) => map.apply(&f::JOINED, &[offset, other], &[]),
        None => other,
    })
}
