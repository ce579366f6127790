//! OpenVINO's operators by opset: their inputs, and the operations that they become.

use std::collections::BTreeSet;
use std::sync::Arc;

use dml_core::{DepthSpaceOrder, ReduceFunction};

use crate::element::ElementType;
use crate::error::{Result, shortened};
use crate::graph::{
    Blocks, Broadcast, Cast, Concat, Eye, Gather, Identity, LOG_SOFTMAX, Literal, Op, Reshape,
    RowOperators, SOFTMAX, ShapeOf, Slice, Softmax, Squeeze, Tile, Transpose, Unsqueeze, Zero,
};
use crate::small_float::Rounding;

use super::element_wise;
use super::layer::Layer;
use super::operator_version::{Build, OperatorVersion, row};

const ANY: usize = usize::MAX;

/// A reduction along the axes that the second input holds.
const fn reduction(name: &'static str, since: u32, function: ReduceFunction) -> OperatorVersion {
    OperatorVersion { name, since, inputs: 2..=2, build: Build::Reduce(function) }
}

/// The row for a layer's operator in its opset; the error is the first opset that has the operator, if any.
pub(super) fn row_of(
    name: &str,
    opset: u32,
) -> std::result::Result<&'static OperatorVersion, Option<u32>> {
    let rows = || all().filter(|row| row.name.eq_ignore_ascii_case(name));
    let row = rows().filter(|row| row.since <= opset).max_by_key(|row| row.since);
    row.ok_or_else(|| rows().map(|row| row.since).min())
}

/// The names of all operators, in alphabetical order.
pub(super) fn names() -> String {
    let names: BTreeSet<&str> = all().map(|row| row.name).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

fn all() -> impl Iterator<Item = &'static OperatorVersion> {
    element_wise::ROWS.iter().chain(OTHERS)
}

/// All versions of the other operators, in any order.
static OTHERS: &[OperatorVersion] = &[
    row("Eye", 9, 3..=4, eye),
    row("Const", 1, 0..=0, |layer| {
        // The reader reads the constant of every such layer before it asks for operators.
        let constant = layer
            .constant
            .clone()
            .ok_or_else(|| layer.node.not_supported("its data is not in the model's .bin file"))?;
        Ok(Box::new(Literal(Arc::new(constant))))
    }),
    row("Convert", 1, 1..=1, |layer| {
        let to = layer.element("destination_type")?;
        Ok(Box::new(Cast { to, rounding: Rounding::default() }))
    }),
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
        let zero = if copies { Zero::Copied } else { Zero::Kept };
        Ok(Box::new(Reshape { zero, shape: None }))
    }),
    row("Broadcast", 1, 2..=3, broadcast),
    row("Transpose", 1, 2..=2, |_| Ok(Box::new(Transpose { order: None }))),
    row("Tile", 1, 2..=2, |_| Ok(Box::new(Tile::EachDimension))),
    row("Identity", 16, 1..=1, |_| Ok(Box::new(Identity))),
    row("DepthToSpace", 1, 1..=1, |layer| blocks(layer, false)),
    row("SpaceToDepth", 1, 1..=1, |layer| blocks(layer, true)),
    row("SoftMax", 1, 1..=1, |layer| softmax(layer, SOFTMAX)),
    row("LogSoftmax", 5, 1..=1, |layer| softmax(layer, LOG_SOFTMAX)),
    reduction("ReduceSum", 1, ReduceFunction::Sum),
    reduction("ReduceMean", 1, ReduceFunction::Average),
    reduction("ReduceProd", 1, ReduceFunction::Multiply),
    reduction("ReduceMin", 1, ReduceFunction::Min),
    reduction("ReduceMax", 1, ReduceFunction::Max),
    reduction("ReduceL1", 4, ReduceFunction::L1),
    reduction("ReduceL2", 4, ReduceFunction::L2),
];

fn eye(layer: &Layer) -> Result<Box<dyn Op>> {
    let element = layer.element("output_type")?;
    if element.storage().is_none() {
        let accepted = "f16, f32, f64, bf16, f8e4m3, f8e5m2, i4 to i64, u4, u8 to u64, boolean";
        let problem = "is a type that this runtime has no tensors of";
        return Err(layer.refused("output_type", problem, accepted));
    }
    Ok(Box::new(Eye { element }))
}

fn shape_of(layer: &Layer) -> Result<Box<dyn Op>> {
    let element = match layer.attribute("output_type") {
        None => ElementType::INT64,
        Some(_) => layer.element("output_type")?,
    };
    if element != ElementType::INT64 && element != ElementType::INT32 {
        return Err(layer.refused("output_type", "is not a type of a shape", "i32, i64"));
    }
    Ok(Box::new(ShapeOf { element, start: 0, end: None }))
}

/// Without masks, StridedSlice is a Slice along the first dimensions.
fn strided_slice(layer: &Layer) -> Result<Box<dyn Op>> {
    const MASKS: [&str; 5] =
        ["begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask", "ellipsis_mask"];
    let is_set = |name: &&str| layer.attribute(name).is_some_and(|mask| mask.contains('1'));
    match MASKS.iter().find(|name| is_set(name)) {
        // There is no fifth input, so the slice uses the first dimensions.
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

fn blocks(layer: &Layer, to_depth: bool) -> Result<Box<dyn Op>> {
    let order = match layer.required("mode")?.to_ascii_lowercase().as_str() {
        "blocks_first" => DepthSpaceOrder::DepthColumnRow,
        "depth_first" if !to_depth => DepthSpaceOrder::ColumnRowDepth,
        "depth_first" => return Err(layer.node.not_supported("its mode is depth_first")),
        _ => return Err(layer.refused("mode", "is unknown", "blocks_first, depth_first")),
    };
    let size =
        if layer.attribute("block_size").is_some() { layer.number("block_size")? } else { 1 };
    Ok(Box::new(Blocks { size, to_depth, order }))
}

fn softmax(layer: &Layer, operators: RowOperators) -> Result<Box<dyn Op>> {
    let axis = if layer.attribute("axis").is_some() { layer.number("axis")? } else { 1 };
    Ok(Box::new(Softmax { operators, axis, has_rest: false }))
}
