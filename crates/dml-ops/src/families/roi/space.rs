//! Spaces of regions: offsets of cells' elements are computed first, in tables that all channels share.
//!
//! A cell is a grid of positions along the height and along the width. A table has a row for each cell along
//! one of these axes, and the reduction of a grid reads an offset from each table: their sum displaces the
//! input.

use dml_core::{DataType, Error, TensorLayout, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, Value};
use dml_spirv::functions::{self as f, Function};

use crate::Target;
use crate::ir::Recorder;
use crate::ir::space::Operand;
use crate::lowering::conversion::widened;
use crate::lowering::map_builder::MapBuilder;
use crate::lowering::operands::required;

/// The dimensions of spaces: the output's, parts of grids, and grids.
pub(super) const REGION: usize = 0;
pub(super) const CHANNEL: usize = 1;
pub(super) const CELLS: usize = 2;
pub(super) const PARTS: usize = 4;
pub(super) const GRID: usize = 6;

/// The tensors of an operator on regions.
pub(super) struct Regions<'a> {
    pub(super) operator: &'a Validated,
    pub(super) recorder: Recorder<'a>,
    pub(super) data_type: DataType,
    /// An element for each cell of each channel of each region.
    pub(super) of_cells: Operand,
    /// Its sizes.
    pub(super) sizes: [u32; DIMENSIONS],
    /// The first number of each region, and elements from a number to the next.
    numbers: Operand,
    number_stride: i64,
    /// The batch index of each region, unless it is one of the region's numbers.
    pub(super) batches: Option<Operand>,
    /// The number of the input's batches, and elements from one to the next.
    batch: [u32; 2],
    /// The height and the width.
    pub(super) axes: [Axis; 2],
}

/// A dimension of the input that regions extend along.
#[derive(Clone, Copy)]
pub(super) struct Axis {
    /// 0 for the height, 1 for the width.
    pub(super) at: usize,
    /// The number of the input's elements, and their stride.
    pub(super) size: u32,
    pub(super) stride: u32,
    /// The number of cells in a region.
    pub(super) cells: u32,
    /// The index of the first corner's coordinate among a region's numbers; the last corner's is two further on.
    corner: i64,
    /// The factor of the corners' coordinates.
    pub(super) scale: f32,
}

/// The tensors of an operator on regions.
pub(super) struct Tensors {
    /// Sizes and strides of the tensor that regions are in.
    pub(super) layout: [[u32; 4]; 2],
    /// The numbers of each region, and its batch index unless that is one of them.
    pub(super) numbers: Operand,
    pub(super) batches: Option<Operand>,
    /// One element for each cell.
    pub(super) of_cells: Operand,
}

impl<'a> Regions<'a> {
    /// The regions of an operator, each of which begins with a corner after so many other numbers. Corners
    /// are multiplied by `scales`, the height's first. Also returns the input: the elements at coordinate 0
    /// of all channels.
    pub(super) fn new(
        operator: &'a Validated,
        target: &'a Target<'a>,
        first_corner: i64,
        scales: [f32; 2],
    ) -> Result<(Self, Operand), Error> {
        let recorder = Recorder::new(operator, target);
        let mut inputs = recorder.inputs()?;
        let batches = if inputs.len() > 2 { inputs.pop().flatten() } else { None };
        let [input, numbers] = required(operator, inputs)?;
        let [of_cells] = required(operator, recorder.outputs()?)?;
        let from = operator.required_tensor("InputTensor")?;
        let layout = [from.sizes(), from.strides()].map(|it| [0, 1, 2, 3].map(|at| it[at]));
        let cells = operator.required_tensor("OutputTensor")?;
        let tensors = Tensors { layout, numbers, batches, of_cells };
        let regions = Self::of(operator, recorder, cells, tensors, (first_corner, scales));
        let input = Operand { strides: along(CHANNEL, layout[1][CHANNEL].into()), ..input };
        Ok((regions, input))
    }

    /// The space of these tensors, where `cells` has one element for each cell.
    pub(super) fn of(
        operator: &'a Validated,
        recorder: Recorder<'a>,
        cells: &TensorLayout,
        tensors: Tensors,
        (first_corner, scales): (i64, [f32; 2]),
    ) -> Self {
        const OF_REGIONS: usize = DIMENSIONS - 1;
        let Tensors { layout: [from, strides], numbers, batches, mut of_cells } = tensors;
        let axis = |at: usize| Axis {
            at,
            size: from[CELLS + at],
            stride: strides[CELLS + at],
            cells: cells.sizes()[CELLS + at],
            corner: first_corner + [1, 0][at],
            scale: scales[at],
        };
        let mut sizes = [1; DIMENSIONS];
        sizes[..PARTS].copy_from_slice(cells.sizes());
        of_cells.strides.rotate_left(PARTS);
        let region = numbers.strides[OF_REGIONS - 1];
        let batches = batches.map(|batch| {
            let strides = along(REGION, batch.strides[OF_REGIONS]);
            Operand { strides, ..batch }
        });
        Self {
            operator,
            recorder,
            data_type: cells.data_type(),
            of_cells,
            sizes,
            number_stride: numbers.strides[OF_REGIONS],
            numbers: Operand { strides: along(REGION, region), ..numbers },
            batches,
            batch: [from[REGION], strides[REGION]],
            axes: [axis(0), axis(1)],
        }
    }

    /// Adds a number of the region.
    pub(super) fn number(&self, map: &mut MapBuilder, at: i64) -> Value {
        let base = self.numbers.base + at * self.number_stride;
        let number = map.input(Operand { base, ..self.numbers.clone() });
        map.apply_all(widened(self.data_type), number)
    }

    /// Adds the coordinates of both corners, scaled.
    pub(super) fn corners(&self, map: &mut MapBuilder, axis: &Axis) -> [Value; 2] {
        [axis.corner, axis.corner + 2].map(|at| {
            let number = self.number(map, at);
            map.apply(&f::SCALE_BIAS_F32, &[number], &[axis.scale.to_bits(), 0])
        })
    }

    /// Adds the position of an element with an offset in its batch, from the batch's index.
    pub(super) fn in_batch(
        &self,
        map: &mut MapBuilder,
        offset: Value,
        index: Value,
        nearest: &'static Function,
    ) -> Value {
        let batch = map.apply(nearest, &[index], &self.batch);
        map.apply(&f::JOINED, &[batch, offset], &[])
    }

    /// The extent of a channel's elements.
    pub(super) fn reach(&self) -> u64 {
        let dimensions = self.axes.iter().map(|axis| [axis.size, axis.stride]).chain([self.batch]);
        dimensions.map(|[size, stride]| u64::from(size - 1) * u64::from(stride)).sum()
    }

    /// The sizes of a table with so many positions for each cell along an axis.
    pub(super) fn table(&self, axis: &Axis, places: u32) -> [u32; DIMENSIONS] {
        let mut sizes = [1; DIMENSIONS];
        sizes[REGION] = self.sizes[REGION];
        sizes[axis.cell()] = axis.cells;
        sizes[axis.place()] = places;
        sizes
    }

    /// Adds the steps that write the last value for each element of a table of these sizes.
    pub(super) fn write(
        &mut self,
        map: MapBuilder,
        sizes: [u32; DIMENSIONS],
        width: ElementWidth,
    ) -> Result<Operand, Error> {
        let table = self.recorder.packed_temporary(width, &sizes);
        map.record(&mut self.recorder, sizes, table.clone())?;
        Ok(table)
    }
}

impl Axis {
    /// The dimension of cells along the axis.
    pub(super) fn cell(&self) -> usize {
        CELLS + self.at
    }

    /// The dimension of a grid along the axis.
    pub(super) fn place(&self) -> usize {
        GRID + self.at
    }
}

/// The coordinates in a dimension, from `first` on.
pub(super) fn coordinates(first: i64, dimension: usize) -> Operand {
    Operand::numbers(first, along(dimension, 1))
}

/// The strides of an operand that goes along one dimension.
pub(super) fn along(dimension: usize, stride: i64) -> [i64; DIMENSIONS] {
    let mut strides = [0; DIMENSIONS];
    strides[dimension] = stride;
    strides
}
