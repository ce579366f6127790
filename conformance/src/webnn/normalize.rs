//! Normalizations, of operators that ONNX has for any axes, in single precision.

use dml_import::ElementType;

use super::attribute;
use super::json::Number;
use super::model::Call;

/// The values of an operation's outputs.
type Results = anyhow::Result<Vec<String>>;

/// By a mean and a variance that are given along an axis.
pub(super) fn batch(call: &mut Call<'_>) -> Results {
    let axis = call.integer("axis")?.unwrap_or(1);
    let input = single(call, "input")?;
    let [mean, variance] = ["mean", "variance"].map(|name| along(call, name, &[axis]));
    let distance = call.builder.node("Sub", &[input, mean?.unwrap_or_default()], vec![]);
    finish(call, distance, variance?.unwrap_or_default(), &[axis])
}

/// By the mean and the variance of each channel of a picture.
pub(super) fn instance(call: &mut Call<'_>) -> Results {
    let is_last = call.text("layout") == Some("nhwc");
    let (axes, channels) = if is_last { ([1, 2], 3) } else { ([2, 3], 1) };
    by_moments(call, &axes, &[channels])
}

/// By the mean and the variance of all along some axes, or along all but the first.
pub(super) fn layer(call: &mut Call<'_>) -> Results {
    let rank = i64::try_from(call.known("input")?.shape.len())?;
    let axes = call.list("axes")?.unwrap_or_else(|| (1..rank).collect());
    by_moments(call, &axes, &axes)
}

fn by_moments(call: &mut Call<'_>, axes: &[i64], of_scales: &[i64]) -> Results {
    let input = single(call, "input")?;
    let mean = mean(call, &input, axes)?;
    let distance = call.builder.node("Sub", &[input, mean], vec![]);
    let square = call.builder.node("Mul", &[distance.clone(), distance.clone()], vec![]);
    let variance = self::mean(call, &square, axes)?;
    finish(call, distance, variance, of_scales)
}

/// Along no axes every element is its own mean.
fn mean(call: &mut Call<'_>, input: &str, axes: &[i64]) -> anyhow::Result<String> {
    let axes = call.builder.integers(axes)?;
    let attributes = vec![attribute::int("noop_with_empty_axes", 1)];
    Ok(call.builder.node("ReduceMean", &[input.to_owned(), axes], attributes))
}

/// `scale * distance / sqrt(variance + epsilon) + bias` in the input's type.
fn finish(call: &mut Call<'_>, distance: String, variance: String, axes: &[i64]) -> Results {
    let epsilon = call.number("epsilon")?.unwrap_or(Number::Float(1e-5));
    let epsilon = call.builder.constant(ElementType::FLOAT32, &[], &[epsilon])?;
    let sum = call.builder.node("Add", &[variance, epsilon], vec![]);
    let deviation = call.builder.node("Sqrt", &[sum], vec![]);
    let mut value = call.builder.node("Div", &[distance, deviation], vec![]);
    for (name, operator) in [("scale", "Mul"), ("bias", "Add")] {
        if let Some(operand) = along(call, name, axes)? {
            value = call.builder.node(operator, &[value, operand], vec![]);
        }
    }
    let element = call.known("input")?.element;
    Ok(vec![call.builder.cast(&value, element)?])
}

fn single(call: &mut Call<'_>, name: &str) -> anyhow::Result<String> {
    let value = call.required(name)?;
    call.builder.cast(&value, ElementType::FLOAT32)
}

/// An operand whose dimensions are those of the input along `axes`, in the order of these.
fn along(call: &mut Call<'_>, name: &str, axes: &[i64]) -> anyhow::Result<Option<String>> {
    if call.operand(name)?.is_none() {
        return Ok(None);
    }
    let mut order: Vec<usize> = (0..axes.len()).collect();
    order.sort_by_key(|at| axes[*at]);
    let order = order.into_iter().map(i64::try_from).collect::<Result<Vec<_>, _>>()?;
    let value = single(call, name)?;
    let sorted = match order.len() {
        0 | 1 => value,
        _ => call.builder.node("Transpose", &[value], vec![attribute::ints("perm", order)]),
    };
    let input = call.known("input")?.shape;
    let size = |(at, size)| if axes.contains(&at) { size } else { 1 };
    let sizes: Vec<i64> =
        (0..).zip(input.iter().map(|it| i64::try_from(*it).unwrap_or(1))).map(size).collect();
    let shape = call.builder.integers(&sizes)?;
    Ok(Some(call.builder.node("Reshape", &[sorted, shape], vec![])))
}
