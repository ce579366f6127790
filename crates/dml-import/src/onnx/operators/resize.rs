//! Resize and Upsample, and their attributes.

use super::build::{Built, choice};
use super::{OperatorVersion, row};
use crate::error::Result;
use crate::graph::{Aspect, Coordinates, Filter, Interpolation, Nearest, Resize, Scales, Weighing};
use crate::onnx::attributes::{Attributes, Kind};

const MODE: (&str, Kind) = ("mode", Kind::Text);
const COORDINATES: (&str, Kind) = ("coordinate_transformation_mode", Kind::Text);
const CUBIC: (&str, Kind) = ("cubic_coeff_a", Kind::Float);
const EXCLUDE: (&str, Kind) = ("exclude_outside", Kind::Int);
const OUTSIDE: (&str, Kind) = ("extrapolation_value", Kind::Float);
const NEAREST: (&str, Kind) = ("nearest_mode", Kind::Text);
const SMOOTHED: (&str, Kind) = ("antialias", Kind::Int);
const AXES: (&str, Kind) = ("axes", Kind::Ints);
const ASPECT: (&str, Kind) = ("keep_aspect_ratio_policy", Kind::Text);

const RESIZE_11: [(&str, Kind); 6] = [MODE, COORDINATES, CUBIC, EXCLUDE, OUTSIDE, NEAREST];
const RESIZE_18: [(&str, Kind); 9] =
    [MODE, COORDINATES, CUBIC, EXCLUDE, OUTSIDE, NEAREST, SMOOTHED, AXES, ASPECT];

const HEIGHT: (&str, Kind) = ("height_scale", Kind::Float);
const WIDTH: (&str, Kind) = ("width_scale", Kind::Float);

/// All versions of Resize and Upsample.
pub(super) static ROWS: &[OperatorVersion] = &[
    row("Upsample", 1, &[MODE, HEIGHT, WIDTH], 1..=1, |it| {
        let scale = |name: &str| it.float(name).ok_or_else(|| it.missing(name));
        // Batches and channels are not resized.
        simple(it, Scales::Attribute(vec![1.0, 1.0, scale(HEIGHT.0)?, scale(WIDTH.0)?]))
    }),
    row("Upsample", 7, &[MODE, ("scales", Kind::Floats)], 1..=1, |it| {
        simple(it, Scales::Attribute(it.floats("scales").ok_or_else(|| it.missing("scales"))?))
    }),
    row("Upsample", 9, &[MODE], 2..=2, |it| simple(it, Scales::Input(1))),
    row("Resize", 10, &[MODE], 2..=2, |it| simple(it, Scales::Input(1))),
    row("Resize", 11, &RESIZE_11, 3..=4, resize),
    row("Resize", 13, &RESIZE_11, 1..=4, resize),
    row("Resize", 18, &RESIZE_18, 1..=4, resize),
];

/// Versions with a single coordinate mode.
fn simple(it: &Attributes<'_>, scales: Scales) -> Built {
    let (interpolation, weighing) = interpolation(it, Nearest::BySize)?;
    let coordinates = Coordinates::Asymmetric;
    let (axes, aspect, outside) = (None, Aspect::Stretch, 0.0);
    Ok(Box::new(Resize { interpolation, coordinates, scales, axes, aspect, weighing, outside }))
}

fn resize(it: &Attributes<'_>) -> Built {
    let nearest = chosen(
        it,
        "nearest_mode",
        &[
            ("round_prefer_floor", Nearest::Round { prefers_floor: true }),
            ("round_prefer_ceil", Nearest::Round { prefers_floor: false }),
            ("floor", Nearest::Floor),
            ("ceil", Nearest::Ceiling),
        ],
    )?;
    let coordinates = chosen(
        it,
        "coordinate_transformation_mode",
        &[
            ("half_pixel", Coordinates::HalfPixel),
            ("half_pixel_symmetric", Coordinates::HalfPixelSymmetric),
            ("pytorch_half_pixel", Coordinates::HalfPixelOfMany),
            ("tf_half_pixel_for_nn", Coordinates::HalfPixelOfOutput),
            ("align_corners", Coordinates::AlignCorners),
            ("asymmetric", Coordinates::Asymmetric),
            ("tf_crop_and_resize", Coordinates::Crop),
        ],
    )?;
    let aspect = chosen(
        it,
        "keep_aspect_ratio_policy",
        &[
            ("stretch", Aspect::Stretch),
            ("not_larger", Aspect::NotLarger),
            ("not_smaller", Aspect::NotSmaller),
        ],
    )?;
    let (interpolation, weighing) = interpolation(it, nearest)?;
    Ok(Box::new(Resize {
        interpolation,
        weighing,
        coordinates,
        scales: Scales::Input(2),
        axes: it.ints("axes"),
        aspect,
        outside: it.float("extrapolation_value").unwrap_or(0.0),
    }))
}

/// The interpolation that `mode` selects, and its weights if it uses more than two neighbours.
fn interpolation(
    it: &Attributes<'_>,
    nearest: Nearest,
) -> Result<(Interpolation, Option<Weighing>)> {
    let is_smoothed = it.flag("antialias", false);
    let weighing = |filter| {
        Some(Weighing { filter, is_smoothed, excludes_outside: it.flag("exclude_outside", false) })
    };
    let coefficient = f64::from(it.float("cubic_coeff_a").unwrap_or(-0.75));
    let smoothed = if is_smoothed { weighing(Filter::Triangle) } else { None };
    let linear = (Interpolation::Linear, smoothed);
    let modes = [
        ("nearest", (Interpolation::Nearest(nearest), None)),
        ("linear", linear),
        ("bilinear", linear),
        ("cubic", (Interpolation::Linear, weighing(Filter::Cubic(coefficient)))),
    ];
    chosen(it, "mode", &modes)
}

/// The value that an attribute selects; the first one is the default.
fn chosen<T: Copy>(it: &Attributes<'_>, name: &str, all: &[(&str, T)]) -> Result<T> {
    let text = it.text(name);
    choice(it, name, text.as_deref().unwrap_or(all[0].0), all)
}
