//! Cases whose results the host makes are executed once more by kernels.
//!
//! A plan of fills, updates and copies does not use a driver's compiler. If the runtime chooses such a plan,
//! the case is also executed with a strategy that dispatches kernels, and both must give the expected bytes.

use std::collections::BTreeSet;

use dml::core::Strategy;
use dml::core::kernel::{KernelModule, Shared};
use dml::core::plan::{Plan, Step};
use dml_reference::Case as CornerCase;

use super::{Details, Executable, Executor, Outcome};
use crate::cases::Case;
use crate::results::ResultCode;

/// Runs a case with outputs: with the plan that the runtime chooses, and by kernels too if that plan
/// dispatches none and no strategy was requested.
pub(super) fn outputs(
    case: &Case,
    corner: &CornerCase,
    executor: &dyn Executor,
    details: Details,
) -> Outcome {
    let compiled = executor.compile(&case.operator, case.level);
    let strategy = match &compiled {
        Ok(compiled) if executor.strategy().is_none() => kernel_strategy(&**compiled, corner),
        _ => None,
    };
    let chosen = super::outputs(case, corner, compiled, details, executor.numerics());
    match strategy {
        Some(strategy) if chosen.result == ResultCode::Pass => {
            let compiled = executor.compile_by(&case.operator, case.level, strategy);
            let by_kernels = super::outputs(case, corner, compiled, details, executor.numerics());
            both(chosen, by_kernels, strategy)
        }
        _ => chosen,
    }
}

/// The outcome of a case that passed with the runtime's plan, and ended like `by_kernels` with another strategy.
fn both(chosen: Outcome, by_kernels: Outcome, strategy: Strategy) -> Outcome {
    match by_kernels.result {
        ResultCode::Pass => {
            let mut failure = chosen.failure;
            if let (Some(failure), Some(other)) = (&mut failure, by_kernels.failure) {
                failure.plan += &format!("\nby strategy {strategy}:\n{}", other.plan);
            }
            Outcome { failure, kernels: by_kernels.kernels, ..chosen }
        }
        // If a limit refuses the kernels, only the host can make the bytes.
        ResultCode::Unsupported => chosen,
        _ => {
            let detail = by_kernels.detail.unwrap_or_default();
            Outcome { detail: Some(format!("by strategy {strategy}: {detail}")), ..by_kernels }
        }
    }
}

/// The first strategy whose plan for the case dispatches a kernel, if the chosen plan dispatches none.
/// Nothing is compiled to find it.
pub(crate) fn kernel_strategy(compiled: &dyn Executable, corner: &CornerCase) -> Option<Strategy> {
    let dispatches = |plan: &Plan| !kernels(plan, corner).is_empty();
    if compiled.plan(corner).map_or(true, |plan| dispatches(&plan)) {
        return None;
    }
    // Kernels that write every element first: they need the most of a device.
    let others = Strategy::ALL.into_iter().filter(|it| *it != Strategy::Kernel);
    let all = [Strategy::Kernel].into_iter().chain(others);
    // Cooperative matrices may give other bytes.
    let mut exact = all.filter(|strategy| *strategy != Strategy::CooperativeMatrices);
    exact.find(|strategy| compiled.plan_by(corner, *strategy).is_ok_and(|plan| dispatches(&plan)))
}

/// The kernels that a plan dispatches for the case, each as a number that is the same in every process.
pub(super) fn kernels(plan: &Plan, corner: &CornerCase) -> BTreeSet<u64> {
    dispatched(plan, corner).map(|it| number(&it)).collect()
}

/// Whether the plan dispatches kernels for the case whose results may differ between devices.
pub(crate) fn is_fused(plan: &Plan, corner: &CornerCase) -> bool {
    dispatched(plan, corner).any(|it| dml_ops::is_fused(&it))
}

fn dispatched(plan: &Plan, corner: &CornerCase) -> impl Iterator<Item = Shared<KernelModule>> {
    let executed = plan.exec_with(&corner.aliases()).unwrap_or_default();
    let kernel = |step: &Step| match step {
        Step::Dispatch(dispatch) => Some(dispatch.kernel.variant.clone()),
        _ => None,
    };
    let kernels: Vec<_> = plan.init.iter().chain(executed.iter()).filter_map(kernel).collect();
    kernels.into_iter()
}

/// Half of the bits of a kernel's identity, which is a hash.
fn number(kernel: &KernelModule) -> u64 {
    u64::try_from(kernel.identity() >> 64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use dml::FeatureLevel;
    use dml::core::plan::{Fill, Slot};
    use dml::core::{Capabilities, Error, Tuning, Validated};
    use dml_ops::{Target, TransferUse};

    use super::*;
    use crate::cases::{self, Expectation, Filter, Finder};
    use crate::execute::{Interpreter, Lowering, Runtime, run};
    use crate::results::CaseResult;

    /// How a case ends on the interpreter with these plans and preferences.
    fn ended(id: &str, lowering: &dyn Lowering, tuning: Tuning) -> CaseResult {
        let case = Finder::default().find(&id.parse().unwrap()).unwrap();
        let capabilities = Capabilities::vulkan_minimum();
        let interpreter = Interpreter::new(&capabilities, TransferUse::Allowed, Some(lowering));
        run(&case, &interpreter.with_tuning(tuning), Details::Everything)
    }

    /// A case that the runtime writes inline.
    const HOST_MADE: &str = "5_1/diagonal_matrix/int32/rank2/offset_right";

    /// The runtime's plans, except that plans of kernels also overwrite a word.
    fn broken_kernels(operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
        let mut plan = dml_ops::lower(operator, target)?;
        if plan.strategy == Strategy::Kernel {
            let word = Fill { slot: Slot::Output(0), range: 0..4, pattern: 0x0bad_0bad };
            plan.exec.push(Step::Fill(word));
        }
        Ok(plan)
    }

    #[test]
    fn a_case_that_the_host_makes_runs_by_kernels_too() {
        let case = ended(HOST_MADE, &Runtime, Tuning::new());
        assert_eq!((case.result, case.executed, case.dispatched), (ResultCode::Pass, true, true));
        assert!(!case.kernels.ran.is_empty());
        let plan = &case.failure.as_ref().unwrap().plan;
        assert!(plan.starts_with("update") && plan.contains("\nby strategy kernel:\ndispatch"));
    }

    #[test]
    fn a_defect_of_the_kernels_plan_is_found_and_names_the_strategy() {
        let case = ended(HOST_MADE, &broken_kernels, Tuning::new());
        assert_eq!(case.result, ResultCode::Fail);
        let detail = case.detail.unwrap();
        let words = "by strategy kernel: output 0: element [0, 0]: expected 0 ";
        assert!(detail.starts_with(words), "{detail}");
    }

    #[test]
    fn a_strategy_that_was_asked_for_is_the_only_one() {
        let inline = Tuning::new().with_strategy(Strategy::Inline);
        let case = ended(HOST_MADE, &broken_kernels, inline);
        assert_eq!((case.result, case.executed, case.dispatched), (ResultCode::Pass, true, false));
        assert!(case.kernels.is_empty());
    }

    #[test]
    fn where_kernels_cannot_serve_the_host_alone_makes_the_bytes() {
        let chosen_alone = |operator: &Validated, target: &Target<'_>| {
            let target = Target { tuning: Tuning::new(), ..*target };
            dml_ops::lower(operator, &target)
        };
        let case = ended(HOST_MADE, &chosen_alone, Tuning::new());
        assert_eq!((case.result, case.executed, case.dispatched), (ResultCode::Pass, true, false));
    }

    #[test]
    fn what_dispatches_kernels_runs_once() {
        let id = "5_1/element_wise_add/float32/rank4/values";
        let case = ended(id, &Runtime, Tuning::new());
        assert!(case.result == ResultCode::Pass && case.dispatched);
        assert!(!case.failure.unwrap().plan.contains("by strategy"));
    }

    /// Also those that only move or make elements, which the host would do alone on every driver.
    #[test]
    fn every_operator_has_a_case_that_dispatches_a_kernel() {
        let capabilities = Capabilities::vulkan_minimum();
        let interpreter = Interpreter::new(&capabilities, TransferUse::Allowed, None);
        let dispatches = |case: Case| {
            let Expectation::Outputs(corner) = &case.expectation else { return false };
            interpreter.compile(&case.operator, case.level).is_ok_and(|compiled| {
                let chosen = compiled.plan(corner);
                chosen.is_ok_and(|plan| !kernels(&plan, corner).is_empty())
                    || kernel_strategy(&*compiled, corner).is_some()
            })
        };
        for operator in dml_ops::OPERATORS.iter() {
            let name = operator.schema().name.to_lowercase();
            let pattern = format!("*/{name}/*").parse().unwrap();
            let filter = Filter::new(Some(&pattern));
            let mut cases = cases::all(FeatureLevel::HIGHEST, &filter);
            assert!(cases.any(dispatches), "{name}");
        }
    }
}
