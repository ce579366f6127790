mod graphs;
mod tensors;

use serde_json::json;

use super::*;
use crate::operators::{
    ActivationReluDesc, DiagonalMatrixDesc, GemmDesc, RandomGeneratorDesc, TileDesc,
};
use crate::schema::{FieldKind, TENSOR_DATA_TYPE};
use crate::tensor::{TensorDesc, TensorFlags};
use crate::types::ScalarUnion;
use crate::types::enums::{MatrixTransform, RandomGeneratorType};

const fn attribute(name: &'static str, field_type: FieldType) -> FieldSchema {
    FieldSchema::new(name, FieldKind::Attribute, field_type)
}

/// Has a field of every type, as no operator has.
static EVERYTHING: OperatorSchema = OperatorSchema {
    fields: &[
        FieldSchema::new("InputTensors", FieldKind::Input, FieldType::TensorArray),
        FieldSchema::new("BiasTensor", FieldKind::Input, FieldType::Tensor).optional(),
        attribute("FusedActivation", FieldType::OperatorDesc).optional(),
        attribute("ActivationDescs", FieldType::OperatorDescArray),
        attribute("ValueDataType", FieldType::Uint).with_enumeration(&TENSOR_DATA_TYPE),
        attribute("Value", FieldType::ScalarUnion).with_scalar_type("ValueDataType"),
        attribute("Axis", FieldType::Uint),
        attribute("Seed", FieldType::Uint64),
        attribute("Offset", FieldType::Int),
        attribute("Epsilon", FieldType::Float),
        attribute("Strides", FieldType::UintArray),
        attribute("Starts", FieldType::IntArray).optional(),
        attribute("Scales", FieldType::FloatArray),
        attribute("ScaleBias", FieldType::ScaleBias).optional(),
        attribute("Size", FieldType::Size2d),
        attribute("Normalize", FieldType::Bool),
    ],
    ..OperatorSchema::made_up("EVERYTHING")
};

fn everything() -> Value {
    json!({
        "InputTensors": [{ "DataType": "UINT8", "Sizes": [1] }],
        "FusedActivation": { "Type": "DIAGONAL_MATRIX", "Desc": matrix() },
        "ActivationDescs": [{ "Type": "DIAGONAL_MATRIX", "Desc": matrix() }],
        "ValueDataType": "DML_TENSOR_DATA_TYPE_FLOAT16",
        "Value": 1.0,
        "Axis": 4_294_967_295_u32,
        "Seed": u64::MAX,
        "Offset": i32::MIN,
        "Epsilon": 0.1,
        "Strides": [1, 2],
        "Scales": [1, "inf"],
        "ScaleBias": { "Scale": 2, "Bias": -0.5 },
        "Size": { "Width": 3, "Height": 4 },
        "Normalize": true
    })
}

fn matrix() -> Value {
    json!({ "OutputTensor": { "DataType": "INT64", "Sizes": [3, 4] }, "Offset": 1, "Value": 2 })
}

fn decode(desc: &Value) -> Result<Vec<FieldValue>> {
    let object = desc.as_object().unwrap();
    OperatorFields { schema: &EVERYTHING, path: "", object, beside: Vec::new() }.fields()
}

/// The field of [`everything`] called `name`, given as `value`.
fn with(name: &str, value: Value) -> Result<FieldValue> {
    let mut desc = everything();
    desc[name] = value;
    let index = EVERYTHING.fields.iter().position(|field| field.name == name).unwrap();
    Ok(decode(&desc)?.remove(index))
}

#[track_caller]
fn refuses(name: &str, value: Value, message: &str) {
    assert_eq!(with(name, value).unwrap_err().to_string(), message);
}

fn diagonal(change: impl FnOnce(&mut Value)) -> std::result::Result<AbstractOperator, String> {
    let mut json = json!({ "type": "DML_OPERATOR_DIAGONAL_MATRIX", "desc": matrix() });
    change(&mut json);
    operator(&json).map_err(|error| error.to_string())
}

fn expected() -> AbstractOperator {
    let output_tensor = TensorDesc::packed(DataType::Int64, &[3, 4]);
    DiagonalMatrixDesc { output_tensor, offset: 1, value: 2.0 }.into()
}

#[test]
fn an_operator_is_named_in_full_or_short_and_its_desc_may_be_inline() {
    assert_eq!(diagonal(|_| ()), Ok(expected()));
    assert_eq!(diagonal(|json| json["type"] = json!("DIAGONAL_MATRIX")), Ok(expected()));
    assert_eq!(diagonal(|json| json["dmlCompileType"] = json!("DmlCompileGraph")), Ok(expected()));
    let upper = json!({ "Type": "DIAGONAL_MATRIX", "Desc": matrix() });
    assert_eq!(operator(&upper), Ok(expected()));
    let mut inline = matrix();
    inline["type"] = json!("DIAGONAL_MATRIX");
    assert_eq!(operator(&inline), Ok(expected()));
}

#[test]
fn an_unknown_operator_is_refused() {
    for json in [json!({ "type": "UNKNOWN" }), json!({ "desc": {} }), json!({ "type": 93 })] {
        let message = operator(&json).unwrap_err().to_string();
        assert!(message.starts_with("operator: type: "), "{message}");
        assert!(message.contains("is not a known operator; accepted: "), "{message}");
    }
    let message = operator(&json!({ "type": "SOFTMX" })).unwrap_err().to_string();
    let suggested = "\"SOFTMX\" is not a known operator (did you mean ACTIVATION_SOFTMAX, ";
    assert!(message.contains(suggested), "{message}");
    let message = operator(&json!([])).unwrap_err().to_string();
    assert_eq!(message, "operator: json: [] is not an object; accepted: an object");
}

/// A FLOAT32 tensor of 3 x 3 elements.
fn tensor() -> Value {
    json!({ "DataType": "FLOAT32", "Sizes": [1, 1, 3, 3] })
}

#[test]
fn an_operator_with_enumerations_and_another_one_inside_is_read() {
    let relu =
        json!({ "Type": "ACTIVATION_RELU", "InputTensor": tensor(), "OutputTensor": tensor() });
    let mut json = json!({
        "type": "DML_OPERATOR_GEMM",
        "desc": {
            "ATensor": tensor(), "BTensor": tensor(), "OutputTensor": tensor(),
            "TransA": "DML_MATRIX_TRANSFORM_NONE", "TransB": "transpose", "Alpha": 1.0, "Beta": 0,
            "FusedActivation": relu
        }
    });
    let gemm = operator(&json).unwrap();
    let desc = GemmDesc {
        a_tensor: TensorDesc::packed(DataType::Float32, &[1, 1, 3, 3]),
        b_tensor: TensorDesc::packed(DataType::Float32, &[1, 1, 3, 3]),
        c_tensor: None,
        output_tensor: TensorDesc::packed(DataType::Float32, &[1, 1, 3, 3]),
        trans_a: MatrixTransform::None,
        trans_b: MatrixTransform::Transpose,
        alpha: 1.0,
        beta: 0.0,
        fused_activation: Some(
            ActivationReluDesc {
                input_tensor: TensorDesc::packed(DataType::Float32, &[1, 1, 3, 3]),
                output_tensor: TensorDesc::packed(DataType::Float32, &[1, 1, 3, 3]),
            }
            .into(),
        ),
    };
    assert_eq!(gemm, desc.into());
    json["desc"]["TransB"] = json!("SIDEWAYS");
    let message = operator(&json).unwrap_err().to_string();
    let problem = "is not a name of DML_MATRIX_TRANSFORM; accepted: NONE, TRANSPOSE";
    assert_eq!(message, format!("GEMM: TransB: \"SIDEWAYS\" {problem}"));
}

#[test]
fn a_count_is_a_field_beside_its_array() {
    let desc = json!({
        "InputTensor": tensor(), "OutputTensor": tensor(), "RepeatsCount": 4, "Repeats": [1, 1, 1, 1]
    });
    let tile = TileDesc {
        input_tensor: TensorDesc::packed(DataType::Float32, &[1, 1, 3, 3]),
        output_tensor: TensorDesc::packed(DataType::Float32, &[1, 1, 3, 3]),
        repeats: vec![1; 4],
    };
    assert_eq!(operator(&json!({ "type": "TILE", "desc": desc })), Ok(tile.into()));
}

#[test]
fn a_field_called_type_stands_beside_the_operator_s() {
    let tensor = json!({ "DataType": "UINT32", "Sizes": [1, 1, 1, 6] });
    let json = json!({
        "type": "RANDOM_GENERATOR", "InputStateTensor": tensor, "OutputTensor": tensor,
        "Type": "DML_RANDOM_GENERATOR_TYPE_PHILOX_4X32_10"
    });
    let desc = RandomGeneratorDesc {
        input_state_tensor: TensorDesc::packed(DataType::Uint32, &[1, 1, 1, 6]),
        output_tensor: TensorDesc::packed(DataType::Uint32, &[1, 1, 1, 6]),
        output_state_tensor: None,
        r#type: RandomGeneratorType::Philox4x3210,
    };
    assert_eq!(operator(&json), Ok(desc.into()));
}

#[test]
fn unknown_fields_are_refused_wherever_they_stand() {
    let problem = "is given for an unknown field";
    assert_eq!(
        diagonal(|json| json["desc"]["Offsets"] = json!(3)).unwrap_err(),
        format!(
            "DIAGONAL_MATRIX: Offsets: 3 {problem} (did you mean Offset?); accepted: OutputTensor, \
             Offset, Value"
        )
    );
    assert_eq!(
        diagonal(|json| json["descr"] = json!({})).unwrap_err(),
        format!(
            "operator: descr: {{}} {problem} (did you mean desc?); accepted: dmlCompileType, type, desc"
        )
    );
    assert_eq!(
        diagonal(|json| json["dmlCompileType"] = json!("Fast")).unwrap_err(),
        "DIAGONAL_MATRIX: dmlCompileType: \"Fast\" is unknown; \
         accepted: DmlCompileOp, DmlCompileGraph"
    );
    let message = diagonal(|json| json["desc"]["OutputTensor"]["Size"] = json!([1])).unwrap_err();
    assert!(message.starts_with("DIAGONAL_MATRIX: OutputTensor.Size: [1] is given"), "{message}");
    refuses(
        "ScaleBias",
        json!({ "Scale": 1, "Bias": 1, "Shift": 1 }),
        &format!("ScaleBias.Shift: 1 {problem}; accepted: Scale, Bias"),
    );
}

#[test]
fn missing_fields_are_refused_unless_they_are_optional() {
    let removed = diagonal(|json| json["desc"] = json!({ "Offset": 1, "Value": 2 }));
    let message = "DIAGONAL_MATRIX: OutputTensor: null is missing; accepted: a value";
    assert_eq!(removed.unwrap_err(), message);
    refuses("Axis", Value::Null, "Axis: null is missing; accepted: a value");
    assert_eq!(with("FusedActivation", Value::Null), Ok(FieldValue::OperatorDesc(None)));
    assert_eq!(with("BiasTensor", Value::Null), Ok(FieldValue::Tensor(None)));
    assert_eq!(with("ScaleBias", Value::Null), Ok(FieldValue::ScaleBias(None)));
    assert_eq!(with("Starts", Value::Null), Ok(FieldValue::IntArray(Vec::new())));
}

#[test]
fn a_nested_operator_leaves_out_its_tensors() {
    for desc in [json!({ "Offset": 1, "Value": 2 }), {
        json!({ "OutputTensor": null, "Offset": 1, "Value": 2 })
    }] {
        let nested = json!({ "Type": "DIAGONAL_MATRIX", "Desc": desc });
        let found = with("FusedActivation", nested.clone()).unwrap();
        let FieldValue::OperatorDesc(Some(found)) = found else { panic!("{found:?}") };
        assert_eq!(found.field("OutputTensor"), Some(&FieldValue::Tensor(None)));
        assert!(with("ActivationDescs", json!([nested])).is_ok());
    }
    let without_offset = json!([{ "Type": "DIAGONAL_MATRIX", "Desc": { "Value": 2 } }]);
    refuses(
        "ActivationDescs",
        without_offset,
        "ActivationDescs[0].Offset: null is missing; accepted: a value",
    );
}

#[test]
fn every_type_of_field_is_decoded() {
    let fields = decode(&everything()).unwrap();
    let expected = [
        FieldValue::TensorArray(vec![TensorDesc::packed(DataType::Uint8, &[1])]),
        FieldValue::Tensor(None),
        FieldValue::OperatorDesc(Some(Box::new(expected()))),
        FieldValue::OperatorDescArray(vec![expected()]),
        FieldValue::Uint(2),
        FieldValue::ScalarUnion(ScalarUnion::from_bits(0x3c00)),
        FieldValue::Uint(u32::MAX),
        FieldValue::Uint64(u64::MAX),
        FieldValue::Int(i32::MIN),
        FieldValue::Float(0.1),
        FieldValue::UintArray(vec![1, 2]),
        FieldValue::IntArray(vec![]),
        FieldValue::FloatArray(vec![1.0, f32::INFINITY]),
        FieldValue::ScaleBias(Some([2.0, -0.5])),
        FieldValue::Size2d([3, 4]),
        FieldValue::Bool(true),
    ];
    assert_eq!(fields, expected);
    assert!(AbstractOperator::new(&EVERYTHING, fields).is_ok());
}

#[test]
fn every_type_of_field_refuses_other_values() {
    for field in EVERYTHING.fields {
        for value in [json!("other"), json!([{}]), json!({ "a": 1 }), json!(-0.5)] {
            let result = with(field.name, value.clone());
            let fits = matches!(field.field_type, FieldType::Float | FieldType::ScalarUnion);
            assert!(result.is_err() || (fits && value == json!(-0.5)), "{}: {value}", field.name);
        }
    }
}

#[test]
fn integers_stay_in_range() {
    refuses("Axis", json!(-1), "Axis: -1 is out of range; accepted: 0 to 4294967295");
    let range = "-2147483648 to 2147483647";
    let message = format!("Offset: 2147483648 is out of range; accepted: {range}");
    refuses("Offset", json!(2_147_483_648_u32), &message);
    refuses("Offset", json!(1.5), &format!("Offset: 1.5 is not an integer; accepted: {range}"));
    let message = "Strides[1]: \"2\" is not an integer; accepted: 0 to 4294967295";
    refuses("Strides", json!([1, "2"]), message);
}

#[test]
fn floats_are_numbers_or_named() {
    let float = |value| match with("Epsilon", value) {
        Ok(FieldValue::Float(value)) => value,
        other => panic!("{other:?}"),
    };
    assert!(float(json!("nan")).is_nan() && float(json!("NaN")).is_nan());
    assert_eq!((float(json!("inf")), float(json!("-inf"))), (f32::INFINITY, f32::NEG_INFINITY));
    assert_eq!(float(json!(16_777_217)), 16_777_216.0);
    let message = with("Epsilon", json!(1e39)).unwrap_err().to_string();
    assert!(
        message.starts_with("Epsilon: 1e+39 is out of range; accepted: -3.4028235e38 to "),
        "{message}"
    );
    assert!(with("Epsilon", json!("infinity")).is_err());
}

#[test]
fn a_scalar_has_the_type_of_the_field_beside_it() {
    let scalar = |data_type: &str, value: Value| {
        let mut desc = everything();
        desc["ValueDataType"] = json!(data_type);
        desc["Value"] = value;
        match decode(&desc).map(|mut fields| fields.remove(5)) {
            Ok(FieldValue::ScalarUnion(scalar)) => Ok(scalar.to_bits()),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.to_string()),
        }
    };
    assert_eq!(scalar("INT8", json!(-2)), Ok(0xfe));
    assert_eq!(scalar("INT64", json!(i64::MIN)), Ok(1 << 63));
    assert_eq!(scalar("UINT64", json!(u64::MAX)), Ok(u64::MAX));
    assert_eq!(scalar("FLOAT32", json!(-2)), Ok(0xc000_0000));
    assert_eq!(scalar("FLOAT64", json!(0.1)), Ok(0.1f64.to_bits()));
    assert_eq!(scalar("FLOAT16", json!("-inf")), Ok(0xfc00));
    assert_eq!(scalar("FLOAT16", json!({ "UInt16": 15360 })), Ok(0x3c00));
    assert_eq!(scalar("INT32", json!({ "Int32": -1 })), Ok(0xffff_ffff));
    let message = "Value: 300 is out of range; accepted: 0 to 255";
    assert_eq!(scalar("UINT8", json!(300)), Err(message.to_owned()));
    let message = scalar("FLOAT16", json!(65520)).unwrap_err();
    assert!(
        message.starts_with("Value: 65520 is out of range; accepted: -6.5504e4 to"),
        "{message}"
    );
    assert!(scalar("INT32", json!({ "Int8": 1 })).is_err());
    assert!(scalar("INT32", json!({})).is_err());
    assert!(scalar("INT4", json!(1)).is_err());
    let message = scalar("BOOL", json!(1)).unwrap_err();
    let start =
        "ValueDataType: \"BOOL\" is not a name of DML_TENSOR_DATA_TYPE; accepted: FLOAT32, ";
    assert!(message.starts_with(start), "{message}");
}

#[test]
fn a_nested_operator_s_path_starts_outside() {
    let nested = json!({ "Type": "DIAGONAL_MATRIX", "Desc": { "OutputTensor": 1 } });
    let message = "FusedActivation.OutputTensor: 1 is not an object; accepted: an object";
    refuses("FusedActivation", nested, message);
    let message = with("FusedActivation", json!({ "Type": "RELU" })).unwrap_err().to_string();
    assert!(message.starts_with("FusedActivation.Type: \"RELU\" is not a known"), "{message}");
}

#[test]
fn long_values_are_shortened() {
    let message = with("Axis", json!("ä".repeat(100))).unwrap_err().to_string();
    assert!(message.starts_with(&format!("Axis: \"{}... is not an integer", "ä".repeat(59))));
}
