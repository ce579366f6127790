//! A part of an output as text: the surroundings of an element, as they must be and as they are.

use dml_reference::{Output, SENTINEL, coordinate, element, element_text};

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
            bits.map_or_else(String::new, |bits| element_text(data_type, bits))
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
    element_text(data_type, bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dml::{DataType, TensorDesc, TensorLayout};
    use dml_reference::Tensor;

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
