//! Lowers UNFOLD: each element of a column is gathered from a computed offset, and is 0 in the padding.

use std::ops::Range;

use dml_core::{Error, Validated};
use dml_spirv::functions as f;

use super::columns::{Along, Columns, DimensionRanges, ROW};
use crate::Target;
use crate::ir::space::{Displacement, IterationSpace, Operand, bytes_shown};
use crate::ir::{self, Computation, Recorder};
use crate::lowering::map_builder::MapBuilder;
use crate::lowering::operands::required;

/// The windows of the input, side by side.
pub(super) fn unfold(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let mut recorder = Recorder::new(operator, target);
    let [input] = required(operator, recorder.inputs()?)?;
    let [output] = required(operator, recorder.outputs()?)?;
    let tensors = ["InputTensor", "OutputTensor"].map(|it| operator.required_tensor(it));
    let [from, to] = tensors;
    for columns in Columns::of(operator, [from?, to?], [input, output])? {
        let all = columns.along.iter().map(|it| 0..it.windows.count).collect();
        write(&columns, &mut recorder, &all)?;
    }
    Ok(recorder.finish())
}

impl Along {
    /// The coordinate where a window begins.
    fn first(&self, window: u32) -> i64 {
        i64::from(window) * i64::from(self.windows.weight) - i64::from(self.start)
    }

    /// The range of the tensor that some windows read; one element if they read none.
    fn needed(&self, windows: &Range<u32>) -> Range<u32> {
        let last = self.first(windows.end - 1) + self.elements.last();
        let [first, last] =
            [self.first(windows.start), last].map(|it| it.clamp(0, i64::from(self.size) - 1));
        let place = |it: i64| u32::try_from(it).expect("within a size");
        place(first)..place(last) + 1
    }

    /// The numbers of a window's elements that are inside of the tensor.
    fn inside(&self, window: u32) -> Range<i64> {
        let (first, dilation) = (self.first(window), i64::from(self.elements.weight));
        let before = ((-first).max(0) + dilation - 1) / dilation;
        let room = i64::from(self.size) - 1 - first;
        before..(room.div_euclid(dilation) + 1).min(self.elements.count.into())
    }
}

/// The number of elements from the first to the last of a part of the tensor.
fn reach(columns: &Columns, part: &DimensionRanges) -> u64 {
    let along = columns.along.iter().zip(part);
    along.map(|(it, part)| (part.len() as u64 - 1) * it.stride.unsigned_abs()).sum()
}

/// Adds the steps that write some columns.
fn write(
    columns: &Columns,
    recorder: &mut Recorder<'_>,
    windows: &DimensionRanges,
) -> Result<(), Error> {
    let along = columns.along.iter().zip(windows);
    let needed: DimensionRanges = along.map(|(it, windows)| it.needed(windows)).collect();
    if bytes_shown(columns.tensor.width, reach(columns, &needed)) <= recorder.most_shown() {
        return by_computed_places(columns, recorder, windows, &needed);
    }
    let reach_along =
        |at: usize| (needed[at].len() as u64 - 1) * columns.along[at].stride.unsigned_abs();
    match Columns::halves(windows, reach_along) {
        Some(halves) => halves.iter().try_for_each(|half| write(columns, recorder, half)),
        None => one_window(columns, recorder, windows),
    }
}

/// The columns of some windows, along rows and windows.
fn output(columns: &Columns, windows: &DimensionRanges) -> Operand {
    let mut output = columns.columns.clone();
    output.strides[ROW] = columns.strides[0];
    for (along, range) in columns.along.iter().zip(windows) {
        output.base += i64::from(range.start) * along.windows.stride;
        output.strides[along.at] = along.windows.stride;
    }
    output
}

fn elements(columns: &Columns) -> u32 {
    columns.along.iter().map(|it| it.elements.count).product()
}

fn by_computed_places(
    columns: &Columns,
    recorder: &mut Recorder<'_>,
    windows: &DimensionRanges,
    needed: &DimensionRanges,
) -> Result<(), Error> {
    let mut map = MapBuilder::default();
    let value = map.input(columns.tensor_at(needed));
    let along = || columns.along.iter().zip(windows.iter().zip(needed));
    let walks = along().map(|(along, (windows, needed))| {
        (along.first(windows.start) - i64::from(needed.start), along.windows.weight)
    });
    let walks: Vec<(i64, u32)> = walks.collect();
    columns.along.iter().for_each(|along| map.inputs[0].strides[along.at] = 0);
    let row = elements(columns);
    let offset = columns.offset(&mut map, recorder, row, (windows, &walks), |map, at, elements| {
        let (along, size) = (&columns.along[at], needed[at].end - needed[at].start);
        let index = along.elements;
        let stride = u32::try_from(along.stride).unwrap_or(0);
        map.apply(&f::TAP, &elements, &[index.inner, index.count, index.weight, size, stride])
    });
    let most = reach(columns, needed);
    map.inputs[0].displacement = offset.map(|by| Displacement::new(by, most));
    map.apply(&f::SAME, &[value], &[]);
    map.record(recorder, columns.sizes(row, windows), output(columns, windows))
}

/// Adds the steps that write one column for each channel: zeros, then the elements that are inside of the tensor.
fn one_window(
    columns: &Columns,
    recorder: &mut Recorder<'_>,
    windows: &DimensionRanges,
) -> Result<(), Error> {
    let output = output(columns, windows);
    let sizes = columns.sizes(elements(columns), windows);
    let insides: Vec<Range<i64>> = columns
        .along
        .iter()
        .zip(windows)
        .map(|(along, windows)| along.inside(windows.start))
        .collect();
    let is_inside =
        |(along, inside): (&Along, &Range<i64>)| *inside == (0..along.elements.count.into());
    if !columns.along.iter().zip(&insides).all(is_inside) {
        let zero = recorder.constant(output.width, 0);
        let space = IterationSpace { sizes, inputs: vec![zero], output: output.clone() };
        recorder.map(space, Computation::copy())?;
    }
    if insides.iter().any(Range::is_empty) {
        return Ok(());
    }
    let (mut input, mut output, mut sizes) = (columns.tensor.clone(), output, sizes);
    sizes[ROW] = 1;
    for ((along, window), inside) in columns.along.iter().zip(windows).zip(&insides) {
        let dilation = i64::from(along.elements.weight);
        let first = along.first(window.start) + inside.start * dilation;
        input.base += first * along.stride;
        input.strides[along.at] = along.stride * dilation;
        output.base += inside.start * along.elements.stride;
        output.strides[along.at] = along.elements.stride;
        sizes[along.at] = u32::try_from(inside.end - inside.start).expect("of a window");
    }
    recorder.map(IterationSpace { sizes, inputs: vec![input], output }, Computation::copy())
}
