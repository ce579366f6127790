//! Operators on regions of interest and on grids, and their attributes.

use super::build::{Built, choice};
use super::{OperatorVersion, row};
use crate::error::Result;
use crate::graph::{
    AffineGrid, CUBIC, GridSample, LINEAR, MaxRoiPool, NEAREST, Padding, RoiAlign, Sampling,
};
use crate::onnx::attributes::{Attributes, Kind};

const MODE: (&str, Kind) = ("mode", Kind::Text);
const HEIGHT: (&str, Kind) = ("output_height", Kind::Int);
const WIDTH: (&str, Kind) = ("output_width", Kind::Int);
const SAMPLES: (&str, Kind) = ("sampling_ratio", Kind::Int);
const SCALE: (&str, Kind) = ("spatial_scale", Kind::Float);
const COORDINATES: (&str, Kind) = ("coordinate_transformation_mode", Kind::Text);
const PADDING: (&str, Kind) = ("padding_mode", Kind::Text);
const CORNERS: (&str, Kind) = ("align_corners", Kind::Int);
const POOLED: (&str, Kind) = ("pooled_shape", Kind::Ints);

/// All versions of these operators.
pub(super) static ROWS: &[OperatorVersion] = &[
    row("RoiAlign", 10, &[MODE, HEIGHT, WIDTH, SAMPLES, SCALE], 3..=3, |it| align(it, false)),
    row("RoiAlign", 16, &[MODE, HEIGHT, WIDTH, SAMPLES, SCALE, COORDINATES], 3..=3, |it| {
        align(it, true)
    }),
    row("MaxRoiPool", 1, &[POOLED, SCALE], 2..=2, pool),
    row("GridSample", 16, &[CORNERS, MODE, PADDING], 2..=2, |it| {
        sample(it, &[("bilinear", LINEAR), ("nearest", NEAREST), ("bicubic", CUBIC)])
    }),
    row("GridSample", 20, &[CORNERS, MODE, PADDING], 2..=2, |it| {
        sample(it, &[("linear", LINEAR), ("nearest", NEAREST), ("cubic", CUBIC)])
    }),
    row("AffineGrid", 20, &[CORNERS], 2..=2, |it| {
        Ok(Box::new(AffineGrid { aligns_corners: it.flag(CORNERS.0, false) }))
    }),
];

fn align(it: &Attributes<'_>, is_half_pixel: bool) -> Built {
    let size = |name| size(it, name, it.int(name).unwrap_or(1));
    let samples = it.int("sampling_ratio").unwrap_or(0);
    let samples = u32::try_from(samples).map_err(|_| {
        let accepted = format!("0 to {}", u32::MAX);
        it.node.invalid("attribute sampling_ratio", samples, "is not a number of samples", accepted)
    })?;
    let modes = [("avg", false), ("max", true)];
    let mode = it.text(MODE.0).map_or(Ok(false), |text| choice(it, MODE.0, &text, &modes));
    let coordinates = [("half_pixel", true), ("output_half_pixel", false)];
    let given = it.text(COORDINATES.0);
    let is_half_pixel =
        given.map_or(Ok(is_half_pixel), |text| choice(it, COORDINATES.0, &text, &coordinates));
    Ok(Box::new(RoiAlign {
        samples,
        is_maximum: mode?,
        is_half_pixel: is_half_pixel?,
        scale: scale(it)?,
        cells: [size("output_height")?, size("output_width")?],
    }))
}

fn pool(it: &Attributes<'_>) -> Built {
    let shape = it.ints("pooled_shape").ok_or_else(|| it.missing("pooled_shape"))?;
    let [height, width] = shape[..] else {
        let (path, problem) = ("attribute pooled_shape", "is the wrong length");
        return Err(it.node.invalid(path, shape.len(), problem, "2"));
    };
    let cells = [size(it, "pooled_shape", height)?, size(it, "pooled_shape", width)?];
    Ok(Box::new(MaxRoiPool { scale: scale(it)?, cells }))
}

fn sample(it: &Attributes<'_>, modes: &[(&str, &'static Sampling)]) -> Built {
    let sampling = it.text(MODE.0).map_or(Ok(LINEAR), |text| choice(it, MODE.0, &text, modes))?;
    let paddings = [
        ("zeros", Padding::Zeros),
        ("border", Padding::Border),
        ("reflection", Padding::Reflection),
    ];
    let given = it.text(PADDING.0);
    let padding =
        given.map_or(Ok(Padding::Zeros), |text| choice(it, PADDING.0, &text, &paddings))?;
    let aligns_corners = it.flag(CORNERS.0, false);
    Ok(Box::new(GridSample { sampling, padding, aligns_corners }))
}

fn size(it: &Attributes<'_>, name: &str, size: i64) -> Result<u64> {
    u64::try_from(size).ok().filter(|it| *it > 0).ok_or_else(|| {
        let (path, accepted) = (format!("attribute {name}"), format!("1 to {}", i64::MAX));
        it.node.invalid(&path, size, "is not a size", accepted)
    })
}

/// The scale of region coordinates.
fn scale(it: &Attributes<'_>) -> Result<f32> {
    let scale = it.float(SCALE.0).unwrap_or(1.0);
    if scale > 0.0 && scale.is_finite() {
        return Ok(scale);
    }
    let (path, accepted) = ("attribute spatial_scale", "finite numbers above 0");
    Err(it.node.invalid(path, scale, "is not a scale", accepted))
}
