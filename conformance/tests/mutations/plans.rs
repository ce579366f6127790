//! Plans with a wrong result.

use dml::core::plan::{Fill, Plan, Slot, Step};
use dml::core::schema::FieldSchema;
use dml::core::{Error, FieldValue, Strategy, TensorDesc, TensorLayout, Validated, validate};
use dml::{AbstractOperator, FeatureLevel};
use dml_conformance::cases::Case;
use dml_conformance::execute::Lowering;
use dml_ops::Target;

use crate::{cases, changed, check_found, interpreter, on_a_device};

fn check(mutation: &dyn Lowering, words: &str) {
    on_a_device(mutation, |name, executor| {
        check_found(name, changed(mutation), executor, words);
    });
    check_found("host interpreter", changed(mutation), &interpreter(mutation), words);
}

/// The plan of `operator`, with the steps of the operator with other fields, if those are legal.
pub(crate) fn with_other_fields(
    operator: &Validated,
    target: &Target<'_>,
    change: impl Fn(&FieldSchema, FieldValue) -> FieldValue,
) -> Result<Plan, Error> {
    let plan = dml_ops::lower(operator, target)?;
    let schema = operator.schema();
    let fields = schema.fields.iter().zip(operator.values());
    let fields = fields.map(|(field, given)| change(field, value(operator, field, given)));
    let other = AbstractOperator::new(schema, fields.collect())?;
    match validate(&other, FeatureLevel::HIGHEST).map(|other| dml_ops::lower(&other, target)) {
        Ok(Ok(Plan { exec, in_place, constants, .. })) => {
            Ok(Plan { exec, in_place, constants, ..plan })
        }
        _ => Ok(plan),
    }
}

/// The value of a field of a validated operator, with defaults of tensors written out.
fn value(operator: &Validated, field: &FieldSchema, given: &FieldValue) -> FieldValue {
    match given {
        FieldValue::Tensor(_) => {
            FieldValue::Tensor(operator.tensor(field.name).unwrap().map(description))
        }
        other => other.clone(),
    }
}

fn description(layout: &TensorLayout) -> TensorDesc {
    TensorDesc {
        flags: layout.flags(),
        total_tensor_size_in_bytes: Some(layout.total_size()),
        guaranteed_base_offset_alignment: layout.alignment(),
        ..TensorDesc::packed(layout.data_type(), layout.sizes()).with_strides(layout.strides())
    }
}

/// An inverted band that ends one diagonal too early.
fn inverted_off_by_one(operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
    let Ok(begin) = operator.int("DiagonalFillBegin") else {
        return dml_ops::lower(operator, target);
    };
    with_other_fields(operator, target, |field, value| match value {
        FieldValue::Int(end) if field.name == "DiagonalFillEnd" && begin > end => {
            FieldValue::Int(end.saturating_sub(1))
        }
        other => other,
    })
}

#[test]
fn an_inverted_band_that_is_off_by_one_is_found() {
    check(&inverted_off_by_one, "/band_inverted: output 0: element");
    check(&inverted_off_by_one, "/input_band_inverted: output 0: element");
}

/// Rows of the output that are one element longer, if that element is outside of the tensor.
fn one_past_the_end(operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
    with_other_fields(operator, target, |_, value| match value {
        FieldValue::Tensor(Some(mut tensor)) => {
            let last = tensor.sizes.len() - 1;
            tensor.sizes[last] += 1;
            tensor.total_tensor_size_in_bytes =
                tensor.total_tensor_size_in_bytes.map(|bytes| bytes.next_multiple_of(4));
            FieldValue::Tensor(Some(tensor))
        }
        other => other,
    })
}

#[test]
fn a_write_one_byte_past_the_output_is_found() {
    check(&one_past_the_end, "relative to the tensor, which no element covers, was overwritten");
}

/// A fill that ends one word too early.
fn short_fill(operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
    let mut plan = dml_ops::lower(operator, target)?;
    for step in &mut plan.exec {
        if let Step::Fill(fill) = step
            && fill.slot == Slot::Output(0)
            && fill.range.end > 4
        {
            fill.range.end -= 4;
        }
    }
    Ok(plan)
}

#[test]
fn a_fill_that_leaves_a_word_out_is_found() {
    check(&short_fill, "(not written)");
}

/// A plan without its last step.
fn last_step_missing(operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
    let mut plan = dml_ops::lower(operator, target)?;
    if plan.exec.len() > 1 {
        plan.exec.pop();
    }
    Ok(plan)
}

#[test]
fn a_missing_step_is_found() {
    check(&last_step_missing, ": output 0: element");
}

/// The first word that kernels write is wrong, if a strategy is requested that uses them.
fn wrong_by_kernels(operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
    let mut plan = dml_ops::lower(operator, target)?;
    if target.tuning.strategy == Some(Strategy::Kernel) {
        let word = Fill { slot: Slot::Output(0), range: 0..4, pattern: 0xa5a5_5a5a };
        plan.exec.push(Step::Fill(word));
    }
    Ok(plan)
}

/// The runtime chooses no kernel for any of these cases.
#[test]
fn a_defect_of_kernels_is_found_where_the_host_makes_the_chosen_bytes() {
    let is_host_made =
        |case: &&Case| case.id.operator == "diagonal_matrix" && case.id.name == "offset_right";
    let cases: Vec<&Case> = cases().filter(is_host_made).collect();
    let words = "/offset_right: by strategy kernel: output 0: element";
    let mutation = &wrong_by_kernels;
    on_a_device(mutation, |name, executor| {
        check_found(name, cases.iter().copied(), executor, words);
    });
    check_found("host interpreter", cases, &interpreter(mutation), words);
}
