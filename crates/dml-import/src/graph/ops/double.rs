//! Arithmetic in FLOAT64, which DirectML has at no feature level: the host computes it, and asks a device for the
//! values that it computes from.

use dml_core::ReduceFunction;
use dml_core::schema::OperatorSchema;

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::scalar::{Fold, Scalar, greater, least};
use crate::graph::strides::positions;
use crate::tensor::{Tensor, host_elements};

pub(super) const DOUBLE: ElementType = ElementType::Dml(dml_core::DataType::Float64);

macro_rules! real {
    ($function:expr) => {
        |it| Scalar::Float($function(it[0].float()))
    };
}

/// The functions of DirectML's operators without attributes, by the operators' names.
static FUNCTIONS: [(&str, Fold); 25] = [
    ("ELEMENT_WISE_ABS", real!(f64::abs)),
    ("ELEMENT_WISE_ACOS", real!(f64::acos)),
    ("ELEMENT_WISE_ACOSH", real!(f64::acosh)),
    ("ELEMENT_WISE_ASIN", real!(f64::asin)),
    ("ELEMENT_WISE_ASINH", real!(f64::asinh)),
    ("ELEMENT_WISE_ATAN", real!(f64::atan)),
    ("ELEMENT_WISE_ATANH", real!(f64::atanh)),
    ("ELEMENT_WISE_COS", real!(f64::cos)),
    ("ELEMENT_WISE_COSH", real!(f64::cosh)),
    ("ELEMENT_WISE_EXP", real!(f64::exp)),
    ("ELEMENT_WISE_LOG", real!(f64::ln)),
    ("ELEMENT_WISE_POW", |it| Scalar::Float(it[0].float().powf(it[1].float()))),
    ("ELEMENT_WISE_RECIP", real!(f64::recip)),
    ("ELEMENT_WISE_ROUND", real!(f64::round_ties_even)),
    ("ELEMENT_WISE_SIGN", real!(sign)),
    ("ELEMENT_WISE_SIN", real!(f64::sin)),
    ("ELEMENT_WISE_SINH", real!(f64::sinh)),
    ("ELEMENT_WISE_SQRT", real!(f64::sqrt)),
    ("ELEMENT_WISE_TAN", real!(f64::tan)),
    ("ELEMENT_WISE_TANH", real!(f64::tanh)),
    ("ELEMENT_WISE_IS_NAN", |it| Scalar::Integer(it[0].float().is_nan().into())),
    ("ACTIVATION_SIGMOID", real!(|x: f64| 1.0 / (1.0 + (-x).exp()))),
    ("ACTIVATION_SOFTSIGN", real!(|x: f64| x / (1.0 + x.abs()))),
    ("ACTIVATION_RELU", real!(|x: f64| if x < 0.0 { 0.0 } else { x })),
    ("ACTIVATION_IDENTITY", real!(|x: f64| x)),
];

/// The function of a DirectML operator; `None` if there is none for FLOAT64.
pub(super) fn function(schema: &OperatorSchema) -> Option<Fold> {
    FUNCTIONS.iter().find(|(name, _)| *name == schema.name).map(|(_, function)| *function)
}

/// -1, 0 or 1; a NaN stays NaN.
fn sign(x: f64) -> f64 {
    if x == 0.0 || x.is_nan() { x } else { x.signum() }
}

/// The reduction of a tensor of FLOAT64 to a tensor of `shape`. `strides` give the result of each element.
pub(super) fn reduced(
    function: ReduceFunction,
    tensor: &Tensor,
    shape: Vec<u64>,
    strides: &[u64],
) -> Result<Tensor> {
    let mut rows: Vec<Vec<f64>> = vec![vec![]; host_elements(&shape)?];
    let at = positions(tensor.shape(), strides);
    for (bits, at) in tensor.bits().zip(at) {
        rows[at].push(f64::from_bits(bits));
    }
    let bits = rows.iter().map(|row| of_row(function, row).to_bits());
    Tensor::of_bits(DOUBLE, shape, bits)
}

/// The reduction of a row of at least one element.
#[expect(clippy::cast_precision_loss, reason = "a count of elements on the host is far smaller")]
fn of_row(function: ReduceFunction, row: &[f64]) -> f64 {
    let sum = |of: fn(f64) -> f64| row.iter().map(|it| of(*it)).sum::<f64>();
    let greatest = row.iter().copied().reduce(greater).unwrap_or(f64::NEG_INFINITY);
    match function {
        ReduceFunction::Sum => sum(|it| it),
        ReduceFunction::Average => sum(|it| it) / row.len() as f64,
        ReduceFunction::L1 => sum(f64::abs),
        ReduceFunction::L2 => sum(|it| it * it).sqrt(),
        ReduceFunction::SumSquare => sum(|it| it * it),
        ReduceFunction::LogSum => sum(|it| it).ln(),
        // Powers of differences to the greatest number do not overflow.
        ReduceFunction::LogSumExp if greatest.is_finite() => {
            row.iter().map(|it| (it - greatest).exp()).sum::<f64>().ln() + greatest
        }
        ReduceFunction::LogSumExp | ReduceFunction::Max => greatest,
        ReduceFunction::Min => row.iter().copied().reduce(least).unwrap_or(f64::INFINITY),
        ReduceFunction::Multiply => row.iter().product(),
        // Extremes have operators of their own.
        ReduceFunction::Argmax | ReduceFunction::Argmin => f64::NAN,
    }
}

/// A running sum or product.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    pub(super) is_product: bool,
    /// Whether an element has no part in its own result.
    pub(super) is_exclusive: bool,
    /// Whether it runs from the last element to the first.
    pub(super) is_reversed: bool,
}

impl Running {
    /// The results along the middle one of three dimensions.
    pub(super) fn of(self, tensor: &Tensor, [outer, size, inner]: [u64; 3]) -> Result<Tensor> {
        let values: Vec<f64> = tensor.bits().map(f64::from_bits).collect();
        let mut results = values.clone();
        let [outer, size, inner] =
            [host_elements(&[outer])?, host_elements(&[size])?, host_elements(&[inner])?];
        for row in 0..outer * inner {
            let first = row / inner.max(1) * size * inner + row % inner.max(1);
            let mut so_far = f64::from(u8::from(self.is_product));
            for step in 0..size {
                let step = if self.is_reversed { size - 1 - step } else { step };
                let at = first + step * inner;
                let after = match self.is_product {
                    true => so_far * values[at],
                    false => so_far + values[at],
                };
                results[at] = if self.is_exclusive { so_far } else { after };
                so_far = after;
            }
        }
        Tensor::of_bits(DOUBLE, tensor.shape(), results.into_iter().map(f64::to_bits))
    }
}
