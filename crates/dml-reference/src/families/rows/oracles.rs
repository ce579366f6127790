//! Oracles: functions of a row in double precision or in integers.

mod normalize;

use dml_core::{AxisDirection, Error, ReduceFunction, TensorLayout, Validated};

use super::elements::Elements;
use super::reference::{FlushToZero, Row, rows};
use crate::number::single;

pub(crate) use normalize::*;

fn function(operator: &Validated) -> Result<ReduceFunction, Error> {
    let function = ReduceFunction::from_dml_value(operator.uint("Function")?);
    function.ok_or_else(|| Error::internal(operator.schema().name, "no such function"))
}

/// The elements for testing a function of REDUCE.
pub(crate) fn elements_of_function(operator: &Validated) -> Elements {
    match function(operator) {
        Ok(ReduceFunction::Argmax | ReduceFunction::Argmin) => Elements::Few,
        Ok(ReduceFunction::Max | ReduceFunction::Min) => Elements::Moved,
        Ok(ReduceFunction::Multiply) => Elements::Factors,
        Ok(ReduceFunction::LogSumExp) => Elements::Powers,
        _ => Elements::Sums,
    }
}

/// A sum; the sum of negative zeros is -0.
pub(crate) fn sum(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.fold(-0.0, |sum, number| sum + number)
}

/// The square of a number of single precision, which a device may flush to zero.
pub(crate) fn square(x: f64, step: FlushToZero) -> f64 {
    step(single(step(x * x)))
}

/// The power of two that scales the greatest magnitude to [1, 2), but is at most 2^126.
pub(crate) fn factor_of(x: &[f64]) -> f64 {
    let greatest = x.iter().fold(0.0_f64, |greatest, it| greatest.max(it.abs()));
    let exponent = (-126..=126).rev().find(|it| greatest >= 2.0_f64.powi(*it)).unwrap_or(-126);
    2.0_f64.powi(-exponent)
}

/// The mean, where both the sum and the quotient are rounded.
pub(crate) fn mean(numbers: impl Iterator<Item = f64>, count: usize, step: FlushToZero) -> f64 {
    single(step(single(step(sum(numbers)))) / count as f64)
}

pub(crate) fn reduce(row: &Row<'_>) -> Vec<Vec<f64>> {
    let (x, step) = (row.elements, row.step);
    let magnitudes = || x.iter().map(|it| it.abs());
    let squares = || x.iter().map(|it| square(*it, step));
    let rounded = |value: f64| step(single(step(value)));
    let result = match function(row.operator) {
        Ok(ReduceFunction::Argmax) => place(x, false, true),
        Ok(ReduceFunction::Argmin) => place(x, false, false),
        Ok(ReduceFunction::Average) => mean(x.iter().copied(), x.len(), step),
        Ok(ReduceFunction::L1) => rounded(sum(magnitudes())),
        Ok(ReduceFunction::L2) => {
            let factor = factor_of(x);
            let scaled = sum(x.iter().map(|it| square(it * factor, step)));
            single(rounded(scaled).sqrt()) / factor
        }
        // The sum may be flushed, but the logarithm does not flush its argument.
        Ok(ReduceFunction::LogSum) => rounded(sum(x.iter().copied())).ln(),
        Ok(ReduceFunction::LogSumExp) => log_sum_exp(x),
        Ok(ReduceFunction::Max) => greatest(x),
        Ok(ReduceFunction::Min) => -greatest(&x.iter().map(|it| -it).collect::<Vec<_>>()),
        Ok(ReduceFunction::Multiply) => rounded(x.iter().product()),
        Ok(ReduceFunction::Sum) => rounded(sum(x.iter().copied())),
        Ok(ReduceFunction::SumSquare) => rounded(sum(squares())),
        Err(_) => f64::NAN,
    };
    vec![vec![result]]
}

pub(crate) fn reduce_integers(operator: &Validated, x: &[i128]) -> Vec<i128> {
    let wrapping = |of: fn(i128, i128) -> i128, first| x.iter().copied().fold(first, of);
    let squares = x.iter().map(|it| it.wrapping_mul(*it));
    let result = match function(operator) {
        Ok(ReduceFunction::Argmax) => integer_place(x, false, true),
        Ok(ReduceFunction::Argmin) => integer_place(x, false, false),
        Ok(ReduceFunction::L1) => x.iter().map(|it| it.abs()).sum(),
        Ok(ReduceFunction::Max) => x.iter().copied().max().unwrap_or_default(),
        Ok(ReduceFunction::Min) => x.iter().copied().min().unwrap_or_default(),
        Ok(ReduceFunction::Multiply) => wrapping(i128::wrapping_mul, 1),
        Ok(ReduceFunction::SumSquare) => squares.fold(0, i128::wrapping_add),
        _ => wrapping(i128::wrapping_add, 0),
    };
    vec![result]
}

/// The greatest number, where +0 is above -0; NaN if there is one.
fn greatest(x: &[f64]) -> f64 {
    let above = |a: f64, b: f64| match a.is_nan() || b.is_nan() {
        true => f64::NAN,
        false if b.total_cmp(&a).is_gt() => b,
        false => a,
    };
    x.iter().copied().fold(f64::NEG_INFINITY, above)
}

/// The index of the first or last of the greatest or least numbers, where zeros are equal; the index of a NaN
/// if there is one.
fn place(x: &[f64], is_last: bool, is_greatest: bool) -> f64 {
    let sign = if is_greatest { 1.0 } else { -1.0 };
    let most = x.iter().fold(f64::NEG_INFINITY, |most, it| most.max(it * sign));
    let has_nan = x.iter().any(|it| it.is_nan());
    let is_found = |it: &f64| if has_nan { it.is_nan() } else { it * sign == most };
    let found = if is_last { x.iter().rposition(is_found) } else { x.iter().position(is_found) };
    found.map_or(f64::NAN, |at| at as f64)
}

fn integer_place(x: &[i128], is_last: bool, is_greatest: bool) -> i128 {
    let most = if is_greatest { x.iter().max() } else { x.iter().min() };
    let is_found = |it: &i128| Some(it) == most;
    let found = if is_last { x.iter().rposition(is_found) } else { x.iter().position(is_found) };
    found.map_or(-1, |at| at as i128)
}

fn is_last(operator: &Validated) -> bool {
    operator.uint("AxisDirection").is_ok_and(|it| it == AxisDirection::Decreasing.dml_value())
}

pub(crate) fn index_of_greatest(row: &Row<'_>) -> Vec<Vec<f64>> {
    vec![vec![place(row.elements, is_last(row.operator), true)]]
}

pub(crate) fn index_of_least(row: &Row<'_>) -> Vec<Vec<f64>> {
    vec![vec![place(row.elements, is_last(row.operator), false)]]
}

pub(crate) fn integer_index_of_greatest(operator: &Validated, x: &[i128]) -> Vec<i128> {
    vec![integer_place(x, is_last(operator), true)]
}

pub(crate) fn integer_index_of_least(operator: &Validated, x: &[i128]) -> Vec<i128> {
    vec![integer_place(x, is_last(operator), false)]
}

/// The greatest number of a row, and the exponentials `e^(x - greatest)`, where those below 2^-102 are 0.
/// `None` if the greatest is infinite, or there is a NaN.
fn powers(row: &[f64]) -> Option<(f64, Vec<f64>)> {
    let greatest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let power = |x: &f64| match (x - greatest).exp() {
        power if single(power) < 2.0_f64.powi(-102) => 0.0,
        power => power,
    };
    let is_some = greatest.is_finite() && !row.iter().any(|x| x.is_nan());
    is_some.then(|| (greatest, row.iter().map(power).collect()))
}

/// Exponentials divided by their sum.
pub(crate) fn softmax(row: &[f64]) -> Vec<f64> {
    let Some((_, powers)) = powers(row) else { return vec![f64::NAN; row.len()] };
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|power| power / sum).collect()
}

/// The logarithm of the sum of exponentials, one of which is 1. Small ones are added up without it, so that
/// they are not absorbed.
fn logarithm(powers: &[f64]) -> f64 {
    let first = powers.iter().position(|power| *power == 1.0);
    let others = powers.iter().enumerate().filter(|(at, _)| Some(*at) != first);
    others.fold(0.0, |sum, (_, power)| sum + power).ln_1p()
}

/// `x - greatest - ln(sum)`; -0 if both terms are 0.
pub(crate) fn log_softmax(row: &[f64]) -> Vec<f64> {
    let Some((greatest, powers)) = powers(row) else { return vec![f64::NAN; row.len()] };
    let logarithm = logarithm(&powers);
    row.iter().map(|x| -(logarithm - (x - greatest))).collect()
}

/// `greatest + ln(sum)`; the greatest number if it is infinite, or if the logarithm is 0.
fn log_sum_exp(row: &[f64]) -> f64 {
    match powers(row) {
        Some((greatest, powers)) if logarithm(&powers) == 0.0 => greatest,
        Some((greatest, powers)) => greatest + logarithm(&powers),
        None => greatest(row),
    }
}

/// Cumulative values from the first or from the last element on; `first` is the value for no elements.
fn running<T: Copy>(
    operator: &Validated,
    x: &[T],
    (is_exclusive, first): (&str, T),
    join: impl Fn(T, T) -> T,
) -> Vec<T> {
    let is_exclusive = operator.bool(is_exclusive).is_ok_and(|it| it);
    let mut places: Vec<usize> = (0..x.len()).collect();
    if is_last(operator) {
        places.reverse();
    }
    let mut result = vec![first; x.len()];
    let mut before = is_exclusive.then_some(first);
    for at in places {
        let with = before.map_or(x[at], |before| join(before, x[at]));
        result[at] = if is_exclusive { before.unwrap_or(with) } else { with };
        before = Some(with);
    }
    result
}

pub(crate) fn sums(row: &Row<'_>) -> Vec<Vec<f64>> {
    vec![running(row.operator, row.elements, ("HasExclusiveSum", 0.0), |a, b| a + b)]
}

pub(crate) fn products(row: &Row<'_>) -> Vec<Vec<f64>> {
    vec![running(row.operator, row.elements, ("HasExclusiveProduct", 1.0), |a, b| a * b)]
}

pub(crate) fn integer_sums(operator: &Validated, x: &[i128]) -> Vec<i128> {
    running(operator, x, ("HasExclusiveSum", 0), i128::wrapping_add)
}

pub(crate) fn integer_products(operator: &Validated, x: &[i128]) -> Vec<i128> {
    running(operator, x, ("HasExclusiveProduct", 1), i128::wrapping_mul)
}

/// 1 at the first NaN, or otherwise at the first greatest element, and 0 elsewhere.
pub(crate) fn hardmax(row: &[f64]) -> Vec<f64> {
    let found = place(row, false, true);
    (0..row.len()).map(|at| if at as f64 == found { 1.0 } else { 0.0 }).collect()
}

/// Softmax of the elements of a tensor, by an operator that may be nested.
pub(crate) fn softmax_of_rows(
    operator: &Validated,
    tensor: &TensorLayout,
    values: &mut [f64],
) -> Result<(), Error> {
    let rank = tensor.sizes().len();
    let axes = match operator.uint_array("Axes") {
        Ok(axes) => (0..rank).map(|at| axes.iter().any(|axis| *axis as usize == at)).collect(),
        Err(_) => (1..=rank).map(|at| at == rank).collect::<Vec<bool>>(),
    };
    for places in rows(tensor, &axes) {
        let row: Vec<f64> = places.iter().map(|at| values[*at]).collect();
        for (at, value) in places.iter().zip(softmax(&row)) {
            values[*at] = single(value);
        }
    }
    Ok(())
}
