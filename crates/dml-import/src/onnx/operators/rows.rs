//! Reductions, normalizations and cumulative operators: functions of all elements along some dimensions.

use std::ops::RangeInclusive;

use dml_core::ReduceFunction;

use crate::error::{Error, Result};
use crate::graph::{
    BatchNormalize, BatchTraining, Common, DynamicQuantize, Extreme, GREATEST, LEAST, NormOfRow,
    Normalize, Op, PRODUCTS, Reduce, Running, SUMS, Standardize,
};
use crate::onnx::attributes::{Attributes, Kind};

use super::{Build, OperatorVersion, row};

const AXES: [(&str, Kind); 2] = [("axes", Kind::Ints), ("keepdims", Kind::Int)];
const ONLY_AXES: [(&str, Kind); 1] = [("axes", Kind::Ints)];
const NO_AXES: [(&str, Kind); 2] = [("keepdims", Kind::Int), ("noop_with_empty_axes", Kind::Int)];
const AXIS: [(&str, Kind); 2] = [("axis", Kind::Int), ("keepdims", Kind::Int)];
const LAST: [(&str, Kind); 3] =
    [("axis", Kind::Int), ("keepdims", Kind::Int), ("select_last_index", Kind::Int)];

const BATCH_1: [(&str, Kind); 5] = [
    ("consumed_inputs", Kind::Ints),
    ("epsilon", Kind::Float),
    ("is_test", Kind::Int),
    ("momentum", Kind::Float),
    ("spatial", Kind::Int),
];
const BATCH_7: [(&str, Kind); 3] =
    [("epsilon", Kind::Float), ("momentum", Kind::Float), ("spatial", Kind::Int)];
const BATCH_9: [(&str, Kind); 2] = [("epsilon", Kind::Float), ("momentum", Kind::Float)];
const BATCH_14: [(&str, Kind); 3] =
    [("epsilon", Kind::Float), ("momentum", Kind::Float), ("training_mode", Kind::Int)];
const EPSILON: [(&str, Kind); 1] = [("epsilon", Kind::Float)];
const GROUP_18: [(&str, Kind); 2] = [("epsilon", Kind::Float), ("num_groups", Kind::Int)];
const GROUP_21: [(&str, Kind); 3] =
    [("epsilon", Kind::Float), ("num_groups", Kind::Int), ("stash_type", Kind::Int)];
const LAYER: [(&str, Kind); 3] =
    [("axis", Kind::Int), ("epsilon", Kind::Float), ("stash_type", Kind::Int)];
const NORM: [(&str, Kind); 2] = [("axis", Kind::Int), ("p", Kind::Int)];
const RUNNING: [(&str, Kind); 2] = [("exclusive", Kind::Int), ("reverse", Kind::Int)];

/// A reduction whose axes are an attribute in version 1, and an input from version `since` on.
const fn reduces(name: &'static str, since: i64, function: ReduceFunction) -> OperatorVersion {
    let (attributes, inputs): (&'static [(&str, Kind)], RangeInclusive<usize>) =
        if since == 1 { (&AXES, 1..=1) } else { (&NO_AXES, 1..=2) };
    let build = Build::Reduce(function);
    OperatorVersion { domain: "", name, since, attributes, inputs, outputs: 1..=1, build }
}

/// All versions of these operators, in any order.
pub(super) static ROWS: &[OperatorVersion] = &[
    reduces("ReduceSum", 1, ReduceFunction::Sum),
    reduces("ReduceSum", 13, ReduceFunction::Sum),
    reduces("ReduceMean", 1, ReduceFunction::Average),
    reduces("ReduceMean", 18, ReduceFunction::Average),
    reduces("ReduceProd", 1, ReduceFunction::Multiply),
    reduces("ReduceProd", 18, ReduceFunction::Multiply),
    reduces("ReduceMin", 1, ReduceFunction::Min),
    reduces("ReduceMin", 18, ReduceFunction::Min),
    reduces("ReduceMax", 1, ReduceFunction::Max),
    reduces("ReduceMax", 18, ReduceFunction::Max),
    reduces("ReduceL1", 1, ReduceFunction::L1),
    reduces("ReduceL1", 18, ReduceFunction::L1),
    reduces("ReduceL2", 1, ReduceFunction::L2),
    reduces("ReduceL2", 18, ReduceFunction::L2),
    reduces("ReduceLogSum", 1, ReduceFunction::LogSum),
    reduces("ReduceLogSum", 18, ReduceFunction::LogSum),
    reduces("ReduceLogSumExp", 1, ReduceFunction::LogSumExp),
    reduces("ReduceLogSumExp", 18, ReduceFunction::LogSumExp),
    reduces("ReduceSumSquare", 1, ReduceFunction::SumSquare),
    reduces("ReduceSumSquare", 18, ReduceFunction::SumSquare),
    row("ArgMax", 1, &AXIS, 1..=1, greatest),
    row("ArgMax", 12, &LAST, 1..=1, greatest),
    row("ArgMin", 1, &AXIS, 1..=1, least),
    row("ArgMin", 12, &LAST, 1..=1, least),
    OperatorVersion {
        outputs: 1..=5,
        ..row("BatchNormalization", 1, &BATCH_1, 5..=5, tested_batch)
    },
    OperatorVersion { outputs: 1..=5, ..row("BatchNormalization", 7, &BATCH_7, 5..=5, batch) },
    OperatorVersion { outputs: 1..=5, ..row("BatchNormalization", 9, &BATCH_9, 5..=5, batch) },
    OperatorVersion {
        outputs: 1..=3,
        ..row("BatchNormalization", 14, &BATCH_14, 5..=5, batch_or_training)
    },
    row("InstanceNormalization", 6, &EPSILON, 3..=3, |it| normalize(it, Common::Channel)),
    row("GroupNormalization", 18, &GROUP_18, 3..=3, |it| group(it, false)),
    row("GroupNormalization", 21, &GROUP_21, 3..=3, |it| group(it, true)),
    // Version 1 is ONNX Runtime's, which also has SimplifiedLayerNormalization in this domain.
    OperatorVersion { outputs: 1..=3, ..row("LayerNormalization", 1, &LAYER, 2..=3, layer) },
    row("SimplifiedLayerNormalization", 1, &LAYER, 2..=2, root_mean_square),
    row("RMSNormalization", 23, &LAYER, 2..=2, root_mean_square),
    row("MeanVarianceNormalization", 9, &ONLY_AXES, 1..=1, mean_variance),
    row("LpNormalization", 1, &NORM, 1..=1, norm),
    OperatorVersion {
        outputs: 1..=3,
        ..row("DynamicQuantizeLinear", 11, &[], 1..=1, |_| Ok(Box::new(DynamicQuantize)))
    },
    row("CumSum", 11, &RUNNING, 2..=2, |it| running(it, SUMS)),
    row("CumProd", 26, &RUNNING, 2..=2, |it| running(it, PRODUCTS)),
];

pub(super) fn reduce(it: &Attributes<'_>, function: ReduceFunction) -> Box<dyn Op> {
    let is_none_of_none = it.flag("noop_with_empty_axes", false);
    let (axes, keeps_dimensions) = (it.ints("axes"), it.flag("keepdims", true));
    Box::new(Reduce { function, axes, keeps_dimensions, is_none_of_none })
}

fn extreme(it: &Attributes<'_>, schema: &'static dml_core::schema::OperatorSchema) -> Box<dyn Op> {
    Box::new(Extreme {
        schema,
        axis: it.int("axis").unwrap_or(0),
        keeps_dimensions: it.flag("keepdims", true),
        is_last: it.flag("select_last_index", false),
    })
}

fn greatest(it: &Attributes<'_>) -> Result<Box<dyn Op>> {
    Ok(extreme(it, GREATEST))
}

fn least(it: &Attributes<'_>) -> Result<Box<dyn Op>> {
    Ok(extreme(it, LEAST))
}

fn epsilon(it: &Attributes<'_>) -> f32 {
    it.float("epsilon").unwrap_or(1e-5)
}

/// Before version 7 the operator is for training unless `is_test` is set.
fn tested_batch(it: &Attributes<'_>) -> Result<Box<dyn Op>> {
    if it.flag("is_test", false) { batch(it) } else { Err(trained(it)) }
}

fn trained(it: &Attributes<'_>) -> Error {
    it.node.not_supported("training is only specified from version 14 on")
}

fn batch(it: &Attributes<'_>) -> Result<Box<dyn Op>> {
    if it.outputs > 1 {
        return Err(trained(it));
    }
    if !it.flag("spatial", true) {
        return Err(it.node.not_supported("it has a mean for each element"));
    }
    Ok(Box::new(BatchNormalize { epsilon: epsilon(it) }))
}

fn batch_or_training(it: &Attributes<'_>) -> Result<Box<dyn Op>> {
    if !it.flag("training_mode", false) {
        return batch(it);
    }
    let momentum = it.float("momentum").unwrap_or(0.9);
    Ok(Box::new(BatchTraining { epsilon: epsilon(it), momentum, outputs: it.outputs }))
}

pub(super) fn normalize(it: &Attributes<'_>, common: Common) -> Result<Box<dyn Op>> {
    let (epsilon, outputs) = (epsilon(it), it.outputs);
    Ok(Box::new(Normalize { common, has_mean: true, epsilon, outputs }))
}

fn group(it: &Attributes<'_>, by_channel: bool) -> Result<Box<dyn Op>> {
    let groups = it.int("num_groups").ok_or_else(|| it.missing("num_groups"))?;
    normalize(it, Common::Group { groups, by_channel })
}

fn layer(it: &Attributes<'_>) -> Result<Box<dyn Op>> {
    normalize(it, Common::From(it.int("axis").unwrap_or(-1)))
}

fn root_mean_square(it: &Attributes<'_>) -> Result<Box<dyn Op>> {
    let common = Common::From(it.int("axis").unwrap_or(-1));
    Ok(Box::new(Normalize { common, has_mean: false, epsilon: epsilon(it), outputs: 1 }))
}

fn mean_variance(it: &Attributes<'_>) -> Result<Box<dyn Op>> {
    Ok(Box::new(Standardize { axes: it.ints("axes").unwrap_or_else(|| vec![0, 2, 3]) }))
}

fn norm(it: &Attributes<'_>) -> Result<Box<dyn Op>> {
    let p = it.int("p").unwrap_or(2);
    let known = u32::try_from(p).ok().filter(|p| matches!(p, 1 | 2));
    let p = known.ok_or_else(|| it.node.invalid("attribute p", p, "is not a norm", "1, 2"))?;
    Ok(Box::new(NormOfRow { axis: it.int("axis").unwrap_or(-1), p }))
}

fn running(
    it: &Attributes<'_>,
    schema: &'static dml_core::schema::OperatorSchema,
) -> Result<Box<dyn Op>> {
    let (is_exclusive, is_reversed) = (it.flag("exclusive", false), it.flag("reverse", false));
    Ok(Box::new(Running { schema, is_exclusive, is_reversed }))
}
