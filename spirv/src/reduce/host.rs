//! `kernels/reduce.comp` on the host.

use dml_core::host::{HostDispatch, HostError};

use super::{COLUMNS, Form, Joined, NEIGHBOURS, Reduce};
use crate::element_wise::{Formula, KernelOperands, PushConstants, QUAD, Row, Source, low_word};
use crate::twins::dispatch::{for_each_group_below, for_each_index};

/// The last outer dimension: the rows of a grid in a kernel for grids, or the columns in a kernel for columns.
const LAST_OUTER: usize = 6;

/// Runs the kernel for every row of a dispatch.
pub(super) fn run(kernel: &Reduce, dispatch: &mut HostDispatch<'_>) -> Result<(), HostError> {
    let dimensions = kernel.skeleton_dimensions();
    let operands = KernelOperands::of(&kernel.inputs, kernel.output, dimensions, dispatch);
    let space = &operands.space;
    let reduction = Reduction::of(kernel);
    let push = PushConstants::of(dispatch);
    if kernel.form == Form::Columns {
        let of_a_row = Form::invocations_of_columns(space.last_size());
        return for_each_index(dispatch, push.first_group, push.count, |dispatch, index| {
            let mut row = Row::at(&operands, dispatch, space.outer_coordinate(index / of_a_row));
            let first = index % of_a_row * COLUMNS;
            let mut quads = (first..space.last_size().min(first + COLUMNS)).step_by(QUAD as usize);
            quads.try_for_each(|first| reduction.write_columns(&mut row, first))
        });
    }
    if matches!(kernel.form, Form::CommonFactor { .. }) {
        let rows = space.last_size();
        let of_neighbours = Form::invocations_of_neighbours(rows);
        return for_each_index(dispatch, push.first_group, push.count, |dispatch, index| {
            let coordinate = space.outer_coordinate(index / of_neighbours);
            let mut row = Row::at(&operands, dispatch, coordinate);
            let first = index % of_neighbours * NEIGHBOURS;
            (first..rows.min(first + NEIGHBOURS)).try_for_each(|neighbour| {
                row.coordinate[LAST_OUTER] = neighbour;
                let result = reduction.result(&mut row)?;
                row.store(row.place(0), result)
            })
        });
    }
    if kernel.form == Form::ColumnGroups {
        return reduction.run_column_groups(&operands, dispatch, &push);
    }
    let blocks = space.inner().div_ceil(kernel.elements.block_length());
    kernel.form.for_each_row(dispatch, &push, blocks, |dispatch, index| {
        let mut row = Row::at(&operands, dispatch, space.outer_coordinate(index));
        let result = reduction.result(&mut row)?;
        row.store(row.place(0), result)
    })
}

impl Form {
    /// Runs `main` with the number of each row, of so many blocks, in a dispatch.
    pub(crate) fn for_each_row(
        self,
        dispatch: &mut HostDispatch<'_>,
        push: &PushConstants,
        blocks: u32,
        mut main: impl FnMut(&mut HostDispatch<'_>, u32) -> Result<(), HostError>,
    ) -> Result<(), HostError> {
        let Some(rows) = self.rows_of_a_group(blocks) else {
            return for_each_index(dispatch, push.first_group, push.count, main);
        };
        let groups = push.count.div_ceil(rows);
        for_each_group_below(dispatch, push.first_group, groups, |dispatch, group| {
            let first = group * rows;
            (first..push.count.min(first + rows)).try_for_each(|index| main(dispatch, index))
        })
    }
}

/// A kernel's formulas.
struct Reduction<'a> {
    kernel: &'a Reduce,
    /// The values that are joined.
    elements: Formula,
    /// The result, of the row's value, which the reducer gives, and the inputs at the end.
    last: Formula,
}

impl<'a> Reduction<'a> {
    fn of(kernel: &'a Reduce) -> Self {
        let first = kernel.elements_of_rows().len();
        let ends = (first..kernel.inputs.len()).map(Source::Operand);
        let sources = [Source::Row(0)].into_iter().chain(ends).collect();
        Self {
            kernel,
            elements: Formula::of_operands(&kernel.program, first),
            last: Formula { sources, program: kernel.last.clone() },
        }
    }

    /// Runs the kernel for work groups of columns, whose elements lie along the last outer dimension.
    fn run_column_groups(
        &self,
        operands: &KernelOperands<'_>,
        dispatch: &mut HostDispatch<'_>,
        push: &PushConstants,
    ) -> Result<(), HostError> {
        let space = &operands.space;
        let (all, length) = (space.inner(), space.last_size());
        let blocks = length.div_ceil(self.kernel.elements.block_length());
        let of_a_row = Form::groups_of_columns(all, blocks);
        let columns = Form::columns_of_a_group(all, blocks);
        for_each_group_below(dispatch, push.first_group, push.count, |dispatch, group| {
            let mut row = Row::at(operands, dispatch, space.outer_coordinate(group / of_a_row));
            let first = group % of_a_row * columns;
            let end = all.min(first + columns);
            (first..end).step_by(QUAD as usize).try_for_each(|first| {
                let mut quad = vec![];
                for column in first..end.min(first + QUAD) {
                    quad.push((row.place(column), self.column(&mut row, column, length)?));
                }
                row.store_quad(&quad)
            })
        })
    }

    /// The result of a column of so many elements.
    fn column(&self, row: &mut Row<'_, '_>, column: u32, length: u32) -> Result<u64, HostError> {
        let mut all = Joined::of(self.kernel.reducer, self.kernel.elements);
        let first = row.coordinate[LAST_OUTER];
        for at in 0..length {
            row.coordinate[LAST_OUTER] = at;
            all.add(at, row.value(&self.elements, column)?);
        }
        row.coordinate[LAST_OUTER] = first;
        row.values = vec![all.result()];
        row.value(&self.last, column)
    }

    /// Writes the results of a quad of columns.
    fn write_columns(&self, row: &mut Row<'_, '_>, first: u32) -> Result<(), HostError> {
        let mut quad = vec![];
        for column in first..first + QUAD {
            row.coordinate[LAST_OUTER] = column;
            quad.push((row.place(0), self.result(row)?));
        }
        row.store_quad(&quad)
    }

    /// The result of a row or of a grid.
    fn result(&self, row: &mut Row<'_, '_>) -> Result<u64, HostError> {
        let joined = match self.kernel.grids {
            Some(size) => self.joined_grid(row, size)?,
            None => {
                let mut all = Joined::of(self.kernel.reducer, self.kernel.elements);
                row.join(&mut all, &self.elements, row.len())?;
                all
            }
        };
        row.values = vec![joined.result()];
        row.value(&self.last, 0)
    }

    /// The elements of a grid, whose size is an element of an input.
    fn joined_grid(&self, row: &mut Row<'_, '_>, size: usize) -> Result<Joined, HostError> {
        let size = row.element(size, 0)?;
        let mut all = Joined::of_grid(self.kernel.reducer);
        for of_grid in 0..low_word(size >> 32) {
            row.coordinate[LAST_OUTER] = of_grid;
            row.join(&mut all, &self.elements, low_word(size))?;
        }
        row.coordinate[LAST_OUTER] = 0;
        Ok(all)
    }
}
