//! Runs one case on one device.

use dml::core::Error as OperatorError;
use dml::core::schema::FieldKind;
use dml::{BufferBinding, CompiledOperator, Device, HResult, Instance};
use dml_ops::reference::Case as CornerCase;

use crate::buffers::Buffers;
use crate::cases::{BadBinding, Case, Expectation};
use crate::compare::compare;

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// What was expected happened.
    Pass,
    /// Something else happened.
    Fail(String),
    /// The device cannot carry the case.
    Unsupported(String),
}

/// Runs `case` on `device`. Messages of the validation layer fail it, whatever else happened.
pub fn run(case: &Case, device: &Device, instance: &Instance) -> Outcome {
    let outcome = match &case.expectation {
        Expectation::Outputs(corner) => outputs(case, corner, device),
        _ => refusal(case, device),
    };
    let messages = instance.take_validation_messages();
    match messages.first() {
        Some(first) => Outcome::Fail(format!("{} validation messages: {first}", messages.len())),
        None => outcome,
    }
}

fn outputs(case: &Case, corner: &CornerCase, device: &Device) -> Outcome {
    match device.at_feature_level(case.level).compile(case.operator.clone()) {
        Err(error) if error.hresult() == HResult::DXGI_ERROR_UNSUPPORTED => {
            Outcome::Unsupported(error.to_string())
        }
        Err(error) => Outcome::Fail(format!("refused: {error}")),
        Ok(compiled) => match execute_and_compare(&compiled, corner, device) {
            Ok(()) => Outcome::Pass,
            Err(problem) => Outcome::Fail(problem),
        },
    }
}

fn execute_and_compare(
    compiled: &CompiledOperator,
    corner: &CornerCase,
    device: &Device,
) -> Result<(), String> {
    let buffers = Buffers::new(compiled, corner, device)?;
    let schema = compiled.operator().schema();
    let operator =
        dml_ops::find(schema.operator_type).ok_or("the operator is not implemented")?.reference();
    let expected = operator
        .outputs(compiled.operator(), &buffers.input_elements(compiled))
        .map_err(|error| error.to_string())?;
    if corner.documented.as_ref().is_some_and(|documented| *documented != expected) {
        return Err("the reference differs from what the documentation prints".to_owned());
    }
    buffers.execute(compiled, device)?;
    for (index, (bound, elements)) in buffers.outputs.iter().zip(&expected).enumerate() {
        let layout = compiled.output_layout(index).ok_or("an output has no layout")?;
        let bytes = bound.read(device)?;
        compare(layout, elements, bound.offset, &bound.before, &bytes)
            .map_err(|problem| format!("output {index}: {problem}"))?;
    }
    buffers.check_inputs(device)
}

fn refusal(case: &Case, device: &Device) -> Outcome {
    let result = device.at_feature_level(case.level).compile(case.operator.clone());
    let verdict = match (&case.expectation, result) {
        (Expectation::InvalidBinding(bad), Ok(compiled)) => bad_binding(*bad, &compiled, device),
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
    };
    verdict.map_or_else(Outcome::Fail, |()| Outcome::Pass)
}

fn bad_binding(
    bad: BadBinding,
    compiled: &CompiledOperator,
    device: &Device,
) -> Result<(), String> {
    let size = compiled.output_size(0);
    let buffer = device.create_buffer(size + 16).map_err(|error| error.to_string())?;
    let bound = BufferBinding::whole(&buffer);
    let binding = match bad {
        BadBinding::TooSmall => Some(BufferBinding { size: size - 4, ..bound }),
        BadBinding::Unaligned => Some(BufferBinding { offset: 8, size, ..bound }),
        BadBinding::OutOfBuffer => Some(BufferBinding { offset: 32, size, ..bound }),
        BadBinding::Missing => None,
    };
    let count = compiled.operator().tensors(FieldKind::Output).count();
    let bindings = vec![binding; count];
    let inputs = vec![None; compiled.operator().tensors(FieldKind::Input).count()];
    match device.execute(compiled, &inputs, &bindings) {
        Ok(()) => Err("bound and executed, but it must be refused".to_owned()),
        Err(error) if error.is_invalid() => Ok(()),
        Err(error) => Err(format!("refused in the wrong way: {error}")),
    }
}
