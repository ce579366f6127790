//! DIAGONAL_MATRIX: `out[.., y, x] = (y + Offset == x) ? Value : 0`; dimensions before the last two
//! are batches. Offsets that miss the matrix leave zeros.
//!
//! Elements are moved as bit patterns, so a kernel family is an element width. Two strategies:
//!
//! - **fill + scatter**: zeros everywhere, then Value along the diagonals. Needs transfer usage, and
//!   a dense tensor: a fill would overwrite the padding between the elements of any other.
//! - **write**: one kernel writes every element and nothing else.

use dml_core::operators::DIAGONAL_MATRIX;
use dml_core::plan::{BindingRequirement, Fill, Plan, Slot, Step, Window};
use dml_core::schema::OperatorSchema;
use dml_core::{Error, TensorLayout, Validated, value};
use dml_spirv::twins::{diagonal_scatter, diagonal_write};
use dml_spirv::{Family, Kernel, kernels};

use crate::diagonal::Diagonal;
use crate::element_kernel::{ElementKernel, words};
use crate::{Operator, Target, TransferUse};

#[cfg(feature = "reference")]
mod reference;
#[cfg(test)]
mod tests;

/// The operator's implementation.
pub(crate) struct DiagonalMatrix;

impl Operator for DiagonalMatrix {
    fn schema(&self) -> &'static OperatorSchema {
        &DIAGONAL_MATRIX
    }

    fn lower(&self, operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
        let output = operator.required_tensor("OutputTensor")?;
        let matrices = Matrices::new(output, operator)?;
        Ok(Plan {
            operator: DIAGONAL_MATRIX.name,
            inputs: vec![],
            outputs: vec![Some(BindingRequirement::of("OutputTensor", output))],
            init: vec![],
            exec: matrices.steps(target)?,
            temporary_size: 0,
            persistent_size: 0,
            constants: vec![],
        })
    }

    #[cfg(feature = "reference")]
    fn reference(&self) -> &'static dyn crate::reference::Reference {
        &reference::DiagonalMatrixReference
    }
}

/// The output as two batch dimensions, rows and columns, and what is written to it.
struct Matrices {
    sizes: [u32; 4],
    /// In elements.
    strides: [u32; 4],
    /// Bytes from the first element to the end of the last one, in whole words.
    bytes: u64,
    elements: u32,
    dense: bool,
    family: Family,
    /// `None` where no element gets anything but zero bits.
    diagonal: Option<Diagonal>,
    value: u64,
}

impl Matrices {
    fn new(output: &TensorLayout, operator: &Validated) -> Result<Self, Error> {
        let internal = |problem: &str| Error::Internal {
            operator: DIAGONAL_MATRIX.name,
            problem: problem.into(),
        };
        let first = 4usize
            .checked_sub(output.sizes().len())
            .ok_or_else(|| internal("more than 4 dimensions"))?;
        let mut sizes = [1; 4];
        let mut strides = [0; 4];
        sizes[first..].copy_from_slice(output.sizes());
        strides[first..].copy_from_slice(output.strides());
        let value = value::element_bits(operator.float("Value")?, output.data_type());
        let diagonal = Diagonal::clip(sizes[2], sizes[3], operator.int("Offset")?);
        Ok(Self {
            sizes,
            strides,
            bytes: output.minimum_size(),
            elements: u32::try_from(output.element_count())
                .map_err(|_| internal("more than 2^32 - 1 elements"))?,
            dense: output.is_dense(),
            family: Family::from_element_bits(output.data_type().bits())
                .ok_or_else(|| internal("no kernel family for the data type"))?,
            diagonal: diagonal.filter(|_| value != 0),
            value,
        })
    }

    fn steps(&self, target: &Target<'_>) -> Result<Vec<Step>, Error> {
        if target.transfer == TransferUse::StorageOnly || !self.dense {
            return self.write(target);
        }
        let mut steps =
            vec![Step::Fill(Fill { slot: Slot::Output(0), range: 0..self.bytes, pattern: 0 })];
        if let Some(diagonal) = self.diagonal {
            steps.extend(self.scatter(diagonal, target)?);
        }
        Ok(steps)
    }

    fn scatter(&self, diagonal: Diagonal, target: &Target<'_>) -> Result<Vec<Step>, Error> {
        // Every product and sum is an index of an element or a count of elements, so it fits u32;
        // the step of a diagonal of one element is never used and may be anything.
        let [size0, size1, ..] = self.sizes;
        let [stride0, stride1, row_stride, column_stride] = self.strides;
        let count = size0 * size1 * diagonal.length;
        let [value_low, value_high] = words(self.value);
        let push = diagonal_scatter::PushConstants {
            count,
            diagonal_length: diagonal.length,
            size1,
            stride0,
            stride1,
            diagonal_stride: row_stride.wrapping_add(column_stride),
            start: diagonal.row * row_stride + diagonal.column * column_stride,
            value_low,
            value_high,
            ..Default::default()
        };
        let base_word_at = diagonal_scatter::PushConstants::BASE_WORD_AT;
        self.kernel(&kernels::DIAGONAL_SCATTER, base_word_at, count)
            .dispatches(target, |first_group| {
                diagonal_scatter::PushConstants { first_group, ..push }.to_bytes()
            })
    }

    fn write(&self, target: &Target<'_>) -> Result<Vec<Step>, Error> {
        let [_, size1, height, width] = self.sizes;
        let [stride0, stride1, stride2, stride3] = self.strides;
        let [value_low, value_high] = words(self.value);
        // A length of 0 puts no element on the diagonal.
        let diagonal = self.diagonal.unwrap_or(Diagonal { row: 0, column: 0, length: 0 });
        let push = diagonal_write::PushConstants {
            count: self.elements,
            size1,
            height,
            width,
            stride0,
            stride1,
            stride2,
            stride3,
            row_begin: diagonal.row,
            column_begin: diagonal.column,
            diagonal_length: diagonal.length,
            value_low,
            value_high,
            ..Default::default()
        };
        let base_word_at = diagonal_write::PushConstants::BASE_WORD_AT;
        self.kernel(&kernels::DIAGONAL_WRITE, base_word_at, self.elements)
            .dispatches(target, |first_group| {
                diagonal_write::PushConstants { first_group, ..push }.to_bytes()
            })
    }

    fn kernel(&self, kernel: &Kernel, base_word_at: u32, count: u32) -> ElementKernel {
        let variant = kernel.variant(self.family);
        let window = Window {
            slot: Slot::Output(0),
            range: 0..self.bytes,
            access: variant.bindings[0].access,
            base_word_at,
        };
        ElementKernel { operator: DIAGONAL_MATRIX.name, variant, windows: vec![window], count }
    }
}
