//! A part of an output as text: the surroundings of an element, as they must be and as they are.

use dml::{DataType, f16};
use dml_ops::reference::{Output, SENTINEL, coordinate, element};

use crate::results::Excerpt;

/// At most this many rows and columns are shown.
const MOST: u32 = 16;

/// The surroundings of `element` in the matrix that it is in, for the report of the `index`-th output.
pub(crate) fn matrices(output: &Output, after: &[u8], index: usize, element: usize) -> Excerpt {
    let (sizes, data_type) = (output.layout.sizes(), output.layout.data_type());
    let coordinate: Vec<u32> = coordinate(sizes, element)
        .into_iter()
        .map(|at| u32::try_from(at).unwrap_or(u32::MAX))
        .collect();
    // A tensor of one dimension is a row.
    let (batch, row, column) = match *coordinate.as_slice() {
        [ref batch @ .., row, column] => (batch, row, column),
        [column] => (&[][..], 0, column),
        [] => (&[][..], 0, 0),
    };
    let (height, width) = match *sizes {
        [.., height, width] => (height, width),
        [width] => (1, width),
        [] => (0, 0),
    };
    let (rows, columns) = (around(row, height), around(column, width));
    let first = element - row as usize * width as usize - column as usize;
    let texts = |text: &dyn Fn(usize) -> String| -> Vec<Vec<String>> {
        let row = |y: u32| {
            columns
                .clone()
                .map(|x| text(first + y as usize * width as usize + x as usize))
                .collect()
        };
        rows.clone().map(row).collect()
    };
    let places: Vec<u64> = output.layout.element_offsets().collect();
    Excerpt {
        output: index,
        batch: batch.to_vec(),
        first_row: rows.start,
        first_column: columns.start,
        expected: texts(&|at| {
            // What is near enough is as expected.
            let found = places.get(at).and_then(|place| output.element(after, *place));
            let accepted = found.filter(|found| output.accepts(at, *found));
            let bits = accepted.or_else(|| output.elements.get(at).copied());
            bits.map_or_else(String::new, |bits| text(data_type, bits))
        }),
        actual: texts(&|at| {
            places.get(at).map_or_else(String::new, |place| found(output, after, at, *place))
        }),
    }
}

/// At most [`MOST`] numbers below `size` with `at` among them, in the middle where there is room.
fn around(at: u32, size: u32) -> std::ops::Range<u32> {
    let start = at.saturating_sub(MOST / 2).min(size.saturating_sub(MOST));
    start..size.min(start + MOST)
}

/// The text of the element that lies `place` elements into the tensor.
fn found(output: &Output, after: &[u8], at: usize, place: u64) -> String {
    let Some(bits) = output.element(after, place) else { return "outside".to_owned() };
    let data_type = output.layout.data_type();
    // Where two elements share a byte, each has another half of the sentinel.
    let is_sentinel = element(data_type, &[SENTINEL; 16], place % 2) == Some(bits);
    let is_unchanged = output.element(&output.tensor.before, place) == Some(bits);
    if !output.accepts(at, bits) && is_sentinel && is_unchanged {
        return "not written".to_owned();
    }
    text(data_type, bits)
}

/// An element as people write it; what that cannot tell apart shows its bits.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the bits of a narrow type are the lowest ones"
)]
fn text(data_type: DataType, bits: u64) -> String {
    match data_type {
        DataType::Float64 if f64::from_bits(bits).is_nan() => format!("NaN {bits:#018x}"),
        DataType::Float64 => format!("{:?}", f64::from_bits(bits)),
        DataType::Float32 if f32::from_bits(bits as u32).is_nan() => format!("NaN {bits:#010x}"),
        DataType::Float32 => format!("{:?}", f32::from_bits(bits as u32)),
        DataType::Float16 if f16::from_bits(bits as u16).is_nan() => format!("NaN {bits:#06x}"),
        DataType::Float16 => half(f16::from_bits(bits as u16)),
        integer => integer.integer_value(bits).unwrap_or_default().to_string(),
    }
}

/// The shortest number that is read back as `value`.
fn half(value: f16) -> String {
    let exact = value.to_f32();
    // Five digits tell all halves apart.
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
    use dml::{TensorDesc, TensorLayout};
    use dml_ops::reference::Tensor;

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
            assert_eq!(text(data_type, bits), expected, "{data_type}");
        }
    }

    #[test]
    fn a_window_has_the_element_and_stays_inside() {
        assert_eq!(around(0, 5), 0..5);
        assert_eq!(around(0, 100), 0..16);
        assert_eq!(around(50, 100), 42..58);
        assert_eq!(around(99, 100), 84..100);
    }

    /// Element [1, 2, 20] of a padded [2, 3, 40] tensor was not written.
    #[test]
    fn the_surroundings_are_those_of_the_same_matrix() {
        let desc = TensorDesc::packed(DataType::Uint8, &[2, 3, 40]).with_strides(&[130, 41, 1]);
        let layout = TensorLayout::new(&desc).unwrap();
        let elements: Vec<u64> = (0..240).map(|index| index % 100).collect();
        let before = vec![SENTINEL; 280];
        let mut after = before.clone();
        for (place, element) in layout.element_offsets().zip(&elements) {
            after[8 + usize::try_from(place).unwrap()] = u8::try_from(*element).unwrap();
        }
        after[8 + 130 + 2 * 41 + 20] = SENTINEL;
        let tensor = Tensor { before, offset: 8, size: 272 };
        let matrices = matrices(&Output::exact(tensor, layout, elements), &after, 3, 120 + 80 + 20);
        assert_eq!((matrices.output, matrices.batch.as_slice()), (3, &[1][..]));
        assert_eq!((matrices.first_row, matrices.first_column), (0, 12));
        assert_eq!((matrices.expected.len(), matrices.expected[0].len()), (3, 16));
        assert_eq!((&*matrices.expected[2][8], &*matrices.actual[2][8]), ("20", "not written"));
        let differing = matrices.expected.iter().flatten().zip(matrices.actual.iter().flatten());
        assert_eq!(differing.filter(|(expected, actual)| expected != actual).count(), 1);
    }

    #[test]
    fn one_dimension_is_a_row() {
        let layout = TensorLayout::new(&TensorDesc::packed(DataType::Uint8, &[4])).unwrap();
        let tensor = Tensor { before: vec![1, 2, 3, 4], offset: 0, size: 4 };
        let output = Output::exact(tensor, layout, vec![1, 2, 3, 5]);
        let matrices = matrices(&output, &[1, 2, 3, 4], 0, 3);
        assert_eq!(matrices.expected, [["1", "2", "3", "5"]]);
        assert_eq!(matrices.actual, [["1", "2", "3", "4"]]);
    }

    #[test]
    fn elements_of_4_bits_are_read_one_by_one() {
        let layout = TensorLayout::new(&TensorDesc::packed(DataType::Int4, &[4])).unwrap();
        let tensor = Tensor { before: vec![SENTINEL; 4], offset: 0, size: 4 };
        let output = Output::exact(tensor, layout, vec![1, 0xf, 3, 4]);
        let matrices = matrices(&output, &[0xe1, SENTINEL, 0, 0], 0, 1);
        assert_eq!(matrices.expected, [["1", "-1", "3", "4"]]);
        assert_eq!(matrices.actual, [["1", "-2", "not written", "not written"]]);
    }

    /// 1 unit in the last place is allowed: the first element is 1 away, the second 2.
    #[test]
    fn what_is_near_enough_is_as_expected() {
        let layout = TensorLayout::new(&TensorDesc::packed(DataType::Float16, &[2])).unwrap();
        let tensor = Tensor { before: vec![SENTINEL; 4], offset: 0, size: 4 };
        let exact = Output::exact(tensor, layout, vec![0x3c00; 2]);
        let output = Output { comparison: dml::core::schema::Comparison::Ulp(1), ..exact };
        let matrices = matrices(&output, &[1, 0x3c, 2, 0x3c], 0, 1);
        assert_eq!(matrices.expected, [["1.001", "1.0"]]);
        assert_eq!(matrices.actual, [["1.001", "1.002"]]);
    }
}
