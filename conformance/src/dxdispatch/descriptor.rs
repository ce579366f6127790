//! An operator's descriptor as DxDispatch's JSON, from the schema's tables.
//!
//! Optional fields that are null in DirectML are left out of the JSON: DxDispatch takes null for a value.

use dml::core::schema::FieldSchema;
use dml::core::{FieldValue, TensorFlags};
use dml::{AbstractOperator, DataType, TensorDesc};
use serde_json::{Map, Value, json};

use super::LeftOut;

/// `{"type": "DML_OPERATOR_..", "desc": {..}}`
///
/// # Errors
/// The format has no way to say it.
pub(super) fn dispatchable(operator: &AbstractOperator) -> Result<Map<String, Value>, LeftOut> {
    let mut dispatchable = Map::new();
    dispatchable.insert("type".to_owned(), operator_type(operator));
    dispatchable.insert("desc".to_owned(), fields(operator)?);
    Ok(dispatchable)
}

fn operator_type(operator: &AbstractOperator) -> Value {
    format!("DML_OPERATOR_{}", operator.schema().name).into()
}

fn fields(operator: &AbstractOperator) -> Result<Value, LeftOut> {
    let mut desc = Map::new();
    for (field, value) in operator.schema().fields.iter().zip(operator.fields()) {
        if let Some(json) = given(operator, field, value)? {
            desc.insert(field.name.to_owned(), json);
        }
    }
    Ok(desc.into())
}

/// The value of a field; `None` where it is left out.
fn given(
    operator: &AbstractOperator,
    field: &FieldSchema,
    value: &FieldValue,
) -> Result<Option<Value>, LeftOut> {
    let json = match value {
        FieldValue::Tensor(desc) => return desc.as_ref().map(tensor).transpose(),
        FieldValue::OperatorDesc(desc) => return desc.as_deref().map(nested).transpose(),
        FieldValue::ScaleBias(pair) => return pair.map(scale_bias).transpose(),
        FieldValue::TensorArray(all) => array(all, tensor)?,
        FieldValue::OperatorDescArray(all) => array(all, nested)?,
        FieldValue::FloatArray(all) => array(all, |number| float(*number))?,
        FieldValue::UintArray(all) => json!(all),
        FieldValue::IntArray(all) => json!(all),
        FieldValue::Uint(number) => {
            let name = field.enumeration.and_then(|enumeration| enumeration.name_of(*number));
            name.map_or_else(|| json!(number), Value::from)
        }
        FieldValue::Uint64(number) => json!(number),
        FieldValue::Int(number) => json!(number),
        FieldValue::Float(number) => float(*number)?,
        FieldValue::Bool(value) => json!(value),
        FieldValue::Size2d([width, height]) => json!({ "Width": width, "Height": height }),
        FieldValue::ScalarUnion(union) => scalar(union.to_bits(), scalar_type(operator, field))?,
    };
    let is_empty = json.as_array().is_some_and(Vec::is_empty);
    Ok(Some(json).filter(|_| !(field.optional && is_empty)))
}

/// An operator without tensors, such as a fused activation.
fn nested(operator: &AbstractOperator) -> Result<Value, LeftOut> {
    Ok(json!({ "Type": operator_type(operator), "Desc": fields(operator)? }))
}

fn tensor(desc: &TensorDesc) -> Result<Value, LeftOut> {
    if desc.data_type.bits() < 8 {
        return Err(LeftOut::FourBits);
    }
    let mut json = json!({ "DataType": desc.data_type.name(), "Sizes": desc.sizes });
    if let Some(strides) = &desc.strides {
        json["Strides"] = json!(strides);
    }
    if desc.flags.contains(TensorFlags::OWNED_BY_DML) {
        json["Flags"] = json!("OWNED_BY_DML");
    }
    if let Some(bytes) = desc.total_tensor_size_in_bytes {
        json["TotalTensorSizeInBytes"] = json!(bytes);
    }
    if desc.guaranteed_base_offset_alignment != 0 {
        json["GuaranteedBaseOffsetAlignment"] = json!(desc.guaranteed_base_offset_alignment);
    }
    Ok(json)
}

fn array<T>(all: &[T], item: impl Fn(&T) -> Result<Value, LeftOut>) -> Result<Value, LeftOut> {
    all.iter().map(item).collect()
}

fn scale_bias([scale, bias]: [f32; 2]) -> Result<Value, LeftOut> {
    Ok(json!({ "Scale": float(scale)?, "Bias": float(bias)? }))
}

/// A number, or the name of what is none.
fn float(number: f32) -> Result<Value, LeftOut> {
    match number.is_nan() && number.to_bits() != f32::NAN.to_bits() {
        true => Err(LeftOut::Nan),
        false => Ok(named(number.into())),
    }
}

/// Doubles that are FLOAT32 numbers are far from where a reader might round in another way.
fn named(number: f64) -> Value {
    if number.is_nan() {
        "nan".into()
    } else if number.is_infinite() {
        if number > 0.0 { "inf".into() } else { "-inf".into() }
    } else {
        number.into()
    }
}

/// The type that the field beside a scalar tells.
fn scalar_type(operator: &AbstractOperator, field: &FieldSchema) -> Option<DataType> {
    match field.scalar_type.and_then(|name| operator.field(name)) {
        Some(FieldValue::Uint(number)) => DataType::from_dml_value(*number),
        _ => None,
    }
}

/// A scalar: an integer, a finite number, or the union's member. Halves are given as their bits, and only
/// members may have the names of numbers.
fn scalar(bits: u64, data_type: Option<DataType>) -> Result<Value, LeftOut> {
    let Some(data_type) = data_type.filter(|data_type| data_type.bits() >= 8) else {
        return Err(LeftOut::FourBits);
    };
    let spare = 64 - data_type.bits();
    let unsigned = bits << spare >> spare;
    let member = |name: &str, value: Value| match value.is_number() {
        true => value,
        false => json!({ name: value }),
    };
    match data_type {
        DataType::Float16 => Ok(json!({ "UInt16": unsigned })),
        DataType::Float32 => {
            let number = f32::from_bits(u32::try_from(unsigned).unwrap_or_default());
            Ok(member("Float32", float(number)?))
        }
        DataType::Float64 => Ok(member("Float64", double(f64::from_bits(bits))?)),
        _ => match data_type.integer_range() {
            Some((least, _)) if least < 0 => {
                Ok((i64::from_le_bytes((bits << spare).to_le_bytes()) >> spare).into())
            }
            _ => Ok(unsigned.into()),
        },
    }
}

fn double(number: f64) -> Result<Value, LeftOut> {
    if number.is_nan() {
        let is_plain = number.to_bits() == f64::NAN.to_bits();
        return if is_plain { Ok(named(number)) } else { Err(LeftOut::Nan) };
    }
    let json = named(number);
    let is_exact = || {
        let read = serde_json::from_str::<f64>(&json.to_string());
        read.is_ok_and(|read| read.to_bits() == number.to_bits())
    };
    if number.is_infinite() || is_exact() { Ok(json) } else { Err(LeftOut::Rounded) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use dml::FeatureLevel;
    use dml::core::json;

    use super::*;
    use crate::cases::{self, Filter, Finder, Kind};

    /// As text, since a NaN differs from itself; -0.0 is not 0.0 there.
    fn text(operator: &AbstractOperator) -> String {
        format!("{operator:?}")
    }

    #[test]
    fn what_is_written_is_read_back() {
        let (mut written, mut count) = (HashSet::new(), 0);
        let everything = Filter::default();
        let cases = cases::all(FeatureLevel::HIGHEST, &everything);
        for case in cases.filter(|case| case.kind() == Kind::Outputs) {
            count += 1;
            let Ok(json) = dispatchable(&case.operator) else { continue };
            let json: Value = serde_json::from_str(&Value::from(json).to_string()).unwrap();
            let found = json::operator(&json).unwrap();
            // A scalar is written with the bits of its type alone.
            let has_scalar = text(&found).contains("ScalarUnion");
            assert!(has_scalar || text(&found) == text(&case.operator), "{json}");
            written.insert(case.id.to_string());
        }
        let operators = written.iter().filter_map(|id| id.split('/').nth(1));
        assert_eq!(operators.collect::<HashSet<_>>().len(), dml_ops::OPERATORS.len());
        assert!(written.len() > count * 9 / 10, "{} of {count}", written.len());
    }

    #[test]
    fn scalars_keep_their_bits() {
        let of = |bits, data_type| scalar(bits, Some(data_type));
        assert_eq!(of(0xff, DataType::Int8), Ok(json!(-1)));
        assert_eq!(of(0xff, DataType::Uint8), Ok(json!(255)));
        assert_eq!(of(u64::MAX, DataType::Uint64), Ok(json!(u64::MAX)));
        assert_eq!(of(1 << 63, DataType::Int64), Ok(json!(i64::MIN)));
        assert_eq!(of(0x7e01, DataType::Float16), Ok(json!({ "UInt16": 0x7e01 })));
        assert_eq!(of(0x3fc0_0000, DataType::Float32), Ok(json!(1.5)));
        assert_eq!(of(0xff80_0000, DataType::Float32), Ok(json!({ "Float32": "-inf" })));
        assert_eq!(of(0x7fc0_0000, DataType::Float32), Ok(json!({ "Float32": "nan" })));
        assert_eq!(of(0x7fc0_0001, DataType::Float32), Err(LeftOut::Nan));
        assert_eq!(of(1, DataType::Int4), Err(LeftOut::FourBits));
    }

    #[test]
    fn names_are_those_of_directml() {
        let id = "5_1/join/float32/rank4/random_0_0".parse().unwrap();
        let case = Finder::default().find(&id).unwrap();
        let written = Value::from(dispatchable(&case.operator).unwrap());
        assert_eq!(written["type"], "DML_OPERATOR_JOIN");
        let keys: Vec<&String> = written["desc"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["Axis", "InputCount", "InputTensors", "OutputTensor"]);
        assert_eq!(written["desc"]["OutputTensor"]["DataType"], "FLOAT32");
    }
}
