//! Operators that compute with rows: all elements along some dimensions, the axes, at the same coordinates
//! of the others. A row for each operator.

mod normalize;
mod plan;
mod quantize;
mod reduce;
mod running;
mod softmax;

use dml_core::operators;
use dml_core::{Error, Validated};

use crate::Operator;
use crate::ir::space::leading;
pub(crate) use softmax::fused_softmax;

/// Rows: `NAME = lowering;`.
macro_rules! rows {
    ($($name:ident = $lower:path;)*) => {
        /// All of them.
        pub(crate) static OPERATORS: &[&Operator] = &[$(&Operator {
            schema: &operators::$name,
            lower: $lower,
        }),*];
    };
}

rows! {
    ACTIVATION_SOFTMAX = softmax::softmax;
    ACTIVATION_SOFTMAX1 = softmax::softmax;
    ACTIVATION_LOG_SOFTMAX = softmax::log_softmax;
    ACTIVATION_LOG_SOFTMAX1 = softmax::log_softmax;
    ACTIVATION_HARDMAX = softmax::hardmax;
    ACTIVATION_HARDMAX1 = softmax::hardmax;
    REDUCE = reduce::reduce;
    ARGMAX = reduce::index_of_greatest;
    ARGMIN = reduce::index_of_least;
    MEAN_VARIANCE_NORMALIZATION = normalize::by_moments;
    MEAN_VARIANCE_NORMALIZATION1 = normalize::by_moments;
    MEAN_VARIANCE_NORMALIZATION2 = normalize::by_moments;
    BATCH_NORMALIZATION = normalize::by_given_moments;
    LP_NORMALIZATION = normalize::by_norm;
    DYNAMIC_QUANTIZE_LINEAR = quantize::by_range;
    CUMULATIVE_SUMMATION = running::sums;
    CUMULATIVE_PRODUCT = running::products;
}

/// Which of the dimensions of a space of 8, the last of which are the input's, are those of rows: those that a
/// field names, all of a picture,
/// all, or the last one.
fn axes(operator: &Validated) -> Result<[bool; 8], Error> {
    axes_of(operator, operator.required_tensor("InputTensor")?.sizes().len())
}

/// The same of an operator on a tensor of `rank` dimensions, which may be nested.
fn axes_of(operator: &Validated, rank: usize) -> Result<[bool; 8], Error> {
    let has = |name| operator.schema().has_field(name);
    let mut of_tensor = vec![0; rank];
    if has("Axes") {
        operator.uint_array("Axes")?.iter().for_each(|axis| of_tensor[*axis as usize] = 1);
    } else if has("CrossChannel") {
        let first = if operator.bool("CrossChannel")? { 1 } else { 2 };
        of_tensor.iter_mut().skip(first).for_each(|it| *it = 1);
    } else if has("Axis") {
        of_tensor[operator.uint("Axis")? as usize] = 1;
    } else if has("OutputScaleTensor") {
        of_tensor.fill(1);
    } else if !has("MeanTensor") {
        of_tensor[rank - 1] = 1;
    }
    Ok(leading(&of_tensor, 0).map(|is_axis| is_axis == 1))
}
