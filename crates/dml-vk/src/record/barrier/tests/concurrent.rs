//! Dispatches that plans declare concurrent.

use super::*;

/// Makes a dispatch with these windows.
type Make = fn(&[(Slot, Range<u64>, Access)]) -> Step;

/// A dispatch that is declared concurrent with the ones before it.
fn concurrent(windows: &[(Slot, Range<u64>, Access)]) -> Step {
    match dispatch(windows) {
        Step::Dispatch(dispatch) => Step::Dispatch(Dispatch { is_concurrent: true, ..dispatch }),
        other => other,
    }
}

#[test]
fn concurrent_dispatches_do_not_wait_for_each_other() {
    let (read, write) = ((IN, 0..64, Access::Read), (OUT, 0..64, Access::ReadWrite));
    let phases = [
        dispatch(&[read.clone(), write.clone()]),
        concurrent(&[read.clone(), write.clone()]),
        concurrent(&[read, write]),
    ];
    assert_eq!(derive_barriers(&phases), [None; 3]);
    let waits =
        super::super::derive_barriers(&phases, &Aliases::NONE, 16, Concurrency::OfSeparateRanges);
    assert_eq!(waits.iter().flatten().count(), 2, "{waits:?}");
}

#[test]
fn concurrent_dispatches_wait_for_what_came_before_the_first_and_are_waited_for() {
    let shader = S::COMPUTE_SHADER;
    let in_order =
        |steps: &[Step]| derive_barriers(steps).iter().map(Option::is_some).collect::<Vec<bool>>();
    let phase = |make: Make, from: Range<u64>| {
        make(&[(Slot::Temporary, from, Access::Read), (OUT, 0..64, Access::Write)])
    };
    let packed = |range: Range<u64>| dispatch(&[(Slot::Temporary, range, Access::Write)]);
    let after = dispatch(&[(OUT, 0..64, Access::Read), (IN, 0..64, Access::Write)]);
    // One barrier carries both packed factors to both phases.
    let steps = [
        packed(0..64),
        packed(1024..1088),
        phase(dispatch, 0..64),
        phase(concurrent, 1024..1088),
        after,
    ];
    assert_eq!(in_order(&steps), [false, false, true, false, true]);
    let last = derive_barriers(&steps)[4];
    assert_eq!(last, barrier((shader, A::SHADER_WRITE), (shader, A::SHADER_READ)));
    // The first phase waits for nothing; the second one still waits for its factor.
    let late = [
        packed(1024..1088),
        dispatch(&[(OUT, 0..64, Access::Write)]),
        phase(concurrent, 1024..1088),
    ];
    assert_eq!(in_order(&late), [false, false, true]);
    // A step between them ends the concurrency.
    let apart = [
        phase(dispatch, 0..64),
        packed(4096..4160),
        phase(dispatch, 0..64),
        phase(concurrent, 0..64),
    ];
    assert_eq!(in_order(&apart), [false, false, true, false]);
}
