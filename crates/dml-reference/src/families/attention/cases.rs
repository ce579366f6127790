//! The corner cases of attention.

mod broken;
mod parts;

use dml_core::operators::attention::LENGTHS;
use dml_core::schema::{FieldKind, FieldSchema, FieldType, OperatorSchema};
use dml_core::{
    AbstractOperator, FieldValue, MultiheadAttentionMaskType as MaskType, TensorDesc, TensorFlags,
};

use crate::layouts::{padded, repeated, reversed, snake};
use crate::{Case, Random, Signature};
use parts::{PAST, Parts, SHAPES, Stack, USUAL};

/// Makes the cases of one operator.
pub(super) struct CaseGenerator<'a> {
    pub(super) schema: &'static OperatorSchema,
    pub(super) signature: &'a Signature,
}

impl CaseGenerator<'_> {
    /// All tensors that can occur together, except for the lengths of the past.
    fn usual(&self) -> Parts {
        let per_group = if self.is_grouped() { 2 } else { 1 };
        Parts { per_group, left_out: vec![LENGTHS], ..USUAL }
    }

    /// All tensors that can occur together, including the lengths of the past.
    fn counted(&self) -> Parts {
        Parts { left_out: vec![], ..self.usual() }
    }

    /// Whether the operator has head groups and lengths (MULTIHEAD_ATTENTION1).
    fn is_grouped(&self) -> bool {
        self.schema.has_field(LENGTHS)
    }

    /// A tensor of the signature's rank, or of a higher one if its sizes need that, unless `is_exact`.
    fn tensor(&self, name: &str, parts: &Parts, is_exact: bool) -> TensorDesc {
        let inner = parts.sizes(name);
        let rank = self.signature.rank.max(if is_exact { 0 } else { inner.len() });
        let all = [vec![1; 8], inner].concat();
        TensorDesc::packed(self.signature.type_of(self.schema, name), &all[all.len() - rank..])
    }

    fn value(&self, field: &FieldSchema, parts: &Parts, is_exact: bool) -> FieldValue {
        let heads = parts.groups * parts.per_group;
        match (field.name, field.field_type) {
            (name, FieldType::Tensor) => {
                let is_there = parts.has(name);
                FieldValue::Tensor(is_there.then(|| self.tensor(name, parts, is_exact)))
            }
            ("Scale", _) => FieldValue::Float(parts.scale),
            ("MaskFilterValue", _) => FieldValue::Float(parts.filter),
            ("MaskType", _) => FieldValue::Uint(parts.mask().dml_value()),
            ("KeyValueHeadCount", _) => FieldValue::Uint(parts.groups),
            _ => FieldValue::Uint(heads),
        }
    }

    fn operator(&self, parts: &Parts) -> AbstractOperator {
        let parts = parts.clone().matched();
        let values = self.schema.fields.iter().map(|field| self.value(field, &parts, false));
        AbstractOperator::new(self.schema, values.collect()).expect("the fields of the row")
    }

    fn case(&self, name: impl Into<String>, parts: &Parts) -> Case {
        Case::new(name.into(), self.operator(parts))
    }

    /// Without optional tensors, except for those with type parameters of their own and those that they need.
    /// All tensors have the signature's rank, even if that is not valid.
    pub(super) fn minimal(&self) -> AbstractOperator {
        let mut left_out = self.optional();
        let is_needed = |name: &str| name == "MaskTensor" || self.is_grouped() && is_of_past(name);
        left_out.retain(|name| !is_needed(name));
        let one = Parts { batches: 1, queries: 1, past: 1, per_group: 1, groups: 1, ..USUAL };
        let mask = MaskType::KeySequenceLength;
        let parts = Parts { elements: 1, of_value: 1, mask, left_out, ..one }.matched();
        let values = self.schema.fields.iter().map(|field| self.value(field, &parts, true));
        AbstractOperator::new(self.schema, values.collect()).expect("the fields of the row")
    }

    /// The names of tensors that may be left out, apart from queries, keys and values.
    fn optional(&self) -> Vec<&'static str> {
        let optional =
            self.schema.fields.iter().filter(|field| field.optional).map(|field| field.name);
        let is_operand = |it: &&str| {
            it.starts_with("Stacked") || ["QueryTensor", "KeyTensor", "ValueTensor"].contains(it)
        };
        optional.filter(|optional| !is_operand(optional)).collect()
    }

    pub(super) fn cases(&self) -> Vec<Case> {
        let usual = self.usual();
        let mut cases = vec![self.case("values", &usual)];
        for [batches, queries, keys, past, groups, elements, of_value] in SHAPES {
            let name =
                format!("sizes_{batches}_{queries}_{keys}_{past}_{groups}_{elements}_{of_value}");
            let sizes = Parts { batches, queries, keys, past, groups, elements, of_value, ..USUAL };
            let parts = Parts { left_out: usual.left_out.clone(), ..sizes };
            cases.push(self.case(&name, &parts));
            cases.push(
                self.case(format!("bare_{name}"), &Parts { left_out: self.optional(), ..parts }),
            );
        }
        for stack in [Stack::QueryKey, Stack::KeyValue, Stack::All] {
            let name = format!("stacked_{stack:?}").to_lowercase();
            cases.push(self.case(&name, &Parts { stack, ..usual.clone() }));
            let left_out = self.optional();
            cases.push(self.case(format!("bare_{name}"), &Parts { stack, left_out, ..USUAL }));
        }
        for mask in MaskType::ALL.into_iter().filter(|it| *it != MaskType::None) {
            for filter in [USUAL.filter, -2.5] {
                let name = format!("mask_{}_{}", mask.name().to_lowercase(), -filter);
                let name = name.replace('.', "_");
                cases.push(self.case(name, &Parts { mask, filter, ..usual.clone() }));
            }
        }
        for name in self.optional().into_iter().filter(|it| ![LENGTHS, PAST[1]].contains(it)) {
            let also = if name == PAST[0] { &PAST[..] } else { &[name] };
            let left_out = [also, &[LENGTHS]].concat();
            let parts = Parts { left_out, ..usual.clone() };
            cases.push(self.case(format!("without_{}", snake(name)), &parts));
        }
        for (at, name) in ["batches", "heads", "queries", "keys"].into_iter().enumerate() {
            let mut is_repeated = [false; 4];
            is_repeated[at] = true;
            let parts = Parts { is_repeated, ..usual.clone() };
            cases.push(self.case(format!("repeated_along_{name}"), &parts));
        }
        // With this scale, products are not exact.
        let left_out = vec!["MaskTensor", LENGTHS];
        cases.push(self.case("scale", &Parts { scale: 0.3, left_out, ..usual.clone() }));
        if self.is_grouped() {
            cases.extend(self.grouped());
        }
        cases.extend(self.layouts());
        cases
    }

    /// Cases with head groups and lengths of the past.
    fn grouped(&self) -> Vec<Case> {
        let mut cases = vec![];
        let (usual, counted) = (self.usual(), self.counted());
        for (groups, per_group) in [(1, 4), (3, 2), (4, 1)] {
            let parts = Parts { groups, per_group, keys: 17, queries: 4, ..usual.clone() };
            cases.push(self.case(format!("groups_{groups}_of_{per_group}"), &parts));
        }
        for (queries, past, place) in [(1, 9, 0), (1, 2, 1), (4, 5, 3), (5, 1, 9), (17, 33, 17)] {
            let name = format!("counted_{queries}_{past}_{place}");
            let parts = Parts { queries, past, place, ..counted.clone() };
            cases.push(self.case(&name, &parts));
            let mut left_out = self.optional();
            left_out.retain(|it| !is_of_past(it) && !it.starts_with("Output"));
            cases.push(self.case(format!("bare_{name}"), &Parts { left_out, ..parts }));
        }
        let mask = MaskType::KeySequenceEndStart;
        cases.push(self.case("counted_masked", &Parts { mask, ..counted.clone() }));
        cases.push(self.case("counted_stacked", &Parts { stack: Stack::All, ..counted }));
        cases
    }

    fn layouts(&self) -> Vec<Case> {
        let usual = if self.is_grouped() { self.counted() } else { self.usual() };
        let usual = self.operator(&usual);
        let changed = |names: &[&str], change: &dyn Fn(&mut TensorDesc)| {
            self.changed(&usual, &|field, value| {
                if let FieldValue::Tensor(Some(tensor)) = value
                    && names.contains(&field)
                {
                    change(tensor);
                }
            })
        };
        let mut cases = vec![];
        let there: Vec<&FieldSchema> = usual.tensors().map(|(name, _)| self.field(name)).collect();
        for field in &there {
            let name = |what: &str| format!("{what}_{}", snake(field.name));
            cases.push(Case::new(name("padded"), changed(&[field.name], &padded)));
            cases.push(Case::new(name("reversed"), changed(&[field.name], &reversed)));
            if field.kind == FieldKind::Input {
                cases.push(Case::new(name("repeated"), changed(&[field.name], &repeated)));
            }
        }
        for stack in [Stack::QueryKey, Stack::KeyValue, Stack::All] {
            let operator = self.operator(&Parts { stack, ..self.usual() });
            for (name, change) in [("padded", padded as fn(&mut _)), ("reversed", reversed)] {
                let operator = self.changed(&operator, &|field, value| {
                    if let FieldValue::Tensor(Some(tensor)) = value
                        && field.starts_with("Stacked")
                    {
                        change(tensor);
                    }
                });
                let name = format!("{name}_stacked_{stack:?}").to_lowercase();
                cases.push(Case::new(name, operator));
            }
        }
        let inputs = there.iter().filter(|it| it.kind == FieldKind::Input);
        let inputs: Vec<&str> = inputs.map(|input| input.name).collect();
        let owned = changed(&inputs, &|it| it.flags = TensorFlags::OWNED_BY_DML);
        cases.push(Case::new("owned", owned.clone()));
        cases.push(Case::new("owned_storage_only", owned).storage_only());
        cases.push(Case::new("base_offset_16", usual.clone()).at_output_offset(16));
        cases.push(Case::new("base_offset_272", usual.clone()).at_input_offset(272));
        cases.push(Case::new("storage_only", usual).storage_only());
        cases
    }

    fn field(&self, name: &str) -> &'static FieldSchema {
        self.schema.fields.iter().find(|field| field.name == name).expect("a field of the row")
    }

    /// The operator with changed fields.
    fn changed(
        &self,
        operator: &AbstractOperator,
        change: &dyn Fn(&str, &mut FieldValue),
    ) -> AbstractOperator {
        let mut fields = operator.fields().to_vec();
        for (field, value) in self.schema.fields.iter().zip(&mut fields) {
            change(field.name, value);
        }
        AbstractOperator::new(self.schema, fields).expect("the fields of the row")
    }

    pub(super) fn random(&self, random: &mut Random) -> Case {
        let is_counted = self.is_grouped() && random.one_in(2);
        let mut left_out: Vec<&'static str> =
            self.optional().into_iter().filter(|_| random.one_in(3)).collect();
        left_out.retain(|name| !is_of_past(name));
        if !is_counted {
            left_out.push(LENGTHS);
            if random.one_in(3) {
                left_out.extend(PAST);
            }
        }
        let parts = Parts {
            batches: 1 + random.below(4),
            queries: 1 + random.below(9),
            keys: 1 + random.below(20),
            past: 1 + random.below(9),
            per_group: if self.is_grouped() { 1 + random.below(3) } else { 1 },
            groups: 1 + random.below(4),
            elements: 1 + random.below(9),
            of_value: 1 + random.below(9),
            stack: random.pick(&[Stack::None, Stack::QueryKey, Stack::KeyValue, Stack::All]),
            mask: random.pick(&MaskType::ALL[1..]),
            left_out,
            is_repeated: std::array::from_fn(|_| random.one_in(4)),
            place: random.below(12),
            scale: random.pick(&[0.125, 0.25, 0.5]),
            filter: random.pick(&[USUAL.filter, -1.5]),
        };
        let operator = self.operator(&parts);
        let mut fields = operator.fields().to_vec();
        for (field, value) in self.schema.fields.iter().zip(&mut fields) {
            if let FieldValue::Tensor(Some(tensor)) = value {
                let (data_type, sizes) = (tensor.data_type, tensor.sizes.clone());
                *tensor = match field.kind {
                    FieldKind::Output => random.tensor(data_type, &sizes),
                    _ => random.input_tensor(data_type, &sizes),
                };
            }
        }
        let operator = AbstractOperator::new(self.schema, fields).expect("the fields of the row");
        Case::new("random", operator).with_random_buffers(random)
    }
}

/// Whether a tensor holds past keys or values, or their lengths.
fn is_of_past(name: &str) -> bool {
    PAST.contains(&name) || name == LENGTHS
}
