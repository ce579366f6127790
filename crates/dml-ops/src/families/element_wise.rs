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
use lowering::{form, lower};
#[cfg(feature = "reference")]
use reference::{ElementWise, Oracle, maximum, minimum, single};

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
            form: Some(form),
            #[cfg(feature = "reference")]
            reference: &ElementWise(&operators::$name),
        }),*];
    };
}

/// The functions of an operator, by the types that each is for.
macro_rules! functions {
    ($($types:ident $function:ident),* $(; $flag:ident)?) => {
        Functions { $($types: Some(&f::$function),)* $($flag: true,)? ..Functions::NONE }
    };
}

rows! {
    // `x`.
    ELEMENT_WISE_IDENTITY = Functions::NONE, Oracle::bits(|x| x[0]).or_float(|x| x[0]);
    // `a + b`; integers wrap around.
    ELEMENT_WISE_ADD = ADD, Oracle::numbers(|x| x[0] + x[1], |x| x[0] + x[1]);
    ELEMENT_WISE_ADD1 = ADD, Oracle::numbers(|x| x[0] + x[1], |x| x[0] + x[1]);
    // `a / b`; integers are truncated, and what is divided by 0 is 0.
    ELEMENT_WISE_DIVIDE =
        functions!(f32 DIVIDE_F32, i32 DIVIDE_I32, u32 DIVIDE_U32, i64 DIVIDE_I64, u64 DIVIDE_U64),
        Oracle::numbers(|x| x[0] / x[1], |x| x[0].checked_div(x[1]).unwrap_or(0));
    // `a - b`; integers wrap around.
    ELEMENT_WISE_SUBTRACT =
        functions!(f32 SUBTRACT_F32, i32 SUBTRACT_I32, u32 SUBTRACT_I32, i64 SUBTRACT_I64,
            u64 SUBTRACT_I64),
        Oracle::numbers(|x| x[0] - x[1], |x| x[0] - x[1]);
    // `a * b`; integers wrap around.
    ELEMENT_WISE_MULTIPLY =
        functions!(f32 MULTIPLY_F32, i32 MULTIPLY_I32, u32 MULTIPLY_I32, i64 MULTIPLY_I64,
            u64 MULTIPLY_I64),
        Oracle::steps(|x, _| x[0] * x[1]).or_integers(|x| x[0].wrapping_mul(x[1]));
    // `(a - b)^2`; integers wrap around.
    ELEMENT_WISE_DIFFERENCE_SQUARE =
        functions!(f32 DIFFERENCE_SQUARE_F32, i32 DIFFERENCE_SQUARE_I32, u32 DIFFERENCE_SQUARE_I32),
        Oracle::steps(|x, step| step(single(x[0] - x[1])).powi(2)).or_integers(|x| (x[0] - x[1]).pow(2));
    // `max(a, b)`; a NaN stays one.
    ELEMENT_WISE_MAX =
        functions!(f32 MAXIMUM_F32, i32 MAXIMUM_I32, u32 MAXIMUM_U32, i64 MAXIMUM_I64,
            u64 MAXIMUM_U64),
        Oracle::numbers(|x| maximum(x[0], x[1]), |x| x[0].max(x[1]));
    // `min(a, b)`; a NaN stays one.
    ELEMENT_WISE_MIN =
        functions!(f32 MINIMUM_F32, i32 MINIMUM_I32, u32 MINIMUM_U32, i64 MINIMUM_I64,
            u64 MINIMUM_U64),
        Oracle::numbers(|x| minimum(x[0], x[1]), |x| x[0].min(x[1]));
    // `|x|`; the least integer is itself.
    ELEMENT_WISE_ABS = functions!(f32 ABSOLUTE_F32, i32 ABSOLUTE_I32, i64 ABSOLUTE_I64),
        Oracle::numbers(|x| x[0].abs(), |x| x[0].abs());
    // `-x`; the least integer is itself.
    ELEMENT_WISE_NEGATE = functions!(f32 OPPOSITE_F32, i32 OPPOSITE_I32, i64 OPPOSITE_I64),
        Oracle::numbers(|x| -x[0], |x| -x[0]);
    // `min(max(x, Min), Max)`; a NaN stays one.
    ELEMENT_WISE_CLIP1 =
        functions!(f32 CLIP_F32, i32 CLIP_I32, u32 CLIP_U32, i64 CLIP_I64, u64 CLIP_U64),
        Oracle::numbers(|x| minimum(maximum(x[0], x[1]), x[2]), |x| x[0].max(x[1]).min(x[2]));
    // `a < b`.
    ELEMENT_WISE_LOGICAL_LESS_THAN =
        functions!(f32 LESS_THAN_F32, i32 LESS_THAN_I32, u32 LESS_THAN_U32, i64 LESS_THAN_I64,
            u64 LESS_THAN_U64; give_integers),
        Oracle::numbers(|x| f64::from(x[0] < x[1]), |x| i128::from(x[0] < x[1]));
    // `a <= b`, `a > b`, `a >= b` and `a == b`.
    ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL =
        functions!(f32 AT_MOST_F32, i32 AT_MOST_I32, u32 AT_MOST_U32, i64 AT_MOST_I64, u64 AT_MOST_U64;
            give_integers),
        Oracle::numbers(|x| f64::from(x[0] <= x[1]), |x| i128::from(x[0] <= x[1]));
    ELEMENT_WISE_LOGICAL_GREATER_THAN =
        functions!(f32 GREATER_THAN_F32, i32 GREATER_THAN_I32, u32 GREATER_THAN_U32, i64 GREATER_THAN_I64, u64 GREATER_THAN_U64;
            give_integers),
        Oracle::numbers(|x| f64::from(x[0] > x[1]), |x| i128::from(x[0] > x[1]));
    ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL =
        functions!(f32 AT_LEAST_F32, i32 AT_LEAST_I32, u32 AT_LEAST_U32, i64 AT_LEAST_I64, u64 AT_LEAST_U64;
            give_integers),
        Oracle::numbers(|x| f64::from(x[0] >= x[1]), |x| i128::from(x[0] >= x[1]));
    ELEMENT_WISE_LOGICAL_EQUALS =
        functions!(f32 EQUALS_F32, i32 EQUALS_I32, u32 EQUALS_I32, i64 EQUALS_I64, u64 EQUALS_I64;
            give_integers),
        Oracle::numbers(|x| f64::from(x[0] == x[1]), |x| i128::from(x[0] == x[1]));
    // What is not 0 is true.
    ELEMENT_WISE_LOGICAL_AND = functions!(word LOGICAL_AND_WORD),
        Oracle::bits(|x| (x[0] != 0 && x[1] != 0).into());
    ELEMENT_WISE_LOGICAL_OR = functions!(word LOGICAL_OR_WORD),
        Oracle::bits(|x| (x[0] != 0 || x[1] != 0).into());
    ELEMENT_WISE_LOGICAL_XOR = functions!(word LOGICAL_XOR_WORD),
        Oracle::bits(|x| ((x[0] != 0) != (x[1] != 0)).into());
    ELEMENT_WISE_LOGICAL_NOT = functions!(word LOGICAL_NOT_WORD),
        Oracle::bits(|x| (x[0] == 0).into());
    // Bit by bit.
    ELEMENT_WISE_BIT_AND = functions!(word BIT_AND_WORD, wide BIT_AND_WIDE),
        Oracle::bits(|x| x[0] & x[1]);
    ELEMENT_WISE_BIT_OR = functions!(word BIT_OR_WORD, wide BIT_OR_WIDE),
        Oracle::bits(|x| x[0] | x[1]);
    ELEMENT_WISE_BIT_XOR = functions!(word BIT_XOR_WORD, wide BIT_XOR_WIDE),
        Oracle::bits(|x| x[0] ^ x[1]);
    ELEMENT_WISE_BIT_NOT = functions!(word BIT_NOT_WORD, wide BIT_NOT_WIDE), Oracle::bits(|x| !x[0]);
    // `condition != 0 ? a : b`.
    ELEMENT_WISE_IF =
        functions!(word CHOOSE_WORD, wide CHOOSE_WIDE),
        Oracle::bits(|x| if x[0] == 0 { x[2] } else { x[1] });
    // How many bits of `x` are set.
    ELEMENT_WISE_BIT_COUNT = functions!(word BIT_COUNT_WORD, wide BIT_COUNT_WIDE; give_integers),
        Oracle::bits(|x| x[0].count_ones().into());
    // `max(x, 0)`; a NaN stays one.
    ACTIVATION_RELU =
        functions!(f32 RELU_F32, i32 RELU_I32),
        Oracle::numbers(|x| maximum(x[0], 0.0), |x| x[0].max(0));
    // `x`.
    ACTIVATION_IDENTITY = Functions::NONE, Oracle::bits(|x| x[0]).or_float(|x| x[0]);
    // `Alpha * x + Beta`.
    ACTIVATION_LINEAR = functions!(f32 SCALE_BIAS_F32),
        Oracle::steps(|x, step| step(single(step(x[0] * x[1]))) + x[2]);
    // `x < 0 ? Alpha * x : x`, where -0 is below 0: on a device that takes it for a subnormal number as well.
    ACTIVATION_LEAKY_RELU = functions!(f32 LEAKY_RELU_F32),
        Oracle::steps(|x, _| if x[0].is_sign_negative() { x[0] * x[1] } else { x[0] });
    // `x` in another type.
    CAST = Functions::NONE, Oracle::CONVERSION;
}

const ADD: Functions = functions!(f32 ADD_F32, i32 ADD_I32, u32 ADD_I32, i64 ADD_I64, u64 ADD_I64,
    in_bytes ADD_I8X4, in_halves ADD_I16X2);
