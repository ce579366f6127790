//! The functions that programs are made of: one row for each, with its GLSL and its twin.
//!
//! A twin computes on the bits of single elements. Bits above an element's width are zero.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "Rust's conversions of floats are those that the functions promise"
)]

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::ElementWidth;
use crate::kernels::{F64, WIDE};
use crate::link::Source;

/// How the element widths of a function's arguments and result relate. A register has four words: four elements
/// of up to 32 bits, or two of 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The result has as many elements to a register as the arguments.
    Alike,
    /// Elements of 32 bits to elements of 64, half of them at a time.
    Widening,
    /// Elements of 64 bits to elements of 32.
    Narrowing,
}

/// A function on elements.
pub struct Function {
    /// The function's name in GLSL.
    pub name: &'static str,
    /// The library that its GLSL is in.
    pub library: &'static Source,
    /// The number of elements that it takes.
    pub arity: usize,
    /// The number of parameters that follow the elements: a word each, the same for all elements.
    pub parameters: usize,
    /// The widths of its arguments and its result.
    pub shape: Shape,
    /// The function for single elements, on the host: arguments first, then parameters.
    pub twin: fn(&[u64]) -> u64,
}

impl Function {
    /// The element widths of the arguments and of the result.
    pub fn widths(&self) -> [ElementWidth; 2] {
        let is_wide = [&WIDE, &F64].iter().any(|it| std::ptr::eq(*it, self.library));
        match self.shape {
            Shape::Alike if is_wide => [ElementWidth::B64; 2],
            Shape::Alike => [ElementWidth::B32; 2],
            Shape::Widening => [ElementWidth::B32, ElementWidth::B64],
            Shape::Narrowing => [ElementWidth::B64, ElementWidth::B32],
        }
    }
}

/// Functions are equal if they are the same row of the table.
impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self).hash(state);
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.library.name, self.name)
    }
}

/// Rows: `NAME = LIBRARY.function(arity) Shape |arguments| twin;`, with `(arity; parameters)` for a function
/// with parameters.
macro_rules! functions {
    ($($(#[$documentation:meta])* $id:ident = $library:ident.$name:ident($arity:literal $(; $parameters:literal)?) $shape:ident |$a:ident| $twin:expr;)*) => {
        $(
            $(#[$documentation])*
            pub static $id: Function = Function {
                name: stringify!($name),
                library: &$library,
                arity: $arity,
                parameters: 0 $(+ $parameters)?,
                shape: Shape::$shape,
                twin: |$a| $twin,
            };
        )*

        pub(super) static ROWS: &[&Function] = &[$(&$id),*];
    };
}

mod activations;
mod arithmetic;
mod conversions;
mod error;
mod exponential;
mod hyperbolic;
mod index;
mod pairs;
mod power;
mod quantization;
mod random;
mod real;
mod reductions;
mod row_shares;
mod sequence;
mod trigonometric;
mod windows;

pub use activations::*;
pub use arithmetic::*;
pub use conversions::*;
pub use error::*;
pub use exponential::*;
pub use hyperbolic::*;
pub use index::*;
pub use power::*;
pub use quantization::*;
pub use random::*;
pub use real::*;
pub use reductions::*;
pub use row_shares::*;
pub use sequence::*;
pub use trigonometric::*;
pub use windows::*;

/// All functions.
pub fn all() -> impl Iterator<Item = &'static Function> {
    let themes = [
        activations::ROWS,
        arithmetic::ROWS,
        conversions::ROWS,
        error::ROWS,
        exponential::ROWS,
        hyperbolic::ROWS,
        index::ROWS,
        power::ROWS,
        quantization::ROWS,
        random::ROWS,
        real::ROWS,
        reductions::ROWS,
        row_shares::ROWS,
        sequence::ROWS,
        trigonometric::ROWS,
        windows::ROWS,
    ];
    themes.into_iter().flatten().copied()
}

fn f32(bits: u64) -> f32 {
    f32::from_bits(low(bits))
}

fn low(bits: u64) -> u32 {
    bits as u32
}

fn i32(bits: u64) -> i32 {
    low(bits).cast_signed()
}

fn word(value: i32) -> u64 {
    value.cast_unsigned().into()
}
