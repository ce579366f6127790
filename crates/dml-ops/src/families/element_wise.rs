//! Operators that compute each element of the output from the elements at the same coordinates of the
//! inputs: a row for each. Inputs of any strides, 0 included, so broadcasts as well.

#[cfg(feature = "reference")]
pub(crate) mod cases;
mod functions;
mod lowering;
mod program;
#[cfg(feature = "reference")]
mod reference;
#[cfg(feature = "reference")]
mod tensors;

use dml_core::operators;
use dml_core::schema::OperatorSchema;
use dml_spirv::functions as f;

use crate::Operator;
use functions::Functions;
use lowering::lower;
#[cfg(feature = "reference")]
use reference::{ElementWise, Oracle};

/// An operator: what computes it, and what it means.
struct Row {
    schema: &'static OperatorSchema,
    functions: Functions,
    #[cfg(feature = "reference")]
    oracle: Oracle,
}

impl Row {
    /// That of an operator of this family.
    fn of(schema: &OperatorSchema) -> Option<&'static Self> {
        ROWS.iter().find(|row| row.schema.operator_type == schema.operator_type)
    }
}

/// Rows: `NAME = functions, oracle;`.
macro_rules! rows {
    ($($name:ident = $functions:expr, $oracle:expr;)*) => {
        static ROWS: &[Row] = &[$(Row {
            schema: &operators::$name,
            functions: $functions,
            #[cfg(feature = "reference")]
            oracle: $oracle,
        }),*];

        /// All of them.
        pub(crate) static OPERATORS: &[&Operator] = &[$(&Operator {
            schema: &operators::$name,
            lower,
            #[cfg(feature = "reference")]
            reference: &ElementWise(&operators::$name),
        }),*];
    };
}

rows! {
    // `x`.
    ELEMENT_WISE_IDENTITY = Functions::NONE, Oracle::bits(|x| x[0]).or_float(|x| x[0]);
    // `a + b`; integers wrap around.
    ELEMENT_WISE_ADD = ADD, Oracle::numbers(|x| x[0] + x[1], |x| x[0] + x[1]);
    // `a / b`; integers are truncated, and what is divided by 0 is 0.
    ELEMENT_WISE_DIVIDE = DIVIDE, Oracle::numbers(|x| x[0] / x[1], |x| x[0].checked_div(x[1]).unwrap_or(0));
    // `x` in another type.
    CAST = Functions::NONE, Oracle::CONVERSION;
}

const ADD: Functions = Functions {
    f32: Some(&f::ADD_F32),
    i32: Some(&f::ADD_I32),
    u32: Some(&f::ADD_I32),
    i64: Some(&f::ADD_I64),
    u64: Some(&f::ADD_I64),
    in_bytes: Some(&f::ADD_I8X4),
    in_halves: Some(&f::ADD_I16X2),
    ..Functions::NONE
};

const DIVIDE: Functions = Functions {
    f32: Some(&f::DIVIDE_F32),
    i32: Some(&f::DIVIDE_I32),
    u32: Some(&f::DIVIDE_U32),
    i64: Some(&f::DIVIDE_I64),
    u64: Some(&f::DIVIDE_U64),
    ..Functions::NONE
};
