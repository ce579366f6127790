//! The input and the filter of a convolution, as a contraction reads them.

use dml_core::Error;

use crate::families::products::{BYTES, ByteStorage, ProductRecorder, Storage, Words};
use crate::ir::Numbers;

/// The dimension of channels in tensors of data and of filters.
pub(super) const CHANNEL: usize = 1;

const INPUT: [&str; 2] = ["InputTensor", "InputZeroPointTensor"];
const FILTER: [&str; 2] = ["FilterTensor", "FilterZeroPointTensor"];

/// The factors of a convolution.
pub(super) struct Factors {
    /// With its margins.
    pub(super) input: Words,
    pub(super) filter: Words,
    /// The number of words along the input channels of a group.
    pub(super) in_channels: u32,
    pub(super) numbers: Numbers,
}

impl Factors {
    /// The factors of an operator, of which the input has `margins`.
    pub(super) fn of(
        products: &mut ProductRecorder<'_>,
        margins: &[[u32; 2]],
        is_backward: bool,
    ) -> Result<Self, Error> {
        let operator = products.operator;
        let sizes = operator.required_tensor(INPUT[0])?.sizes();
        let (last, groups) = (sizes.len() - 1, operator.uint("GroupCount")?);
        let in_channels = sizes[CHANNEL] / groups;
        let input = ByteStorage { depth: CHANNEL, line: last, channels: 1, margins };
        let filter = ByteStorage { depth: CHANNEL, line: 0, channels: 0, margins: &[] };
        // Words of channels belong to one group, and rows, which zero points belong to, are numbered in one.
        let is_by_words = !is_backward
            && (groups == 1 || in_channels.is_multiple_of(BYTES) && !has_zero_points(products)?);
        if is_by_words && products.has_dot_products([INPUT, FILTER], [input, filter])? {
            let input = products.packed_bytes(INPUT, input)?;
            let filter = products.packed_bytes(FILTER, filter)?;
            return Ok(Self {
                input: input.words,
                filter: filter.words,
                in_channels: in_channels.div_ceil(BYTES),
                numbers: Numbers::Bytes([filter.bytes, input.bytes]),
            });
        }
        let storage = |innermost, margins, channels| Storage {
            innermost,
            margins,
            channels,
            is_copied: false,
        };
        // The output's spatial dimensions are innermost, and the filter's output channels.
        let of_filter = usize::from(is_backward);
        Ok(Self {
            input: products.factor(INPUT, &storage(last, margins, 1))?,
            filter: products.factor(FILTER, &storage(of_filter, &[], of_filter))?,
            in_channels,
            numbers: products.numbers([INPUT[0], FILTER[0]])?,
        })
    }
}

/// Whether the filter has a zero point for each output channel.
fn has_zero_points(products: &ProductRecorder<'_>) -> Result<bool, Error> {
    let zero = products.input(FILTER[1])?;
    Ok(zero.is_some_and(|(operand, _)| operand.strides.iter().any(|stride| *stride != 0)))
}
