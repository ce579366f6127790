//! Cases of tensors that are not like the one whose type or sizes they must have, from the schema alone.

use dml::core::FieldValue;
use dml::core::schema::{FieldKind, FieldSchema, TensorPath};
use dml::{AbstractOperator, DataType, FeatureLevel};

use super::{RuleCase, snake_case, with_tensor, word};
use crate::cases::Expectation;
use crate::documents::{self, Answer};

/// `legal`, whose sizes are all 1, with each likeness broken in turn.
pub(super) fn broken(legal: &AbstractOperator, level: FeatureLevel) -> Vec<RuleCase> {
    let tensors = legal.bindings(FieldKind::Input).chain(legal.bindings(FieldKind::Output));
    let mut cases: Vec<RuleCase> = Vec::new();
    for (tensor, desc) in tensors {
        let Some(desc) = desc else { continue };
        let mut add = |rule: &str, member: &str, operator: Option<AbstractOperator>| {
            let name = format!("{rule}_in_{}", word(tensor));
            let expectation = Expectation::InvalidField(format!("{tensor}.{member}"));
            cases.extend(operator.map(|operator| RuleCase { name, operator, expectation }));
        };
        if tensor.field.type_of.is_some() {
            add("rule_type_differs", "DataType", of_another_type(legal, tensor, level));
        }
        if tensor.field.sizes_of.is_some() {
            let larger = with_tensor(legal, tensor, |it| it.sizes[0] = 2);
            add("rule_sizes_differ", "Sizes", larger);
            let fewer = desc.sizes.len() > 1;
            let ranks = if fewer { [desc.sizes.len() - 1] } else { [desc.sizes.len() + 1] };
            let other = ranks.map(|rank| with_tensor(legal, tensor, |it| it.sizes = vec![1; rank]));
            let accepted = other.into_iter().flatten().find(|it| is_accepted(it, level));
            add("rule_dimension_count_differs", "DimensionCount", accepted);
        }
    }
    let holders = legal.schema().fields.iter().filter(|field| field.kind == FieldKind::Attribute);
    cases.extend(
        holders
            .filter(|holder| holder.type_of.is_some())
            .flat_map(|holder| broken_holder(legal, holder)),
    );
    cases
}

/// A tensor of a type that `level` accepts there as well.
fn of_another_type(
    legal: &AbstractOperator,
    tensor: TensorPath,
    level: FeatureLevel,
) -> Option<AbstractOperator> {
    let of = |data_type| with_tensor(legal, tensor, |it| it.data_type = data_type);
    let types = DataType::ALL.into_iter();
    let others = types.filter(|data_type| of(*data_type).is_some_and(|it| it != *legal));
    others.filter_map(of).find(|it| is_accepted(it, level))
}

fn is_accepted(operator: &AbstractOperator, level: FeatureLevel) -> bool {
    documents::ask(operator, level) == Answer::Accepted
}

/// A field that holds a data type, with that of another tensor and with no type's number.
fn broken_holder(legal: &AbstractOperator, holder: &'static FieldSchema) -> Vec<RuleCase> {
    let at =
        legal.schema().fields.iter().position(|field| field == holder).expect("a field of the row");
    let FieldValue::Uint(number) = legal.fields()[at] else { return vec![] };
    let other =
        if number == DataType::Int32.dml_value() { DataType::Uint32 } else { DataType::Int32 };
    let case = |name: &str, number: u32| {
        let mut fields = legal.fields().to_vec();
        fields[at] = FieldValue::Uint(number);
        let operator = AbstractOperator::new(legal.schema(), fields).ok()?;
        let name = format!("{name}_in_{}", snake_case(holder.name));
        let expectation = Expectation::InvalidField(holder.name.to_owned());
        Some(RuleCase { name, operator, expectation })
    };
    let cases = [case("rule_type_differs", other.dml_value()), case("rule_type_unknown", 0)];
    cases.into_iter().flatten().collect()
}
