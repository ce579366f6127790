//! Quantization and scaling: operators with scales, zero points and biases per block of elements, or computed
//! from all elements.

mod cases;
mod reference;

use dml_core::operators;

use super::rows::{Elements, OfRow, OverRows, oracles};
use crate::Reference;
use reference::OfBlocks;

/// The references of this family.
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
