//! Rules of operators on regions of interest: the numbers that describe a region, and the sizes of outputs.

use super::invalid;
use super::movement::{INPUT, OUTPUT, no_zeros, sizes_are};
use crate::error::Error;
use crate::schema::validated::Validated;
use crate::tensor::TensorLayout;
use crate::types::enums::ReduceFunction;

const REGIONS: &str = "ROITensor";
const BATCHES: &str = "BatchIndicesTensor";
const ELEMENTS: &str = "OutputGradientTensor";

/// The most samples that a cell of ROI_ALIGN has in each dimension.
// A cell with the most samples in both dimensions takes about 63,000 loop iterations; lavapipe ends a loop at 65,535.
pub const MOST_ROI_SAMPLES: u32 = 500;

/// As many regions as the output has, of five numbers each, and the output's cells.
pub(super) fn pooling(operator: &Validated) -> Result<(), Error> {
    let [cells_across, cells_down] = operator.size_2d("PooledSize")?;
    no_zeros(operator, "PooledSize.Width", &[cells_across])?;
    no_zeros(operator, "PooledSize.Height", &[cells_down])?;
    let output = output(operator)?;
    let cells = [output[0], output[1], cells_down, cells_across];
    let problem = "does not match PooledSize";
    sizes_are(operator, "OutputTensor.Sizes", output, problem, |at| cells[at].into())?;
    each_region_has(operator, REGIONS, output[0], Some(5))
}

/// As many regions as the output has, of four numbers each, and a batch for each.
pub(super) fn align(operator: &Validated) -> Result<(), Error> {
    let output = output(operator)?;
    samples(operator, output[0])
}

/// As many regions and channels as the gradients have. The input is given if it is needed.
pub(super) fn align_gradient(operator: &Validated) -> Result<(), Error> {
    let cells = operator.required_tensor("InputGradientTensor")?.sizes();
    samples(operator, cells[0])?;
    let [input, elements] =
        [INPUT, ELEMENTS].map(|name| operator.tensor(name).map(|it| it.map(TensorLayout::sizes)));
    let (input, elements) = (input?, elements?);
    let of_regions = operator.tensor("OutputROIGradientTensor")?;
    let absent = |name: &str, reason: &str| invalid(operator, name, "none", reason, "a tensor");
    if elements.is_none() && of_regions.is_none() {
        return Err(absent(ELEMENTS, "is left out, and so is OutputROIGradientTensor"));
    }
    if input.is_none() && of_regions.is_some() {
        return Err(absent(INPUT, "is left out, but OutputROIGradientTensor needs it"));
    }
    let is_greatest = operator.uint("ReductionFunction")? == ReduceFunction::Max.dml_value();
    if input.is_none() && is_greatest {
        return Err(absent(INPUT, "is left out, but ReductionFunction is MAX"));
    }
    for (name, sizes) in [(INPUT, input), (ELEMENTS, elements)] {
        let Some(sizes) = sizes else { continue };
        let wanted = [sizes[0], cells[1], sizes[2], sizes[3]];
        let problem = "is not InputGradientTensor's number of channels";
        sizes_are(operator, &format!("{name}.Sizes"), sizes, problem, |at| wanted[at].into())?;
    }
    let (Some(input), Some(elements)) = (input, elements) else { return Ok(()) };
    let problem = "differs from InputTensor's";
    sizes_are(operator, "OutputGradientTensor.Sizes", elements, problem, |at| input[at].into())
}

/// Four numbers and a batch for each region, a known reduction of samples, and valid limits on their number.
fn samples(operator: &Validated, regions: u32) -> Result<(), Error> {
    each_region_has(operator, REGIONS, regions, Some(4))?;
    each_region_has(operator, BATCHES, regions, None)?;
    let function = operator.uint("ReductionFunction")?;
    let functions = [ReduceFunction::Average, ReduceFunction::Max].map(ReduceFunction::dml_value);
    if !functions.contains(&function) {
        let accepted = "2 (AVERAGE) or 7 (MAX)";
        let problem = "is not a reduction of samples";
        return Err(invalid(operator, "ReductionFunction", function, problem, accepted));
    }
    let [least, most] = ["MinimumSamplesPerOutput", "MaximumSamplesPerOutput"];
    no_zeros(operator, most, &[operator.uint(most)?])?;
    let bound = operator.uint(most)?.min(MOST_ROI_SAMPLES);
    let minimum = operator.uint(least)?;
    if minimum > bound {
        let problem = "is more than the maximum number of samples";
        return Err(invalid(operator, least, minimum, problem, format!("0 to {bound}")));
    }
    Ok(())
}

/// The output's sizes, after checking that it has the input's channels.
fn output(operator: &Validated) -> Result<&[u32], Error> {
    let [input, output] = [INPUT, OUTPUT].map(|name| operator.required_tensor(name));
    let (input, output) = (input?.sizes(), output?.sizes());
    let sizes = [output[0], input[1], output[2], output[3]];
    let problem = "is not InputTensor's number of channels";
    sizes_are(operator, "OutputTensor.Sizes", output, problem, |at| sizes[at].into())?;
    Ok(output)
}

/// Checks a tensor with `numbers` elements for each region in the last dimension and the regions before it, or
/// with one element for each region in the last dimension. All other dimensions are 1.
fn each_region_has(
    operator: &Validated,
    name: &str,
    regions: u32,
    numbers: Option<u32>,
) -> Result<(), Error> {
    let sizes = operator.required_tensor(name)?.sizes();
    let last = [Some(regions), numbers].into_iter().flatten();
    let before = sizes.len().saturating_sub(last.clone().count());
    let wanted: Vec<u32> = std::iter::repeat_n(1, before).chain(last).collect();
    let problem = "does not match the number of regions";
    sizes_are(operator, &format!("{name}.Sizes"), sizes, problem, |at| wanted[at].into())
}
