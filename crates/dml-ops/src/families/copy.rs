//! Operators that move elements and change none: each output is made of parts of the inputs.

#[cfg(feature = "reference")]
mod cases;
mod lowering;
mod padding;
mod part;
#[cfg(feature = "reference")]
mod reference;
mod regions;
mod shapes;
#[cfg(test)]
mod tests;

use dml_core::value::element_bits;
use dml_core::{Error, Validated, operators};

use crate::Operator;
use crate::lowering::dispatches::scalar_bits;
use lowering::copies;
use part::Part;

/// A row for each operator: which parts its outputs are.
macro_rules! operators {
    ($($(#[$doc:meta])* $name:ident = $parts:expr;)*) => {
        $(
            $(#[$doc])*
            static $name: Operator = Operator {
                schema: &operators::$name,
                lower: |operator, target| copies(operator, target, $parts(operator)?),
                form: None,
                #[cfg(feature = "reference")]
                reference: &reference::$name,
            };
        )*

        /// All of them.
        pub(crate) static OPERATORS: &[&Operator] = &[$(&$name),*];
    };
}

operators! {
    /// The inputs, one after the other along `Axis`.
    JOIN = shapes::join;
    /// The input, cut along `Axis`.
    SPLIT = shapes::split;
    /// `output[i] = input[Offsets + Strides * i]`
    SLICE = shapes::slice;
    /// `output[i] = window[InputWindowStrides * i]`, from the end where a stride is negative.
    SLICE1 = shapes::slice1;
    /// `output[i] = input[i mod input's size]`
    TILE = shapes::tile;
    /// `output[y, x] = input[y / height's scale, x / width's scale]`
    UPSAMPLE_2D = shapes::upsample;
    /// Blocks of height and width become channels.
    SPACE_TO_DEPTH = shapes::space_to_depth;
    /// The same in the order of `Order`.
    SPACE_TO_DEPTH1 = shapes::space_to_depth;
    /// Channels become blocks of height and width.
    DEPTH_TO_SPACE = shapes::depth_to_space;
    /// The same in the order of `Order`.
    DEPTH_TO_SPACE1 = shapes::depth_to_space;
    /// `output[StartPadding + i] = input[i]`, and around it what `PaddingMode` says.
    PADDING = padding_of_float;
    /// The same with a value of the tensor's type.
    PADDING1 = padding_of_scalar;
    /// `window[InputWindowStrides * i] = input[i]`, and zeros elsewhere.
    SLICE_GRAD = shapes::slice_grad;
}

fn padding_of_float(operator: &Validated) -> Result<Vec<Part>, Error> {
    let data_type = operator.required_tensor("OutputTensor")?.data_type();
    padding::padding(operator, element_bits(operator.float("PaddingValue")?, data_type))
}

fn padding_of_scalar(operator: &Validated) -> Result<Vec<Part>, Error> {
    let data_type = operator.required_tensor("OutputTensor")?.data_type();
    padding::padding(operator, scalar_bits(operator.scalar("PaddingValue")?, data_type))
}
