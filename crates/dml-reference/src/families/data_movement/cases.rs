//! The corner cases of data movement.

mod along;
mod blocks;
mod margins;
mod slices;
mod windows;

use std::borrow::Cow;

use dml_core::schema::{FieldKind, FieldSchema, FieldType, OperatorSchema};
use dml_core::{AbstractOperator, DataType, FieldValue, TensorDesc, TensorFlags};

use crate::{Case, Random, Signature};

pub(super) use along::AlongAxis;
pub(super) use blocks::{DEPTH_TO_SPACE, DEPTH_TO_SPACE1, SPACE_TO_DEPTH, SPACE_TO_DEPTH1, TILE};
pub(super) use margins::{PADDING, PADDING1};
pub(super) use slices::{SLICE, SLICE_GRAD, SLICE1};
pub(super) use windows::{FOLD, UNFOLD};

/// The cases of an operator with one input and one output.
pub(super) struct Corners {
    /// Corner cases for tensors of a rank; the first is also tried with all layouts, and the last is minimal.
    pub(super) all: fn(usize) -> Vec<Corner>,
    /// Operators that break a rule, with the field that the error names.
    pub(super) broken: fn(usize) -> Vec<(Corner, &'static str)>,
    /// A random operator.
    pub(super) random: fn(&mut Random, usize) -> Corner,
}

/// An operator, independent of the types of its tensors.
#[derive(Clone, Debug)]
pub(super) struct Corner {
    pub(super) name: Cow<'static, str>,
    input: Vec<u32>,
    output: Vec<u32>,
    /// The attributes in the schema's order, except for counts of others and the tensors' type.
    attributes: Vec<FieldValue>,
    /// The memory layouts of the input and the output.
    layouts: [Layout; 2],
    /// The elements of both tensors as in the documentation, and their type there.
    documented: Option<(DataType, [Vec<u64>; 2])>,
}

impl Corner {
    fn new(
        name: impl Into<Cow<'static, str>>,
        input: &[u32],
        output: &[u32],
        attributes: impl Into<Vec<FieldValue>>,
    ) -> Self {
        Self {
            name: name.into(),
            input: input.to_vec(),
            output: output.to_vec(),
            attributes: attributes.into(),
            layouts: [Layout::Packed; 2],
            documented: None,
        }
    }

    /// With elements that the documentation prints, as elements of `data_type`.
    fn documented(self, data_type: DataType, input: &[u16], output: &[u16]) -> Self {
        let bits = |value: &u16| match data_type {
            DataType::Float32 => f32::from(*value).to_bits().into(),
            _ => u64::from(*value),
        };
        let elements = [input, output].map(|values| values.iter().map(bits).collect());
        Self { documented: Some((data_type, elements)), ..self }
    }

    /// The operator with these tensors.
    fn with(
        &self,
        schema: &'static OperatorSchema,
        input: &TensorDesc,
        output: &TensorDesc,
    ) -> AbstractOperator {
        let mut attributes = self.attributes.iter().cloned();
        let value = |field: &FieldSchema| {
            let counted = schema.fields.iter().position(|it| it.count == Some(field.name));
            match (field.kind, field.field_type) {
                (FieldKind::Input, _) => FieldValue::Tensor(Some(input.clone())),
                (FieldKind::Output, _) => FieldValue::Tensor(Some(output.clone())),
                _ if field.type_of.is_some() => FieldValue::Uint(output.data_type.dml_value()),
                (_, FieldType::Uint) if counted.is_some() => {
                    FieldValue::Uint(u32::try_from(self.count()).unwrap_or(u32::MAX))
                }
                _ => attributes.next().expect("as many as the row has"),
            }
        };
        let fields = schema.fields.iter().map(value).collect();
        AbstractOperator::new(schema, fields).expect("the fields of the row")
    }

    /// The number of elements of its array attributes.
    fn count(&self) -> usize {
        let length = |value: &FieldValue| match value {
            FieldValue::UintArray(values) => Some(values.len()),
            FieldValue::IntArray(values) => Some(values.len()),
            _ => None,
        };
        self.attributes.iter().find_map(length).unwrap_or_default()
    }

    /// The operator with tensors in its own layouts, which are packed for most corner cases.
    pub(super) fn packed(
        &self,
        schema: &'static OperatorSchema,
        data_type: DataType,
    ) -> AbstractOperator {
        self.laid_out(schema, data_type, self.layouts)
    }

    fn laid_out(
        &self,
        schema: &'static OperatorSchema,
        data_type: DataType,
        [input, output]: [Layout; 2],
    ) -> AbstractOperator {
        let (input, output) =
            (input.tensor(data_type, &self.input), output.tensor(data_type, &self.output));
        self.with(schema, &input, &output)
    }

    /// The operator with tensors of random layouts.
    pub(super) fn drawn(
        &self,
        schema: &'static OperatorSchema,
        data_type: DataType,
        random: &mut Random,
    ) -> AbstractOperator {
        let input = random.input_tensor(data_type, &self.input);
        let output = random.tensor(data_type, &self.output);
        self.with(schema, &input, &output)
    }

    fn case(&self, schema: &'static OperatorSchema, data_type: DataType) -> Case {
        Case::new(self.name.clone(), self.packed(schema, data_type))
    }

    /// The case with the elements printed in the documentation, if it is for this type.
    fn printed(&self, schema: &'static OperatorSchema, data_type: DataType) -> Option<Case> {
        let (of, [input, output]) = self.documented.as_ref()?;
        let case = self.case(schema, data_type).with_inputs(vec![input.clone()]);
        (*of == data_type).then(|| case.documented(vec![output.clone()]))
    }
}

/// All cases: every corner case, and the first one with all layouts.
pub(super) fn cases(
    schema: &'static OperatorSchema,
    corners: &Corners,
    signature: &Signature,
) -> Vec<Case> {
    use Layout::{Packed, Padded, Repeated, Reversed};
    let data_type = signature.data_type();
    let all = (corners.all)(signature.rank);
    let first = || all[0].packed(schema, data_type);
    let of = |input, output| all[0].laid_out(schema, data_type, [input, output]);
    let layouts = vec![
        Case::new("strides_padded_input", of(Padded, Packed)),
        Case::new("strides_padded_output", of(Packed, Padded)),
        Case::new("strides_reversed_input", of(Reversed, Packed)),
        Case::new("strides_reversed_output", of(Packed, Reversed)),
        Case::new("strides_repeated_input", of(Repeated, Padded)),
        Case::new("base_offset_16", first()).at_output_offset(16),
        Case::new("base_offset_272", first()).at_input_offset(272),
        Case::new("storage_only", first()).storage_only(),
        Case::new("owned", owned(&first(), 1)),
        Case::new("owned_storage_only", owned(&of(Padded, Packed), 1)).storage_only(),
    ];
    let corners = all.iter().filter(|corner| corner.documented.is_none());
    let corners = corners.map(|corner| corner.case(schema, data_type));
    // Cases for some types and ranks only come last, so that other cases have the same index everywhere.
    let printed = all.iter().filter_map(|corner| corner.printed(schema, data_type));
    corners.chain(layouts).chain(printed).collect()
}

/// The operator with one more value in its arrays.
fn other_count(mut corner: Corner) -> Corner {
    for value in &mut corner.attributes {
        match value {
            FieldValue::UintArray(values) => values.push(1),
            FieldValue::IntArray(values) => values.push(1),
            _ => {}
        }
    }
    Corner { name: "rule_count_is_not_the_rank".into(), ..corner }
}

/// The operator with an output of one more dimension, or of one fewer at the highest rank of a support table.
fn other_rank(mut corner: Corner) -> Corner {
    match corner.output.len() {
        5 | 8 => drop(corner.output.pop()),
        _ => corner.output.push(1),
    }
    Corner { name: "rule_ranks_differ".into(), ..corner }
}

/// The memory layout of a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Layout {
    Packed,
    /// With gaps between neighbours and larger ones between rows.
    Padded,
    /// With the first dimension innermost.
    Reversed,
    /// Broadcast along the last dimension.
    Repeated,
    /// With neighbours along the last dimension so far apart that a small descriptor never covers three.
    Far,
}

impl Layout {
    fn tensor(self, data_type: DataType, sizes: &[u32]) -> TensorDesc {
        let tensor = TensorDesc::packed(data_type, sizes);
        let mut next = if self == Self::Padded { 3 } else { 1 };
        let mut strides = vec![0; sizes.len()];
        let forwards: Vec<usize> = (0..sizes.len()).collect();
        let order: Vec<usize> = match self {
            Self::Packed => return tensor,
            Self::Reversed => forwards,
            Self::Padded | Self::Repeated | Self::Far => forwards.into_iter().rev().collect(),
        };
        let last = sizes.len() - 1;
        let repeated = matches!(self, Self::Repeated | Self::Far).then_some(last);
        for at in order.into_iter().filter(|at| Some(*at) != repeated) {
            strides[at] = next;
            next = next * sizes[at] + if self == Self::Padded { 2 } else { 0 };
        }
        if self == Self::Far {
            strides[last] = 140_000;
        }
        tensor.with_strides(&strides)
    }
}

/// The operator with OWNED_BY_DML on its first inputs.
fn owned(operator: &AbstractOperator, count: usize) -> AbstractOperator {
    let mut fields = operator.fields().to_vec();
    let values = operator.schema().fields.iter().zip(&mut fields);
    for (_, value) in values.filter(|(field, _)| field.kind == FieldKind::Input) {
        let tensors = match value {
            FieldValue::Tensor(Some(tensor)) => std::slice::from_mut(tensor),
            FieldValue::TensorArray(tensors) => tensors,
            _ => &mut [],
        };
        tensors.iter_mut().take(count).for_each(|tensor| tensor.flags = TensorFlags::OWNED_BY_DML);
    }
    AbstractOperator::new(operator.schema(), fields).expect("the fields of the row")
}
