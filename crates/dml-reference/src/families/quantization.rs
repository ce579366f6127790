//! Operators that compute each element from the input's at the same coordinates and from those of its block:
//! scales, zero points and biases that many elements have in common, or that suit all of them.

mod cases;
mod reference;

use dml_core::operators;

use super::rows::{Elements, OfRow, OverRows, oracles};
use crate::Reference;
use reference::OfBlocks;

/// All of them.
pub(crate) static REFERENCES: &[&dyn Reference] = &[
    &OfBlocks { schema: &operators::VALUE_SCALE_2D, formula: reference::value_scale },
    &OfBlocks { schema: &operators::QUANTIZE, formula: reference::quantize },
    &OfBlocks { schema: &operators::DEQUANTIZE, formula: reference::dequantize },
    &OverRows {
        schema: &operators::DYNAMIC_QUANTIZE_LINEAR,
        of_row: OfRow::Formula(oracles::quantize),
        elements: |_| Elements::Sums,
    },
];
