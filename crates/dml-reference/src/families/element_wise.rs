//! Element-wise operators: each element of the output is computed from the elements at the same coordinates of
//! the inputs, by an oracle.

pub(crate) mod cases;
mod real;
mod reference;
mod tensors;

use dml_core::operators;
use dml_core::schema::OperatorSchema;

use crate::Reference;
use real::{erf, error_complement, integer_power, soft_maximum};
pub use reference::function_of_floats;
use reference::{ElementWise, Oracle, hard_sigmoid, maximum, minimum, single};
pub(crate) use reference::{activated, function, fused};
pub(crate) use tensors::{drawn_activation, nested};

/// An operator and its oracle.
struct OracleOfOperator {
    schema: &'static OperatorSchema,
    oracle: Oracle,
}

impl OracleOfOperator {
    /// The row of an operator of this family.
    fn of(schema: &OperatorSchema) -> Option<&'static Self> {
        ROWS.iter().find(|row| row.schema.operator_type == schema.operator_type)
    }
}

/// Rows: `NAME = oracle;`.
macro_rules! rows {
    ($($name:ident = $oracle:expr;)*) => {
        static ROWS: &[OracleOfOperator] = &[$(OracleOfOperator { schema: &operators::$name, oracle: $oracle }),*];

        /// The references of this family.
        pub(crate) static REFERENCES: &[&dyn Reference] =
            &[$(&ElementWise(&operators::$name)),*];
    };
}

rows! {
    // `x`.
    ELEMENT_WISE_IDENTITY = Oracle::bits(|x| x[0]).or_float(|x| x[0]);
    // `a + b`; integers wrap around.
    ELEMENT_WISE_ADD = Oracle::numbers(|x| x[0] + x[1], |x| x[0] + x[1]);
    ELEMENT_WISE_ADD1 = Oracle::numbers(|x| x[0] + x[1], |x| x[0] + x[1]);
    // `a / b`; integers round toward zero, and a quotient by 0 is 0.
    ELEMENT_WISE_DIVIDE = Oracle::numbers(|x| x[0] / x[1], |x| x[0].checked_div(x[1]).unwrap_or(0));
    // `a - b`; integers wrap around.
    ELEMENT_WISE_SUBTRACT = Oracle::numbers(|x| x[0] - x[1], |x| x[0] - x[1]);
    // `a * b`; integers wrap around.
    ELEMENT_WISE_MULTIPLY =
        Oracle::steps(|x, _| x[0] * x[1]).or_integers(|x| x[0].wrapping_mul(x[1]));
    // `(a - b)^2`; integers wrap around.
    ELEMENT_WISE_DIFFERENCE_SQUARE =
        Oracle::steps(|x, step| step(single(x[0] - x[1])).powi(2)).or_integers(|x| (x[0] - x[1]).pow(2));
    // `max(a, b)`; a NaN stays NaN.
    ELEMENT_WISE_MAX = Oracle::numbers(|x| maximum(x[0], x[1]), |x| x[0].max(x[1]));
    // `min(a, b)`; a NaN stays NaN.
    ELEMENT_WISE_MIN = Oracle::numbers(|x| minimum(x[0], x[1]), |x| x[0].min(x[1]));
    // `|x|`; the least integer is unchanged.
    ELEMENT_WISE_ABS = Oracle::numbers(|x| x[0].abs(), |x| x[0].abs());
    // `-x`; the least integer is unchanged.
    ELEMENT_WISE_NEGATE = Oracle::numbers(|x| -x[0], |x| -x[0]);
    // `x` rounded up, and rounded down.
    ELEMENT_WISE_CEIL = Oracle::floats(|x| x[0].ceil());
    ELEMENT_WISE_FLOOR = Oracle::floats(|x| x[0].floor());
    // `x` rounded to the nearest integer with ties to even (0) or away from 0 (2), or rounded towards 0 (1).
    ELEMENT_WISE_ROUND = Oracle::floats(|x| match x[1] {
        0.0 => x[0].round_ties_even(),
        1.0 => x[0].trunc(),
        _ => x[0].round(),
    });
    // `(x > 0) - (x < 0)`.
    ELEMENT_WISE_SIGN = Oracle::numbers(
        |x| f64::from(i8::from(x[0] > 0.0) - i8::from(x[0] < 0.0)),
        |x| x[0].signum(),
    );
    // `min(max(x, Min), Max)`; a NaN stays NaN.
    ELEMENT_WISE_CLIP = LIMITED;
    ELEMENT_WISE_CLIP1 = LIMITED;
    // `max(x, Min)`; a NaN stays NaN.
    ELEMENT_WISE_THRESHOLD = Oracle::numbers(|x| maximum(x[0], x[1]), |x| x[0].max(x[1]));
    // `(a + b) / 2`; integers are truncated.
    ELEMENT_WISE_MEAN =
        Oracle::steps(|x, step| step(x[0] + x[1]) / 2.0).or_integers(|x| (x[0] + x[1]) / 2);
    // `1 / x`.
    ELEMENT_WISE_RECIP = Oracle::floats(|x| 1.0 / x[0]);
    ELEMENT_WISE_SQRT = Oracle::floats(|x| x[0].sqrt());
    // `a - b * trunc(a / b)`; for integers 0 if `b` is 0.
    ELEMENT_WISE_MODULUS_TRUNCATE =
        Oracle::numbers(|x| x[0] % x[1], |x| x[0].checked_rem(x[1]).unwrap_or(0));
    // `a - b * floor(a / b)`; for integers 0 if `b` is 0.
    ELEMENT_WISE_MODULUS_FLOOR = Oracle::numbers(
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
    ELEMENT_WISE_IS_NAN = Oracle::floats(|x| x[0].is_nan().into());
    // Whether `x` is an infinity of either sign (0), positive (1) or negative (2).
    ELEMENT_WISE_IS_INFINITY = Oracle::floats(|x| match x[1] {
        0.0 => x[0].is_infinite(),
        1.0 => x[0] == f64::INFINITY,
        _ => x[0] == f64::NEG_INFINITY,
    }
    .into());
    // `a << b` and `a >> b`; 0 if all bits are shifted out.
    ELEMENT_WISE_BIT_SHIFT_LEFT = Oracle::integers(|x| if x[1] < 64 { x[0] << x[1] } else { 0 });
    ELEMENT_WISE_BIT_SHIFT_RIGHT = Oracle::integers(|x| if x[1] < 64 { x[0] >> x[1] } else { 0 });
    // `a < b`.
    ELEMENT_WISE_LOGICAL_LESS_THAN =
        Oracle::numbers(|x| f64::from(x[0] < x[1]), |x| i128::from(x[0] < x[1]));
    // `a <= b`, `a > b`, `a >= b` and `a == b`.
    ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL =
        Oracle::numbers(|x| f64::from(x[0] <= x[1]), |x| i128::from(x[0] <= x[1]));
    ELEMENT_WISE_LOGICAL_GREATER_THAN =
        Oracle::numbers(|x| f64::from(x[0] > x[1]), |x| i128::from(x[0] > x[1]));
    ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL =
        Oracle::numbers(|x| f64::from(x[0] >= x[1]), |x| i128::from(x[0] >= x[1]));
    ELEMENT_WISE_LOGICAL_EQUALS =
        Oracle::numbers(|x| f64::from(x[0] == x[1]), |x| i128::from(x[0] == x[1]));
    // Logical operators, where any nonzero element is true.
    ELEMENT_WISE_LOGICAL_AND = Oracle::bits(|x| (x[0] != 0 && x[1] != 0).into());
    ELEMENT_WISE_LOGICAL_OR = Oracle::bits(|x| (x[0] != 0 || x[1] != 0).into());
    ELEMENT_WISE_LOGICAL_XOR = Oracle::bits(|x| ((x[0] != 0) != (x[1] != 0)).into());
    ELEMENT_WISE_LOGICAL_NOT = Oracle::bits(|x| (x[0] == 0).into());
    // Bitwise operators.
    ELEMENT_WISE_BIT_AND = Oracle::bits(|x| x[0] & x[1]);
    ELEMENT_WISE_BIT_OR = Oracle::bits(|x| x[0] | x[1]);
    ELEMENT_WISE_BIT_XOR = Oracle::bits(|x| x[0] ^ x[1]);
    ELEMENT_WISE_BIT_NOT = Oracle::bits(|x| !x[0]);
    // `condition != 0 ? a : b`.
    ELEMENT_WISE_IF = Oracle::bits(|x| if x[0] == 0 { x[2] } else { x[1] });
    // The number of bits set in `x`.
    ELEMENT_WISE_BIT_COUNT = Oracle::bits(|x| x[0].count_ones().into());
    // `max(x, 0)`; a NaN stays NaN.
    ACTIVATION_RELU = Oracle::numbers(|x| maximum(x[0], 0.0), |x| x[0].max(0));
    // `x`.
    ACTIVATION_IDENTITY = Oracle::bits(|x| x[0]).or_float(|x| x[0]);
    // `Alpha * x + Beta`.
    ACTIVATION_LINEAR = Oracle::steps(|x, step| step(single(step(x[0] * x[1]))) + x[2]);
    // `x < 0 ? Alpha * x : x`, where -0 counts as negative: a device may flush a negative subnormal to it.
    ACTIVATION_LEAKY_RELU =
        Oracle::steps(|x, _| if x[0].is_sign_negative() { x[0] * x[1] } else { x[0] });
    // `x < 0 ? slope * x : x`, where -0 counts as negative; integers wrap around.
    ACTIVATION_PARAMETERIZED_RELU =
        Oracle::steps(|x, _| if x[0].is_sign_negative() { x[0] * x[1] } else { x[0] })
            .or_integers(|x| if x[0] < 0 { x[0] * x[1] } else { x[0] });
    // `x > Alpha ? x : 0`.
    ACTIVATION_THRESHOLDED_RELU = Oracle::floats(|x| if x[0] > x[1] { x[0] } else { 0.0 });
    // `max(0, min(Alpha * x + Beta, 1))`, and `x` times that; a NaN stays NaN.
    ACTIVATION_HARD_SIGMOID = Oracle::steps(hard_sigmoid);
    ACTIVATION_HARD_SWISH = Oracle::steps(|x, step| x[0] * step(single(hard_sigmoid(x, step))));
    // `x / (1 + |x|)`.
    ACTIVATION_SOFTSIGN = Oracle::floats(|x| x[0] / single(1.0 + x[0].abs()));
    // `x - Bias` above Threshold, `x + Bias` below -Threshold, and 0 otherwise; integers wrap around.
    ACTIVATION_SHRINK = Oracle::steps(|x, step| match x[0] {
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
    ACTIVATION_RELU_GRAD = Oracle::numbers(
        |x| if x[0] > 0.0 { x[1] } else { 0.0 },
        |x| if x[0] > 0 { x[1] } else { 0 },
    );
    // `x <= Min || x >= Max ? 0 : gradient`.
    ELEMENT_WISE_CLIP_GRAD = GRADIENT_WITHIN;
    ELEMENT_WISE_CLIP_GRAD1 = GRADIENT_WITHIN;
    // `round(x / scale) + zero point`, saturated to the output's type.
    ELEMENT_WISE_QUANTIZE_LINEAR =
        Oracle::steps(|x, step| step(single(single(x[0]) / x[1])).round_ties_even() + x[2]).casting();
    // `(x - zero point) * scale`.
    ELEMENT_WISE_DEQUANTIZE_LINEAR = Oracle::steps(|x, _| single(x[0] - x[2]) * x[1]);
    // The sum of two dequantized tensors, quantized.
    ELEMENT_WISE_QUANTIZED_LINEAR_ADD = Oracle::steps(|x, step| {
        let [a, b] = [(0, 1, 2), (3, 4, 5)].map(|(at, scale, zero)| step(single((x[at] - x[zero]) * x[scale])));
        step(single(step(single(a + b)) / x[6])).round_ties_even() + x[7]
    });
    // The exponential function, and activations composed of it.
    ELEMENT_WISE_EXP = Oracle::real(|x| x[0].exp());
    ELEMENT_WISE_LOG = Oracle::real(|x| x[0].ln());
    ELEMENT_WISE_TANH = Oracle::real(|x| x[0].tanh());
    ELEMENT_WISE_ERF = Oracle::real(|x| erf(x[0]));
    ACTIVATION_TANH = Oracle::real(|x| x[0].tanh());
    ACTIVATION_SCALED_TANH = Oracle::real(|x| x[1] * (x[2] * x[0]).tanh());
    ACTIVATION_SIGMOID = Oracle::real(|x| 1.0 / (1.0 + (-x[0]).exp()));
    ACTIVATION_SWISH = Oracle::real(|x| x[0] * (1.0 / (1.0 + (-x[1] * x[0]).exp())));
    ACTIVATION_GELU =
        Oracle::real(|x| 0.5 * x[0] * error_complement(-x[0] * std::f64::consts::FRAC_1_SQRT_2));
    ACTIVATION_ELU = Oracle::real(|x| if x[0] >= 0.0 { x[0] } else { x[1] * x[0].exp_m1() });
    ACTIVATION_CELU =
        Oracle::real(|x| if x[0] >= 0.0 { x[0] } else { x[1] * (x[0] / x[1]).exp_m1() });
    ACTIVATION_SCALED_ELU =
        Oracle::real(|x| x[2] * if x[0] > 0.0 { x[0] } else { x[1] * x[0].exp_m1() });
    ACTIVATION_SOFTPLUS = Oracle::real(|x| soft_maximum(x[1] * x[0]) / x[1]);
    ACTIVATION_PARAMETRIC_SOFTPLUS = Oracle::real(|x| x[1] * soft_maximum(x[2] * x[0]));
    // Powers; integer powers wrap, and are rounded toward zero for negative exponents, where 0 has the power 0.
    ELEMENT_WISE_POW =
        Oracle::real(|x| x[0].powf(x[1])).or_integers(|x| integer_power(x[0], x[1])).casting();
    ELEMENT_WISE_CONSTANT_POW = Oracle::real(|x| x[0].powf(x[1]));
    // Trigonometric functions and their inverses.
    ELEMENT_WISE_SIN = Oracle::real(|x| x[0].sin());
    ELEMENT_WISE_COS = Oracle::real(|x| x[0].cos());
    ELEMENT_WISE_TAN = Oracle::real(|x| x[0].tan());
    ELEMENT_WISE_ASIN = Oracle::real(|x| x[0].asin());
    ELEMENT_WISE_ACOS = Oracle::real(|x| x[0].acos());
    ELEMENT_WISE_ATAN = Oracle::real(|x| x[0].atan());
    ELEMENT_WISE_ATAN_YX = Oracle::real(|x| x[0].atan2(x[1]));
    // Hyperbolic functions and their inverses.
    ELEMENT_WISE_SINH = Oracle::real(|x| x[0].sinh());
    ELEMENT_WISE_COSH = Oracle::real(|x| x[0].cosh());
    ELEMENT_WISE_ASINH = Oracle::real(|x| x[0].asinh());
    ELEMENT_WISE_ACOSH = Oracle::real(|x| x[0].acosh());
    ELEMENT_WISE_ATANH = Oracle::real(|x| x[0].atanh());
    // `x` converted to another type.
    CAST = Oracle::CONVERSION;
}

const LIMITED: Oracle =
    Oracle::numbers(|x| minimum(maximum(x[0], x[1]), x[2]), |x| x[0].max(x[1]).min(x[2]));
const GRADIENT_WITHIN: Oracle = Oracle::numbers(
    |x| if x[0] <= x[2] || x[0] >= x[3] { 0.0 } else { x[1] },
    |x| if x[0] <= x[2] || x[0] >= x[3] { 0 } else { x[1] },
);
