//! Tensors: both of their forms, and their mistakes.

use super::*;

#[test]
fn a_tensor_has_defaults_and_two_forms() {
    let tensor = |json: Value| match with("BiasTensor", json) {
        Ok(FieldValue::Tensor(Some(desc))) => desc,
        other => panic!("{other:?}"),
    };
    let fields = json!({ "DataType": "FLOAT32", "Sizes": [2, 3] });
    let packed = TensorDesc::packed(DataType::Float32, &[2, 3]);
    assert_eq!(tensor(fields.clone()), packed);
    assert_eq!(tensor(json!({ "Desc": fields })), packed);
    assert_eq!(tensor(json!({ "Type": "DML_TENSOR_TYPE_BUFFER", "Desc": fields })), packed);
    let full = json!({
        "Type": "BUFFER", "DataType": "DML_TENSOR_DATA_TYPE_FLOAT32", "DimensionCount": 2,
        "Flags": "DML_TENSOR_FLAG_OWNED_BY_DML", "Sizes": [2, 3], "Strides": [4, 1],
        "TotalTensorSizeInBytes": 64, "GuaranteedBaseOffsetAlignment": 32
    });
    let mut expected = packed.clone().with_strides(&[4, 1]).with_total_size(64);
    expected.flags = TensorFlags::OWNED_BY_DML;
    expected.guaranteed_base_offset_alignment = 32;
    assert_eq!(tensor(full), expected);
    let empty = json!({
        "DataType": "FLOAT32", "Sizes": [2, 3], "Strides": [], "Flags": ["NONE"],
        "TotalTensorSizeInBytes": 0
    });
    assert_eq!(tensor(empty), packed);
}

#[test]
fn a_tensor_s_mistakes_are_named() {
    let fields = json!({ "DataType": "FLOAT32", "Sizes": [2, 3] });
    let refuses = |name: &str, value: Value, message: &str| {
        let mut tensor = fields.clone();
        tensor[name] = value;
        refuses("BiasTensor", tensor, message);
    };
    let message = "BiasTensor.DimensionCount: 3 is not the number of Sizes; accepted: 2";
    refuses("DimensionCount", json!(3), message);
    let message = "BiasTensor.Sizes[1]: -3 is out of range; accepted: 0 to 4294967295";
    refuses("Sizes", json!([2, -3]), message);
    refuses("Sizes", Value::Null, "BiasTensor.Sizes: null is missing; accepted: an array");
    refuses(
        "Type",
        json!("IMAGE"),
        "BiasTensor.Type: \"IMAGE\" is not a type of tensor; accepted: BUFFER",
    );
    refuses(
        "Flags",
        json!("OWNED"),
        "BiasTensor.Flags: \"OWNED\" is not a flag; accepted: NONE, OWNED_BY_DML",
    );
    let all = crate::DataTypeSet::ALL;
    let message = format!("BiasTensor.DataType: \"UNKNOWN\" is not a data type; accepted: {all}");
    refuses("DataType", json!("UNKNOWN"), &message);
}
