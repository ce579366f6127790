//! Whether devices give the same results as each other: each can be near enough to the reference while
//! they differ.

use std::collections::HashMap;

use crate::cases::CaseId;
use crate::results::{Agreement, CaseResult, ResultCode, TargetRun};

/// A case of a target, by their numbers.
type Place = (usize, usize);

/// Compares the results of each case on those targets that are Vulkan devices, by their digests, which
/// are gone then. Where a target's differ from those of the first one that passed the case, the case
/// has failed on both. `None` where there is nothing to compare with.
pub fn compare(targets: &mut [TargetRun]) -> Option<Agreement> {
    let digests: Vec<Vec<Option<u64>>> = targets.iter_mut().map(take_digests).collect();
    let devices: Vec<usize> =
        (0..targets.len()).filter(|index| !targets[*index].device.is_interpreter()).collect();
    if devices.len() < 2 {
        return None;
    }
    // Of each case the first place, and whether the others are like it.
    let mut firsts = HashMap::<&CaseId, (Place, Option<bool>)>::new();
    let mut differing = Vec::<[Place; 2]>::new();
    for target in devices {
        for (index, case) in targets[target].cases.iter().enumerate() {
            let (place, Some(digest)) = ((target, index), digests[target][index]) else { continue };
            let (first, alike) = firsts.entry(&case.id).or_insert((place, None));
            if *first == place {
                continue;
            }
            let is_alike = digests[first.0][first.1] == Some(digest);
            *alike = Some(alike.unwrap_or(true) && is_alike);
            if !is_alike {
                differing.push([*first, place]);
            }
        }
    }
    let count = |alike| firsts.values().filter(|(_, it)| *it == Some(alike)).count() as u64;
    let (agreed, differ) = (count(true), count(false));
    for [first, other] in differing {
        accuse(targets, first, other);
        accuse(targets, other, first);
    }
    Some(Agreement { compared: agreed + differ, agreed })
}

/// The digests of the cases that passed.
fn take_digests(target: &mut TargetRun) -> Vec<Option<u64>> {
    let passed = |case: &CaseResult| case.result == ResultCode::Pass;
    target.cases.iter_mut().map(|case| case.digest.take().filter(|_| passed(case))).collect()
}

/// Says of a case that its results are not those of another target; once is enough.
fn accuse(targets: &mut [TargetRun], (target, index): Place, other: Place) {
    let [this, other] = [target, other.0].map(|target| targets[target].title());
    let case = &mut targets[target].cases[index];
    if case.result == ResultCode::Pass {
        case.result = ResultCode::Fail;
        case.detail = Some(format!(
            "the results of {this} differ from those of {other}, though each is near enough to the \
             reference"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{DeviceIdentity, samples};

    /// A target of this name, with cases that passed and have these digests.
    fn target(name: &str, digests: &[(&str, u64)]) -> TargetRun {
        let case = |(name, digest): &(&str, u64)| {
            let id = format!("5_1/a/int8/rank1/{name}");
            CaseResult { digest: Some(*digest), ..samples::case(&id, ResultCode::Pass) }
        };
        let mut target = samples::target();
        target.device.name = name.to_owned();
        target.cases = digests.iter().map(case).collect();
        target
    }

    fn results(target: &TargetRun) -> Vec<ResultCode> {
        target.cases.iter().map(|case| case.result).collect()
    }

    #[test]
    fn a_case_that_differs_fails_on_both_devices_and_names_them() {
        let mut targets = [
            target("one", &[("same", 1), ("differs", 2), ("alone", 3)]),
            target("two", &[("differs", 7), ("same", 1)]),
            target("three", &[("differs", 2), ("same", 1)]),
        ];
        let agreement = compare(&mut targets);
        assert_eq!(agreement, Some(Agreement { compared: 2, agreed: 1 }));
        use ResultCode::{Fail, Pass};
        assert_eq!(results(&targets[0]), [Pass, Fail, Pass]);
        assert_eq!(results(&targets[1]), [Fail, Pass]);
        assert_eq!(results(&targets[2]), [Pass, Pass]);
        let detail = |target: usize, index: usize| targets[target].cases[index].detail.clone();
        let words = "the results of two differ from those of one, though";
        assert!(detail(1, 0).is_some_and(|it| it.starts_with(words)), "{:?}", detail(1, 0));
        assert!(detail(0, 1).is_some_and(|it| it.starts_with("the results of one differ")));
        assert!(targets.iter().flat_map(|it| &it.cases).all(|case| case.digest.is_none()));
    }

    #[test]
    fn what_has_failed_and_what_has_no_outputs_is_not_compared() {
        let mut targets = [
            target("one", &[("failed", 1), ("refused", 1)]),
            target("two", &[("failed", 2), ("refused", 1)]),
        ];
        targets[0].cases[0].result = ResultCode::Fail;
        targets[1].cases[1].digest = None;
        assert_eq!(compare(&mut targets), Some(Agreement::default()));
        assert_eq!(results(&targets[1]), [ResultCode::Pass; 2]);
    }

    #[test]
    fn one_device_and_the_interpreter_are_not_compared() {
        let mut targets = [target("one", &[("a", 1)]), target("host", &[("a", 2)])];
        targets[1].device.kind = DeviceIdentity::INTERPRETER.to_owned();
        assert_eq!(compare(&mut targets), None);
        assert_eq!(results(&targets[0]), [ResultCode::Pass]);
        assert_eq!(targets[0].cases[0].digest, None);
    }
}
