//! `kernels/reduce.comp` on the host.

use dml_core::host::{HostDispatch, HostError};

use super::{Reduce, Reducer};
use crate::element_wise::{OUTPUT, Operands, PushConstants, QUAD, Space, Values, low_word};
use crate::twins::dispatch::for_each_index;

/// The outer dimension of a kernel for grids that goes through their rows.
const ROWS_OF_GRIDS: usize = 6;

/// The numbers of a state.
type State = Vec<u64>;

/// Runs the kernel for every row of a dispatch.
pub(super) fn run(kernel: &Reduce, dispatch: &mut HostDispatch<'_>) -> Result<(), HostError> {
    let space = Space::of(kernel.skeleton_dimensions(), |index| dispatch.uniform_word(index));
    let push = PushConstants::of(dispatch);
    let operands = Operands { inputs: &kernel.inputs, output: kernel.output };
    for_each_index(dispatch, push.first_group, push.count, |dispatch, index| {
        let coordinate = space.outer_coordinate(index);
        let parameter = |index| space.parameter(index);
        let mut lanes: [State; QUAD as usize] = std::array::from_fn(|_| kernel.reducer.start());
        let (columns, rows) = match kernel.grids {
            Some(input) => {
                let size = operands.load(dispatch, &space, &coordinate, (input, 0), (0, 0))?;
                (low_word(size), low_word(size >> 32))
            }
            None => (space.inner(), 1),
        };
        let with_row = |row| {
            let mut coordinate = coordinate;
            if kernel.grids.is_some() {
                coordinate[ROWS_OF_GRIDS] = row;
            }
            coordinate
        };
        let firsts = |row| (0..columns).step_by(QUAD as usize).map(move |first| (row, first));
        for (coordinate, first) in (0..rows).map(with_row).flat_map(firsts) {
            for (state, lane) in lanes.iter_mut().zip(0..QUAD.min(columns - first)) {
                let load = |input, by| {
                    operands.load(dispatch, &space, &coordinate, (input, by), (first, lane))
                };
                let mut values = Values::of(&kernel.program, &kernel.inputs, load, parameter)?;
                let element = values.get(kernel.program.last())?;
                *state = kernel.reducer.join(state, &kernel.reducer.state_of(element));
            }
        }
        let joined = |a: usize, b: usize| kernel.reducer.join(&lanes[a], &lanes[b]);
        let result = kernel.reducer.result(&kernel.reducer.join(&joined(0, 2), &joined(1, 3)));
        // What is reduced is the only input of the last program.
        let (only, load) = ([kernel.output], |_, _| Ok(result));
        let mut values = Values::of(&kernel.last, &only, load, parameter)?;
        let value = values.get(kernel.last.last())?;
        operands.store(dispatch, space.element(OUTPUT, &coordinate, 0), value)
    })
}

impl Reducer {
    /// That of an element, of which nothing is lost.
    fn state_of(&self, element: u64) -> State {
        let mut state = vec![0; self.join.len()];
        state[0] = element;
        state
    }

    fn join(&self, state: &State, other: &State) -> State {
        let numbers = [state.as_slice(), other].concat();
        self.join.iter().map(|function| (function.twin)(&numbers)).collect()
    }

    fn result(&self, state: &State) -> u64 {
        self.result.first().map_or(state[0], |function| (function.twin)(state))
    }
}
