use super::*;
use crate::results::samples;

const ID: &str = "5_1/diagonal_matrix/int64/rank2/offset_zero";
const OTHER: &str = "5_1/diagonal_matrix/int64/rank2/offset_one";

fn run_of(cases: &[(&str, ResultCode)]) -> Run {
    let mut run = samples::run();
    let cases = cases.iter().map(|(id, result)| samples::case(id, *result));
    samples::set_cases(&mut run.targets[0], cases);
    run
}

/// The change of a case that ended with `a` and then with `b`; `None` where there was no case.
fn change(a: Option<ResultCode>, b: Option<ResultCode>) -> (Option<ChangeKind>, bool) {
    let run = |code: Option<ResultCode>| {
        let cases: Vec<_> = code.map(|code| (ID, code)).into_iter().collect();
        run_of(&cases)
    };
    let (a, b) = (run(a), run(b));
    let diff = Diff::between(&a, &b);
    let changes = || ChangeKind::ALL.into_iter().filter(|kind| diff.number(*kind) > 0);
    assert!(changes().map(|kind| diff.number(kind)).sum::<u64>() <= 1);
    (changes().next(), diff.is_worse())
}

#[test]
fn every_pair_of_results_means_something() {
    use ChangeKind::*;
    use ResultCode::{
        Crash, ExpectedFail, Fail, NotRun, Pass, Timeout, UnexpectedPass, Unsupported,
    };
    for (a, b, kind, worse) in [
        (Pass, Fail, Worse, true),
        (Pass, Crash, Worse, true),
        (ExpectedFail, Fail, Worse, true),
        (ExpectedFail, UnexpectedPass, Worse, true),
        (Unsupported, Timeout, Worse, true),
        (Pass, Unsupported, Lost, false),
        (Pass, ExpectedFail, Lost, false),
        (Pass, NotRun, Lost, false),
        (NotRun, Pass, Better, false),
        (NotRun, Fail, Worse, true),
        (Fail, Pass, Better, false),
        (Fail, ExpectedFail, Better, false),
        (UnexpectedPass, Pass, Better, false),
        (Unsupported, Pass, Better, false),
        (Fail, Crash, Changed, false),
        (ExpectedFail, Unsupported, Changed, false),
    ] {
        assert_eq!(change(Some(a), Some(b)), (Some(kind), worse), "{a:?} -> {b:?}");
    }
    for code in ResultCode::ALL {
        assert_eq!(change(Some(code), Some(code)), (None, false), "{code:?}");
        assert_eq!(change(Some(code), None), (Some(Gone), false), "{code:?}");
        let new = if code.is_failure() { NewFailure } else { New };
        assert_eq!(change(None, Some(code)), (Some(new), code.is_failure()), "{code:?}");
    }
}

#[test]
fn another_reason_is_a_change_and_another_time_is_none() {
    let a = run_of(&[(ID, ResultCode::Fail)]);
    let mut b = a.clone();
    b.targets[0].cases[0].microseconds += 1;
    b.targets[0].seconds += 1.0;
    assert!(Diff::between(&a, &b).targets[0].changes.is_empty());
    b.targets[0].cases[0].detail = Some("wrote past the end".to_owned());
    let diff = Diff::between(&a, &b);
    assert_eq!(diff.targets[0].changes[0].kind, ChangeKind::Changed);
    assert!(diff.to_string().contains(&format!("{ID}: fail: wrote past the end\n")), "{diff}");
}

#[test]
fn targets_are_found_again_under_another_driver() {
    let a = run_of(&[(ID, ResultCode::Pass)]);
    let mut b = run_of(&[(ID, ResultCode::Fail)]);
    b.conformance_version = "0.0.1".to_owned();
    b.targets[0].device.driver_info = "1.3".to_owned();
    b.targets[0].features.insert("shaderInt64".to_owned(), true);
    let diff = Diff::between(&a, &b);
    let text = diff.to_string();
    assert!(diff.is_worse());
    for line in [
        "conformance version: 0.0.0-sample -> 0.0.1\n",
        "Sample <device> & co: driver: sample driver 1.2 -> sample driver 1.3\n",
        "Sample <device> & co: shaderInt64: false -> true\n",
        "  conformant -> not conformant: pass 1 -> 0, fail 0 -> 1\n",
        "  worse: 1 case\n    5_1/diagonal_matrix/int64/rank2/offset_zero: pass -> fail: fail & why\n",
        "\nworse: 1 worse\n",
    ] {
        assert!(text.contains(line), "{line:?} in {text}");
    }
}

#[test]
fn new_and_gone_targets_are_named() {
    let a = run_of(&[(ID, ResultCode::Pass)]);
    let mut b = run_of(&[(ID, ResultCode::Pass), (OTHER, ResultCode::Fail)]);
    b.targets[0].device.name = "Other".to_owned();
    let diff = Diff::between(&a, &b);
    assert!(diff.is_worse(), "a failure on a new target is a new failure");
    let text = diff.to_string();
    let counts = "  not conformant: pass 0 -> 1, fail 0 -> 1\n";
    assert!(text.contains(&format!("Other: only in the second run\n{counts}")), "{text}");
    assert!(text.contains("Sample <device> & co: only in the first run\n"), "{text}");
    assert!(text.contains(&format!("    {OTHER}: fail")), "{text}");
    assert!(!text.contains(&format!("    {ID}")), "a case that passes is only counted: {text}");
}

#[test]
fn devices_of_one_name_are_told_apart_by_their_order() {
    let mut a = run_of(&[(ID, ResultCode::Pass)]);
    a.targets.push(run_of(&[(ID, ResultCode::Unsupported)]).targets.remove(0));
    let diff = Diff::between(&a, &a);
    assert_eq!(diff.targets.len(), 2);
    assert!(
        diff.to_string().ends_with("no change on 2 targets\n\nnot worse: no change\n"),
        "{diff}"
    );
}

#[test]
fn long_lists_are_cut_and_say_so() {
    let ids: Vec<String> = (0..30).map(|index| format!("{ID}_{index}")).collect();
    let cases = |code| ids.iter().map(|id| (id.as_str(), code)).collect::<Vec<_>>();
    let [a, b] = [ResultCode::Pass, ResultCode::Crash].map(|code| run_of(&cases(code)));
    let text = Diff::between(&a, &b).to_string();
    assert_eq!(text.matches("pass -> crash").count(), 20, "{text}");
    assert!(text.contains("    and 10 more\n") && text.contains("worse: 30 worse"), "{text}");
}

#[test]
fn what_passes_is_counted_and_told_from_what_is_new_or_gone() {
    use ResultCode::{Fail, Pass};
    let id = |place: &str, name: &str| format!("5_1/diagonal_matrix/{place}/{name}");
    let [one, two, three] = ["a", "b", "c"].map(|name| id("int64/rank2", name));
    let elsewhere = id("int64/rank3", "a");
    let a = run_of(&[(&one, Pass), (&two, Pass), (&three, Fail)]);
    // One case fails now, one passes now; at another rank there was no case.
    let b = run_of(&[(&one, Fail), (&two, Pass), (&three, Pass), (&elsewhere, Fail)]);
    let found = |a: &Run, b: &Run| {
        let diff = Diff::between(a, b);
        ChangeKind::ALL
            .map(|kind| (kind, diff.number(kind)))
            .into_iter()
            .filter(|it| it.1 > 0)
            .collect::<Vec<_>>()
    };
    use ChangeKind::{Better, Gone, New, NewFailure, Worse};
    assert_eq!(found(&a, &b), [(Worse, 1), (NewFailure, 1), (Better, 1)]);
    let more = run_of(&[(&one, Pass), (&two, Pass), (&three, Fail), (&elsewhere, Pass)]);
    assert_eq!((found(&a, &more), found(&more, &a)), (vec![(New, 1)], vec![(Gone, 1)]));
    assert_eq!(found(&a, &a), []);
}
