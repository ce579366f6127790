//! Coordinates in several dimensions, packed into one word.
//!
//! Each dimension has a field of bits. Its highest bit, the guard, is greater than the distance of any
//! window's element from the range of the dimension. With the guard added to a coordinate, the bit is set
//! where the coordinate is 0 or more, and, after the size is subtracted, where the coordinate is not below
//! the size. So one addition, one subtraction and two bit operations compare the coordinates of all
//! dimensions with their bounds.

use dml_spirv::element_wise::DIMENSIONS;

use super::along::Along;
use crate::ir::space::Operand;
use crate::lowering::tables::word;

/// Bits of a word.
const BITS: u32 = 32;

/// The fields of some dimensions in a word.
#[derive(Clone, Debug)]
pub(super) struct Coordinates {
    /// The coordinates of the first element of each window, with guards added.
    pub(super) of_windows: Operand,
    /// The sizes of the dimensions, and their guards, in their fields.
    pub(super) sizes: u32,
    pub(super) guards: u32,
    /// For each dimension of a space the value of 1 in its field; 0 where it has no field.
    units: [i64; DIMENSIONS],
}

impl Coordinates {
    /// Packs the coordinates of the dimensions that windows go along; `None` if the fields do not fit a word.
    pub(super) fn of<'a>(dimensions: impl Iterator<Item = &'a Along>) -> Option<Self> {
        let mut of_windows = Operand::numbers(0, [0; DIMENSIONS]);
        let (mut sizes, mut guards, mut units) = (0, 0, [0; DIMENSIONS]);
        let mut used = 0;
        for along in dimensions {
            let [lowest, highest] = along.coordinates();
            let size = i64::from(along.size);
            // Every coordinate is below the guard, and every coordinate plus the guard is not below the size.
            let guard =
                (highest + 1).max(size - lowest).cast_unsigned().checked_next_power_of_two()?;
            let bits = guard.ilog2() + 1;
            let unit = 1_i64.checked_shl(used).filter(|_| used + bits <= BITS)?;
            units[along.at] = unit;
            let [first, step] = along.windows_by(unit);
            of_windows.base += first + guard.cast_signed() * unit;
            of_windows.strides[along.at] = step;
            sizes += size * unit;
            guards += guard.cast_signed() * unit;
            used += bits;
        }
        let [sizes, guards] = [sizes, guards].map(|it: i64| word(it.cast_unsigned()));
        Some(Self { of_windows, sizes, guards, units })
    }

    /// The value of 1 in the dimension's field.
    pub(super) fn unit(&self, along: &Along) -> i64 {
        self.units[along.at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows of 3 elements, 2 apart, from 5 before a dimension.
    fn along(at: usize, size: u32) -> Along {
        let (windows, step, dilation, first) = (size + 6, 1, 2, -5);
        Along { at, size, stride: 1, windows, step, window: 3, dilation, first, inner: 1 }
    }

    fn is_inside(coordinates: &Coordinates, word: u32) -> bool {
        let beyond = word.wrapping_sub(coordinates.sizes);
        word & !beyond & coordinates.guards == coordinates.guards
    }

    #[test]
    fn a_word_says_whether_coordinates_are_in_all_dimensions() {
        let all = [along(5, 7), along(6, 8), along(7, 1)];
        let coordinates = Coordinates::of(all.iter()).unwrap();
        let mut inside = 0;
        let windows = all.each_ref().map(|it| it.windows);
        for number in 0..windows.iter().product::<u32>() * 27 {
            let (mut rest, mut window, mut further, mut expected) =
                (number, [0; DIMENSIONS], 0, true);
            for along in &all {
                let at = rest % along.windows;
                let element = rest / along.windows % along.window;
                rest /= along.windows * along.window;
                window[along.at] = at;
                further += coordinates.unit(along) * i64::from(element * along.dilation);
                let coordinate = i64::from(at + element * along.dilation) + along.first;
                expected &= (0..i64::from(along.size)).contains(&coordinate);
            }
            let sum = u32::try_from(coordinates.of_windows.element(window) + further).unwrap();
            assert_eq!(is_inside(&coordinates, sum), expected, "{number}");
            inside += u32::from(expected);
        }
        assert_eq!(inside, 3 * 7 * 3 * 8 * 3);
    }

    #[test]
    fn fields_that_are_more_than_a_word_are_refused() {
        // Of 10 bits each, and of 11.
        let of = |size| Coordinates::of([along(5, size), along(6, size), along(7, size)].iter());
        assert!(of(500).is_some());
        assert!(of(600).is_none());
        assert!(Coordinates::of([along(7, 1 << 30)].iter()).is_some());
        assert!(Coordinates::of([along(7, 1 << 31)].iter()).is_none());
    }
}
