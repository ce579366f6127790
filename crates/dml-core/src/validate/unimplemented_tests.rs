//! Refusals of operators that are not implemented.

use crate::error::{Error, HResult};
use crate::operators::{ELEMENT_WISE_ABS, find, implemented_summary};
use crate::schema::operator::{AbstractOperator, FieldValue};
use crate::schema::{FieldType, OperatorSchema, REDUCE_FUNCTION};
use crate::tensor::TensorDesc;
use crate::types::{DataType, FeatureLevel};
use crate::validate::validate;

/// The error for the operator `name` at `level`, with the same packed tensor in every field (in
/// arrays: two), and `number` in every `UINT`.
fn error(name: &str, number: u32, tensor: (DataType, usize), level: FeatureLevel) -> Error {
    error_of(find(name).unwrap(), number, tensor, level)
}

fn error_of(
    schema: &'static OperatorSchema,
    number: u32,
    tensor: (DataType, usize),
    level: FeatureLevel,
) -> Error {
    let desc = TensorDesc::packed(tensor.0, &vec![1; tensor.1]);
    let value = |field_type| match field_type {
        FieldType::Tensor => FieldValue::Tensor(Some(desc.clone())),
        FieldType::TensorArray => FieldValue::TensorArray(vec![desc.clone(), desc.clone()]),
        FieldType::Uint => FieldValue::Uint(number),
        other => other.empty_value(),
    };
    let fields = schema.fields.iter().map(|field| value(field.field_type)).collect();
    let operator = AbstractOperator::new(schema, fields).unwrap();
    validate(&operator, level).unwrap_err()
}

#[track_caller]
fn refused(name: &str, tensor: (DataType, usize), level: FeatureLevel, message: &str) {
    assert_eq!(error(name, 0, tensor, level).to_string(), message);
}

#[test]
fn what_its_level_accepts_is_not_implemented() {
    let row = OperatorSchema { implemented: false, varied: None, ..ELEMENT_WISE_ABS };
    let schema: &'static OperatorSchema = Box::leak(Box::new(row));
    let name = schema.name;
    let error = error_of(schema, 0, (DataType::Float32, 4), FeatureLevel::V6_4);
    let implemented = implemented_summary();
    assert!(
        implemented.ends_with(" of 177, listed by `dml support --implemented`"),
        "{implemented}"
    );
    assert_eq!(
        error.to_string(),
        format!("{name}: not implemented by this runtime (implemented: {implemented})")
    );
    assert_eq!(error.hresult(), HResult::E_NOTIMPL);
}

#[test]
fn the_level_s_refusal_comes_first() {
    refused(
        "CAST",
        (DataType::Int64, 4),
        FeatureLevel::V2_1,
        "CAST: InputTensor.DataType: INT64 needs feature level 3_0; this device was created at \
         2_1 (allowed: FLOAT32, FLOAT16, UINT16, UINT8, INT16, INT8)",
    );
    refused(
        "ACTIVATION_GELU",
        (DataType::Float32, 4),
        FeatureLevel::V5_0,
        "ACTIVATION_GELU: needs feature level 5_1; this device was created at 5_0",
    );
    // Its page and the history of levels disagree (docs/deviations.md); it has two inputs here.
    let join = error("JOIN", 2, (DataType::Float32, 8), FeatureLevel::V3_0);
    assert_eq!(
        join.to_string(),
        "JOIN: InputTensors[0].DimensionCount: 8 needs feature level 3_1; this device was created \
         at 3_0 (allowed: 4 to 5)"
    );
}

#[test]
fn what_no_level_accepts_comes_before_the_level_of_the_operator() {
    refused(
        "ADAM_OPTIMIZER",
        (DataType::Int8, 4),
        FeatureLevel::V1_0,
        "ADAM_OPTIMIZER: needs feature level 3_0; InputParametersTensor.DataType: INT8 is \
         not supported at any feature level; \
         this device was created at 1_0",
    );
    refused(
        "ACTIVATION_GELU",
        (DataType::Uint4, 4),
        FeatureLevel::V1_0,
        "ACTIVATION_GELU: needs feature level 5_1; InputTensor.DataType: UINT4 is \
         not supported at any feature level; \
         this device was created at 1_0",
    );
}

#[test]
fn the_function_of_a_reduction_decides() {
    let reduce = |function, data_type| {
        let number = REDUCE_FUNCTION.value(function).unwrap();
        error("REDUCE", number, (data_type, 4), FeatureLevel::V4_1).to_string()
    };
    let never = "REDUCE: InputTensor.DataType: INT8 is not supported at any feature level";
    assert!(reduce("AVERAGE", DataType::Int8).starts_with(never));
    let needs = "REDUCE: InputTensor.DataType: INT64 needs feature level 5_0";
    assert!(reduce("SUM", DataType::Int64).starts_with(needs));
    let of_output = "REDUCE: OutputTensor.DataType: INT8 ";
    assert!(reduce("ARGMAX", DataType::Int8).starts_with(of_output));
    let schema = find("REDUCE").unwrap();
    assert_eq!(schema.tables_where(12), schema.tables, "no function has this number");
}

#[test]
fn a_tensor_may_be_left_out_from_a_level_on() {
    let desc = |data_type| FieldValue::Tensor(Some(TensorDesc::packed(data_type, &[1])));
    let fields = vec![
        desc(DataType::Float32),
        desc(DataType::Float32),
        FieldValue::Tensor(None),
        desc(DataType::Int8),
    ];
    let schema = find("ELEMENT_WISE_QUANTIZE_LINEAR").unwrap();
    let operator = AbstractOperator::new(schema, fields).unwrap();
    let message = |level| validate(&operator, level).unwrap_err().to_string();
    assert_eq!(
        message(FeatureLevel::V6_1),
        "ELEMENT_WISE_QUANTIZE_LINEAR: ZeroPointTensor: null needs feature level 6_2; \
         this device was created at 6_1 (allowed: a tensor)"
    );
    assert!(validate(&operator, FeatureLevel::V6_2).is_ok());
}
