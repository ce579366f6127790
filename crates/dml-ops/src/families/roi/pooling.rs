//! Lowers ROI_POOLING: Maps compute where the elements of each cell are and how many it has, and a Reduce finds their
//! maximum.
//!
//! ROI_POOLING of FLOAT32 [1, 1, 4, 4] with one region of 2 by 2 cells:
//!
//! ```text
//! ROI_POOLING
//!   input 0 = InputTensor FLOAT32 [1, 1, 4, 4]
//!   input 1 = ROITensor FLOAT32 [1, 1, 1, 5]
//!   output 0 = OutputTensor FLOAT32 [1, 1, 2, 2]
//!   %0 = 2 elements of 64 bits
//!   %0 over [2, 1, 1, 1, 1, 1] = map scale_bias scale_bias round_by clip f32_to_i64 round_by clip f32_to_i64 u32_to_u64 u32_to_u64 u32_to_u64 u32_to_u64 subtract clip_i64 add subtract multiply divide_u64 add clip_i64 low_words multiply add divide_u64 add clip_i64 low_words subtract checked_u32 f32_to_u32 nearest_u32 joined logical_not opposite bit_or threshold_u32 pair (input 1+2 by [0, 0, 0, 0, 0, 0], input 1+4 by [0, 0, 0, 0, 0, 0], numbers, numbers+1, numbers+1 by [0, 0, 0, 0, 0, 0], numbers+2 by [0, 0, 0, 0, 0, 0], input 1 by [0, 0, 0, 0, 0, 0])
//!     28 bytes, 74 operations, 2 invocations
//!   %1 = 2 elements of 64 bits
//!   %1 over [2, 1, 1, 1, 1] = map scale_bias scale_bias round_by clip f32_to_i64 round_by clip f32_to_i64 u32_to_u64 u32_to_u64 u32_to_u64 u32_to_u64 subtract clip_i64 add subtract multiply divide_u64 add clip_i64 low_words multiply add divide_u64 add clip_i64 low_words subtract checked_u32 logical_not opposite bit_or threshold_u32 pair (input 1+1 by [0, 0, 0, 0, 0], input 1+3 by [0, 0, 0, 0, 0], numbers, numbers+1, numbers+1 by [0, 0, 0, 0, 0], numbers+2 by [0, 0, 0, 0, 0])
//!     24 bytes, 68 operations, 2 invocations
//!   %2 = 4 elements of 64 bits
//!   %2 over [2, 2, 1, 1, 1, 1] = map high_words maximum_u32 subtract clip_u32 high_words maximum_u32 subtract clip_u32 pair (%0 by [1, 0, 0, 0, 0, 0], numbers by [0, 0, 4, 0, 0, 0], %1 by [0, 1, 0, 0, 0, 0], numbers by [0, 0, 0, 4, 0, 0])
//!     64 bytes, 36 operations, 4 invocations
//!   output 0 by [2, 1, 0, 0, 0, 0] over [2, 2, 1, 1, 4, 4] = reduce grids maximum of low_words low_words joined joined same (%0 by [1, 0, 0, 0, 0, 0], %1 by [0, 1, 0, 0, 0, 0], %2 by [2, 1, 0, 0, 0, 0], numbers by [0, 0, 16, 4, 4, 1], input 0 by [0, 0, 0, 0, 0, 0] displaced by r3)
//!     2128 bytes, 384 operations, 4 invocations
//! ```

use dml_core::{Error, RoundingMode, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{QUAD, Value};
use dml_spirv::functions as f;
use dml_spirv::reduce::GREATEST_F32;

use super::space::{Axis, GRID, PARTS, REGION, Regions, coordinates};
use crate::Target;
use crate::ir::space::{Displacement, IterationSpace, Operand};
use crate::ir::{self, Reduction};
use crate::lowering::conversion::{narrowed, widened};
use crate::lowering::map_builder::MapBuilder;

/// The greatest magnitude of corners; beyond it they are clipped, so that products with the number of cells
/// fit 64 bits.
const FARTHEST: f32 = (1_u32 << 29) as f32;

/// The most iterations of an invocation: lavapipe ends loops at 65,535.
const MOST_ITERATIONS: u32 = 60_000;

/// Lowers ROI_POOLING: the greatest element of each cell.
pub(super) fn greatest(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let scale = operator.float("SpatialScale")?;
    let (mut regions, input) = Regions::new(operator, target, 1, [scale; 2])?;
    let parts = parts(&regions.axes);
    let [y, x] = regions.axes;
    let tables = [cells(&mut regions, &y)?, cells(&mut regions, &x)?];
    let counts = counts(&mut regions, &tables, &parts)?;
    reduce(regions, input, tables, counts, &parts)
}

/// Divides grids along the height and along the width: the number of parts, and the elements of a part.
fn parts(axes: &[Axis; 2]) -> [[u32; 2]; 2] {
    let columns = axes[1].size.min(MOST_ITERATIONS / 2 * QUAD);
    let rows = axes[0].size.min(MOST_ITERATIONS / (columns.div_ceil(QUAD) + 1));
    [[axes[0].size.div_ceil(rows), rows], [axes[1].size.div_ceil(columns), columns]]
}

/// Adds the steps that write the place of each cell along an axis: the offset, which along the height
/// includes the batch, and in the high word the number of its elements, at least 1. An empty cell is nowhere.
fn cells(regions: &mut Regions<'_>, axis: &Axis) -> Result<Operand, Error> {
    const BATCH: i64 = 0;
    let mut map = MapBuilder::default();
    let [first, last] = regions.corners(&mut map, axis).map(|it| {
        let mode = RoundingMode::TowardInfinity.dml_value();
        let whole = map.apply(&f::ROUND_F32, &[it], &[mode]);
        let near = [-FARTHEST, FARTHEST].map(f32::to_bits);
        let near = map.apply(&f::CLIP_F32, &[whole], &near);
        map.apply(&f::F32_TO_I64, &[near], &[])
    });
    let numbers = [
        coordinates(0, axis.cell()),
        coordinates(1, axis.cell()),
        Operand::numbers(1, [0; 8]),
        Operand::numbers(axis.cells.into(), [0; 8]),
    ];
    let [cell, next, one, all] = numbers.map(|it| {
        let number = map.input(it);
        map.apply(&f::U32_TO_U64, &[number], &[])
    });
    let wide = |map: &mut MapBuilder, function, a, b| map.apply(function, &[a, b], &[]);
    let length = wide(&mut map, &f::SUBTRACT_I64, last, first);
    let length = map.apply(&f::CLIP_I64, &[length], &[0, 0, u32::MAX, 0]);
    let length = wide(&mut map, &f::ADD_I64, length, one);
    let most = wide(&mut map, &f::SUBTRACT_I64, all, one);
    let mut share = |cell: Value, more: Option<Value>| {
        let mut share = wide(&mut map, &f::MULTIPLY_I64, cell, length);
        if let Some(more) = more {
            share = wide(&mut map, &f::ADD_I64, share, more);
        }
        share = wide(&mut map, &f::DIVIDE_U64, share, all);
        share = wide(&mut map, &f::ADD_I64, share, first);
        share = map.apply(&f::CLIP_I64, &[share], &[0, 0, axis.size, 0]);
        map.apply(&f::LOW_WORDS, &[share], &[])
    };
    let (start, end) = (share(cell, None), share(next, Some(most)));
    let count = map.apply(&f::SUBTRACT_I32, &[end, start], &[]);
    let mut offset = map.apply(&f::CHECKED_U32, &[start], &[axis.size, axis.stride]);
    if axis.at == 0 {
        let batch = regions.number(&mut map, BATCH);
        let index = map.apply(&f::F32_TO_U32, &[batch], &[]);
        offset = regions.in_batch(&mut map, offset, index, &f::NEAREST_U32);
    }
    // All bits are set for an empty cell.
    let is_none = map.apply(&f::LOGICAL_NOT_WORD, &[count], &[]);
    let mask = map.apply(&f::OPPOSITE_I32, &[is_none], &[]);
    let offset = map.apply(&f::BIT_OR_WORD, &[offset, mask], &[]);
    let count = map.apply(&f::THRESHOLD_U32, &[count], &[1]);
    map.apply(&f::PAIR, &[offset, count], &[]);
    let sizes = regions.table(axis, 1);
    regions.write(map, sizes, ElementWidth::B64)
}

/// Adds the steps that write the numbers of elements of the cells' parts: along the width in the low word,
/// and along the height in the high word.
fn counts(
    regions: &mut Regions<'_>,
    tables: &[Operand; 2],
    parts: &[[u32; 2]; 2],
) -> Result<Operand, Error> {
    let mut map = MapBuilder::default();
    let [rows, columns] = [0, 1].map(|at| {
        let [_, elements] = parts[at];
        let cell = map.input(tables[at].clone());
        let count = map.apply(&f::HIGH_WORDS, &[cell], &[]);
        let mut before = coordinates(0, PARTS + at);
        before.strides[PARTS + at] = elements.into();
        let before = map.input(before);
        let count = map.apply(&f::MAXIMUM_U32, &[count, before], &[]);
        let left = map.apply(&f::SUBTRACT_I32, &[count, before], &[]);
        map.apply(&f::CLIP_U32, &[left], &[0, elements])
    });
    map.apply(&f::PAIR, &[columns, rows], &[]);
    let mut sizes = [1; 8];
    sizes[REGION] = regions.sizes[REGION];
    for (axis, [count, _]) in regions.axes.iter().zip(parts) {
        sizes[axis.cell()] = axis.cells;
        sizes[PARTS + axis.at] = *count;
    }
    regions.write(map, sizes, ElementWidth::B64)
}

/// Adds the steps that find the greatest elements, and returns the program.
fn reduce(
    mut regions: Regions<'_>,
    input: Operand,
    tables: [Operand; 2],
    counts: Operand,
    parts: &[[u32; 2]; 2],
) -> Result<ir::Program, Error> {
    let mut map = MapBuilder::default();
    let cells = tables.map(|table| map.input(table));
    let number = map.inputs.len();
    map.input(counts);
    let mut sizes = regions.sizes;
    let mut within = Operand::numbers(0, [0; 8]);
    for (axis, [count, elements]) in regions.axes.iter().zip(parts) {
        (sizes[PARTS + axis.at], sizes[GRID + axis.at]) = (*count, *elements);
        within.strides[GRID + axis.at] = axis.stride.into();
        within.strides[PARTS + axis.at] = i64::from(axis.stride) * i64::from(*elements);
    }
    let within = map.input(within);
    let [y, x] = cells.map(|cell| map.apply(&f::LOW_WORDS, &[cell], &[]));
    let cell = map.apply(&f::JOINED, &[y, x], &[]);
    let by = map.apply(&f::JOINED, &[cell, within], &[]);
    let displacement = Some(Displacement::new(by, regions.reach()));
    let element = map.input(Operand { displacement, ..input });
    let element = map.apply(&f::SAME, &[element], &[]);
    map.apply_all(widened(regions.data_type), element);
    let program = std::mem::take(&mut map.computation.program);
    map.apply_all(narrowed(regions.data_type), Value::Input(0));
    let (last, parameters) = (map.computation.program, map.computation.parameters);
    let of_parts = Reduction { last, ..Reduction::of(&GREATEST_F32) };
    let of_grids = Reduction { program, parameters, ..of_parts.clone() };
    let space = |sizes, inputs, output| IterationSpace { sizes, inputs, output };
    if sizes[PARTS..GRID] == [1; 2] {
        let space = space(sizes, map.inputs, regions.of_cells);
        regions.recorder.reduce_grids(space, number, of_grids)?;
        return Ok(regions.recorder.finish());
    }
    let mut all = sizes;
    all[GRID..].fill(1);
    let greatest = regions.recorder.packed_temporary(ElementWidth::B32, &all);
    let of_grids = Reduction { last: Default::default(), ..of_grids };
    let grids = space(sizes, map.inputs, greatest.clone());
    regions.recorder.reduce_grids(grids, number, of_grids)?;
    regions.recorder.reduce(space(all, vec![greatest], regions.of_cells), of_parts)?;
    Ok(regions.recorder.finish())
}
