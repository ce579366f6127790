//! Runs one case on an executor: a Vulkan device or the host interpreter.

mod by_kernels;
mod device;
mod interpreter;
pub mod plan_text;
mod replay;

use std::collections::BTreeSet;
use std::time::Instant;

use dml::core::Error as OperatorError;
use dml::core::plan::{Plan, Slot};
use dml::core::schema::FieldKind;
use dml::core::{Capabilities, Error as LoweringError, Strategy, Validated, validate};
use dml::core::{TensorFlags, TensorLayout};
use dml::{AbstractOperator, FeatureLevel, HResult, Numerics};
use dml_ops::Target;
use dml_reference::{Case as CornerCase, Memory, MemoryAfter};
use serde::{Deserialize, Serialize};

use crate::cases::{BadBinding, Case, Expectation};
use crate::matrices::matrices;
use crate::results::{CaseError, CaseKernels, CaseResult, Failure, ResultCode};

pub(crate) use by_kernels::{is_fused, kernel_strategy};
pub use device::{DeviceExecutor, DeviceMemory};
pub use interpreter::Interpreter;
pub use replay::Replay;

/// Makes plans of operators. Tests that show that cases find a defect implement it with that defect.
pub trait Lowering: Sync {
    /// Checks the descriptor.
    ///
    /// # Errors
    /// The descriptor is refused.
    fn validate(
        &self,
        operator: &AbstractOperator,
        level: FeatureLevel,
    ) -> Result<Validated, LoweringError> {
        validate(operator, level)
    }

    /// Makes the plan for a target.
    ///
    /// # Errors
    /// The target cannot execute the plan.
    fn lower(&self, operator: &Validated, target: &Target<'_>) -> Result<Plan, LoweringError> {
        dml_ops::lower(operator, target)
    }
}

/// The runtime's own validation and lowering.
#[derive(Clone, Copy, Debug)]
pub struct Runtime;

impl Lowering for Runtime {}

/// A function that makes plans in another way.
impl<F> Lowering for F
where
    F: Fn(&Validated, &Target<'_>) -> Result<Plan, LoweringError> + Sync,
{
    fn lower(&self, operator: &Validated, target: &Target<'_>) -> Result<Plan, LoweringError> {
        self(operator, target)
    }
}

/// Something that executes operators.
pub trait Executor {
    /// Compiles an operator for a device created at `level`.
    ///
    /// # Errors
    /// The operator is refused, or the device failed.
    fn compile(
        &self,
        operator: &AbstractOperator,
        level: FeatureLevel,
    ) -> dml::Result<Box<dyn Executable + '_>>;

    /// Compiles an operator as [`compile`](Self::compile) does, with a strategy wherever it can serve. An
    /// executor without strategies ignores it.
    ///
    /// # Errors
    /// As [`compile`](Self::compile).
    fn compile_by(
        &self,
        operator: &AbstractOperator,
        level: FeatureLevel,
        _strategy: Strategy,
    ) -> dml::Result<Box<dyn Executable + '_>> {
        self.compile(operator, level)
    }

    /// The strategy that it was opened with, for all cases; `None` if the runtime chooses.
    fn strategy(&self) -> Option<Strategy> {
        None
    }

    /// The numerics of the device: whether its plans may change sums of products for speed.
    fn numerics(&self) -> Numerics {
        Numerics::Exact
    }

    /// The limits and the features that plans are made for; `None` if they are not known.
    fn capabilities(&self) -> Option<&Capabilities> {
        None
    }

    /// Executes one dispatch of an operator alone and returns the contents of its memory; `None` without a device.
    fn replay(&self, _operator: &Validated, _replay: &Replay) -> Option<dml::Result<Vec<Vec<u8>>>> {
        None
    }

    /// The number of pipelines made so far; 0 without a device.
    fn pipeline_count(&self) -> usize {
        0
    }

    /// The messages of the validation layer since the last call.
    fn take_messages(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether the device is lost.
    fn is_lost(&self) -> bool {
        false
    }
}

/// An operator that an [`Executor`] has compiled.
pub trait Executable {
    /// The operator.
    fn operator(&self) -> &Validated;

    /// The plan that is executed for a case's buffers.
    ///
    /// # Errors
    /// The target cannot execute the plan: buffers of storage usage alone may need more than others.
    fn plan(&self, corner: &CornerCase) -> Result<Plan, LoweringError>;

    /// As [`plan`](Self::plan), with a strategy used wherever it can serve. Nothing is compiled.
    ///
    /// # Errors
    /// As [`plan`](Self::plan).
    fn plan_by(&self, corner: &CornerCase, _strategy: Strategy) -> Result<Plan, LoweringError> {
        self.plan(corner)
    }

    /// Executes it on buffers with the contents in `memory`, after initializing it if needed. An input that
    /// the runtime owns is overwritten after initialization.
    ///
    /// # Errors
    /// Execution failed.
    fn execute(&self, corner: &CornerCase, memory: &Memory) -> Result<MemoryAfter, String>;

    /// Binds every tensor correctly, except for one that is `wrong`, and executes; `None` if the executor has
    /// no bindings.
    fn bind(&self, wrong: Option<(Slot, BadBinding)>) -> Option<dml::Result<()>>;
}

/// The cases whose matrices are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Details {
    /// Cases whose outputs are wrong.
    Failures,
    /// Every case with outputs.
    Everything,
}

/// The outcome of a case, without its name and time.
struct Outcome {
    result: ResultCode,
    executed: bool,
    detail: Option<String>,
    failure: Option<Box<Failure>>,
    digest: Option<u64>,
    errors: Vec<CaseError>,
    /// The kernels that ran.
    kernels: BTreeSet<u64>,
}

impl Outcome {
    fn new(result: ResultCode, detail: impl Into<String>) -> Self {
        Self { result, detail: Some(detail.into()), ..Self::PASS }
    }

    fn fail(detail: impl Into<String>) -> Self {
        Self::new(ResultCode::Fail, detail)
    }

    const PASS: Self = Self {
        result: ResultCode::Pass,
        executed: false,
        detail: None,
        failure: None,
        digest: None,
        errors: Vec::new(),
        kernels: BTreeSet::new(),
    };
}

/// Runs `case`. Messages of the validation layer fail it, whatever its result.
pub fn run(case: &Case, executor: &dyn Executor, details: Details) -> CaseResult {
    let start = Instant::now();
    let pipelines_before = executor.pipeline_count();
    let mut outcome = match &case.expectation {
        Expectation::Outputs(corner) => by_kernels::outputs(case, corner, executor, details),
        _ => refusal(case, executor).map_or_else(Outcome::fail, |()| Outcome::PASS),
    };
    let messages = executor.take_messages();
    if let Some(first) = messages.first() {
        let before = outcome.detail.map_or_else(String::new, |detail| format!("; {detail}"));
        outcome.detail = Some(format!("{} validation messages: {first}{before}", messages.len()));
        outcome.result = ResultCode::Fail;
    }
    if details == Details::Everything && outcome.failure.is_none() {
        let descriptor = plan_text::descriptor(&case.operator);
        let plan = "none: nothing is executed".to_owned();
        let failure = Failure { descriptor, plan, matrices: None };
        outcome.failure = Some(Box::new(failure));
    }
    let result = CaseResult::new(&case.id, outcome.result, outcome.detail, Some(start));
    let Outcome { executed, failure, digest, errors, kernels, .. } = outcome;
    let pipelines = executor.pipeline_count().saturating_sub(pipelines_before) as u64;
    let dispatched = !kernels.is_empty();
    let kernels = CaseKernels { ran: kernels, pipelines };
    CaseResult { executed, dispatched, failure, digest, errors, kernels, ..result }
}

/// The outcome of a case with outputs that was compiled, or refused.
fn outputs(
    case: &Case,
    corner: &CornerCase,
    compiled: dml::Result<Box<dyn Executable + '_>>,
    details: Details,
    numerics: Numerics,
) -> Outcome {
    let compiled = match compiled {
        Ok(compiled) => compiled,
        Err(error) if error.hresult() == HResult::DXGI_ERROR_UNSUPPORTED => {
            return Outcome::new(ResultCode::Unsupported, error.to_string());
        }
        Err(error) => return Outcome::fail(format!("refused: {error}")),
    };
    if let Some(refusal) = storage_refusal(&*compiled, corner) {
        return Outcome::new(ResultCode::Unsupported, refusal);
    }
    let execution = memory(compiled.operator(), corner, numerics)
        .and_then(|memory| Ok((compiled.execute(corner, &memory)?, memory)));
    let (after, memory) = match execution {
        Ok(execution) => execution,
        Err(problem) => return Outcome::fail(problem),
    };
    let difference = memory.check(&after);
    let errors = memory.maximum_errors(&after).into_iter().map(CaseError::from).collect();
    let plan = compiled.plan(corner);
    // Devices need not fuse in the same way.
    let is_compared = !plan.as_ref().is_ok_and(|plan| is_fused(plan, corner));
    let outcome = match &difference {
        Ok(_) => Outcome { digest: is_compared.then(|| memory.digest(&after)), ..Outcome::PASS },
        Err(difference) => Outcome::fail(&difference.problem),
    };
    let kernels = plan.as_ref().map(|plan| by_kernels::kernels(plan, corner)).unwrap_or_default();
    let outcome = Outcome { executed: true, errors, kernels, ..outcome };
    let place = match (&difference, details) {
        (Ok(_), Details::Failures) => return outcome,
        (Ok(_), Details::Everything) => Some((0, 0)),
        (Err(difference), _) => difference.place,
    };
    let plan = match plan {
        Ok(plan) => plan_text::text(&plan, &corner.aliases()),
        Err(error) => error.to_string(),
    };
    let failure = Failure {
        descriptor: plan_text::descriptor(&case.operator),
        plan,
        matrices: place.and_then(|(output, element)| {
            let (buffer, after) = (&memory.outputs[output], &after.outputs[output]);
            Some(matrices(buffer.as_ref()?, after.as_ref()?, output, element))
        }),
    };
    Outcome { failure: Some(Box::new(failure)), ..outcome }
}

/// The limit that keeps a legal operator from running on buffers of storage usage alone, although it runs on
/// others.
fn storage_refusal(compiled: &dyn Executable, corner: &CornerCase) -> Option<String> {
    let error = if corner.storage_only { compiled.plan(corner).err()? } else { return None };
    (error.hresult() == HResult::DXGI_ERROR_UNSUPPORTED).then(|| error.to_string())
}

/// The buffers of a case, with the reference's results for a device of these numerics.
///
/// # Errors
/// The operator is not implemented, or its reference is wrong.
pub fn memory(
    operator: &Validated,
    corner: &CornerCase,
    numerics: Numerics,
) -> Result<Memory, String> {
    let reference = dml_reference::find(operator.schema().operator_type);
    let reference = reference.ok_or("the operator is not implemented")?;
    Memory::with_numerics(reference, operator, corner, numerics)
}

fn refusal(case: &Case, executor: &dyn Executor) -> Result<(), String> {
    match (&case.expectation, executor.compile(&case.operator, case.level)) {
        (Expectation::InvalidBinding(bad), Ok(compiled)) => bindings(&*compiled, *bad),
        (Expectation::NeedsLevel(needs), Err(dml::Error::Operator(error))) => match error {
            OperatorError::FeatureLevel(refusal) if refusal.needs == *needs => Ok(()),
            other => Err(format!("expected a refusal that names {needs:?}, found: {other}")),
        },
        (Expectation::InvalidField(field), Err(dml::Error::Operator(error))) => match error {
            OperatorError::Invalid { field: found, .. } if found.path == *field => Ok(()),
            other => Err(format!("expected a refusal of {field}, found: {other}")),
        },
        (_, Ok(_)) => Err("accepted, but it must be refused".to_owned()),
        (_, Err(error)) => Err(format!("refused in the wrong way: {error}")),
    }
}

/// Binds each tensor in a wrong way while all others are right. Before that, right bindings must be accepted,
/// or a refusal would not show anything about the wrong one.
fn bindings(compiled: &dyn Executable, bad: BadBinding) -> Result<(), String> {
    let bind = |wrong| compiled.bind(wrong).ok_or("there is no device to bind to");
    bind(None)?.map_err(|error| format!("right bindings are refused: {error}"))?;
    for slot in bound_slots(compiled.operator()) {
        match bind(Some((slot, bad)))? {
            Ok(()) => {
                let problem = "bound and executed, but it must be refused";
                return Err(format!("{slot:?} with a wrong binding ({bad:?}): {problem}"));
            }
            Err(error) if error.is_invalid() => {}
            Err(error) => return Err(format!("{slot:?}: refused in the wrong way: {error}")),
        }
    }
    Ok(())
}

/// The tensors that are bound to executions.
fn bound_slots(operator: &Validated) -> Vec<Slot> {
    let of = |kind, slot: fn(u32) -> Slot| {
        let is_bound = |layout: Option<&TensorLayout>| {
            layout.is_some_and(|layout| !layout.flags().contains(TensorFlags::OWNED_BY_DML))
        };
        let tensors = (0..).zip(operator.tensors(kind));
        let bound = tensors.filter(move |(_, (_, layout))| is_bound(*layout));
        bound.map(move |(index, _)| slot(index)).collect::<Vec<Slot>>()
    };
    [of(FieldKind::Output, Slot::Output), of(FieldKind::Input, Slot::Input)].concat()
}
