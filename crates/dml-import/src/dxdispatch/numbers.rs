//! Elements of initial values in JSON.

use dml_core::DataType;
use serde_json::Value;

use crate::convert::{float, from_float};
use crate::element::ElementType;

/// The bits of a JSON number, or of "nan", "inf" or "-inf"; `None` if the type cannot represent it.
pub(super) fn bits(json: &Value, data_type: DataType) -> Option<u64> {
    match data_type.integer_range() {
        Some((least, most)) => {
            let unsigned = json.as_u64().map(i128::from);
            let value = unsigned.or_else(|| json.as_i64().map(i128::from))?;
            let has = data_type.bits() >= 8 && (least..=most).contains(&value);
            has.then(|| data_type.integer_bits(value))
        }
        None => {
            let (value, element) = (number(json)?, ElementType::Dml(data_type));
            let bits = from_float(value, element);
            let overflows = value.is_finite() && !float(bits, element).is_finite();
            (data_type != DataType::Float32 || !overflows).then_some(bits)
        }
    }
}

fn number(json: &Value) -> Option<f64> {
    match json.as_str().map(str::to_ascii_lowercase).as_deref() {
        Some("nan") => Some(f64::NAN),
        Some("inf") => Some(f64::INFINITY),
        Some("-inf") => Some(f64::NEG_INFINITY),
        Some(_) => None,
        None => json.as_f64(),
    }
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
