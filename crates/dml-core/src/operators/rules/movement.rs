//! Rules of data movement: the sizes of tensors, which follow from the attributes.

use super::invalid;
use crate::error::{Error, LevelRefusal};
use crate::schema::validated::Validated;
use crate::types::FeatureLevel;
use crate::types::enums::PaddingMode;

/// Offsets, sizes and strides stay within the input; the sizes are the output's.
pub(super) fn slice(operator: &Validated) -> Result<(), Error> {
    let [input, output] = of_one_rank(operator, "DimensionCount", [INPUT, OUTPUT])?;
    let [offsets, sizes, strides] =
        ["Offsets", "Sizes", "Strides"].map(|name| operator.uint_array(name));
    let (offsets, sizes, strides) = (offsets?, sizes?, strides?);
    no_zeros(operator, "Strides", strides)?;
    let same = |at: usize| u64::from(output[at]);
    sizes_are(operator, "Sizes", sizes, "differs from OutputTensor's size", same)?;
    for (at, size) in input.iter().enumerate() {
        let steps = u64::from(sizes[at] - 1) * u64::from(strides[at]);
        let last = u64::from(offsets[at]) + steps;
        if last >= u64::from(*size) {
            let problem = format!("makes the slice end at {last}, beyond InputTensor.Sizes[{at}]");
            let accepted = format!("an end before {size}");
            return Err(invalid(
                operator,
                format!("Offsets[{at}]"),
                offsets[at],
                problem,
                accepted,
            ));
        }
    }
    Ok(())
}

/// The window is within the tensor `whole`, and `part` has at most as many elements as the window holds at the
/// strides.
pub(super) fn window(operator: &Validated, whole: &str, part: &str) -> Result<(), Error> {
    let [whole_sizes, part_sizes] = of_one_rank(operator, "DimensionCount", [whole, part])?;
    let offsets = operator.uint_array("InputWindowOffsets")?;
    let sizes = operator.uint_array("InputWindowSizes")?;
    let strides: Vec<u32> =
        operator.int_array("InputWindowStrides")?.iter().map(|it| it.unsigned_abs()).collect();
    no_zeros(operator, "InputWindowStrides", &strides)?;
    no_zeros(operator, "InputWindowSizes", sizes)?;
    for (at, size) in whole_sizes.iter().enumerate() {
        let end = u64::from(offsets[at]) + u64::from(sizes[at]);
        if end > u64::from(*size) {
            let path = format!("InputWindowOffsets[{at}]");
            let problem = format!("makes the window end at {end}, beyond {whole}.Sizes[{at}]");
            let accepted = format!("an end up to {size}");
            return Err(invalid(operator, path, offsets[at], problem, accepted));
        }
        let most = 1 + (sizes[at] - 1) / strides[at];
        if part_sizes[at] > most {
            let path = format!("{part}.Sizes[{at}]");
            let problem = "elements are more than the window has";
            return Err(invalid(operator, path, part_sizes[at], problem, format!("1 to {most}")));
        }
    }
    Ok(())
}

/// The output's sizes are the input's plus both paddings, and the level has the mode.
pub(super) fn padding(operator: &Validated) -> Result<(), Error> {
    let [input, output] = of_one_rank(operator, "DimensionCount", [INPUT, OUTPUT])?;
    let (start, end) = (operator.uint_array("StartPadding")?, operator.uint_array("EndPadding")?);
    let with_margins = |at: usize| u64::from(input[at]) + u64::from(start[at]) + u64::from(end[at]);
    let problem = "is not InputTensor's size plus both paddings";
    sizes_are(operator, OUTPUT_SIZES, output, problem, with_margins)?;
    let mode = operator.uint("PaddingMode")?;
    let (needs, allowed) = match PaddingMode::from_dml_value(mode) {
        Some(PaddingMode::Wrap) => (FeatureLevel::V6_4, "CONSTANT, EDGE, REFLECTION, SYMMETRIC"),
        Some(PaddingMode::Symmetric) => (FeatureLevel::V3_0, "CONSTANT, EDGE, REFLECTION"),
        _ => return Ok(()),
    };
    if operator.level() >= needs {
        return Ok(());
    }
    Err(Error::FeatureLevel(Box::new(LevelRefusal {
        operator: operator.schema().name,
        introduced: operator.schema().introduced(),
        field: Some(("PaddingMode".to_owned(), mode.to_string())),
        needs: Some(needs),
        created_at: operator.level(),
        allowed: Some(allowed.to_owned()),
    })))
}

/// The output's sizes are the input's times the repeats.
pub(super) fn tile(operator: &Validated) -> Result<(), Error> {
    let [input, output] = of_one_rank(operator, "RepeatsCount", [INPUT, OUTPUT])?;
    let repeats = operator.uint_array("Repeats")?;
    let product = |at: usize| u64::from(input[at]) * u64::from(repeats[at]);
    sizes_are(operator, OUTPUT_SIZES, output, "is not InputTensor's size times Repeats", product)
}

/// The output's last two sizes are the input's times the scales.
pub(super) fn upsample(operator: &Validated) -> Result<(), Error> {
    let [input, output] = same_ranks(operator, [INPUT, OUTPUT])?;
    let [width, height] = operator.size_2d("ScaleSize")?;
    let larger = |at: usize| {
        let scale = match input.len() - at {
            1 => width,
            2 => height,
            _ => 1,
        };
        u64::from(input[at]) * u64::from(scale)
    };
    let problem = "is not InputTensor's size times ScaleSize";
    sizes_are(operator, OUTPUT_SIZES, output, problem, larger)
}

/// Blocks of height and width of one tensor are channels of the other; the channels are the output's if `to_depth`.
/// Both tensors have 4 dimensions.
pub(super) fn blocks(operator: &Validated, to_depth: bool) -> Result<(), Error> {
    let block = operator.uint("BlockSize")?;
    no_zeros(operator, "BlockSize", &[block])?;
    let [input, output] = [INPUT, OUTPUT].map(|name| operator.required_tensor(name));
    let (input, output) = (input?.sizes(), output?.sizes());
    let block = u64::from(block);
    let (channels, space) = (block * block, block);
    let divisors = if to_depth { [1, 1, space, space] } else { [1, channels, 1, 1] };
    let factors = if to_depth { [1, channels, 1, 1] } else { [1, 1, space, space] };
    let odd = (0..4).find(|at| !u64::from(input[*at]).is_multiple_of(divisors[*at]));
    if let Some(at) = odd {
        let path = format!("InputTensor.Sizes[{at}]");
        let accepted = format!("multiples of {}", divisors[at]);
        return Err(invalid(
            operator,
            path,
            input[at],
            "is not divisible by the block size",
            accepted,
        ));
    }
    let wanted = |at: usize| (u64::from(input[at]) / divisors[at]).saturating_mul(factors[at]);
    let problem = "does not match InputTensor and BlockSize";
    sizes_are(operator, OUTPUT_SIZES, output, problem, wanted)
}

pub(super) const INPUT: &str = "InputTensor";
pub(super) const OUTPUT: &str = "OutputTensor";
const OUTPUT_SIZES: &str = "OutputTensor.Sizes";

/// The sizes of two tensors, which must have as many dimensions as the field `count` states.
fn of_one_rank<'a>(
    operator: &'a Validated,
    count: &str,
    tensors: [&str; 2],
) -> Result<[&'a [u32]; 2], Error> {
    let [first, second] = same_ranks(operator, tensors)?;
    let (given, rank) = (operator.uint(count)?, first.len());
    if u32::try_from(rank) != Ok(given) {
        let problem = format!("differs from {}.DimensionCount", tensors[0]);
        return Err(invalid(operator, count, given, problem, rank.to_string()));
    }
    Ok([first, second])
}

/// The sizes of two tensors, which must have equal numbers of dimensions.
pub(super) fn same_ranks<'a>(
    operator: &'a Validated,
    tensors: [&str; 2],
) -> Result<[&'a [u32]; 2], Error> {
    let [first, second] = tensors.map(|name| operator.required_tensor(name));
    let (first, second) = (first?.sizes(), second?.sizes());
    if second.len() != first.len() {
        let path = format!("{}.DimensionCount", tensors[1]);
        let problem = format!("differs from {}.DimensionCount", tensors[0]);
        return Err(invalid(operator, path, second.len(), problem, first.len().to_string()));
    }
    Ok([first, second])
}

/// Checks that each of `sizes`, which are at `path`, is the value of `wanted` for its dimension.
pub(super) fn sizes_are(
    operator: &Validated,
    path: &str,
    sizes: &[u32],
    problem: &str,
    wanted: impl Fn(usize) -> u64,
) -> Result<(), Error> {
    match (0..sizes.len()).find(|at| u64::from(sizes[*at]) != wanted(*at)) {
        None => Ok(()),
        Some(at) => {
            let (path, accepted) = (format!("{path}[{at}]"), wanted(at).to_string());
            Err(invalid(operator, path, sizes[at], problem, accepted))
        }
    }
}

/// Checks that no value at `path` is 0.
pub(super) fn no_zeros(operator: &Validated, path: &str, values: &[u32]) -> Result<(), Error> {
    let Some(at) = values.iter().position(|value| *value == 0) else { return Ok(()) };
    let path = if values.len() > 1 { format!("{path}[{at}]") } else { path.to_owned() };
    Err(invalid(operator, path, 0, "is too small", "any other"))
}

#[cfg(test)]
mod tests;
