//! Operations on images, whose layout is an option.

use anyhow::{Context as _, ensure};
use dml_import::ElementType;
use dml_import::onnx::proto::AttributeProto;

use super::attribute;
use super::json::Number;
use super::model::Call;

/// The values of an operation's outputs.
type Results = anyhow::Result<Vec<String>>;

/// An operator on images, whose channels WebNN may have in the last dimension.
fn on_images(
    call: &mut Call<'_>,
    layout: &str,
    make: impl FnOnce(&mut Call<'_>, String) -> anyhow::Result<String>,
) -> Results {
    let input = call.required("input")?;
    if !are_channels_last(call, layout) {
        return Ok(vec![make(call, input)?]);
    }
    let input = transposed(call, input, &[0, 3, 1, 2]);
    let output = make(call, input)?;
    Ok(vec![transposed(call, output, &[0, 2, 3, 1])])
}

fn are_channels_last(call: &Call<'_>, layout: &str) -> bool {
    call.text(layout) == Some("nhwc")
}

fn transposed(call: &mut Call<'_>, value: String, permutation: &[i64]) -> String {
    let attributes = vec![attribute::ints("perm", permutation.to_vec())];
    call.builder.node("Transpose", &[value], attributes)
}

/// The height and the width of an image.
fn plane(call: &Call<'_>, layout: &str) -> anyhow::Result<[i64; 2]> {
    let first = if are_channels_last(call, layout) { 1 } else { 2 };
    let shape = call.known("input")?.shape;
    ensure!(shape.len() == 4, "input: it has {} dimensions; accepted: 4", shape.len());
    Ok([shape[first].try_into()?, shape[first + 1].try_into()?])
}

/// A list of `N` numbers below 2^31.
fn several<const N: usize>(
    call: &Call<'_>,
    name: &str,
    default: [i64; N],
) -> anyhow::Result<[i64; N]> {
    let Some(list) = call.list(name)? else { return Ok(default) };
    for number in &list {
        ensure!(i32::try_from(*number).is_ok(), "{name}: {number} is beyond what is accepted");
    }
    let count = list.len();
    list.try_into().ok().with_context(|| format!("{name}: it has {count} numbers; accepted: {N}"))
}

/// The padding of an image: top, left, bottom, right. WebNN's order is top, bottom, left, right.
fn pads(call: &Call<'_>) -> anyhow::Result<[i64; 4]> {
    let [top, bottom, left, right] = several(call, "padding", [0; 4])?;
    Ok([top, left, bottom, right])
}

/// The strides and dilations of a window.
struct Moving {
    window: [i64; 2],
    strides: [i64; 2],
    dilations: [i64; 2],
    pads: [i64; 4],
}

impl Moving {
    fn of(call: &Call<'_>, window: [i64; 2]) -> anyhow::Result<Self> {
        let [strides, dilations] =
            [several(call, "strides", [1; 2])?, several(call, "dilations", [1; 2])?];
        ensure!(!strides.contains(&0), "strides: {strides:?}; accepted: 1 or more");
        Ok(Self { window, strides, dilations, pads: pads(call)? })
    }

    /// The extent of the window in a dimension, beyond its first element.
    fn reach(&self, at: usize) -> i64 {
        (self.window[at] - 1) * self.dilations[at]
    }

    fn attributes(&self) -> Vec<AttributeProto> {
        let lists: [(_, &[i64]); 4] = [
            ("kernel_shape", &self.window),
            ("strides", &self.strides),
            ("dilations", &self.dilations),
            ("pads", &self.pads),
        ];
        lists.map(|(name, list)| attribute::ints(name, list.to_vec())).into()
    }
}

/// A filter, with its dimensions in ONNX's order.
fn filter(call: &mut Call<'_>, order: &str) -> anyhow::Result<(String, [i64; 2])> {
    let given = call.text("filterLayout").unwrap_or(order).to_owned();
    let place = |name| given.find(name).with_context(|| format!("filterLayout: '{given}'"));
    let places = order.chars().map(place).collect::<anyhow::Result<Vec<_>>>()?;
    let shape = call.known("filter")?.shape;
    ensure!(shape.len() == 4, "filter: it has {} dimensions; accepted: 4", shape.len());
    let window = [shape[places[2]].try_into()?, shape[places[3]].try_into()?];
    let places: Vec<i64> = places.into_iter().map(i64::try_from).collect::<Result<_, _>>()?;
    let value = call.required("filter")?;
    Ok((transposed(call, value, &places), window))
}

pub(super) fn convolution(call: &mut Call<'_>) -> Results {
    let (filter, window) = filter(call, "oihw")?;
    let mut attributes = Moving::of(call, window)?.attributes();
    attributes.push(attribute::int("group", call.integer("groups")?.unwrap_or(1)));
    convolved(call, "Conv", filter, attributes)
}

/// Given output sizes determine the padding at the output's end.
pub(super) fn transposed_convolution(call: &mut Call<'_>) -> Results {
    let (filter, window) = filter(call, "iohw")?;
    let moving = Moving::of(call, window)?;
    let mut added = several(call, "outputPadding", [0; 2])?;
    if call.list("outputSizes")?.is_some() {
        let (sizes, input) = (several(call, "outputSizes", [0; 2])?, plane(call, "inputLayout")?);
        for at in 0..2 {
            let full = (input[at] - 1) * moving.strides[at] + moving.reach(at) + 1;
            added[at] = sizes[at] - (full - moving.pads[at] - moving.pads[at + 2]);
        }
    }
    let mut attributes = moving.attributes();
    attributes.push(attribute::ints("output_padding", added.to_vec()));
    attributes.push(attribute::int("group", call.integer("groups")?.unwrap_or(1)));
    convolved(call, "ConvTranspose", filter, attributes)
}

fn convolved(
    call: &mut Call<'_>,
    operator: &str,
    filter: String,
    attributes: Vec<AttributeProto>,
) -> Results {
    on_images(call, "inputLayout", |call, input| {
        let bias = call.operand("bias")?;
        let operands: Vec<String> = [input, filter].into_iter().chain(bias).collect();
        Ok(call.builder.node(operator, &operands, attributes))
    })
}

/// The window is the whole image by default.
pub(super) fn pool(call: &mut Call<'_>, operator: &str) -> Results {
    let image = plane(call, "layout")?;
    let moving = Moving::of(call, several(call, "windowDimensions", image)?)?;
    let down = |at: usize| {
        let padded = image[at] + moving.pads[at] + moving.pads[at + 2];
        (padded - moving.reach(at) - 1) / moving.strides[at] + 1
    };
    let rounding = call.text("outputShapeRounding").or_else(|| call.text("roundingType"));
    let rounds_up = match call.list("outputSizes")? {
        Some(sizes) => sizes != [down(0), down(1)],
        None => rounding == Some("ceil"),
    };
    let mut attributes = moving.attributes();
    attributes.push(attribute::int("ceil_mode", rounds_up.into()));
    on_images(call, "layout", |call, input| Ok(call.builder.node(operator, &[input], attributes)))
}

/// Resamples two dimensions, by factors or to sizes.
pub(super) fn resample(call: &mut Call<'_>) -> Results {
    let mode = match call.text("mode") {
        Some("linear") => "linear",
        _ => "nearest",
    };
    let axes = attribute::ints("axes", several(call, "axes", [2, 3])?.to_vec());
    let attributes = vec![attribute::text("mode", mode), axes];
    let mut inputs = vec![call.required("input")?, String::new()];
    match call.list("sizes")? {
        Some(sizes) => inputs.extend([String::new(), call.builder.integers(&sizes)?]),
        None => {
            let given = call.operator.argument("scales").and_then(|it| it.as_array());
            let one = || vec![Number::Float(1.0); 2];
            let scales = given.map(|it| it.iter().map(Number::of).collect()).transpose()?;
            let scales: Vec<Number> = scales.unwrap_or_else(one);
            let count = scales.len() as u64;
            inputs.push(call.builder.constant(ElementType::FLOAT32, &[count], &scales)?);
        }
    }
    Ok(vec![call.builder.node("Resize", &inputs, attributes)])
}
