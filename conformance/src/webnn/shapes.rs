//! Operations whose arguments are inputs of ONNX's operators, or stand in another order.

use anyhow::{Context as _, ensure};
use dml_import::ElementType;

use super::attribute;
use super::json::{self, names};
use super::model::Call;

/// The values of an operation's outputs.
type Results = anyhow::Result<Vec<String>>;

/// A list of integers that has to be given.
fn listed(call: &Call<'_>, name: &str) -> anyhow::Result<Vec<i64>> {
    call.list(name)?.with_context(|| format!("argument {name}: it is missing"))
}

/// An operator whose second input is a list.
fn with_list(call: &mut Call<'_>, operator: &str, name: &str) -> Results {
    let (input, list) = (call.required("input")?, listed(call, name)?);
    let list = call.builder.integers(&list)?;
    Ok(vec![call.builder.node(operator, &[input, list], vec![])])
}

pub(super) fn expand(call: &mut Call<'_>) -> Results {
    with_list(call, "Expand", "newShape")
}

pub(super) fn reshape(call: &mut Call<'_>) -> Results {
    with_list(call, "Reshape", "newShape")
}

pub(super) fn tile(call: &mut Call<'_>) -> Results {
    with_list(call, "Tile", "repetitions")
}

pub(super) fn concat(call: &mut Call<'_>) -> Results {
    let inputs = call.operator.argument("inputs").context("argument inputs: it is missing")?;
    let axis = call.integer("axis")?.unwrap_or(0);
    Ok(vec![call.builder.node("Concat", &names(inputs)?, vec![attribute::int("axis", axis)])])
}

pub(super) fn transpose(call: &mut Call<'_>) -> Results {
    let permutation = call.list("permutation")?.map(|it| attribute::ints("perm", it));
    let input = call.required("input")?;
    Ok(vec![call.builder.node("Transpose", &[input], permutation.into_iter().collect())])
}

pub(super) fn slice(call: &mut Call<'_>) -> Results {
    let (starts, sizes) = (listed(call, "starts")?, listed(call, "sizes")?);
    let steps = call.list("strides")?.unwrap_or_else(|| vec![1; starts.len()]);
    let ends = starts.iter().zip(&sizes).map(|(start, size)| start.checked_add(*size));
    let ends: Vec<i64> = ends.collect::<Option<_>>().context("sizes: they are too large")?;
    sliced(call, &starts, &ends, &axes(starts.len())?, &steps)
}

/// Backwards along some dimensions, or along all.
pub(super) fn reverse(call: &mut Call<'_>) -> Results {
    let rank = call.known("input")?.shape.len();
    let axes = call.list("axes")?.map_or_else(|| axes(rank), Ok)?;
    let each = |value| vec![value; axes.len()];
    sliced(call, &each(-1), &each(i64::MIN), &axes, &each(-1))
}

fn axes(rank: usize) -> anyhow::Result<Vec<i64>> {
    Ok((0..i64::try_from(rank)?).collect())
}

fn sliced(
    call: &mut Call<'_>,
    starts: &[i64],
    ends: &[i64],
    axes: &[i64],
    steps: &[i64],
) -> Results {
    let mut inputs = vec![call.required("input")?];
    if axes.is_empty() {
        return Ok(inputs);
    }
    for list in [starts, ends, axes, steps] {
        inputs.push(call.builder.integers(list)?);
    }
    Ok(vec![call.builder.node("Slice", &inputs, vec![])])
}

pub(super) fn split(call: &mut Call<'_>) -> Results {
    let outputs = call.operator.outputs()?.len();
    let mut inputs = vec![call.required("input")?];
    let mut attributes = vec![attribute::int("axis", call.integer("axis")?.unwrap_or(0))];
    match call.operator.argument("splits") {
        Some(splits) if splits.is_array() => {
            let splits = listed(call, "splits")?;
            inputs.push(call.builder.integers(&splits)?);
        }
        _ => {
            let count = call.integer("splits")?.context("argument splits: it is missing")?;
            attributes.push(attribute::int("num_outputs", count));
        }
    }
    Ok(call.builder.nodes("Split", &inputs, attributes, outputs))
}

pub(super) fn pad(call: &mut Call<'_>) -> Results {
    let pads = [listed(call, "beginningPadding")?, listed(call, "endingPadding")?].concat();
    let mode = match call.text("mode").unwrap_or("constant") {
        "reflection" => "reflect",
        mode => mode,
    };
    let attributes = vec![attribute::text("mode", mode)];
    let mut inputs = vec![call.required("input")?, call.builder.integers(&pads)?];
    if let Some(value) = call.number("value")? {
        let element = call.known("input")?.element;
        inputs.push(call.builder.constant(element, &[], &[value])?);
    }
    Ok(vec![call.builder.node("Pad", &inputs, attributes)])
}

pub(super) fn triangular(call: &mut Call<'_>) -> Results {
    let upper = call.operator.argument("upper").and_then(serde_json::Value::as_bool);
    let diagonal = json::Number::Integer(call.integer("diagonal")?.unwrap_or(0).into());
    let diagonal = call.builder.constant(ElementType::INT64, &[], &[diagonal])?;
    let attributes = vec![attribute::int("upper", upper.unwrap_or(true).into())];
    let input = call.required("input")?;
    Ok(vec![call.builder.node("Trilu", &[input, diagonal], attributes)])
}

pub(super) fn cumulative_sum(call: &mut Call<'_>) -> Results {
    let axis = json::Number::Integer(call.integer("axis")?.unwrap_or(0).into());
    let axis = call.builder.constant(ElementType::INT64, &[], &[axis])?;
    let flag = |name, option| attribute::int(name, call.flag(option).into());
    let attributes = vec![flag("exclusive", "exclusive"), flag("reverse", "reversed")];
    let input = call.required("input")?;
    Ok(vec![call.builder.node("CumSum", &[input, axis], attributes)])
}

pub(super) fn arg(call: &mut Call<'_>, operator: &str) -> Results {
    let axis = call.integer("axis")?.context("argument axis: it is missing")?;
    let keeps = call.flag("keepDimensions").into();
    let attributes = vec![attribute::int("axis", axis), attribute::int("keepdims", keeps)];
    let element = json::element(call.text("outputDataType").unwrap_or("int32"))?;
    let input = call.required("input")?;
    let index = call.builder.node(operator, &[input], attributes);
    Ok(vec![call.builder.cast(&index, element)?])
}

/// Along all dimensions where none are given. Where the list is empty each element is reduced by itself, which
/// ONNX leaves as it is.
pub(super) fn reduce(call: &mut Call<'_>, operator: &str) -> Results {
    if call.list("axes")?.is_some_and(|axes| axes.is_empty()) {
        let input = call.required("input")?;
        return Ok(vec![match operator {
            "ReduceL1" | "ReduceL2" => call.builder.node("Abs", &[input], vec![]),
            "ReduceLogSum" => call.builder.node("Log", &[input], vec![]),
            "ReduceSumSquare" => call.builder.node("Mul", &[input.clone(), input], vec![]),
            _ => input,
        }]);
    }
    let mut inputs = vec![call.required("input")?];
    let keeps = call.flag("keepDimensions").into();
    let attributes = vec![attribute::int("keepdims", keeps)];
    if let Some(axes) = call.list("axes")? {
        inputs.push(call.builder.integers(&axes)?);
    }
    Ok(vec![call.builder.node(operator, &inputs, attributes)])
}

/// A scale and a zero point have the input's rank: one element, those of one dimension, or one for each
/// block along a dimension.
pub(super) fn quantized(call: &mut Call<'_>, operator: &str) -> Results {
    let (input, scale) = (call.known("input")?.shape, call.known("scale")?.shape);
    let given = [call.required("scale")?, call.required("zeroPoint")?];
    let mut inputs = vec![call.required("input")?];
    let (ranks, accepted) = ((input.len(), scale.len()), "the input's rank");
    ensure!(ranks.0 == ranks.1, "scale: it has {} dimensions; accepted: {accepted}", ranks.1);
    let differing: Vec<usize> = (0..scale.len()).filter(|at| input[*at] != scale[*at]).collect();
    let own: Vec<usize> = (0..scale.len()).filter(|at| scale[*at] != 1).collect();
    let (shape, attributes) = match (own.as_slice(), differing.as_slice()) {
        ([], _) => (vec![], vec![]),
        ([axis], blocks) if !blocks.contains(axis) => {
            (vec![i64::try_from(scale[*axis])?], vec![attribute::int("axis", (*axis).try_into()?)])
        }
        (_, blocks) => {
            ensure!(blocks.len() <= 1, "scale: it has blocks along {blocks:?}; accepted: one");
            let axis = blocks.first().copied().unwrap_or(0);
            let block = input[axis].checked_div(scale[axis]).context("scale: it is empty")?;
            let shape = scale.iter().map(|it| i64::try_from(*it)).collect::<Result<_, _>>()?;
            let block = attribute::int("block_size", block.try_into()?);
            (shape, vec![attribute::int("axis", axis.try_into()?), block])
        }
    };
    for operand in given {
        let shape = call.builder.integers(&shape)?;
        inputs.push(call.builder.node("Reshape", &[operand, shape], vec![]));
    }
    Ok(vec![call.builder.node(operator, &inputs, attributes)])
}
