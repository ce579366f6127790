//! One negative case for each rule of tensors and bindings, for every operator: made by breaking a legal
//! descriptor. The cases for rules between an operator's own fields are in its file.

use dml::core::schema::{FieldKind, TensorPath};
use dml::core::{FieldValue, MAX_DIMENSION_COUNT, TensorDesc, TensorFlags};
use dml::{AbstractOperator, FeatureLevel};
use dml_reference::{Reference, Signature};

use super::{BadBinding, Expectation};
use crate::documents::{self, Answer};

mod likeness;

/// A broken rule.
pub(super) struct RuleCase {
    pub(super) name: String,
    pub(super) operator: AbstractOperator,
    pub(super) expectation: Expectation,
}

/// A way to break a tensor.
struct Break {
    name: &'static str,
    /// The field of the tensor that the error must name.
    field: &'static str,
    /// Whether the error must name the last element of that field.
    is_last: bool,
    least_rank: usize,
    /// Whether an input may have this property.
    is_legal_input: bool,
    change: fn(&mut TensorDesc),
}

const fn breaking(name: &'static str, field: &'static str, change: fn(&mut TensorDesc)) -> Break {
    Break { name, field, is_last: false, least_rank: 1, is_legal_input: false, change }
}

const BREAKS: &[Break] = &[
    Break {
        is_last: true,
        ..breaking("rule_size_zero", "Sizes", |tensor| last(&mut tensor.sizes, 0))
    },
    breaking("rule_no_dimensions", "DimensionCount", |tensor| tensor.sizes.clear()),
    breaking("rule_nine_dimensions", "DimensionCount", |tensor| tensor.sizes = vec![1; 9]),
    Break {
        least_rank: 2,
        ..breaking("rule_too_many_elements", "Sizes", |tensor| tensor.sizes.fill(u32::MAX))
    },
    breaking("rule_stride_count", "Strides", |tensor| tensor.strides = Some(vec![1; 9])),
    Break {
        is_legal_input: true,
        ..breaking("rule_strides_zero", "Strides", |tensor| {
            last(&mut tensor.sizes, 2);
            tensor.strides = Some(vec![0; tensor.sizes.len()]);
        })
    },
    Break {
        least_rank: 2,
        is_legal_input: true,
        ..breaking("rule_strides_overlapping", "Strides", |tensor| {
            let first_of_two = tensor.sizes.len() - 2;
            tensor.sizes[first_of_two..].fill(3);
            let mut strides = vec![9; tensor.sizes.len()];
            strides[first_of_two..].copy_from_slice(&[2, 1]);
            tensor.strides = Some(strides);
        })
    },
    breaking("rule_strides_too_far", "Strides", |tensor| {
        last(&mut tensor.sizes, 3);
        tensor.strides = Some(vec![u32::MAX; tensor.sizes.len()]);
    }),
    breaking("rule_total_size_too_small", "TotalTensorSizeInBytes", |tensor| {
        // More than four bytes of halves of them, too.
        last(&mut tensor.sizes, 9);
        tensor.total_tensor_size_in_bytes = Some(4);
    }),
    breaking("rule_alignment_not_a_power_of_two", "GuaranteedBaseOffsetAlignment", |tensor| {
        tensor.guaranteed_base_offset_alignment = 48;
    }),
    breaking("rule_unknown_flags", "Flags", |tensor| tensor.flags = TensorFlags::from_bits(2)),
    Break {
        is_legal_input: true,
        ..breaking("rule_owned_output", "Flags", |tensor| tensor.flags = TensorFlags::OWNED_BY_DML)
    },
];

const BAD_BINDINGS: &[(&str, BadBinding)] = &[
    ("binding_too_small", BadBinding::TooSmall),
    ("binding_unaligned", BadBinding::Unaligned),
    ("binding_out_of_buffer", BadBinding::OutOfBuffer),
    ("binding_missing", BadBinding::Missing),
];

/// The broken rules for an operator that `level` accepts with this signature, of those that it is tested with
/// (`has_case` of the reference).
pub(super) fn cases(
    reference: &dyn Reference,
    level: FeatureLevel,
    signature: &Signature,
) -> Vec<RuleCase> {
    let has = reference.has_case(signature);
    let before = before(reference, level, signature);
    let has_before = before.as_ref().map(|before| reference.has_case(before));
    let is_here = |name: &str| has(number(name));
    let is_before = |name: &str| has_before.as_ref().is_some_and(|has| has(number(name)));
    let mut cases = all(reference, level, signature, &|name| is_here(name) || is_before(name));
    // A rule that cannot be broken at a rank is broken at the next one instead.
    let only_before = |case: &RuleCase| !is_here(&case.name);
    if let Some(before) = before.filter(|_| cases.iter().any(only_before)) {
        let of_before = all(reference, level, &before, &|name| is_before(name) && !is_here(name));
        cases.retain(|case| of_before.iter().all(|it| it.name != case.name));
    }
    cases
}

/// The signature with these types at the rank that is accepted before this one; the highest rank comes before
/// the lowest.
fn before(
    reference: &dyn Reference,
    level: FeatureLevel,
    signature: &Signature,
) -> Option<Signature> {
    let lower = (1..signature.rank).rev();
    let ranks = lower.chain((signature.rank + 1..=MAX_DIMENSION_COUNT).rev());
    let mut others = ranks.map(|rank| Signature { rank, ..signature.clone() });
    others.find(|other| is_accepted(reference, level, other))
}

fn is_accepted(reference: &dyn Reference, level: FeatureLevel, signature: &Signature) -> bool {
    let minimal = reference.minimal(signature);
    documents::ask(&minimal, level) == Answer::Accepted
}

/// A number for a name, because the set of rules differs between ranks: FNV-1a.
fn number(name: &str) -> usize {
    let hash = name
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (hash >> 8) as usize
}

/// Every broken rule whose name is wanted: an operator is made for no other one.
pub(super) fn all(
    reference: &dyn Reference,
    level: FeatureLevel,
    signature: &Signature,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Vec<RuleCase> {
    let legal = reference.minimal(signature);
    let with_inputs = with_inputs(&legal, level);
    let mut cases = broken_tensors(&with_inputs, signature.rank, is_wanted);
    cases.extend(likeness::broken(&with_inputs, level, is_wanted));
    let of_operator = reference.broken_rules(signature).into_iter();
    let of_operator = of_operator.filter(|broken| is_wanted(&broken.name));
    cases.extend(of_operator.map(|broken| {
        let expectation = Expectation::InvalidField(broken.field.into_owned());
        RuleCase { name: broken.name.into_owned(), operator: broken.operator, expectation }
    }));
    let bindings = BAD_BINDINGS.iter().filter(|(name, _)| is_wanted(name));
    cases.extend(bindings.map(|(name, binding)| RuleCase {
        name: (*name).to_owned(),
        operator: legal.clone(),
        expectation: Expectation::InvalidBinding(*binding),
    }));
    cases
}

/// `legal` with each of its tensors broken in turn, in every way that is illegal for it.
fn broken_tensors(
    legal: &AbstractOperator,
    rank: usize,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Vec<RuleCase> {
    // A tensor may have another rank than the signature.
    let tensors = [FieldKind::Output, FieldKind::Input].map(|kind| legal.bindings(kind));
    let mut cases = Vec::new();
    for (index, (tensor, desc)) in tensors.into_iter().flatten().enumerate() {
        let rank = desc.map_or(rank, |desc| desc.sizes.len());
        let is_output = tensor.field.kind == FieldKind::Output;
        // The first output's cases have no field in their names.
        let place = if index == 0 { String::new() } else { format!("_in_{}", word(tensor)) };
        let breaks = BREAKS.iter().filter(|it| rank >= it.least_rank);
        for broken in breaks.filter(|it| is_output || !it.is_legal_input) {
            let name = [broken.name, &place].concat();
            if !is_wanted(&name) {
                continue;
            }
            let Some(operator) = with_tensor(legal, tensor, broken.change) else { continue };
            let last = if broken.is_last { format!("[{}]", rank - 1) } else { String::new() };
            let path = format!("{tensor}.{}{last}", broken.field);
            cases.push(RuleCase { name, operator, expectation: Expectation::InvalidField(path) });
        }
    }
    cases
}

/// `operator` with its absent inputs like its first output, if `level` accepts them.
fn with_inputs(operator: &AbstractOperator, level: FeatureLevel) -> AbstractOperator {
    let (schema, mut fields) = (operator.schema(), operator.fields().to_vec());
    let output = operator.bindings(FieldKind::Output).find_map(|(_, tensor)| tensor.cloned());
    for (field, value) in schema.fields.iter().zip(&mut fields) {
        if field.kind == FieldKind::Input && *value == FieldValue::Tensor(None) {
            *value = FieldValue::Tensor(output.clone());
        }
    }
    let Ok(filled) = AbstractOperator::new(schema, fields) else { return operator.clone() };
    match documents::ask(&filled, level) {
        Answer::Accepted => filled,
        _ => operator.clone(),
    }
}

fn last(sizes: &mut [u32], size: u32) {
    if let Some(last) = sizes.last_mut() {
        *last = size;
    }
}

/// `operator` with one of its tensors changed; `None` if it has no such tensor.
fn with_tensor(
    operator: &AbstractOperator,
    tensor: TensorPath,
    change: impl FnOnce(&mut TensorDesc),
) -> Option<AbstractOperator> {
    let mut fields = operator.fields().to_vec();
    let mut named = operator.schema().fields.iter().zip(&mut fields);
    let (_, value) = named.find(|(field, _)| field.name == tensor.field.name)?;
    let desc = match (value, tensor.element) {
        (FieldValue::Tensor(desc), None) => desc.as_mut()?,
        (FieldValue::TensorArray(descs), Some(element)) => descs.get_mut(element)?,
        _ => return None,
    };
    change(desc);
    AbstractOperator::new(operator.schema(), fields).ok()
}

/// A tensor's field as a part of a case's name: `input_tensor`, or `input_tensors_1`.
fn word(tensor: TensorPath) -> String {
    let field = snake_case(tensor.field.name);
    tensor.element.map_or(field.clone(), |element| format!("{field}_{element}"))
}

/// `ATensor` as `a_tensor`.
fn snake_case(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use dml::DataType;
    use dml::core::schema::{FieldSchema, FieldType};

    /// The names and the fields of the cases of an operator at the highest level.
    fn fields(name: &str) -> Vec<(String, String)> {
        let reference =
            dml_reference::REFERENCES.iter().find(|it| it.schema().name == name).unwrap();
        let signature = Signature::of(DataType::Float32, 4);
        let cases = all(*reference, FeatureLevel::HIGHEST, &signature, &|_| true);
        let field = |case: RuleCase| match case.expectation {
            Expectation::InvalidField(field) => Some((case.name, field)),
            _ => None,
        };
        cases.into_iter().filter_map(field).collect()
    }

    #[test]
    fn every_tensor_is_broken_and_inputs_only_in_ways_that_they_may_not_be() {
        let fields = fields("DIAGONAL_MATRIX1");
        let has = |name: &str, field: &str| fields.contains(&(name.to_owned(), field.to_owned()));
        assert!(has("rule_size_zero", "OutputTensor.Sizes[3]"), "{fields:?}");
        assert!(has("rule_strides_zero", "OutputTensor.Strides"), "{fields:?}");
        assert!(has("rule_size_zero_in_input_tensor", "InputTensor.Sizes[3]"), "{fields:?}");
        assert!(has("rule_unknown_flags_in_input_tensor", "InputTensor.Flags"), "{fields:?}");
        for name in ["type_differs", "sizes_differ", "dimension_count_differs"] {
            assert!(fields.iter().any(|(it, _)| *it == format!("rule_{name}_in_input_tensor")));
        }
        assert!(has("rule_type_differs_in_value_data_type", "ValueDataType"), "{fields:?}");
        let is_break = |name: &str| BREAKS.iter().any(|it| name.starts_with(it.name));
        let of_input = fields.iter().filter(|(name, _)| name.ends_with("_in_input_tensor"));
        let of_input = of_input.filter(|(name, _)| is_break(name));
        assert_eq!(of_input.count(), BREAKS.len() - 3);
        assert!(fields.iter().all(|(name, _)| !name.contains("strides_zero_in_")));
    }

    #[test]
    fn every_element_of_an_array_is_broken() {
        let schema = dml::core::operators::find("SPLIT").unwrap();
        let tensor = || TensorDesc::packed(DataType::Float32, &[2, 2, 2, 2]);
        let value = |field: &FieldSchema| match field.field_type {
            FieldType::Tensor => FieldValue::Tensor(Some(tensor())),
            FieldType::TensorArray => FieldValue::TensorArray(vec![tensor(), tensor()]),
            _ => FieldValue::Uint(2),
        };
        let legal =
            AbstractOperator::new(schema, schema.fields.iter().map(value).collect()).unwrap();
        let cases = broken_tensors(&legal, 4, &|_| true);
        let has = |name: &str, path: &str, broken: [u32; 3]| {
            let case = cases.iter().find(|case| case.name == name).unwrap();
            let expected = &case.expectation;
            assert!(matches!(expected, Expectation::InvalidField(field) if field == path));
            let sizes = case.operator.tensors().map(|(_, tensor)| tensor.sizes[3]);
            assert!(sizes.eq(broken), "{:?}", case.operator);
        };
        has("rule_size_zero", "OutputTensors[0].Sizes[3]", [2, 0, 2]);
        has("rule_size_zero_in_output_tensors_1", "OutputTensors[1].Sizes[3]", [2, 2, 0]);
        has("rule_size_zero_in_input_tensor", "InputTensor.Sizes[3]", [0, 2, 2]);
        assert_eq!(cases.len(), 2 * BREAKS.len() + (BREAKS.len() - 3));
    }

    #[test]
    fn every_rule_is_broken_and_where_none_are_shared_at_every_rank() {
        for reference in dml_reference::REFERENCES.iter().copied() {
            let (level, schema) = (FeatureLevel::HIGHEST, reference.schema());
            let is_shared = reference.shares_cases();
            // A rank, or any.
            let places = |signature: &Signature| -> Vec<_> {
                let rank = (!is_shared).then_some(signature.rank);
                rank.map(Some).into_iter().chain([None]).collect()
            };
            let [mut all_pairs, mut pairs] = [HashSet::new(), HashSet::new()];
            let mut counts = [0, 0];
            let (mut ranks, mut types) = (HashSet::new(), HashSet::new());
            for signature in Signature::all(schema) {
                if !is_accepted(reference, level, &signature) {
                    continue;
                }
                ranks.insert(signature.rank);
                types.insert(signature.types.clone());
                let of_all = all(reference, level, &signature, &|_| true);
                let of_run = cases(reference, level, &signature);
                let found = [(of_all, &mut all_pairs), (of_run, &mut pairs)];
                for ((cases, pairs), count) in found.into_iter().zip(&mut counts) {
                    *count += cases.len();
                    for case in cases {
                        let places = places(&signature).into_iter();
                        pairs.extend(places.map(|place| (case.name.clone(), place)));
                    }
                }
            }
            let missing: Vec<_> = all_pairs.difference(&pairs).collect();
            assert!(missing.is_empty(), "{}: {missing:?}", schema.name);
            assert!(counts[0] > counts[1] || types.len() * ranks.len() <= 8, "{}", schema.name);
        }
    }

    #[test]
    fn a_field_s_name_in_snake_case_has_its_words_apart() {
        assert_eq!(snake_case("ATensor"), "a_tensor");
        assert_eq!(snake_case("OutputGradientTensor"), "output_gradient_tensor");
    }
}
