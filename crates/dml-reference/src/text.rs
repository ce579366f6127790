//! Elements as readable text.

use dml_core::DataType;
use half::f16;

/// An element as text; a NaN is shown with its bits, which distinguish it from other NaNs.
pub fn element_text(data_type: DataType, bits: u64) -> String {
    let text = number_text(data_type, bits);
    if text == NAN { format!("{NAN} {}", bits_text(data_type, bits)) } else { text }
}

/// An element as text, followed by its bits.
pub(super) fn text_and_bits(data_type: DataType, bits: u64) -> String {
    format!("{} ({})", number_text(data_type, bits), bits_text(data_type, bits))
}

const NAN: &str = "NaN";

/// All bits of an element in hexadecimal.
fn bits_text(data_type: DataType, bits: u64) -> String {
    format!("{bits:#0width$x}", width = data_type.bits() as usize / 4 + 2)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the bits of a narrow type are the lowest ones"
)]
fn number_text(data_type: DataType, bits: u64) -> String {
    match data_type {
        DataType::Float64 => format!("{:?}", f64::from_bits(bits)),
        DataType::Float32 => format!("{:?}", f32::from_bits(bits as u32)),
        DataType::Float16 => half(f16::from_bits(bits as u16)),
        integer => integer.integer_value(bits).unwrap_or_default().to_string(),
    }
}

/// The shortest decimal that parses to `value`.
fn half(value: f16) -> String {
    let exact = value.to_f32();
    // Five digits distinguish all FLOAT16 numbers.
    let rounded = (0..5).map(|digits| format!("{exact:.digits$e}"));
    let reads_back = |text: &String| {
        text.parse().is_ok_and(|it: f32| f16::from_f32(it).to_bits() == value.to_bits())
    };
    let shortest = rounded.filter(reads_back).find_map(|text| text.parse::<f32>().ok());
    format!("{:?}", shortest.unwrap_or(exact))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_read_as_people_write_them() {
        let cases = [
            (DataType::Int8, 0xff, "-1"),
            (DataType::Uint8, 0xff, "255"),
            (DataType::Int64, u64::MAX, "-1"),
            (DataType::Uint64, u64::MAX, "18446744073709551615"),
            (DataType::Float32, 0x3dcc_cccd, "0.1"),
            (DataType::Float32, 0x8000_0000, "-0.0"),
            (DataType::Float32, 0x7fa5_5555, "NaN 0x7fa55555"),
            (DataType::Float16, 0x2e66, "0.1"),
            (DataType::Float16, 0x7bff, "65500.0"),
            (DataType::Float16, 0x7c00, "inf"),
            (DataType::Float16, 0xfe01, "NaN 0xfe01"),
            (DataType::Float64, 0x3fb9_9999_9999_999a, "0.1"),
            (DataType::Float64, 0xfff0 << 48, "-inf"),
        ];
        for (data_type, bits, expected) in cases {
            assert_eq!(element_text(data_type, bits), expected, "{data_type}");
        }
    }

    #[test]
    fn a_difference_shows_the_number_and_its_bits() {
        let shown = |data_type, bits| text_and_bits(data_type, bits);
        assert_eq!(shown(DataType::Float32, 0x3f80_0000), "1.0 (0x3f800000)");
        assert_eq!(shown(DataType::Float16, 0x7e00), "NaN (0x7e00)");
        assert_eq!(shown(DataType::Int8, 0xfe), "-2 (0xfe)");
    }
}
