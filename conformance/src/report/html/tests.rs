use super::*;
use crate::results::{Block, Passes, ProfileRun, Support, TargetRun, samples};

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
fn the_page_tells_for_what_a_driver_ran_kernels() {
    let mut run = samples::run();
    let said = "dispatched kernels for 1 of 1 operator that were executed";
    assert!(page(&run).contains(said));
    run.targets[0].kernels = None;
    assert!(!page(&run).contains("dispatched kernels"));
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
    let failure = run.targets[0].cases[0].clone();
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
    run.targets[0].cases.clear();
    run.targets[0].passes[0].cases = 20;
    let size = page(&run).len();
    run.targets[0].passes[0].cases = 2000;
    let text = page(&run);
    assert!(text.len() < size + 100, "{} against {size}", text.len());
    assert!(text.contains("2,000 cases"), "{text}");
}

#[test]
fn levels_that_are_alike_share_a_grid() {
    let mut run = samples::run();
    let target = &mut run.targets[0];
    samples::set_cases(target, []);
    let answer = |level: &str, answer: &str| Support {
        at: Block { levels: [level, level].map(str::to_owned), ..samples::block("INT64", &[2]) },
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
    let grids = &grid::operators(target)[0].grids;
    let levels: Vec<_> = grids.iter().map(grid::Grid::levels).collect();
    assert_eq!(levels, ["2_0", "3_0 to 3_1", "4_0"]);
    let cell = &grids[1].shown().rows[0].1[0];
    assert_eq!((cell.answer().name, cell.mark().class), ("native", "none"));
    // A failure at one of them sets it apart.
    let id = "3_1/diagonal_matrix/int64/rank2/offset_zero";
    target.cases = vec![samples::case(id, ResultCode::Crash)];
    let grids = &grid::operators(target)[0].grids;
    assert_eq!(grids.len(), 4);
    let cell = &grids[2].shown().rows[0].1[0];
    assert_eq!((cell.answer().name, cell.mark().class, cell.failures()), ("native", "bad", 1));
    assert_eq!(cell.text(), "native: 1 crash");
}

/// A cell of `operator` at 5_1.
fn support(operator: &str, types: &str, rank: usize, answer: &str) -> Support {
    Support {
        operator: operator.to_owned(),
        at: samples::block(types, &[rank]),
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
    let cases = [
        samples::case(&id(3), ResultCode::Pass),
        samples::case(&id(4), ResultCode::Crash),
        samples::case(&id(4), ResultCode::Pass),
    ];
    samples::set_cases(target, cases);
    let grids = &grid::operators(target)[0].grids;
    assert_eq!(grids.len(), 1);
    assert_eq!(grids[0].shown().headings, ["INT8", "UINT4"]);
    let rows = grids[0].shown().rows;
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
    samples::set_cases(&mut run.targets[0], []);
    assert!(page(&run).contains("no cases"));
    run.targets.clear();
    assert!(page(&run).contains("there is no target"));
}

#[test]
fn rows_and_columns_that_look_alike_are_one() {
    let mut run = samples::run();
    let target = &mut run.targets[0];
    let types = ["FLOAT32", "FLOAT16", "INT8"].map(str::to_owned).to_vec();
    let at = |ranks: &[usize]| Block { data_types: types.clone(), ..samples::block("", ranks) };
    let answer =
        |ranks: &[usize], answer: &str| Support { at: at(ranks), ..support("A", "", 1, answer) };
    target.support = vec![answer(&[1, 2, 3, 5], "native"), answer(&[4, 6, 7, 8], "never")];
    samples::set_cases(target, []);
    let shown = |target: &TargetRun| grid::operators(target)[0].grids[0].shown();
    let all = shown(target);
    assert_eq!(all.headings, ["1-3, 5", "4, 6-8"]);
    assert_eq!((all.rows.len(), &*all.rows[0].0), (1, "FLOAT32, FLOAT16, INT8"));
    // Sums of what passed do not tell rows apart, failures do.
    let pass = |rank| samples::case(&format!("5_1/a/int8/rank{rank}/b"), ResultCode::Pass);
    let others = ["float32", "float16"].map(|it| format!("5_1/a/{it}/rank1/b"));
    let others = others.map(|id| samples::case(&id, ResultCode::Pass));
    samples::set_cases(target, others.into_iter().chain([pass(1), pass(1)]));
    let all = shown(target);
    assert_eq!(all.headings, ["1", "2-3, 5", "4, 6-8"]);
    assert_eq!(all.rows[0].1[0].text(), "native: 4 pass");
    let crash = samples::case("5_1/a/int8/rank1/c", ResultCode::Crash);
    target.cases.push(crash);
    let rows = shown(target).rows;
    assert_eq!((&*rows[0].0, &*rows[1].0), ("FLOAT32, FLOAT16", "INT8"));
}

/// A target on which every operator there is was run at every level, with every type and rank: what is
/// accepted changes with the levels, as it does, and some of it fails.
fn everything(seed: usize) -> TargetRun {
    let mut target = samples::target();
    let types: Vec<String> = dml::DataType::ALL.iter().map(|it| it.name().to_owned()).collect();
    let levels: Vec<String> = dml::FeatureLevel::ALL.iter().map(ToString::to_string).collect();
    (target.support, target.passes, target.cases) = (vec![], vec![], vec![]);
    for (number, operator) in dml::core::operators::OPERATORS.iter().enumerate() {
        let mut add = |part: usize, answer: &str, data_types: &[String], ranks: &[usize]| {
            // Four ranges of levels, each with more types and ranks.
            let first = (part * 4 + number % 4).min(levels.len() - 1);
            let last = ((part + 1) * 4 + number % 4 - 1).min(levels.len() - 1);
            let levels = [&levels[first], &levels[last]].map(String::clone);
            let (data_types, ranks) = (data_types.to_vec(), ranks.to_vec());
            let at = Block { levels, data_types, ranks };
            let operator = operator.name.to_owned();
            let text = format!("{answer} (without a feature of which the name is long: words)");
            let cases = (number + seed) as u64 + 20;
            let passes = Passes {
                operator: operator.clone(),
                at: at.clone(),
                cases,
                executed: 9,
                dispatched: 8,
            };
            target.passes.push(passes);
            target.support.push(Support { operator, at, answer: answer.to_owned(), text });
        };
        for part in 0..4 {
            let (some, rest) = types.split_at(3 * part + number % 3);
            let (emulated, native) = some.split_at((part + seed) % (some.len() + 1));
            add(part, "native", native, &[1, 2, 3, 4]);
            add(part, "emulated", emulated, &[1, 2, 3, 4]);
            add(part, "needs-level", some, &[5, 6, 7, 8]);
            add(part, "never", rest, &[1, 2, 3, 4, 5, 6, 7, 8]);
        }
        for (index, level) in levels.iter().enumerate().step_by(5) {
            let data_type = types[(number + index) % types.len()].to_lowercase();
            let operator = operator.name.to_lowercase();
            let id = format!("{level}/{operator}/{data_type}/rank{}/values", 1 + number % 8);
            target.cases.push(samples::case(&id, ResultCode::Fail));
        }
    }
    target
}

/// `target/html-report/everything.html` is left for people, and for the browser.
#[test]
fn the_page_of_every_operator_on_two_targets_stays_below_5_megabytes() {
    let mut run = samples::run();
    run.targets = [0, 1].map(everything).to_vec();
    run.targets[1].device.name = "Other".to_owned();
    let text = page(&run);
    let operators = dml::core::operators::OPERATORS.len();
    assert!(operators >= 177, "{operators}");
    assert_eq!(text.matches("<details class=\"operator\"").count(), 2 * operators);
    assert!(!text.contains("Cell by cell the same"), "the targets differ");
    assert!(text.len() < 5_000_000, "{} bytes", text.len());
    let mut json = Vec::new();
    crate::report::write(crate::report::Format::Json, &run, &mut json).unwrap();
    assert!(json.len() < 5_000_000, "{} bytes of JSON", json.len());
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/html-report");
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(format!("{folder}/everything.html"), &text).unwrap();
}
