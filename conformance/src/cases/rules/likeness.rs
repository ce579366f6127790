//! Cases of tensors that are not like the one whose type or sizes they must have, from the schema alone.

use dml::core::FieldValue;
use dml::core::schema::{FieldKind, FieldSchema, TensorPath};
use dml::{AbstractOperator, DataType, FeatureLevel};

use super::{RuleCase, snake_case, with_tensor, word};
use crate::cases::Expectation;
use crate::documents::{self, Answer};

/// `legal`, whose sizes are all 1, with each likeness broken in turn whose name is wanted.
pub(super) fn broken(
    legal: &AbstractOperator,
    level: FeatureLevel,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Vec<RuleCase> {
    let tensors = legal.bindings(FieldKind::Input).chain(legal.bindings(FieldKind::Output));
    let mut cases: Vec<RuleCase> = Vec::new();
    for (tensor, desc) in tensors {
        let Some(desc) = desc else { continue };
        let place = word(tensor);
        let mut add = |rule: &str, member: &str, broken: &dyn Fn() -> Option<AbstractOperator>| {
            let name = format!("{rule}_in_{place}");
            if let Some(operator) = is_wanted(&name).then(broken).flatten() {
                let expectation = Expectation::InvalidField(format!("{tensor}.{member}"));
                cases.push(RuleCase { name, operator, expectation });
            }
        };
        if tensor.field.type_of.is_some() {
            add("rule_type_differs", "DataType", &|| of_another_type(legal, tensor, level));
        }
        if tensor.field.sizes_of.is_some() {
            add("rule_sizes_differ", "Sizes", &|| with_tensor(legal, tensor, |it| it.sizes[0] = 2));
            let rank = desc.sizes.len();
            let other = if rank > 1 { rank - 1 } else { rank + 1 };
            add("rule_dimension_count_differs", "DimensionCount", &|| {
                with_tensor(legal, tensor, |it| it.sizes = vec![1; other])
                    .filter(|it| is_accepted(it, level))
            });
        }
    }
    let holders = legal.schema().fields.iter().filter(|field| field.kind == FieldKind::Attribute);
    cases.extend(
        holders
            .filter(|holder| holder.type_of.is_some())
            .flat_map(|holder| broken_holder(legal, holder))
            .filter(|case| is_wanted(&case.name)),
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
