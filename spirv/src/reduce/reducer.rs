//! The operations that reduce the elements of a row to one element.

use std::fmt;
use std::hash::{Hash, Hasher};

use super::Elements;
use crate::ElementWidth;
use crate::functions::{self as f, Function};

/// An operation that joins two states to one, in any order, and its neutral state.
///
/// A state is a number, or a number of 32 bits and what rounding has lost of it: an element is a state that has
/// lost nothing.
pub struct Reducer {
    name: &'static str,
    /// The neutral state: its numbers of 32 bits, or the words of its one number of 64 bits, the low word
    /// first.
    pub(super) neutral: [u32; 2],
    /// One function for each number of the joined state, with the numbers of both states as arguments.
    pub(super) join: &'static [&'static Function],
    /// The function, at most one, that computes the result from the numbers of the state. Without it
    /// the number is the result.
    pub(super) result: &'static [&'static Function],
}

impl Reducer {
    /// The width of the elements that it joins.
    pub fn width(&self) -> ElementWidth {
        self.join[0].widths()[0]
    }

    /// The width of its result.
    pub fn output_width(&self) -> ElementWidth {
        self.result.first().map_or(self.width(), |it| it.widths()[1])
    }

    /// The reducer for parts of a row, whose results are joined later: itself if a state is one number,
    /// else a reducer
    /// that gives states.
    pub fn of_parts(&'static self) -> &'static Self {
        match self.join {
            [_] => self,
            _ if *self == RANGE_F32 => self,
            [high, ..] if *high == PRODUCT_F32.join[0] => &PRODUCT_STATE_F32,
            _ => &SUM_STATE_F32,
        }
    }

    /// Whether its result is a state, of two words.
    pub fn gives_states(&self) -> bool {
        self.output_width() != self.width()
    }

    /// One function for each number of the joined state, with the numbers of both states as arguments.
    pub fn joins(&self) -> &'static [&'static Function] {
        self.join
    }

    /// The function, at most one, that computes the result from the numbers of the state. Without it
    /// the number is the result.
    pub fn results(&self) -> &'static [&'static Function] {
        self.result
    }

    /// Whether the result is independent of the order of the elements: states are single numbers, and
    /// nothing is rounded.
    pub fn has_any_order(&self) -> bool {
        self.join.len() == 1 && *self != ROUNDED_SUM_F32
    }

    /// The elements that the results of parts are, when they are joined.
    pub fn parts(&self) -> Elements {
        if self.has_any_order() { Elements::Values } else { Elements::States }
    }

    /// Whether an element may be joined several times: the result is the least or the greatest element, or both.
    pub fn is_idempotent(&self) -> bool {
        let extremes: [&Function; 12] = [
            &f::MINIMUM_F32,
            &f::MAXIMUM_F32,
            &f::MINIMUM_I32,
            &f::MAXIMUM_I32,
            &f::MINIMUM_U32,
            &f::MAXIMUM_U32,
            &f::MINIMUM_I64,
            &f::MAXIMUM_I64,
            &f::MINIMUM_U64,
            &f::MAXIMUM_U64,
            &f::RANGE_HIGH_F32,
            &f::RANGE_LOW_F32,
        ];
        self.join.iter().all(|join| extremes.iter().any(|it| std::ptr::eq(*it, *join)))
    }

    /// Whether a register has two lanes of 64 bits.
    pub(crate) fn is_wide(&self) -> bool {
        self.width() == ElementWidth::B64
    }

    /// The number of registers that the state of a quad has.
    pub(super) fn registers(&self) -> usize {
        if self.is_wide() { 2 } else { self.join.len() }
    }
}

/// Reducers are equal if they are the same row of the table.
impl PartialEq for Reducer {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Reducer {}

impl Hash for Reducer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self).hash(state);
    }
}

impl fmt::Debug for Reducer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Rows: `NAME = "name" neutral, functions => result;`.
macro_rules! reducers {
    ($($(#[$documentation:meta])* $id:ident = $name:literal $neutral:expr, [$($join:ident),*] $(=> $result:ident)?;)*) => {
        $(
            $(#[$documentation])*
            pub static $id: Reducer = Reducer {
                name: $name,
                neutral: $neutral,
                join: &[$(&f::$join),*],
                result: &[$(&f::$result)?],
            };
        )*

        /// All reducers.
        pub static REDUCERS: &[&Reducer] = &[$(&$id),*];
    };
}

reducers! {
    /// The least number; NaN if there is one.
    LEAST_F32 = "least_f32" [0x7f80_0000; 2], [MINIMUM_F32];
    /// The product of numbers, in about twice the precision and rounded once.
    PRODUCT_F32 = "product_f32" [0x3f80_0000, 0], [PRODUCT_HIGH_F32, PRODUCT_REST_F32] => SUM_F32;
    /// The sum of numbers, each addition rounded, as in the product of a matrix and a vector.
    ROUNDED_SUM_F32 = "rounded_sum_f32" [0x8000_0000; 2], [ADD_F32];
    /// The sum of integers of 32 bits; overflow wraps.
    SUM_I32 = "sum_i32" [0; 2], [ADD_I32];
    /// The sum of integers of 64 bits; overflow wraps.
    SUM_I64 = "sum_i64" [0; 2], [ADD_I64];
    /// The product of integers of 32 bits; overflow wraps.
    PRODUCT_I32 = "product_i32" [1; 2], [MULTIPLY_I32];
    /// The product of integers of 64 bits; overflow wraps.
    PRODUCT_I64 = "product_i64" [1, 0], [MULTIPLY_I64];
    /// The greatest signed integer of 32 bits.
    GREATEST_I32 = "greatest_i32" [1 << 31; 2], [MAXIMUM_I32];
    /// The greatest unsigned integer of 32 bits.
    GREATEST_U32 = "greatest_u32" [0; 2], [MAXIMUM_U32];
    /// The greatest signed integer of 64 bits.
    GREATEST_I64 = "greatest_i64" [0, 1 << 31], [MAXIMUM_I64];
    /// The greatest unsigned integer of 64 bits.
    GREATEST_U64 = "greatest_u64" [0; 2], [MAXIMUM_U64];
    /// The least signed integer of 32 bits.
    LEAST_I32 = "least_i32" [u32::MAX >> 1; 2], [MINIMUM_I32];
    /// The least signed integer of 64 bits.
    LEAST_I64 = "least_i64" [u32::MAX, u32::MAX >> 1], [MINIMUM_I64];
    /// The least unsigned integer of 64 bits.
    LEAST_U64 = "least_u64" [u32::MAX; 2], [MINIMUM_U64];
    /// The greatest number; NaN if there is one.
    GREATEST_F32 = "greatest_f32" [0xff80_0000; 2], [MAXIMUM_F32];
    /// The sum of numbers, in about twice the precision and rounded once.
    SUM_F32 = "sum_f32" [0x8000_0000; 2], [SUM_HIGH_F32, SUM_REST_F32] => SUM_F32;
    /// The logarithm of [`SUM_F32`]'s sum.
    LOG_SUM_F32 = "log_sum_f32" [0x8000_0000; 2], [SUM_HIGH_F32, SUM_REST_F32] => LOG_SUM_F32;
    /// The state of a sum: in the low word the rounded sum, and in the high word its rounding error.
    SUM_STATE_F32 = "sum_state_f32" [0x8000_0000; 2], [SUM_HIGH_F32, SUM_REST_F32] => PAIR;
    /// The state of a product: in the low word the rounded product, and in the high word its rounding error.
    PRODUCT_STATE_F32 = "product_state_f32" [0x3f80_0000, 0], [PRODUCT_HIGH_F32, PRODUCT_REST_F32] => PAIR;
    /// The range of numbers and 0: in the low word the greatest number, or 0 if it is negative; the least number, or 0 if
    /// it is positive, is the lesser of both words and 0. NaN in both words if there is one.
    RANGE_F32 = "range_f32" [0, 0], [RANGE_HIGH_F32, RANGE_LOW_F32] => PAIR;
    /// The least unsigned integer of 32 bits.
    LEAST_U32 = "least_u32" [u32::MAX; 2], [MINIMUM_U32];
}
