//! OpenVINO's operators by opset: their inputs, and what they do.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::element::ElementType;
use crate::error::{Result, shortened};
use crate::graph::{
    Arithmetic, Broadcast, Cast, Concat, Eye, Gather, Literal, Op, Reshape, ShapeOf, Slice,
    Squeeze, Unary, Unsqueeze, Zero,
};

use super::layer::Layer;

/// One version of an operator.
pub(super) struct Row {
    pub(super) name: &'static str,
    /// The opset that has it first.
    pub(super) since: u32,
    pub(super) inputs: RangeInclusive<usize>,
    pub(super) build: fn(&Layer) -> Result<Box<dyn Op>>,
}

const ANY: usize = usize::MAX;

const fn row(
    name: &'static str,
    since: u32,
    inputs: RangeInclusive<usize>,
    build: fn(&Layer) -> Result<Box<dyn Op>>,
) -> Row {
    Row { name, since, inputs, build }
}

/// Every version of every operator, in any order.
pub(super) const ROWS: &[Row] = &[
    row("Eye", 9, 3..=4, eye),
    row("Const", 1, 0..=0, |layer| {
        // The reader makes a constant of every such layer before it asks for operators.
        let constant = layer
            .constant
            .clone()
            .ok_or_else(|| layer.node.not_supported("its data is not in the model's .bin file"))?;
        Ok(Box::new(Literal(Arc::new(constant))))
    }),
    row("Convert", 1, 1..=1, |layer| Ok(Box::new(Cast { to: layer.element("destination_type")? }))),
    row("ShapeOf", 1, 1..=1, |_| {
        Ok(Box::new(ShapeOf { element: ElementType::INT64, start: 0, end: None }))
    }),
    row("ShapeOf", 3, 1..=1, shape_of),
    row("Gather", 1, 3..=3, |_| Ok(Box::new(Gather { axis: None }))),
    row("Gather", 7, 3..=3, |layer| match layer.attribute("batch_dims").unwrap_or("0").trim() {
        "0" => Ok(Box::new(Gather { axis: None })),
        other => Err(layer.node.not_supported(format!("batch_dims {other} is not 0"))),
    }),
    row("Concat", 1, 1..=ANY, |layer| Ok(Box::new(Concat { axis: layer.number("axis")? }))),
    row("Unsqueeze", 1, 2..=2, |_| Ok(Box::new(Unsqueeze { axes: None }))),
    row("Squeeze", 1, 1..=2, |_| Ok(Box::new(Squeeze { axes: None }))),
    row("Slice", 8, 4..=5, |_| Ok(Box::new(Slice::Inputs { axes: 4, steps: 3 }))),
    row("StridedSlice", 1, 3..=4, strided_slice),
    row("Reshape", 1, 2..=2, |layer| {
        let copies = layer.flag("special_zero", false);
        Ok(Box::new(Reshape { zero: if copies { Zero::Copied } else { Zero::Kept } }))
    }),
    row("Broadcast", 1, 2..=3, broadcast),
    row("Add", 1, 2..=2, |_| Ok(Box::new(Arithmetic::Add))),
    row("Subtract", 1, 2..=2, |_| Ok(Box::new(Arithmetic::Subtract))),
    row("Multiply", 1, 2..=2, |_| Ok(Box::new(Arithmetic::Multiply))),
    row("Divide", 1, 2..=2, |layer| {
        let floors = layer.flag("m_pythondiv", true);
        Ok(Box::new(if floors { Arithmetic::FloorDivide } else { Arithmetic::Divide }))
    }),
    row("Mod", 1, 2..=2, |_| Ok(Box::new(Arithmetic::Remainder))),
    row("FloorMod", 1, 2..=2, |_| Ok(Box::new(Arithmetic::FloorRemainder))),
    row("Minimum", 1, 2..=2, |_| Ok(Box::new(Arithmetic::Minimum))),
    row("Maximum", 1, 2..=2, |_| Ok(Box::new(Arithmetic::Maximum))),
    row("Negative", 1, 1..=1, |_| Ok(Box::new(Unary::Negate))),
    row("Abs", 1, 1..=1, |_| Ok(Box::new(Unary::Absolute))),
];

fn eye(layer: &Layer) -> Result<Box<dyn Op>> {
    let element = layer.element("output_type")?;
    if element.storage().is_none() {
        let accepted = "f16, f32, f64, bf16, i8, i16, i32, i64, u8, u16, u32, u64, boolean";
        return Err(layer.refused("output_type", "is the type of no tensor", accepted));
    }
    Ok(Box::new(Eye { element }))
}

fn shape_of(layer: &Layer) -> Result<Box<dyn Op>> {
    let element = match layer.attribute("output_type") {
        None => ElementType::INT64,
        Some(_) => layer.element("output_type")?,
    };
    if element != ElementType::INT64 && element != ElementType::INT32 {
        return Err(layer.refused("output_type", "is no type of a shape", "i32, i64"));
    }
    Ok(Box::new(ShapeOf { element, start: 0, end: None }))
}

/// Without masks it is Slice from the first dimension on.
fn strided_slice(layer: &Layer) -> Result<Box<dyn Op>> {
    const MASKS: [&str; 5] =
        ["begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask", "ellipsis_mask"];
    let is_set = |name: &&str| layer.attribute(name).is_some_and(|mask| mask.contains('1'));
    match MASKS.iter().find(|name| is_set(name)) {
        // There is no fifth input: the dimensions are the first ones.
        None => Ok(Box::new(Slice::Inputs { axes: 4, steps: 3 })),
        Some(mask) => Err(layer.node.not_supported(format!("{mask} is set"))),
    }
}

fn broadcast(layer: &Layer) -> Result<Box<dyn Op>> {
    match layer.attribute("mode").unwrap_or("numpy").to_ascii_lowercase().as_str() {
        "numpy" => Ok(Box::new(Broadcast { bidirectional: false })),
        "bidirectional" => Ok(Box::new(Broadcast { bidirectional: true })),
        mode => Err(layer.node.not_supported(format!("its mode is {}", shortened(mode)))),
    }
}
