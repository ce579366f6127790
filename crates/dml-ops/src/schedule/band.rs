//! Stacks of matrices with a value in a band of diagonals.
//!
//! Elements are moved as bit patterns, so a kernel is compiled for each element width. Each [`Strategy`]
//! means here:
//!
//! - **inline**: the whole output is one update. For small dense outputs.
//! - **fill**: if all elements are the same, and dense.
//! - **fill-and-scatter**: zeros everywhere, then the value along one diagonal or in any band. A
//!   fill would overwrite the padding of a tensor that is not dense.
//! - **copy-and-band**: the input as a whole, then the value. Needs a dense input with the output's
//!   strides.
//! - **seed-and-copy**: [`crate::schedule::seed`]. For batches of matrices, and other outputs that repeat.
//! - **row-copies**: [`rows`]. For padded rows and for wide bands.
//! - **kernel**: dispatches alone, without transfer usage. Dense outputs are filled by a kernel, and the
//!   value follows; for other outputs, one kernel writes every element and no padding, with zeros or an input
//!   of any layout around the band.
//!
//! Executed in place, only the value is written, by row copies or by a kernel. [`strategy`] chooses.
//!
//! Each kernel is dispatched once for every box of the tensor that fits the device's descriptors; kernels
//! that only write the value, once for every box that has some of the band.
//!
//! An input that is OWNED_BY_DML is copied byte for byte into the persistent resource by initialization, and
//! read from there.

mod content;
mod diagonals;
mod rows;
mod steps;
mod strategy;

use dml_core::plan::{Copy, CopyRegion, InPlace, Slot, Step};
use dml_core::{Error, Strategy, TensorFlags, TensorLayout};
use dml_spirv::ElementWidth;

use super::{Schedule, relocate};
use crate::Target;
use crate::ir::{self, Buffer, Stored};
use crate::schedule::constants::Constants;
use crate::schedule::patterns::{fill, fill_by_kernel, inline};
use crate::schedule::seed;
use diagonals::Diagonals;
use steps::{BandedOutput, Batches, Source};
use strategy::{Background, choose};

impl Schedule<'_> {
    /// Adds the steps that write a band on an input or on zeros, and returns the steps of in-place execution.
    ///
    /// # Errors
    /// As [`super::Dispatches::push`].
    pub(super) fn band(&mut self, band: &ir::Band) -> Result<Option<Vec<Step>>, Error> {
        let input = band.input.as_ref();
        let matrix = BandMatrix { operator: self.origin.operator, band };
        let banded = matrix.banded_output()?;
        let source = matrix.source()?;
        let background = match &source {
            _ if banded.band.is_everything() => Background::Nothing,
            Some(source) => Background::Input(source),
            None => Background::Zeros,
        };
        let target = self.target;
        self.strategy = choose(&banded, background, target.tuning, target.transfer);
        let steps = banded.steps(self.strategy, background, target, &mut self.constants)?;
        self.extend(self.origin.field, self.between(input, &band.output, &steps))?;
        let in_place = matrix.in_place(&banded, source.as_ref(), target, &mut self.constants)?;
        let in_place = in_place.map(|steps| self.between(input, &band.output, &steps));
        let bound = (input.map(|input| input.buffer), band.output.buffer);
        if let (Some(steps), (Some(Buffer::Input(from)), Buffer::Output(to))) = (&in_place, bound) {
            self.in_place = vec![InPlace::by_own_steps(from, to, steps.clone())];
        }
        Ok(in_place)
    }

    /// Steps on the first input and the first output, moved to these buffers.
    pub(super) fn between(
        &self,
        input: Option<&Stored>,
        output: &Stored,
        steps: &[Step],
    ) -> Vec<Step> {
        let [input, output] = [input, Some(output)].map(|it| it.map(|it| self.place(it.buffer)));
        let place = |slot, offset| match (slot, input, output) {
            (Slot::Input(_), Some((slot, start)), _)
            | (Slot::Output(_), _, Some((slot, start))) => (slot, start + offset),
            _ => (slot, offset),
        };
        steps.iter().map(|step| relocate::relocated(step.clone(), &place)).collect()
    }
}

/// A band, and the tensors of its operator.
struct BandMatrix<'a> {
    operator: &'static str,
    band: &'a ir::Band,
}

impl BandMatrix<'_> {
    fn banded_output(&self) -> Result<BandedOutput, Error> {
        let output = &self.band.output.tensor;
        let batches = self.batches(output)?;
        let [_, _, height, width] = batches.sizes;
        let internal = |problem: &str| self.internal(problem);
        let element_width = ElementWidth::from_element_bits(output.data_type().bits());
        let band = Diagonals::clip(height, width, self.band.begin, self.band.end);
        // On zeros, a value with zero bits changes nothing.
        let is_nothing = self.band.value == 0 && self.band.input.is_none();
        Ok(BandedOutput {
            operator: self.operator,
            batches,
            bytes: output.minimum_size(),
            is_dense: output.is_dense(),
            element_width: element_width
                .ok_or_else(|| internal("no kernel moves elements of the data type"))?,
            band: if is_nothing { Diagonals::empty(height, width) } else { band },
            value: self.band.value,
        })
    }

    fn source(&self) -> Result<Option<Source>, Error> {
        let Some(input) = &self.band.input else { return Ok(None) };
        Ok(Some(Source { slot: Slot::Input(0), batches: self.batches(&input.tensor)? }))
    }

    /// A tensor's dimensions as two batch dimensions, rows and columns.
    fn batches(&self, tensor: &TensorLayout) -> Result<Batches, Error> {
        let first = 4usize
            .checked_sub(tensor.sizes().len())
            .ok_or_else(|| self.internal("more than 4 dimensions"))?;
        let mut batches = Batches { sizes: [1; 4], strides: [0; 4] };
        for (at, (size, stride)) in (first..).zip(tensor.sizes().iter().zip(tensor.strides())) {
            batches.sizes[at] = *size;
            // The stride of a dimension of size 1 is never used and may be anything.
            batches.strides[at] = if *size == 1 { 0 } else { *stride };
        }
        Ok(batches)
    }

    /// The in-place steps. The input must have the output's layout: then each of its elements is in the same
    /// position.
    fn in_place(
        &self,
        banded: &BandedOutput,
        source: Option<&Source>,
        target: &Target<'_>,
        constants: &mut Constants,
    ) -> Result<Option<Vec<Step>>, Error> {
        let input = self.band.input.as_ref();
        let is_owned =
            input.is_some_and(|input| input.tensor.flags().contains(TensorFlags::OWNED_BY_DML));
        let is_same = |source: &&Source| source.batches.strides == banded.batches.strides;
        if source.filter(is_same).is_none() || is_owned {
            return Ok(None);
        }
        let background = Background::Output;
        let strategy = choose(banded, background, target.tuning, target.transfer);
        banded.steps(strategy, background, target, constants).map(Some)
    }

    fn internal(&self, problem: &str) -> Error {
        Error::Internal { operator: self.operator, problem: problem.to_owned() }
    }
}

impl BandedOutput {
    /// The steps of `strategy`, if it can serve.
    fn steps(
        &self,
        strategy: Strategy,
        background: Background<'_>,
        target: &Target<'_>,
        constants: &mut Constants,
    ) -> Result<Vec<Step>, Error> {
        Ok(match (strategy, background) {
            (Strategy::Inline, _) => vec![inline(self.content())],
            (Strategy::Fill, _) => fill(self.element_bytes(), self.pattern().unwrap_or_default()),
            (Strategy::SeedAndCopy, _) => vec![self.repeat(target, constants)],
            (Strategy::FillAndScatter, _) => {
                let mut steps = fill(self.element_bytes(), 0);
                steps.extend(self.band_on_zeros(target)?);
                steps
            }
            (Strategy::CopyAndBand, Background::Input(source)) => {
                // Only the bytes of elements: bytes around the input may belong to others.
                let mut steps = vec![copy(source.slot, Slot::Output(0), self.element_bytes())];
                steps.extend(self.band(target)?);
                steps
            }
            (Strategy::RowCopies, Background::Input(source)) => {
                self.rows_on(Some(source), constants)
            }
            (Strategy::RowCopies, Background::Output) => self.rows_on(None, constants),
            (Strategy::RowCopies, _) => self.rows_on_zeros(constants),
            (_, Background::Zeros) if self.is_dense => {
                let mut steps = self.fill_by_kernel(0, target)?;
                steps.extend(self.band_on_zeros(target)?);
                steps
            }
            (_, Background::Zeros) => self.write(target)?,
            (_, Background::Nothing) if self.is_dense && self.pattern().is_some() => {
                self.fill_by_kernel(self.pattern().unwrap_or_default(), target)?
            }
            (_, Background::Input(source)) => self.merge(source, target, constants)?,
            (_, Background::Output | Background::Nothing) => self.band(target)?,
        })
    }

    /// Writes the value in the band of an output that is zero.
    fn band_on_zeros(&self, target: &Target<'_>) -> Result<Vec<Step>, Error> {
        match self.band.single() {
            Some(diagonal) => self.scatter(diagonal, target),
            None => self.band(target),
        }
    }

    fn fill_by_kernel(&self, pattern: u32, target: &Target<'_>) -> Result<Vec<Step>, Error> {
        fill_by_kernel((self.operator, "OutputTensor"), self.element_bytes(), pattern, target)
    }

    /// Repeats one matrix, or one element if the band covers everything, over the whole output.
    fn repeat(&self, target: &Target<'_>, constants: &mut Constants) -> Step {
        let block = match self.matrix_bytes() {
            Some(bytes) if !self.band.is_everything() => self.matrix_content(bytes),
            _ => self.value.to_le_bytes()[..self.element_width.bytes() as usize].to_vec(),
        };
        seed::repeat(&block, self.element_bytes(), target.tuning, constants)
    }
}

fn copy(source: Slot, destination: Slot, size: u64) -> Step {
    let region = CopyRegion::once(0, 0, size);
    Step::Copy(Copy { source, destination, regions: vec![region] })
}
