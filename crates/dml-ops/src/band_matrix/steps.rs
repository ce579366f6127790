//! The kernels' dispatches.
//!
//! Every product and sum of sizes and strides here is an index or a count of elements, so it fits
//! 32 bits.

use std::ops::Range;

use dml_core::Error;
use dml_core::kernel::KernelVariant;
use dml_core::plan::{Slot, Step, Window};
use dml_spirv::twins::{diagonal_band, diagonal_merge, diagonal_scatter, diagonal_write};
use dml_spirv::{Family, kernels};

use crate::Target;
use crate::diagonal::{Band, Diagonal};
use crate::element_kernel::{ElementKernel, words};

/// Dimensions: two of batches, rows, columns.
pub(super) struct Batches {
    pub(super) sizes: [u32; 4],
    /// In elements; 0 where the size is 1.
    pub(super) strides: [u32; 4],
}

/// The output, and what is written to it.
pub(super) struct Matrices {
    pub(super) operator: &'static str,
    pub(super) batches: Batches,
    /// Bytes from the first element to the end of the last one, in whole words.
    pub(super) bytes: u64,
    pub(super) elements: u32,
    pub(super) is_dense: bool,
    pub(super) family: Family,
    pub(super) band: Band,
    pub(super) value: u64,
}

/// Where the input's elements are when the operator is executed.
pub(super) struct Source {
    pub(super) slot: Slot,
    /// In elements; 0 where the size is 1.
    pub(super) strides: [u32; 4],
    /// Bytes from the first element to the end of the last one, in whole words.
    pub(super) bytes: u64,
}

/// The constant block while it is being filled.
#[derive(Default)]
pub(super) struct Constants {
    pub(super) bytes: Vec<u8>,
}

impl Constants {
    /// Adds whole words, and returns where they are.
    fn add(&mut self, bytes: &[u8]) -> Range<u64> {
        let start = self.bytes.len() as u64;
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len() as u64
    }
}

impl Matrices {
    /// The value along one diagonal of every matrix, on zeros.
    pub(super) fn scatter(
        &self,
        diagonal: Diagonal,
        target: &Target<'_>,
    ) -> Result<Vec<Step>, Error> {
        let [size0, size1, ..] = self.batches.sizes;
        let [stride0, stride1, row_stride, column_stride] = self.batches.strides;
        let count = size0 * size1 * diagonal.length;
        let [value_low, value_high] = words(self.value);
        let push = diagonal_scatter::PushConstants {
            count,
            diagonal_length: diagonal.length,
            size1,
            stride0,
            stride1,
            // Not used, and may be anything, where the diagonal is one element long.
            diagonal_stride: row_stride.wrapping_add(column_stride),
            start: diagonal.row * row_stride + diagonal.column * column_stride,
            value_low,
            value_high,
            ..Default::default()
        };
        let variant = kernels::DIAGONAL_SCATTER.variant(self.family);
        let base_word_at = diagonal_scatter::PushConstants::BASE_WORD_AT;
        self.kernel(variant, base_word_at, count).dispatches(target, |first_group| {
            diagonal_scatter::PushConstants { first_group, ..push }.to_bytes()
        })
    }

    /// The value in the band, and zero in every other element.
    pub(super) fn write(&self, target: &Target<'_>) -> Result<Vec<Step>, Error> {
        let [_, size1, height, width] = self.batches.sizes;
        let [stride0, stride1, stride2, stride3] = self.batches.strides;
        let (band_begin, band_length) = self.band.around();
        let [value_low, value_high] = words(self.value);
        let push = diagonal_write::PushConstants {
            count: self.elements,
            size1,
            height,
            width,
            stride0,
            stride1,
            stride2,
            stride3,
            band_begin,
            band_length,
            value_low,
            value_high,
            ..Default::default()
        };
        let variant = kernels::DIAGONAL_WRITE.variant(self.family);
        let base_word_at = diagonal_write::PushConstants::BASE_WORD_AT;
        self.kernel(variant, base_word_at, self.elements).dispatches(target, |first_group| {
            diagonal_write::PushConstants { first_group, ..push }.to_bytes()
        })
    }

    /// The value in the band, and nothing else.
    pub(super) fn band(&self, target: &Target<'_>) -> Result<Vec<Step>, Error> {
        let mut steps = Vec::new();
        for part in self.band.parts() {
            steps.extend(self.band_part(part, target)?);
        }
        Ok(steps)
    }

    fn band_part(&self, part: &Range<u32>, target: &Target<'_>) -> Result<Vec<Step>, Error> {
        let [size0, size1, height, width] = self.batches.sizes;
        let [stride0, stride1, stride2, stride3] = self.batches.strides;
        let [value_low, value_high] = words(self.value);
        let columns = (part.end - part.start).min(width);
        let count = size0 * size1 * height * columns;
        let push = diagonal_band::PushConstants {
            count,
            columns,
            size1,
            height,
            width,
            stride0,
            stride1,
            stride2,
            stride3,
            band_begin: part.start,
            band_end: part.end,
            value_low,
            value_high,
            ..Default::default()
        };
        let variant = kernels::DIAGONAL_BAND.variant(self.family);
        let base_word_at = diagonal_band::PushConstants::BASE_WORD_AT;
        self.kernel(variant, base_word_at, count).dispatches(target, |first_group| {
            diagonal_band::PushConstants { first_group, ..push }.to_bytes()
        })
    }

    /// The value in the band, and the input's element in every other place.
    pub(super) fn merge(
        &self,
        source: &Source,
        target: &Target<'_>,
        constants: &mut Constants,
    ) -> Result<Vec<Step>, Error> {
        let Batches { sizes: [_, size1, height, width], strides } = self.batches;
        let block = diagonal_merge::Constants {
            size1,
            height,
            width,
            output_strides: strides,
            input_strides: source.strides,
        };
        let (band_begin, band_length) = self.band.around();
        let [value_low, value_high] = words(self.value);
        let push = diagonal_merge::PushConstants {
            count: self.elements,
            band_begin,
            band_length,
            value_low,
            value_high,
            ..Default::default()
        };
        let tensors = [(Slot::Output(0), self.bytes), (source.slot, source.bytes)];
        let block = constants.add(&block.to_bytes());
        merge_kernel(self.operator, self.family, tensors, block, self.elements)
            .dispatches(target, |first_group| {
                diagonal_merge::PushConstants { first_group, ..push }.to_bytes()
            })
    }

    fn kernel(
        &self,
        variant: &'static KernelVariant,
        base_word_at: u32,
        count: u32,
    ) -> ElementKernel {
        let access = variant.bindings[0].access;
        let range = 0..self.bytes;
        let window = Window { slot: Slot::Output(0), range, access, base_word_at };
        let windows = vec![("OutputTensor", window)];
        ElementKernel { operator: self.operator, variant, windows, count }
    }
}

/// Copies the input to `source` word by word: a merge without a band.
pub(super) fn copy_words(
    operator: &'static str,
    source: &Source,
    target: &Target<'_>,
    constants: &mut Constants,
) -> Result<Vec<Step>, Error> {
    // More words than 2^32 - 1 do not fit a window, which is what they are refused for.
    let count = u32::try_from(source.bytes / 4).unwrap_or(u32::MAX);
    let strides = [0, 0, 0, 1];
    let block = diagonal_merge::Constants {
        size1: 1,
        height: 1,
        width: count,
        output_strides: strides,
        input_strides: strides,
    };
    let block = constants.add(&block.to_bytes());
    let push = diagonal_merge::PushConstants { count, ..Default::default() };
    let tensors = [(source.slot, source.bytes), (Slot::Input(0), source.bytes)];
    merge_kernel(operator, Family::B32, tensors, block, count).dispatches(target, |first_group| {
        diagonal_merge::PushConstants { first_group, ..push }.to_bytes()
    })
}

/// The merge kernel for a destination and a source, each a slot and its bytes, and its constants.
fn merge_kernel(
    operator: &'static str,
    family: Family,
    [destination, source]: [(Slot, u64); 2],
    constants: Range<u64>,
    count: u32,
) -> ElementKernel {
    let variant = kernels::DIAGONAL_MERGE.variant(family);
    let field = |slot| if slot == Slot::Output(0) { "OutputTensor" } else { "InputTensor" };
    let slots = [
        (destination.0, 0..destination.1, diagonal_merge::PushConstants::BASE_WORD_AT),
        (source.0, 0..source.1, diagonal_merge::PushConstants::INPUT_WORD_AT),
        (Slot::Constants, constants, diagonal_merge::PushConstants::CONSTANTS_WORD_AT),
    ];
    let windows = slots.into_iter().zip(variant.bindings).map(|(window, binding)| {
        let ((slot, range, base_word_at), access) = (window, binding.access);
        (field(slot), Window { slot, range, access, base_word_at })
    });
    ElementKernel { operator, variant, windows: windows.collect(), count }
}
