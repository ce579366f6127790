//! How far a result is from what a test expects.

use dml::DataType;
use dml_import::{ElementType, Tensor};
use half::f16;

use super::tolerance::Tolerance;
use crate::results::onnx::Distance;

/// The largest distance of an element of `found`, and which one is too far; an error where type or shape
/// differ. Integers are equal, a NaN is equal to any NaN.
pub(super) fn distance(
    found: &Tensor,
    expected: &Tensor,
    allowed: Tolerance,
) -> Result<Distance, String> {
    let kind = |it: &Tensor| format!("{} {:?}", it.element_type(), it.shape());
    if kind(found) != kind(expected) {
        return Err(format!("is {}, must be {}", kind(found), kind(expected)));
    }
    let Some(width) = width(expected.element_type()) else {
        let wrong =
            (0..).zip(found.bytes().iter().zip(expected.bytes())).find(|(_, (a, b))| a != b);
        let size = expected.element_type().size().unwrap_or(1);
        let exact = Distance { ulp: 0, allowed_ulp: 0, difference: 0.0, allowed_difference: 0.0 };
        return wrong.map_or(Ok(exact), |(byte, _): (u64, _)| {
            Err(format!("element {} is another integer than it must be", byte / size))
        });
    };
    let pairs = found.bytes().chunks_exact(width).zip(expected.bytes().chunks_exact(width));
    let mut largest = Distance {
        ulp: 0,
        allowed_ulp: allowed.ulp,
        difference: 0.0,
        allowed_difference: allowed.difference,
    };
    for (index, (found, expected)) in pairs.enumerate().filter(|(_, (a, b))| a != b) {
        let (found, expected) = (float(found), float(expected));
        if found.value.is_nan() && expected.value.is_nan() || found.value == expected.value {
            continue;
        }
        let ulp = found.rank.abs_diff(expected.rank);
        let difference = (found.value - expected.value).abs();
        let is_number = found.value.is_finite() && expected.value.is_finite();
        let is_near = ulp <= allowed.ulp && !found.value.is_nan() && !expected.value.is_nan()
            || is_number && difference <= allowed.difference;
        if !is_near {
            let (is, must) = (found.value, expected.value);
            return Err(format!(
                "element {index} is {is}, must be {must}: {ulp} ULP apart, {allowed} allowed"
            ));
        }
        largest.ulp = largest.ulp.max(ulp);
        largest.difference = largest.difference.max(difference);
    }
    Ok(largest)
}

/// Bytes of a float.
fn width(element: ElementType) -> Option<usize> {
    match element {
        ElementType::Dml(DataType::Float32) => Some(4),
        ElementType::Dml(DataType::Float16) => Some(2),
        _ => None,
    }
}

/// A float, and its place among all of its type.
struct Float {
    value: f64,
    rank: i64,
}

fn float(bytes: &[u8]) -> Float {
    let (value, bits, sign) = match *bytes {
        [a, b] => {
            let bits = u16::from_le_bytes([a, b]);
            (f16::from_bits(bits).to_f64(), i64::from(bits), 1 << 15)
        }
        [a, b, c, d] => {
            let bits = u32::from_le_bytes([a, b, c, d]);
            (f32::from_bits(bits).into(), i64::from(bits), 1 << 31)
        }
        _ => unreachable!("chunks have the width of a type"),
    };
    Float { value, rank: if bits & sign == 0 { bits } else { sign - bits } }
}

impl std::fmt::Display for Tolerance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self { ulp, difference: 0.0 } => write!(f, "{ulp} ULP"),
            Self { ulp: 0, difference } => write!(f, "a difference of {difference}"),
            Self { ulp, difference } => write!(f, "{ulp} ULP or a difference of {difference}"),
        }
    }
}
