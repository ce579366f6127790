//! The corner cases of functions of rows.

mod attributes;

use dml_core::schema::{FieldKind, FieldSchema, FieldType, OperatorSchema};
use dml_core::{AbstractOperator, DataType, FieldValue, TensorDesc, TensorFlags};

use crate::{
    BrokenRule, Case, PADDED, REVERSED, Random, SMALL, Signature, Sizes, TensorGenerator, edges,
    shapes,
};

/// Makes the cases of one operator.
pub(crate) struct CaseGenerator<'a> {
    pub(crate) schema: &'static OperatorSchema,
    pub(crate) signature: &'a Signature,
}

/// How an operator states the axes of rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    /// By any number of axes.
    Several,
    One,
    /// All dimensions but batches, or all but batches and channels.
    Pictures,
    /// Always the last dimension.
    None,
    /// Always all dimensions.
    Whole,
    /// The operator has no rows.
    NoRows,
}

/// Sizes with two dimensions above 1, which every operator of rows accepts.
const fn two(rows: u32, row: u32) -> Sizes {
    [1, 1, 1, 1, 1, 1, rows, row]
}

impl CaseGenerator<'_> {
    fn named(&self) -> Named {
        let has = |name: &str| self.schema.has_field(name);
        let names = [
            ("Axes", Named::Several),
            ("Axis", Named::One),
            ("CrossChannel", Named::Pictures),
            ("OutputScaleTensor", Named::Whole),
            ("MeanTensor", Named::NoRows),
        ];
        names.into_iter().find(|(name, _)| has(name)).map_or(Named::None, |(_, named)| named)
    }

    /// Whether an output has one element per row.
    fn is_reduced(&self, field: &FieldSchema) -> bool {
        let mut inputs = self.schema.fields.iter().filter(|field| field.kind == FieldKind::Input);
        field.kind == FieldKind::Output
            && field.sizes_of.is_none()
            && inputs.all(|input| input.sizes_of != Some(field.name))
    }

    fn make(&self, field: &FieldSchema) -> TensorGenerator {
        let data_type = self.signature.type_of(self.schema, field.name);
        TensorGenerator { data_type, rank: self.signature.rank }
    }

    fn input_type(&self) -> DataType {
        self.signature.type_of(self.schema, "InputTensor")
    }

    fn last(&self) -> u32 {
        u32::try_from(self.signature.rank).unwrap_or(1) - 1
    }

    /// The operator for an input of `sizes`; outputs with one element per row have size 1 along the axes.
    /// `tensor` makes the tensor of a field.
    fn operator(
        &self,
        sizes: &[u32],
        axes: &[u32],
        mut tensor: impl FnMut(&FieldSchema, DataType, &[u32]) -> TensorDesc,
    ) -> AbstractOperator {
        let count = u32::try_from(axes.len()).unwrap_or(u32::MAX);
        let is_whole = self.named() == Named::Whole;
        let reduced = |(at, size): (usize, &u32)| match is_whole
            || axes.iter().any(|axis| *axis as usize == at)
        {
            true => 1,
            false => *size,
        };
        let reduced: Vec<u32> = sizes.iter().enumerate().map(reduced).collect();
        let fields = self.schema.fields.iter().map(|field| match (field.kind, field.field_type) {
            (FieldKind::Attribute, FieldType::UintArray) => FieldValue::UintArray(axes.to_vec()),
            (FieldKind::Attribute, _) if field.name == "AxisCount" => FieldValue::Uint(count),
            (FieldKind::Attribute, _) if field.name == "Axis" => {
                FieldValue::Uint(axes.first().copied().unwrap_or(0))
            }
            (FieldKind::Attribute, other) => other.empty_value(),
            _ if field.optional => FieldValue::Tensor(None),
            _ => {
                let sizes = if self.is_reduced(field) { &reduced } else { sizes };
                FieldValue::Tensor(Some(tensor(field, self.make(field).data_type, sizes)))
            }
        });
        let operator = AbstractOperator::new(self.schema, fields.collect());
        self.with_attributes(&operator.expect("the fields of the row"), 0)
    }

    /// The last of eight sizes, as many as the signature's rank.
    fn own<'s>(&self, sizes: &'s Sizes) -> &'s [u32] {
        &sizes[sizes.len() - self.signature.rank..]
    }

    /// The operator with packed tensors.
    fn packed(&self, sizes: Sizes, axes: &[u32]) -> AbstractOperator {
        self.operator(self.own(&sizes), axes, |_, data_type, sizes| {
            TensorDesc::packed(data_type, sizes)
        })
    }

    /// The operator with these strides of the first input and of the outputs.
    fn strided(&self, sizes: Sizes, strides: [Option<Sizes>; 2], axes: &[u32]) -> AbstractOperator {
        self.operator(self.own(&sizes), axes, |field, data_type, sizes| {
            let strides = match field.kind {
                FieldKind::Input if field.name == "InputTensor" => strides[0],
                FieldKind::Output => strides[1],
                _ => None,
            };
            let tensor = TensorDesc::packed(data_type, sizes);
            match strides {
                Some(strides) => tensor.with_strides(self.own(&strides)),
                None => tensor,
            }
        })
    }

    /// The operator with rows in the last dimension.
    fn of_rows(&self, rows: u32, row: u32) -> AbstractOperator {
        let mut sizes = two(rows, row);
        if self.named() == Named::Pictures {
            // One row per picture.
            sizes.swap(8 - self.signature.rank, 6);
        }
        self.packed(sizes, &[self.last()])
    }

    pub(crate) fn minimal(&self) -> AbstractOperator {
        self.packed([1; 8], &[self.last()])
    }

    /// Cases use different attributes in turn.
    pub(crate) fn cases(&self) -> Vec<Case> {
        let mut cases = self.values();
        if self.has_usual_types() {
            let lengths = [(1, 1), (3001, 5), (7, 4), (3, 131), (2, 4099), (1, 8195), (301, 2)];
            cases.extend(lengths.map(|(rows, row)| {
                Case::new(format!("rows_{rows}_of_{row}"), self.of_rows(rows, row))
            }));
            cases.extend(self.layouts());
            cases.extend(self.buffers());
            cases.extend(self.in_place());
            cases.extend(self.along_axes());
        }
        for (number, case) in cases.iter_mut().enumerate() {
            case.operator = self.with_attributes(&case.operator, number);
        }
        cases
    }

    /// All pairs of edge elements as rows, with as many combinations of attributes as there are.
    fn values(&self) -> Vec<Case> {
        let edges = edges(self.input_type());
        let count = u32::try_from(edges.len()).unwrap_or(u32::MAX);
        let pairs = edges.iter().flat_map(|one| edges.iter().flat_map(|other| [*one, *other]));
        // In one dimension there is a single row.
        let rows = if self.signature.rank > 1 { count * count } else { 1 };
        let pairs: Vec<u64> = pairs.take(2 * rows as usize).collect();
        let case = |number| {
            let name = if number == 0 { "values".to_owned() } else { format!("values_{number}") };
            Case::new(name, self.of_rows(rows, 2)).with_inputs(vec![pairs.clone()])
        };
        // A type has only some of the functions; the number of cases is the same for every type.
        let has_function = self.schema.varied.is_some();
        let count = if has_function { 12 } else { self.attribute_lists().min(12) };
        (0..count).map(case).collect()
    }

    fn layouts(&self) -> Vec<Case> {
        let last = self.last();
        let of = |input, output| self.strided(two(3, 7), [input, output], &[last]);
        let (padded, reversed) = (Some(two(40, 3)), Some(two(1, 3)));
        vec![
            Case::new("strides_padded_input", of(padded, None)),
            Case::new("strides_padded_output", of(None, padded)),
            Case::new("strides_reversed_input", of(reversed, None)),
            Case::new("strides_reversed_output", of(None, reversed)),
            Case::new("strides_repeated_row", of(Some(two(0, 1)), None)),
            Case::new("strides_repeated_element", of(Some(two(1, 0)), None)),
        ]
    }

    fn buffers(&self) -> Vec<Case> {
        let case = |name: &'static str| Case::new(name, self.of_rows(5, 12));
        let (sizes, axes) = (two(5, 12), [self.last()]);
        let owned = self.operator(self.own(&sizes), &axes, |field, data_type, sizes| {
            let mut tensor = TensorDesc::packed(data_type, sizes);
            if field.kind == FieldKind::Input {
                tensor.flags = TensorFlags::OWNED_BY_DML;
            }
            tensor
        });
        vec![
            case("base_offset_16").at_output_offset(16),
            case("base_offset_272").at_input_offset(272),
            case("storage_only").storage_only(),
            Case::new("owned", owned.clone()),
            Case::new("owned_storage_only", owned).storage_only(),
        ]
    }

    /// The output in place of the input, if the operator allows that.
    fn in_place(&self) -> Vec<Case> {
        if !self.schema.in_place {
            return vec![];
        }
        let strided = |strides| self.strided(two(3, 7), [strides, strides], &[self.last()]);
        vec![
            Case::new("in_place", self.of_rows(5, 12)).in_place([0]),
            Case::new("in_place_padded", strided(Some(two(40, 3)))).in_place([0]),
            Case::new("in_place_reversed", strided(Some(two(1, 3)))).in_place([0]),
        ]
    }

    /// Along one axis, several, all, or none, where each element is a row.
    fn along_axes(&self) -> Vec<Case> {
        if matches!(self.named(), Named::None | Named::Pictures | Named::Whole) {
            return vec![];
        }
        let last = self.last();
        let small = |axes: &[u32]| self.packed(SMALL, axes);
        let strided = |strides, axes: &[u32]| self.strided(SMALL, [Some(strides), None], axes);
        let mut cases = vec![
            Case::new("axis_first", small(&[0])),
            Case::new("axis_middle", small(&[last / 2])),
            Case::new("axis_last", small(&[last])),
            Case::new("axis_first_padded", strided(PADDED, &[0])),
        ];
        if self.named() == Named::Several {
            let all: Vec<u32> = (0..=last).collect();
            let some: Vec<u32> = (0..=last).step_by(2).collect();
            cases.extend([
                Case::new("axes_none", small(&[])),
                Case::new("axes_all", small(&all)),
                Case::new("axes_some", small(&some)),
                Case::new("axes_some_padded", strided(PADDED, &some)),
                Case::new("axes_some_reversed", strided(REVERSED, &some)),
            ]);
        }
        let shapes = shapes(self.signature.rank);
        let shapes = shapes.into_iter().flat_map(|(name, sizes)| {
            let of = |at: &'static str, axis| {
                Case::new(format!("{name}_axis_{at}"), self.packed(sizes, &[axis]))
            };
            [of("first", 0), of("last", last)]
        });
        cases.extend(shapes);
        cases
    }

    pub(crate) fn random(&self, random: &mut Random) -> Case {
        let mut sizes = random.sizes(self.signature.rank);
        let axes = match self.named() {
            Named::Several => (0..=self.last()).filter(|_| random.one_in(2)).collect(),
            Named::One => vec![random.below(self.last() + 1)],
            Named::Pictures | Named::Whole | Named::NoRows => vec![],
            Named::None => {
                sizes.iter_mut().rev().skip(2).for_each(|size| *size = 1);
                vec![self.last()]
            }
        };
        let number = random.below(1 << 16) as usize;
        let operator = self.operator(&sizes, &axes, |field, data_type, sizes| match field.kind {
            FieldKind::Input => random.input_tensor(data_type, sizes),
            _ => random.tensor(data_type, sizes),
        });
        let operator = self.with_attributes(&operator, number);
        Case::new("random", operator).with_random_buffers(random)
    }

    /// Whether an input may be broadcast.
    fn is_repeated(&self, field: &FieldSchema) -> bool {
        field.kind == FieldKind::Input && field.name != "InputTensor"
    }

    /// The operator with an input of size 3 where the other tensors have size 2.
    fn with_third_element(&self, field: &FieldSchema) -> AbstractOperator {
        let operator = self.packed([2; 8], &[self.last()]);
        let mut sizes = vec![1; self.signature.rank];
        sizes[0] = 3;
        let fields = self.schema.fields.iter().zip(operator.fields());
        let fields = fields.map(|(it, value)| match it.name == field.name {
            true => {
                let data_type = self.make(field).data_type;
                FieldValue::Tensor(Some(TensorDesc::packed(data_type, &sizes)))
            }
            false => value.clone(),
        });
        AbstractOperator::new(self.schema, fields.collect()).expect("the fields of the row")
    }

    pub(crate) fn broken_rules(&self) -> Vec<BrokenRule> {
        let rank = self.last() + 1;
        let rule = |name: &'static str, operator, field: String| BrokenRule {
            name: name.into(),
            operator,
            field: field.into(),
        };
        let sizes = [2; 8];
        let mut rules = vec![];
        match self.named() {
            Named::Several => {
                let beyond = self.packed(sizes, &[rank]);
                let twice = self.packed(sizes, &[0, 0]);
                rules.push(rule("rule_axis_is_no_dimension", beyond, "Axes[0]".to_owned()));
                rules.push(rule("rule_axis_stands_twice", twice, "Axes[1]".to_owned()));
            }
            Named::One => {
                let beyond = self.packed(sizes, &[rank]);
                rules.push(rule("rule_axis_is_no_dimension", beyond, "Axis".to_owned()));
            }
            Named::None if rank > 2 => {
                let first = "InputTensor.Sizes[0]".to_owned();
                let third = self.packed(sizes, &[]);
                rules.push(rule("rule_more_than_two_dimensions", third, first));
            }
            _ => {}
        }
        if let Some(field) = self.schema.fields.iter().find(|field| self.is_repeated(field)) {
            let rule_case = self.with_third_element(field);
            rules.push(rule(
                "rule_sizes_are_not_repeated",
                rule_case,
                format!("{}.Sizes[0]", field.name),
            ));
        }
        if let Some(field) = self.schema.fields.iter().find(|field| self.is_reduced(field)) {
            let last = self.last();
            let longer = self.operator(self.own(&sizes), &[last], |field, data_type, sizes| {
                let mut sizes = sizes.to_vec();
                if self.is_reduced(field) {
                    sizes[last as usize] = 2;
                }
                TensorDesc::packed(data_type, &sizes)
            });
            let path = format!("{}.Sizes[{last}]", field.name);
            rules.push(rule("rule_output_is_too_long", longer, path));
        }
        rules
    }
}
