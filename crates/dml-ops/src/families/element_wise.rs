//! Operators that compute each element of the output from the elements at the same coordinates of the
//! inputs: a row for each. Inputs of any strides, 0 included, so broadcasts as well.

mod arithmetic;
#[cfg(feature = "reference")]
pub(crate) mod cases;
mod lowering;
#[cfg(feature = "reference")]
mod reference;
#[cfg(feature = "reference")]
mod tensors;

use dml_core::operators;
use dml_spirv::functions as f;

use crate::Operator;
use arithmetic::{Arithmetic, arithmetic, conversion, scale_bias};
use lowering::lower;
#[cfg(feature = "reference")]
use reference::{ElementWise, exact, rounded};

/// `x`, or `x * Scale + Bias` in single precision.
pub(crate) static ELEMENT_WISE_IDENTITY: Operator = Operator {
    schema: &operators::ELEMENT_WISE_IDENTITY,
    lower: |operator, target| lower(operator, target, scale_bias),
    #[cfg(feature = "reference")]
    reference: &ElementWise {
        schema: &operators::ELEMENT_WISE_IDENTITY,
        element: reference::scale_bias,
        flushed_element: Some(reference::flushed_scale_bias),
    },
};

/// `a + b`; integers wrap around.
pub(crate) static ELEMENT_WISE_ADD: Operator = Operator {
    schema: &operators::ELEMENT_WISE_ADD,
    lower: |operator, target| lower(operator, target, |it| arithmetic(it, &ADD)),
    #[cfg(feature = "reference")]
    reference: &ElementWise {
        schema: &operators::ELEMENT_WISE_ADD,
        element: |operator, x| rounded(operator, x, |x| x[0] + x[1], |x| x[0] + x[1]),
        flushed_element: None,
    },
};

const ADD: Arithmetic = Arithmetic {
    f32: Some(&f::ADD_F32),
    i32: Some(&f::ADD_I32),
    u32: Some(&f::ADD_I32),
    i64: Some(&f::ADD_I64),
    u64: Some(&f::ADD_I64),
    in_bytes: Some(&f::ADD_I8X4),
    in_halves: Some(&f::ADD_I16X2),
};

/// `a / b`; integers are truncated, and what is divided by 0 is 0.
pub(crate) static ELEMENT_WISE_DIVIDE: Operator = Operator {
    schema: &operators::ELEMENT_WISE_DIVIDE,
    lower: |operator, target| lower(operator, target, |it| arithmetic(it, &DIVIDE)),
    #[cfg(feature = "reference")]
    reference: &ElementWise {
        schema: &operators::ELEMENT_WISE_DIVIDE,
        element: |operator, x| {
            rounded(operator, x, |x| x[0] / x[1], |x| x[0].checked_div(x[1]).unwrap_or(0))
        },
        flushed_element: None,
    },
};

const DIVIDE: Arithmetic = Arithmetic {
    f32: Some(&f::DIVIDE_F32),
    i32: Some(&f::DIVIDE_I32),
    u32: Some(&f::DIVIDE_U32),
    i64: Some(&f::DIVIDE_I64),
    u64: Some(&f::DIVIDE_U64),
    in_bytes: None,
    in_halves: None,
};

/// `x` in another type.
pub(crate) static CAST: Operator = Operator {
    schema: &operators::CAST,
    lower: |operator, target| lower(operator, target, conversion),
    #[cfg(feature = "reference")]
    reference: &ElementWise { schema: &operators::CAST, element: exact, flushed_element: None },
};
