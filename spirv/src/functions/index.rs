//! Where an index leads: how many elements further on, in a dimension with as many elements as the first
//! parameter says, so far apart as the second.

use super::{Function, Shape, i32, low};
use crate::kernels::INDEX;

/// An element that is displaced by this is neither read nor written.
pub const NOWHERE: u32 = u32::MAX;

functions! {
    /// Of an index without a sign; one outside of the dimension leads to its last element.
    NEAREST_U32 = INDEX.nearest_u32(1; 2) Alike |a| nearest(a[0].into(), a);
    /// The same with a sign: below 0 it counts from the end, and leads at most to the first element.
    NEAREST_I32 = INDEX.nearest_i32(1; 2) Alike |a| nearest(i32(a[0]).into(), a);
    /// The same of 64 bits, without a sign.
    NEAREST_U64 = INDEX.nearest_u64(1; 2) Narrowing |a| nearest(a[0].into(), a);
    /// The same of 64 bits.
    NEAREST_I64 = INDEX.nearest_i64(1; 2) Narrowing |a| nearest(a[0].cast_signed().into(), a);
    /// Of an index without a sign; one outside of the dimension leads [`NOWHERE`].
    CHECKED_U32 = INDEX.checked_u32(1; 2) Alike |a| checked(a[0].into(), a);
    /// The same with a sign: below 0 it counts from the end.
    CHECKED_I32 = INDEX.checked_i32(1; 2) Alike |a| checked(i32(a[0]).into(), a);
    /// The same of 64 bits, without a sign.
    CHECKED_U64 = INDEX.checked_u64(1; 2) Narrowing |a| checked(a[0].into(), a);
    /// The same of 64 bits.
    CHECKED_I64 = INDEX.checked_i64(1; 2) Narrowing |a| checked(a[0].cast_signed().into(), a);
    /// Where two indices lead together; [`NOWHERE`] where one of them does.
    JOINED = INDEX.joined(2) Alike |a| match a.contains(&NOWHERE.into()) {
        true => NOWHERE.into(),
        false => low(a[0]).wrapping_add(low(a[1])).into(),
    };
    /// Of an index once as many elements as the second number says are reversed, at most all.
    REVERSED = INDEX.reversed(2; 2) Alike |a| {
        let end = a[1].min(a[2]);
        scaled(if a[0] < end { end - 1 - a[0] } else { a[0] }, a[3])
    };
    /// The nearest number of 32 bits.
    SATURATED_U64 = INDEX.saturated(1) Narrowing |a| a[0].min(u32::MAX.into());
    /// The element as it is: what a program gives that only loads a displaced one.
    SAME = INDEX.same(1) Alike |a| a[0];
}

/// The last two of the arguments: the size and the stride.
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
