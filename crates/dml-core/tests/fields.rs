//! The generated rows against the members of DirectML's descriptors as data
//! (`data/directml_fields.json`), taken from the schema header that ONNX Runtime carries.
//!
//! A row of the data is `[name, members]`, and a member `name kind type`, with `?` after the type of a
//! member that may be left out. No code is shared with the generator: a mistake in either shows as a
//! difference.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use dml_core::operators::{OPERATORS, find};
use dml_core::schema::{FieldKind, FieldSchema, FieldType, OperatorSchema};
use dml_core::{AbstractOperator, FieldValue, ScalarUnion};

/// The members of each operator's struct.
fn data() -> BTreeMap<String, Vec<String>> {
    let rows: Vec<(String, Vec<String>)> =
        serde_json::from_str(include_str!("data/directml_fields.json")).unwrap();
    rows.into_iter().collect()
}

/// BOOL in DirectML.h, which that header's model has as `uint`.
const BOOLEANS: [&str; 13] = [
    "AlignRegionsToCorners",
    "Antialiased",
    "CoupleInputForget",
    "CrossChannel",
    "HasExclusiveProduct",
    "HasExclusiveSum",
    "IncludePadding",
    "LinearBeforeReset",
    "NormalizeVariance",
    "Spatial",
    "UseClipThreshold",
    "UseMean",
    "UseVariance",
];

/// A member as DirectML.h has it, where the data differ.
fn decided(operator: &str, member: &str) -> String {
    match (operator, member) {
        // The page and DirectML.h have the first name.
        (
            "MULTIHEAD_ATTENTION" | "MULTIHEAD_ATTENTION1",
            "AttentionBiasTensor input tensor-desc?",
        ) => "RelativePositionBiasTensor input tensor-desc?".to_owned(),
        // A FLOAT is passed by value.
        ("BATCH_NORMALIZATION_GRAD", "Epsilon attribute float?") => {
            "Epsilon attribute float".to_owned()
        }
        _ => match member.strip_suffix(" attribute uint") {
            Some(name) if BOOLEANS.contains(&name) => format!("{name} attribute bool"),
            _ => member.to_owned(),
        },
    }
}

/// A field of the schema as the data write it.
fn member(field: &FieldSchema) -> String {
    let kind = match field.kind {
        FieldKind::Input => "input",
        FieldKind::Output => "output",
        FieldKind::Attribute => "attribute",
    };
    let field_type = match field.field_type {
        FieldType::Tensor => "tensor-desc",
        FieldType::TensorArray => "tensor-desc-array",
        FieldType::OperatorDesc => "operator-desc",
        FieldType::OperatorDescArray => "operator-desc-array",
        FieldType::Uint => "uint",
        FieldType::Uint64 => "uint64",
        FieldType::Int => "int",
        FieldType::Float => "float",
        FieldType::UintArray => "uint-array",
        FieldType::IntArray => "int-array",
        FieldType::FloatArray => "float-array",
        FieldType::ScaleBias => "scale-bias",
        FieldType::Size2d => "size-2d",
        FieldType::ScalarUnion => "scalar-union",
        FieldType::Bool => "bool",
    };
    format!("{} {kind} {field_type}{}", field.name, if field.optional { "?" } else { "" })
}

#[test]
fn every_row_has_every_member_in_directml_s_order() {
    let data = data();
    assert_eq!(data.len(), OPERATORS.len());
    for schema in OPERATORS {
        let wanted: Vec<String> =
            data[schema.name].iter().map(|member| decided(schema.name, member)).collect();
        let found: Vec<String> = schema.fields.iter().map(member).collect();
        assert_eq!(found, wanted, "{}", schema.name);
    }
}

fn field(operator: &str, name: &str) -> &'static FieldSchema {
    let fields = find(operator).unwrap().fields;
    fields.iter().find(|field| field.name == name).unwrap()
}

#[test]
fn arrays_are_counted_by_their_own_field() {
    let count = |operator, name| field(operator, name).count;
    assert_eq!(count("CONVOLUTION", "OutputPadding"), Some("DimensionCount"));
    assert_eq!(count("RESAMPLE", "Scales"), Some("ScaleCount"));
    assert_eq!(count("VALUE_SCALE_2D", "Bias"), Some("ChannelCount"));
    assert_eq!(count("MEAN_VARIANCE_NORMALIZATION1", "Axes"), Some("AxisCount"));
    assert_eq!(count("TILE", "Repeats"), Some("RepeatsCount"));
    assert_eq!(count("LSTM", "ActivationDescs"), Some("ActivationDescCount"));
    for schema in OPERATORS {
        let arrays = schema.fields.iter().filter(|field| member(field).contains("-array"));
        for array in arrays {
            let counts = |field: &FieldSchema| Some(field.name) == array.count;
            let position = |found: fn(&FieldSchema, &FieldSchema) -> bool| {
                schema.fields.iter().position(|field| found(field, array))
            };
            let before = position(|field, array| Some(field.name) == array.count);
            let at = position(|field, array| field.name == array.name);
            assert!(before.is_some() && before < at, "{}.{}", schema.name, array.name);
            let uint = schema.fields.iter().find(|field| counts(field)).map(|it| it.field_type);
            assert_eq!(uint, Some(FieldType::Uint), "{}.{}", schema.name, array.name);
        }
    }
}

#[test]
fn numbers_of_enumerations_name_theirs() {
    let name =
        |operator, name| field(operator, name).enumeration.map(|enumeration| enumeration.name);
    assert_eq!(name("CONVOLUTION", "Direction"), Some("CONVOLUTION_DIRECTION"));
    assert_eq!(name("LSTM", "Direction"), Some("RECURRENT_NETWORK_DIRECTION"));
    assert_eq!(name("RANDOM_GENERATOR", "Type"), Some("RANDOM_GENERATOR_TYPE"));
    assert_eq!(name("RESAMPLE2", "RoundingDirection"), Some("AXIS_DIRECTION"));
    assert_eq!(name("ROI_ALIGN", "ReductionFunction"), Some("REDUCE_FUNCTION"));
    assert_eq!(name("PADDING1", "PaddingValueDataType"), Some("TENSOR_DATA_TYPE"));
    assert_eq!(name("TOP_K1", "Axis"), None);
}

/// Some value of each type; arrays have two elements.
fn value(field: &FieldSchema) -> FieldValue {
    match field.field_type {
        FieldType::Tensor => FieldValue::Tensor(None),
        FieldType::TensorArray => FieldValue::TensorArray(Vec::new()),
        FieldType::OperatorDesc => FieldValue::OperatorDesc(None),
        FieldType::OperatorDescArray => FieldValue::OperatorDescArray(Vec::new()),
        FieldType::Uint => FieldValue::Uint(2),
        FieldType::Uint64 => FieldValue::Uint64(1),
        FieldType::Int => FieldValue::Int(-1),
        FieldType::Float => FieldValue::Float(0.5),
        FieldType::UintArray => FieldValue::UintArray(vec![1, 2]),
        FieldType::IntArray => FieldValue::IntArray(vec![-1, 2]),
        FieldType::FloatArray => FieldValue::FloatArray(vec![0.5, 1.0]),
        FieldType::ScaleBias => FieldValue::ScaleBias(None),
        FieldType::Size2d => FieldValue::Size2d([1, 2]),
        FieldType::ScalarUnion => FieldValue::ScalarUnion(ScalarUnion::from_bits(0)),
        FieldType::Bool => FieldValue::Bool(true),
    }
}

#[test]
fn every_operator_can_be_made_of_its_fields() {
    for schema in OPERATORS {
        let schema: &'static OperatorSchema = schema;
        let fields: Vec<FieldValue> = schema.fields.iter().map(value).collect();
        let operator = AbstractOperator::new(schema, fields.clone()).unwrap();
        assert_eq!(operator.fields(), fields, "{}", schema.name);
    }
}
