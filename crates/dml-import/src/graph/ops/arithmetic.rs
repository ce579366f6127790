//! The functions of element-wise operations, one row each.

use dml_core::operators as tables;

use crate::graph::ops::function::{Function, Types};
use crate::graph::ops::scalar::{Scalar, greater, least};

use Types::{Any, Floats, Numbers, Truth, Values};

/// A function of two numbers, given as `integer` and `float` versions.
macro_rules! binary {
    ($integer:expr, $float:expr) => {
        |it| match (it[0], it[1]) {
            (Scalar::Integer(a), Scalar::Integer(b)) => Scalar::Integer($integer(a, b)),
            (Scalar::Float(a), Scalar::Float(b)) => Scalar::Float($float(a, b)),
            // Both operands have one type.
            (first, _) => first,
        }
    };
}

/// A comparison of two numbers, as a truth value.
macro_rules! comparison {
    ($operator:tt) => {
        |it| {
            let holds = match (it[0], it[1]) {
                (Scalar::Integer(a), Scalar::Integer(b)) => a $operator b,
                (Scalar::Float(a), Scalar::Float(b)) => a $operator b,
                _ => false,
            };
            Scalar::Integer(holds.into())
        }
    };
}

/// A function of two truth values.
macro_rules! logical {
    ($function:expr) => {
        |it| match (it[0], it[1]) {
            (Scalar::Integer(a), Scalar::Integer(b)) => Scalar::Integer($function(a, b)),
            (first, _) => first,
        }
    };
}

/// Integers are computed in 128 bits, where sums of 64-bit integers do not overflow, and wrap around when they
/// are stored.
pub(crate) const ADD: Function = Function::new(Numbers, &tables::ELEMENT_WISE_ADD)
    .chain()
    .fold(binary!(|a: i128, b: i128| a + b, |a: f64, b: f64| a + b));

pub(crate) const SUBTRACT: Function = Function::new(Numbers, &tables::ELEMENT_WISE_SUBTRACT)
    .fold(binary!(|a: i128, b: i128| a - b, |a: f64, b: f64| a - b));

pub(crate) const MULTIPLY: Function = Function::new(Numbers, &tables::ELEMENT_WISE_MULTIPLY)
    .fold(binary!(|a: i128, b: i128| a.wrapping_mul(b), |a: f64, b: f64| a * b));

/// Integer quotients round toward zero; a quotient by 0 is 0.
pub(crate) const DIVIDE: Function = Function::new(Numbers, &tables::ELEMENT_WISE_DIVIDE)
    .fold(binary!(|a: i128, b: i128| a.checked_div(b).unwrap_or(0), |a: f64, b: f64| a / b));

/// Integer quotients round down.
pub(crate) const FLOOR_DIVIDE: Function = Function::new(Floats, &tables::ELEMENT_WISE_DIVIDE)
    .fold(binary!(floor_quotient, |a: f64, b: f64| a / b));

/// The remainder has the sign of the first operand.
pub(crate) const REMAINDER: Function =
    Function::new(Numbers, &tables::ELEMENT_WISE_MODULUS_TRUNCATE)
        .fold(binary!(|a: i128, b: i128| a.checked_rem(b).unwrap_or(0), |a: f64, b: f64| a % b));

/// The remainder has the sign of the second operand.
pub(crate) const FLOOR_REMAINDER: Function =
    Function::new(Numbers, &tables::ELEMENT_WISE_MODULUS_FLOOR)
        .fold(binary!(floor_remainder, floor_rest));

pub(crate) const GELU: Function = Function::new(Numbers, &tables::ACTIVATION_GELU);

pub(crate) const POWER: Function =
    Function::new(Numbers, &tables::ELEMENT_WISE_POW).with_exponent();

pub(crate) const EXP: Function = Function::new(Numbers, &tables::ELEMENT_WISE_EXP);

pub(crate) const LOG: Function = Function::new(Numbers, &tables::ELEMENT_WISE_LOG);

pub(crate) const TANH: Function = Function::new(Numbers, &tables::ELEMENT_WISE_TANH);

pub(crate) const MINIMUM: Function = Function::new(Numbers, &tables::ELEMENT_WISE_MIN)
    .chain()
    .fold(binary!(i128::min, |a: f64, b: f64| least(a, b)));

pub(crate) const MAXIMUM: Function = Function::new(Numbers, &tables::ELEMENT_WISE_MAX)
    .chain()
    .fold(binary!(i128::max, |a: f64, b: f64| greater(a, b)));

pub(crate) const NEGATE: Function =
    Function::new(Numbers, &tables::ELEMENT_WISE_NEGATE).fold(|it| match it[0] {
        Scalar::Integer(value) => Scalar::Integer(-value),
        Scalar::Float(value) => Scalar::Float(-value),
    });

pub(crate) const IS_NAN: Function = Function::new(Numbers, &tables::ELEMENT_WISE_IS_NAN).truth();

pub(crate) const LESS: Function =
    Function::new(Numbers, &tables::ELEMENT_WISE_LOGICAL_LESS_THAN).truth().fold(comparison!(<));
pub(crate) const LESS_OR_EQUAL: Function =
    Function::new(Numbers, &tables::ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL)
        .truth()
        .fold(comparison!(<=));
pub(crate) const GREATER: Function =
    Function::new(Numbers, &tables::ELEMENT_WISE_LOGICAL_GREATER_THAN).truth().fold(comparison!(>));
pub(crate) const GREATER_OR_EQUAL: Function =
    Function::new(Numbers, &tables::ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL)
        .truth()
        .fold(comparison!(>=));
pub(crate) const EQUAL: Function =
    Function::new(Values, &tables::ELEMENT_WISE_LOGICAL_EQUALS).truth().fold(comparison!(==));

pub(crate) const AND: Function = Function::new(Truth, &tables::ELEMENT_WISE_LOGICAL_AND)
    .truth()
    .fold(logical!(|a: i128, b: i128| a & b));
pub(crate) const OR: Function = Function::new(Truth, &tables::ELEMENT_WISE_LOGICAL_OR)
    .truth()
    .fold(logical!(|a: i128, b: i128| a | b));
pub(crate) const XOR: Function = Function::new(Truth, &tables::ELEMENT_WISE_LOGICAL_XOR)
    .truth()
    .fold(logical!(|a: i128, b: i128| a ^ b));
pub(crate) const NOT: Function =
    Function::new(Truth, &tables::ELEMENT_WISE_LOGICAL_NOT).truth().fold(|it| match it[0] {
        Scalar::Integer(0) => Scalar::Integer(1),
        _ => Scalar::Integer(0),
    });

/// Loops use it for counting.
pub(crate) const CEIL: Function =
    Function::new(Numbers, &tables::ELEMENT_WISE_CEIL).fold(|it| rounded(it[0], f64::ceil));
pub(crate) const FLOOR: Function =
    Function::new(Numbers, &tables::ELEMENT_WISE_FLOOR).fold(|it| rounded(it[0], f64::floor));

pub(crate) const BIT_AND: Function =
    Function::new(Numbers, &tables::ELEMENT_WISE_BIT_AND).fold(logical!(|a: i128, b: i128| a & b));
pub(crate) const BIT_XOR: Function = Function::new(Numbers, &tables::ELEMENT_WISE_BIT_XOR);

pub(crate) const WHERE: Function =
    Function::new(Any, &tables::ELEMENT_WISE_IF).conditional().fold(|it| match it[0] {
        Scalar::Integer(0) => it[2],
        _ => it[1],
    });

fn floor_quotient(a: i128, b: i128) -> i128 {
    let (Some(quotient), Some(rest)) = (a.checked_div(b), a.checked_rem(b)) else { return 0 };
    if rest != 0 && (rest < 0) != (b < 0) { quotient - 1 } else { quotient }
}

fn rounded(value: Scalar, round: fn(f64) -> f64) -> Scalar {
    match value {
        Scalar::Float(value) => Scalar::Float(round(value)),
        whole @ Scalar::Integer(_) => whole,
    }
}

/// The remainder with the sign of the divisor; 0 if the divisor is 0.
fn floor_remainder(a: i128, b: i128) -> i128 {
    let rest = a.checked_rem(b).unwrap_or(0);
    if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }
}

fn floor_rest(a: f64, b: f64) -> f64 {
    match a % b {
        0.0 => 0.0_f64.copysign(b),
        rest if (rest < 0.0) == (b < 0.0) => rest,
        rest => rest + b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integers(function: Function, a: i128, b: i128) -> Scalar {
        function.fold.unwrap()(&[Scalar::Integer(a), Scalar::Integer(b)])
    }

    fn floats(function: Function, a: f64, b: f64) -> f64 {
        match function.fold.unwrap()(&[Scalar::Float(a), Scalar::Float(b)]) {
            Scalar::Float(value) => value,
            Scalar::Integer(_) => panic!("no float"),
        }
    }

    #[test]
    fn division_rounds_as_its_name_says() {
        for (function, a, b, expected) in [
            (DIVIDE, -7, 2, -3),
            (FLOOR_DIVIDE, -7, 2, -4),
            (FLOOR_DIVIDE, 7, -2, -4),
            (FLOOR_DIVIDE, 6, -2, -3),
            (REMAINDER, -7, 2, -1),
            (FLOOR_REMAINDER, -7, 2, 1),
            (DIVIDE, 1, 0, 0),
            (FLOOR_REMAINDER, 7, -2, -1),
        ] {
            assert_eq!(integers(function, a, b), Scalar::Integer(expected), "{a} {b}");
        }
        assert_eq!(floats(FLOOR_REMAINDER, -5.5, 2.0), 0.5);
        assert_eq!(floats(REMAINDER, -5.5, 2.0), -1.5);
    }

    #[test]
    fn not_a_number_is_handed_on() {
        for function in [MINIMUM, MAXIMUM] {
            assert!(floats(function, f64::NAN, 1.0).is_nan());
            assert!(floats(function, 1.0, f64::NAN).is_nan());
        }
        assert_eq!(floats(MAXIMUM, 1.0, 2.0), 2.0);
        assert_eq!(floats(MINIMUM, 1.0, 2.0), 1.0);
    }
}
