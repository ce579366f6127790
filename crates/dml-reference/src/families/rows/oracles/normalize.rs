//! Normalization formulas, with each step rounded to single precision.

use dml_core::DataType;

use super::super::reference::{FlushToZero, Row};
use super::{factor_of, mean, square, sum};
use crate::families::element_wise::activated;
use crate::number::single;

/// A difference, sum or product, rounded to single precision.
fn rounded(value: f64, step: FlushToZero) -> f64 {
    step(single(step(value)))
}

/// `activation(scale * ((x - mean) / deviation) + bias)`, without the terms that are `None`.
fn normalized(row: &Row<'_>, x: f64, by: [Option<f64>; 4]) -> f64 {
    let step = row.step;
    let [mean, deviation, scale, bias] = by;
    let difference = mean.map_or(x, |mean| rounded(step(x) - step(mean), step));
    let quotient = deviation.map_or(difference, |deviation| single(difference / deviation));
    let product = scale.map_or(quotient, |scale| rounded(step(quotient) * step(scale), step));
    let shifted = bias.map_or(product, |bia| rounded(step(product) + step(bia), step));
    activated(row.operator, shifted, [step, step])
}

fn deviation(variance: f64, row: &Row<'_>) -> f64 {
    let epsilon = row.operator.float("Epsilon").map_or(f64::NAN, f64::from);
    single(rounded((row.step)(variance) + (row.step)(epsilon), row.step).sqrt())
}

pub(crate) fn by_moments(row: &Row<'_>) -> Vec<Vec<f64>> {
    let (x, step) = (row.elements, row.step);
    let flag = |name| row.operator.bool(name).ok();
    let average = flag("UseMean").unwrap_or(true).then(|| mean(x.iter().copied(), x.len(), step));
    let has_variance = flag("UseVariance").or(flag("NormalizeVariance")).unwrap_or(false);
    let deviation = has_variance.then(|| {
        let about = |x: f64| average.map_or(x, |average| rounded(step(x) - step(average), step));
        let squares = x.iter().map(|x| square(about(*x), step));
        deviation(mean(squares, x.len(), step), row)
    });
    let other = |input: usize, at: usize| row.others[input].as_ref().map(|it| it[at]);
    let of = |(at, x): (usize, &f64)| {
        normalized(row, *x, [average, deviation, other(0, at), other(1, at)])
    };
    vec![x.iter().enumerate().map(of).collect()]
}

pub(crate) fn by_given_moments(row: &Row<'_>) -> Vec<Vec<f64>> {
    let other = |input: usize, at: usize| row.others[input].as_ref().map(|it| it[at]);
    let of = |(at, x): (usize, &f64)| {
        let deviation = other(1, at).map(|variance| deviation(variance, row));
        normalized(row, *x, [other(0, at), deviation, other(2, at), other(3, at)])
    };
    vec![row.elements.iter().enumerate().map(of).collect()]
}

pub(crate) fn by_norm(row: &Row<'_>) -> Vec<Vec<f64>> {
    let (x, step) = (row.elements, row.step);
    let factor = factor_of(x);
    let scaled = || x.iter().map(|it| it * factor);
    let norm = match row.operator.uint("P") {
        Ok(1) => rounded(sum(scaled().map(f64::abs)), step),
        _ => single(rounded(sum(scaled().map(|scaled| square(scaled, step))), step).sqrt()),
    };
    let epsilon = row.operator.float("Epsilon").map_or(f64::NAN, f64::from) * factor;
    let divisor = if norm.is_nan() || norm > epsilon { norm } else { epsilon };
    vec![scaled().map(|scaled| single(scaled / divisor)).collect()]
}

/// The integers, the scale, and the zero point of DYNAMIC_QUANTIZE_LINEAR.
pub(crate) fn quantize(row: &Row<'_>) -> Vec<Vec<f64>> {
    let (x, step) = (row.elements, row.step);
    let is_signed = row
        .operator
        .required_tensor("OutputTensor")
        .is_ok_and(|it| it.data_type() == DataType::Int8);
    let [first, last] = if is_signed { [-128.0, 127.0] } else { [0.0, 255.0] };
    let has_nan = x.iter().any(|it| it.is_nan());
    let of = |number: f64| if has_nan { f64::NAN } else { number };
    let above = of(x.iter().copied().fold(0.0, f64::max));
    let below = of(x.iter().copied().fold(0.0, f64::min));
    let quotient = single(rounded(step(above) - step(below), step) / 255.0);
    let scale = if quotient == 0.0 { 1.0 } else { quotient };
    let limited = |it: f64| if it.is_nan() { 0.0 } else { it.clamp(first, last) };
    let zero_point = limited(single(first - step(single(below / scale))).round_ties_even());
    let integer = |x: &f64| limited(single(single(x / scale).round_ties_even() + zero_point));
    vec![x.iter().map(integer).collect(), vec![scale], vec![zero_point]]
}
