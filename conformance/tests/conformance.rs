//! A part of the suite on every device, in this process, and under the validation layer if `cargo xtask test`
//! asks for it. `cargo xtask ci` runs the whole suite under the layer, in workers.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::{BTreeMap, HashSet};

use dml::core::plan::Plan;
use dml::core::{Capabilities, Error, Strategy, Tuning, Validated, validate};
use dml::{DataType, FeatureLevel};
use dml_conformance::agreement::compare;
use dml_conformance::cases::{Case, Expectation, Filter, Finder, Kind, generate, listing, random};
use dml_conformance::execute::{Details, Lowering};
use dml_conformance::outcomes::Outcomes;
use dml_conformance::results::{ResultCode, Verdict};
use dml_conformance::runner::run_in_process;
use dml_conformance::target::{Devices, Opening, Profiles, Survey, Target};
use dml_ops::{Target as LoweringTarget, TransferUse};

#[path = "../../crates/dml/tests/common/one_driver.rs"]
mod one_driver;

fn targets(devices: Devices, profiles: Profiles) -> Vec<Target> {
    let validation = std::env::var("DML_TEST_VALIDATION").as_deref() == Ok("required");
    let opening = Opening { validation, ..Opening::default() };
    let survey = Survey { devices, profiles, opening };
    survey.targets().expect("a Vulkan device; run `cargo xtask test`")
}

fn run(target: &Target, cases: &[Case], lowering: Option<&dyn Lowering>) -> Outcomes {
    run_in_process(target, &listing(cases), lowering, Details::Failures, |_| ()).unwrap()
}

/// The first cases that did not pass.
fn problems(run: &Outcomes) -> Vec<String> {
    let wrong = (0..run.listing().len()).filter_map(|index| run.problem(index)).take(10);
    wrong.map(|case| format!("{}: {}", case.id, case.detail.as_deref().unwrap_or(""))).collect()
}

/// How many cases of each kind an operator has; an optimized build runs more, and `cargo xtask conformance` all of them.
const MOST_CASES: usize = if cfg!(debug_assertions) { 1 } else { 3 };

/// At most `most` cases of each kind for each operator, with one combination of types, which changes from
/// operator to operator: making pipelines takes most of the time.
fn sample(cases: impl Iterator<Item = Case>, most: usize) -> Vec<Case> {
    let mut alike = BTreeMap::<(String, Kind), Vec<Case>>::new();
    for case in with_one_type_each(cases) {
        alike.entry((case.id.operator.clone(), case.kind())).or_default().push(case);
    }
    // Evenly spread over the list.
    let spread = |cases: Vec<Case>| {
        let step = cases.len().div_ceil(most);
        cases.into_iter().step_by(step)
    };
    alike.into_values().flat_map(spread).collect()
}

fn with_one_type_each(cases: impl Iterator<Item = Case>) -> Vec<Case> {
    let mut types = BTreeMap::<String, Vec<Vec<DataType>>>::new();
    let cases: Vec<Case> = cases.collect();
    for case in cases.iter().filter(|case| case.kind() == Kind::Outputs) {
        let known = types.entry(case.id.operator.clone()).or_default();
        if !known.contains(&case.id.signature.types) {
            known.push(case.id.signature.types.clone());
        }
    }
    let choose = |(index, known): (usize, &Vec<Vec<DataType>>)| known[index % known.len()].clone();
    let chosen: HashSet<_> =
        types.keys().cloned().zip(types.values().enumerate().map(choose)).collect();
    let is_chosen =
        |case: &Case| chosen.contains(&(case.id.operator.clone(), case.id.signature.types.clone()));
    cases.into_iter().filter(is_chosen).collect()
}

#[test]
fn every_operator_passes_on_every_device() {
    let cases = generate(FeatureLevel::HIGHEST).into_iter();
    let everything = Filter::default();
    let random = random(FeatureLevel::HIGHEST, &everything, 4, 0);
    let cases = sample(cases.chain(random), MOST_CASES);
    let mut runs = Vec::new();
    for target in targets(Devices::All, Profiles::from_environment()) {
        let run = run(&target, &cases, None);
        let (title, seconds) = (target.title(), run.target().seconds);
        eprintln!("{title}: {} cases in {seconds:.1} s", cases.len());
        assert!(problems(&run).is_empty(), "{title}: {:#?}", problems(&run));
        check_executed(&cases, &run);
        runs.push(run);
    }
    let Some(agreement) = compare(&mut runs) else {
        eprintln!("there is no second device to compare with: run `cargo xtask test`");
        return;
    };
    let executes = |case: &&Case| matches!(case.expectation, Expectation::Outputs(_));
    assert_eq!(agreement.compared, cases.iter().filter(executes).count() as u64);
    for run in &runs {
        assert!(problems(run).is_empty(), "{}: {:#?}", run.target().title(), problems(run));
    }
}

/// Checks that every operator was executed, in each of its cases with outputs.
fn check_executed(cases: &[Case], run: &Outcomes) {
    let run = run.clone().into_run();
    let operators = run.operators();
    assert_eq!(operators.len(), dml_ops::OPERATORS.len());
    for (name, counts) in operators {
        let is_executed =
            |case: &&Case| case.kind() == Kind::Outputs && case.id.operator.to_uppercase() == name;
        assert_eq!(counts.executed(), cases.iter().filter(is_executed).count() as u64, "{name}");
        assert_eq!(counts.verdict(), Verdict::Conformant, "{name}");
    }
    assert_eq!(run.required.len(), dml_ops::OPERATORS.len());
}

/// Only one type and rank; `cargo xtask conformance --full` runs all of them.
#[test]
fn the_interpreter_passes_under_every_profile() {
    let is_chosen = |case: &Case| {
        case.id.signature.data_type() == DataType::Int16 && case.id.signature.rank == 3
    };
    let chosen = || generate(FeatureLevel::HIGHEST).into_iter().filter(is_chosen);
    let everything = Filter::default();
    let random = random(FeatureLevel::HIGHEST, &everything, 8, 1).filter(is_chosen);
    let cases: Vec<Case> = chosen().chain(random).collect();
    let targets = targets(Devices::Interpreter, Profiles::All);
    let profiles = targets.iter().map(|target| 1 + target.run.profile.as_ref().unwrap().also.len());
    assert_eq!(profiles.sum::<usize>(), dml::profiles::names().count());
    for target in &targets {
        let outcomes = run(target, &cases, None);
        let run = outcomes.clone().into_run();
        let total = run.total();
        let is_binding = |case: &&Case| case.kind() == Kind::Binding;
        let bindings = cases.iter().filter(is_binding).count();
        assert!(bindings > 0 && total.all() == cases.len() as u64);
        assert_eq!(usize::try_from(total.of(ResultCode::NotRun)), Ok(bindings));
        assert_eq!(total.failures(), 0, "{}: {:#?}", run.title(), problems(&outcomes));
        assert_ne!(total.verdict(), Verdict::Conformant);
        // Most profiles refuse nothing, and all run most cases.
        let ran = total.all() - total.of(ResultCode::NotRun);
        assert!(total.of(ResultCode::Pass) * 10 > ran * 9, "{}", run.title());
    }
}

/// The plans of a case with and without transfer usage; `None` if it must be refused.
fn plans(case: &Case, tuning: Tuning) -> Option<[Plan; 2]> {
    let Expectation::Outputs(_) = &case.expectation else { return None };
    let operator = validate(&case.operator, case.level).unwrap();
    let capabilities = &Capabilities::vulkan_minimum();
    let usages = [TransferUse::Allowed, TransferUse::StorageOnly];
    Some(usages.map(|transfer| {
        let target = LoweringTarget { capabilities, tuning, transfer };
        dml_ops::lower(&operator, &target).unwrap()
    }))
}

/// The cases of each strategy whose plans differ from the runtime's choice and from those of all strategies
/// before it.
fn by_strategy(cases: &[Case]) -> Vec<(Strategy, Vec<Case>)> {
    let mut before: Vec<Vec<Option<[Plan; 2]>>> =
        cases.iter().map(|case| vec![plans(case, Tuning::new())]).collect();
    let with_new_plans = |strategy: Strategy| {
        let is_new = |(case, before): (&Case, &mut Vec<Option<[Plan; 2]>>)| {
            let plans = plans(case, Tuning::new().with_strategy(strategy));
            let is_new = !before.contains(&plans);
            before.push(plans);
            is_new.then(|| case.clone())
        };
        (strategy, cases.iter().zip(&mut before).filter_map(is_new).collect())
    };
    Strategy::ALL.into_iter().map(with_new_plans).collect()
}

/// Strategies that the runtime would not choose for such small tensors give the same bytes: the host's, so a case runs on
/// one device.
#[test]
fn every_strategy_passes() {
    let cases = generate(FeatureLevel::HIGHEST).into_iter();
    let cases = sample(cases.chain(random(FeatureLevel::HIGHEST, &Filter::default(), 1, 2)), 6);
    let by_strategy = by_strategy(&cases);
    let count: usize = by_strategy.iter().map(|(_, cases)| cases.len()).sum();
    assert!(count > 100, "{count}: strategies differ");
    let targets = targets(Devices::All, Profiles::from_environment());
    let mut ran = 0;
    for (at, target) in targets.iter().enumerate() {
        for (strategy, cases) in &by_strategy {
            let runs = |case: &&Case| {
                let subject = format!("{} {strategy:?}", case.id);
                one_driver::runs(at, targets.len(), subject.as_bytes())
            };
            let cases: Vec<Case> = cases.iter().filter(runs).cloned().collect();
            ran += cases.len();
            let run = run(&target.clone().with_strategy(*strategy), &cases, None);
            let title = run.target().title();
            assert!(problems(&run).is_empty(), "{title}: {:#?}", problems(&run));
        }
    }
    assert!(ran == count || ran == count * targets.len(), "{ran} of {count}");
}

/// A plan without its last step.
fn last_step_missing(operator: &Validated, target: &LoweringTarget<'_>) -> Result<Plan, Error> {
    let mut plan = dml_ops::lower(operator, target)?;
    plan.exec.pop();
    Ok(plan)
}

#[test]
fn a_plan_that_is_wrong_is_found_and_shown() {
    let name = "5_1/diagonal_matrix/int32/rank2/offset_right".parse().unwrap();
    let cases = [Finder::default().find(&name).unwrap()];
    let mut all = targets(Devices::Interpreter, Profiles::AsIs);
    all.extend(targets(Devices::All, Profiles::AsIs));
    assert!(all.len() > 1);
    // Two steps: zeros, then the value.
    let all = all.into_iter().map(|it| it.with_strategy(Strategy::FillAndScatter));
    for target in &all.collect::<Vec<_>>() {
        assert_eq!(problems(&run(target, &cases, None)), Vec::<String>::new());
        let wrong = run(target, &cases, Some(&last_step_missing));
        let wrong = wrong.result(0);
        assert_eq!(wrong.result, ResultCode::Fail, "{}", target.title());
        let detail = wrong.detail.as_deref().unwrap();
        assert!(
            detail.starts_with("output 0: element [0, 2]: expected 1 (0x00000001)"),
            "{detail}"
        );
        let failure = wrong.failure.as_ref().unwrap();
        assert!(failure.descriptor.contains("OutputTensor: INT32 [5, 7]"), "{failure:?}");
        let matrices = failure.matrices.as_ref().unwrap();
        assert_eq!((matrices.expected.len(), matrices.expected[0].len()), (5, 7));
        assert_eq!((&*matrices.expected[0][2], &*matrices.actual[0][2]), ("1", "0"));
    }
}
