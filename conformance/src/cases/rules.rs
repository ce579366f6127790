//! One negative case for each rule of tensors and bindings, for every operator: made by breaking a
//! legal descriptor. Rules between an operator's own fields come from its file.

use dml::AbstractOperator;
use dml::core::schema::FieldKind;
use dml::core::{FieldValue, TensorDesc, TensorFlags};
use dml_ops::Operator;
use dml_ops::reference::Signature;

use super::{BadBinding, Expectation};

/// A broken rule.
pub(super) struct RuleCase {
    pub(super) name: &'static str,
    pub(super) operator: AbstractOperator,
    pub(super) expectation: Expectation,
}

/// How to break the first output, the field that must be named, and the least number of dimensions.
type Break = (&'static str, &'static str, usize, fn(&mut TensorDesc));

const BREAKS: &[Break] = &[
    ("rule_size_zero", "Sizes[", 1, |tensor| last(&mut tensor.sizes, 0)),
    ("rule_no_dimensions", "DimensionCount", 1, |tensor| tensor.sizes.clear()),
    ("rule_nine_dimensions", "DimensionCount", 1, |tensor| tensor.sizes = vec![1; 9]),
    ("rule_too_many_elements", "Sizes", 2, |tensor| tensor.sizes.fill(u32::MAX)),
    ("rule_stride_count", "Strides", 1, |tensor| tensor.strides = Some(vec![1; 9])),
    ("rule_strides_zero", "Strides", 1, |tensor| {
        last(&mut tensor.sizes, 2);
        tensor.strides = Some(vec![0; tensor.sizes.len()]);
    }),
    ("rule_strides_overlapping", "Strides", 2, |tensor| {
        let first_of_two = tensor.sizes.len() - 2;
        tensor.sizes[first_of_two..].fill(3);
        let mut strides = vec![9; tensor.sizes.len()];
        strides[first_of_two..].copy_from_slice(&[2, 1]);
        tensor.strides = Some(strides);
    }),
    ("rule_strides_too_far", "Strides", 1, |tensor| {
        last(&mut tensor.sizes, 3);
        tensor.strides = Some(vec![u32::MAX; tensor.sizes.len()]);
    }),
    ("rule_total_size_too_small", "TotalTensorSizeInBytes", 1, |tensor| {
        last(&mut tensor.sizes, 5);
        tensor.total_tensor_size_in_bytes = Some(4);
    }),
    ("rule_alignment_not_a_power_of_two", "GuaranteedBaseOffsetAlignment", 1, |tensor| {
        tensor.guaranteed_base_offset_alignment = 48;
    }),
    ("rule_unknown_flags", "Flags", 1, |tensor| tensor.flags = TensorFlags::from_bits(2)),
    ("rule_owned_output", "Flags", 1, |tensor| tensor.flags = TensorFlags::OWNED_BY_DML),
];

const BAD_BINDINGS: &[(&str, BadBinding)] = &[
    ("binding_too_small", BadBinding::TooSmall),
    ("binding_unaligned", BadBinding::Unaligned),
    ("binding_out_of_buffer", BadBinding::OutOfBuffer),
    ("binding_missing", BadBinding::Missing),
];

/// The broken rules for an operator that a level accepts with this signature.
pub(super) fn cases(operator: &Operator, signature: &Signature) -> Vec<RuleCase> {
    let legal = operator.reference().minimal(signature);
    let mut cases: Vec<RuleCase> = BREAKS
        .iter()
        .filter(|(_, _, least_rank, _)| signature.rank >= *least_rank)
        .filter_map(|(name, field, _, change)| {
            let operator = with_output(&legal, change)?;
            Some(RuleCase { name, operator, expectation: Expectation::InvalidField(field) })
        })
        .collect();
    cases.extend(operator.reference().broken_rules(signature).into_iter().map(|broken| {
        let expectation = Expectation::InvalidField(broken.field);
        RuleCase { name: broken.name, operator: broken.operator, expectation }
    }));
    cases.extend(BAD_BINDINGS.iter().map(|(name, binding)| RuleCase {
        name,
        operator: legal.clone(),
        expectation: Expectation::InvalidBinding(*binding),
    }));
    cases
}

fn last(sizes: &mut [u32], size: u32) {
    if let Some(last) = sizes.last_mut() {
        *last = size;
    }
}

/// `operator` with its first output changed; `None` where it has none.
fn with_output(
    operator: &AbstractOperator,
    change: &fn(&mut TensorDesc),
) -> Option<AbstractOperator> {
    let schema = operator.schema();
    let output = schema.fields.iter().position(|field| field.kind == FieldKind::Output)?;
    let mut fields = operator.fields().to_vec();
    let FieldValue::Tensor(Some(tensor)) = &mut fields[output] else { return None };
    change(tensor);
    AbstractOperator::new(schema, fields).ok()
}
