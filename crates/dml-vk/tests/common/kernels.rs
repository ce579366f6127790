//! Three kernels for tests with plans that belong to no operator.
//!
//! They are assembled from `tests/data/*.spvasm` with `spirv-as --target-env vulkan1.1`.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use dml_core::Strategy;
use dml_core::host::{HostDispatch, HostError};
use dml_core::kernel::{
    KernelBinding, KernelDescription, KernelModule, PushField, Shared, SpecializationConstant,
};
use dml_core::plan::{
    Access, BindingRequirement, BoundAt, Copy, CopyRegion, Cost, Dispatch, Divisions, Fill,
    KernelKey, Plan, Slot, Step, Update, Window,
};

const LOCAL_SIZE: &[SpecializationConstant] =
    &[SpecializationConstant { id: 0, name: "LOCAL_SIZE", default: 64 }];

/// `data[base + i] = value + i`.
pub static RAMP: KernelModule = KernelModule::new(KernelDescription {
    name: Cow::Borrowed("ramp"),
    spirv: Cow::Borrowed(include_bytes!("../data/ramp.spv")),
    entry_point: "main",
    bindings: Cow::Borrowed(&[KernelBinding { binding: 0, access: Access::Write }]),
    push_fields: &[
        PushField::word("base_word", 0),
        PushField::word("count", 4),
        PushField::word("value", 8),
    ],
    uniform_binding: None,
    specialization_constants: LOCAL_SIZE,
    required_features: Cow::Borrowed(&[]),
    required_limits: Cow::Borrowed(&[]),
    host: Shared::Static(&ramp_on_host),
});

/// [`RAMP`] with 4 KiB of shared memory in each work group.
pub static SHARED: LazyLock<KernelModule> = LazyLock::new(|| {
    KernelModule::new(KernelDescription {
        name: "shared".into(),
        spirv: include_bytes!("../data/shared.spv").into(),
        ..RAMP.description().clone()
    })
});

/// `to[to_base + i] += from[from_base + i]`.
pub static SUM: KernelModule = KernelModule::new(KernelDescription {
    name: Cow::Borrowed("sum"),
    spirv: Cow::Borrowed(include_bytes!("../data/sum.spv")),
    entry_point: "main",
    bindings: Cow::Borrowed(&[
        KernelBinding { binding: 0, access: Access::ReadWrite },
        KernelBinding { binding: 1, access: Access::Read },
    ]),
    push_fields: &[
        PushField::word("to_word", 0),
        PushField::word("from_word", 4),
        PushField::word("count", 8),
    ],
    uniform_binding: None,
    specialization_constants: LOCAL_SIZE,
    required_features: Cow::Borrowed(&[]),
    required_limits: Cow::Borrowed(&[]),
    host: Shared::Static(&sum_on_host),
});

fn ramp_on_host(kernel: &mut HostDispatch<'_>) -> Result<(), HostError> {
    let [base, count, value] = [0, 1, 2].map(|index| kernel.push_word(index));
    for i in 0..count.min(kernel.groups()[0] * kernel.specialization("LOCAL_SIZE")) {
        kernel.store(0, base + i, value.wrapping_add(i))?;
    }
    Ok(())
}

fn sum_on_host(kernel: &mut HostDispatch<'_>) -> Result<(), HostError> {
    let [to, from, count] = [0, 1, 2].map(|index| kernel.push_word(index));
    for i in 0..count.min(kernel.groups()[0] * kernel.specialization("LOCAL_SIZE")) {
        let sum = kernel.load(0, to + i)?.wrapping_add(kernel.load(1, from + i)?);
        kernel.store(0, to + i, sum)?;
    }
    Ok(())
}

/// [`RAMP`] with its specialization constant as the work group's size in the axes of x, y and z that are set,
/// and 1 in the others.
pub fn ramp_of_size_in(axes: [bool; 3]) -> Shared<KernelModule> {
    const OP_SPEC_CONSTANT_COMPOSITE: u32 = 51 | 6 << 16;
    let mut words: Vec<u32> = super::words(&RAMP.spirv);
    let at = words.iter().position(|word| *word == OP_SPEC_CONSTANT_COMPOSITE).unwrap();
    let [size, one] = [words[at + 3], words[at + 4]];
    let ids = axes.map(|has_size| if has_size { size } else { one });
    words[at + 3..at + 6].copy_from_slice(&ids);
    let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    KernelModule::new(KernelDescription { spirv: bytes.into(), ..RAMP.description().clone() })
        .into()
}

fn count(range: &Range<u64>) -> u32 {
    u32::try_from((range.end - range.start) / 4).unwrap()
}

pub fn key(variant: &'static KernelModule) -> KernelKey {
    KernelKey { variant: variant.into(), specialization: vec![64] }
}

/// Writes `value`, `value + 1`, ... over `range`.
pub fn ramp(slot: Slot, range: Range<u64>, value: u32) -> Step {
    let count = count(&range);
    let push = [0, count, value];
    Step::Dispatch(Dispatch {
        kernel: key(&RAMP),
        windows: vec![Window { slot, range, access: Access::Write, base_word_at: 0 }],
        push_constants: push.iter().flat_map(|word: &u32| word.to_le_bytes()).collect(),
        uniform: None,
        groups: [count.div_ceil(64), 1, 1],
        is_concurrent: false,
        cost: Cost::default(),
    })
}

/// Adds the words of one range to those of another of the same length.
pub fn sum(to: (Slot, Range<u64>), from: (Slot, Range<u64>)) -> Step {
    let count = count(&to.1);
    let push = [0, 0, count];
    Step::Dispatch(Dispatch {
        kernel: key(&SUM),
        windows: vec![
            Window { slot: to.0, range: to.1, access: Access::ReadWrite, base_word_at: 0 },
            Window { slot: from.0, range: from.1, access: Access::Read, base_word_at: 4 },
        ],
        push_constants: push.iter().flat_map(|word: &u32| word.to_le_bytes()).collect(),
        uniform: None,
        groups: [count.div_ceil(64), 1, 1],
        is_concurrent: false,
        cost: Cost::default(),
    })
}

pub fn fill(slot: Slot, range: Range<u64>, pattern: u32) -> Step {
    Step::Fill(Fill { slot, range, pattern })
}

/// Copies `size` bytes from one place to another.
pub fn copy(source: (Slot, u64), destination: (Slot, u64), size: u64) -> Step {
    let region = CopyRegion::once(source.1, destination.1, size);
    Step::Copy(Copy { source: source.0, destination: destination.0, regions: vec![region] })
}

/// A dispatch with something else in it.
pub fn changed(step: Step, change: impl FnOnce(&mut Dispatch)) -> Step {
    let Step::Dispatch(mut dispatch) = step else { panic!("a dispatch") };
    change(&mut dispatch);
    Step::Dispatch(dispatch)
}

pub fn requirement(field: &'static str, size: u64) -> Option<BindingRequirement> {
    Some(BindingRequirement {
        field: field.into(),
        size,
        alignment: 16,
        bound_at: BoundAt::Execution,
    })
}

/// A plan whose only binding is an output of `size` bytes.
pub fn plan(size: u64, exec: Vec<Step>) -> Plan {
    Plan {
        operator: "TEST",
        strategy: Strategy::Kernel,
        inputs: Vec::new(),
        outputs: vec![requirement("OutputTensor", size)],
        init: Vec::new(),
        exec,
        in_place: Vec::new(),
        temporary_size: 0,
        persistent_size: 0,
        divisions: Divisions::default(),
        constants: Vec::new(),
    }
}

/// Steps on an output of 512 bytes.
pub fn every_kind_of_step() -> Vec<Step> {
    let out = Slot::Output(0);
    vec![
        fill(out, 0..512, 1),
        ramp(out, 256..512, 50),
        copy((out, 256), (out, 0), 8),
        Step::Update(Update { slot: out, offset: 8, data: vec![2; 4] }),
    ]
}

/// The contents of the output after [`every_kind_of_step`].
pub fn words_of_every_kind_of_step() -> Vec<u32> {
    let mut expected = vec![1; 64];
    expected.extend(50..114);
    expected[..3].copy_from_slice(&[50, 51, 0x0202_0202]);
    expected
}
