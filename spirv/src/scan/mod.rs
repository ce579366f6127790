//! Kernels that join each element of a row with all elements before it (scans), in a work group's shared memory.

mod host;
mod record;

use dml_core::host::HostDispatch;
use dml_core::kernel::{KernelBinding, KernelModule, Shared};
use dml_core::plan::Access as Touch;

use crate::NativeTypes;
use crate::element_wise::{Calls, LinkedKernel, LinkedKernels, OUTPUT_BINDING, Registers};
use crate::kernels;
use crate::link::{self, Argument, Call, Callee, Source};
use crate::reduce::Reducer;

pub use record::{Lanes, Record};

/// Elements of a work group.
pub const ELEMENTS: u32 = 1 << ELEMENT_BITS;
const ELEMENT_BITS: u32 = 11;

/// The binding of the second words of states, if states have two words.
pub const RESTS_BINDING: u32 = 6;

/// The kernels that have been linked.
static LINKED: LinkedKernels<(Scan, NativeTypes)> = LinkedKernels::new();

/// A scan kernel. States of one number of 32 or 64 bits are read at binding 0 and written at the binding of an
/// element-wise kernel's output. Of states of two words, these bindings have the first words, and bindings 1 and
/// [`RESTS_BINDING`] the second words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scan {
    /// The operation that joins two states.
    pub reducer: &'static Reducer,
    /// Whether elements are read that have lost nothing to rounding, not states.
    pub begins: bool,
}

impl Scan {
    /// Whether states have two words.
    fn is_of_pairs(self) -> bool {
        self.reducer.joins().len() > 1
    }

    fn skeleton(self) -> &'static Source {
        match (self.is_of_pairs(), self.begins) {
            (true, true) => &kernels::SCAN_FIRST_PAIRS,
            (true, false) => &kernels::SCAN_PAIRS,
            _ if self.reducer.is_wide() => &kernels::SCAN_WIDE,
            _ => &kernels::SCAN_WORDS,
        }
    }

    /// The bindings' numbers and accesses.
    pub fn bindings(self) -> Vec<KernelBinding> {
        let of = |access| move |binding| KernelBinding { binding, access };
        let inputs = if self.is_of_pairs() && !self.begins { 0..2 } else { 0..1 };
        let rests = self.is_of_pairs().then_some(RESTS_BINDING);
        let outputs = rests.into_iter().chain([OUTPUT_BINDING]).map(of(Touch::Write));
        inputs.map(of(Touch::Read)).chain(outputs).collect()
    }

    /// The kernel's SPIR-V, which may use `types`.
    pub fn spirv(self, types: NativeTypes) -> Vec<u32> {
        link::link(self.skeleton(), &[("join", self.join(types))])
    }

    /// The kernel as plans name it, which may use `types`, linked if nobody has it now.
    pub fn variant(self, types: NativeTypes) -> Shared<KernelModule> {
        // For states of one number, elements and states are read alike.
        let kernel = Self { begins: self.begins && self.is_of_pairs(), ..self };
        LINKED.get((kernel, types), |_| kernel.module(types))
    }

    fn module(self, types: NativeTypes) -> KernelModule {
        let skeleton = self.skeleton();
        let name = format!("{} {:?}", skeleton.name, self.reducer);
        let host = move |dispatch: &mut HostDispatch<'_>| host::run(self, dispatch);
        let linked =
            LinkedKernel { name, spirv: self.spirv(types), skeleton, host: Box::new(host) };
        linked.module_with(self.bindings())
    }

    /// Joins the states of a quad with those before them, where masks say so.
    fn join(self, types: NativeTypes) -> Vec<Call> {
        let mut calls = Calls::new(&[], types);
        let held = |calls: &mut Calls<'_>, at| {
            calls.call(Callee::Exported("held"), vec![Argument::Parameter(STATE_AT + at)])
        };
        let before: Registers = (0..2).map(Argument::Parameter).collect();
        let state: Registers = (0..2).map(|at| held(&mut calls, at)).collect();
        let joins = self.reducer.joins();
        let joined: Registers = if self.reducer.is_wide() {
            calls.apply(joins[0], &[before, state], &[])
        } else {
            let words = before[..joins.len()].iter().chain(&state[..joins.len()]);
            let words: Vec<Registers> = words.map(|word| vec![*word]).collect();
            joins.iter().flat_map(|join| calls.apply(join, &words, &[])).collect()
        };
        for (at, value) in joined.into_iter().enumerate() {
            let [register, mask] = [STATE_AT, MASK_AT].map(|it| Argument::Parameter(it + at));
            calls.call(Callee::Exported("keep"), vec![register, value, mask]);
        }
        calls.made
    }
}

/// The parameters of a body that hold the first mask, and the first register of the state.
const MASK_AT: usize = 2;
const STATE_AT: usize = 4;
