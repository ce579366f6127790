use std::borrow::Cow;

use ash::vk::{AccessFlags as A, PipelineStageFlags as S};
use dml_core::host::{HostDispatch, HostError};
use dml_core::kernel::{KernelDescription, KernelModule, Shared};
use dml_core::plan::{Access, Copy, CopyRegion, Cost, Dispatch, Fill, KernelKey, Update, Window};

use super::*;

mod concurrent;

/// The barriers for a device where a descriptor may start wherever a tensor does.
fn derive_barriers(steps: &[Step]) -> Vec<Option<Barrier>> {
    derive(steps, &Aliases::NONE, BINDING_ALIGNMENT)
}

fn derive(steps: &[Step], aliases: &Aliases, alignment: u64) -> Vec<Option<Barrier>> {
    super::derive_barriers(steps, aliases, alignment, Concurrency::Declared)
}

static KERNEL: KernelModule = KernelModule::new(KernelDescription {
    name: Cow::Borrowed("test"),
    spirv: Cow::Borrowed(&[]),
    entry_point: "main",
    bindings: Cow::Borrowed(&[]),
    push_fields: &[],
    uniform_binding: None,
    specialization_constants: &[],
    required_features: Cow::Borrowed(&[]),
    required_limits: Cow::Borrowed(&[]),
    host: Shared::Static(&nothing),
});

fn nothing(_: &mut HostDispatch<'_>) -> Result<(), HostError> {
    Ok(())
}

const OUT: Slot = Slot::Output(0);
const IN: Slot = Slot::Input(0);

fn fill(range: Range<u64>) -> Step {
    Step::Fill(Fill { slot: OUT, range, pattern: 0 })
}

fn copy(source: (Slot, u64), destination: (Slot, u64), size: u64) -> Step {
    Step::Copy(Copy {
        source: source.0,
        destination: destination.0,
        regions: vec![CopyRegion::once(source.1, destination.1, size)],
    })
}

fn dispatch(windows: &[(Slot, Range<u64>, Access)]) -> Step {
    let window = |(slot, range, access): &(Slot, Range<u64>, Access)| Window {
        slot: *slot,
        range: range.clone(),
        access: *access,
        base_word_at: 0,
    };
    Step::Dispatch(Dispatch {
        kernel: KernelKey { variant: (&KERNEL).into(), specialization: Vec::new() },
        windows: windows.iter().map(window).collect(),
        push_constants: Vec::new(),
        uniform: None,
        groups: [1; 3],
        is_concurrent: false,
        cost: Cost::default(),
    })
}

fn barrier(src: (S, A), dst: (S, A)) -> Option<Barrier> {
    Some(Barrier { src_stages: src.0, src_access: src.1, dst_stages: dst.0, dst_access: dst.1 })
}

#[test]
fn nothing_waits_before_the_first_step() {
    assert_eq!(derive_barriers(&[]), []);
    assert_eq!(derive_barriers(&[fill(0..64)]), [None]);
}

#[test]
fn a_dispatch_over_a_fill_waits_for_its_writes() {
    let steps = [fill(0..64), dispatch(&[(OUT, 16..32, Access::Write)])];
    let expected = barrier((S::TRANSFER, A::TRANSFER_WRITE), (S::COMPUTE_SHADER, A::SHADER_WRITE));
    assert_eq!(derive_barriers(&steps), [None, expected]);
}

#[test]
fn an_atomic_reads_and_writes_what_was_filled() {
    let steps = [fill(0..64), dispatch(&[(OUT, 0..64, Access::ReadWrite)])];
    let expected = barrier(
        (S::TRANSFER, A::TRANSFER_WRITE),
        (S::COMPUTE_SHADER, A::SHADER_READ | A::SHADER_WRITE),
    );
    assert_eq!(derive_barriers(&steps), [None, expected]);
}

#[test]
fn a_copy_from_what_a_dispatch_wrote_reads_after_write() {
    let steps = [
        dispatch(&[(Slot::Temporary, 0..64, Access::Write)]),
        copy((Slot::Temporary, 0), (OUT, 0), 64),
    ];
    let expected = barrier((S::COMPUTE_SHADER, A::SHADER_WRITE), (S::TRANSFER, A::TRANSFER_READ));
    assert_eq!(derive_barriers(&steps), [None, expected]);
}

#[test]
fn a_write_after_a_read_waits_but_makes_nothing_visible() {
    let steps = [
        dispatch(&[(OUT, 0..64, Access::Read), (Slot::Temporary, 0..4, Access::Write)]),
        fill(32..36),
    ];
    let expected = barrier((S::COMPUTE_SHADER, A::empty()), (S::TRANSFER, A::empty()));
    assert_eq!(derive_barriers(&steps), [None, expected]);
}

#[test]
fn disjoint_ranges_slots_and_reads_need_nothing() {
    let steps = [
        fill(0..64),
        fill(64..128),
        dispatch(&[(OUT, 128..192, Access::Write), (IN, 0..64, Access::Read)]),
        copy((IN, 0), (OUT, 192), 64),
    ];
    assert_eq!(derive_barriers(&steps), [None; 4]);
}

#[test]
fn one_barrier_serves_every_later_step_of_the_stage() {
    let steps = [
        fill(0..64),
        dispatch(&[(OUT, 0..32, Access::Write)]),
        dispatch(&[(OUT, 32..64, Access::Write)]),
    ];
    let barriers = derive_barriers(&steps);
    assert!(barriers[1].is_some());
    assert_eq!(barriers[2], None);
}

#[test]
fn a_barrier_for_writes_does_not_serve_a_read() {
    let steps = [
        fill(0..64),
        dispatch(&[(OUT, 0..32, Access::Write)]),
        dispatch(&[(OUT, 32..64, Access::Read)]),
    ];
    let expected = barrier((S::TRANSFER, A::TRANSFER_WRITE), (S::COMPUTE_SHADER, A::SHADER_READ));
    assert_eq!(derive_barriers(&steps)[2], expected);
}

#[test]
fn a_barrier_for_a_read_does_not_make_writes_visible() {
    // The first copy reads IN and writes OUT; the first barrier only waits for the read.
    let steps = [
        copy((Slot::Temporary, 0), (OUT, 0), 64),
        dispatch(&[(Slot::Temporary, 0..64, Access::Write)]),
        dispatch(&[(OUT, 0..64, Access::Read)]),
    ];
    let barriers = derive_barriers(&steps);
    assert_eq!(barriers[1], barrier((S::TRANSFER, A::empty()), (S::COMPUTE_SHADER, A::empty())));
    assert_eq!(
        barriers[2],
        barrier((S::TRANSFER, A::TRANSFER_WRITE), (S::COMPUTE_SHADER, A::SHADER_READ))
    );
}

/// The validation layer's synchronization checks may take a barrier for one that it has applied before, if an
/// equal one was recorded before the chain began. This was reported in a model: the last copy writes bytes
/// that the second one reads, with a dispatch between them and an equal wait before it.
#[test]
fn a_chain_of_barriers_names_the_stage_that_it_begins_with() {
    let steps = [
        dispatch(&[(OUT, 0..64, Access::Write)]),
        copy((OUT, 0), (Slot::Temporary, 0), 64),
        dispatch(&[(Slot::Temporary, 0..64, Access::Read), (IN, 0..64, Access::Write)]),
        copy((IN, 0), (OUT, 0), 64),
    ];
    let both = S::COMPUTE_SHADER | S::TRANSFER;
    let seen = derive_barriers(&steps)[3].expect("it reads what the dispatch has written");
    assert_eq!((seen.src_stages, seen.dst_stages), (both, S::TRANSFER));
    // The chain orders the third copy, which needs no barrier of its own.
    let steps = [
        fill(0..64),
        dispatch(&[(OUT, 0..32, Access::Write)]),
        copy((IN, 0), (OUT, 0), 32),
        copy((IN, 0), (OUT, 32), 32),
    ];
    assert_eq!(derive_barriers(&steps)[3], None);
}

#[test]
fn regions_of_one_copy_are_judged_together() {
    let update = Step::Update(Update { slot: OUT, offset: 96, data: vec![0; 4] });
    let copy = Step::Copy(Copy {
        source: IN,
        destination: OUT,
        regions: (0..4).rev().map(|at| CopyRegion::once(0, at * 32, 16)).collect(),
    });
    let expected = barrier((S::TRANSFER, A::TRANSFER_WRITE), (S::TRANSFER, A::TRANSFER_WRITE));
    assert_eq!(derive_barriers(&[copy.clone(), update.clone()]), [None, expected]);
    assert_eq!(derive_barriers(&[copy, fill(16..32), fill(112..128)]), [None; 3]);
    assert_eq!(derive_barriers(&[update, fill(100..104)]), [None; 2]);
}

#[test]
fn empty_ranges_are_not_waited_for() {
    assert_eq!(derive_barriers(&[fill(0..64), fill(32..32)]), [None; 2]);
}

#[test]
fn descriptors_that_may_overlap_are_waited_for() {
    let at = |start| dispatch(&[(OUT, start..start + 260, Access::Write)]);
    let waits = |second, alignment| {
        let barriers = derive(&[at(0), at(second)], &Aliases::NONE, alignment);
        barriers[1].is_some()
    };
    assert!(waits(256, 4) && !waits(260, 4));
    assert!(waits(260, 16) && waits(268, 16) && !waits(272, 16));
    // A tensor can start at any multiple of 16, so that the aligned address is up to 240 below.
    assert!(waits(260, 256) && waits(508, 256) && !waits(512, 256));
}

#[test]
fn many_boxes_are_compared_with_few_groups() {
    let window = |index: u64| index * 4096..index * 4096 + 64;
    let boxes = (0..100_000).map(|index| dispatch(&[(OUT, window(index), Access::Write)]));
    let steps: Vec<_> = std::iter::once(fill(0..1 << 40)).chain(boxes).collect();
    let barriers = derive_barriers(&steps);
    assert!(barriers[1].is_some() && barriers.iter().flatten().count() == 1);
    // Every one waits for its neighbour.
    let boxes =
        (0..100_000).map(|index| dispatch(&[(OUT, index * 4..index * 4 + 8, Access::Write)]));
    let barriers = derive_barriers(&boxes.collect::<Vec<_>>());
    assert_eq!(barriers.iter().flatten().count(), barriers.len() - 1);
}

/// Steps that access a few blocks of three slots in every way. Marsaglia's xorshift, the same in every run.
fn random_steps(mut seed: u64, count: usize) -> Vec<Step> {
    let mut below = move |end: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % end
    };
    let slots = [OUT, IN, Slot::Temporary];
    let mut step = || {
        let mut slot = || slots[usize::try_from(below(3)).unwrap()];
        let (one, other) = (slot(), slot());
        let (at, size) = (below(8) * 32, 32 + below(3) * 32);
        match below(4) {
            0 => Step::Fill(Fill { slot: one, range: at..at + size, pattern: 0 }),
            1 => copy((one, at), (other, below(8) * 32), size),
            2 => dispatch(&[(one, at..at + size, Access::Write)]),
            _ => {
                let read = (other, at..at + size, Access::Read);
                dispatch(&[(one, 0..64, Access::ReadWrite), read])
            }
        }
    };
    (0..count).map(|_| step()).collect()
}

#[test]
fn no_step_of_a_group_is_forgotten() {
    for seed in 1..400 {
        let steps = random_steps(seed * 0x9E37_79B9, 40);
        // Every step alone, ordered by the barriers that were derived from groups.
        let mut alone: Vec<Group> = Vec::new();
        for (step, barrier) in steps.iter().zip(derive_barriers(&steps)) {
            let touched = StepUses::of(step, &Aliases::NONE, BINDING_ALIGNMENT);
            for one in &mut alone {
                if let Some(barrier) = &barrier {
                    one.pass(barrier, touched.stage);
                }
                let mut missing = Barrier::default();
                one.demand(&touched, &mut missing);
                assert_eq!(missing, Barrier::default(), "{seed} {step:?}");
            }
            alone.push(Group { touched, is_latest: false, available: false, reached: [None; 2] });
        }
    }
}

#[test]
fn an_alignment_of_0_is_none() {
    let windows = [(OUT, 20..40, Access::Write)];
    let steps = [dispatch(&windows), dispatch(&windows)];
    let barriers_of = |alignment| derive(&steps, &Aliases::NONE, alignment);
    assert_eq!(barriers_of(0), barriers_of(1));
}

#[test]
fn slots_of_one_memory_are_waited_for_as_one() {
    let add = |range: Range<u64>| {
        let inputs = [0, 1].map(|index| (Slot::Input(index), range.clone(), Access::Read));
        dispatch(&[&inputs[..], &[(OUT, 0..64, Access::Write)]].concat())
    };
    let steps = [add(64..128), add(0..64)];
    let barriers_of = |pairs: &[(u32, u32)]| {
        let aliases = Aliases::new(pairs.iter().copied());
        derive(&steps, &aliases, BINDING_ALIGNMENT)
    };
    let shader = S::COMPUTE_SHADER;
    // Both write the same bytes; what the second one reads was written only where slots are one.
    let written = barrier((shader, A::SHADER_WRITE), (shader, A::SHADER_WRITE));
    let both = A::SHADER_READ | A::SHADER_WRITE;
    let read = barrier((shader, A::SHADER_WRITE), (shader, both));
    assert_eq!(barriers_of(&[]), [None, written]);
    assert_eq!(barriers_of(&[(0, 1)]), [None, written]);
    for pairs in [&[(0, 0)][..], &[(1, 0)], &[(0, 0), (1, 0)]] {
        assert_eq!(barriers_of(pairs), [None, read], "{pairs:?}");
    }
}

#[test]
fn neighbours_in_a_resource_do_not_wait_for_each_other() {
    let write = |slot, range| dispatch(&[(slot, range, Access::Write)]);
    for (slot, waits) in [(Slot::Temporary, false), (Slot::Persistent, false), (OUT, true)] {
        let steps = [write(slot, 0..256), write(slot, 256..512)];
        let barriers = derive(&steps, &Aliases::NONE, 256);
        assert_eq!(barriers[1].is_some(), waits, "{slot}");
    }
}

#[test]
fn the_groups_are_few_however_many_steps_there_are() {
    let aliases = Aliases::NONE;
    let most_of = |steps: &[Step]| {
        let mut seen = Seen::default();
        let groups = steps.iter().map(|step| {
            seen.wait_for(StepUses::of(step, &aliases, BINDING_ALIGNMENT), false);
            seen.groups.len()
        });
        groups.max()
    };
    // A chain through two places of the temporary resource, and transfers between dispatches.
    let place = |at: u64| (Slot::Temporary, at % 2 * 1024..at % 2 * 1024 + 1024);
    let link = |at: u64| {
        let ((slot, from), (_, to)) = (place(at), place(at + 1));
        dispatch(&[(slot, from, Access::Read), (slot, to, Access::Write)])
    };
    let chain: Vec<_> = (0..2000).map(link).collect();
    assert!(most_of(&chain) <= Some(4), "{:?}", most_of(&chain));
    for seed in 1..8 {
        let steps = random_steps(seed * 0x9E37_79B9, 2000);
        assert!(most_of(&steps) <= Some(32), "{:?}", most_of(&steps));
    }
}
