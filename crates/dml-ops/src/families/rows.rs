//! Operators that compute with rows: all elements along some dimensions, the axes, at the same coordinates
//! of the others. A row for each operator.

#[cfg(feature = "reference")]
mod cases;
#[cfg(feature = "reference")]
mod elements;
mod normalize;
#[cfg(feature = "reference")]
mod oracles;
mod plan;
mod quantize;
mod reduce;
#[cfg(feature = "reference")]
mod reference;
mod running;
mod softmax;

use dml_core::operators;
use dml_core::{Error, Validated};

use crate::Operator;
use crate::ir::space::leading;
#[cfg(feature = "reference")]
use elements::Elements;
#[cfg(feature = "reference")]
pub(crate) use oracles::{factor_of, softmax_of_rows};
#[cfg(feature = "reference")]
use reference::{OfRow, OverRows};
pub(crate) use softmax::fused_softmax;

/// Rows: `NAME = lowering, oracle, elements;`.
macro_rules! rows {
    ($($name:ident = $lower:path, $oracle:expr, $elements:expr;)*) => {
        /// All of them.
        pub(crate) static OPERATORS: &[&Operator] = &[$(&Operator {
            schema: &operators::$name,
            lower: $lower,
            #[cfg(feature = "reference")]
            reference: &OverRows {
                schema: &operators::$name,
                of_row: $oracle,
                elements: $elements,
            },
        }),*];
    };
}

rows! {
    ACTIVATION_SOFTMAX = softmax::softmax, OfRow::Floats(oracles::softmax), |_| Elements::Shares;
    ACTIVATION_SOFTMAX1 = softmax::softmax, OfRow::Floats(oracles::softmax), |_| Elements::Shares;
    ACTIVATION_LOG_SOFTMAX =
        softmax::log_softmax, OfRow::Floats(oracles::log_softmax), |_| Elements::Any;
    ACTIVATION_LOG_SOFTMAX1 =
        softmax::log_softmax, OfRow::Floats(oracles::log_softmax), |_| Elements::Any;
    ACTIVATION_HARDMAX = softmax::hardmax, OfRow::Floats(oracles::hardmax), |_| Elements::Any;
    ACTIVATION_HARDMAX1 = softmax::hardmax, OfRow::Floats(oracles::hardmax), |_| Elements::Any;
    REDUCE = reduce::reduce, OfRow::Numbers(oracles::reduce, oracles::reduce_integers),
        oracles::elements_of_function;
    ARGMAX = reduce::index_of_greatest,
        OfRow::Numbers(oracles::index_of_greatest, oracles::integer_index_of_greatest),
        |_| Elements::Few;
    ARGMIN = reduce::index_of_least,
        OfRow::Numbers(oracles::index_of_least, oracles::integer_index_of_least),
        |_| Elements::Few;
    MEAN_VARIANCE_NORMALIZATION =
        normalize::by_moments, OfRow::Formula(oracles::by_moments), |_| Elements::Sums;
    MEAN_VARIANCE_NORMALIZATION1 =
        normalize::by_moments, OfRow::Formula(oracles::by_moments), |_| Elements::Sums;
    MEAN_VARIANCE_NORMALIZATION2 =
        normalize::by_moments, OfRow::Formula(oracles::by_moments), |_| Elements::Sums;
    BATCH_NORMALIZATION = normalize::by_given_moments,
        OfRow::Formula(oracles::by_given_moments), |_| Elements::Sums;
    LP_NORMALIZATION = normalize::by_norm, OfRow::Formula(oracles::by_norm), |_| Elements::Sums;
    DYNAMIC_QUANTIZE_LINEAR =
        quantize::by_range, OfRow::Formula(oracles::quantize), |_| Elements::Sums;
    CUMULATIVE_SUMMATION = running::sums,
        OfRow::Numbers(oracles::sums, oracles::integer_sums), |_| Elements::Sums;
    CUMULATIVE_PRODUCT = running::products,
        OfRow::Numbers(oracles::products, oracles::integer_products), |_| Elements::Factors;
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
