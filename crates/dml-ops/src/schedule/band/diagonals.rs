//! Bands of diagonals: the elements of a matrix that belong to them.
//!
//! The diagonal of the element at row `y` and column `x` is `x - y`. Kernels count diagonals from the bottom
//! left corner instead, so that no number is negative: `x - y + height - 1`, which for a matrix of at most
//! 2^32 - 1 elements is at most 2^32 - 2, because `height + width - 1 <= height * width`.

use std::ops::Range;

use crate::schedule::boxes::TensorBox;

/// Diagonals of a matrix, counted from the bottom left corner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Diagonals {
    height: u32,
    width: u32,
    /// At most two ranges, ascending and not empty; two ranges include the first and the last diagonal.
    parts: Vec<Range<u32>>,
}

/// The elements `(row + i, column + i)` for `i < length`, all of them inside the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Diagonal {
    /// Row of the first element.
    pub(crate) row: u32,
    /// Column of the first element.
    pub(crate) column: u32,
    /// The number of elements, at least 1.
    pub(crate) length: u32,
}

impl Diagonals {
    /// The elements with `begin <= x - y < end`; where `begin` is above `end`, those with
    /// `x - y < end` and those with `begin <= x - y`. The matrix has at least 1 and at most 2^32 - 1
    /// elements.
    ///
    /// The arithmetic is 64-bit, so that nothing wraps for 32-bit begins and ends.
    pub(crate) fn clip(height: u32, width: u32, begin: i64, end: i64) -> Self {
        let count = i64::from(height) + i64::from(width) - 1;
        let clipped = |diagonal: i64| {
            let number = diagonal.saturating_add(i64::from(height) - 1).clamp(0, count);
            u32::try_from(number).expect("a matrix has no more diagonals than elements")
        };
        let (begin_at, end_at) = (clipped(begin), clipped(end));
        let (first, second) = if begin <= end {
            (begin_at..end_at, 0..0)
        } else {
            (0..end_at, begin_at..clipped(i64::MAX))
        };
        let parts = [first, second].into_iter().filter(|part| !part.is_empty()).collect();
        Self { height, width, parts }
    }

    /// The part of the band within a box of such matrices, whose rows and columns are the last two dimensions.
    pub(crate) fn within(&self, part: &TensorBox<4>) -> Self {
        let ([_, _, row, column], [_, _, height, width]) = (part.origin, part.sizes);
        // The diagonal of the box's bottom left corner, and the number of diagonals.
        let first = self.height - (row + height) + column;
        let count = height + (width - 1);
        let clipped = |diagonal: u32| diagonal.saturating_sub(first).min(count);
        let parts = self.parts.iter().map(|part| clipped(part.start)..clipped(part.end));
        Self { height, width, parts: parts.filter(|part| !part.is_empty()).collect() }
    }

    /// A band without elements.
    pub(crate) fn empty(height: u32, width: u32) -> Self {
        Self { height, width, parts: vec![] }
    }

    /// Whether every element is in the band.
    pub(crate) fn is_everything(&self) -> bool {
        let all = 0..self.height + (self.width - 1);
        self.parts.first() == Some(&all)
    }

    /// The band as ranges of diagonals: no range if it is empty, two if it is everything except a range.
    pub(crate) fn parts(&self) -> &[Range<u32>] {
        &self.parts
    }

    /// The band as one range that may wrap around from 2^32 - 1 to 0: its first diagonal and its length,
    /// modulo 2^32. A diagonal is in the band if its distance from the first one, modulo 2^32, is less than
    /// the length.
    pub(crate) fn wrapped(&self) -> (u32, u32) {
        match self.parts.as_slice() {
            [] => (0, 0),
            [first, .., last] => (last.start, first.end.wrapping_sub(last.start)),
            [part] => (part.start, part.end - part.start),
        }
    }

    /// The only diagonal of the band; `None` where it has none or several.
    pub(crate) fn single(&self) -> Option<Diagonal> {
        let [Range { start, end }] = *self.parts.as_slice() else { return None };
        if end - start != 1 {
            return None;
        }
        // Both are below the sizes, because `start` is a diagonal of the matrix.
        let row = (self.height - 1).saturating_sub(start);
        let column = start.saturating_sub(self.height - 1);
        let length = (self.height - row).min(self.width - column);
        Some(Diagonal { row, column, length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXTREMES: [i64; 4] = [i32::MIN as i64, i32::MIN as i64 + 1, -1, i32::MAX as i64];

    /// As DIAGONAL_MATRIX1's documentation has it.
    fn is_inside(begin: i64, end: i64, y: u32, x: u32) -> bool {
        let t = i64::from(x) - i64::from(y);
        if begin <= end { begin <= t && t < end } else { t < end || t >= begin }
    }

    fn elements(height: u32, width: u32) -> impl Iterator<Item = (u32, u32)> {
        (0..height).flat_map(move |y| (0..width).map(move |x| (y, x)))
    }

    fn check(height: u32, width: u32, begin: i64, end: i64) {
        let band = Diagonals::clip(height, width, begin, end);
        let name = format!("{height}x{width} {begin}..{end} {band:?}");
        let (first, length) = band.wrapped();
        for (y, x) in elements(height, width) {
            let number = height - 1 - y + x;
            let inside = is_inside(begin, end, y, x);
            assert_eq!(band.parts().iter().any(|p| p.contains(&number)), inside, "{name} {y} {x}");
            assert_eq!(number.wrapping_sub(first) < length, inside, "{name} {y} {x}");
        }
        let all = elements(height, width).all(|(y, x)| is_inside(begin, end, y, x));
        assert_eq!(band.is_everything(), all, "{name}");
        check_boxes(&band, begin, end);
        if let Some(diagonal) = band.single() {
            let expected: Vec<(u32, u32)> =
                elements(height, width).filter(|(y, x)| is_inside(begin, end, *y, *x)).collect();
            let found: Vec<(u32, u32)> =
                (0..diagonal.length).map(|i| (diagonal.row + i, diagonal.column + i)).collect();
            assert_eq!(found, expected, "{name}");
        }
    }

    /// Boxes that begin anywhere: as far as there are elements, and one row, column, or element.
    fn check_boxes(band: &Diagonals, begin: i64, end: i64) {
        for (row, column) in elements(band.height, band.width) {
            let (height, width) = (band.height - row, band.width - column);
            for (height, width) in [(height, width), (1, width), (height, 1), (1, 1)] {
                let origin = [0, 0, row, column];
                let part = band.within(&TensorBox { origin, sizes: [1, 1, height, width] });
                let (first, length) = part.wrapped();
                for (y, x) in elements(height, width) {
                    let number = height - 1 - y + x;
                    let inside = is_inside(begin, end, row + y, column + x);
                    let found = part.parts().iter().any(|p| p.contains(&number));
                    assert_eq!(found, inside, "{band:?} {part:?} {y} {x}");
                    assert_eq!(number.wrapping_sub(first) < length, inside, "{band:?} {part:?}");
                }
            }
        }
    }

    #[test]
    fn agrees_with_the_definition_on_small_matrices() {
        for (height, width) in (1..5).flat_map(|h| (1..5).map(move |w| (h, w))) {
            let bounds = || (-6..=6).chain(EXTREMES);
            for (begin, end) in bounds().flat_map(|begin| bounds().map(move |end| (begin, end))) {
                check(height, width, begin, end);
            }
        }
    }

    #[test]
    fn a_band_of_one_diagonal_is_told_apart() {
        assert_eq!(
            Diagonals::clip(3, 4, 1, 2).single(),
            Some(Diagonal { row: 0, column: 1, length: 3 })
        );
        assert_eq!(
            Diagonals::clip(3, 4, -2, -1).single(),
            Some(Diagonal { row: 2, column: 0, length: 1 })
        );
        assert_eq!(Diagonals::clip(3, 4, 1, 3).single(), None);
        assert_eq!(Diagonals::clip(3, 4, 4, 5).single(), None);
    }

    #[test]
    fn extreme_bands_and_sizes_do_not_wrap() {
        let offset = |height, width, offset: i32| {
            Diagonals::clip(height, width, offset.into(), i64::from(offset) + 1).single()
        };
        assert_eq!(offset(u32::MAX, 1, i32::MIN).map(|d| d.row), Some(1 << 31));
        assert_eq!(offset(1 << 31, 1, i32::MIN), None);
        let last = Diagonal { row: 0, column: i32::MAX.cast_unsigned(), length: 1 };
        assert_eq!(offset(1, 1 << 31, i32::MAX), Some(last));
        assert_eq!(offset(1, i32::MAX.cast_unsigned(), i32::MAX), None);

        let (least, most) = (i64::from(i32::MIN), i64::from(i32::MAX));
        // Beyond what an i32 can name there are diagonals on both sides.
        let wrapped =
            |height, width, begin, end| Diagonals::clip(height, width, begin, end).wrapped();
        let half = 1 << 31;
        assert_eq!(wrapped(1, u32::MAX, most, least), (half - 1, half));
        assert_eq!(wrapped(u32::MAX, 1, most, least), (0, half - 2));
        assert_eq!(wrapped(u32::MAX, 1, least, most), (half - 2, half + 1));
        assert_eq!(Diagonals::clip(u32::MAX, 1, 0, least).parts().len(), 2);
        assert_eq!(Diagonals::clip(65_535, 65_537, -1, 1).wrapped(), (65_533, 2));
        let last = TensorBox { origin: [0, 0, 0, u32::MAX - 1], sizes: [1; 4] };
        assert!(Diagonals::clip(1, u32::MAX, most, least).within(&last).is_everything());
        let last = TensorBox { origin: [0, 0, u32::MAX - 1, 0], sizes: [1; 4] };
        assert!(Diagonals::clip(u32::MAX, 1, least + 1, most).within(&last).parts().is_empty());
        assert!(Diagonals::clip(65_535, 65_537, 1, 1).parts().is_empty());
    }
}
