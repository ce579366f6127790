//! The corner cases of TOP_K and TOP_K1.

use dml_core::schema::{FieldKind, OperatorSchema};

use dml_core::{AbstractOperator, AxisDirection, DataType, FieldValue, TensorDesc, TensorFlags};

use crate::{BrokenRule, Case, PADDED, REVERSED, Random, SMALL, Signature, Sizes, edges, shapes};

/// Makes the cases of one operator.
pub(super) struct CaseGenerator<'a> {
    pub(super) schema: &'static OperatorSchema,
    pub(super) signature: &'a Signature,
}

/// The requested elements.
#[derive(Clone, Copy)]
struct TopElements {
    axis: usize,
    count: u32,
    direction: AxisDirection,
}

/// Changes the memory layout of a tensor.
type Layout = fn(TensorDesc) -> TensorDesc;

fn packed(tensor: TensorDesc) -> TensorDesc {
    tensor
}

/// Adds gaps between neighbours.
fn padded(tensor: TensorDesc) -> TensorDesc {
    let mut next = 3;
    let strides: Vec<u32> = tensor
        .sizes
        .iter()
        .rev()
        .map(|size| {
            let stride = next;
            next = next * size + 2;
            stride
        })
        .collect();
    let strides: Vec<u32> = strides.into_iter().rev().collect();
    tensor.with_strides(&strides)
}

fn owned(mut tensor: TensorDesc) -> TensorDesc {
    tensor.flags = TensorFlags::OWNED_BY_DML;
    tensor
}

impl CaseGenerator<'_> {
    fn last(&self) -> usize {
        self.signature.rank - 1
    }

    fn greatest(&self, axis: usize, count: u32) -> TopElements {
        TopElements { axis, count, direction: AxisDirection::Decreasing }
    }

    fn input(&self, sizes: Sizes) -> TensorDesc {
        let data_type = self.signature.type_of(self.schema, "InputTensor");
        TensorDesc::packed(data_type, &sizes[8 - self.signature.rank..])
    }

    /// The operator, where both outputs have the layout `output`.
    fn operator(&self, input: TensorDesc, output: Layout, wanted: TopElements) -> AbstractOperator {
        let mut sizes = input.sizes.clone();
        if let Some(size) = sizes.get_mut(wanted.axis) {
            *size = wanted.count;
        }
        let fields = self.schema.fields.iter().map(|field| match (field.kind, field.name) {
            (FieldKind::Input, _) => FieldValue::Tensor(Some(input.clone())),
            (FieldKind::Output, name) => {
                let data_type = self.signature.type_of(self.schema, name);
                FieldValue::Tensor(Some(output(TensorDesc::packed(data_type, &sizes))))
            }
            (_, "Axis") => FieldValue::Uint(u32::try_from(wanted.axis).unwrap_or(u32::MAX)),
            (_, "K") => FieldValue::Uint(wanted.count),
            _ => FieldValue::Uint(wanted.direction.dml_value()),
        });
        AbstractOperator::new(self.schema, fields.collect()).expect("the fields of the row")
    }

    /// The operator with rows in the last dimension.
    fn rows(&self, rows: u32, row: u32, count: u32) -> AbstractOperator {
        let sizes = [1, 1, 1, 1, 1, 1, rows, row];
        self.operator(self.input(sizes), packed, self.greatest(self.last(), count))
    }

    pub(super) fn minimal(&self) -> AbstractOperator {
        self.operator(self.input([1; 8]), packed, self.greatest(0, 1))
    }

    pub(super) fn cases(&self) -> Vec<Case> {
        let lengths =
            [(1, 1, 1), (3, 2, 2), (5, 3, 1), (2, 8, 8), (7, 9, 4), (3, 131, 5), (1, 259, 259)];
        let mut cases: Vec<Case> = lengths
            .iter()
            .map(|(rows, row, count)| {
                Case::new(format!("{count}_of_{row}"), self.rows(*rows, *row, *count))
            })
            .collect();
        cases.push(self.values("values", AxisDirection::Decreasing));
        if self.schema.has_field("AxisDirection") {
            cases.push(self.values("values_ascending", AxisDirection::Increasing));
            let least = TopElements { direction: AxisDirection::Increasing, ..self.greatest(0, 1) };
            cases.push(Case::new("least", self.operator(self.input(SMALL), packed, least)));
        }
        cases.extend(self.layouts());
        cases.extend(self.along_axes());
        cases
    }

    /// A row of edge elements, each of them twice.
    fn values(&self, name: &'static str, direction: AxisDirection) -> Case {
        let edges = edges(self.signature.type_of(self.schema, "InputTensor"));
        let row = [edges.as_slice(), &edges].concat();
        let count = u32::try_from(row.len()).unwrap_or(u32::MAX);
        let wanted = TopElements { direction, ..self.greatest(self.last(), count) };
        let input = self.input([1, 1, 1, 1, 1, 1, 1, count]);
        Case::new(name, self.operator(input, packed, wanted)).with_inputs(vec![row])
    }

    fn layouts(&self) -> Vec<Case> {
        let wanted = self.greatest(self.last(), 2);
        let strided =
            |strides: Sizes| self.input(SMALL).with_strides(&strides[8 - self.signature.rank..]);
        let of = |name: &'static str, input, output: Layout| {
            Case::new(name, self.operator(input, output, wanted))
        };
        let case = |name: &'static str| of(name, self.input(SMALL), packed);
        vec![
            of("strides_padded_input", strided(PADDED), packed),
            of("strides_reversed_input", strided(REVERSED), packed),
            of("strides_repeated_input", strided([0; 8]), packed),
            of("strides_padded_outputs", self.input(SMALL), padded),
            case("base_offset_16").at_output_offset(16),
            case("base_offset_272").at_input_offset(272),
            case("storage_only").storage_only(),
            of("owned", owned(self.input(SMALL)), packed),
        ]
    }

    fn along_axes(&self) -> Vec<Case> {
        let shapes = shapes(self.signature.rank).into_iter();
        let shapes = shapes.filter(|(name, _)| *name != "shape_many_groups");
        let of = |(name, sizes): (&'static str, Sizes)| {
            [("first", 0), ("middle", self.last() / 2), ("last", self.last())].map(|(at, axis)| {
                let input = self.input(sizes);
                let count = input.sizes[axis].div_ceil(2);
                let operator = self.operator(input, packed, self.greatest(axis, count));
                Case::new(format!("{name}_axis_{at}"), operator)
            })
        };
        shapes.flat_map(of).collect()
    }

    pub(super) fn random(&self, random: &mut Random) -> Case {
        let data_type: DataType = self.signature.type_of(self.schema, "InputTensor");
        let sizes = random.sizes(self.signature.rank);
        let axis = random.below(u32::try_from(sizes.len()).unwrap_or(u32::MAX)) as usize;
        let wanted = TopElements {
            axis,
            count: 1 + random.below(sizes[axis]),
            direction: random.pick(&[AxisDirection::Increasing, AxisDirection::Decreasing]),
        };
        let input = random.input_tensor(data_type, &sizes);
        let output = random.pick(&[packed as Layout, padded]);
        Case::new("random", self.operator(input, output, wanted)).with_random_buffers(random)
    }

    pub(super) fn broken_rules(&self) -> Vec<BrokenRule> {
        let rule = |name: &'static str, operator, field: String| BrokenRule {
            name: name.into(),
            operator,
            field: field.into(),
        };
        let (input, last) = (self.input([2; 8]), self.last());
        let beyond = self.operator(input.clone(), packed, self.greatest(last + 1, 2));
        let too_many = self.operator(input, packed, self.greatest(last, 3));
        vec![
            rule("rule_axis_is_no_dimension", beyond, "Axis".to_owned()),
            rule("rule_more_than_there_are", too_many, "K".to_owned()),
        ]
    }
}
