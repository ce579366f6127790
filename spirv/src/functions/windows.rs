//! Twins of `kernels/functions/windows.glsl`, and of its 64-bit function: offsets of the elements of
//! pooling windows.

use super::arithmetic::wide;
use super::{Function, NOWHERE, Shape, low};
use crate::kernels::{WIDE, WINDOWS};

functions! {
    /// The offset in elements, along one dimension, of a window's element: of its number in the window and the
    /// coordinate where the window begins, modulo 2^32. The parameters are the numbers in one step, the window's
    /// size, the dilation, the dimension's size and its stride. [`NOWHERE`] outside of the dimension.
    TAP = WINDOWS.tap(2; 5) Alike |a| tap(a);
    /// The offset in elements of a window's element: the sum of the window's first element and the element's
    /// distance from it. Their coordinates are added up as well: they have a field of bits for each
    /// dimension, whose highest bit is set in coordinates of at least 0, and after the sizes, the first
    /// parameter, are subtracted, in coordinates beyond the size. The second parameter has these bits alone.
    /// [`NOWHERE`] outside of the tensor.
    INSIDE_OFFSET = WINDOWS.inside_offset(4; 2) Alike |a| {
        let [start, further, first, further_coordinates, sizes, guards] =
            [0, 1, 2, 3, 4, 5].map(|at| low(a[at]));
        let coordinates = first.wrapping_add(further_coordinates);
        match coordinates & !coordinates.wrapping_sub(sizes) & guards == guards {
            true => start.wrapping_add(further).into(),
            false => NOWHERE.into(),
        }
    };
    /// A coordinate of the window with a number. The parameters are the numbers in one step, the count of windows,
    /// the step between windows, and the coordinate of the first one, modulo 2^32.
    WINDOW_AT = WINDOWS.window_at(1; 4) Alike |a| {
        let [number, inner, windows, step, first] = [0, 1, 2, 3, 4].map(|at| low(a[at]));
        first.wrapping_add((number / inner % windows).wrapping_mul(step)).into()
    };
    /// The offset of a pair with `a * weight_a + b * weight_b == position`, where `a` is the candidate with
    /// the number, from the last one that is not beyond the position downwards; [`NOWHERE`] if there is no
    /// such `b`. The parameters are the numbers in one step, the count of candidates, weight, count and
    /// stride of `a`, and weight, stride and count of `b`. No offset is above 2^32.
    PAIR_OF_CANDIDATE = WINDOWS.pair_of_candidate(2; 8) Alike |a| pair_of_candidate(a);
    /// The offset of `b` in the pair whose `a` the number gives. The parameters are the numbers in one
    /// step, count and weight of `a`, and count, stride and weight of `b`. [`NOWHERE`] if there is no such
    /// pair.
    PAIR_OF_ROW = WINDOWS.pair_of_row(2; 6) Alike |a| pair_of_row(a);
    /// The offset of the element after one, from the element's offset, the next one's weight and the stride. The
    /// element's own offset if the weight is 0. [`NOWHERE`] stays.
    UPPER_NEIGHBOUR = WINDOWS.upper_neighbour(2; 1) Alike |a| match (low(a[0]), a[1]) {
        (NOWHERE, _) | (_, 0) => a[0],
        (offset, _) => offset.wrapping_add(low(a[2])).into(),
    };
    /// The element, or the parameter if the offset beside it is [`NOWHERE`].
    UNLESS_NOWHERE = WINDOWS.unless_nowhere(2; 1) Alike |a| match low(a[1]) {
        NOWHERE => a[2],
        _ => a[0],
    };
    /// As [`UNLESS_NOWHERE`], for elements of 64 bits. The parameter has two words, the low one first.
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

/// The other index of a pair that adds up to the position; `None` if there is none.
fn other_of_pair(position: u32, index: u32, weight: u32, count: u32, other: u32) -> Option<u32> {
    let rest = position.checked_sub(index.checked_mul(weight)?)?;
    (rest % other == 0 && rest / other < count).then_some(rest / other)
}
