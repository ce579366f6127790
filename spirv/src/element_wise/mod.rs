//! Element-wise kernels: a program on every element of an iteration space.

mod calls;
mod formula;
mod host;
mod lanes;
mod memory;
mod module;
mod program;
mod push;
mod record;
mod row;
mod size;
mod steps;

use dml_core::capabilities::with_float_modes;
use dml_core::host::HostDispatch;
use dml_core::kernel::{KernelModule, Shared};

use crate::NativeTypes;
use crate::kernels;
use crate::link;

pub(crate) use calls::{COUNT, Calls, Registers};
pub(crate) use lanes::{can_read, inputs_of};
pub(crate) use memory::{KernelOperands, low_word};
pub(crate) use module::{LinkedKernel, LinkedKernels, operands, touch};
pub(crate) use row::Row;

pub use calls::Quads;
pub use formula::{Formula, Source};
pub use lanes::LANES;
pub use program::{AccessPattern, ElementFormula, Evaluated, KernelOperand, MAX_INPUTS};
pub use push::PushConstants;
pub use record::{BLOCK_WORDS, DIMENSIONS, Divisor, MAX_PARAMETERS, OperandRecord, QUAD, Record};
pub use size::{estimated_bytes, estimated_bytes_of};
pub use steps::{FunctionCall, Steps, Value};

/// The variants of a skeleton, each with its number of outer dimensions.
pub(crate) type Skeletons = [(usize, &'static link::Source); 5];

/// The variant with the fewest outer dimensions that are enough.
pub(crate) fn least(
    skeletons: &'static Skeletons,
    outer_dimensions: usize,
) -> (usize, &'static link::Source) {
    let fits = |it: &&(usize, &link::Source)| it.0 >= outer_dimensions;
    *skeletons.iter().find(fits).expect("a space has at most seven outer dimensions")
}

/// The skeletons, by their number of outer dimensions.
static SKELETONS: Skeletons = [
    (0, &kernels::ELEMENT_WISE_0),
    (1, &kernels::ELEMENT_WISE_1),
    (2, &kernels::ELEMENT_WISE_2),
    (4, &kernels::ELEMENT_WISE_4),
    (7, &kernels::ELEMENT_WISE_7),
];

/// The kernels that have been linked.
static LINKED: LinkedKernels<(ElementWise, NativeTypes)> = LinkedKernels::new();

/// An element-wise kernel, as a key for linking it. It is independent of sizes and strides.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ElementWise {
    /// The computation on each element.
    pub program: ElementFormula,
    /// The inputs: at most [`MAX_INPUTS`], and all that the program names.
    pub inputs: Vec<KernelOperand>,
    /// The operand that is written.
    pub output: KernelOperand,
    /// A second result that is written to the output; `None` for most kernels.
    pub second: Option<Second>,
    /// The number of outer dimensions that is needed, at most 7.
    pub outer_dimensions: usize,
}

/// A second result of each element: another value of the program, as wide as the output's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Second {
    /// The value that is written.
    pub value: Value,
    /// The parameter with its place: so many elements of the output after the first result, modulo 2^32.
    pub distance: u32,
}

impl ElementWise {
    /// The kernel's number of outer dimensions: the one that is needed, or the next larger one that has a skeleton.
    pub fn skeleton_dimensions(&self) -> usize {
        self.skeleton().0
    }

    fn skeleton(&self) -> (usize, &'static link::Source) {
        least(&SKELETONS, self.outer_dimensions)
    }

    /// The kernel's SPIR-V. Its storage buffers are at bindings 0 to 6 for inputs and 7 for the
    /// output, the [`Record`] is the uniform block at binding 8. It may use `types`.
    pub fn spirv(&self, types: NativeTypes) -> Vec<u32> {
        let types = types.within(self.program.steps.iter().map(|step| step.function));
        let calls = calls::calls(self, types);
        let linked = link::link(self.skeleton().1, &[("quad", calls)]);
        with_float_modes(&linked, types.float16.modes())
    }

    /// The kernel as plans name it, which may use `types`, linked if nobody has it now. The number of kernels grows
    /// with programs and classes of strides, not with shapes.
    pub fn variant(&self, types: NativeTypes) -> Shared<KernelModule> {
        // Spaces with one skeleton have one kernel.
        let kernel = Self { outer_dimensions: self.skeleton_dimensions(), ..self.clone() };
        LINKED.get((kernel, types), |(it, _)| it.module(types))
    }

    /// The key and the types that `variant` was linked for; `None` if it is not an element-wise kernel.
    pub fn of(variant: &KernelModule) -> Option<(Self, NativeTypes)> {
        LINKED.key(variant)
    }

    fn module(&self, types: NativeTypes) -> KernelModule {
        let kernel = self.clone();
        let host = move |dispatch: &mut HostDispatch<'_>| host::run(&kernel, dispatch);
        let skeleton = self.skeleton().1;
        let spirv = self.spirv(types);
        let linked = LinkedKernel { name: self.name(), spirv, skeleton, host: Box::new(host) };
        linked.module(&self.inputs, touch(self.output))
    }

    /// The kernel's name, such as `element_wise_1 f32.add (b32 whole, b32 single) b32 whole`.
    fn name(&self) -> String {
        let skeleton = self.skeleton().1.name;
        let second = self.second.map(|it| format!(" and {:?} at p{}", it.value, it.distance));
        let (program, operands) = (self.program.name(), operands(&self.inputs, self.output));
        format!("{skeleton} {program}{} {operands}", second.unwrap_or_default())
    }
}

/// The binding of the output, after those of the inputs. The record's binding follows.
pub const OUTPUT_BINDING: u32 = 7;
