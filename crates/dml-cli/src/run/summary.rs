//! The values of a tensor in a few lines.

use dml::{DataType, Element as _, f16};

use crate::matrix;

/// Tensors with more elements are summarized.
const WHOLE: usize = 100;
/// The number of elements at the beginning of a summary.
const FIRST: usize = 6;

/// All elements, or the first ones with the least, the mean and the greatest of all elements.
pub(super) fn summary(data_type: DataType, shape: &[u64], bytes: &[u8]) -> String {
    let width = data_type.bits() as usize / 8;
    let count = bytes.len() / width;
    if count <= WHOLE {
        return matrix::format(data_type, shape, bytes);
    }
    let first = bytes.chunks_exact(width).take(FIRST).map(|element| text(data_type, element));
    let first = first.collect::<Vec<_>>().join(" ");
    let values = bytes.chunks_exact(width).map(|element| number(data_type, element));
    let (mut least, mut greatest, mut sum) = (f64::INFINITY, f64::NEG_INFINITY, 0.0);
    let (mut numbers, mut not_finite) = (0u64, 0u64);
    for value in values {
        if value.is_finite() {
            (least, greatest, sum) = (least.min(value), greatest.max(value), sum + value);
            numbers += 1;
        } else {
            not_finite += 1;
        }
    }
    let mut text = format!("[{first} ...], {count} elements");
    if numbers > 0 {
        let mean = sum / numbers as f64;
        text += &format!(
            ": least {}, mean {}, greatest {}",
            short(least),
            short(mean),
            short(greatest)
        );
    }
    if not_finite > 0 {
        text += &format!(", {not_finite} of them NaN or infinite");
    }
    text
}

/// An element at the beginning of a summary: integers whole, floats with six digits.
fn text(data_type: DataType, element: &[u8]) -> String {
    match data_type.integer_value(0) {
        Some(_) => matrix::elements(data_type, element).join(" "),
        None => short(number(data_type, element)),
    }
}

/// A number with six digits, the precision of FLOAT32.
fn short(value: f64) -> String {
    if value == 0.0 || (1e-4..1e9).contains(&value.abs()) {
        let (mut decimals, mut magnitude) = (5usize, value.abs());
        while magnitude >= 10.0 && decimals > 0 {
            (decimals, magnitude) = (decimals - 1, magnitude / 10.0);
        }
        let text = format!("{value:.decimals$}");
        let is_fraction = text.contains('.');
        return match is_fraction {
            true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => text,
        };
    }
    format!("{value:.5e}")
}

fn number(data_type: DataType, element: &[u8]) -> f64 {
    let mut bits = [0; 8];
    bits[..element.len()].copy_from_slice(element);
    let bits = u64::from_le_bytes(bits);
    match data_type.integer_value(bits) {
        Some(integer) => integer as f64,
        None if data_type == DataType::Float16 => f16::from_element_bits(bits).to_f64(),
        None if data_type == DataType::Float64 => f64::from_element_bits(bits),
        None => f64::from(f32::from_element_bits(bits)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_elements_are_shown_and_many_are_summarized() {
        assert_eq!(summary(DataType::Uint8, &[1, 2], &[1, 2]), "[[1 2]]");
        let bytes: Vec<u8> = (0..=100).collect();
        let expected = "[0 1 2 3 4 5 ...], 101 elements: least 0, mean 50, greatest 100";
        assert_eq!(summary(DataType::Uint8, &[101], &bytes), expected);
    }

    #[test]
    fn the_first_floats_have_six_digits_and_integers_all() {
        let floats: Vec<u8> =
            [2.295_157_7e-10f32; 200].iter().flat_map(|it| it.to_le_bytes()).collect();
        let text = summary(DataType::Float32, &[200], &floats);
        assert!(text.starts_with("[2.29516e-10 2.29516e-10 "), "{text}");
        let integers: Vec<u8> =
            [12_345_678_901i64; 200].iter().flat_map(|it| it.to_le_bytes()).collect();
        let text = summary(DataType::Int64, &[200], &integers);
        assert!(text.starts_with("[12345678901 12345678901 "), "{text}");
    }

    #[test]
    fn what_is_not_finite_is_counted() {
        let mut values = vec![0.25f32; 200];
        values[7] = f32::NAN;
        values[8] = f32::INFINITY;
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let text = summary(DataType::Float32, &[200], &bytes);
        let end = "200 elements: least 0.25, mean 0.25, greatest 0.25, 2 of them NaN or infinite";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn numbers_have_six_digits() {
        let texts = [0.0, -1.5, 1.0 / 3.0, 123456.789, 1e-7, 1e12].map(short);
        assert_eq!(texts, ["0", "-1.5", "0.33333", "123457", "1.00000e-7", "1.00000e12"]);
    }
}
