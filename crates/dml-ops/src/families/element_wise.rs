//! Operators that compute each element of the output from the elements at the same coordinates of the
//! inputs: a row for each. Inputs of any strides, 0 included, so broadcasts as well.

#[cfg(test)]
mod accuracy;
mod functions;
mod lowering;
mod program;
mod quantized_add;

use dml_core::operators;
use dml_core::schema::OperatorSchema;
use dml_spirv::functions as f;

use crate::Operator;
use functions::Functions;
use lowering::lower;
pub(crate) use program::{activated, fused};

/// An operator, and the functions that compute it.
struct FunctionsOfOperator {
    schema: &'static OperatorSchema,
    functions: Functions,
}

impl FunctionsOfOperator {
    /// The row of an operator of this family.
    fn of(schema: &OperatorSchema) -> Option<&'static Self> {
        ROWS.iter().find(|row| row.schema.operator_type == schema.operator_type)
    }
}

/// The lowering of a row: the common one, or the row's own.
macro_rules! lowering {
    () => {
        lower
    };
    ($lower:path) => {
        $lower
    };
}
/// Rows: `NAME = functions;`, with a lowering of its own after them where there is one.
macro_rules! rows {
    ($($name:ident = $functions:expr $(, $lower:path)?;)*) => {
        static ROWS: &[FunctionsOfOperator] = &[$(FunctionsOfOperator {
            schema: &operators::$name,
            functions: $functions,
        }),*];

        /// All operators of the family.
        pub(crate) static OPERATORS: &[&Operator] = &[$(&Operator {
            schema: &operators::$name,
            program: lowering!($($lower)?),
        }),*];
    };
}

/// The functions of an operator, each with the data type that it is for.
macro_rules! functions {
    ($($types:ident $function:ident),* $(; $flag:ident)?) => {
        Functions { $($types: Some(&f::$function),)* $($flag: true,)? ..Functions::NONE }
    };
}

rows! {
    ELEMENT_WISE_IDENTITY = Functions::NONE;
    ELEMENT_WISE_ADD = ADD;
    ELEMENT_WISE_ADD1 = ADD;
    ELEMENT_WISE_DIVIDE =
        functions!(f32 DIVIDE_F32, i32 DIVIDE_I32, u32 DIVIDE_U32, i64 DIVIDE_I64, u64 DIVIDE_U64);
    ELEMENT_WISE_SUBTRACT =
        functions!(f32 SUBTRACT_F32, i32 SUBTRACT_I32, u32 SUBTRACT_I32, i64 SUBTRACT_I64,
            u64 SUBTRACT_I64);
    ELEMENT_WISE_MULTIPLY =
        functions!(f32 MULTIPLY_F32, i32 MULTIPLY_I32, u32 MULTIPLY_I32, i64 MULTIPLY_I64,
            u64 MULTIPLY_I64);
    ELEMENT_WISE_DIFFERENCE_SQUARE =
        functions!(f32 DIFFERENCE_SQUARE_F32, i32 DIFFERENCE_SQUARE_I32, u32 DIFFERENCE_SQUARE_I32);
    ELEMENT_WISE_MAX =
        functions!(f32 MAXIMUM_F32, i32 MAXIMUM_I32, u32 MAXIMUM_U32, i64 MAXIMUM_I64,
            u64 MAXIMUM_U64);
    ELEMENT_WISE_MIN =
        functions!(f32 MINIMUM_F32, i32 MINIMUM_I32, u32 MINIMUM_U32, i64 MINIMUM_I64,
            u64 MINIMUM_U64);
    ELEMENT_WISE_ABS = functions!(f32 ABSOLUTE_F32, i32 ABSOLUTE_I32, i64 ABSOLUTE_I64);
    ELEMENT_WISE_NEGATE = functions!(f32 OPPOSITE_F32, i32 OPPOSITE_I32, i64 OPPOSITE_I64);
    ELEMENT_WISE_CEIL = functions!(f32 CEIL_F32);
    ELEMENT_WISE_FLOOR = functions!(f32 FLOOR_F32);
    ELEMENT_WISE_ROUND = functions!(f32 ROUND_F32);
    ELEMENT_WISE_SIGN =
        functions!(f32 SIGN_F32, i32 SIGN_I32, u32 SIGN_U32, i64 SIGN_I64, u64 SIGN_U64);
    ELEMENT_WISE_CLIP = CLIP;
    ELEMENT_WISE_CLIP1 = CLIP;
    ELEMENT_WISE_THRESHOLD = functions!(f32 THRESHOLD_F32, i32 THRESHOLD_I32, u32 THRESHOLD_U32);
    ELEMENT_WISE_MEAN = functions!(f32 MEAN_F32, i32 MEAN_I32, u32 MEAN_U32);
    ELEMENT_WISE_RECIP = functions!(f32 RECIPROCAL_F32);
    ELEMENT_WISE_SQRT = functions!(f32 SQUARE_ROOT_F32);
    ELEMENT_WISE_MODULUS_TRUNCATE =
        functions!(f32 MODULUS_TRUNCATE_F32, i32 MODULUS_TRUNCATE_I32, u32 MODULUS_U32,
            i64 MODULUS_TRUNCATE_I64, u64 MODULUS_U64);
    ELEMENT_WISE_MODULUS_FLOOR =
        functions!(f32 MODULUS_FLOOR_F32, i32 MODULUS_FLOOR_I32, u32 MODULUS_U32,
            i64 MODULUS_FLOOR_I64, u64 MODULUS_U64);
    ELEMENT_WISE_IS_NAN = functions!(f32 IS_NAN_F32; give_integers);
    ELEMENT_WISE_IS_INFINITY = functions!(f32 IS_INFINITY_F32; give_integers);
    ELEMENT_WISE_BIT_SHIFT_LEFT = functions!(u32 SHIFT_LEFT_U32, u64 SHIFT_LEFT_U64);
    ELEMENT_WISE_BIT_SHIFT_RIGHT = functions!(u32 SHIFT_RIGHT_U32, u64 SHIFT_RIGHT_U64);
    ELEMENT_WISE_LOGICAL_LESS_THAN =
        functions!(f32 LESS_THAN_F32, i32 LESS_THAN_I32, u32 LESS_THAN_U32, i64 LESS_THAN_I64,
            u64 LESS_THAN_U64; give_integers);
    ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL =
        functions!(f32 AT_MOST_F32, i32 AT_MOST_I32, u32 AT_MOST_U32, i64 AT_MOST_I64, u64 AT_MOST_U64;
            give_integers);
    ELEMENT_WISE_LOGICAL_GREATER_THAN =
        functions!(f32 GREATER_THAN_F32, i32 GREATER_THAN_I32, u32 GREATER_THAN_U32, i64 GREATER_THAN_I64, u64 GREATER_THAN_U64;
            give_integers);
    ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL =
        functions!(f32 AT_LEAST_F32, i32 AT_LEAST_I32, u32 AT_LEAST_U32, i64 AT_LEAST_I64, u64 AT_LEAST_U64;
            give_integers);
    ELEMENT_WISE_LOGICAL_EQUALS =
        functions!(f32 EQUALS_F32, i32 EQUALS_I32, u32 EQUALS_I32, i64 EQUALS_I64, u64 EQUALS_I64;
            give_integers);
    ELEMENT_WISE_LOGICAL_AND = functions!(word LOGICAL_AND_WORD);
    ELEMENT_WISE_LOGICAL_OR = functions!(word LOGICAL_OR_WORD);
    ELEMENT_WISE_LOGICAL_XOR = functions!(word LOGICAL_XOR_WORD);
    ELEMENT_WISE_LOGICAL_NOT = functions!(word LOGICAL_NOT_WORD);
    ELEMENT_WISE_BIT_AND = functions!(word BIT_AND_WORD, wide BIT_AND_WIDE);
    ELEMENT_WISE_BIT_OR = functions!(word BIT_OR_WORD, wide BIT_OR_WIDE);
    ELEMENT_WISE_BIT_XOR = functions!(word BIT_XOR_WORD, wide BIT_XOR_WIDE);
    ELEMENT_WISE_BIT_NOT = functions!(word BIT_NOT_WORD, wide BIT_NOT_WIDE);
    ELEMENT_WISE_IF = functions!(word CHOOSE_WORD, wide CHOOSE_WIDE);
    ELEMENT_WISE_BIT_COUNT = functions!(word BIT_COUNT_WORD, wide BIT_COUNT_WIDE; give_integers);
    ACTIVATION_RELU = functions!(f32 RELU_F32, i32 RELU_I32);
    ACTIVATION_IDENTITY = Functions::NONE;
    ACTIVATION_LINEAR = functions!(f32 SCALE_BIAS_F32);
    ACTIVATION_LEAKY_RELU = functions!(f32 LEAKY_RELU_F32);
    ACTIVATION_PARAMETERIZED_RELU =
        functions!(f32 PARAMETERIZED_RELU_F32, i32 PARAMETERIZED_RELU_I32);
    ACTIVATION_THRESHOLDED_RELU = functions!(f32 THRESHOLDED_RELU_F32);
    ACTIVATION_HARD_SIGMOID = functions!(f32 HARD_SIGMOID_F32);
    ACTIVATION_HARD_SWISH = functions!(f32 HARD_SWISH_F32);
    ACTIVATION_SOFTSIGN = functions!(f32 SOFTSIGN_F32);
    ACTIVATION_SHRINK = functions!(f32 SHRINK_F32, i32 SHRINK_I32, u32 SHRINK_U32);
    ACTIVATION_RELU_GRAD = functions!(f32 RELU_GRADIENT_F32, i32 RELU_GRADIENT_I32);
    ELEMENT_WISE_CLIP_GRAD = CLIP_GRADIENT;
    ELEMENT_WISE_CLIP_GRAD1 = CLIP_GRADIENT;
    ELEMENT_WISE_QUANTIZE_LINEAR = functions!(f32 QUANTIZE_F32; in_single);
    ELEMENT_WISE_DEQUANTIZE_LINEAR =
        functions!(i32 DEQUANTIZE_I32, u32 DEQUANTIZE_U32, small DEQUANTIZE_SMALL);
    ELEMENT_WISE_QUANTIZED_LINEAR_ADD = Functions::NONE, quantized_add::lower;
    ELEMENT_WISE_EXP = functions!(f32 EXP_F32);
    ELEMENT_WISE_LOG = functions!(f32 LOG_F32);
    ELEMENT_WISE_TANH = functions!(f32 TANH_F32);
    ELEMENT_WISE_ERF = functions!(f32 ERF_F32);
    ACTIVATION_TANH = functions!(f32 TANH_F32);
    ACTIVATION_SCALED_TANH = functions!(f32 SCALED_TANH_F32);
    ACTIVATION_SIGMOID = functions!(f32 SIGMOID_F32);
    ACTIVATION_SWISH = functions!(f32 SWISH_F32);
    ACTIVATION_GELU = functions!(f32 GELU_F32);
    ACTIVATION_ELU = functions!(f32 ELU_F32);
    ACTIVATION_CELU = functions!(f32 CELU_F32);
    ACTIVATION_SCALED_ELU = functions!(f32 SCALED_ELU_F32);
    ACTIVATION_SOFTPLUS = functions!(f32 SOFTPLUS_F32);
    ACTIVATION_PARAMETRIC_SOFTPLUS = functions!(f32 PARAMETRIC_SOFTPLUS_F32);
    ELEMENT_WISE_POW = functions!(f32 POW_F32, i32 POW_I32, u32 POW_U32, u32_i32 POW_U32_I32);
    ELEMENT_WISE_CONSTANT_POW = functions!(f32 CONSTANT_POW_F32);
    ELEMENT_WISE_SIN = functions!(f32 SIN_F32);
    ELEMENT_WISE_COS = functions!(f32 COS_F32);
    ELEMENT_WISE_TAN = functions!(f32 TAN_F32);
    ELEMENT_WISE_ASIN = functions!(f32 ASIN_F32);
    ELEMENT_WISE_ACOS = functions!(f32 ACOS_F32);
    ELEMENT_WISE_ATAN = functions!(f32 ATAN_F32);
    ELEMENT_WISE_ATAN_YX = functions!(f32 ATAN_YX_F32);
    ELEMENT_WISE_SINH = functions!(f32 SINH_F32);
    ELEMENT_WISE_COSH = functions!(f32 COSH_F32);
    ELEMENT_WISE_ASINH = functions!(f32 ASINH_F32);
    ELEMENT_WISE_ACOSH = functions!(f32 ACOSH_F32);
    ELEMENT_WISE_ATANH = functions!(f32 ATANH_F32);
    CAST = Functions::NONE;
}

const ADD: Functions = functions!(f32 ADD_F32, i32 ADD_I32, u32 ADD_I32, i64 ADD_I64, u64 ADD_I64,
    in_bytes ADD_I8X4, in_halves ADD_I16X2);
const CLIP: Functions =
    functions!(f32 CLIP_F32, i32 CLIP_I32, u32 CLIP_U32, i64 CLIP_I64, u64 CLIP_U64);
const CLIP_GRADIENT: Functions = functions!(f32 CLIP_GRADIENT_F32, i32 CLIP_GRADIENT_I32, u32 CLIP_GRADIENT_U32,
        i64 CLIP_GRADIENT_I64, u64 CLIP_GRADIENT_U64);

/// Whether an operator of this family is a single Map: all are, except ELEMENT_WISE_QUANTIZED_LINEAR_ADD.
pub(crate) fn is_one_map(operator: &Operator) -> bool {
    let is_of_family = OPERATORS.iter().any(|it| std::ptr::eq(*it, operator));
    is_of_family && !std::ptr::eq(operator.schema, &operators::ELEMENT_WISE_QUANTIZED_LINEAR_ADD)
}
