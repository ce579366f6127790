//! Rules of matrix multiplications and convolutions: the sizes of their tensors.

use super::invalid;
use crate::error::Error;
use crate::schema::validated::Validated;
use crate::schema::{FieldKind, TensorPath};
use crate::tensor::TensorLayout;

/// The output's sizes are the batches, A's rows and B's columns; the other tensors have one element for all, for
/// each row, or for each column.
pub(super) fn matrices(operator: &Validated) -> Result<(), Error> {
    let [a, b, output] = of_one_rank(operator, ["ATensor", "BTensor", OUTPUT])?;
    let transposed = |name| match operator.schema().has_field(name) {
        true => operator.uint(name).map(|it| it == 1),
        false => Ok(false),
    };
    let [rows, depth] = matrix(a, transposed("TransA")?);
    let [_, columns] = matrix(b, transposed("TransB")?);
    let (batches, last) = output.split_at(output.len() - 2);
    let swapped =
        |is_swapped, [one, other]: [u32; 2]| if is_swapped { [other, one] } else { [one, other] };
    let of_b = swapped(transposed("TransB")?, [depth, columns]);
    sizes_are(operator, "BTensor", b, &[batches, &of_b].concat())?;
    let of_a = swapped(transposed("TransA")?, [rows, depth]);
    sizes_are(operator, "ATensor", a, &[batches, &of_a].concat())?;
    sizes_are(operator, OUTPUT, output, &[batches, &[rows, columns]].concat())?;
    axes_of_activation(operator, output.len())?;
    for (path, tensor) in operator.present_tensors(FieldKind::Input) {
        let of_one = match path.field.name {
            "ATensor" | "BTensor" | "CTensor" => continue,
            "BiasTensor" => [last[0], last[1]],
            name if name.starts_with('B') => [1, last[1]],
            _ => [last[0], 1],
        };
        parameter(operator, path, tensor, &[batches, &of_one].concat())?;
    }
    Ok(())
}

/// The axes of a fused activation over rows are dimensions of the output, each at most once.
fn axes_of_activation(operator: &Validated, rank: usize) -> Result<(), Error> {
    let name = "FusedActivation";
    if !operator.schema().has_field(name) {
        return Ok(());
    }
    for activation in operator.nested(name)? {
        if !activation.schema().has_field("Axes") {
            continue;
        }
        let axes = activation.uint_array("Axes")?;
        let is_wrong = |at: &usize| axes[*at] as usize >= rank || axes[..*at].contains(&axes[*at]);
        if let Some(at) = (0..axes.len()).find(is_wrong) {
            let problem = "is not a dimension of the output, or is listed twice";
            let path = format!("{name}.Axes[{at}]");
            return Err(invalid(operator, path, axes[at], problem, format!("0 to {}", rank - 1)));
        }
    }
    Ok(())
}

/// Rows and columns of a matrix, after the transposition if there is one.
fn matrix(sizes: &[u32], is_transposed: bool) -> [u32; 2] {
    let [.., rows, columns] = *sizes else { return [1, 1] };
    if is_transposed { [columns, rows] } else { [rows, columns] }
}

/// The output's sizes follow from the input's, the filter's and the attributes; the other tensors have one
/// element for all, or for each channel of the output.
pub(super) fn convolution(operator: &Validated) -> Result<(), Error> {
    let [input, filter, output] = of_one_rank(operator, ["InputTensor", "FilterTensor", OUTPUT])?;
    let (count, groups) = (operator.uint("DimensionCount")?, operator.uint("GroupCount")?);
    let spatial = input.len() - 2;
    if u32::try_from(spatial) != Ok(count) {
        let problem = "is not the number of spatial dimensions";
        return Err(invalid(operator, "DimensionCount", count, problem, spatial));
    }
    if groups == 0 || !input[1].is_multiple_of(groups) || !output[1].is_multiple_of(groups) {
        let problem = "does not divide the channels of the input and the output";
        let accepted = format!("divisors of {} and {}", input[1], output[1]);
        return Err(invalid(operator, "GroupCount", groups, problem, accepted));
    }
    let is_backward = is_backward(operator)?;
    let channels = match is_backward {
        true => [input[1], output[1] / groups],
        false => [output[1], input[1] / groups],
    };
    let wanted = [&channels, &filter[2..]].concat();
    sizes_are(operator, "FilterTensor", filter, &wanted)?;
    let mut sizes = vec![input[0], output[1]];
    for at in 0..spatial {
        sizes.push(extent(operator, at, [input[2 + at], filter[2 + at]], is_backward)?);
    }
    sizes_are(operator, OUTPUT, output, &sizes)?;
    let mut of_channels = vec![1; sizes.len()];
    of_channels[1] = output[1];
    let of_all = vec![1; sizes.len()];
    for (path, tensor) in operator.present_tensors(FieldKind::Input) {
        match path.field.name {
            "InputTensor" | "FilterTensor" => Ok(()),
            "BiasTensor" => sizes_are(operator, "BiasTensor", tensor.sizes(), &of_channels),
            name if name.starts_with("Filter") => parameter(operator, path, tensor, &of_channels),
            _ => parameter(operator, path, tensor, &of_all),
        }?;
    }
    Ok(())
}

fn is_backward(operator: &Validated) -> Result<bool, Error> {
    match operator.schema().has_field("Direction") {
        true => operator.uint("Direction").map(|it| it == 1),
        false => Ok(false),
    }
}

/// The output's size in a spatial dimension, from the input's and the filter's.
fn extent(
    operator: &Validated,
    at: usize,
    [input, filter]: [u32; 2],
    is_backward: bool,
) -> Result<u32, Error> {
    let value = |name: &str| operator.uint_array(name).map(|it| u64::from(it[at]));
    let [stride, dilation] = [value("Strides")?, value("Dilations")?];
    for (name, value) in [("Strides", stride), ("Dilations", dilation)] {
        if value == 0 {
            return Err(invalid(operator, format!("{name}[{at}]"), 0, "is too small", "any other"));
        }
    }
    let padding = value("StartPadding")?.saturating_add(value("EndPadding")?);
    let window = (u64::from(filter) - 1).saturating_mul(dilation).saturating_add(1);
    let input = u64::from(input);
    let size = match is_backward {
        true => {
            let whole = (input - 1).saturating_mul(stride).saturating_add(window);
            whole.saturating_add(value("OutputPadding")?).checked_sub(padding)
        }
        false => (input + padding).checked_sub(window).map(|last| last / stride + 1),
    };
    let size = size.and_then(|size| u32::try_from(size).ok()).filter(|size| *size > 0);
    size.ok_or_else(|| {
        let (name, whole) = if is_backward {
            ("EndPadding", input)
        } else {
            ("FilterTensor.Sizes", input + padding)
        };
        let at_name = if is_backward { at } else { at + 2 };
        let given = if is_backward { padding } else { window };
        let problem = format!("leaves no element of the output, with an extent of {whole}");
        invalid(operator, format!("{name}[{at_name}]"), given, problem, "less")
    })
}

/// Checks a tensor with one element for all, or for each element of `whole`; sizes are aligned at the innermost
/// dimension.
fn parameter(
    operator: &Validated,
    path: TensorPath,
    tensor: &TensorLayout,
    whole: &[u32],
) -> Result<(), Error> {
    let sizes = tensor.sizes();
    for (at, size) in sizes.iter().enumerate() {
        let place = (whole.len() + at).checked_sub(sizes.len());
        let accepted = place.map_or(1, |place| whole[place]);
        if *size != 1 && *size != accepted {
            let accepted = if accepted == 1 { "1".to_owned() } else { format!("1 or {accepted}") };
            let problem = "is neither one element for all nor one for each";
            return Err(invalid(operator, format!("{path}.Sizes[{at}]"), size, problem, accepted));
        }
    }
    Ok(())
}

const OUTPUT: &str = "OutputTensor";

/// The sizes of tensors, which must have equal numbers of dimensions.
fn of_one_rank<'a, const N: usize>(
    operator: &'a Validated,
    tensors: [&str; N],
) -> Result<[&'a [u32]; N], Error> {
    let mut all = [&[][..]; N];
    for (sizes, name) in all.iter_mut().zip(tensors) {
        *sizes = operator.required_tensor(name)?.sizes();
    }
    match (1..N).find(|at| all[*at].len() != all[0].len()) {
        None => Ok(all),
        Some(at) => {
            let path = format!("{}.DimensionCount", tensors[at]);
            let problem = format!("differs from {}.DimensionCount", tensors[0]);
            Err(invalid(operator, path, all[at].len(), problem, all[0].len()))
        }
    }
}

/// Checks that the sizes of the tensor `name` are `wanted`.
pub(super) fn sizes_are(
    operator: &Validated,
    name: &str,
    sizes: &[u32],
    wanted: &[u32],
) -> Result<(), Error> {
    let rank = || {
        let path = format!("{name}.DimensionCount");
        invalid(operator, path, sizes.len(), "differs from the other tensors'", wanted.len())
    };
    if sizes.len() != wanted.len() {
        return Err(rank());
    }
    match (0..sizes.len()).find(|at| sizes[*at] != wanted[*at]) {
        None => Ok(()),
        Some(at) => {
            let problem = "does not match the sizes of the other tensors";
            Err(invalid(operator, format!("{name}.Sizes[{at}]"), sizes[at], problem, wanted[at]))
        }
    }
}
