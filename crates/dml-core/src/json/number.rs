//! Decoding of numbers, with checks of their range.

use std::fmt::LowerExp;

use half::f16;
use num_traits::{AsPrimitive, Bounded, Float};
use serde_json::Value;

use super::{Result, known_keys, object, refused};
use crate::types::{DataType, ScalarUnion};

/// An integer of type `T`.
pub(super) fn integer<T: Bounded + Into<i128> + Copy + 'static>(
    path: &str,
    json: &Value,
) -> Result<T>
where
    i128: AsPrimitive<T>,
{
    let range = (T::min_value().into(), T::max_value().into());
    integer_within(path, json, range).map(AsPrimitive::as_)
}

fn integer_within(path: &str, json: &Value, (least, most): (i128, i128)) -> Result<i128> {
    let refused = |problem| refused(path, json, problem, format!("{least} to {most}"));
    let unsigned = json.as_u64().map(i128::from);
    let value = unsigned.or_else(|| json.as_i64().map(i128::from));
    let value = value.ok_or_else(|| refused("is not an integer"))?;
    if (least..=most).contains(&value) { Ok(value) } else { Err(refused("is out of range")) }
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
    let value = json.as_f64().ok_or_else(|| refused(path, json, "is not a number", accepted()))?;
    let rounded: T = value.as_();
    if rounded.is_finite() {
        return Ok(rounded);
    }
    Err(refused(path, json, "is out of range", accepted()))
}

/// A scalar of type `data_type`: a number, or an object with the union's member of that type.
pub(super) fn scalar(path: &str, json: &Value, data_type: DataType) -> Result<ScalarUnion> {
    if data_type.bits() < 8 {
        let problem = format!("is of type {data_type}, which no scalar has");
        return Err(refused(path, json, &problem, "the types of 8 bits and more"));
    }
    if json.is_object() {
        return member(path, json, data_type);
    }
    if let Some(range) = data_type.integer_range() {
        let value = integer_within(path, json, range)?;
        return Ok(ScalarUnion::from_bits(data_type.integer_bits(value)));
    }
    Ok(match data_type {
        DataType::Float16 => float::<f16>(path, json)?.into(),
        DataType::Float64 => float::<f64>(path, json)?.into(),
        _ => float::<f32>(path, json)?.into(),
    })
}

/// Reads `{"UInt16": 15360}`.
fn member(path: &str, json: &Value, data_type: DataType) -> Result<ScalarUnion> {
    // The union has no member for halves: their bits are given.
    let data_type = if data_type == DataType::Float16 { DataType::Uint16 } else { data_type };
    let kind = match data_type.integer_range() {
        None => "Float",
        Some((0, _)) => "UInt",
        Some(_) => "Int",
    };
    let name = &*format!("{kind}{}", data_type.bits());
    let members = object(path, json)?;
    known_keys(path, members, &[name])?;
    match members.get(name) {
        Some(value) if !value.is_object() => scalar(&format!("{path}.{name}"), value, data_type),
        _ => Err(refused(path, json, "has no value", format!("{{\"{name}\": number}}"))),
    }
}
