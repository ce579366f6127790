//! Compares the results of devices with each other: all can be near enough to the reference, but differ.

use std::collections::HashMap;

use crate::cases::CaseId;
use crate::outcomes::Outcomes;
use crate::results::{Agreement, CaseResult, ResultCode};

/// Compares the digests of each case's results on all targets that are Vulkan devices; a target may have run only
/// some of the cases. If a target's results differ from those of the first one that passed the case, the case has
/// failed on both. `None` with less than two devices.
pub fn compare(targets: &mut [Outcomes]) -> Option<Agreement> {
    let is_device = |index: &usize| !targets[*index].target().device.is_interpreter();
    let devices: Vec<usize> = (0..targets.len()).filter(is_device).collect();
    if devices.len() < 2 {
        return None;
    }
    let mut firsts = HashMap::<&CaseId, First>::new();
    let mut differing = Vec::<[CaseOnTarget; 2]>::new();
    for target in devices {
        for (case, (listed, digest)) in targets[target].passed().enumerate() {
            let Some(digest) = digest else { continue };
            let place = CaseOnTarget { target, case };
            let Some(first) = firsts.get_mut(&listed.id) else {
                firsts.insert(&listed.id, First { place, digest, is_alike: None });
                continue;
            };
            let is_alike = first.digest == digest;
            first.is_alike = Some(first.is_alike.unwrap_or(true) && is_alike);
            if !is_alike {
                differing.push([first.place, place]);
            }
        }
    }
    let count =
        |alike| firsts.values().filter(|first| first.is_alike == Some(alike)).count() as u64;
    let (agreed, differ) = (count(true), count(false));
    for [first, other] in differing {
        accuse(targets, first, other.target);
        accuse(targets, other, first.target);
    }
    Some(Agreement { compared: agreed + differ, agreed })
}

/// A case on a target, by their indices.
#[derive(Clone, Copy)]
struct CaseOnTarget {
    target: usize,
    case: usize,
}

/// The first target that passed a case.
struct First {
    place: CaseOnTarget,
    /// The digest of its results.
    digest: u64,
    /// Whether the other targets have equal results; `None` without other targets.
    is_alike: Option<bool>,
}

/// Marks a case as failed because its results differ from those of the target `other`, once for each target.
fn accuse(targets: &mut [Outcomes], place: CaseOnTarget, other: usize) {
    let [this, other] = [place.target, other].map(|target| targets[target].target().title());
    targets[place.target].change_one(place.case, |result| {
        let detail = format!(
            "the results of {this} differ from those of {other}, though each is near enough to the \
             reference"
        );
        let fail = || CaseResult {
            result: ResultCode::Fail,
            detail: Some(detail),
            digest: None,
            ..result.clone()
        };
        (result.result == ResultCode::Pass).then(fail)
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{DeviceIdentity, samples};

    /// A target of this name, with cases that passed and have these digests, or did not run.
    fn target(name: &str, digests: &[Option<u64>]) -> Outcomes {
        let case = |(index, digest): (usize, &Option<u64>)| {
            let id = format!("5_1/a/int8/rank1/case_{index}");
            let result = if digest.is_some() { ResultCode::Pass } else { ResultCode::NotRun };
            CaseResult { digest: *digest, ..samples::case(&id, result) }
        };
        let mut target = samples::target();
        target.device.name = name.to_owned();
        Outcomes::of(target, digests.iter().enumerate().map(case))
    }

    fn results(target: &Outcomes) -> Vec<ResultCode> {
        target.results().map(|(_, result)| result).collect()
    }

    #[test]
    fn a_case_that_differs_fails_on_both_devices_and_names_them() {
        let mut targets = [
            target("one", &[Some(1), Some(2), Some(3)]),
            target("two", &[Some(1), Some(7), None]),
            target("three", &[Some(1), Some(2), None]),
        ];
        let agreement = compare(&mut targets);
        assert_eq!(agreement, Some(Agreement { compared: 2, agreed: 1 }));
        use ResultCode::{Fail, NotRun, Pass};
        assert_eq!(results(&targets[0]), [Pass, Fail, Pass]);
        assert_eq!(results(&targets[1]), [Pass, Fail, NotRun]);
        assert_eq!(results(&targets[2]), [Pass, Pass, NotRun]);
        let detail = |target: usize| targets[target].problem(1)?.detail.clone();
        let words = "the results of two differ from those of one, though";
        assert!(detail(1).is_some_and(|it| it.starts_with(words)), "{:?}", detail(1));
        assert!(detail(0).is_some_and(|it| it.starts_with("the results of one differ")));
        let executed = targets.map(|target| target.into_run().total().executed());
        assert_eq!(executed, [3, 2, 2], "a case that differs was executed");
    }

    #[test]
    fn a_target_that_ran_some_of_the_cases_is_compared_in_these() {
        let of = |name: &str, cases: &[(u32, u64)]| {
            let mut target = samples::target();
            target.device.name = name.to_owned();
            Outcomes::of(
                target,
                cases.iter().map(|(number, digest)| {
                    let id = format!("5_1/a/int8/rank1/case_{number}");
                    let digest = Some(*digest);
                    CaseResult { digest, ..samples::case(&id, ResultCode::Pass) }
                }),
            )
        };
        let mut targets = [of("one", &[(0, 1), (1, 2), (2, 3)]), of("two", &[(2, 3), (1, 9)])];
        assert_eq!(compare(&mut targets), Some(Agreement { compared: 2, agreed: 1 }));
        use ResultCode::{Fail, Pass};
        assert_eq!(results(&targets[0]), [Pass, Fail, Pass]);
        assert_eq!(results(&targets[1]), [Pass, Fail]);
    }

    #[test]
    fn what_has_failed_and_what_has_no_outputs_is_not_compared() {
        let mut targets = [target("one", &[Some(1), Some(1)]), target("two", &[Some(2), Some(1)])];
        let failed = |case: &CaseResult| CaseResult { result: ResultCode::Fail, ..case.clone() };
        targets[0].change_one(0, |case| Some(failed(case)));
        targets[1].change_one(1, |case| Some(CaseResult { digest: None, ..case.clone() }));
        assert_eq!(compare(&mut targets), Some(Agreement::default()));
        assert_eq!(results(&targets[1]), [ResultCode::Pass; 2]);
    }

    #[test]
    fn one_device_and_the_interpreter_are_not_compared() {
        let mut host = samples::target();
        host.device.kind = DeviceIdentity::INTERPRETER.to_owned();
        let case = samples::case("5_1/a/int8/rank1/case_0", ResultCode::Pass);
        let case = CaseResult { digest: Some(2), ..case };
        let mut targets = [target("one", &[Some(1)]), Outcomes::of(host, [case])];
        assert_eq!(compare(&mut targets), None);
        assert_eq!(results(&targets[0]), [ResultCode::Pass]);
    }
}
