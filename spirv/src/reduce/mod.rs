//! Kernels that make one element of every row: a program on its elements, a reducer that joins them, and a
//! program on what comes out.

mod host;
mod reducer;

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use dml_core::capabilities::with_float_modes;
use dml_core::host::HostDispatch;
use dml_core::kernel::KernelModule;

use crate::NativeTypes;
use crate::element_wise::{
    COUNT, Calls, LinkedKernel, Operand, Program, Registers, Skeletons, Value, least, operands,
    touch,
};
use crate::kernels;
use crate::link::{self, Argument, Call, Callee, Source};

pub use reducer::*;

/// The skeletons by the number of outer dimensions that they have.
static SKELETONS: Skeletons = [
    (0, &kernels::REDUCE_0),
    (1, &kernels::REDUCE_1),
    (2, &kernels::REDUCE_2),
    (4, &kernels::REDUCE_4),
    (7, &kernels::REDUCE_7),
];

/// The one for grids.
static GRIDS: (usize, &Source) = (7, &kernels::REDUCE_GRIDS);

/// What is linked already.
static LINKED: LazyLock<Mutex<HashMap<(Reduce, NativeTypes), &'static KernelModule>>> =
    LazyLock::new(Mutex::default);

/// A kernel for rows: what is linked for it. Its space is an element-wise kernel's, of whose rows each
/// invocation has one; the output has one element for a row.
///
/// A row may be a *grid*: then the last outer dimension, whose size is 1 in the record, is that of its rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reduce {
    /// What becomes of each element before.
    pub program: Program,
    /// How those of a row become one.
    pub reducer: &'static Reducer,
    /// What becomes of that one.
    pub last: Program,
    /// At most as many as an element-wise kernel has, at least those that the program names.
    pub inputs: Vec<Operand>,
    /// The input whose elements, of 64 bits, say how many columns and, in the high word, how many rows each
    /// grid has; none for rows.
    pub grids: Option<usize>,
    /// What is written, by single elements.
    pub output: Operand,
    /// The least number of outer dimensions, at most 7.
    pub outer_dimensions: usize,
}

impl Reduce {
    /// The outer dimensions that the kernel has.
    pub fn skeleton_dimensions(&self) -> usize {
        self.skeleton().0
    }

    fn skeleton(&self) -> (usize, &'static Source) {
        if self.grids.is_some() { GRIDS } else { least(&SKELETONS, self.outer_dimensions) }
    }

    /// The kernel's SPIR-V, with the bindings of an element-wise one. It may use `types`.
    pub fn spirv(&self, types: NativeTypes) -> Vec<u32> {
        let bodies =
            [("start", self.start(types)), ("quad", self.quad(types)), ("row", self.row(types))];
        let size = self.grids.map(|input| ("size", self.size(input, types)));
        let bodies: Vec<_> = bodies.into_iter().chain(size).collect();
        with_float_modes(&link::link(self.skeleton().1, &bodies), types.float16.modes())
    }

    /// The kernel as plans name it, which may use `types`, linked at the first call and never given up.
    pub fn variant(&self, types: NativeTypes) -> &'static KernelModule {
        let mut linked = LINKED.lock().unwrap_or_else(PoisonError::into_inner);
        let kernel = Self { outer_dimensions: self.skeleton_dimensions(), ..self.clone() };
        linked
            .entry((kernel, types))
            .or_insert_with_key(|(it, _)| Box::leak(Box::new(it.module(types))))
    }

    fn module(&self, types: NativeTypes) -> KernelModule {
        let (_, skeleton) = self.skeleton();
        let (program, last) = (self.program.name(), self.last.name());
        let operands = operands(&self.inputs, self.output);
        let sizes = self.grids.map(|it| format!(" by {it}")).unwrap_or_default();
        let reducer = self.reducer;
        let name = format!("{}{sizes} {program}, {reducer:?}, {last} {operands}", skeleton.name);
        let kernel = self.clone();
        let host = move |dispatch: &mut HostDispatch<'_>| host::run(&kernel, dispatch);
        let linked =
            LinkedKernel { name, spirv: self.spirv(types), skeleton, host: Box::new(host) };
        linked.module(&self.inputs, touch(self.output))
    }

    /// Sets the state to what changes nothing that is joined to it.
    fn start(&self, types: NativeTypes) -> Vec<Call> {
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

    /// Sets the size of a grid to what an input says.
    fn size(&self, input: usize, types: NativeTypes) -> Vec<Call> {
        let mut calls = Calls::new(&self.inputs, types);
        let size = calls.value(Value::Input(input))[0];
        calls.call(Callee::Exported("hold"), vec![Argument::Parameter(STATE_AT), size, COUNT]);
        calls.made
    }

    /// Joins a quad to the state.
    fn quad(&self, types: NativeTypes) -> Vec<Call> {
        let mut calls = Calls::new(&self.inputs, types);
        let elements = calls.run(&self.program);
        let state = self.held(&mut calls);
        let joined = match self.reducer.is_wide() {
            true => calls.apply(self.reducer.join[0], &[state, elements], &[]),
            false => {
                // Nothing is lost of an element.
                let rest = calls.call(Callee::Exported("nothing"), vec![]);
                let rests = vec![rest; self.reducer.join.len() - 1];
                self.joined(&mut calls, &state, &[elements, rests].concat())
            }
        };
        for (value, part) in joined.into_iter().zip(0..) {
            let [register, part] = [Argument::Parameter(STATE_AT + part), literal(part)];
            match self.reducer.is_wide() {
                true => {
                    calls.call(Callee::Exported("hold_wide"), vec![register, value, COUNT, part])
                }
                false => calls.call(Callee::Exported("hold"), vec![register, value, COUNT]),
            };
        }
        calls.made
    }

    /// Joins the lanes, and writes what they are.
    fn row(&self, types: NativeTypes) -> Vec<Call> {
        let mut calls = Calls::new(&[], types);
        let mut state = self.held(&mut calls);
        if self.reducer.is_wide() {
            state = self.joined(&mut calls, &state[..1], &state[1..]);
            state = self.joined_with(&mut calls, "upper_half", &state);
            // The element is in the first part.
            state.push(state[0]);
        } else {
            state = self.joined_with(&mut calls, "upper_half", &state);
            state = self.joined_with(&mut calls, "second", &state);
        }
        if let [result] = self.reducer.result {
            let registers: Vec<Registers> = state.iter().map(|it| vec![*it]).collect();
            state = calls.apply(result, &registers, &[]);
        }
        let result = calls.run_on(&self.last, state);
        calls.store(self.output, &result);
        calls.made
    }

    /// The registers of the state.
    fn held(&self, calls: &mut Calls<'_>) -> Registers {
        let registers = (0..self.reducer.registers()).map(|at| Argument::Parameter(STATE_AT + at));
        registers.map(|it| calls.call(Callee::Exported("held"), vec![it])).collect()
    }

    /// Two states as one.
    fn joined(&self, calls: &mut Calls<'_>, state: &[Argument], other: &[Argument]) -> Registers {
        let arguments: Vec<Registers> = state.iter().chain(other).map(|it| vec![*it]).collect();
        self.reducer.join.iter().flat_map(|it| calls.apply(it, &arguments, &[])).collect()
    }

    /// A state with that of its other lanes.
    fn joined_with(
        &self,
        calls: &mut Calls<'_>,
        lanes: &'static str,
        state: &[Argument],
    ) -> Registers {
        let others = state.iter().map(|it| calls.call(Callee::Exported(lanes), vec![*it]));
        let others: Registers = others.collect();
        self.joined(calls, state, &others)
    }
}

/// Which parameter of a body the first register of the state is: of that before the row, and of the others.
const START_AT: usize = 0;
const STATE_AT: usize = 4;

fn literal(value: usize) -> Argument {
    Argument::Literal(u32::try_from(value).expect("a part"))
}
