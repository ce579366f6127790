//! The corner cases of gather and scatter operators.

mod drawn;
mod shape;

use dml_core::schema::{FieldKind, FieldSchema, FieldType, OperatorSchema};
use dml_core::{AbstractOperator, DataType, FieldValue, TensorDesc, TensorFlags};

use super::meaning::Meaning;
use crate::{BrokenRule, Case, Random, Signature};

pub(super) use drawn::indices;
use shape::Shape;

/// Makes the cases of one operator.
pub(super) struct CaseGenerator<'a> {
    pub(super) schema: &'static OperatorSchema,
    pub(super) meaning: Meaning,
    pub(super) signature: &'a Signature,
}

/// Whether the operator writes at its indices.
pub(super) fn is_scatter(schema: &OperatorSchema) -> bool {
    schema.has_field("UpdatesTensor")
}

/// The memory layout of a tensor.
#[derive(Clone, Copy, PartialEq)]
enum Layout {
    /// With gaps between neighbours and larger ones between rows.
    Padded,
    /// With the first dimension innermost.
    Reversed,
    /// Broadcast along all dimensions.
    Repeated,
}

impl Layout {
    fn of(self, data_type: DataType, sizes: &[u32]) -> TensorDesc {
        let tensor = TensorDesc::packed(data_type, sizes);
        let (gap, mut next) = if self == Self::Padded { (2, 3) } else { (0, 1) };
        let mut strides = vec![0; sizes.len()];
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        match self {
            Self::Repeated => order.clear(),
            Self::Padded => order.reverse(),
            Self::Reversed => {}
        }
        for at in order {
            strides[at] = next;
            next = next * sizes[at] + gap;
        }
        tensor.with_strides(&strides)
    }
}

impl CaseGenerator<'_> {
    fn operator(
        &self,
        shape: &Shape,
        tensor: impl FnMut(&'static FieldSchema, DataType, &[u32]) -> TensorDesc,
    ) -> AbstractOperator {
        let mut tensor = tensor;
        let (mut sizes, mut attributes) = (shape.tensors.iter(), shape.attributes.iter());
        let fields = self.schema.fields.iter().map(|field| match field.field_type {
            FieldType::Tensor => FieldValue::Tensor(sizes.next().map(|sizes| {
                tensor(field, self.signature.type_of(self.schema, field.name), sizes)
            })),
            _ => FieldValue::Uint(attributes.next().copied().unwrap_or_default()),
        });
        AbstractOperator::new(self.schema, fields.collect()).expect("the fields of the row")
    }

    fn packed(&self, shape: &Shape) -> AbstractOperator {
        self.operator(shape, |_, data_type, sizes| TensorDesc::packed(data_type, sizes))
    }

    /// The operator with some tensors in another layout.
    fn laid(&self, layout: Layout, which: impl Fn(&FieldSchema) -> bool) -> AbstractOperator {
        self.operator(&self.main(), |field, data_type, sizes| match which(field) {
            true => layout.of(data_type, sizes),
            false => TensorDesc::packed(data_type, sizes),
        })
    }

    /// A smallest operator.
    pub(super) fn minimal(&self) -> AbstractOperator {
        self.packed(&self.smallest())
    }

    pub(super) fn cases(&self) -> Vec<Case> {
        use Layout::{Padded, Repeated, Reversed};
        let is_output = |it: &FieldSchema| it.kind == FieldKind::Output;
        let is_indices = |it: &FieldSchema| it.name == "IndicesTensor";
        let shapes = self.shapes();
        let packed = || self.packed(&self.main());
        let mut cases: Vec<Case> = shapes
            .iter()
            .map(|(name, shape)| Case::new(format!("shape_{name}"), self.packed(shape)))
            .collect();
        cases.extend(self.edges());
        cases.extend([
            Case::new("strides_padded_output", self.laid(Padded, is_output)),
            Case::new("strides_padded_inputs", self.laid(Padded, |it| !is_output(it))),
            Case::new("strides_padded_all", self.laid(Padded, |_| true)),
            Case::new("strides_reversed_output", self.laid(Reversed, is_output)),
            Case::new("strides_reversed_indices", self.laid(Reversed, is_indices)),
            Case::new("strides_reversed_all", self.laid(Reversed, |_| true)),
            Case::new(
                "strides_repeated",
                self.laid(Repeated, |it| !is_output(it) && !self.writes_at(it)),
            ),
            Case::new("base_offset_16", packed()).at_output_offset(16),
            Case::new("base_offset_272", packed()).at_input_offset(272),
            Case::new("storage_only", packed()).storage_only(),
            Case::new("owned_first", self.owned(|it| it == 0)),
            Case::new("owned_second", self.owned(|it| it == 1)),
            Case::new("owned_all", self.owned(|_| true)),
            Case::new("owned_storage_only", self.owned(|_| true)).storage_only(),
        ]);
        cases.extend(self.documented());
        cases
    }

    /// Whether the field has indices of written elements, which must differ.
    fn writes_at(&self, field: &FieldSchema) -> bool {
        let writes = is_scatter(self.schema) || self.meaning == Meaning::Unpool;
        writes && field.name == "IndicesTensor"
    }

    /// The operator with OWNED_BY_DML on the inputs of these indices.
    fn owned(&self, which: impl Fn(usize) -> bool) -> AbstractOperator {
        let mut number = 0;
        self.operator(&self.main(), |field, data_type, sizes| {
            let is_owned = field.kind == FieldKind::Input && which(number);
            number += 1;
            let flags = if is_owned { TensorFlags::OWNED_BY_DML } else { TensorFlags::NONE };
            TensorDesc { flags, ..TensorDesc::packed(data_type, sizes) }
        })
    }

    /// All edge indices for a dimension of size five, in one tensor.
    fn edges(&self) -> Option<Case> {
        let rank = self.signature.rank;
        let data_type = self.signature.type_of(self.schema, "OutputTensor");
        let of_indices = || self.signature.type_of(self.schema, "IndicesTensor");
        let values = |count: u64| {
            let bits = |it: u64| (it + 1).wrapping_mul(0x0102_0408_1020_4081);
            (0..count).map(|it| bits(it) >> (64 - data_type.bits())).collect::<Vec<_>>()
        };
        let along = |size: usize| {
            let mut sizes = vec![1; rank];
            sizes[rank - 1] = u32::try_from(size).unwrap_or(u32::MAX);
            sizes
        };
        let last = u32::try_from(rank - 1).unwrap_or(u32::MAX);
        match self.meaning {
            Meaning::Gather | Meaning::Elements if !is_scatter(self.schema) => {
                let indices = drawn::edges(5, of_indices());
                let many = along(indices.len());
                let mut attributes = vec![last];
                attributes.extend((self.meaning == Meaning::Gather).then_some(1));
                let shape = Shape { tensors: vec![along(5), many.clone(), many], attributes };
                let inputs = vec![values(5), indices];
                Some(Case::new("index_edges", self.packed(&shape)).with_inputs(inputs))
            }
            _ => None,
        }
    }

    /// The examples of the documentation, with the types and ranks that the first feature levels accept.
    fn documented(&self) -> Vec<Case> {
        let type_of = |it: &FieldSchema| self.signature.type_of(self.schema, it.name);
        let types: Vec<DataType> = self.schema.fields[..2].iter().map(type_of).collect();
        if types != [DataType::Float32, DataType::Uint32] || self.signature.rank != 4 {
            return vec![];
        }
        let floats =
            |it: &[u8]| it.iter().map(|it| f32::from(*it).to_bits().into()).collect::<Vec<u64>>();
        let case = |name, tensors: [[u32; 2]; 3], axis, data: &[u8], indices: &[u64], output| {
            let tensors = tensors.map(|[height, width]| vec![1, 1, height, width]).to_vec();
            let inputs = vec![floats(data), indices.to_vec()];
            let operator = self.packed(&Shape { tensors, attributes: vec![axis] });
            Case::new(name, operator).with_inputs(inputs).documented(vec![floats(output)])
        };
        let to_12 = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
        match self.schema.name {
            "GATHER_ELEMENTS" => vec![case(
                "documented",
                [[3, 3], [2, 3], [2, 3]],
                2,
                &to_12[..9],
                &[1, 2, 0, 2, 0, 0],
                &[4, 8, 3, 7, 2, 3],
            )],
            "REVERSE_SUBSEQUENCES" => vec![
                case(
                    "documented_1",
                    [[3, 4], [3, 1], [3, 4]],
                    3,
                    &to_12,
                    &[2, 4, 3],
                    &[2, 1, 3, 4, 8, 7, 6, 5, 11, 10, 9, 12],
                ),
                case(
                    "documented_2",
                    [[3, 4], [1, 4], [3, 4]],
                    2,
                    &to_12,
                    &[2, 3, 1, 0],
                    &[5, 10, 3, 4, 1, 6, 7, 8, 9, 2, 11, 12],
                ),
            ],
            _ => vec![],
        }
    }

    pub(super) fn random(&self, random: &mut Random) -> Case {
        let shape = self.drawn(random);
        let operator = self.operator(&shape, |field, data_type, sizes| {
            match field.kind == FieldKind::Input && !self.writes_at(field) {
                true => random.input_tensor(data_type, sizes),
                false => random.tensor(data_type, sizes),
            }
        });
        Case::new("random", operator).with_random_buffers(random)
    }

    pub(super) fn broken_rules(&self) -> Vec<BrokenRule> {
        let broken = shape::broken(self.meaning, is_scatter(self.schema), self.smallest());
        let rule = |(name, field, shape): (&'static str, String, Shape)| BrokenRule {
            name: name.into(),
            operator: self.packed(&shape),
            field: field.into(),
        };
        broken.into_iter().map(rule).collect()
    }
}
