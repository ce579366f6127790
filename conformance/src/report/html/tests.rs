use super::*;
use crate::results::{ProfileRun, SupportCell, samples};

fn page(run: &Run) -> String {
    let mut text = Vec::new();
    write(run, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// The sample with `targets` targets, one profile each.
fn sweep(targets: usize) -> Run {
    let mut run = samples::run();
    let profile = |index: usize| ProfileRun {
        name: format!("profile-{index}"),
        source: format!("profile-{index}"),
        about: "a device".to_owned(),
        also: vec!["twin".to_owned()],
        shortfalls: vec!["shaderInt64".to_owned()],
    };
    let with_profile = |index| {
        let mut target = samples::target();
        target.profile = Some(profile(index));
        target
    };
    run.targets = (0..targets).map(with_profile).collect();
    run
}

#[test]
fn the_page_needs_nothing_but_itself() {
    let text = page(&sweep(2));
    assert!(text.starts_with("<!DOCTYPE html>"));
    for foreign in ["http://", "https://", "src=", "@import", "url(", "<link", "<iframe"] {
        assert!(!text.contains(foreign), "{foreign}");
    }
    assert!(text.contains("default-src 'none'"));
}

#[test]
fn texts_of_others_cannot_become_markup() {
    let evil = "<script>alert(1)</script>\"'&";
    let mut run = sweep(1);
    let target = &mut run.targets[0];
    let texts = [
        &mut target.device.name,
        &mut target.device.driver_name,
        &mut target.device.kind,
        &mut target.support[0].text,
        &mut target.errors[0].operator,
        &mut run.conformance_version,
    ];
    texts.into_iter().for_each(|text| *text = evil.to_owned());
    let profile = target.profile.as_mut().unwrap();
    for text in [&mut profile.name, &mut profile.about, &mut profile.also[0]] {
        *text = evil.to_owned();
    }
    profile.shortfalls[0] = evil.to_owned();
    target.features.insert(evil.to_owned(), true);
    target.limits.insert(evil.to_owned(), 1);
    let id = format!("5_1/diagonal_matrix/int8/rank2/{evil}");
    for case in &mut target.cases {
        case.id = id.parse().unwrap();
        case.detail = Some(evil.to_owned());
        if let Some(expected) = &mut case.expected {
            expected.reason = evil.to_owned();
        }
        if let Some(failure) = &mut case.failure {
            failure.descriptor = evil.to_owned();
            failure.plan = evil.to_owned();
            failure.matrices.as_mut().unwrap().actual[0][0] = evil.to_owned();
        }
    }
    run.selection.filter = Some(evil.to_owned());
    let text = page(&run);
    assert!(!text.contains("<script>alert"), "{text}");
    assert!(!text.contains("\"'&"), "{text}");
    assert_eq!(text.matches("<script").count(), 1);
    assert!(text.matches("alert(1)").count() > 20, "every text is there, escaped");
}

#[test]
fn the_largest_errors_are_a_table_and_lead_to_the_first_target_that_has_them() {
    let mut run = sweep(3);
    let mut row = |index: usize, ulp| run.targets[index].errors[0].ulp = ulp;
    row(1, Some(7));
    row(2, Some(7));
    let text = page(&run);
    let cells = "DIAGONAL_MATRIX</th><td>FLOAT32</td><td class=\"number\">1</td>\
        <td class=\"number\">7</td><td class=\"number\">3</td><td><a href=\"#target-2\">profile-1</a>";
    assert_eq!(text.matches(cells).count(), 1, "{text}");
    run.targets.iter_mut().for_each(|target| target.errors[0].ulp = Some(0));
    let text = page(&run);
    assert!(
        text.contains("<td class=\"number\">0</td><td class=\"number\">3</td><td></td>"),
        "{text}"
    );
    run.targets.iter_mut().for_each(|target| target.errors.clear());
    assert!(!page(&run).contains("Largest errors"));
}

#[test]
fn counts_and_verdicts_are_words_too() {
    let mut run = samples::run();
    run.agreement = Some(crate::results::Agreement { compared: 2, agreed: 1 });
    let text = page(&run);
    for part in [
        "1 of 2 cases have the same results on all</p>",
        "not conformant</span> Sample &#60;device&#62; &#38; co</h1>",
        "8 cases, feature level 5_1",
        "title=\"5_1: not conformant, 1 pass, 1 fail, 1 unsupported",
        "title=\"1_0: not run, no cases\"",
        "<h3 id=\"target-1-failures\">4 failures</h3>",
        "emulated (without shaderInt64: two 32-bit words): 1 pass",
        "<b>unsupported</b>: 1 case, legal",
        "<b>not-run</b>: 1 case, beyond",
        "a reason (not yet)",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    assert!(!text.contains("class=\"overview\""), "one target needs no overview");
    assert_eq!(text.matches("<details class=\"case\"").count(), 4);
    assert!(text.contains("<td class=\"d\">165</td>"), "{text}");
}

#[test]
fn the_interpreter_has_a_verdict_of_its_own() {
    let text = page(&samples::interpreted());
    for part in [
        "<span class=\"chip plan\"><span aria-hidden=\"true\">P</span> plans verified</span>",
        "title=\"5_1: plans verified, 1 pass, 1 not-run\"",
        "<td class=\"emulated plan\"",
        "<b>not-run</b>: 1 case, beyond",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    let of_the_overview = "only targets that are not conformant";
    assert!(!text.replace(of_the_overview, "").contains("conformant"), "{text}");
}

#[test]
fn many_targets_have_an_overview_and_are_folded_unless_they_fail() {
    let mut run = sweep(OPEN_TARGETS + 1);
    run.targets[1].cases.retain(|case| !case.result.is_failure());
    let text = page(&run);
    assert!(text.contains("<a href=\"#target-4\">profile-3</a>"), "{text}");
    assert!(text.contains("/rank2/offset_zero --profile profile-3</code>"), "{text}");
    assert!(text.contains("id=\"target-1\" open"), "it fails");
    assert!(text.contains("id=\"target-2\" >"), "it does not");
    assert!(text.contains("Cell by cell the same as <a href=\"#target-1\">"), "{text}");
}

#[test]
fn the_page_stays_small_however_much_failed() {
    let mut run = sweep(1);
    let failure = run.targets[0].cases[1].clone();
    run.targets[0].cases = vec![failure; 5000];
    let text = page(&run);
    assert_eq!(text.matches("<details class=\"case\"").count(), SHOWN_FAILURES);
    assert!(text.contains("And 4,800 more: see the JSON form"), "{text}");
    let size = text.len();
    run.targets = vec![run.targets[0].clone(); 80];
    let text = page(&run);
    assert_eq!(text.matches("<details class=\"case\"").count(), SHOWN_FAILURES_OF_ALL);
    assert!(text.len() < 20 * size, "{} of {size}", text.len());
}

#[test]
fn cases_that_passed_are_counted_not_listed() {
    let mut run = samples::run();
    let passed = run.targets[0].cases[0].clone();
    run.targets[0].cases = vec![passed.clone(); 20];
    let size = page(&run).len();
    run.targets[0].cases = vec![passed; 2000];
    let text = page(&run);
    assert!(text.len() < size + 100, "{} against {size}", text.len());
    assert!(text.contains("2,000 cases"), "{text}");
}

#[test]
fn levels_that_are_alike_share_a_grid() {
    let mut run = samples::run();
    let target = &mut run.targets[0];
    target.cases.clear();
    let answer = |level: &str, answer: &str| SupportCell {
        level: level.to_owned(),
        answer: answer.to_owned(),
        text: answer.to_owned(),
        ..target.support[0].clone()
    };
    target.support = vec![
        answer("2_0", "needs-level"),
        answer("3_0", "native"),
        answer("3_1", "native"),
        answer("4_0", "emulated"),
    ];
    let (_, grids) = &grid::operators(target)[0];
    let levels: Vec<_> = grids.iter().map(grid::Grid::levels).collect();
    assert_eq!(levels, ["2_0", "3_0 to 3_1", "4_0"]);
    let cell = &grids[1].rows()[0].1[0];
    assert_eq!((cell.answer().name, cell.mark().class), ("native", "none"));
    // A failure at one of them sets it apart.
    let id = "3_1/diagonal_matrix/int64/rank2/offset_zero";
    target.cases = vec![samples::case(id, ResultCode::Crash)];
    let (_, grids) = &grid::operators(target)[0];
    assert_eq!(grids.len(), 4);
    let cell = &grids[2].rows()[0].1[0];
    assert_eq!((cell.answer().name, cell.mark().class, cell.failures()), ("native", "bad", 1));
    assert_eq!(cell.text(), "native: 1 crash");
}

/// A cell of `operator` at 5_1.
fn support(operator: &str, types: &str, rank: usize, answer: &str) -> SupportCell {
    SupportCell {
        operator: operator.to_owned(),
        level: "5_1".to_owned(),
        data_type: types.to_owned(),
        rank,
        answer: answer.to_owned(),
        text: answer.to_owned(),
    }
}

#[test]
fn tensors_that_differ_in_type_have_a_grid_of_types_by_types() {
    let mut run = samples::run();
    let target = &mut run.targets[0];
    target.support = vec![
        support("CONVERT", "FLOAT32-INT8", 3, "needs-level"),
        support("CONVERT", "FLOAT32-INT8", 4, "native"),
        support("CONVERT", "INT8-INT8", 4, "native"),
        support("CONVERT", "INT8-UINT4", 4, "never"),
    ];
    let id = |rank| format!("5_1/convert/float32-int8/rank{rank}/same_sizes");
    target.cases = vec![
        samples::case(&id(3), ResultCode::Pass),
        samples::case(&id(4), ResultCode::Crash),
        samples::case(&id(4), ResultCode::Pass),
    ];
    let (_, grids) = &grid::operators(target)[0];
    assert_eq!(grids.len(), 1);
    assert_eq!(grids[0].headings(), ["INT8", "UINT4"]);
    let rows = grids[0].rows();
    let names: Vec<_> = rows.iter().map(|(name, entries)| (&**name, entries.len())).collect();
    assert_eq!(names, [("FLOAT32", 2), ("INT8", 2)]);
    let cell = &rows[0].1[0];
    assert_eq!((cell.answer().name, cell.mark().class, cell.failures()), ("native", "bad", 1));
    assert_eq!(cell.text(), "native at rank 4, needs-level at rank 3: 2 pass, 1 crash");
    assert_eq!(rows[0].1[1].answer().name, "unknown");
    assert_eq!(rows[1].1[1].text(), "never: no cases");
    let text = page(&run);
    for part in ["row-column", "<span>UINT4</span>", "<th scope=\"row\">FLOAT32</th>"] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
}

#[test]
fn every_answer_of_the_runtime_has_a_cell() {
    let names: Vec<_> = ANSWERS.iter().map(|answer| answer.name).collect();
    for name in ["never", "undocumented", "needs-level", "not-implemented", "emulated", "native"] {
        assert!(names.contains(&name), "{name}");
        assert!(include_str!("../../../templates/report/grid.css").contains(&format!(".{name} ")));
    }
}

#[test]
fn a_run_without_targets_or_cases_is_a_page_too() {
    let mut run = samples::run();
    run.targets[0].cases.clear();
    assert!(page(&run).contains("no cases"));
    run.targets.clear();
    assert!(page(&run).contains("there is no target"));
}
