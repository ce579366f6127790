//! Elements of initial values.

use dml_core::DataType;
use half::f16;
use serde_json::Value;

use crate::element::ElementType;

/// The bits of a JSON number, or of "nan", "inf", "-inf"; `None` where the type does not have it.
pub(super) fn bits(json: &Value, data_type: DataType) -> Option<u64> {
    match data_type {
        DataType::Float32 => {
            let value = float(json)?;
            #[expect(clippy::cast_possible_truncation, reason = "rounds to nearest")]
            let rounded = value as f32;
            (rounded.is_finite() || !value.is_finite()).then(|| rounded.to_bits().into())
        }
        DataType::Float16 => Some(f16::from_f64(float(json)?).to_bits().into()),
        DataType::Float64 => Some(float(json)?.to_bits()),
        DataType::Uint64 => json.as_u64(),
        DataType::Int64 => json.as_i64().map(i64::cast_unsigned),
        _ => integer(json, data_type),
    }
}

fn float(json: &Value) -> Option<f64> {
    match json.as_str().map(str::to_ascii_lowercase).as_deref() {
        Some("nan") => Some(f64::NAN),
        Some("inf") => Some(f64::INFINITY),
        Some("-inf") => Some(f64::NEG_INFINITY),
        Some(_) => None,
        None => json.as_f64(),
    }
}

fn integer(json: &Value, data_type: DataType) -> Option<u64> {
    let width = data_type.bits();
    if width < 8 {
        return None;
    }
    let value = json.as_i64()?;
    let mask = (1u64 << width) - 1;
    let bits = value.cast_unsigned() & mask;
    let kept = crate::convert::integer(bits, ElementType::Dml(data_type));
    (kept == i128::from(value)).then_some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_must_fit_their_type() {
        assert_eq!(bits(&json!(-1), DataType::Int8), Some(0xff));
        assert_eq!(bits(&json!(128), DataType::Int8), None);
        assert_eq!(bits(&json!(-1), DataType::Uint32), None);
        assert_eq!(bits(&json!(1.5), DataType::Int32), None);
        assert_eq!(bits(&json!(1.5), DataType::Float16), Some(0x3e00));
        assert_eq!(bits(&json!("-INF"), DataType::Float32), Some(0xff80_0000));
        assert_eq!(bits(&json!(1e40), DataType::Float32), None);
        assert_eq!(bits(&json!(u64::MAX), DataType::Uint64), Some(u64::MAX));
        assert_eq!(bits(&json!("x"), DataType::Float64), None);
        assert_eq!(bits(&json!(1), DataType::Int4), None);
    }
}
