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
    /// How many elements further on an element of a window is: the sum of the first two, of where the window begins and of
    /// how far the element is from there. The coordinates of both, which are added up as well, have a field of bits for
    /// each dimension, whose highest bit is set where they are not below 0, and once the first parameter, the sizes, is
    /// subtracted where they are not below these. The second parameter has these bits alone. [`NOWHERE`] outside.
    INSIDE_OFFSET = WINDOWS.inside_offset(4; 2) Alike |a| {
        let [start, further, first, further_coordinates, sizes, guards] =
            [0, 1, 2, 3, 4, 5].map(|at| low(a[at]));
        let coordinates = first.wrapping_add(further_coordinates);
        match coordinates & !coordinates.wrapping_sub(sizes) & guards == guards {
            true => start.wrapping_add(further).into(),
            false => NOWHERE.into(),
        }
    };
    /// A coordinate of the window that has a number. The parameters are how many numbers make one step, how many
    /// steps there are, how far they lead, and the coordinate of the first one, modulo 2^32.
    WINDOW_AT = WINDOWS.window_at(1; 4) Alike |a| {
        let [number, inner, windows, step, first] = [0, 1, 2, 3, 4].map(|at| low(a[at]));
        first.wrapping_add((number / inner % windows).wrapping_mul(step)).into()
    };
    /// How many elements further on the one of a pair is, `a * weight_a + b * weight_b == position`: `a` is the
    /// candidate with the number, from the last one that is not beyond the position downwards. [`NOWHERE`]
    /// where there is none. The parameters are how many numbers make one step, how many candidates there are,
    /// weight, count and stride of `a`, and weight, stride and count of `b`. No pair leads beyond 2^32.
    PAIR_OF_CANDIDATE = WINDOWS.pair_of_candidate(2; 8) Alike |a| pair_of_candidate(a);
    /// The same where the number says what `a` is, and the element is further on by `b` alone. The parameters
    /// are how many numbers make one step, count and weight of `a`, and count, stride and weight of `b`.
    PAIR_OF_ROW = WINDOWS.pair_of_row(2; 6) Alike |a| pair_of_row(a);
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

fn pair_of_candidate(a: &[u64]) -> u64 {
    let [number, position, inner, candidates, weight, count, stride, weight_b, stride_b, count_b] =
        std::array::from_fn(|at| low(a[at]));
    let last = (position / weight).min(count - 1);
    let Some(index) = last.checked_sub(number / inner % candidates) else { return NOWHERE.into() };
    let other = other_of_pair(position, index, weight, count_b, weight_b);
    let offset = |b: u32| index.wrapping_mul(stride).wrapping_add(b.wrapping_mul(stride_b));
    other.map_or(NOWHERE, offset).into()
}

fn pair_of_row(a: &[u64]) -> u64 {
    let [number, position, inner, count, weight, count_b, stride, weight_b] =
        std::array::from_fn(|at| low(a[at]));
    let other = other_of_pair(position, number / inner % count, weight, count_b, weight_b);
    other.map_or(NOWHERE, |b| b.wrapping_mul(stride)).into()
}

/// The other index of a pair that makes the position.
fn other_of_pair(position: u32, index: u32, weight: u32, count: u32, other: u32) -> Option<u32> {
    let rest = position.checked_sub(index.checked_mul(weight)?)?;
    (rest % other == 0 && rest / other < count).then_some(rest / other)
}
