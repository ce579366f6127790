//! Runs one case on one device.

use dml::core::Error as OperatorError;
use dml::core::schema::FieldKind;
use dml::{
    Buffer, BufferBinding, BufferDesc, BufferUsage, CompiledOperator, Device, HResult, Instance,
    MemoryLocation,
};
use dml_ops::reference::Case as CornerCase;

use crate::cases::{BadBinding, Case, Expectation};
use crate::compare::{GUARD, SENTINEL, compare};

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
    let text = |error: dml::Error| error.to_string();
    let schema = compiled.operator().schema();
    let operator =
        dml_ops::find(schema.operator_type).ok_or("the operator is not implemented")?.reference();
    let expected = operator.outputs(compiled.operator(), &[]).map_err(|error| error.to_string())?;
    if corner.documented.as_ref().is_some_and(|documented| *documented != expected) {
        return Err("the reference differs from what the documentation prints".to_owned());
    }
    let offset = GUARD + corner.output_offset;
    let buffers = (0..expected.len())
        .map(|index| output_buffer(device, compiled, index, corner))
        .collect::<Result<Vec<Buffer>, dml::Error>>()
        .map_err(text)?;
    let bindings: Vec<_> = buffers
        .iter()
        .enumerate()
        .map(|(index, buffer)| {
            Some(BufferBinding { buffer, offset, size: compiled.output_size(index) })
        })
        .collect();
    device.execute(compiled, &[], &bindings).map_err(text)?;
    for (index, (buffer, elements)) in buffers.iter().zip(&expected).enumerate() {
        let layout = compiled.output_layout(index).ok_or("an output has no layout")?;
        let bytes = device
            .vulkan()
            .read_buffer(buffer, 0..buffer.size())
            .map_err(|error| error.to_string())?;
        compare(layout, elements, offset, &bytes)
            .map_err(|problem| format!("output {index}: {problem}"))?;
    }
    Ok(())
}

/// A buffer full of sentinels, with room for guards on both sides.
fn output_buffer(
    device: &Device,
    compiled: &CompiledOperator,
    index: usize,
    corner: &CornerCase,
) -> Result<Buffer, dml::Error> {
    let size = GUARD + corner.output_offset + compiled.output_size(index) + GUARD;
    let (usage, location) = if corner.storage_only {
        // Without transfer usage only mapped memory can be read back.
        (BufferUsage::STORAGE, MemoryLocation::Readback)
    } else {
        (BufferUsage::all(), MemoryLocation::Device)
    };
    let desc = BufferDesc { size, usage, location, name: "conformance output" };
    let buffer = device.vulkan().create_buffer(&desc)?;
    let sentinels = vec![SENTINEL; usize::try_from(buffer.size()).unwrap_or(usize::MAX)];
    device.vulkan().write_buffer(&buffer, 0, &sentinels)?;
    Ok(buffer)
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
    match device.execute(compiled, &[], &bindings) {
        Ok(()) => Err("bound and executed, but it must be refused".to_owned()),
        Err(error) if error.is_invalid() => Ok(()),
        Err(error) => Err(format!("refused in the wrong way: {error}")),
    }
}
