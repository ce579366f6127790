//! Operators that compute each element of the output from the elements at the same coordinates of the
//! inputs: a row for each. Inputs of any strides, 0 included, so broadcasts as well.

#[cfg(all(test, feature = "reference"))]
mod accuracy;
#[cfg(feature = "reference")]
pub(crate) mod cases;
mod functions;
mod lowering;
mod program;
mod quantized_add;
#[cfg(feature = "reference")]
mod real;
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
pub(crate) use program::{Builder, activated, fused};
#[cfg(feature = "reference")]
use real::{erf, error_complement, integer_power, soft_maximum};
#[cfg(feature = "reference")]
use reference::{ElementWise, Oracle, hard_sigmoid, maximum, minimum, single};
#[cfg(feature = "reference")]
pub(crate) use reference::{activated as activated_reference, function as function_reference};
#[cfg(feature = "reference")]
pub(crate) use tensors::{drawn_activation, nested};

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

/// How a row is lowered: as its functions say, or in its own way.
macro_rules! lowering {
    () => {
        lower
    };
    ($lower:path) => {
        $lower
    };
}
/// Rows: `NAME = functions, oracle;`, with a lowering of its own after them where there is one.
macro_rules! rows {
    ($($name:ident = $functions:expr, $oracle:expr $(, $lower:path)?;)*) => {
        static ROWS: &[Row] = &[$(Row {
            schema: &operators::$name,
            functions: $functions,
            #[cfg(feature = "reference")]
            oracle: $oracle,
        }),*];

        /// All of them.
        pub(crate) static OPERATORS: &[&Operator] = &[$(&Operator {
            schema: &operators::$name,
            lower: lowering!($($lower)?),
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
    // The next integer from `x` up, and from `x` down.
    ELEMENT_WISE_CEIL = functions!(f32 CEIL_F32), Oracle::floats(|x| x[0].ceil());
    ELEMENT_WISE_FLOOR = functions!(f32 FLOOR_F32), Oracle::floats(|x| x[0].floor());
    // To the nearest integer, of two to the even one (0) or away from 0 (2), or towards 0 (1).
    ELEMENT_WISE_ROUND = functions!(f32 ROUND_F32),
        Oracle::floats(|x| match x[1] {
            0.0 => x[0].round_ties_even(),
            1.0 => x[0].trunc(),
            _ => x[0].round(),
        });
    // `(x > 0) - (x < 0)`.
    ELEMENT_WISE_SIGN =
        functions!(f32 SIGN_F32, i32 SIGN_I32, u32 SIGN_U32, i64 SIGN_I64, u64 SIGN_U64),
        Oracle::numbers(
            |x| f64::from(i8::from(x[0] > 0.0) - i8::from(x[0] < 0.0)),
            |x| x[0].signum(),
        );
    // `min(max(x, Min), Max)`; a NaN stays one.
    ELEMENT_WISE_CLIP = CLIP, LIMITED;
    ELEMENT_WISE_CLIP1 = CLIP, LIMITED;
    // `max(x, Min)`; a NaN stays one.
    ELEMENT_WISE_THRESHOLD = functions!(f32 THRESHOLD_F32, i32 THRESHOLD_I32, u32 THRESHOLD_U32),
        Oracle::numbers(|x| maximum(x[0], x[1]), |x| x[0].max(x[1]));
    // `(a + b) / 2`; integers are truncated.
    ELEMENT_WISE_MEAN = functions!(f32 MEAN_F32, i32 MEAN_I32, u32 MEAN_U32),
        Oracle::steps(|x, step| step(x[0] + x[1]) / 2.0).or_integers(|x| (x[0] + x[1]) / 2);
    // `1 / x`.
    ELEMENT_WISE_RECIP = functions!(f32 RECIPROCAL_F32), Oracle::floats(|x| 1.0 / x[0]);
    ELEMENT_WISE_SQRT = functions!(f32 SQUARE_ROOT_F32), Oracle::floats(|x| x[0].sqrt());
    // `a - b * trunc(a / b)`; integers divided by 0 leave 0.
    ELEMENT_WISE_MODULUS_TRUNCATE =
        functions!(f32 MODULUS_TRUNCATE_F32, i32 MODULUS_TRUNCATE_I32, u32 MODULUS_U32,
            i64 MODULUS_TRUNCATE_I64, u64 MODULUS_U64),
        Oracle::numbers(|x| x[0] % x[1], |x| x[0].checked_rem(x[1]).unwrap_or(0));
    // `a - b * floor(a / b)`, in the same way.
    ELEMENT_WISE_MODULUS_FLOOR =
        functions!(f32 MODULUS_FLOOR_F32, i32 MODULUS_FLOOR_I32, u32 MODULUS_U32,
            i64 MODULUS_FLOOR_I64, u64 MODULUS_U64),
        Oracle::numbers(
            |x| match x[0] % x[1] {
                0.0 => 0.0_f64.copysign(x[1]),
                rest if (rest < 0.0) == (x[1] < 0.0) => rest,
                rest => rest + x[1],
            },
            |x| match x[0].checked_rem(x[1]).unwrap_or(0) {
                rest if rest == 0 || (rest < 0) == (x[1] < 0) => rest,
                rest => rest + x[1],
            },
        );
    ELEMENT_WISE_IS_NAN = functions!(f32 IS_NAN_F32; give_integers),
        Oracle::floats(|x| x[0].is_nan().into());
    // Of either sign (0), above 0 (1) or below (2).
    ELEMENT_WISE_IS_INFINITY = functions!(f32 IS_INFINITY_F32; give_integers),
        Oracle::floats(|x| match x[1] {
            0.0 => x[0].is_infinite(),
            1.0 => x[0] == f64::INFINITY,
            _ => x[0] == f64::NEG_INFINITY,
        }
        .into());
    // `a << b` and `a >> b`, 0 where no bit is left.
    ELEMENT_WISE_BIT_SHIFT_LEFT = functions!(u32 SHIFT_LEFT_U32, u64 SHIFT_LEFT_U64),
        Oracle::integers(|x| if x[1] < 64 { x[0] << x[1] } else { 0 });
    ELEMENT_WISE_BIT_SHIFT_RIGHT = functions!(u32 SHIFT_RIGHT_U32, u64 SHIFT_RIGHT_U64),
        Oracle::integers(|x| if x[1] < 64 { x[0] >> x[1] } else { 0 });
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
    // `x < 0 ? slope * x : x`, in the same way; integers wrap around.
    ACTIVATION_PARAMETERIZED_RELU =
        functions!(f32 PARAMETERIZED_RELU_F32, i32 PARAMETERIZED_RELU_I32),
        Oracle::steps(|x, _| if x[0].is_sign_negative() { x[0] * x[1] } else { x[0] })
            .or_integers(|x| if x[0] < 0 { x[0] * x[1] } else { x[0] });
    // `x > Alpha ? x : 0`.
    ACTIVATION_THRESHOLDED_RELU = functions!(f32 THRESHOLDED_RELU_F32),
        Oracle::floats(|x| if x[0] > x[1] { x[0] } else { 0.0 });
    // `max(0, min(Alpha * x + Beta, 1))`, and `x` times that; a NaN stays one.
    ACTIVATION_HARD_SIGMOID = functions!(f32 HARD_SIGMOID_F32), Oracle::steps(hard_sigmoid);
    ACTIVATION_HARD_SWISH = functions!(f32 HARD_SWISH_F32),
        Oracle::steps(|x, step| x[0] * step(single(hard_sigmoid(x, step))));
    // `x / (1 + |x|)`.
    ACTIVATION_SOFTSIGN = functions!(f32 SOFTSIGN_F32), Oracle::floats(|x| x[0] / single(1.0 + x[0].abs()));
    // `x - Bias` above Threshold, `x + Bias` below its opposite, else 0; integers wrap around.
    ACTIVATION_SHRINK = functions!(f32 SHRINK_F32, i32 SHRINK_I32, u32 SHRINK_U32),
        Oracle::steps(|x, step| match x[0] {
            it if it > x[2] => it - step(x[1]),
            it if it < -x[2] => it + step(x[1]),
            _ => 0.0,
        })
        .or_integers(|x| match x[0] {
            it if it > x[2] => it - x[1],
            it if it < -x[2] => it + x[1],
            _ => 0,
        });
    // `x > 0 ? gradient : 0`.
    ACTIVATION_RELU_GRAD = functions!(f32 RELU_GRADIENT_F32, i32 RELU_GRADIENT_I32),
        Oracle::numbers(
            |x| if x[0] > 0.0 { x[1] } else { 0.0 },
            |x| if x[0] > 0 { x[1] } else { 0 },
        );
    // `x <= Min || x >= Max ? 0 : gradient`.
    ELEMENT_WISE_CLIP_GRAD = CLIP_GRADIENT, GRADIENT_WITHIN;
    ELEMENT_WISE_CLIP_GRAD1 = CLIP_GRADIENT, GRADIENT_WITHIN;
    // `round(x / scale) + zero point`, limited to the output's type.
    ELEMENT_WISE_QUANTIZE_LINEAR = functions!(f32 QUANTIZE_F32; in_single),
        Oracle::steps(|x, step| step(single(single(x[0]) / x[1])).round_ties_even() + x[2]);
    // `(x - zero point) * scale`.
    ELEMENT_WISE_DEQUANTIZE_LINEAR = functions!(i32 DEQUANTIZE_I32, u32 DEQUANTIZE_U32),
        Oracle::steps(|x, _| single(x[0] - x[2]) * x[1]);
    // The sum of two dequantized tensors, quantized.
    ELEMENT_WISE_QUANTIZED_LINEAR_ADD = Functions::NONE,
        Oracle::steps(|x, step| {
            let [a, b] = [(0, 1, 2), (3, 4, 5)].map(|(at, scale, zero)| step(single((x[at] - x[zero]) * x[scale])));
            step(single(step(single(a + b)) / x[6])).round_ties_even() + x[7]
        }),
        quantized_add::lower;
    // The exponential function, and activations that are made of it.
    ELEMENT_WISE_EXP = functions!(f32 EXP_F32), Oracle::real(|x| x[0].exp());
    ELEMENT_WISE_LOG = functions!(f32 LOG_F32), Oracle::real(|x| x[0].ln());
    ELEMENT_WISE_TANH = functions!(f32 TANH_F32), Oracle::real(|x| x[0].tanh());
    ELEMENT_WISE_ERF = functions!(f32 ERF_F32), Oracle::real(|x| erf(x[0]));
    ACTIVATION_TANH = functions!(f32 TANH_F32), Oracle::real(|x| x[0].tanh());
    ACTIVATION_SCALED_TANH = functions!(f32 SCALED_TANH_F32),
        Oracle::real(|x| x[1] * (x[2] * x[0]).tanh());
    ACTIVATION_SIGMOID = functions!(f32 SIGMOID_F32), Oracle::real(|x| 1.0 / (1.0 + (-x[0]).exp()));
    ACTIVATION_SWISH = functions!(f32 SWISH_F32),
        Oracle::real(|x| x[0] * (1.0 / (1.0 + (-x[1] * x[0]).exp())));
    ACTIVATION_GELU = functions!(f32 GELU_F32),
        Oracle::real(|x| 0.5 * x[0] * error_complement(-x[0] * std::f64::consts::FRAC_1_SQRT_2));
    ACTIVATION_ELU = functions!(f32 ELU_F32),
        Oracle::real(|x| if x[0] >= 0.0 { x[0] } else { x[1] * x[0].exp_m1() });
    ACTIVATION_CELU = functions!(f32 CELU_F32),
        Oracle::real(|x| if x[0] >= 0.0 { x[0] } else { x[1] * (x[0] / x[1]).exp_m1() });
    ACTIVATION_SCALED_ELU = functions!(f32 SCALED_ELU_F32),
        Oracle::real(|x| x[2] * if x[0] > 0.0 { x[0] } else { x[1] * x[0].exp_m1() });
    ACTIVATION_SOFTPLUS = functions!(f32 SOFTPLUS_F32),
        Oracle::real(|x| soft_maximum(x[1] * x[0]) / x[1]);
    ACTIVATION_PARAMETRIC_SOFTPLUS = functions!(f32 PARAMETRIC_SOFTPLUS_F32),
        Oracle::real(|x| x[1] * soft_maximum(x[2] * x[0]));
    // Powers; of integers they wrap, and with a negative exponent they are truncated towards 0, 0 of 0.
    ELEMENT_WISE_POW =
        functions!(f32 POW_F32, i32 POW_I32, u32 POW_U32, u32_i32 POW_U32_I32),
        Oracle::real(|x| x[0].powf(x[1])).or_integers(|x| integer_power(x[0], x[1]));
    ELEMENT_WISE_CONSTANT_POW = functions!(f32 CONSTANT_POW_F32), Oracle::real(|x| x[0].powf(x[1]));
    // Trigonometric functions and their inverses.
    ELEMENT_WISE_SIN = functions!(f32 SIN_F32), Oracle::real(|x| x[0].sin());
    ELEMENT_WISE_COS = functions!(f32 COS_F32), Oracle::real(|x| x[0].cos());
    ELEMENT_WISE_TAN = functions!(f32 TAN_F32), Oracle::real(|x| x[0].tan());
    ELEMENT_WISE_ASIN = functions!(f32 ASIN_F32), Oracle::real(|x| x[0].asin());
    ELEMENT_WISE_ACOS = functions!(f32 ACOS_F32), Oracle::real(|x| x[0].acos());
    ELEMENT_WISE_ATAN = functions!(f32 ATAN_F32), Oracle::real(|x| x[0].atan());
    ELEMENT_WISE_ATAN_YX = functions!(f32 ATAN_YX_F32), Oracle::real(|x| x[0].atan2(x[1]));
    // Hyperbolic functions and their inverses.
    ELEMENT_WISE_SINH = functions!(f32 SINH_F32), Oracle::real(|x| x[0].sinh());
    ELEMENT_WISE_COSH = functions!(f32 COSH_F32), Oracle::real(|x| x[0].cosh());
    ELEMENT_WISE_ASINH = functions!(f32 ASINH_F32), Oracle::real(|x| x[0].asinh());
    ELEMENT_WISE_ACOSH = functions!(f32 ACOSH_F32), Oracle::real(|x| x[0].acosh());
    ELEMENT_WISE_ATANH = functions!(f32 ATANH_F32), Oracle::real(|x| x[0].atanh());
    // `x` in another type.
    CAST = Functions::NONE, Oracle::CONVERSION;
}

const ADD: Functions = functions!(f32 ADD_F32, i32 ADD_I32, u32 ADD_I32, i64 ADD_I64, u64 ADD_I64,
    in_bytes ADD_I8X4, in_halves ADD_I16X2);
const CLIP: Functions =
    functions!(f32 CLIP_F32, i32 CLIP_I32, u32 CLIP_U32, i64 CLIP_I64, u64 CLIP_U64);
#[cfg(feature = "reference")]
const LIMITED: Oracle =
    Oracle::numbers(|x| minimum(maximum(x[0], x[1]), x[2]), |x| x[0].max(x[1]).min(x[2]));
const CLIP_GRADIENT: Functions = functions!(f32 CLIP_GRADIENT_F32, i32 CLIP_GRADIENT_I32, u32 CLIP_GRADIENT_U32,
        i64 CLIP_GRADIENT_I64, u64 CLIP_GRADIENT_U64);
#[cfg(feature = "reference")]
const GRADIENT_WITHIN: Oracle = Oracle::numbers(
    |x| if x[0] <= x[2] || x[0] >= x[3] { 0.0 } else { x[1] },
    |x| if x[0] <= x[2] || x[0] >= x[3] { 0 } else { x[1] },
);
