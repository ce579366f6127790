//! Constraints between the fields of an operator that the schema does not express as data: one function
//! per rule, named in `schema/*.toml`.
//!
//! A rule gets an operator whose fields are all valid by themselves. A rule of an operator that may be
//! nested also gets it without tensors, and then must not check them.

mod attention;
mod blocks;
mod indices;
mod movement;
mod products;
mod recurrent;
mod regions;
mod rows;
mod training;
mod windows;

pub use regions::MOST_ROI_SAMPLES;

use crate::error::Error;
use crate::schema::validated::Validated;
use crate::schema::{FieldKind, TensorPath};
use crate::tensor::TensorLayout;
use crate::types::InvalidField;

/// The inputs are the parts of `OutputTensor`, one after the other along `Axis`.
pub(crate) fn inputs_are_parts_of_output(operator: &Validated) -> Result<(), Error> {
    parts_along_axis(operator, "OutputTensor", FieldKind::Input)
}

/// The outputs are the parts of `InputTensor`, one after the other along `Axis`.
pub(crate) fn outputs_are_parts_of_input(operator: &Validated) -> Result<(), Error> {
    parts_along_axis(operator, "InputTensor", FieldKind::Output)
}

/// SLICE: offsets, sizes and strides stay within the input.
pub(crate) fn slice_is_within_input(operator: &Validated) -> Result<(), Error> {
    movement::slice(operator)
}

/// SLICE1: the output has elements of the window, which is within the input.
pub(crate) fn output_is_in_window(operator: &Validated) -> Result<(), Error> {
    movement::window(operator, "InputTensor", "OutputTensor")
}

/// SLICE_GRAD: the input has elements of the window, which is within the output.
pub(crate) fn input_is_in_window(operator: &Validated) -> Result<(), Error> {
    movement::window(operator, "OutputGradientTensor", "InputGradientTensor")
}

/// PADDING: the output's sizes are the input's plus both paddings, and the level has the mode.
pub(crate) fn margins_add_up(operator: &Validated) -> Result<(), Error> {
    movement::padding(operator)
}

/// TILE: the output's sizes are the input's times the repeats.
pub(crate) fn repeats_multiply_sizes(operator: &Validated) -> Result<(), Error> {
    movement::tile(operator)
}

/// UPSAMPLE_2D: the output's height and width are the input's times the scales.
pub(crate) fn scales_multiply_height_and_width(operator: &Validated) -> Result<(), Error> {
    movement::upsample(operator)
}

/// SPACE_TO_DEPTH: the output's sizes follow from the input's and the block.
pub(crate) fn blocks_become_channels(operator: &Validated) -> Result<(), Error> {
    movement::blocks(operator, true)
}

/// DEPTH_TO_SPACE: the output's sizes follow from the input's and the block.
pub(crate) fn channels_become_blocks(operator: &Validated) -> Result<(), Error> {
    movement::blocks(operator, false)
}

/// GATHER: the output's sizes are the input's, with the indices' in place of the axis.
pub(crate) fn indices_replace_axis(operator: &Validated) -> Result<(), Error> {
    indices::along_axis(operator)
}

/// GATHER_ELEMENTS, SCATTER_ELEMENTS: the indices' sizes are the input's, except along the axis.
pub(crate) fn indices_differ_along_axis(operator: &Validated) -> Result<(), Error> {
    indices::but_along_axis(operator, "InputTensor", "IndicesTensor", None)
}

/// GATHER_ND: the output's sizes are the indices' and those of the parts that they choose.
pub(crate) fn output_has_parts(operator: &Validated) -> Result<(), Error> {
    indices::at_coordinates(operator, "OutputTensor", 0)
}

/// GATHER_ND1: as GATHER_ND, within batches.
pub(crate) fn output_has_parts_of_batches(operator: &Validated) -> Result<(), Error> {
    indices::at_coordinates(operator, "OutputTensor", operator.uint("BatchDimensionCount")?)
}

/// SCATTER_ND: the updates' sizes are the indices' and those of the parts that they choose.
pub(crate) fn updates_are_parts(operator: &Validated) -> Result<(), Error> {
    indices::at_coordinates(operator, "UpdatesTensor", 0)
}

/// ONE_HOT: one index for each sequence of the output, and two values at least.
pub(crate) fn an_index_for_each_sequence(operator: &Validated) -> Result<(), Error> {
    indices::at_least(operator, "ValuesTensor", 2)?;
    indices::but_along_axis(operator, "OutputTensor", "IndicesTensor", Some(1))
}

/// REVERSE_SUBSEQUENCES: one length for each sequence of the input.
pub(crate) fn a_length_for_each_sequence(operator: &Validated) -> Result<(), Error> {
    indices::but_along_axis(operator, "InputTensor", "SequenceLengthsTensor", Some(1))
}

/// TOP_K: the outputs' sizes are the input's, but `K` along the axis.
pub(crate) fn outputs_have_the_wanted_elements(operator: &Validated) -> Result<(), Error> {
    indices::wanted(operator)
}

/// NONZERO_COORDINATES: a row of coordinates for each element, and one count.
pub(crate) fn a_row_for_each_element(operator: &Validated) -> Result<(), Error> {
    indices::coordinates(operator)
}

/// RANDOM_GENERATOR: a state is six words along the last dimension.
pub(crate) fn states_have_six_words(operator: &Validated) -> Result<(), Error> {
    indices::state(operator)
}

/// UNFOLD: the output has a column for each window of the input.
pub(crate) fn columns_are_windows_of_input(operator: &Validated) -> Result<(), Error> {
    windows::columns(operator, "InputTensor", "OutputTensor")
}

/// FOLD: the input has a column for each window of the output.
pub(crate) fn columns_are_windows_of_output(operator: &Validated) -> Result<(), Error> {
    windows::columns(operator, "OutputTensor", "InputTensor")
}

/// Pooling: the output has an element for each window of the input.
pub(crate) fn windows_make_output(operator: &Validated) -> Result<(), Error> {
    windows::pooling(operator)
}

/// QUANTIZED_LINEAR_AVERAGE_POOLING: as pooling, with a scale for each tensor or for each channel.
pub(crate) fn quantized_windows_make_output(operator: &Validated) -> Result<(), Error> {
    windows::quantized_pooling(operator)
}

/// RESAMPLE and its successors: a scale above 0 for each dimension, and finite offsets.
pub(crate) fn a_scale_for_each_dimension(operator: &Validated) -> Result<(), Error> {
    windows::resampling(operator, ["InputTensor", "OutputTensor"])
}

/// RESAMPLE_GRAD, RESAMPLE_GRAD1: a scale above 0 for each dimension, and finite offsets.
pub(crate) fn a_scale_for_each_dimension_of_gradients(operator: &Validated) -> Result<(), Error> {
    windows::resampling(operator, ["OutputGradientTensor", "InputGradientTensor"])
}

/// LOCAL_RESPONSE_NORMALIZATION: a window has elements.
pub(crate) fn local_size_is_not_0(operator: &Validated) -> Result<(), Error> {
    windows::local_size(operator)
}

/// GEMM and the integer matrix products: rows, columns and depths agree.
pub(crate) fn rows_meet_columns(operator: &Validated) -> Result<(), Error> {
    products::matrices(operator)
}

/// CONVOLUTION and the integer convolutions: the output's sizes follow from the input's and the filter's.
pub(crate) fn filter_passes_over_input(operator: &Validated) -> Result<(), Error> {
    products::convolution(operator)
}

/// RNN, LSTM and GRU: sizes follow from the input's and the recurrence's.
pub(crate) fn sizes_are_those_of_a_recurrent_network(operator: &Validated) -> Result<(), Error> {
    recurrent::network(operator)
}

/// MULTIHEAD_ATTENTION and MULTIHEAD_ATTENTION1: sizes follow from those of queries, keys and values, and from the heads.
pub(crate) fn sizes_are_those_of_an_attention(operator: &Validated) -> Result<(), Error> {
    attention::attention(operator)
}

/// ROI_POOLING: regions of five numbers, and as many cells as the output has.
pub(crate) fn cells_of_regions_make_output(operator: &Validated) -> Result<(), Error> {
    regions::pooling(operator)
}

/// ROI_ALIGN and ROI_ALIGN1: regions of four numbers with a batch each, and limits that leave samples.
pub(crate) fn samples_of_regions_make_output(operator: &Validated) -> Result<(), Error> {
    regions::align(operator)
}

/// ROI_ALIGN_GRAD: as ROI_ALIGN, for the gradients of cells, and the input that the given outputs need.
pub(crate) fn samples_of_regions_make_gradients(operator: &Validated) -> Result<(), Error> {
    regions::align_gradient(operator)
}

/// ADAM_OPTIMIZER: one training step, and decay rates below 1.
pub(crate) fn moments_decay(operator: &Validated) -> Result<(), Error> {
    training::optimizer(operator)
}

/// BATCH_NORMALIZATION_TRAINING: scales are repeated along the dimensions whose moments are taken.
pub(crate) fn scales_are_repeated(operator: &Validated) -> Result<(), Error> {
    training::repeated(operator, "ScaleTensor", "OutputTensor")
}

/// BATCH_NORMALIZATION_GRAD, BATCH_NORMALIZATION_TRAINING_GRAD: moments are repeated along the dimensions that are summed.
pub(crate) fn moments_are_repeated(operator: &Validated) -> Result<(), Error> {
    training::repeated(operator, "MeanTensor", "OutputGradientTensor")
}

/// AVERAGE_POOLING_GRAD: the input has an element for each window of the output.
pub(crate) fn windows_of_output_make_input(operator: &Validated) -> Result<(), Error> {
    windows::pooling_gradient(operator, "OutputGradientTensor")
}

/// MAX_POOLING_GRAD: the gradients have an element for each window of the input.
pub(crate) fn windows_of_input_make_gradients(operator: &Validated) -> Result<(), Error> {
    windows::pooling_gradient(operator, "InputTensor")
}

/// The error about the value `given` at `path`.
fn invalid(
    operator: &Validated,
    path: impl Into<String>,
    given: impl std::fmt::Display,
    problem: impl Into<String>,
    accepted: impl std::fmt::Display,
) -> Error {
    let field = InvalidField::new(path, given, problem, accepted.to_string());
    Error::Invalid { operator: operator.schema().name, field }
}

/// Every tensor of the kind `parts` has the sizes of `whole`, except along `Axis`, where their sizes add up.
fn parts_along_axis(operator: &Validated, whole: &str, parts: FieldKind) -> Result<(), Error> {
    let invalid = |field| Error::Invalid { operator: operator.schema().name, field };
    let (axis, sizes) = (operator.uint("Axis")?, operator.required_tensor(whole)?.sizes());
    let along = usize::try_from(axis).ok().filter(|axis| *axis < sizes.len()).ok_or_else(|| {
        let problem = format!("is not a dimension of {whole}");
        invalid(InvalidField::new("Axis", axis, problem, format!("0 to {}", sizes.len() - 1)))
    })?;
    let parts = || operator.present_tensors(parts);
    parts().try_for_each(|(path, it)| part(path, it, whole, sizes, along).map_err(invalid))?;
    let sum: u64 = parts().map(|(_, it)| u64::from(it.sizes()[along])).sum();
    if sum == u64::from(sizes[along]) {
        return Ok(());
    }
    let path = format!("{whole}.Sizes[{along}]");
    let problem = "is not the sum of the sizes of the parts";
    Err(invalid(InvalidField::new(path, sizes[along], problem, sum.to_string())))
}

fn part(
    path: TensorPath,
    part: &TensorLayout,
    whole: &str,
    sizes: &[u32],
    along: usize,
) -> Result<(), InvalidField> {
    let differs = |member: String, given: usize, accepted: usize| {
        let problem = format!("differs from {whole}.{member}");
        InvalidField::new(format!("{path}.{member}"), given, problem, accepted.to_string())
    };
    let given = part.sizes();
    if given.len() != sizes.len() {
        return Err(differs("DimensionCount".to_owned(), given.len(), sizes.len()));
    }
    let mut pairs = given.iter().zip(sizes).enumerate();
    match pairs.find(|(at, (given, accepted))| *at != along && given != accepted) {
        None => Ok(()),
        Some((at, (given, accepted))) => {
            Err(differs(format!("Sizes[{at}]"), *given as usize, *accepted as usize))
        }
    }
}

/// `Axes` has dimensions of `InputTensor`, each at most once.
pub(crate) fn axes_are_dimensions(operator: &Validated) -> Result<(), Error> {
    let Some(input) = operator.tensor("InputTensor")? else { return Ok(()) };
    let (axes, rank) = (operator.uint_array("Axes")?, input.sizes().len());
    for (at, axis) in axes.iter().enumerate() {
        let problem = match *axis as usize >= rank {
            true => "is not a dimension of InputTensor",
            false if axes[..at].contains(axis) => "is listed twice",
            false => continue,
        };
        let accepted = format!("each of 0 to {} once", rank - 1);
        let field = InvalidField::new(format!("Axes[{at}]"), axis, problem, accepted);
        return Err(Error::Invalid { operator: operator.schema().name, field });
    }
    Ok(())
}

/// `OutputTensor` has the sizes of `InputTensor`, but 1 along `Axes`.
pub(crate) fn output_has_one_for_each_row(operator: &Validated) -> Result<(), Error> {
    axes_are_dimensions(operator)?;
    rows::one_for_each(operator)
}

/// `Axis` is a dimension of `InputTensor`.
pub(crate) fn axis_is_a_dimension(operator: &Validated) -> Result<(), Error> {
    rows::axis(operator)
}

/// LP_NORMALIZATION: the axis is a dimension, and the norm is 1 or 2.
pub(crate) fn norm_is_known(operator: &Validated) -> Result<(), Error> {
    rows::axis(operator)?;
    rows::norm(operator)
}

/// DYNAMIC_QUANTIZE_LINEAR: the scale and the zero point are one element each.
pub(crate) fn scale_of_all(operator: &Validated) -> Result<(), Error> {
    rows::single(operator, "OutputScaleTensor")?;
    rows::single(operator, "OutputZeroPointTensor")
}

/// Inputs have the sizes of `OutputTensor`, or 1.
pub(crate) fn sizes_are_repeated(operator: &Validated) -> Result<(), Error> {
    rows::repeated(operator)
}

/// Inputs have the sizes of `OutputTensor`, or 1, and `Axes` are dimensions.
pub(crate) fn axes_and_repeated_sizes(operator: &Validated) -> Result<(), Error> {
    axes_are_dimensions(operator)?;
    rows::repeated(operator)
}

/// All dimensions of `InputTensor` before the last two have a size of 1.
pub(crate) fn input_has_two_dimensions(operator: &Validated) -> Result<(), Error> {
    let Some(input) = operator.tensor("InputTensor")? else { return Ok(()) };
    let outer = input.sizes().iter().rev().skip(2).rev().enumerate();
    let Some((at, size)) = outer.into_iter().find(|(_, size)| **size != 1) else { return Ok(()) };
    let problem = "is before the last two dimensions, where all sizes must be 1";
    let field = InvalidField::new(format!("InputTensor.Sizes[{at}]"), size, problem, "1");
    Err(Error::Invalid { operator: operator.schema().name, field })
}

/// There are 1 or 3 channels, which is the second size of `OutputTensor`.
pub(crate) fn bias_of_channels(operator: &Validated) -> Result<(), Error> {
    let (count, sizes) =
        (operator.uint("ChannelCount")?, operator.required_tensor("OutputTensor")?.sizes());
    let channels = sizes.get(1).copied().unwrap_or_default();
    let problem = match count {
        1 | 3 if count == channels => return Ok(()),
        1 | 3 => ("is not OutputTensor.Sizes[1]", channels.to_string()),
        _ => ("is not a supported number of channels", "1 or 3".to_owned()),
    };
    let field = InvalidField::new("ChannelCount", count, problem.0, problem.1);
    Err(Error::Invalid { operator: operator.schema().name, field })
}

/// There are as many `QuantizationTensors` as `QuantizationType` states, of equal sizes, which divide those of
/// `OutputTensor`; the first holds floats.
pub(crate) fn quantization_tensors_of_blocks(operator: &Validated) -> Result<(), Error> {
    blocks::quantization(operator)
}

#[cfg(test)]
mod tests;
