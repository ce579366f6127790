use std::borrow::Cow;

use super::*;
use crate::capabilities::Limit;
use crate::plan::kernel::{
    KernelBinding, KernelDescription, KernelModule, PushField, Shared, SpecializationConstant,
};
use crate::plan::{Access, CopyRegion, Cost, KernelKey, Window};

/// Writes the base word and the second push constant into the first two words of the window.
static PROBE: KernelModule = KernelModule::new(KernelDescription {
    name: Cow::Borrowed("probe"),
    spirv: Cow::Borrowed(&[]),
    entry_point: "main",
    bindings: Cow::Borrowed(&[KernelBinding { binding: 0, access: Access::Write }]),
    push_fields: &[PushField::word("base_word", 0), PushField::word("value", 4)],
    uniform_binding: None,
    specialization_constants: &[SpecializationConstant { id: 0, name: "LOCAL_SIZE", default: 1 }],
    required_features: Cow::Borrowed(&[]),
    required_limits: Cow::Borrowed(&[]),
    host: Shared::Static(&|dispatch| {
        let base = dispatch.push_word(0);
        dispatch.store(0, base, base)?;
        dispatch.store(0, base + 1, dispatch.push_word(1))
    }),
});

fn probe(range: std::ops::Range<u64>) -> Dispatch {
    Dispatch {
        kernel: KernelKey { variant: (&PROBE).into(), specialization: vec![1] },
        windows: vec![Window {
            slot: Slot::Output(0),
            range,
            access: Access::Write,
            base_word_at: 0,
        }],
        push_constants: [0, 7u32].iter().flat_map(|word| word.to_le_bytes()).collect(),
        uniform: None,
        groups: [1, 1, 1],
        is_concurrent: false,
        cost: Cost::default(),
    }
}

fn memory(size: usize) -> HostMemory {
    HostMemory { outputs: vec![Some(HostBuffer::zeroed(size))], ..HostMemory::default() }
}

fn aligned(alignment: u64) -> Capabilities {
    let mut capabilities = Capabilities::vulkan_minimum();
    capabilities.limits.min_storage_buffer_offset_alignment = alignment;
    capabilities
}

fn output(memory: &HostMemory) -> &[u8] {
    memory.outputs[0].as_ref().unwrap().bound()
}

#[test]
fn fills_updates_and_copies_touch_just_their_ranges() {
    let mut memory = memory(16);
    memory.temporary = HostBuffer::zeroed(8);
    let steps = [
        Step::Fill(Fill { slot: Slot::Output(0), range: 4..12, pattern: 0x0403_0201 }),
        Step::Update(Update { slot: Slot::Temporary, offset: 4, data: vec![9, 8, 7, 6] }),
        Step::Copy(Copy {
            source: Slot::Temporary,
            destination: Slot::Output(0),
            regions: vec![CopyRegion::once(4, 5, 3)],
        }),
    ];
    interpret(&steps, &mut memory, &aligned(4)).unwrap();
    assert_eq!(output(&memory), [0, 0, 0, 0, 1, 9, 8, 7, 1, 2, 3, 4, 0, 0, 0, 0]);
}

#[test]
fn a_dispatch_learns_where_its_tensor_starts() {
    let mut memory = memory(8);
    let bound = memory.outputs[0].as_mut().unwrap();
    *bound = HostBuffer { bytes: vec![0; 288], offset: 272, size: 8 };
    interpret(&[Step::Dispatch(probe(0..8))], &mut memory, &aligned(256)).unwrap();
    assert_eq!(output(&memory), [4, 0, 0, 0, 7, 0, 0, 0]);
}

#[test]
fn a_step_that_no_device_may_be_given_is_reported() {
    let slot = Slot::Output(0);
    let fill = Step::Fill(Fill { slot, range: 4..12, pattern: 0 });
    let error = interpret(&[fill], &mut memory(8), &aligned(4)).unwrap_err();
    let out = InvalidStep::OutOfBinding { slot, range: 4..12, size: 8 };
    assert_eq!(error, HostError::Step(out));
}

#[test]
fn regions_that_touch_each_other_are_reported() {
    let mut memory = memory(16);
    let region = CopyRegion::once(0, 4, 8);
    let slot = Slot::Output(0);
    let copy = Copy { source: slot, destination: slot, regions: vec![region] };
    let error = interpret(&[Step::Copy(copy.clone())], &mut memory, &aligned(4)).unwrap_err();
    assert_eq!(error, HostError::Step(copy.check().unwrap_err().into()));
}

#[test]
fn leaving_the_descriptor_is_reported() {
    let error = interpret(&[Step::Dispatch(probe(0..4))], &mut memory(8), &aligned(4)).unwrap_err();
    assert!(matches!(error, HostError::OutOfDescriptor { word: 1, words: 1, .. }), "{error}");
    let mut read_only = probe(0..8);
    read_only.windows[0].access = Access::Read;
    let error = interpret(&[Step::Dispatch(read_only)], &mut memory(8), &aligned(4)).unwrap_err();
    assert!(matches!(error, HostError::OutOfDescriptor { access: "write", .. }), "{error}");
}

#[test]
fn a_kernel_that_asks_for_more_than_the_device_has_is_reported() {
    for limit in [Limit::MaxPushConstantsSize, Limit::MaxPerStageDescriptorStorageBuffers] {
        let needed = PROBE
            .needed_limits()
            .into_iter()
            .find(|needed_limit| needed_limit.0 == limit)
            .unwrap()
            .1;
        let mut capabilities = aligned(4);
        capabilities.limits = capabilities.limits.with(limit, needed);
        interpret(&[Step::Dispatch(probe(0..8))], &mut memory(8), &capabilities).unwrap();
        let available = needed - 1;
        capabilities.limits = capabilities.limits.with(limit, available);
        let error = interpret(&[Step::Dispatch(probe(0..8))], &mut memory(8), &capabilities);
        let kernel = "probe".to_owned();
        assert_eq!(error, Err(HostError::Limit { kernel, limit, needed, available }));
    }
}
