//! Rules of operators on windows: how many windows a tensor has, and what their attributes may be.

use super::invalid;
use super::movement::{INPUT, OUTPUT, no_zeros, same_ranks, sizes_are};
use crate::error::Error;
use crate::schema::validated::Validated;

/// Dimensions without windows: batches and channels.
const OUTER: usize = 2;

/// The output has an element for each window, and the exponent `P`, if there is one, is not 0.
pub(super) fn pooling(operator: &Validated) -> Result<(), Error> {
    one_for_each_window(operator, [INPUT, OUTPUT])?;
    match operator.uint("P") {
        Ok(0) => Err(invalid(operator, "P", 0, "is too small", "1 and more")),
        _ => Ok(()),
    }
}

/// The gradients of windows have an element for each window of the tensor `whole`.
pub(super) fn pooling_gradient(operator: &Validated, whole: &str) -> Result<(), Error> {
    one_for_each_window(operator, [whole, "InputGradientTensor"])
}

/// The second tensor has an element for each window of the first.
fn one_for_each_window(operator: &Validated, tensors: [&str; 2]) -> Result<(), Error> {
    let [whole, windows] = same_ranks(operator, tensors)?;
    let counts = counts(operator, tensors[0], whole, "WindowSize")?;
    let sizes: Vec<u64> =
        whole[..OUTER].iter().map(|size| u64::from(*size)).chain(counts).collect();
    let problem = "is not the number of windows";
    sizes_are(operator, &format!("{}.Sizes", tensors[1]), windows, problem, |at| sizes[at])
}

/// The number of windows in each spatial dimension of a tensor of these sizes.
fn counts(
    operator: &Validated,
    tensor: &str,
    sizes: &[u32],
    window_field: &str,
) -> Result<Vec<u64>, Error> {
    let (count, rank) = (operator.uint("DimensionCount")?, sizes.len());
    if count as usize + OUTER != rank {
        let problem = format!("is not {tensor}.DimensionCount less batches and channels");
        let accepted = rank.saturating_sub(OUTER).to_string();
        return Err(invalid(operator, "DimensionCount", count, problem, accepted));
    }
    let [windows, steps, start, end] =
        [window_field, "Strides", "StartPadding", "EndPadding"].map(|it| operator.uint_array(it));
    let (windows, steps, start, end) = (windows?, steps?, start?, end?);
    no_zeros(operator, window_field, windows)?;
    no_zeros(operator, "Strides", steps)?;
    let dilations = dilations(operator)?;
    let of = |(at, size): (usize, &u32)| {
        let padded = u64::from(*size) + u64::from(start[at]) + u64::from(end[at]);
        if padded > u64::from(u32::MAX) {
            let problem = format!("makes the padded size {padded}");
            let accepted = format!("a padded size of up to {}", u32::MAX);
            return Err(invalid(operator, format!("EndPadding[{at}]"), end[at], problem, accepted));
        }
        let apart = u64::from(dilations.map_or(1, |dilation| dilation[at]));
        let reach = u64::from(windows[at] - 1).saturating_mul(apart);
        let Some(room) = padded.checked_sub(reach.saturating_add(1)) else {
            let path = format!("{window_field}[{at}]");
            let problem = format!("makes the window larger than the padded size of {padded}");
            return Err(invalid(operator, path, windows[at], problem, "less"));
        };
        Ok(room / u64::from(steps[at]) + 1)
    };
    sizes[OUTER..].iter().enumerate().map(of).collect()
}

/// FOLD and UNFOLD: `columns` has a column for each window of `space`, in its last two dimensions.
pub(super) fn columns(operator: &Validated, space: &str, columns: &str) -> Result<(), Error> {
    const LAST: usize = 3;
    let sizes = operator.required_tensor(space)?.sizes();
    let counts = counts(operator, space, sizes, "WindowSizes")?;
    let windows = operator.uint_array("WindowSizes")?;
    let product = |sizes: &mut dyn Iterator<Item = u64>| sizes.fold(1, u64::saturating_mul);
    let elements = product(&mut sizes[1..OUTER].iter().chain(windows).map(|it| u64::from(*it)));
    let wanted = [sizes[0].into(), elements, product(&mut counts.into_iter())];
    let found = operator.required_tensor(columns)?.sizes();
    let before = found.len() - LAST;
    let of = |at: usize| at.checked_sub(before).map_or(1, |at| wanted[at]);
    let problem = "does not match the number or the size of the windows";
    sizes_are(operator, &format!("{columns}.Sizes"), found, problem, of)
}

/// `Dilations`, checked not to be 0, if the operator has them.
fn dilations(operator: &Validated) -> Result<Option<&[u32]>, Error> {
    let mut fields = operator.schema().fields.iter();
    if !fields.any(|field| field.name == "Dilations") {
        return Ok(None);
    }
    let dilations = operator.uint_array("Dilations")?;
    no_zeros(operator, "Dilations", dilations)?;
    Ok(Some(dilations))
}

/// As [`pooling`], with one scale for the tensor or for each channel.
pub(super) fn quantized_pooling(operator: &Validated) -> Result<(), Error> {
    pooling(operator)?;
    let sizes = operator.required_tensor(INPUT)?.sizes();
    for name in ["InputScaleTensor", "OutputScaleTensor"] {
        let scales = operator.required_tensor(name)?.sizes();
        if scales.iter().all(|size| *size == 1) {
            continue;
        }
        same_ranks(operator, [INPUT, name])?;
        let of_channels = |at: usize| u64::from(if at == 1 { sizes[1] } else { 1 });
        let problem = "is neither one scale nor one for each channel";
        sizes_are(operator, &format!("{name}.Sizes"), scales, problem, of_channels)?;
    }
    Ok(())
}

/// LOCAL_RESPONSE_NORMALIZATION: a window has at least one element.
pub(super) fn local_size(operator: &Validated) -> Result<(), Error> {
    no_zeros(operator, "LocalSize", &[operator.uint("LocalSize")?])
}

/// The tensors have as many dimensions as there are scales, which are finite and above 0; offsets are finite.
pub(super) fn resampling(operator: &Validated, tensors: [&str; 2]) -> Result<(), Error> {
    let [input, _] = same_ranks(operator, tensors)?;
    let scales = operator.float_array("Scales")?;
    if scales.len() != input.len() {
        let fields = &operator.schema().fields;
        let count =
            fields.iter().find(|field| field.name.ends_with("Count")).map_or("", |it| it.name);
        let problem = format!("differs from {}.DimensionCount", tensors[0]);
        return Err(invalid(operator, count, scales.len(), problem, input.len().to_string()));
    }
    if let Some(at) = scales.iter().position(|scale| !(*scale > 0.0 && scale.is_finite())) {
        let path = format!("Scales[{at}]");
        return Err(invalid(
            operator,
            path,
            scales[at],
            "is not a valid scale",
            "finite numbers above 0",
        ));
    }
    for name in ["InputPixelOffsets", "OutputPixelOffsets"] {
        let Ok(offsets) = operator.float_array(name) else { continue };
        if let Some(at) = offsets.iter().position(|offset| !offset.is_finite()) {
            let path = format!("{name}[{at}]");
            return Err(invalid(
                operator,
                path,
                offsets[at],
                "is not a valid offset",
                "finite numbers",
            ));
        }
    }
    Ok(())
}
