//! Element-wise kernels: a program on every element of an iteration space.

mod host;
mod program;
mod push;
mod record;
mod size;

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use dml_core::capabilities::required_features;
use dml_core::host::HostDispatch;
use dml_core::kernel::{KernelBinding, KernelDescription, KernelModule};
use dml_core::plan::Access as Touch;

use crate::link::{self, Source};
use crate::{ElementWidth, kernels};

pub use program::{Access, MAX_INPUTS, Operand, Program, Step, Value};
pub use push::PushConstants;
pub use record::{BLOCK_WORDS, DIMENSIONS, Divisor, MAX_PARAMETERS, OperandRecord, QUAD, Record};
pub use size::estimated_bytes;

/// The skeletons by the number of outer dimensions that they have.
static SKELETONS: [(usize, &Source); 5] = [
    (0, &kernels::ELEMENT_WISE_0),
    (1, &kernels::ELEMENT_WISE_1),
    (2, &kernels::ELEMENT_WISE_2),
    (4, &kernels::ELEMENT_WISE_4),
    (7, &kernels::ELEMENT_WISE_7),
];

/// What is linked already.
static LINKED: LazyLock<Mutex<HashMap<ElementWise, &'static KernelModule>>> =
    LazyLock::new(Mutex::default);

/// An element-wise kernel: what is linked for it. Sizes and strides are no part of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ElementWise {
    /// What is computed.
    pub program: Program,
    /// At most [`MAX_INPUTS`], at least those that the program names.
    pub inputs: Vec<Operand>,
    /// What is written.
    pub output: Operand,
    /// The least number of outer dimensions, at most 7.
    pub outer_dimensions: usize,
}

impl ElementWise {
    /// The outer dimensions that the kernel has: as many as are asked for, or the next number that
    /// there is a skeleton for.
    pub fn skeleton_dimensions(&self) -> usize {
        self.skeleton().0
    }

    fn skeleton(&self) -> (usize, &'static Source) {
        let fits = |it: &&(usize, &Source)| it.0 >= self.outer_dimensions;
        *SKELETONS.iter().find(fits).expect("a space has at most seven outer dimensions")
    }

    /// The kernel's SPIR-V. Its storage buffers are at bindings 0 to 6 for inputs and 7 for the
    /// output, the [`Record`] is the uniform block at binding 8.
    pub fn spirv(&self) -> Vec<u32> {
        let calls = program::calls(&self.program, &self.inputs, self.output);
        link::link(self.skeleton().1, &calls)
    }

    /// The kernel as plans name it, linked at the first call. There are as many as there are programs
    /// and classes of strides, never as many as shapes, so none is ever given up.
    pub fn variant(&self) -> &'static KernelModule {
        let mut linked = LINKED.lock().unwrap_or_else(PoisonError::into_inner);
        // Spaces with one skeleton have one kernel.
        let kernel = Self { outer_dimensions: self.skeleton_dimensions(), ..self.clone() };
        linked.entry(kernel).or_insert_with_key(|it| Box::leak(Box::new(it.made())))
    }

    /// What `variant` was linked for; `None` where it is no such kernel.
    pub fn of(variant: &KernelModule) -> Option<Self> {
        let linked = LINKED.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kernels = linked.iter();
        kernels.find(|(_, it)| std::ptr::eq(**it, variant)).map(|(kernel, _)| kernel.clone())
    }

    fn made(&self) -> KernelModule {
        let spirv = self.spirv();
        let features = required_features(&spirv).expect("what was linked is SPIR-V of known needs");
        let spirv: Vec<u8> = spirv.into_iter().flat_map(u32::to_le_bytes).collect();
        let inputs = (0..).take(self.inputs.len());
        let inputs = inputs.map(|binding| KernelBinding { binding, access: Touch::Read });
        // Elements narrower than a word are merged into it by atomics.
        let is_merged = self.output.access != Access::Whole
            && matches!(self.output.width, ElementWidth::B8 | ElementWidth::B16);
        let access = if is_merged { Touch::ReadWrite } else { Touch::Write };
        let output = KernelBinding { binding: OUTPUT_BINDING, access };
        let kernel = self.clone();
        let host = move |dispatch: &mut HostDispatch<'_>| host::run(&kernel, dispatch);
        let interface = self.skeleton().1.interface;
        KernelModule::new(KernelDescription {
            name: String::leak(self.name()),
            spirv: Vec::leak(spirv),
            entry_point: "main",
            bindings: Vec::leak(inputs.chain([output]).collect()),
            push_fields: interface.push_fields,
            uniform_binding: interface.uniform_binding,
            specialization_constants: interface.specialization_constants,
            required_features: Vec::leak(features.iter().collect()),
            host: Box::leak(Box::new(host)),
        })
    }

    /// Such as `element_wise_1 f32.add (b32 whole, b32 single) b32 whole`.
    fn name(&self) -> String {
        let operand = |it: &Operand| format!("{:?} {:?}", it.width, it.access).to_lowercase();
        let steps: Vec<String> =
            self.program.steps.iter().map(|it| format!("{:?}", it.function)).collect();
        let inputs: Vec<String> = self.inputs.iter().map(operand).collect();
        let steps = if steps.is_empty() { "copy".to_owned() } else { steps.join(" ") };
        let skeleton = self.skeleton().1.name;
        format!("{skeleton} {steps} ({}) {}", inputs.join(", "), operand(&self.output))
    }
}

/// After those of the inputs; the record's follows.
const OUTPUT_BINDING: u32 = 7;
