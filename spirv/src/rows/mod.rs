//! Kernels that reduce rows and use the results, phase after phase: a softmax or a norm in one dispatch.

mod host;

use dml_core::capabilities::with_float_modes;
use dml_core::host::HostDispatch;
use dml_core::kernel::{KernelModule, Shared};
use dml_core::plan::Access as Touch;

use crate::NativeTypes;
use crate::element_wise::{
    AccessPattern, Calls, ElementFormula, Formula, KernelOperand, LinkedKernel, LinkedKernels,
    Quads, Registers, operands, touch,
};
use crate::kernels;
use crate::link::{self, Argument, Body, Call, Callee, Source as Skeleton};
use crate::reduce::{Elements, Form, Joining, Reducer};

/// The skeletons of a form, each with its number of outer dimensions.
type Skeletons = [(usize, &'static Skeleton); 2];

static BLOCKS: Skeletons = [(1, &kernels::ROWS_1), (7, &kernels::ROWS_7)];
static ONE_BLOCK: Skeletons = [(1, &kernels::ROWS_BLOCK_1), (7, &kernels::ROWS_BLOCK_7)];
static GROUPS: Skeletons = [(1, &kernels::ROWS_GROUP_1), (7, &kernels::ROWS_GROUP_7)];
static LONG: Skeletons = [(1, &kernels::ROWS_LONG_1), (7, &kernels::ROWS_LONG_7)];
static SEGMENTS: Skeletons = [(1, &kernels::ROWS_SEGMENTS_1), (7, &kernels::ROWS_SEGMENTS_7)];

/// The kernels that have been linked.
static LINKED: LinkedKernels<(Rows, NativeTypes)> = LinkedKernels::new();

/// The largest number of row values in a kernel.
pub const MAX_ROW_VALUES: usize = 16;

/// A kernel for rows, as a key for linking it. Its iteration space is that of an element-wise kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rows {
    /// The phases, in the order in which they run.
    pub phases: Vec<Phase>,
    /// The inputs: at most as many as an element-wise kernel has, and none displaced. [`Action::Store`] writes to some.
    pub inputs: Vec<KernelOperand>,
    /// The operand that is written.
    pub output: KernelOperand,
    /// The invocations that share a row; with [`Form::OneBlock`] no row is longer than a block.
    pub form: Form,
    /// The number of outer dimensions that is needed, at most 7.
    pub outer_dimensions: usize,
    /// Whether rows consist of whole quads, and which inputs all rows share.
    pub quads: Quads,
}

/// One pass over a row, or a computation with values of the row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Phase {
    /// The computation.
    pub formula: Formula,
    /// How its value is used.
    pub action: Action,
}

/// The use of the results of a phase's program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Reduces the results over the row, and makes the result of `last` a row value.
    Reduce {
        /// The reducer, whose states are numbers of 32 bits.
        reducer: &'static Reducer,
        /// The program that is applied to the reduction's result.
        last: ElementFormula,
    },
    /// Reduces the results over each segment, and writes the states to the output, which has one element for each. Only the
    /// last phase of a kernel of [`Form::Segments`].
    Segment {
        /// The reducer of parts, whose elements are numbers of 32 bits.
        reducer: &'static Reducer,
    },
    /// Joins the states of the row's segments, and makes the result of `last` a row value. The states are the elements of the
    /// only source, an input with one element for each segment. Only in kernels of [`Form::Segments`].
    Join {
        /// The reducer, whose states are numbers of 32 bits.
        reducer: &'static Reducer,
        /// The program that is applied to the result.
        last: ElementFormula,
    },
    /// The program computes a value of the row that is written.
    Store {
        /// The operand that is written.
        to: Destination,
    },
    /// The program computes a row value.
    Row,
    /// The program computes a value of each element that is kept, in one phase of a kernel of
    /// [`Form::Group`] at most.
    Keep,
    /// The program computes the elements of the output.
    Write,
}

/// The operand that a value of the row is written to: it has one element for each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Destination {
    /// The output, in the last phase of a kernel.
    Output,
    /// The input with this number. Only in kernels of [`Form::Segments`].
    Input(usize),
}

impl Action {
    /// Whether phases with this action make a row value.
    pub fn makes_row_value(&self) -> bool {
        matches!(self, Self::Reduce { .. } | Self::Join { .. } | Self::Row)
    }

    /// The reducer, and the elements that it joins.
    fn reducer(&self) -> Option<(&'static Reducer, Elements)> {
        match self {
            Self::Reduce { reducer, .. } | Self::Segment { reducer } => {
                Some((reducer, Elements::Values))
            }
            Self::Join { reducer, .. } => Some((reducer, reducer.parts())),
            Self::Row | Self::Keep | Self::Write | Self::Store { .. } => None,
        }
    }
}

impl Rows {
    /// The kernel's number of outer dimensions.
    pub fn skeleton_dimensions(&self) -> usize {
        self.skeleton().0
    }

    fn skeleton(&self) -> (usize, &'static Skeleton) {
        let [few, many] = match self.form {
            Form::Blocks => BLOCKS,
            Form::OneBlock => ONE_BLOCK,
            Form::Group => GROUPS,
            Form::Long => LONG,
            Form::Segments => SEGMENTS,
            Form::Columns | Form::CommonFactor { .. } | Form::ColumnGroups => {
                unreachable!("only kernels of one Reduce have it")
            }
        };
        if self.outer_dimensions <= few.0 { few } else { many }
    }

    /// The kernel's SPIR-V, with the bindings of an element-wise kernel. It may use `types`.
    pub fn spirv(&self, types: NativeTypes) -> Vec<u32> {
        let phases = self.phases.iter().enumerate().map(|(at, phase)| {
            let number = self.phases[..at].iter().filter(|it| it.action.makes_row_value()).count();
            let (name, bodies) = self.phase(phase, number, types);
            let callee = Callee::Instance { name, bodies };
            Call { callee, arguments: vec![Argument::Parameter(0)] }
        });
        let mut bodies = vec![("phases", phases.collect())];
        // The number of elements in a block is needed outside of phases, too.
        bodies.extend(self.first_joining().bodies(types));
        // Elements written before the last phase are read from another binding: buffers are Aliased in
        // every skeleton.
        with_float_modes(&link::link(self.skeleton().1, &bodies), types.float16.modes())
    }

    /// The skeleton's function for a phase, and the bodies of the functions that it calls. `number` row values are made
    /// before it.
    fn phase(&self, phase: &Phase, number: usize, types: NativeTypes) -> (&'static str, Vec<Body>) {
        let calls = || Calls::new(&self.inputs, types).of(self.quads);
        match &phase.action {
            Action::Reduce { reducer, last } => {
                let joining = self.joining(reducer, Elements::Values);
                let mut quad = calls();
                let element = phase.formula.result(&mut quad);
                let state = joining.state_of(&mut quad, element);
                let mut row = calls();
                let result = joining.result(&mut row);
                let result = row.run_on(last, vec![result]);
                let own =
                    [("quad", joining.quad(quad, state)), ("row", set_row(row, number, &result))];
                ("reduce_phase", joining.bodies(types).into_iter().chain(own).collect())
            }
            Action::Segment { reducer } => {
                let joining = self.joining(reducer, Elements::Values);
                let mut quad = calls();
                let element = phase.formula.result(&mut quad);
                let state = joining.state_of(&mut quad, element);
                let mut row = Calls::new(&self.inputs, types);
                let result = joining.result(&mut row);
                row.store(self.output, &result);
                let own = [("quad", joining.quad(quad, state)), ("row", row.made)];
                ("segment_phase", joining.bodies(types).into_iter().chain(own).collect())
            }
            Action::Join { reducer, last } => {
                let joining = self.joining(reducer, reducer.parts());
                let (states, inputs) = self.with_states(&phase.formula);
                let mut quad = Calls::new(&inputs, types);
                let state = joining.state_of_input(&mut quad, states);
                let mut row = calls();
                let result = joining.result(&mut row);
                let result = row.run_on(last, vec![result]);
                let own =
                    [("quad", joining.quad(quad, state)), ("row", set_row(row, number, &result))];
                ("join_phase", joining.bodies(types).into_iter().chain(own).collect())
            }
            Action::Store { to } => {
                let mut row = Calls::new(&self.inputs, types);
                let result = phase.formula.result(&mut row);
                match *to {
                    Destination::Output => row.store(self.output, &result),
                    Destination::Input(input) => row.store_to_input(input, &result),
                }
                ("store_phase", vec![("row", row.made)])
            }
            Action::Row => {
                let mut row = calls();
                let result = phase.formula.result(&mut row);
                ("row_phase", vec![("row", set_row(row, number, &result))])
            }
            Action::Keep => {
                let mut element = calls();
                let result = phase.formula.result(&mut element);
                element.call(Callee::Exported("keep"), vec![result[0]]);
                ("keep_phase", vec![("element", element.made)])
            }
            Action::Write => {
                let mut element = calls();
                let result = phase.formula.result(&mut element);
                element.store(self.output, &result);
                ("write_phase", vec![("element", element.made)])
            }
        }
    }

    fn joining(&self, reducer: &'static Reducer, elements: Elements) -> Joining {
        // Quads of states are not whole where those of elements are.
        let quads = match elements {
            Elements::Values => self.quads,
            Elements::States => Quads::default(),
        };
        Joining { reducer, elements, form: self.form, quads }
    }

    /// The input with the states that a phase joins, and the inputs, with one state after the other there.
    fn with_states(&self, formula: &Formula) -> (usize, Vec<KernelOperand>) {
        let states = formula.states();
        let mut inputs = self.inputs.clone();
        inputs[states].access = AccessPattern::Ragged;
        (states, inputs)
    }

    /// The joining of the first phase that reduces; every kernel has one.
    fn first_joining(&self) -> Joining {
        let mut reducers = self.phases.iter().filter_map(|phase| phase.action.reducer());
        let (reducer, elements) = reducers.next().expect("a kernel for rows reduces them");
        self.joining(reducer, elements)
    }

    /// The kernel as plans name it, which may use `types`, linked if nobody has it now.
    pub fn variant(&self, types: NativeTypes) -> Shared<KernelModule> {
        let kernel = Self { outer_dimensions: self.skeleton_dimensions(), ..self.clone() };
        LINKED.get((kernel, types), |(it, _)| it.module(types))
    }

    fn module(&self, types: NativeTypes) -> KernelModule {
        let (_, skeleton) = self.skeleton();
        let phases: Vec<String> = self.phases.iter().map(Phase::name).collect();
        let operands = operands(&self.inputs, self.output);
        let name = format!("{}{} {} {operands}", skeleton.name, self.quads, phases.join("; "));
        let kernel = self.clone();
        let host = move |dispatch: &mut HostDispatch<'_>| host::run(&kernel, dispatch);
        let linked =
            LinkedKernel { name, spirv: self.spirv(types), skeleton, host: Box::new(host) };
        let stored = |at| {
            let store = Action::Store { to: Destination::Input(at) };
            self.phases.iter().any(|phase| phase.action == store)
        };
        linked.module_that(&self.inputs, touch(self.output), |at| match stored(at) {
            true => touch(KernelOperand { access: AccessPattern::Ragged, ..self.inputs[at] }),
            false => Touch::Read,
        })
    }
}

impl Phase {
    /// The phase's part of the kernel's name, such as `reduce sum_f32 of f32.subtract f32.exp, then f32.divide_by`.
    fn name(&self) -> String {
        let of = self.formula.name();
        match &self.action {
            Action::Reduce { reducer, last } => format!("{reducer:?} of {of}, {}", last.name()),
            Action::Segment { reducer } => format!("segments {reducer:?} of {of}"),
            Action::Join { reducer, last } => format!("join {reducer:?} of {of}, {}", last.name()),
            Action::Store { to: Destination::Output } => format!("store {of}"),
            Action::Store { to: Destination::Input(input) } => format!("store {of} in i{input}"),
            Action::Row => format!("row {of}"),
            Action::Keep => format!("keep {of}"),
            Action::Write => format!("write {of}"),
        }
    }
}

/// The body that stores `value`, which `calls` has computed, as a row value.
pub(crate) fn set_row(mut calls: Calls<'_>, number: usize, value: &Registers) -> Vec<Call> {
    let number = Argument::Literal(u32::try_from(number).expect("a kernel has few values"));
    calls.call(Callee::Exported("set_row_value"), vec![number, value[0]]);
    calls.made
}
