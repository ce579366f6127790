//! Attention operators whose tensors do not fit each other.

use dml_core::schema::FieldType;
use dml_core::{AbstractOperator, FieldValue, MultiheadAttentionMaskType as MaskType};

use super::{CaseGenerator, PAST, Parts, Stack};
use crate::BrokenRule;
use crate::layouts::snake;

impl CaseGenerator<'_> {
    pub(in crate::families::attention) fn broken_rules(&self) -> Vec<BrokenRule> {
        let rule = |name: String, operator, field: &str| BrokenRule {
            name: format!("rule_{name}").into(),
            operator,
            field: field.to_owned().into(),
        };
        let usual = self.operator(&self.usual());
        let all = self.operator(&Parts { stack: Stack::All, ..self.usual() });
        let first = if self.is_grouped() { "QueryHeadCount" } else { "HeadCount" };
        let no_type = FieldValue::Uint(MaskType::None.dml_value());
        let mut rules = vec![
            rule("no_type_of_masks".into(), self.with(&usual, "MaskType", no_type), "MaskTensor"),
            rule("no_heads".into(), self.with(&usual, first, FieldValue::Uint(0)), first),
        ];
        let needed = ["QueryTensor", "KeyTensor", "ValueTensor", "MaskTensor"];
        for name in needed.into_iter().chain(PAST) {
            let without = self.with(&usual, name, FieldValue::Tensor(None));
            rules.push(rule(format!("no_{}", snake(name)), without, name));
        }
        let stacked = "StackedQueryKeyValueTensor";
        if let Some(tensor) = all.field(stacked) {
            let both = self.with(&usual, stacked, tensor.clone());
            rules.push(rule("queries_twice".into(), both, stacked));
        }
        let counted = self.operator(&self.counted());
        for (operator, only_stacked) in [(&usual, false), (&all, true), (&counted, false)] {
            for field in
                self.schema.fields.iter().filter(|field| field.field_type == FieldType::Tensor)
            {
                let name = format!("size_of_{}", snake(field.name));
                let is_known = rules.iter().any(|it: &BrokenRule| it.name.ends_with(&name));
                let Some(FieldValue::Tensor(Some(tensor))) = operator.field(field.name) else {
                    continue;
                };
                if is_known || only_stacked && field.name != stacked {
                    continue;
                }
                // The size of a stacked tensor is not divided by the number of heads.
                let last = tensor.sizes.len() - if only_stacked { 3 } else { 1 };
                let mut wider = tensor.clone();
                wider.sizes[last] += 1;
                let wider = self.with(operator, field.name, FieldValue::Tensor(Some(wider)));
                rules.push(rule(name, wider, &format!("{}.Sizes[{last}]", field.name)));
                if tensor.sizes.len() > 4 && field.name == "QueryTensor" {
                    let mut outer = tensor.clone();
                    outer.sizes[0] = 2;
                    let outer = self.with(operator, field.name, FieldValue::Tensor(Some(outer)));
                    rules.push(rule("outer_dimension".into(), outer, "QueryTensor.Sizes[0]"));
                }
            }
        }
        if self.is_grouped() {
            let groups = "KeyValueHeadCount";
            for (name, operator) in [("groups", &usual), ("groups_of_stack", &all)] {
                let three = self.with(operator, groups, FieldValue::Uint(3));
                rules.push(rule(name.into(), three, groups));
            }
            let mut fields = self.with(&counted, PAST[0], FieldValue::Tensor(None));
            fields = self.with(&fields, PAST[1], FieldValue::Tensor(None));
            rules.push(rule("lengths_of_nothing".into(), fields, PAST[0]));
            let key = usual.field("KeyTensor").cloned().unwrap_or(FieldValue::Tensor(None));
            let rank = counted
                .tensors()
                .find(|(it, _)| *it == "KeyTensor")
                .map_or(2, |(_, it)| it.sizes.len());
            let longer = self.with(&counted, "KeyTensor", key);
            rules.push(rule(
                "more_keys_than_queries".into(),
                longer,
                &format!("KeyTensor.Sizes[{}]", rank - 2),
            ));
        }
        rules
    }

    /// The operator with another value of a field.
    fn with(&self, operator: &AbstractOperator, wanted: &str, new: FieldValue) -> AbstractOperator {
        self.changed(operator, &|name, value| {
            if name == wanted {
                *value = new.clone();
            }
        })
    }
}
