//! The part of a matrix that a diagonal crosses.

/// The elements `(row + i, column + i)` for `i < length`, all of them inside the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diagonal {
    /// Row of the first element.
    pub row: u32,
    /// Column of the first element.
    pub column: u32,
    /// How many elements, at least 1.
    pub length: u32,
}

impl Diagonal {
    /// Clips the diagonal `row + offset == column` to a matrix. `None` where it misses the matrix.
    ///
    /// The arithmetic is 64-bit, so that nothing wraps for any offset.
    pub fn clip(height: u32, width: u32, offset: i32) -> Option<Self> {
        let offset = i64::from(offset);
        let row = (-offset).max(0);
        let column = offset.max(0);
        let length = (i64::from(height) - row).min(i64::from(width) - column);
        // Row and column are below the sizes wherever the length is positive, so all fit u32.
        let fit = |value: i64| u32::try_from(value).ok();
        let (row, column, length) = (fit(row)?, fit(column)?, fit(length)?);
        (length > 0).then_some(Self { row, column, length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_definition_on_small_matrices() {
        for (height, width) in (1..6).flat_map(|h| (1..6).map(move |w| (h, w))) {
            for offset in -7..=7 {
                let rows = (0..height).flat_map(|y| (0..width).map(move |x| (y, x)));
                let expected: Vec<(u32, u32)> = rows
                    .filter(|(y, x)| i64::from(*y) + i64::from(offset) == i64::from(*x))
                    .collect();
                let found: Vec<(u32, u32)> = Diagonal::clip(height, width, offset)
                    .into_iter()
                    .flat_map(|d| (0..d.length).map(move |i| (d.row + i, d.column + i)))
                    .collect();
                assert_eq!(found, expected, "{height}x{width} offset {offset}");
            }
        }
    }

    #[test]
    fn extreme_offsets_and_sizes_do_not_wrap() {
        assert_eq!(Diagonal::clip(u32::MAX, 1, i32::MIN).map(|d| d.row), Some(1 << 31));
        assert_eq!(Diagonal::clip(1 << 31, 1, i32::MIN), None);
        let last = Diagonal { row: 0, column: i32::MAX.cast_unsigned(), length: 1 };
        assert_eq!(Diagonal::clip(5, 1 << 31, i32::MAX), Some(last));
        assert_eq!(Diagonal::clip(5, i32::MAX.cast_unsigned(), i32::MAX), None);
    }
}
