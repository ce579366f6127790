//! Pooling and related operators, and their attributes.

use super::build::Built;
use super::{OperatorVersion, row};
use crate::error::Result;
use crate::graph::{AutoPad, Columns, GlobalPool, LocalResponse, Pool, Pooling};
use crate::onnx::attributes::{Attributes, Kind};

const AUTO: (&str, Kind) = ("auto_pad", Kind::Text);
const KERNEL: (&str, Kind) = ("kernel_shape", Kind::Ints);
const PADS: (&str, Kind) = ("pads", Kind::Ints);
const STRIDES: (&str, Kind) = ("strides", Kind::Ints);
const CEIL_MODE: (&str, Kind) = ("ceil_mode", Kind::Int);
const DILATIONS: (&str, Kind) = ("dilations", Kind::Ints);
const INCLUDE: (&str, Kind) = ("count_include_pad", Kind::Int);
const ORDER: (&str, Kind) = ("storage_order", Kind::Int);
const DEGREE: (&str, Kind) = ("p", Kind::Int);

/// All versions of these operators.
pub(super) static ROWS: &[OperatorVersion] = &[
    row("AveragePool", 1, &[AUTO, KERNEL, PADS, STRIDES], 1..=1, average),
    row("AveragePool", 7, &[AUTO, KERNEL, PADS, STRIDES, INCLUDE], 1..=1, average),
    row("AveragePool", 10, &[AUTO, KERNEL, PADS, STRIDES, INCLUDE, CEIL_MODE], 1..=1, average),
    row(
        "AveragePool",
        19,
        &[AUTO, KERNEL, PADS, STRIDES, INCLUDE, CEIL_MODE, DILATIONS],
        1..=1,
        average,
    ),
    row("MaxPool", 1, &[AUTO, KERNEL, PADS, STRIDES], 1..=1, maximum),
    OperatorVersion {
        outputs: 1..=2,
        ..row("MaxPool", 8, &[AUTO, KERNEL, PADS, STRIDES, ORDER], 1..=1, maximum)
    },
    OperatorVersion {
        outputs: 1..=2,
        ..row(
            "MaxPool",
            10,
            &[AUTO, KERNEL, PADS, STRIDES, ORDER, CEIL_MODE, DILATIONS],
            1..=1,
            maximum,
        )
    },
    row("LpPool", 2, &[AUTO, KERNEL, PADS, STRIDES, DEGREE], 1..=1, norm),
    row("LpPool", 18, &[AUTO, KERNEL, PADS, STRIDES, DEGREE, CEIL_MODE, DILATIONS], 1..=1, norm),
    row("GlobalAveragePool", 1, &[], 1..=1, global_average),
    row("GlobalMaxPool", 1, &[], 1..=1, global_maximum),
    row("GlobalLpPool", 2, &[DEGREE], 1..=1, global_norm),
    row("LRN", 1, &FACTORS, 1..=1, local_response),
    row("Col2Im", 18, &[DILATIONS, PADS, STRIDES], 3..=3, columns),
];

const FACTORS: [(&str, Kind); 4] =
    [("alpha", Kind::Float), ("beta", Kind::Float), ("bias", Kind::Float), ("size", Kind::Int)];

/// The attribute `auto_pad` of pooling and convolutions.
pub(super) fn auto_pad(it: &Attributes<'_>) -> Result<AutoPad> {
    Ok(match it.text("auto_pad").as_deref() {
        None | Some("NOTSET" | "") => AutoPad::Given,
        Some("VALID") => AutoPad::Valid,
        Some("SAME_UPPER") => AutoPad::Same { more_at_end: true },
        Some("SAME_LOWER") => AutoPad::Same { more_at_end: false },
        Some(other) => {
            let (given, problem) = (crate::error::shortened(other), "is not a padding mode");
            let accepted = "NOTSET, SAME_UPPER, SAME_LOWER, VALID";
            return Err(it.node.invalid("attribute auto_pad", given, problem, accepted));
        }
    })
}

fn pool(it: &Attributes<'_>, pooling: Pooling) -> Built {
    Ok(Box::new(Pool {
        pooling,
        kernel: it.ints("kernel_shape").ok_or_else(|| it.missing("kernel_shape"))?,
        strides: it.ints("strides"),
        dilations: it.ints("dilations"),
        pads: it.ints("pads"),
        auto_pad: auto_pad(it)?,
        is_ceil: it.flag("ceil_mode", false),
    }))
}

pub(super) fn average(it: &Attributes<'_>) -> Built {
    pool(it, Pooling::Average { include_padding: it.flag("count_include_pad", false) })
}

pub(super) fn maximum(it: &Attributes<'_>) -> Built {
    let is_column_major = it.flag("storage_order", false);
    pool(it, Pooling::Maximum { has_indices: it.outputs > 1, is_column_major })
}

fn norm_of(it: &Attributes<'_>) -> Result<Pooling> {
    of_degree(it, it.int("p").unwrap_or(2))
}

/// Before version 2 the degree is a float, which must have an integer value.
fn early_norm_of(it: &Attributes<'_>) -> Result<Pooling> {
    let degree = it.float("p").unwrap_or(2.0);
    // Other values are refused, like 0.
    #[expect(clippy::cast_possible_truncation, reason = "it is a whole number, or saturates")]
    of_degree(it, if degree.fract() == 0.0 { degree as i64 } else { 0 })
}

fn of_degree(it: &Attributes<'_>, degree: i64) -> Result<Pooling> {
    let degree = u32::try_from(degree).ok().filter(|it| *it > 0).ok_or_else(|| {
        let accepted = format!("1 to {}", u32::MAX);
        it.node.invalid("attribute p", degree, "is not a degree", accepted)
    })?;
    Ok(Pooling::Norm { degree })
}

pub(super) fn norm(it: &Attributes<'_>) -> Built {
    pool(it, norm_of(it)?)
}

pub(super) fn early_norm(it: &Attributes<'_>) -> Built {
    pool(it, early_norm_of(it)?)
}

pub(super) fn early_global_norm(it: &Attributes<'_>) -> Built {
    Ok(Box::new(GlobalPool { pooling: early_norm_of(it)? }))
}

pub(super) fn global_average(_: &Attributes<'_>) -> Built {
    Ok(Box::new(GlobalPool { pooling: Pooling::Average { include_padding: false } }))
}

pub(super) fn global_maximum(_: &Attributes<'_>) -> Built {
    let pooling = Pooling::Maximum { has_indices: false, is_column_major: false };
    Ok(Box::new(GlobalPool { pooling }))
}

pub(super) fn global_norm(it: &Attributes<'_>) -> Built {
    Ok(Box::new(GlobalPool { pooling: norm_of(it)? }))
}

pub(super) fn local_response(it: &Attributes<'_>) -> Built {
    let size = it.int("size").ok_or_else(|| it.missing("size"))?;
    let factor = |name, default| it.float(name).unwrap_or(default);
    let factors = [factor("alpha", 0.0001), factor("beta", 0.75), factor("bias", 1.0)];
    Ok(Box::new(LocalResponse { size, factors }))
}

pub(super) fn columns(it: &Attributes<'_>) -> Built {
    Ok(Box::new(Columns {
        strides: it.ints("strides"),
        dilations: it.ints("dilations"),
        pads: it.ints("pads"),
    }))
}
