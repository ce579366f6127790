//! The kernels' dispatches: one for each box of the tensor, see [`crate::schedule::boxes`].
//!
//! Every product and sum of sizes and strides here is an index or a count of elements, so it fits
//! 32 bits.

use std::ops::Range;

use dml_core::Error;
use dml_core::kernel::KernelModule;
use dml_core::plan::{Slot, Step, Window};
use dml_spirv::twins::{self, diagonal_band, diagonal_merge, diagonal_scatter, diagonal_write};
use dml_spirv::{ElementWidth, kernels};

use super::diagonals::{Diagonal, Diagonals};
use crate::Target;
use crate::ir::low_and_high;
use crate::schedule::boxes::{Placement, TensorBox};
use crate::schedule::constants::Constants;
use crate::schedule::cost;
use crate::schedule::dispatches::Dispatches;

/// Sizes and strides of two batch dimensions, rows and columns.
pub(super) struct Batches {
    pub(super) sizes: [u32; 4],
    /// Strides in elements; 0 for a size of 1.
    pub(super) strides: [u32; 4],
}

/// The output, and the value and band to write.
pub(super) struct BandedOutput {
    pub(super) operator: &'static str,
    pub(super) batches: Batches,
    /// Bytes from the first element to the end of the last one, in whole words.
    pub(super) bytes: u64,
    pub(super) is_dense: bool,
    pub(super) element_width: ElementWidth,
    pub(super) band: Diagonals,
    pub(super) value: u64,
}

/// The buffer and the strides of the input when the operator is executed.
pub(super) struct Source {
    pub(super) slot: Slot,
    pub(super) batches: Batches,
}

impl Batches {
    /// Whether the elements of a row are adjacent.
    pub(super) fn has_whole_rows(&self) -> bool {
        let ([.., width], [.., column_stride]) = (self.sizes, self.strides);
        width == 1 || column_stride == 1
    }
}

impl BandedOutput {
    /// Writes the value along one diagonal of every matrix, on zeros. The diagonals form the tensor that is
    /// divided, so that every box has elements.
    pub(super) fn scatter(
        &self,
        diagonal: Diagonal,
        target: &Target<'_>,
    ) -> Result<Vec<Step>, Error> {
        let [size0, size1, ..] = self.batches.sizes;
        let [stride0, stride1, row_stride, column_stride] = self.batches.strides;
        // The sum can only exceed 32 bits if the diagonal has one element and needs no stride.
        let along = if diagonal.length > 1 { row_stride + column_stride } else { 0 };
        let first = diagonal.row * row_stride + diagonal.column * column_stride;
        let strides = [stride0, stride1, along];
        let output = Placement::in_words(first.into(), strides, self.element_width.bits());
        let [value_low, value_high] = low_and_high(self.value);
        let variant = target.variant(&kernels::DIAGONAL_SCATTER, self.element_width);
        let mut dispatches = self.dispatches(target);
        for part in dispatches.boxes([size0, size1, diagonal.length], &[output])? {
            let [size0, size1, diagonal_length] = part.sizes;
            let view = output.view(&part);
            let push = diagonal_scatter::PushConstants {
                count: size0 * size1 * diagonal_length,
                diagonal_length,
                size1,
                stride0,
                stride1,
                diagonal_stride: along,
                start: view.start,
                value_low,
                value_high,
                ..Default::default()
            };
            let base_word_at = diagonal_scatter::PushConstants::BASE_WORD_AT;
            let window = output_window(&variant, view.range, base_word_at);
            let cost = cost::of_writing(push.count, self.element_width.bytes());
            dispatches.push(&variant, &[window], &push, cost)?;
        }
        Ok(dispatches.into_steps())
    }

    /// Writes the value in the band, and zero in every other element.
    pub(super) fn write(&self, target: &Target<'_>) -> Result<Vec<Step>, Error> {
        let output = self.placement(&self.batches);
        let variant = target.variant(&kernels::DIAGONAL_WRITE, self.element_width);
        let mut dispatches = self.dispatches(target);
        for part in dispatches.boxes(self.batches.sizes, &[output])? {
            let view = output.view(&part);
            let (band_begin, band_length) = self.band.within(&part).wrapped();
            let push = diagonal_write::PushConstants {
                count: part.sizes.iter().product(),
                matrices: self.matrices(&part, view.start),
                strides: self.batches.strides,
                band_begin,
                band_length,
                ..Default::default()
            };
            let base_word_at = diagonal_write::PushConstants::BASE_WORD_AT;
            let window = output_window(&variant, view.range, base_word_at);
            let cost = cost::of_writing(push.count, self.element_width.bytes());
            dispatches.push(&variant, &[window], &push, cost)?;
        }
        Ok(dispatches.into_steps())
    }

    /// Writes the value in the band, and no other element. Boxes without elements of the band take no dispatch.
    pub(super) fn band(&self, target: &Target<'_>) -> Result<Vec<Step>, Error> {
        let mut dispatches = self.dispatches(target);
        if !self.band.parts().is_empty() {
            for part in dispatches.boxes(self.batches.sizes, &[self.placement(&self.batches)])? {
                for band in self.band.within(&part).parts() {
                    self.band_in_box(&part, band, &mut dispatches)?;
                }
            }
        }
        Ok(dispatches.into_steps())
    }

    fn band_in_box(
        &self,
        part: &TensorBox<4>,
        band: &Range<u32>,
        dispatches: &mut Dispatches<'_>,
    ) -> Result<(), Error> {
        let output = self.placement(&self.batches);
        let view = output.view(part);
        let [size0, size1, height, width] = part.sizes;
        let columns = (band.end - band.start).min(width);
        let push = diagonal_band::PushConstants {
            count: size0 * size1 * height * columns,
            columns,
            matrices: self.matrices(part, view.start),
            strides: self.batches.strides,
            band_begin: band.start,
            band_end: band.end,
            ..Default::default()
        };
        let variant = dispatches.target().variant(&kernels::DIAGONAL_BAND, self.element_width);
        let base_word_at = diagonal_band::PushConstants::BASE_WORD_AT;
        let window = output_window(&variant, view.range, base_word_at);
        let cost = cost::of_writing(push.count, self.element_width.bytes());
        dispatches.push(&variant, &[window], &push, cost)
    }

    /// Writes the value in the band, and the input's element at every other position.
    pub(super) fn merge(
        &self,
        source: &Source,
        target: &Target<'_>,
        constants: &mut Constants,
    ) -> Result<Vec<Step>, Error> {
        let (output, input) = (self.placement(&self.batches), self.placement(&source.batches));
        let block = add_strides(constants, self.batches.strides, source.batches.strides);
        let mut dispatches = self.dispatches(target);
        for part in dispatches.boxes(self.batches.sizes, &[output, input])? {
            let (to, from) = (output.view(&part), input.view(&part));
            let (band_begin, band_length) = self.band.within(&part).wrapped();
            let push = diagonal_merge::PushConstants {
                count: part.sizes.iter().product(),
                matrices: self.matrices(&part, to.start),
                input_start: from.start,
                band_begin,
                band_length,
                ..Default::default()
            };
            let tensors = [(Slot::Output(0), to.range), (source.slot, from.range)];
            push_merge(&mut dispatches, self.element_width, tensors, block.clone(), push)?;
        }
        Ok(dispatches.into_steps())
    }

    fn dispatches<'a>(&self, target: &'a Target<'_>) -> Dispatches<'a> {
        Dispatches::new(self.operator, "OutputTensor", target)
    }

    fn placement(&self, batches: &Batches) -> Placement<4> {
        Placement::in_words(0, batches.strides, self.element_width.bits())
    }

    /// The push constants for a box whose first element is at `start` in its window.
    fn matrices(&self, part: &TensorBox<4>, start: u32) -> twins::Matrices {
        let [_, size1, height, width] = part.sizes;
        let [value_low, value_high] = low_and_high(self.value);
        twins::Matrices { start, size1, height, width, value_low, value_high }
    }
}

fn output_window(variant: &KernelModule, range: Range<u64>, base_word_at: u32) -> Window {
    Window { slot: Slot::Output(0), range, access: variant.bindings[0].access, base_word_at }
}

/// Adds the strides of both tensors of a merge to the constants, and returns their range.
fn add_strides(
    constants: &mut Constants,
    output_strides: [u32; 4],
    input_strides: [u32; 4],
) -> Range<u64> {
    constants.add(&diagonal_merge::Constants { output_strides, input_strides }.to_bytes())
}

/// Adds a dispatch of the merge kernel for a destination, a source and the strides of both.
fn push_merge(
    dispatches: &mut Dispatches<'_>,
    element_width: ElementWidth,
    [destination, source]: [(Slot, Range<u64>); 2],
    constants: Range<u64>,
    push: diagonal_merge::PushConstants,
) -> Result<(), Error> {
    let variant = dispatches.target().variant(&kernels::DIAGONAL_MERGE, element_width);
    let places = [
        (destination, diagonal_merge::PushConstants::BASE_WORD_AT),
        (source, diagonal_merge::PushConstants::INPUT_WORD_AT),
        ((Slot::Constants, constants), diagonal_merge::PushConstants::CONSTANTS_WORD_AT),
    ];
    let windows = places.into_iter().zip(variant.bindings.iter()).map(|(place, binding)| {
        let ((slot, range), base_word_at) = place;
        Window { slot, range, access: binding.access, base_word_at }
    });
    let windows: Vec<_> = windows.collect();
    // Each element is read and written.
    let cost = cost::of_writing(push.count, 2 * element_width.bytes());
    dispatches.push(&variant, &windows, &push, cost)
}
