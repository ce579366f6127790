//! Sums of 32-bit words in which an invocation has whole rows. Their kernels, `kernels/sum_rows.comp`,
//! `kernels/product_rows.comp` and `kernels/product_columns.comp`, do the additions themselves. The elements'
//! program is linked to the first, those of two factors to the second, and it is the product in the third.

use super::{Elements, Form, ROUNDED_SUM_F32, Reduce, SUM_I32};
use crate::element_wise::{
    AccessPattern, COUNT, Calls, DIMENSIONS, ElementFormula, FunctionCall, KernelOperand, Value,
    can_read, estimated_bytes, inputs_of,
};
use crate::functions as f;
use crate::kernels;
use crate::link::{Argument, Body, Call, Callee, Source};
use crate::{ElementWidth, NativeTypes};

use super::joining::STATE_AT;

/// The most bytes of the functions of factors: FLOAT16 and integers are converted by less, an exponential takes more.
const MOST_BYTES_OF_FACTORS: usize = 4 << 10;
/// Where a function for a factor has its quads among its parameters.
const QUADS_AT: usize = 3;
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
            && arguments[..] == [Value::Input(0), Value::Input(1)]
            && self.inputs == [words(AccessPattern::Single), words(AccessPattern::Whole)]
            && self.quads.are_whole
    }

    /// The form [`Form::CommonFactor`] of this kernel; `None` where that is not possible. `is_common` tells which
    /// inputs neighbouring rows have in common. Rows are multiples of sixteen elements, and those of
    /// [`AccessPattern::Whole`] inputs begin at such.
    pub fn common_factor(&self, is_common: impl Fn(usize) -> bool) -> Option<Form> {
        let product = self.program.steps.last()?;
        let inputs = self.elements_of_rows();
        let own = (0..inputs.len()).filter(|it| !is_common(*it)).fold(0, |all, it| all | 1 << it);
        let is_factor = |it: &Value| inputs_of(&self.program, *it) & own == 0;
        let argument = product.arguments.iter().position(is_factor)?;
        // Drivers inline functions, and have those of a factor of rows' own sixteen times.
        let bytes = |program: &ElementFormula| estimated_bytes(program, 0);
        let of_functions = || bytes(&self.program) - bytes(&ElementFormula::default());
        let is_possible = *self.reducer == ROUNDED_SUM_F32
            && self.adds_words()
            && self.quads.are_whole
            && *product.function == f::MULTIPLY_F32
            && inputs.iter().all(can_read)
            && of_functions() <= MOST_BYTES_OF_FACTORS;
        is_possible.then_some(Form::CommonFactor { argument })
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
            Form::CommonFactor { .. } => &kernels::PRODUCT_ROWS_F32,
            Form::Blocks | Form::OneBlock if !self.adds_words() => return None,
            Form::Blocks | Form::OneBlock if is_integer => &kernels::SUM_ROWS_I32,
            Form::Blocks | Form::OneBlock => &kernels::SUM_ROWS_F32,
            Form::Group | Form::Long | Form::Segments | Form::ColumnGroups => return None,
        };
        Some((OUTER_DIMENSIONS, source))
    }

    /// The bodies for [`Self::skeleton_of_sums`]: those that compute a quad or the factors of all lanes, and one that writes the
    /// result.
    pub(super) fn bodies_of_sums(&self, types: NativeTypes) -> Vec<Body> {
        let row = ("row", self.row(types));
        match self.form {
            Form::Columns => return vec![row],
            Form::CommonFactor { argument } => {
                let [common, own] = [argument, 1 - argument].map(|it| self.factor(it, types));
                return vec![("common", common), ("own", own), row];
            }
            _ => {}
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

    /// Computes a factor of the elements of all lanes, an argument of the product.
    fn factor(&self, argument: usize, types: NativeTypes) -> Vec<Call> {
        let product = self.program.steps.last().expect("a product");
        let mut calls = Calls::new(self.elements_of_rows(), types).of(self.quads);
        let lanes = calls.lanes(&self.program, product.arguments[argument]);
        for (quad, at) in lanes.into_iter().zip(QUADS_AT..) {
            calls.call(Callee::Exported("replace"), vec![Argument::Parameter(at), quad[0]]);
        }
        calls.made
    }
}
