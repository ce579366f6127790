//! `kernels/reduce.comp` on the host.

use dml_core::host::{HostDispatch, HostError};

use super::{COLUMNS, Elements, Form, LANES, Reduce, Reducer};
use crate::element_wise::{
    Access, OUTPUT, Operands, PushConstants, QUAD, Space, Value, Values, low_word,
};
use crate::twins::dispatch::{for_each_group_below, for_each_index};

/// The last outer dimension: the rows of a grid in a kernel for grids, or the columns in a kernel for columns.
const LAST_OUTER: usize = 6;

/// The numbers of a state.
type State = Vec<u64>;

/// Runs the kernel for every row of a dispatch.
pub(super) fn run(kernel: &Reduce, dispatch: &mut HostDispatch<'_>) -> Result<(), HostError> {
    let space = Space::of(kernel.skeleton_dimensions(), |index| dispatch.uniform_word(index));
    let push = PushConstants::of(dispatch);
    if kernel.form == Form::Columns {
        let of_a_row = Form::invocations_of_columns(space.last_size());
        return for_each_index(dispatch, push.first_group, push.count, |dispatch, index| {
            let coordinate = space.outer_coordinate(index / of_a_row);
            let first = index % of_a_row * COLUMNS;
            let place = |column| {
                let mut place = Place { coordinate, x: 0 };
                place.coordinate[LAST_OUTER] = column;
                place
            };
            let quads = (first..space.last_size().min(first + COLUMNS)).step_by(QUAD as usize);
            quads.into_iter().try_for_each(|first| {
                reduce_columns(kernel, &space, dispatch, &[0, 1, 2, 3].map(|it| place(first + it)))
            })
        });
    }
    if kernel.form == Form::ColumnGroups {
        return run_column_groups(kernel, &space, dispatch, &push);
    }
    let row = |dispatch: &mut HostDispatch<'_>, index| {
        let place = Place { coordinate: space.outer_coordinate(index), x: 0 };
        reduce_columns(kernel, &space, dispatch, &[place])
    };
    let blocks = space.inner().div_ceil(kernel.elements.block_length());
    let Some(rows) = kernel.form.rows_of_a_group(blocks) else {
        return for_each_index(dispatch, push.first_group, push.count, row);
    };
    let groups = push.count.div_ceil(rows);
    for_each_group_below(dispatch, push.first_group, groups, |dispatch, group| {
        let first = group * rows;
        (first..push.count.min(first + rows)).try_for_each(|index| row(dispatch, index))
    })
}

/// The first element of a row.
#[derive(Clone, Copy)]
struct Place {
    coordinate: [u32; LAST_OUTER + 1],
    x: u32,
}

/// Runs the kernel for work groups of columns.
fn run_column_groups(
    kernel: &Reduce,
    space: &Space,
    dispatch: &mut HostDispatch<'_>,
    push: &PushConstants,
) -> Result<(), HostError> {
    let blocks = space.last_size().div_ceil(kernel.elements.block_length());
    let of_a_row = Form::groups_of_columns(space.inner(), blocks);
    let columns = Form::columns_of_a_group(space.inner(), blocks);
    for_each_group_below(dispatch, push.first_group, push.count, |dispatch, group| {
        let coordinate = space.outer_coordinate(group / of_a_row);
        let first = group % of_a_row * columns;
        let end = space.inner().min(first + columns);
        (first..end).step_by(QUAD as usize).try_for_each(|first| {
            let quad = first..end.min(first + QUAD);
            let places: Vec<Place> = quad.map(|x| Place { coordinate, x }).collect();
            reduce_columns(kernel, space, dispatch, &places)
        })
    })
}

/// Reduces rows, whose results are in one quad of the output, and writes the results.
fn reduce_columns(
    kernel: &Reduce,
    space: &Space,
    dispatch: &mut HostDispatch<'_>,
    rows: &[Place],
) -> Result<(), HostError> {
    let operands = Operands { inputs: &kernel.inputs, output: kernel.output };
    let mut result = |row: &Place| {
        let value = reduced(kernel, space, dispatch, *row)?;
        Ok((space.element(OUTPUT, &row.coordinate, row.x), value))
    };
    let quad = rows.iter().map(&mut result).collect::<Result<Vec<_>, HostError>>()?;
    if kernel.output.access == Access::Whole && kernel.output.width.bits() < 32 {
        let values: Vec<u64> = quad.iter().map(|(_, value)| *value).collect();
        return operands.store_whole(dispatch, quad[0].0, &values);
    }
    quad.into_iter().try_for_each(|(element, value)| operands.store(dispatch, element, value))
}

/// The result of a row.
fn reduced(
    kernel: &Reduce,
    space: &Space,
    dispatch: &mut HostDispatch<'_>,
    Place { coordinate, x: first }: Place,
) -> Result<u64, HostError> {
    let operands = Operands { inputs: &kernel.inputs, output: kernel.output };
    let parameter = |index| space.parameter(index);
    let (columns, rows) = match kernel.grids {
        Some(input) => {
            let size = operands.load(dispatch, space, &coordinate, (input, 0), (0, 0))?;
            (low_word(size), low_word(size >> 32))
        }
        None if kernel.form == Form::ColumnGroups => (space.last_size(), 1),
        None => (space.inner(), 1),
    };
    let mut all = match kernel.grids {
        Some(_) => Joined::of(kernel.reducer, QUAD, u32::MAX),
        None => Joined::of(kernel.reducer, LANES, kernel.elements.block_length()),
    };
    for row in 0..rows {
        let mut coordinate = coordinate;
        if kernel.grids.is_some() {
            coordinate[LAST_OUTER] = row;
        }
        for at in 0..columns {
            let mut x = at;
            if kernel.form == Form::ColumnGroups {
                (coordinate[LAST_OUTER], x) = (at, first);
            }
            let load = |input, of| operands.load(dispatch, space, &coordinate, (input, of), (x, 0));
            let mut values = Values::of(&kernel.program, &kernel.inputs, load, parameter)?;
            match kernel.elements {
                Elements::States if kernel.reducer.join.len() > 1 => {
                    let words = values.get(Value::Input(0))?;
                    all.add_state(at, &vec![low_word(words).into(), words >> 32]);
                }
                Elements::Values | Elements::States => {
                    all.add(at, values.get(kernel.program.last())?);
                }
            }
        }
    }
    let result = all.result();
    // The reduced value is the first input of the last program.
    let first_end = kernel.elements_of_rows().len();
    let inputs = [&[kernel.output], &kernel.inputs[first_end..]].concat();
    let load = |input, by| match input {
        0 => Ok(result),
        _ => operands.load(dispatch, space, &coordinate, (first_end + input - 1, by), (first, 0)),
    };
    let mut values = Values::of(&kernel.last, &inputs, load, parameter)?;
    values.get(kernel.last.last())
}

/// The elements of a row while they are joined, in blocks of `length` and `lanes` lanes.
pub(crate) struct Joined {
    reducer: &'static Reducer,
    lanes: u32,
    length: u32,
    block: Vec<State>,
    blocks: Vec<State>,
}

impl Joined {
    /// No elements yet, of a row of values.
    pub(crate) fn of_values(reducer: &'static Reducer) -> Self {
        Self::of(reducer, LANES, Elements::Values.block_length())
    }

    fn of(reducer: &'static Reducer, lanes: u32, length: u32) -> Self {
        Self { reducer, lanes, length, block: Self::neutral(reducer, lanes), blocks: vec![] }
    }

    fn neutral(reducer: &Reducer, lanes: u32) -> Vec<State> {
        vec![reducer.start(); lanes as usize]
    }

    /// Joins the element with the number `at` to the elements before it.
    pub(crate) fn add(&mut self, at: u32, element: u64) {
        self.add_state(at, &self.reducer.state_of(element));
    }

    fn add_state(&mut self, at: u32, state: &State) {
        if at > 0 && at.is_multiple_of(self.length) {
            let next = Self::neutral(self.reducer, self.lanes);
            self.blocks.push(self.reducer.tree(std::mem::replace(&mut self.block, next)));
        }
        let lane = &mut self.block[(at % self.lanes) as usize];
        *lane = self.reducer.join(lane, state);
    }

    /// The result of the row.
    pub(crate) fn result(mut self) -> u64 {
        self.blocks.push(self.reducer.tree(self.block));
        self.reducer.result(&self.reducer.tree(self.blocks))
    }
}

impl Reducer {
    /// The state of an element, to which nothing has been lost by rounding.
    fn state_of(&self, element: u64) -> State {
        let mut state = vec![0; self.join.len()];
        state[0] = element;
        state
    }

    /// The join of all states, pairwise with their neighbours until one is left.
    fn tree(&self, mut states: Vec<State>) -> State {
        while states.len() > 1 {
            let pair = |pair: &[State]| match pair {
                [left, right] => self.join(left, right),
                alone => alone.concat(),
            };
            states = states.chunks(2).map(pair).collect();
        }
        states.concat()
    }

    fn join(&self, state: &State, other: &State) -> State {
        let numbers = [state.as_slice(), other].concat();
        self.join.iter().map(|function| (function.twin)(&numbers)).collect()
    }

    fn result(&self, state: &State) -> u64 {
        self.result.first().map_or(state[0], |function| (function.twin)(state))
    }
}
