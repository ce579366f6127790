//! Signal processing operators and their attributes.

use super::build::{Built, element};
use super::{OperatorVersion, row};
use crate::element::ElementType;
use crate::error::Result;
use crate::graph::{Fourier, MelWeights, ShortTimeFourier, Window};
use crate::onnx::attributes::{Attributes, Kind};

const AXIS: (&str, Kind) = ("axis", Kind::Int);
const INVERSE: (&str, Kind) = ("inverse", Kind::Int);
const HALF: (&str, Kind) = ("onesided", Kind::Int);
const PERIODIC: (&str, Kind) = ("periodic", Kind::Int);
const TYPE: (&str, Kind) = ("output_datatype", Kind::Int);

/// All versions of these operators.
pub(super) static ROWS: &[OperatorVersion] = &[
    row("DFT", 17, &[AXIS, INVERSE, HALF], 1..=2, |it| {
        fourier(it, Some(it.int(AXIS.0).unwrap_or(1)))
    }),
    row("DFT", 20, &[INVERSE, HALF], 1..=3, |it| fourier(it, None)),
    row("STFT", 17, &[HALF], 2..=4, |it| {
        Ok(Box::new(ShortTimeFourier { is_half: it.flag(HALF.0, true) }))
    }),
    row("HannWindow", 17, &[PERIODIC, TYPE], 1..=1, |it| window(it, [0.5, -0.5, 0.0])),
    row("HammingWindow", 17, &[PERIODIC, TYPE], 1..=1, |it| {
        window(it, [25.0 / 46.0, -21.0 / 46.0, 0.0])
    }),
    row("BlackmanWindow", 17, &[PERIODIC, TYPE], 1..=1, |it| window(it, [0.42, -0.5, 0.08])),
    row("MelWeightMatrix", 17, &[TYPE], 5..=5, |it| {
        Ok(Box::new(MelWeights { element: numbers(it)? }))
    }),
];

fn fourier(it: &Attributes<'_>, axis: Option<i64>) -> Built {
    let (is_inverse, is_half) = (it.flag(INVERSE.0, false), it.flag(HALF.0, false));
    Ok(Box::new(Fourier { axis, is_inverse, is_half }))
}

fn window(it: &Attributes<'_>, cosines: [f64; 3]) -> Built {
    let is_periodic = it.flag(PERIODIC.0, true);
    Ok(Box::new(Window { cosines, is_periodic, element: numbers(it)? }))
}

/// The element type of a window or of mel weights.
fn numbers(it: &Attributes<'_>) -> Result<ElementType> {
    let number = it.int(TYPE.0).unwrap_or(1);
    match element(it, TYPE.0, number)? {
        found @ (ElementType::Dml(_) | ElementType::Bfloat16) => Ok(found),
        other => {
            let path = "attribute output_datatype";
            Err(it.node.invalid(path, other, "is the wrong type", "numbers of 8 bits and more"))
        }
    }
}
