//! How a kernel joins the elements of rows: bodies for the functions that `kernels/include/rows.glsl` declares.

use super::{Elements, Form, Reducer};
use crate::NativeTypes;
use crate::element_wise::{COUNT, Calls, ElementFormula, LANES, QUAD, Quads, Registers, Value};
use crate::functions as f;
use crate::link::{Argument, Body, Call, Callee};

/// The reducer of a kernel, and how invocations share its work.
#[derive(Clone, Copy)]
pub(crate) struct Joining {
    pub(crate) reducer: &'static Reducer,
    pub(crate) elements: Elements,
    pub(crate) form: Form,
    pub(crate) quads: Quads,
}

impl Joining {
    /// All bodies except those that join a quad and write the result.
    pub(crate) fn bodies(self, types: NativeTypes) -> Vec<Body> {
        vec![
            ("start", self.start(types)),
            ("join", self.join(types)),
            ("pairs", self.pairs(types)),
            ("lanes", self.lanes(types)),
            ("length", self.length(types)),
        ]
    }

    /// The body that joins the elements of a quad, which `calls` has loaded or computed, to the state.
    pub(crate) fn quad(self, mut calls: Calls<'_>, element: Registers) -> Vec<Call> {
        let state = self.held(&mut calls, STATE_AT);
        let joined = match self.reducer.is_wide() {
            true => calls.apply(self.reducer.join[0], &[state, element], &[]),
            false => self.joined(&mut calls, &state, &element),
        };
        // A work group has quads past the end of a row, too.
        let is_whole = self.quads.are_whole && self.form.rows_of_a_group(1).is_none();
        for (value, part) in joined.into_iter().zip(0..) {
            let [register, part] = [Argument::Parameter(STATE_AT + part), literal(part)];
            let (name, arguments) = match self.reducer.is_wide() {
                _ if is_whole => ("replace", vec![register, value]),
                true => ("hold_wide", vec![register, value, COUNT, part]),
                false => ("hold", vec![register, value, COUNT]),
            };
            calls.call(Callee::Exported(name), arguments);
        }
        calls.made
    }

    /// The states of the elements of a quad, which `program` computes from the inputs; of a wide
    /// reducer its elements.
    pub(crate) fn element(self, calls: &mut Calls<'_>, program: &ElementFormula) -> Registers {
        match self.elements {
            Elements::States => self.state_of_input(calls, 0),
            Elements::Values => {
                let value = calls.run(program);
                self.state_of(calls, value)
            }
        }
    }

    /// The states that are the elements of an input.
    pub(crate) fn state_of_input(self, calls: &mut Calls<'_>, input: usize) -> Registers {
        let words = calls.value(Value::Input(input));
        if self.reducer.registers() == 1 || self.reducer.is_wide() {
            return self.state_of(calls, words);
        }
        let word = |it| calls.apply(it, std::slice::from_ref(&words), &[]);
        [&f::LOW_WORDS, &f::HIGH_WORDS].into_iter().flat_map(word).collect()
    }

    /// The state of an element, to which nothing has been lost by rounding.
    pub(crate) fn state_of(self, calls: &mut Calls<'_>, element: Registers) -> Registers {
        let mut state = element;
        if !self.reducer.is_wide() {
            let rest = calls.call(Callee::Exported("nothing"), vec![]);
            state.resize(self.reducer.join.len(), rest);
        }
        state
    }

    /// The result of the state in the first lane.
    pub(crate) fn result(self, calls: &mut Calls<'_>) -> Registers {
        let state = self.held(calls, STATE_AT);
        let [result] = self.reducer.result else { return state };
        let registers: Vec<Registers> = state.iter().map(|it| vec![*it]).collect();
        calls.apply(result, &registers, &[])
    }

    /// Sets the state to the neutral one.
    fn start(self, types: NativeTypes) -> Vec<Call> {
        let mut calls = Calls::new(&[], types);
        for at in 0..self.reducer.registers() {
            let neutral = self.reducer.neutral;
            let words = if self.reducer.is_wide() { neutral } else { [neutral[at]; 2] };
            let [low, high] = words.map(Argument::Literal);
            calls
                .call(Callee::Exported("set"), vec![Argument::Parameter(START_AT + at), low, high]);
        }
        calls.made
    }

    /// Sets the number of elements in a block, and the number of lanes.
    fn length(self, types: NativeTypes) -> Vec<Call> {
        let mut calls = Calls::new(&[], types);
        let is_one_chain = self.form == Form::OneBlock && self.reducer.has_any_order();
        let lanes = if is_one_chain { QUAD } else { LANES };
        let length = [self.elements.block_length(), lanes].map(Argument::Literal);
        let arguments = [&[Argument::Parameter(0)], length.as_slice()].concat();
        calls.call(Callee::Exported("set"), arguments);
        calls.made
    }

    /// Joins a state with its right neighbour.
    fn join(self, types: NativeTypes) -> Vec<Call> {
        let mut calls = Calls::new(&[], types);
        let [left, right] = [0, RIGHT_AT].map(|at| self.held(&mut calls, at));
        let joined = self.joined_alike(&mut calls, left, right);
        hold(&mut calls, joined);
        calls.made
    }

    /// Joins the lanes of two quads with their neighbours.
    fn pairs(self, types: NativeTypes) -> Vec<Call> {
        if self.reducer.is_wide() {
            return self.join(types);
        }
        let mut calls = Calls::new(&[], types);
        let [one, other] = [0, RIGHT_AT].map(|at| self.held(&mut calls, at));
        let joined = self.joined_neighbours(&mut calls, &one, &other);
        hold(&mut calls, joined);
        calls.made
    }

    /// Joins all lanes of a quad.
    fn lanes(self, types: NativeTypes) -> Vec<Call> {
        let mut calls = Calls::new(&[], types);
        let state = self.held(&mut calls, 0);
        let joined = if self.reducer.is_wide() {
            let half = self.joined(&mut calls, &state[..1], &state[1..]);
            let other = calls.call(Callee::Exported("upper_half"), vec![half[0]]);
            self.joined(&mut calls, &half, &[other])
        } else {
            let pairs = self.joined_neighbours(&mut calls, &state, &state);
            self.joined_neighbours(&mut calls, &pairs, &pairs)
        };
        hold(&mut calls, joined);
        calls.made
    }

    /// The registers of a state, the first of which is the parameter `first`.
    fn held(self, calls: &mut Calls<'_>, first: usize) -> Registers {
        let registers = (0..self.reducer.registers()).map(|at| Argument::Parameter(first + at));
        registers.map(|register| calls.call(Callee::Exported("held"), vec![register])).collect()
    }

    /// The join of two states, lane by lane.
    fn joined_alike(self, calls: &mut Calls<'_>, left: Registers, right: Registers) -> Registers {
        match self.reducer.is_wide() {
            true => calls.apply(self.reducer.join[0], &[left, right], &[]),
            false => self.joined(calls, &left, &right),
        }
    }

    /// The lanes of two quads, each joined with its neighbouring lane.
    fn joined_neighbours(
        self,
        calls: &mut Calls<'_>,
        one: &[Argument],
        other: &[Argument],
    ) -> Registers {
        let mut lanes = |name| -> Registers {
            let registers = one.iter().zip(other);
            registers.map(|(a, b)| calls.call(Callee::Exported(name), vec![*a, *b])).collect()
        };
        let [left, right] = ["left_lanes", "right_lanes"].map(&mut lanes);
        self.joined(calls, &left, &right)
    }

    /// The join of two states.
    fn joined(self, calls: &mut Calls<'_>, state: &[Argument], other: &[Argument]) -> Registers {
        let arguments: Vec<Registers> = state.iter().chain(other).map(|it| vec![*it]).collect();
        self.reducer.join.iter().flat_map(|it| calls.apply(it, &arguments, &[])).collect()
    }
}

/// Stores values in the state that is the first parameter of a body.
fn hold(calls: &mut Calls<'_>, state: Registers) {
    for (value, at) in state.into_iter().zip(0..) {
        let arguments = vec![Argument::Parameter(at), value, Argument::Literal(QUAD)];
        calls.call(Callee::Exported("hold"), arguments);
    }
}

/// The parameter of a body that is the first register of a state: of the state before a row, of the state in
/// bodies that have a coordinate, and of a right neighbour's state.
const START_AT: usize = 0;
pub(crate) const STATE_AT: usize = 4;
const RIGHT_AT: usize = 2;

fn literal(value: usize) -> Argument {
    Argument::Literal(u32::try_from(value).expect("a part"))
}
