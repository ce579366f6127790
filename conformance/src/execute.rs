//! Runs one case on whatever executes operators: a Vulkan device or the host interpreter.

mod device;
mod interpreter;
pub mod plan_text;

use std::time::Instant;

use dml::core::Error as OperatorError;
use dml::core::plan::Plan;
use dml::core::schema::FieldKind;
use dml::core::{Error as LoweringError, Validated, validate};
use dml::{AbstractOperator, FeatureLevel, HResult};
use dml_ops::Target;
use dml_ops::reference::{After, Case as CornerCase, Compared, Difference, Memory, compare};

use crate::cases::{BadBinding, Case, Expectation};
use crate::matrices::matrices;
use crate::results::{CaseResult, Failure, ResultCode};

pub use device::DeviceExecutor;
pub use interpreter::Interpreter;

/// How an operator becomes a plan. A test that shows that the cases find a defect brings its own.
pub trait Lowering: Sync {
    /// Checks the descriptor.
    ///
    /// # Errors
    /// It is refused.
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
    /// The target cannot carry it.
    fn lower(&self, operator: &Validated, target: &Target<'_>) -> Result<Plan, LoweringError> {
        dml_ops::lower(operator, target)
    }
}

/// What the runtime does.
#[derive(Clone, Copy, Debug)]
pub struct Runtime;

impl Lowering for Runtime {}

/// Something that executes operators.
pub trait Executor {
    /// Compiles an operator for a device created at `level`.
    ///
    /// # Errors
    /// It is refused, or the device failed.
    fn compile(
        &self,
        operator: &AbstractOperator,
        level: FeatureLevel,
    ) -> dml::Result<Box<dyn Compiled + '_>>;

    /// What the validation layer has reported since the last call.
    fn take_messages(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether nothing works on it any more.
    fn is_lost(&self) -> bool {
        false
    }
}

/// An operator that an [`Executor`] has compiled.
pub trait Compiled {
    /// The operator.
    fn operator(&self) -> &Validated;

    /// The plan that a case's buffers lead to.
    ///
    /// # Errors
    /// The target cannot carry it: buffers of storage usage alone may need what others do not.
    fn plan(&self, corner: &CornerCase) -> Result<Plan, LoweringError>;

    /// Executes it on buffers that hold what `memory` says, initializing it before where needed. An
    /// input that the runtime owns is overwritten after initialization.
    ///
    /// # Errors
    /// Execution failed.
    fn execute(&self, corner: &CornerCase, memory: &Memory) -> Result<After, String>;

    /// Binds an output in a wrong way and executes; `None` where there is nothing to bind to.
    fn bind(&self, bad: BadBinding) -> Option<dml::Result<()>>;
}

/// Of which cases the matrices are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Details {
    /// Of those whose outputs are wrong.
    Failures,
    /// Of every case that has outputs.
    Everything,
}

/// How a case ended, without its name and time.
struct Outcome {
    result: ResultCode,
    detail: Option<String>,
    failure: Option<Box<Failure>>,
}

impl Outcome {
    fn new(result: ResultCode, detail: impl Into<String>) -> Self {
        Self { result, detail: Some(detail.into()), failure: None }
    }

    fn fail(detail: impl Into<String>) -> Self {
        Self::new(ResultCode::Fail, detail)
    }

    const PASS: Self = Self { result: ResultCode::Pass, detail: None, failure: None };
}

/// Runs `case`. Messages of the validation layer fail it, whatever else happened.
pub fn run(case: &Case, executor: &dyn Executor, details: Details) -> CaseResult {
    let start = Instant::now();
    let mut outcome = match &case.expectation {
        Expectation::Outputs(corner) => outputs(case, corner, executor, details),
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
    CaseResult {
        id: case.id.clone(),
        result: outcome.result,
        detail: outcome.detail,
        expected: None,
        failure: outcome.failure,
        microseconds: u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX),
    }
}

fn outputs(case: &Case, corner: &CornerCase, executor: &dyn Executor, details: Details) -> Outcome {
    let compiled = match executor.compile(&case.operator, case.level) {
        Ok(compiled) => compiled,
        Err(error) if error.hresult() == HResult::DXGI_ERROR_UNSUPPORTED => {
            return Outcome::new(ResultCode::Unsupported, error.to_string());
        }
        Err(error) => return Outcome::fail(format!("refused: {error}")),
    };
    if let Some(refusal) = storage_refusal(&*compiled, corner) {
        return Outcome::new(ResultCode::Unsupported, refusal);
    }
    let execution = match Execution::new(&*compiled, corner) {
        Ok(execution) => execution,
        Err(problem) => return Outcome::fail(problem),
    };
    let difference = execution.first_difference();
    let place = match (&difference, details) {
        (Ok(()), Details::Failures) => return Outcome::PASS,
        (Ok(()), Details::Everything) => Some((0, 0)),
        (Err((output, difference)), _) => difference.element.map(|element| (*output, element)),
    };
    let plan = match compiled.plan(corner) {
        Ok(plan) => plan_text::text(&plan, corner.in_place),
        Err(error) => error.to_string(),
    };
    let failure = Failure {
        descriptor: plan_text::descriptor(&case.operator),
        plan,
        matrices: place.and_then(|(output, element)| {
            Some(matrices(&execution.compared(output)?, output, element))
        }),
    };
    let outcome = match difference {
        Ok(()) => Outcome::PASS,
        Err((output, difference)) => Outcome::fail(format!("output {output}: {difference}")),
    };
    Outcome { failure: Some(Box::new(failure)), ..outcome }
}

/// The limit that keeps a legal operator from running on buffers of storage usage alone, though it
/// runs on others.
fn storage_refusal(compiled: &dyn Compiled, corner: &CornerCase) -> Option<String> {
    let error = if corner.storage_only { compiled.plan(corner).err()? } else { return None };
    (error.hresult() == HResult::DXGI_ERROR_UNSUPPORTED).then(|| error.to_string())
}

/// What an execution left behind, and what it must have left.
struct Execution<'a> {
    operator: &'a Validated,
    memory: Memory,
    after: After,
    expected: Vec<Vec<u64>>,
}

impl<'a> Execution<'a> {
    fn new(compiled: &'a dyn Compiled, corner: &CornerCase) -> Result<Self, String> {
        let operator = compiled.operator();
        let memory = Memory::new(operator, corner);
        let implementation = dml_ops::find(operator.schema().operator_type)
            .ok_or("the operator is not implemented")?;
        let expected = implementation
            .reference()
            .outputs(operator, &memory.input_elements(operator))
            .map_err(|error| error.to_string())?;
        if corner.documented.as_ref().is_some_and(|documented| *documented != expected) {
            return Err("the reference differs from what the documentation prints".to_owned());
        }
        let after = compiled.execute(corner, &memory)?;
        Ok(Self { operator, memory, after, expected })
    }

    fn compared(&self, output: usize) -> Option<Compared<'_>> {
        let (_, layout) = self.operator.tensors(FieldKind::Output).nth(output)?;
        let tensor = self.memory.outputs.get(output)?.as_ref()?;
        Some(Compared {
            layout: layout?,
            elements: self.expected.get(output)?,
            offset: tensor.offset,
            before: &tensor.before,
            after: self.after.outputs.get(output)?.as_ref()?,
        })
    }

    /// The first output that is not as it must be, or an input that was written to.
    fn first_difference(&self) -> Result<(), (usize, Difference)> {
        for index in 0..self.memory.outputs.len() {
            if let Some(output) = self.compared(index) {
                compare(&output).map_err(|difference| (index, difference))?;
            } else if self.memory.outputs[index].is_some() {
                return Err((index, "was not read back".to_owned().into()));
            }
        }
        let inputs = self.memory.inputs.iter().zip(&self.after.inputs).enumerate();
        for (index, (input, after)) in inputs {
            let Some(input) = input.as_ref().filter(|input| input.is_only_read()) else { continue };
            if after.as_ref() != Some(&input.tensor.before) {
                return Err((0, format!("input {index} was written to").into()));
            }
        }
        Ok(())
    }
}

fn refusal(case: &Case, executor: &dyn Executor) -> Result<(), String> {
    match (&case.expectation, executor.compile(&case.operator, case.level)) {
        (Expectation::InvalidBinding(bad), Ok(compiled)) => match compiled.bind(*bad) {
            None => Err("there is no device to bind to".to_owned()),
            Some(Ok(())) => Err("bound and executed, but it must be refused".to_owned()),
            Some(Err(error)) if error.is_invalid() => Ok(()),
            Some(Err(error)) => Err(format!("refused in the wrong way: {error}")),
        },
        (Expectation::NeedsLevel(needs), Err(dml::Error::Operator(error))) => match error {
            OperatorError::FeatureLevel(refusal) if refusal.needs == *needs => Ok(()),
            other => Err(format!("expected a refusal that names {needs:?}, found: {other}")),
        },
        (Expectation::InvalidField(field), Err(dml::Error::Operator(error))) => match error {
            OperatorError::Invalid { field: found, .. }
                if found.path.rsplit('.').next().is_some_and(|leaf| leaf.starts_with(field)) =>
            {
                Ok(())
            }
            other => Err(format!("expected a refusal of {field}, found: {other}")),
        },
        (_, Ok(_)) => Err("accepted, but it must be refused".to_owned()),
        (_, Err(error)) => Err(format!("refused in the wrong way: {error}")),
    }
}
