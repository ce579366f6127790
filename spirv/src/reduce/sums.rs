//! Sums of 32-bit words in which an invocation has whole rows. Their kernels, `kernels/sum_rows.comp` and
//! `kernels/product_columns.comp`, do the additions themselves. The elements' program is linked to the
//! first, and is the product in the second.

use super::{Elements, Form, ROUNDED_SUM_F32, Reduce, SUM_I32};
use crate::element_wise::{
    AccessPattern, COUNT, Calls, DIMENSIONS, FunctionCall, KernelOperand, Value,
};
use crate::functions as f;
use crate::kernels;
use crate::link::{Argument, Body, Callee, Source};
use crate::{ElementWidth, NativeTypes};

use super::joining::STATE_AT;

/// Outer dimensions of the skeletons.
const OUTER_DIMENSIONS: usize = DIMENSIONS - 1;

impl Reduce {
    /// Whether [`Form::Columns`] is possible: the sums are of products of a row with columns that are
    /// read as quads.
    pub fn multiplies_columns(&self) -> bool {
        let [FunctionCall { function, arguments }] = self.program.steps.as_slice() else {
            return false;
        };
        let multiply = if *self.reducer == SUM_I32 { &f::MULTIPLY_I32 } else { &f::MULTIPLY_F32 };
        let words = |access| KernelOperand { width: ElementWidth::B32, access };
        self.adds_words()
            && *function == multiply
            && *arguments == [Value::Input(0), Value::Input(1)]
            && self.inputs == [words(AccessPattern::Single), words(AccessPattern::Whole)]
            && self.quads.are_whole
    }

    /// Whether 32-bit words are added: floats with each addition rounded, or integers that are computed
    /// from several inputs.
    pub fn adds_words(&self) -> bool {
        let is_of_products = *self.reducer == SUM_I32 && self.elements_of_rows().len() > 1;
        (*self.reducer == ROUNDED_SUM_F32 || is_of_products)
            && self.elements == Elements::Values
            && self.grids.is_none()
    }

    /// The skeleton that does the additions itself, and its outer dimensions; `None` if the additions are linked.
    pub(super) fn skeleton_of_sums(&self) -> Option<(usize, &'static Source)> {
        let is_integer = *self.reducer == SUM_I32;
        let source = match self.form {
            Form::Columns if is_integer => &kernels::PRODUCT_COLUMNS_I32,
            Form::Columns => &kernels::PRODUCT_COLUMNS_F32,
            Form::Blocks | Form::OneBlock if !self.adds_words() => return None,
            Form::Blocks | Form::OneBlock if is_integer => &kernels::SUM_ROWS_I32,
            Form::Blocks | Form::OneBlock => &kernels::SUM_ROWS_F32,
            Form::Group | Form::Long | Form::Segments | Form::ColumnGroups => return None,
        };
        Some((OUTER_DIMENSIONS, source))
    }

    /// The bodies for [`Self::skeleton_of_sums`]: one that computes a quad, and one that writes the result.
    pub(super) fn bodies_of_sums(&self, types: NativeTypes) -> Vec<Body> {
        let row = ("row", self.row(types));
        if self.form == Form::Columns {
            return vec![row];
        }
        let mut calls = Calls::new(self.elements_of_rows(), types).of(self.quads);
        let element = calls.run(&self.program)[0];
        let place = Argument::Parameter(STATE_AT);
        let (name, arguments) = match self.quads.are_whole {
            true => ("replace", vec![place, element]),
            false => ("hold", vec![place, element, COUNT]),
        };
        calls.call(Callee::Exported(name), arguments);
        vec![("quad", calls.made), row]
    }
}
