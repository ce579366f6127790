//! Rules of operators on regions of interest: how many numbers tell a region, and what is made of it.

use super::invalid;
use super::movement::{INPUT, OUTPUT, no_zeros, sizes_are};
use crate::error::Error;
use crate::schema::validated::Validated;
use crate::types::enums::ReduceFunction;

const REGIONS: &str = "ROITensor";
const BATCHES: &str = "BatchIndicesTensor";

/// The most samples that a cell of ROI_ALIGN has in each dimension.
// Those of both are 63,000 iterations: lavapipe ends loops at 65,535.
pub const MOST_ROI_SAMPLES: u32 = 500;

/// As many regions as the output has, of five numbers each, and the output's cells.
pub(super) fn pooling(operator: &Validated) -> Result<(), Error> {
    let [cells_across, cells_down] = operator.size_2d("PooledSize")?;
    no_zeros(operator, "PooledSize.Width", &[cells_across])?;
    no_zeros(operator, "PooledSize.Height", &[cells_down])?;
    let output = output(operator)?;
    let cells = [output[0], output[1], cells_down, cells_across];
    let problem = "is not what PooledSize says";
    sizes_are(operator, "OutputTensor.Sizes", output, problem, |at| cells[at].into())?;
    each_region_has(operator, REGIONS, output[0], Some(5))
}

/// As many regions as the output has, of four numbers each, and a batch for each.
pub(super) fn align(operator: &Validated) -> Result<(), Error> {
    let output = output(operator)?;
    each_region_has(operator, REGIONS, output[0], Some(4))?;
    each_region_has(operator, BATCHES, output[0], None)?;
    let function = operator.uint("ReductionFunction")?;
    let functions = [ReduceFunction::Average, ReduceFunction::Max].map(ReduceFunction::dml_value);
    if !functions.contains(&function) {
        let accepted = "2 (AVERAGE) or 7 (MAX)";
        let problem = "is nothing that is made of samples";
        return Err(invalid(operator, "ReductionFunction", function, problem, accepted));
    }
    let [least, most] = ["MinimumSamplesPerOutput", "MaximumSamplesPerOutput"];
    no_zeros(operator, most, &[operator.uint(most)?])?;
    let bound = operator.uint(most)?.min(MOST_ROI_SAMPLES);
    let minimum = operator.uint(least)?;
    if minimum > bound {
        let problem = "is more samples than there may be";
        return Err(invalid(operator, least, minimum, problem, format!("0 to {bound}")));
    }
    Ok(())
}

/// The output's sizes, of which the channels are the input's.
fn output(operator: &Validated) -> Result<&[u32], Error> {
    let [input, output] = [INPUT, OUTPUT].map(|name| operator.required_tensor(name));
    let (input, output) = (input?.sizes(), output?.sizes());
    let sizes = [output[0], input[1], output[2], output[3]];
    let problem = "is not InputTensor's number of channels";
    sizes_are(operator, "OutputTensor.Sizes", output, problem, |at| sizes[at].into())?;
    Ok(output)
}

/// The last dimension of a tensor has so many numbers, where there are several, and the one before the regions;
/// others have one element.
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
    let problem = "is not what a number of regions like OutputTensor's takes";
    sizes_are(operator, &format!("{name}.Sizes"), sizes, problem, |at| wanted[at].into())
}
