//! The corner cases of JOIN and SPLIT: a whole tensor, and its parts along an axis.

use dml_core::schema::{FieldKind, FieldType, OperatorSchema};
use dml_core::{AbstractOperator, FieldValue, TensorDesc};

use super::{Layout, owned};
use crate::{BrokenRule, Case, Random, Signature};

/// Makes the cases of one operator.
pub(in super::super) struct AlongAxis<'a> {
    pub(in super::super) schema: &'static OperatorSchema,
    pub(in super::super) signature: &'a Signature,
}

impl AlongAxis<'_> {
    fn kind_of_whole(&self) -> FieldKind {
        let whole = self.schema.fields.iter().find(|field| field.field_type == FieldType::Tensor);
        whole.map_or(FieldKind::Output, |field| field.kind)
    }

    fn operator(&self, parts: Vec<TensorDesc>, whole: TensorDesc, axis: usize) -> AbstractOperator {
        let number = |it: usize| FieldValue::Uint(u32::try_from(it).unwrap_or(u32::MAX));
        let fields = self.schema.fields.iter().map(|field| match field.field_type {
            FieldType::Tensor => FieldValue::Tensor(Some(whole.clone())),
            FieldType::TensorArray => FieldValue::TensorArray(parts.clone()),
            _ if field.name == "Axis" => number(axis),
            _ => number(parts.len()),
        });
        AbstractOperator::new(self.schema, fields.collect()).expect("the fields of the row")
    }

    /// Odd sizes in every dimension other than the axis.
    fn sizes(&self, axis: usize, along: u32) -> Vec<u32> {
        let rank = self.signature.rank;
        let mut sizes = [2, 1, 3, 1, 2, 3, 1, 3][8 - rank..].to_vec();
        sizes[axis] = along;
        sizes
    }

    fn tensor(&self, sizes: &[u32], layout: Layout) -> TensorDesc {
        layout.tensor(self.signature.data_type(), sizes)
    }

    /// The operator for parts of these sizes along the axis.
    fn of(&self, axis: usize, along: &[u32], parts: Layout, whole: Layout) -> AbstractOperator {
        let part = |along: &u32| self.tensor(&self.sizes(axis, *along), parts);
        let whole = self.tensor(&self.sizes(axis, along.iter().sum()), whole);
        self.operator(along.iter().map(part).collect(), whole, axis)
    }

    /// Two parts of one element each, the smallest operator.
    pub(in super::super) fn minimal(&self) -> AbstractOperator {
        let part = TensorDesc::packed(self.signature.data_type(), &vec![1; self.signature.rank]);
        let mut whole = part.clone();
        whole.sizes[0] = 2;
        self.operator(vec![part; 2], whole, 0)
    }

    pub(in super::super) fn cases(&self) -> Vec<Case> {
        use Layout::{Packed, Padded, Repeated, Reversed};
        let last = self.signature.rank - 1;
        let of = |axis, along: &[u32], parts, whole| self.of(axis, along, parts, whole);
        let packed = || of(last, &[1, 2, 4], Packed, Packed);
        // Only tensors that are read may be broadcast.
        let (parts, whole) = match self.kind_of_whole() {
            FieldKind::Output => (Repeated, Packed),
            _ => (Packed, Repeated),
        };
        let along = if last > 0 { 0 } else { last };
        let mut cases = vec![
            Case::new("one_part", of(last, &[5], Packed, Packed)),
            Case::new("axis_last", packed()),
            Case::new("axis_first", of(0, &[3, 1, 2], Packed, Packed)),
            Case::new("axis_middle", of(last / 2, &[2, 5], Packed, Packed)),
            Case::new("many_parts", of(last, &[1; 17], Packed, Packed)),
            Case::new("long_parts", of(last, &[1024, 37, 512], Packed, Packed)),
            Case::new("strides_padded_parts", of(last, &[3, 4], Padded, Packed)),
            Case::new("strides_padded_whole", of(last / 2, &[3, 4], Packed, Padded)),
            Case::new("strides_reversed_parts", of(0, &[3, 4], Reversed, Packed)),
            Case::new("strides_reversed_whole", of(last, &[3, 4], Packed, Reversed)),
            Case::new("strides_repeated", of(along, &[2, 3], parts, whole)),
            Case::new("base_offset_16", packed()).at_output_offset(16),
            Case::new("base_offset_272", packed()).at_input_offset(272),
            Case::new("storage_only", packed()).storage_only(),
            Case::new("owned_first", owned(&packed(), 1)),
            Case::new("owned_all", owned(&packed(), usize::MAX)),
        ];
        cases.push(Case::new("owned_storage_only", owned(&packed(), 2)).storage_only());
        cases
    }

    pub(in super::super) fn random(&self, random: &mut Random) -> Case {
        let data_type = self.signature.data_type();
        let mut sizes = random.sizes(self.signature.rank);
        let axis = random.below(u32::try_from(sizes.len()).unwrap_or(1)) as usize;
        let parts: Vec<u32> =
            (0..=random.below(5)).map(|_| 1 + random.below(sizes[axis])).collect();
        let whole_is_output = self.kind_of_whole() == FieldKind::Output;
        let mut tensor = |sizes: &[u32], is_output| match is_output {
            true => random.tensor(data_type, sizes),
            false => random.input_tensor(data_type, sizes),
        };
        let mut along = |along, is_output| {
            sizes[axis] = along;
            tensor(&sizes, is_output)
        };
        let whole = along(parts.iter().sum(), whole_is_output);
        let parts = parts.iter().map(|part| along(*part, !whole_is_output)).collect();
        Case::new("random", self.operator(parts, whole, axis)).with_random_buffers(random)
    }

    pub(in super::super) fn broken_rules(&self) -> Vec<BrokenRule> {
        let name = |kind: FieldType| {
            let field = self.schema.fields.iter().find(|field| field.field_type == kind);
            field.map_or("", |field| field.name)
        };
        let (whole, parts) = (name(FieldType::Tensor), name(FieldType::TensorArray));
        let rank = self.signature.rank;
        let tensor = |sizes: &[u32]| TensorDesc::packed(self.signature.data_type(), sizes);
        let twos = vec![2; rank];
        let with_first = |size| [&[size], &twos[1..]].concat();
        let rule = |name: &'static str, operator, field: String| BrokenRule {
            name: name.into(),
            operator,
            field: field.into(),
        };
        let both = || vec![tensor(&twos), tensor(&twos)];
        let mut broken = vec![
            rule(
                "rule_axis_is_no_dimension",
                self.operator(both(), tensor(&with_first(4)), rank),
                "Axis".to_owned(),
            ),
            rule(
                "rule_parts_do_not_add_up",
                self.operator(both(), tensor(&with_first(5)), 0),
                format!("{whole}.Sizes[0]"),
            ),
        ];
        if rank > 1 {
            let mut other = tensor(&twos);
            other.sizes[rank - 1] = 3;
            let operator = self.operator(vec![tensor(&twos), other], tensor(&with_first(4)), 0);
            broken.push(rule(
                "rule_part_of_another_size",
                operator,
                format!("{parts}[1].Sizes[{}]", rank - 1),
            ));
        }
        broken
    }
}
