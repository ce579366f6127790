//! Twins of `kernels/functions/windows.glsl`, and of the like for 64 bits: where the elements of windows are.

use super::arithmetic::wide;
use super::{Function, NOWHERE, Shape, low};
use crate::kernels::{WIDE, WINDOWS};

functions! {
    /// How many elements further on, in one dimension, an element of a window is: of its number in the window
    /// and the coordinate where the window begins, modulo 2^32. The parameters are how many numbers make one
    /// step, how many steps there are, how far they lead, the dimension's size, and its stride. [`NOWHERE`]
    /// outside of the dimension.
    TAP = WINDOWS.tap(2; 5) Alike |a| tap(a);
    /// Where the neighbour after an element is, by the element's offset, the neighbour's weight and the stride;
    /// the element itself where the neighbour has no weight. [`NOWHERE`] stays.
    UPPER_NEIGHBOUR = WINDOWS.upper_neighbour(2; 1) Alike |a| match (low(a[0]), a[1]) {
        (NOWHERE, _) | (_, 0) => a[0],
        (offset, _) => offset.wrapping_add(low(a[2])).into(),
    };
    /// The element, or the parameter where the offset beside it is [`NOWHERE`].
    UNLESS_NOWHERE = WINDOWS.unless_nowhere(2; 1) Alike |a| match low(a[1]) {
        NOWHERE => a[2],
        _ => a[0],
    };
    /// The same of 64 bits, the parameter's low word first.
    UNLESS_NOWHERE_64 = WIDE.unless_nowhere(2; 2) Alike |a| match low(a[1]) {
        NOWHERE => wide(&a[2..]),
        _ => a[0],
    };
}

fn tap(a: &[u64]) -> u64 {
    let [number, first, inner, window, dilation, size, stride] =
        [0, 1, 2, 3, 4, 5, 6].map(|at| low(a[at]));
    let step = (number / inner % window).wrapping_mul(dilation);
    match first.wrapping_add(step) {
        coordinate if coordinate < size && number != NOWHERE => {
            coordinate.wrapping_mul(stride).into()
        }
        _ => NOWHERE.into(),
    }
}
