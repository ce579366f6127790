//! Offsets of indexed elements: the displacement, in elements, for an index into a dimension. The first parameter
//! is the dimension's size, the second its stride.

use super::{Function, Shape, i32, low};
use crate::kernels::INDEX;

/// An element that is displaced by this is neither read nor written.
pub const NOWHERE: u32 = u32::MAX;

functions! {
    /// For an unsigned index; an index outside of the dimension is taken for its last element.
    NEAREST_U32 = INDEX.nearest_u32(1; 2) Alike |a| nearest(a[0].into(), a);
    /// For a signed index: a negative one counts from the end, and at most to the first element.
    NEAREST_I32 = INDEX.nearest_i32(1; 2) Alike |a| nearest(i32(a[0]).into(), a);
    /// As [`NEAREST_U32`], for indices of 64 bits.
    NEAREST_U64 = INDEX.nearest_u64(1; 2) Narrowing |a| nearest(a[0].into(), a);
    /// As [`NEAREST_I32`], for indices of 64 bits.
    NEAREST_I64 = INDEX.nearest_i64(1; 2) Narrowing |a| nearest(a[0].cast_signed().into(), a);
    /// For an unsigned index; [`NOWHERE`] for an index outside of the dimension.
    CHECKED_U32 = INDEX.checked_u32(1; 2) Alike |a| checked(a[0].into(), a);
    /// For a signed index, where a negative one counts from the end; [`NOWHERE`] outside of the dimension.
    CHECKED_I32 = INDEX.checked_i32(1; 2) Alike |a| checked(i32(a[0]).into(), a);
    /// As [`CHECKED_U32`], for indices of 64 bits.
    CHECKED_U64 = INDEX.checked_u64(1; 2) Narrowing |a| checked(a[0].into(), a);
    /// As [`CHECKED_I32`], for indices of 64 bits.
    CHECKED_I64 = INDEX.checked_i64(1; 2) Narrowing |a| checked(a[0].cast_signed().into(), a);
    /// The sum of two offsets; [`NOWHERE`] if one of them is.
    JOINED = INDEX.joined(2) Alike |a| match a.contains(&NOWHERE.into()) {
        true => NOWHERE.into(),
        false => low(a[0]).wrapping_add(low(a[1])).into(),
    };
    /// For an index into a dimension whose leading elements, as many as the second number, at most all,
    /// are reversed.
    REVERSED = INDEX.reversed(2; 2) Alike |a| {
        let end = a[1].min(a[2]);
        scaled(if a[0] < end { end - 1 - a[0] } else { a[0] }, a[3])
    };
    /// The nearest unsigned integer of 32 bits.
    SATURATED_U64 = INDEX.saturated(1) Narrowing |a| a[0].min(u32::MAX.into());
    /// The element itself, for programs that only load a displaced element.
    SAME = INDEX.same(1) Alike |a| a[0];
}

/// The size and the stride, which are the last two arguments.
fn dimension(arguments: &[u64]) -> (i128, u64) {
    (arguments[1].into(), arguments[2])
}

fn nearest(index: i128, arguments: &[u64]) -> u64 {
    let (size, stride) = dimension(arguments);
    let index = if index < 0 { (index + size).max(0) } else { index.min(size - 1) };
    scaled(index as u64, stride)
}

fn checked(index: i128, arguments: &[u64]) -> u64 {
    let (size, stride) = dimension(arguments);
    let index = if index < 0 { index + size } else { index };
    if (0..size).contains(&index) { scaled(index as u64, stride) } else { NOWHERE.into() }
}

fn scaled(index: u64, stride: u64) -> u64 {
    low(index).wrapping_mul(low(stride)).into()
}
