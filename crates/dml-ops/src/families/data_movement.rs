//! Operators that move elements: each output consists of parts of the inputs. FOLD adds the elements that it moves
//! to one position.

mod columns;
mod fold;
mod lowering;
mod padding;
mod part;
mod shapes;
#[cfg(test)]
mod tests;
mod unfold;

use dml_core::value::element_bits;
use dml_core::{Error, Validated, operators};

use crate::ir;
use crate::{Operator, Target};
use lowering::copies;
use part::MovedRegion;

/// A row for each operator: which parts its outputs are, or how it is lowered.
macro_rules! operators {
    ($($(#[$doc:meta])* $name:ident = $lower:expr;)*) => {
        $(
            $(#[$doc])*
            static $name: Operator = Operator {
                schema: &operators::$name,
                program: $lower,
            };
        )*

        /// All operators of the family.
        pub(crate) static OPERATORS: &[&Operator] = &[$(&$name),*];
    };
}

/// How an operator is lowered whose outputs are parts.
macro_rules! parts {
    ($parts:expr) => {
        |operator, target| copies(operator, target, $parts(operator)?)
    };
}

operators! {
    /// The inputs, one after the other along `Axis`.
    JOIN = parts!(shapes::join);
    /// The input, cut along `Axis`.
    SPLIT = parts!(shapes::split);
    /// `output[i] = input[Offsets + Strides * i]`
    SLICE = parts!(shapes::slice);
    /// `output[i] = window[InputWindowStrides * i]`, from the end where a stride is negative.
    SLICE1 = parts!(shapes::slice1);
    /// `output[i] = input[i mod input's size]`
    TILE = parts!(shapes::tile);
    /// Blocks of height and width become channels.
    SPACE_TO_DEPTH = parts!(shapes::space_to_depth);
    /// As [`SPACE_TO_DEPTH`], with the order of channels in the attribute `Order`.
    SPACE_TO_DEPTH1 = parts!(shapes::space_to_depth);
    /// Channels become blocks of height and width.
    DEPTH_TO_SPACE = parts!(shapes::depth_to_space);
    /// As [`DEPTH_TO_SPACE`], with the order of channels in the attribute `Order`.
    DEPTH_TO_SPACE1 = parts!(shapes::depth_to_space);
    /// `output[StartPadding + i] = input[i]`, and elements by `PaddingMode` around it.
    PADDING = parts!(padding_of_float);
    /// As [`PADDING`], with a padding value of the tensor's type.
    PADDING1 = parts!(padding_of_scalar);
    /// `window[InputWindowStrides * i] = input[i]`, and zeros elsewhere.
    SLICE_GRAD = parts!(shapes::slice_grad);
    /// One column for each window.
    UNFOLD = unfold::unfold;
    /// The sums of the column elements that belong to each element, over all windows.
    FOLD = fold::fold;
}

/// Every element becomes a block of `ScaleSize`.
///
/// # Errors
/// As every lowering.
pub(crate) fn upsampled(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    copies(operator, target, shapes::upsample(operator)?)
}

fn padding_of_float(operator: &Validated) -> Result<Vec<MovedRegion>, Error> {
    let data_type = operator.required_tensor("OutputTensor")?.data_type();
    padding::padding(operator, element_bits(operator.float("PaddingValue")?, data_type))
}

fn padding_of_scalar(operator: &Validated) -> Result<Vec<MovedRegion>, Error> {
    let data_type = operator.required_tensor("OutputTensor")?.data_type();
    padding::padding(operator, operator.scalar("PaddingValue")?.element_bits(data_type))
}
