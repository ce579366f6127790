//! OpenVINO's operators by opset: their inputs, and what they do.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::element::ElementType;
use crate::error::{Result, shortened};
use crate::graph::{
    ABSOLUTE, ADD, Broadcast, Cast, Concat, DIVIDE, ElementWise, Eye, FLOOR_DIVIDE,
    FLOOR_REMAINDER, Function, Gather, LESS, Literal, MAXIMUM, MINIMUM, MULTIPLY, NEGATE, Op, RELU,
    REMAINDER, Reshape, SUBTRACT, ShapeOf, Slice, Squeeze, Unsqueeze, WHERE, Zero,
};

use super::layer::Layer;

/// One version of an operator.
pub(super) struct Row {
    pub(super) name: &'static str,
    /// The opset that has it first.
    pub(super) since: u32,
    pub(super) inputs: RangeInclusive<usize>,
    build: Build,
}

/// What a row makes of a layer.
enum Build {
    /// What its attributes say.
    From(fn(&Layer) -> Result<Box<dyn Op>>),
    /// An element-wise operation with NumPy's rule for shapes.
    ElementWise(Function),
}

impl Row {
    /// What a layer does.
    pub(super) fn op(&self, layer: &Layer) -> Result<Box<dyn Op>> {
        match &self.build {
            Build::From(build) => build(layer),
            Build::ElementWise(function) => {
                // The other rules are those of models from before there were opsets.
                match layer.attribute("auto_broadcast").unwrap_or("numpy") {
                    "numpy" | "none" => Ok(Box::new(ElementWise::new(*function))),
                    other => {
                        let reason = format!("its auto_broadcast is {}", shortened(other));
                        Err(layer.node.not_supported(reason))
                    }
                }
            }
        }
    }
}

const ANY: usize = usize::MAX;

const fn row(
    name: &'static str,
    since: u32,
    inputs: RangeInclusive<usize>,
    build: fn(&Layer) -> Result<Box<dyn Op>>,
) -> Row {
    Row { name, since, inputs, build: Build::From(build) }
}

const fn element_wise(
    name: &'static str,
    inputs: RangeInclusive<usize>,
    function: Function,
) -> Row {
    Row { name, since: 1, inputs, build: Build::ElementWise(function) }
}

/// Every version of every operator, in any order.
pub(super) static ROWS: &[Row] = &[
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
    element_wise("Add", 2..=2, ADD),
    element_wise("Subtract", 2..=2, SUBTRACT),
    element_wise("Multiply", 2..=2, MULTIPLY),
    row("Divide", 1, 2..=2, |layer| {
        let floors = layer.flag("m_pythondiv", true);
        Ok(Box::new(ElementWise::new(if floors { FLOOR_DIVIDE } else { DIVIDE })))
    }),
    element_wise("Mod", 2..=2, REMAINDER),
    element_wise("FloorMod", 2..=2, FLOOR_REMAINDER),
    element_wise("Minimum", 2..=2, MINIMUM),
    element_wise("Maximum", 2..=2, MAXIMUM),
    element_wise("Negative", 1..=1, NEGATE),
    element_wise("Abs", 1..=1, ABSOLUTE),
    element_wise("ReLU", 1..=1, RELU),
    element_wise("Less", 2..=2, LESS),
    element_wise("Select", 3..=3, WHERE),
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
