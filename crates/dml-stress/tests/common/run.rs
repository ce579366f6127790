//! One linked kernel on the elements of a space, on a device and on the host.

use dml::vk::{BindingTable, Bindings, Buffer, CompileInput, Device, Recorder};
use dml_core::host::{HostBuffer, HostMemory, interpret};
use dml_core::kernel::{KernelModule, Shared};
use dml_core::plan::{
    Access as Touch, BindingRequirement, BoundAt, Cost, Dispatch, Divisions, KernelKey, Plan, Slot,
    Step as PlanStep, Window,
};
use dml_core::{Capabilities, Strategy};
use dml_fault::compile;
use dml_spirv::NativeTypes;
use dml_spirv::element_wise::{DIMENSIONS, ElementWise, OperandRecord, PushConstants, Record};
use dml_spirv::twins::PushBlock as _;

use super::{OFFSET, buffer, part};

/// Work groups have this many invocations.
const LOCAL_SIZE: u32 = 64;

/// One kernel on the elements of a space.
pub(crate) struct Run {
    pub(crate) kernel: ElementWise,
    pub(crate) record: Record,
    /// The bytes of each input.
    pub(crate) inputs: Vec<Vec<u8>>,
    /// The bytes of the output before.
    pub(crate) output: Vec<u8>,
}

impl Run {
    fn plan(&self, variant: Shared<KernelModule>) -> Plan {
        let window = |slot, bytes: &[u8], access, base_word_at| Window {
            slot,
            range: 0..bytes.len() as u64,
            access,
            base_word_at,
        };
        let inputs = self.inputs.iter().zip(0..);
        let inputs = inputs.map(|(it, index)| {
            window(Slot::Input(index), it, Touch::Read, PushConstants::base_word_at(index))
        });
        let access = variant.bindings.last().unwrap().access;
        let output =
            window(Slot::Output(0), &self.output, access, PushConstants::BASE_WORD_OF_OUTPUT_AT);
        let quads = u32::try_from(self.record.quads()).unwrap();
        let push = PushConstants { count: quads, ..PushConstants::default() };
        let words = self.record.words(self.kernel.skeleton_dimensions());
        let constants: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let requirement = |field: &'static str, bytes: &[u8]| {
            let (size, bound_at) = (bytes.len() as u64, BoundAt::Execution);
            Some(BindingRequirement { field: field.into(), size, alignment: 16, bound_at })
        };
        Plan {
            operator: "LINKED",
            strategy: Strategy::Kernel,
            inputs: self.inputs.iter().map(|input| requirement("InputTensor", input)).collect(),
            outputs: vec![requirement("OutputTensor", &self.output)],
            init: Vec::new(),
            exec: vec![PlanStep::Dispatch(Dispatch {
                kernel: KernelKey { variant, specialization: vec![LOCAL_SIZE] },
                windows: inputs.chain([output]).collect(),
                push_constants: push.to_bytes(),
                uniform: Some(0..constants.len() as u64),
                groups: [quads.div_ceil(LOCAL_SIZE), 1, 1],
                is_concurrent: false,
                cost: Cost::default(),
            })],
            in_place: Vec::new(),
            temporary_size: 0,
            persistent_size: 0,
            divisions: Divisions::default(),
            constants,
        }
    }

    /// The output's bytes by the kernel's twin.
    pub(crate) fn on_host(&self) -> Vec<u8> {
        let plan = self.plan(self.kernel.variant(NativeTypes::NONE));
        plan.check(&Capabilities::vulkan_minimum()).unwrap();
        let mut memory = HostMemory::for_plan(&plan);
        let bound = |bytes: &Vec<u8>| {
            Some(HostBuffer { bytes: bytes.clone(), offset: 0, size: bytes.len() as u64 })
        };
        memory.inputs = self.inputs.iter().map(bound).collect();
        memory.outputs = vec![bound(&self.output)];
        interpret(&plan.exec, &mut memory, &Capabilities::vulkan_minimum()).unwrap();
        memory.outputs.remove(0).unwrap().bytes
    }

    /// The output's bytes by the kernel that may use `types`.
    pub(crate) fn on(&self, device: &Device, types: NativeTypes) -> Vec<u8> {
        self.by(device, self.kernel.variant(types))
    }

    /// The output's bytes by a variant of the kernel; tensors start where descriptors may not.
    pub(crate) fn by(&self, device: &Device, variant: Shared<KernelModule>) -> Vec<u8> {
        let input = CompileInput { plan: self.plan(variant), storage_only: None };
        let compiled = compile(device, input).unwrap();
        let inputs: Vec<Buffer> = self.inputs.iter().map(|input| buffer(device, input)).collect();
        let output = buffer(device, &self.output);
        let (bound, outputs) = (Vec::from_iter(inputs.iter().map(part)), [part(&output)]);
        let bindings = Bindings { inputs: &bound, outputs: &outputs, ..Bindings::default() };
        let table = BindingTable::new(&compiled, &bindings).unwrap();
        let mut recorder = Recorder::new(device).unwrap();
        recorder.dispatch(&table).unwrap();
        device.submit(recorder.finish().unwrap()).unwrap().wait().unwrap();
        device.read_buffer(&output, OFFSET..output.size()).unwrap()
    }
}

/// A tensor without gaps, of one dimension.
pub(crate) fn packed() -> OperandRecord {
    let mut strides = [0; DIMENSIONS];
    strides[DIMENSIONS - 1] = 1;
    OperandRecord { start: 0, strides }
}

/// The `at`-th word.
pub(crate) fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[4 * at..4 * at + 4].try_into().unwrap())
}
