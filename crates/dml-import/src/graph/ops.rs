//! What nodes do: one type for each operation that the formats share, and the way it finds its result.

mod arithmetic;
mod index;
mod matrix;
mod operands;
mod shape;
mod slice;
mod values;

use std::fmt::Debug;

use crate::error::Result;
use crate::graph::value::Value;

pub(crate) use arithmetic::{Arithmetic, Unary};
pub(crate) use index::{Concat, Gather};
pub(crate) use matrix::{Eye, EyeLike, Trilu};
pub(crate) use operands::{Budget, Operands};
pub(crate) use shape::{Reshape, ShapeOf, Squeeze, Unsqueeze, Zero};
pub(crate) use slice::Slice;
pub(crate) use values::{Broadcast, Cast, ConstantOfShape, Identity, Literal};

/// An operation with one output.
pub(crate) trait Op: Debug + Send + Sync {
    /// Its output for these operands.
    fn evaluate(&self, operands: &Operands<'_>) -> Result<Value>;
}
