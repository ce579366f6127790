//! Operators with data-dependent output sizes, and their attributes.

use super::build::Built;
use super::{OperatorVersion, row};
use crate::graph::{Compress, NonMaxSuppression, NonZero, Unique};
use crate::onnx::attributes::{Attributes, Kind};

const AXIS: (&str, Kind) = ("axis", Kind::Int);
const SORTED: (&str, Kind) = ("sorted", Kind::Int);
const CENTERED: (&str, Kind) = ("center_point_box", Kind::Int);

/// All versions of these operators.
pub(super) static ROWS: &[OperatorVersion] = &[
    row("NonZero", 9, &[], 1..=1, |_| Ok(Box::new(NonZero))),
    row("NonMaxSuppression", 10, &[CENTERED], 2..=5, suppression),
    row("Compress", 9, &[AXIS], 2..=2, |it| Ok(Box::new(Compress { axis: it.int(AXIS.0) }))),
    OperatorVersion { outputs: 1..=4, ..row("Unique", 11, &[AXIS, SORTED], 1..=1, unique) },
];

fn suppression(it: &Attributes<'_>) -> Built {
    match it.int(CENTERED.0).unwrap_or(0) {
        given @ (0 | 1) => Ok(Box::new(NonMaxSuppression { is_centered: given == 1 })),
        other => {
            let (path, problem) = ("attribute center_point_box", "is not a format of boxes");
            Err(it.node.invalid(path, other, problem, "0 and 1"))
        }
    }
}

fn unique(it: &Attributes<'_>) -> Built {
    Ok(Box::new(Unique { axis: it.int(AXIS.0), is_sorted: it.flag(SORTED.0, true) }))
}
