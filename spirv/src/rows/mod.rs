//! Kernels that reduce rows and use the results, phase after phase: a softmax or a norm in one dispatch.

mod host;

use dml_core::capabilities::with_float_modes;
use dml_core::host::HostDispatch;
use dml_core::kernel::{KernelModule, Shared};

use crate::NativeTypes;
use crate::element_wise::{
    Calls, ElementFormula, Formula, KernelOperand, LinkedKernel, LinkedKernels, Quads, Registers,
    operands, touch,
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

/// The kernels that have been linked.
static LINKED: LinkedKernels<(Rows, NativeTypes)> = LinkedKernels::new();

/// The largest number of row values in a kernel.
pub const MAX_ROW_VALUES: usize = 16;

/// A kernel for rows, as a key for linking it. Its iteration space is that of an element-wise kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rows {
    /// The phases, in the order in which they run.
    pub phases: Vec<Phase>,
    /// The inputs: at most as many as an element-wise kernel has, and none displaced.
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
    /// The program computes a row value.
    Row,
    /// The program computes a value of each element that is kept, in one phase of a kernel of
    /// [`Form::Group`] at most.
    Keep,
    /// The program computes the elements of the output.
    Write,
}

impl Action {
    /// Whether phases with this action and with the other are numbered together.
    fn numbers_like(&self, other: &Self) -> bool {
        match other {
            Self::Keep | Self::Write => self == other,
            Self::Reduce { .. } | Self::Row => matches!(self, Self::Reduce { .. } | Self::Row),
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
            Form::Columns | Form::ColumnGroups => {
                unreachable!("only kernels of one Reduce have it")
            }
        };
        if self.outer_dimensions <= few.0 { few } else { many }
    }

    /// The kernel's SPIR-V, with the bindings of an element-wise kernel. It may use `types`.
    pub fn spirv(&self, types: NativeTypes) -> Vec<u32> {
        let phases = self.phases.iter().enumerate().map(|(at, phase)| {
            let before = self.phases[..at].iter();
            let number = before.filter(|it| it.action.numbers_like(&phase.action)).count();
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

    /// The skeleton's function for a phase, and the bodies of the functions that it calls. Its result
    /// has the number `number`.
    fn phase(&self, phase: &Phase, number: usize, types: NativeTypes) -> (&'static str, Vec<Body>) {
        let calls = || Calls::new(&self.inputs, types).of(self.quads);
        match &phase.action {
            Action::Reduce { reducer, last } => {
                let joining = self.joining(reducer);
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

    fn joining(&self, reducer: &'static Reducer) -> Joining {
        Joining { reducer, elements: Elements::Values, form: self.form, quads: self.quads }
    }

    /// The joining of the first phase that reduces; every kernel has one.
    fn first_joining(&self) -> Joining {
        let mut reducers = self.phases.iter().filter_map(|phase| match phase.action {
            Action::Reduce { reducer, .. } => Some(reducer),
            _ => None,
        });
        self.joining(reducers.next().expect("a kernel for rows reduces them"))
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
        linked.module(&self.inputs, touch(self.output))
    }
}

impl Phase {
    /// The phase's part of the kernel's name, such as `reduce sum_f32 of f32.subtract f32.exp, then f32.divide_by`.
    fn name(&self) -> String {
        let of = self.formula.name();
        match &self.action {
            Action::Reduce { reducer, last } => format!("{reducer:?} of {of}, {}", last.name()),
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
