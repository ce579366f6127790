//! Gather, scatter and related operators, and their attributes.

use dml_core::AxisDirection;

use crate::error::Result;
use crate::graph::{
    ADD, Accumulate, GatherElements, GatherNd, MAXIMUM, MINIMUM, MULTIPLY, MaxUnpool, OneHot, Op,
    ReverseSequence, Scatter, TopK,
};
use crate::onnx::attributes::Attributes;

use super::build::choice;

type Built = Result<Box<dyn Op>>;

pub(super) fn gather_elements(it: &Attributes<'_>) -> Built {
    Ok(Box::new(GatherElements { axis: it.int("axis").unwrap_or(0) }))
}

pub(super) fn gather_nd(it: &Attributes<'_>) -> Built {
    Ok(Box::new(GatherNd { batch_dimensions: it.int("batch_dims").unwrap_or(0) }))
}

pub(super) fn scatter_elements(it: &Attributes<'_>) -> Built {
    scatter(it, Scatter::Elements { axis: it.int("axis").unwrap_or(0) })
}

pub(super) fn scatter_nd(it: &Attributes<'_>) -> Built {
    scatter(it, Scatter::Parts)
}

/// A reduction other than "none" needs [`Accumulate`]: DirectML's scatter only replaces elements.
fn scatter(it: &Attributes<'_>, at: Scatter) -> Built {
    let reductions = [
        ("none", None),
        ("add", Some(ADD)),
        ("mul", Some(MULTIPLY)),
        ("min", Some(MINIMUM)),
        ("max", Some(MAXIMUM)),
    ];
    let given = it.text("reduction");
    let function = given.map_or(Ok(None), |text| choice(it, "reduction", &text, &reductions))?;
    Ok(match function {
        None => Box::new(at),
        Some(function) => Box::new(Accumulate { at, function }),
    })
}

pub(super) fn one_hot(it: &Attributes<'_>) -> Built {
    Ok(Box::new(OneHot { axis: it.int("axis").unwrap_or(-1) }))
}

pub(super) fn max_unpool(it: &Attributes<'_>) -> Built {
    let kernel = it.ints("kernel_shape").ok_or_else(|| it.missing("kernel_shape"))?;
    Ok(Box::new(MaxUnpool { kernel, strides: it.ints("strides"), pads: it.ints("pads") }))
}

pub(super) fn reverse_sequence(it: &Attributes<'_>) -> Built {
    let (batch_axis, time_axis) = (it.int("batch_axis"), it.int("time_axis"));
    let (batch_axis, time_axis) = (batch_axis.unwrap_or(1), time_axis.unwrap_or(0));
    Ok(Box::new(ReverseSequence { batch_axis, time_axis }))
}

/// Before version 10, the count is an attribute, and the greatest elements are selected.
pub(super) fn top_k(it: &Attributes<'_>) -> Built {
    let direction = match it.int("largest") {
        Some(0) => AxisDirection::Increasing,
        _ => AxisDirection::Decreasing,
    };
    Ok(Box::new(TopK { axis: it.int("axis").unwrap_or(-1), count: it.int("k"), direction }))
}
