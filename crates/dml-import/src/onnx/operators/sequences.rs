//! Operators of sequences, and their attributes. SequenceMap, which has a graph, is read with the other operators of
//! graphs.

use super::build::Built;
use super::{ANY, OperatorVersion, row};
use crate::graph::{AtPosition, ConcatFromSequence, SequenceLength, SequenceOf, SplitToSequence};
use crate::onnx::attributes::{Attributes, Kind};

const SPLIT: [(&str, Kind); 2] = [("axis", Kind::Int), ("keepdims", Kind::Int)];
const CONCAT: [(&str, Kind); 2] = [("axis", Kind::Int), ("new_axis", Kind::Int)];

/// All versions of these operators.
pub(super) static ROWS: &[OperatorVersion] = &[
    row("SequenceConstruct", 11, &[], 1..=ANY, |_| Ok(Box::new(SequenceOf))),
    row("SequenceEmpty", 11, &[("dtype", Kind::Int)], 0..=0, |_| Ok(Box::new(SequenceOf))),
    row("SequenceLength", 11, &[], 1..=1, |_| Ok(Box::new(SequenceLength))),
    row("SequenceAt", 11, &[], 2..=2, |_| Ok(Box::new(AtPosition::Take))),
    row("SequenceErase", 11, &[], 1..=2, |_| Ok(Box::new(AtPosition::Erase))),
    row("SequenceInsert", 11, &[], 2..=3, |_| Ok(Box::new(AtPosition::Insert))),
    row("SplitToSequence", 11, &SPLIT, 1..=2, split),
    row("ConcatFromSequence", 11, &CONCAT, 1..=1, concat),
];

fn split(it: &Attributes<'_>) -> Built {
    let axis = it.int("axis").unwrap_or(0);
    Ok(Box::new(SplitToSequence { axis, keeps_dimension: it.flag("keepdims", true) }))
}

fn concat(it: &Attributes<'_>) -> Built {
    let axis = it.int("axis").ok_or_else(|| it.missing("axis"))?;
    Ok(Box::new(ConcatFromSequence { axis, is_new_axis: it.flag("new_axis", false) }))
}
