//! The elements of a row, joined on the host in the order of the tensor IR.

use std::ops::Range;

use dml_core::host::HostError;

use super::{Elements, Reducer};
use crate::element_wise::{Formula, LANES, QUAD, Row, low_word};

/// The numbers of a state; a reducer may have one.
pub(crate) type State = [u64; 2];

/// The elements of a row while they are joined: blocks of `length` elements, each in `lanes` lanes.
pub(crate) struct Joined {
    reducer: &'static Reducer,
    elements: Elements,
    length: u32,
    block: Vec<State>,
    blocks: Vec<State>,
}

impl Joined {
    /// No elements yet, of a row of these elements.
    pub(crate) fn of(reducer: &'static Reducer, elements: Elements) -> Self {
        Self::in_blocks(reducer, elements, elements.block_length(), LANES)
    }

    /// No elements yet, of a grid, all rows of which are one block.
    pub(super) fn of_grid(reducer: &'static Reducer) -> Self {
        Self::in_blocks(reducer, Elements::Values, u32::MAX, QUAD)
    }

    fn in_blocks(reducer: &'static Reducer, elements: Elements, length: u32, lanes: u32) -> Self {
        let block = vec![reducer.start(); lanes as usize];
        Self { reducer, elements, length, block, blocks: vec![] }
    }

    /// Joins the element with the number `at` to the elements before it.
    pub(super) fn add(&mut self, at: u32, element: u64) {
        if at > 0 && at.is_multiple_of(self.length) {
            let next = vec![self.reducer.start(); self.block.len()];
            self.blocks.push(self.reducer.tree(std::mem::replace(&mut self.block, next)));
        }
        let state = match self.elements {
            Elements::States if self.reducer.join.len() > 1 => {
                [low_word(element).into(), element >> 32]
            }
            // Rounding has lost nothing of an element.
            Elements::States | Elements::Values => [element, 0],
        };
        let lane = at as usize % self.block.len();
        self.block[lane] = self.reducer.join(self.block[lane], state);
    }

    /// The result of the row.
    pub(crate) fn result(mut self) -> u64 {
        self.blocks.push(self.reducer.tree(self.block));
        self.reducer.result(self.reducer.tree(self.blocks))
    }
}

impl Row<'_, '_> {
    /// Joins the values of a formula for the first `count` elements.
    pub(super) fn join(
        &mut self,
        all: &mut Joined,
        formula: &Formula,
        count: u32,
    ) -> Result<(), HostError> {
        (0..count).try_for_each(|at| {
            all.add(at, self.value(formula, at)?);
            Ok(())
        })
    }

    /// Joins the elements of an input, each after `step` coordinates: as many as there are in the row.
    pub(crate) fn join_parts(
        &mut self,
        reducer: &'static Reducer,
        input: usize,
        step: u32,
    ) -> Result<u64, HostError> {
        let mut all = Joined::of(reducer, reducer.parts());
        for at in 0..self.len().div_ceil(step) {
            all.add(at, self.element(input, at * step)?);
        }
        Ok(all.result())
    }

    /// Reduces the values of a formula for these elements.
    pub(crate) fn reduce_part(
        &mut self,
        reducer: &'static Reducer,
        formula: &Formula,
        elements: Range<u32>,
    ) -> Result<u64, HostError> {
        let mut all = Joined::of(reducer, Elements::Values);
        for at in elements.clone() {
            all.add(at - elements.start, self.value(formula, at)?);
        }
        Ok(all.result())
    }

    /// Reduces the values of a formula for the first `count` elements.
    pub(crate) fn reduce(
        &mut self,
        reducer: &'static Reducer,
        formula: &Formula,
        count: u32,
    ) -> Result<u64, HostError> {
        self.reduce_part(reducer, formula, 0..count)
    }
}

impl Reducer {
    /// The neutral state.
    fn start(&self) -> State {
        let [low, high] = self.neutral.map(u64::from);
        if self.is_wide() { [low | high << 32, 0] } else { [low, high] }
    }

    /// The join of all states, pairwise with their neighbours until one is left.
    fn tree(&self, mut states: Vec<State>) -> State {
        while states.len() > 1 {
            let pair = |pair: &[State]| match *pair {
                [left, right] => self.join(left, right),
                _ => pair[0],
            };
            states = states.chunks(2).map(pair).collect();
        }
        states[0]
    }

    /// The join of two states.
    pub(crate) fn join(&self, [one, rest]: State, [other, of_other]: State) -> State {
        let mut joined = [0; 2];
        for (number, function) in joined.iter_mut().zip(self.join) {
            *number = match self.join {
                [_] => (function.twin)(&[one, other]),
                _ => (function.twin)(&[one, rest, other, of_other]),
            };
        }
        joined
    }

    fn result(&self, state: State) -> u64 {
        self.result.first().map_or(state[0], |function| (function.twin)(&state))
    }
}
