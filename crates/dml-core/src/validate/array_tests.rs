//! Operators with arrays of tensors.

use super::*;
use crate::operators::{JOIN, SPLIT};
use crate::plan::BindingRequirement;
use crate::schema::operator::FieldType;
use crate::schema::{OperatorSchema, TensorPath};
use crate::types::DataType;

/// The row, marked as implemented.
fn implemented(row: &OperatorSchema) -> &'static OperatorSchema {
    Box::leak(Box::new(OperatorSchema { implemented: true, rule: None, varied: None, ..*row }))
}

/// An operator of `schema` with these arrays and counts, and `one` in each field of a single tensor.
fn operator(
    schema: &'static OperatorSchema,
    arrays: &[TensorDesc],
    count: u32,
    one: &TensorDesc,
) -> AbstractOperator {
    let counts: Vec<&str> = schema.fields.iter().filter_map(|field| field.count).collect();
    let value = |field: &FieldSchema| match field.field_type {
        FieldType::Tensor => FieldValue::Tensor(Some(one.clone())),
        FieldType::TensorArray => FieldValue::TensorArray(arrays.to_vec()),
        FieldType::Uint if counts.contains(&field.name) => FieldValue::Uint(count),
        FieldType::Uint => FieldValue::Uint(0),
        other => panic!("{other:?}"),
    };
    AbstractOperator::new(schema, schema.fields.iter().map(value).collect()).unwrap()
}

fn join(inputs: &[TensorDesc], count: u32) -> AbstractOperator {
    let schema = implemented(&JOIN);
    operator(schema, inputs, count, &packed(&[4, 3]))
}

fn split(outputs: &[TensorDesc]) -> AbstractOperator {
    let schema = implemented(&SPLIT);
    operator(schema, outputs, u32::try_from(outputs.len()).unwrap(), &packed(&[4, 3]))
}

fn packed(sizes: &[u32]) -> TensorDesc {
    TensorDesc::packed(DataType::Float32, sizes)
}

#[track_caller]
fn refused(operator: &AbstractOperator, level: FeatureLevel, message: &str) {
    assert_eq!(validate(operator, level).unwrap_err().to_string(), message);
}

#[test]
fn an_array_is_as_many_bindings_as_it_has_elements() {
    let operator = join(&[packed(&[1, 3]), packed(&[2, 3]), packed(&[1, 3])], 3);
    let validated = validate(&operator, FeatureLevel::HIGHEST).unwrap();
    let names = |kind| {
        let paths = validated.tensors(kind).map(|(path, _)| path.to_string());
        let paths: Vec<String> = paths.collect();
        assert!(operator.bindings(kind).map(|(path, _)| path.to_string()).eq(paths.clone()));
        paths
    };
    let inputs = ["InputTensors[0]", "InputTensors[1]", "InputTensors[2]"];
    assert_eq!(names(FieldKind::Input), inputs);
    assert_eq!(names(FieldKind::Output), ["OutputTensor"]);
    let sizes = |at: usize| validated.tensors(FieldKind::Input).nth(at).unwrap().1.unwrap().sizes();
    assert_eq!([sizes(0), sizes(1), sizes(2)], [[1, 3], [2, 3], [1, 3]]);
    assert_eq!(validated.tensor_array("InputTensors").unwrap()[1].sizes(), [2, 3]);
    for name in ["OutputTensor", "InputCount", "Tensors"] {
        assert!(matches!(validated.tensor_array(name), Err(Error::Internal { .. })), "{name}");
    }
    assert!(validated.tensor("InputTensors").is_err());
}

#[test]
fn what_binding_an_element_needs_is_named_by_its_path() {
    let validated = validate(&split(&[packed(&[1, 3]), packed(&[3, 3])]), FeatureLevel::HIGHEST);
    let validated = validated.unwrap();
    let requirement = |(path, layout): (TensorPath, Option<&TensorLayout>)| {
        let requirement = BindingRequirement::of(path.name(), layout.unwrap());
        (requirement.field.into_owned(), requirement.size)
    };
    let found: Vec<_> = validated.tensors(FieldKind::Output).map(requirement).collect();
    assert_eq!(found, [("OutputTensors[0]".to_owned(), 12), ("OutputTensors[1]".to_owned(), 36)]);
}

#[test]
fn each_element_keeps_the_rules_of_tensors() {
    refused(
        &join(&[packed(&[1, 3]), packed(&[3, 0])], 2),
        FeatureLevel::HIGHEST,
        "JOIN: InputTensors[1].Sizes[1]: 0 is not a size (tensors cannot be empty); \
         accepted: 1 to 4294967295",
    );
}

#[test]
fn no_output_of_an_array_overlaps_itself_nor_is_owned() {
    let overlapping = packed(&[3, 3]).with_strides(&[2, 1]);
    let operator = split(&[packed(&[1, 3]), overlapping.clone()]);
    let error = validate(&operator, FeatureLevel::HIGHEST).unwrap_err().to_string();
    let start = "SPLIT: OutputTensors[1].Strides: [2, 1] with Sizes [3, 3] let";
    assert!(error.starts_with(start), "{error}");
    assert!(validate(&join(&[packed(&[1, 3]), overlapping], 2), FeatureLevel::HIGHEST).is_ok());
    let owned = TensorDesc { flags: TensorFlags::OWNED_BY_DML, ..packed(&[1, 3]) };
    assert!(validate(&join(std::slice::from_ref(&owned), 1), FeatureLevel::HIGHEST).is_ok());
    refused(
        &split(&[owned]),
        FeatureLevel::HIGHEST,
        "SPLIT: OutputTensors[0].Flags: OWNED_BY_DML is set on an output; \
         accepted: NONE; only inputs can be owned",
    );
}

#[test]
fn the_element_is_named_that_needs_the_highest_level() {
    let schema = implemented(&JOIN);
    let rank = |rank: usize| packed(&vec![1; rank]);
    let at = |inputs: &[TensorDesc]| operator(schema, inputs, 2, &rank(4));
    assert!(validate(&at(&[rank(4), rank(4)]), FeatureLevel::V3_0).is_ok());
    refused(
        &at(&[rank(4), rank(8)]),
        FeatureLevel::V3_0,
        "JOIN: InputTensors[1].DimensionCount: 8 needs feature level 3_1; this device was created \
         at 3_0 (allowed: 4 to 5)",
    );
    let never = TensorDesc::packed(DataType::Uint4, &[1; 4]);
    refused(
        &at(&[rank(8), never]),
        FeatureLevel::V3_0,
        "JOIN: InputTensors[1].DataType: UINT4 is not supported at any feature level; this device was \
         created at 3_0 (allowed: FLOAT32, FLOAT16, UINT32, UINT16, UINT8, INT32, INT16, INT8)",
    );
}

#[test]
fn an_array_has_as_many_tensors_as_its_count_says_and_at_least_one() {
    refused(
        &join(&[packed(&[1, 3])], 2),
        FeatureLevel::HIGHEST,
        "JOIN: InputTensors: 1 elements, not as many as InputCount says; accepted: 2",
    );
    refused(
        &join(&[], 0),
        FeatureLevel::HIGHEST,
        "JOIN: InputTensors: 0 elements are too few; accepted: at least 1",
    );
}
