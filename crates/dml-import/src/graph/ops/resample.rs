//! Resizing by RESAMPLE1 and RESAMPLE2, and by other operators where their results would differ from ONNX's.

use dml_core::operators::{Resample1Desc, Resample2Desc};
use dml_core::{AxisDirection, DataType, InterpolationMode, TensorDesc};

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::NodeInputs;
use crate::graph::ops::index::gathered;
use crate::graph::ops::movement::{joined, leading};
use crate::graph::ops::packed::{Use, write};
use crate::graph::ops::resized::{Axis, Nearest, SinglePrecision};
use crate::graph::ops::table::table;
use crate::graph::ops::weigh::{Filter, Weighing};
use crate::graph::value::{Kind, Value};
use crate::limits;

/// RESAMPLE's largest rank.
const MAX_RANK: usize = 4;

/// The types that RESAMPLE supports.
const TYPES: [DataType; 4] =
    [DataType::Float32, DataType::Float16, DataType::Int8, DataType::Uint8];

/// `data` linearly interpolated along all of these dimensions: by RESAMPLE1, or by matrices of weights if there
/// are too many dimensions, or one is reversed.
pub(super) fn linear(operands: &NodeInputs<'_>, data: &Value, axes: &[Axis]) -> Result<Value> {
    if let Some(dimensions) = dimensions(axes)
        && let Some(coordinates) = all(&dimensions, |axis| axis.single_precision(0.0))
    {
        return resampled(operands, data, axes, &dimensions, &coordinates, None);
    }
    let line = Weighing { filter: Filter::Triangle, is_smoothed: false, excludes_outside: false };
    weighed(operands, data, axes, &line)
}

/// `data` interpolated along all of these dimensions by matrices of weights.
pub(super) fn weighed(
    operands: &NodeInputs<'_>,
    data: &Value,
    axes: &[Axis],
    weighing: &Weighing,
) -> Result<Value> {
    let changed = axes.iter().enumerate().filter(|(_, axis)| !axis.is_same());
    changed.into_iter().try_fold(data.clone(), |data, (at, axis)| {
        weighing.along(operands, &data, at, &axis.sources(operands)?)
    })
}

/// `data` with nearest-neighbour resizing along all of these dimensions: by RESAMPLE2 if its FLOAT32
/// coordinates select the right elements, otherwise by GATHER.
pub(super) fn nearest(
    operands: &NodeInputs<'_>,
    data: &Value,
    axes: &[Axis],
    rounding: Nearest,
) -> Result<Value> {
    let has_type = data.element()?.storage().is_some_and(|storage| TYPES.contains(&storage));
    for axis in axes.iter().filter(|axis| is_checked(axis)) {
        operands.budget.take(&[axis.output])?;
    }
    if let Some(dimensions) = dimensions(axes).filter(|_| has_type) {
        for direction in [AxisDirection::Decreasing, AxisDirection::Increasing] {
            let exact = all(&dimensions, |axis| exact(axis, rounding, direction));
            if let Some(coordinates) = exact {
                let direction = Some(direction);
                return resampled(operands, data, axes, &dimensions, &coordinates, direction);
            }
        }
    }
    let changed = axes.iter().zip(0..).filter(|(axis, _)| !axis.is_same());
    changed.into_iter().try_fold(data.clone(), |data, (axis, at)| {
        let indices = (0..axis.output).map(|x| axis.nearest(x, rounding));
        let element = ElementType::Dml(DataType::Uint32);
        gathered(operands, &data, &table(element, vec![axis.output], indices)?, at)
    })
}

/// Whether the host checks each coordinate of the dimension. For very large ones, RESAMPLE2 is trusted.
fn is_checked(axis: &Axis) -> bool {
    !axis.is_same() && axis.output <= limits::HOST_ELEMENTS
}

/// Coordinates with which RESAMPLE2, rounding in this direction, selects the right elements; `None` if there
/// are none.
fn exact(axis: &Axis, rounding: Nearest, direction: AxisDirection) -> Option<SinglePrecision> {
    let half = if matches!(rounding, Nearest::Round { .. }) { 0.5 } else { 0.0 };
    let is_up = direction == AxisDirection::Increasing;
    let coordinates = axis.single_precision(if is_up { -half } else { half })?;
    let last = axis.input.saturating_sub(1) as f32;
    let is_right = |x: u64| {
        let coordinate = coordinates.coordinate(x);
        let whole = if is_up { coordinate.ceil() } else { coordinate.floor() };
        f64::from(whole.clamp(0.0, last)) == axis.nearest(x, rounding)
    };
    let is_exact = match is_checked(axis) {
        true => (0..axis.output).all(is_right),
        false => axis.is_same() || is_up == axis.rounds_up(rounding),
    };
    is_exact.then_some(coordinates)
}

/// The dimensions merged to RESAMPLE's rank; `None` if there are too many.
fn dimensions(axes: &[Axis]) -> Option<Vec<Axis>> {
    let joined = joined(axes, MAX_RANK, |outer, inner| {
        let stay = outer.is_same() && inner.is_same();
        stay.then(|| Axis::same(outer.input.saturating_mul(inner.input)))
    });
    (joined.len() <= MAX_RANK).then(|| leading(joined, Axis::same(1)))
}

/// The coordinates of every dimension; `None` if one has none.
fn all(
    dimensions: &[Axis],
    of: impl Fn(&Axis) -> Option<SinglePrecision>,
) -> Option<Vec<SinglePrecision>> {
    dimensions.iter().map(of).collect()
}

/// `data` resized by RESAMPLE2 if there is a rounding direction, otherwise by RESAMPLE1.
fn resampled(
    operands: &NodeInputs<'_>,
    data: &Value,
    axes: &[Axis],
    dimensions: &[Axis],
    coordinates: &[SinglePrecision],
    direction: Option<AxisDirection>,
) -> Result<Value> {
    let shape = axes.iter().map(|axis| axis.output).collect();
    let kind = Kind { element: data.element()?, shape };
    let input: Vec<u64> = dimensions.iter().map(|axis| axis.input).collect();
    let output: Vec<u64> = dimensions.iter().map(|axis| axis.output).collect();
    let scales = coordinates.iter().map(|coordinate| coordinate.scale).collect();
    let input_pixel_offsets = coordinates.iter().map(|coordinate| coordinate.offset).collect();
    let output_pixel_offsets = vec![0.0; coordinates.len()];
    let build = |mut inputs: Vec<TensorDesc>, output_tensor: TensorDesc| {
        let input_tensor = inputs.remove(0);
        match direction {
            None => Resample1Desc {
                input_tensor,
                output_tensor,
                interpolation_mode: InterpolationMode::Linear,
                scales,
                input_pixel_offsets,
                output_pixel_offsets,
            }
            .into(),
            Some(rounding_direction) => Resample2Desc {
                input_tensor,
                output_tensor,
                interpolation_mode: InterpolationMode::NearestNeighbor,
                rounding_direction,
                scales,
                input_pixel_offsets,
                output_pixel_offsets,
            }
            .into(),
        }
    };
    write(operands, Use::Computed, &[(data, &input)], kind, &output, build)
}
