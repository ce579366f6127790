use std::borrow::Cow;
use std::sync::LazyLock;

use super::super::kernel::{KernelBinding, KernelDescription, KernelModule, Shared};
use super::super::{
    Access, Copy, CopyRegion, Cost, Divisions, Fill, InPlace, KernelKey, Update, Window,
};
use super::*;
use crate::types::Strategy;

const OUT: Slot = Slot::Output(0);
const IN: Slot = Slot::Input(0);

static KERNEL: KernelModule = KernelModule::new(KernelDescription {
    name: Cow::Borrowed("kernel"),
    spirv: Cow::Borrowed(&[]),
    entry_point: "main",
    bindings: Cow::Borrowed(&[KernelBinding { binding: 0, access: Access::Write }]),
    push_fields: &[PushField::word("base_word", 0), PushField::word("value", 4)],
    uniform_binding: None,
    specialization_constants: &[],
    required_features: Cow::Borrowed(&[]),
    required_limits: Cow::Borrowed(&[]),
    host: Shared::Static(&|_| Ok(())),
});

fn requirement(bound_at: BoundAt) -> Option<BindingRequirement> {
    Some(BindingRequirement { field: "Tensor".into(), size: 64, alignment: 16, bound_at })
}

const IN_PLACE: Phase = Phase::InPlace { input: 0, output: 0 };

/// Input 0 is bound at execution, input 1 at initialization.
fn plan(phase: Phase, steps: Vec<Step>) -> Plan {
    let mut plan = Plan {
        operator: "TEST",
        strategy: Strategy::Kernel,
        inputs: [BoundAt::Execution, BoundAt::Initialization].map(requirement).into(),
        outputs: vec![requirement(BoundAt::Execution)],
        init: vec![],
        exec: vec![],
        in_place: vec![],
        temporary_size: 8,
        persistent_size: 8,
        divisions: Divisions::default(),
        constants: vec![0; 6],
    };
    match phase {
        Phase::Initialization => plan.init = steps,
        Phase::Execution => plan.exec = steps,
        Phase::InPlace { input, output } => {
            plan.in_place = vec![InPlace::by_own_steps(input, output, steps)];
        }
    }
    plan
}

fn fill(slot: Slot, range: Range<u64>) -> Step {
    Step::Fill(Fill { slot, range, pattern: 0 })
}

fn checked(plan: &Plan) -> Result<(), InvalidPlan> {
    plan.check(&Capabilities::vulkan_minimum())
}

/// The reason why `step` is refused after a valid step; `None` if it is accepted.
fn reason(phase: Phase, step: Step) -> Option<InvalidStep> {
    match checked(&plan(phase, vec![fill(Slot::Persistent, 0..8), step])) {
        Err(InvalidPlan::Step { phase: found, index, reason }) => {
            assert_eq!((found, index), (phase, 1));
            Some(reason)
        }
        other => {
            assert_eq!(other, Ok(()));
            None
        }
    }
}

#[test]
fn a_slot_is_there_in_its_phases_alone() {
    use Phase::{Execution, Initialization};
    for (slot, phases) in [
        (IN, &[Execution][..]),
        (Slot::Input(1), &[Initialization]),
        (Slot::Input(2), &[]),
        (OUT, &[Execution, IN_PLACE]),
        (Slot::Output(1), &[]),
        (Slot::Temporary, &[Initialization, Execution, IN_PLACE]),
        (Slot::Constants, &[Initialization, Execution, IN_PLACE]),
    ] {
        for phase in [Initialization, Execution, IN_PLACE] {
            let missing = (!phases.contains(&phase)).then_some(InvalidStep::NotBound { slot });
            assert_eq!(reason(phase, fill(slot, 0..8)), missing, "{slot} {phase:?}");
        }
    }
}

#[test]
#[expect(clippy::reversed_empty_ranges, reason = "a defect of a plan")]
fn bytes_that_are_none_outside_or_off_a_word_are_refused() {
    for range in [0..68, 64..68, 8..4, 8..8, 2..8, 0..6] {
        let refused = InvalidStep::OutOfBinding { slot: OUT, range: range.clone(), size: 64 };
        assert_eq!(reason(Phase::Execution, fill(OUT, range)), Some(refused));
    }
    let update = |offset, size| Step::Update(Update { slot: OUT, offset, data: vec![0; size] });
    assert_eq!(reason(Phase::Execution, update(60, 4)), None);
    for (offset, size) in [(60, 8), (2, 4), (4, 0), (4, 3), (u64::MAX, 4)] {
        let found = reason(Phase::Execution, update(offset, size));
        assert!(matches!(found, Some(InvalidStep::OutOfBinding { .. })), "{offset} {size}");
    }
}

#[test]
fn an_update_has_no_more_bytes_than_a_command_takes() {
    let size = usize::try_from(MAX_UPDATE_BYTES).unwrap() + 4;
    let step = Step::Update(Update { slot: OUT, offset: 0, data: vec![0; size] });
    let mut plan = plan(Phase::Execution, vec![step]);
    plan.outputs[0].as_mut().unwrap().size = 1 << 20;
    let message = "Execution, step 0: an update of 65540 bytes (accepted: at most 65536)";
    assert_eq!(checked(&plan).unwrap_err().to_string(), message);
}

#[test]
fn resources_are_whole_words() {
    let odd = Plan { persistent_size: 6, ..plan(Phase::Execution, vec![]) };
    let message = "the persistent resource has 6 bytes (accepted: multiples of 4)";
    assert_eq!(checked(&odd).unwrap_err().to_string(), message);
}

#[test]
fn a_dispatch_fits_its_kernel_and_the_device() {
    let window = Window { slot: OUT, range: 0..64, access: Access::Write, base_word_at: 0 };
    let good = Dispatch {
        kernel: KernelKey { variant: (&KERNEL).into(), specialization: vec![] },
        windows: vec![window],
        push_constants: vec![0; 8],
        uniform: None,
        groups: [1; 3],
        is_concurrent: false,
        cost: Cost::default(),
    };
    assert_eq!(reason(Phase::Execution, Step::Dispatch(good.clone())), None);
    let limit = [65_535; 3];
    let count = |what, given, accepted| InvalidDispatch::Count { what, given, accepted };
    type Change = fn(&mut Dispatch);
    let base_word = |at| InvalidDispatch::BaseWord { at, fields: KERNEL.push_fields };
    let changes: [(Change, InvalidDispatch); 8] = [
        (|it| it.push_constants.push(0), count("bytes of push constants", 9, 8)),
        (|it| it.windows.clear(), count("windows", 0, 1)),
        (|it| it.kernel.specialization.push(0), count("specialization constants", 1, 0)),
        (|it| it.windows[0].base_word_at = 2, base_word(2)),
        // That field is no base word.
        (|it| it.windows[0].base_word_at = 4, base_word(4)),
        (|it| it.windows[0].base_word_at = 8, base_word(8)),
        (|it| it.groups[1] = 0, InvalidDispatch::Groups { groups: [1, 0, 1], limit }),
        (|it| it.groups[2] = 65_536, InvalidDispatch::Groups { groups: [1, 1, 65_536], limit }),
    ];
    for (change, expected) in changes {
        let mut dispatch = good.clone();
        change(&mut dispatch);
        let expected = InvalidStep::Dispatch { kernel: "kernel".to_owned(), reason: expected };
        assert_eq!(reason(Phase::Execution, Step::Dispatch(dispatch)), Some(expected));
    }
    let mut capabilities = Capabilities::vulkan_minimum();
    capabilities.limits.max_storage_buffer_range = 60;
    let plan = plan(Phase::Execution, vec![Step::Dispatch(good)]);
    assert_eq!(
        plan.check(&capabilities).unwrap_err().to_string(),
        "Execution, step 0: kernel: a window of 64 bytes exceeds maxStorageBufferRange 60"
    );
}

#[test]
fn a_base_word_has_a_field_of_its_own() {
    static TWO: LazyLock<KernelModule> = LazyLock::new(|| {
        KernelModule::new(KernelDescription {
            bindings: vec![KernelBinding { binding: 0, access: Access::Write }; 2].into(),
            push_fields: const { &[PushField { size: 8, ..PushField::word("base_words", 0) }] },
            ..KERNEL.description().clone()
        })
    });
    let window =
        |base_word_at| Window { slot: OUT, range: 0..64, access: Access::Write, base_word_at };
    let refused = |places: [u32; 2]| {
        let step = Step::Dispatch(Dispatch {
            kernel: KernelKey { variant: (&*TWO).into(), specialization: vec![] },
            windows: places.map(window).into(),
            push_constants: vec![0; 8],
            uniform: None,
            groups: [1; 3],
            is_concurrent: false,
            cost: Cost::default(),
        });
        checked(&plan(Phase::Execution, vec![step])).err().map(|err| err.to_string())
    };
    assert_eq!(refused([4, 0]), None);
    let expected = "Execution, step 0: kernel: a base word at byte 4 (accepted: each once, in \
                    base_words at 0..8)";
    assert_eq!(refused([4, 4]).as_deref(), Some(expected));
}

#[test]
fn a_uniform_block_is_the_kernel_s_and_where_every_device_takes_it() {
    static BLOCK: LazyLock<KernelModule> = LazyLock::new(|| {
        KernelModule::new(KernelDescription {
            uniform_binding: Some(1),
            ..KERNEL.description().clone()
        })
    });
    let window = Window { slot: OUT, range: 0..64, access: Access::Write, base_word_at: 0 };
    let made = |variant: &'static KernelModule, uniform: Option<Range<u64>>| {
        let step = Step::Dispatch(Dispatch {
            kernel: KernelKey { variant: variant.into(), specialization: vec![] },
            windows: vec![window.clone()],
            push_constants: vec![0; 8],
            uniform,
            groups: [1; 3],
            is_concurrent: false,
            cost: Cost::default(),
        });
        let mut plan = plan(Phase::Execution, vec![step]);
        plan.constants = vec![0; 20 << 10];
        plan
    };
    let refused = |variant, uniform| {
        checked(&made(variant, uniform)).err().map(|it: InvalidPlan| it.to_string())
    };
    assert_eq!(refused(&BLOCK, Some(256..256 + (16 << 10))), None);
    assert_eq!(refused(&KERNEL, None), None);
    for (given, wrong) in [
        ("None", refused(&BLOCK, None)),
        ("Some(128..256)", refused(&BLOCK, Some(128..256))),
        ("Some(0..16388)", refused(&BLOCK, Some(0..16388))),
    ] {
        let accepted = "at most 16384 bytes from a multiple of 256";
        let expected =
            format!("Execution, step 0: kernel: uniform block {given} (accepted: {accepted})");
        assert_eq!(wrong, Some(expected));
    }
    let wrong = refused(&KERNEL, Some(0..256)).unwrap();
    assert!(wrong.ends_with("uniform block Some(0..256) (accepted: none)"), "{wrong}");
    // A device that shows less is asked for less.
    let mut capabilities = Capabilities::vulkan_minimum();
    capabilities.limits.max_uniform_buffer_range = 256;
    let wrong = made(&BLOCK, Some(0..260)).check(&capabilities).unwrap_err().to_string();
    assert!(wrong.ends_with("(accepted: at most 256 bytes from a multiple of 256)"), "{wrong}");
    assert_eq!(made(&BLOCK, Some(0..256)).check(&capabilities), Ok(()));
    // Beyond the constants it is refused as any range is.
    let wrong = refused(&BLOCK, Some((20 << 10)..(20 << 10) + 256)).unwrap();
    assert!(wrong.contains("constants"), "{wrong}");
}

#[test]
fn pairs_are_of_tensors_at_executions_and_listed_once() {
    let with = |pairs: &[(u32, u32)]| {
        let pairs = pairs.iter().map(|pair| InPlace::by_same_steps(pair.0, pair.1));
        checked(&Plan { in_place: pairs.collect(), ..plan(Phase::Execution, vec![]) })
    };
    assert_eq!(with(&[(0, 0)]), Ok(()));
    for (pairs, input, output) in
        [(&[(0, 0), (0, 0)][..], 0, 0), (&[(1, 0)], 1, 0), (&[(2, 0)], 2, 0), (&[(0, 1)], 0, 1)]
    {
        assert_eq!(with(pairs), Err(InvalidPlan::Pair { input, output }));
    }
    let message = "input 1 in place of output 0 (accepted: each pair once, of tensors that are bound at \
                   executions)";
    assert_eq!(with(&[(1, 0)]).unwrap_err().to_string(), message);
}

#[test]
fn the_same_steps_are_checked_with_both_slots_as_one() {
    let copy = |source_offset| {
        let regions = vec![CopyRegion::once(source_offset, 0, 32)];
        let steps = vec![Step::Copy(Copy { source: IN, destination: OUT, regions })];
        let in_place = vec![InPlace::by_same_steps(0, 0)];
        Plan { in_place, ..plan(Phase::Execution, steps) }
    };
    assert_eq!(checked(&copy(32)), Ok(()));
    assert_eq!(checked(&Plan { in_place: vec![], ..copy(16) }), Ok(()));
    let wrong = checked(&copy(16)).unwrap_err();
    assert!(matches!(wrong, InvalidPlan::Step { phase: IN_PLACE, index: 0, .. }), "{wrong:?}");
    assert!(wrong.to_string().contains("overlap"), "{wrong}");
}
