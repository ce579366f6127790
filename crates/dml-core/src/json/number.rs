//! Numbers, each within the range of its type.

use std::fmt::{Display, LowerExp};

use half::f16;
use num_traits::{AsPrimitive, Bounded, Float};
use serde_json::Value;

use super::{Result, known_keys, object, refused};
use crate::types::{DataType, ScalarUnion};

/// An integer of type `T`.
pub(super) fn integer<T: TryFrom<i128> + Bounded + Display>(path: &str, json: &Value) -> Result<T> {
    let accepted = || format!("{} to {}", T::min_value(), T::max_value());
    let unsigned = json.as_u64().map(i128::from);
    let value = unsigned
        .or_else(|| json.as_i64().map(i128::from))
        .ok_or_else(|| refused(path, json, "is no integer", accepted()))?;
    T::try_from(value).map_err(|_| refused(path, json, "is out of range", accepted()))
}

/// A FLOAT, rounded to nearest.
pub(super) fn float32(path: &str, json: &Value) -> Result<f32> {
    float(path, json)
}

fn float<T: Float + LowerExp + 'static>(path: &str, json: &Value) -> Result<T>
where
    f64: AsPrimitive<T>,
{
    let accepted = || {
        let end = T::max_value();
        format!("-{end:e} to {end:e}, \"nan\", \"inf\", \"-inf\"")
    };
    let special = json.as_str().and_then(|text| match text.to_ascii_lowercase().as_str() {
        "nan" => Some(T::nan()),
        "inf" => Some(T::infinity()),
        "-inf" => Some(T::neg_infinity()),
        _ => None,
    });
    if let Some(special) = special {
        return Ok(special);
    }
    let value = json.as_f64().ok_or_else(|| refused(path, json, "is no number", accepted()))?;
    let rounded: T = value.as_();
    if rounded.is_finite() {
        return Ok(rounded);
    }
    Err(refused(path, json, "is out of range", accepted()))
}

/// A scalar of type `data_type`: a number, or an object with the union's member of that type.
pub(super) fn scalar(path: &str, json: &Value, data_type: DataType) -> Result<ScalarUnion> {
    if json.is_object() {
        return member(path, json, data_type);
    }
    Ok(match data_type {
        DataType::Float32 => float::<f32>(path, json)?.into(),
        DataType::Float16 => float::<f16>(path, json)?.into(),
        DataType::Float64 => float::<f64>(path, json)?.into(),
        DataType::Uint64 => integer::<u64>(path, json)?.into(),
        DataType::Uint32 => integer::<u32>(path, json)?.into(),
        DataType::Uint16 => integer::<u16>(path, json)?.into(),
        DataType::Uint8 => integer::<u8>(path, json)?.into(),
        DataType::Int64 => integer::<i64>(path, json)?.into(),
        DataType::Int32 => integer::<i32>(path, json)?.into(),
        DataType::Int16 => integer::<i16>(path, json)?.into(),
        DataType::Int8 => integer::<i8>(path, json)?.into(),
        DataType::Uint4 | DataType::Int4 => return Err(no_scalar(path, json, data_type)),
    })
}

/// Reads `{"UInt16": 15360}`.
fn member(path: &str, json: &Value, data_type: DataType) -> Result<ScalarUnion> {
    // The union has no member for halves: their bits are given.
    let (name, data_type) = match data_type {
        DataType::Float32 => ("Float32", data_type),
        DataType::Float64 => ("Float64", data_type),
        DataType::Float16 => ("UInt16", DataType::Uint16),
        DataType::Uint64 => ("UInt64", data_type),
        DataType::Uint32 => ("UInt32", data_type),
        DataType::Uint16 => ("UInt16", data_type),
        DataType::Uint8 => ("UInt8", data_type),
        DataType::Int64 => ("Int64", data_type),
        DataType::Int32 => ("Int32", data_type),
        DataType::Int16 => ("Int16", data_type),
        DataType::Int8 => ("Int8", data_type),
        DataType::Uint4 | DataType::Int4 => return Err(no_scalar(path, json, data_type)),
    };
    let members = object(path, json)?;
    known_keys(path, members, &[name])?;
    match members.get(name) {
        Some(value) if !value.is_object() => scalar(&format!("{path}.{name}"), value, data_type),
        _ => Err(refused(path, json, "has no value", format!("{{\"{name}\": number}}"))),
    }
}

fn no_scalar(path: &str, json: &Value, data_type: DataType) -> crate::InvalidField {
    let problem = format!("is of type {data_type}, which no scalar has");
    refused(path, json, &problem, "the types of 8 bits and more")
}
