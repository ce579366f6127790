//! Iteration spaces: which elements of which tensors belong together, whatever the tensors' layouts.
//!
//! A space has up to 8 sizes; each operand has a base and a stride for each of them. A broadcast is a
//! stride of 0, a slice a base and perhaps a negative stride, a transposed tensor strides in another
//! order. Spaces are coalesced first: most have one, two or three dimensions then.

use dml_core::plan::Slot;
use dml_core::{Error, TensorLayout};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, MAX_INPUTS, QUAD};

use crate::lowering::boxes::{Placement, WORD};

/// Kernels access up to four words at a time, and four elements: windows begin at a multiple of both.
const FOUR_WORDS: u64 = 16;

/// A tensor in a space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Operand {
    /// Where it is.
    pub(crate) slot: Slot,
    /// How wide its elements are.
    pub(crate) width: ElementWidth,
    /// The element at coordinate 0, counted from the start of the slot.
    pub(crate) base: i64,
    /// Elements from a coordinate to the next, outermost dimension first.
    pub(crate) strides: [i64; DIMENSIONS],
}

impl Operand {
    /// All of `tensor`, at the start of `slot`.
    ///
    /// # Errors
    /// [`Error::Internal`]: no kernel moves such elements.
    pub(crate) fn of(
        operator: &'static str,
        slot: Slot,
        tensor: &TensorLayout,
    ) -> Result<Self, Error> {
        let data_type = tensor.data_type();
        let width = ElementWidth::from_element_bits(data_type.bits()).ok_or_else(|| {
            Error::internal(operator, format!("no kernel moves elements of {data_type}"))
        })?;
        let strides = leading(tensor.strides(), 0).map(i64::from);
        Ok(Self { slot, width, base: 0, strides })
    }

    /// Whether each element of a space of `sizes` lies where `other` has it, if both begin at one place.
    pub(crate) fn lies_as(&self, other: &Self, sizes: &[u32; DIMENSIONS]) -> bool {
        let dimensions = sizes.iter().zip(self.strides.iter().zip(&other.strides));
        let mut used = dimensions.filter(|(size, _)| **size > 1);
        self.width == other.width && used.all(|(_, (one, other))| one == other)
    }

    /// Where its elements are; windows begin where kernels can access several words, or one.
    pub(crate) fn placement(&self, alignment: Alignment) -> Placement<DIMENSIONS> {
        let granule = match alignment {
            Alignment::Quads => FOUR_WORDS.max(u64::from(QUAD * self.width.bytes())),
            Alignment::Words => WORD,
        };
        let element_bytes = self.width.bytes();
        Placement { first: self.base, strides: self.strides, element_bytes, granule }
    }
}

/// Where windows begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alignment {
    /// At four words and four elements, where kernels that access so many at a time are used.
    Quads,
    /// At a word: a descriptor may be too small for more.
    Words,
}

/// The sizes of a space whose tensors have `sizes`.
pub(crate) fn leading(sizes: &[u32], filler: u32) -> [u32; DIMENSIONS] {
    let mut all = [filler; DIMENSIONS];
    all[DIMENSIONS - sizes.len()..].copy_from_slice(sizes);
    all
}

/// Elements that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IterationSpace {
    /// Coordinates in each dimension, outermost first; none is 0, and all together are less than 2^32.
    pub(crate) sizes: [u32; DIMENSIONS],
    /// What is read, at most [`MAX_INPUTS`].
    pub(crate) inputs: Vec<Operand>,
    /// What is written; no two coordinates have the same element.
    pub(crate) output: Operand,
}

impl IterationSpace {
    /// What is read, and what is written last.
    pub(crate) fn operands(&self) -> impl Iterator<Item = &Operand> {
        self.inputs.iter().chain([&self.output])
    }

    /// The same elements in as few dimensions as possible. The output is walked forwards, and in the
    /// order in which it lies in memory.
    #[must_use]
    pub(crate) fn coalesced(mut self) -> Self {
        debug_assert!(self.inputs.len() <= MAX_INPUTS);
        for dimension in 0..DIMENSIONS {
            if self.output.strides[dimension] < 0 {
                self.mirror(dimension);
            }
        }
        let mut order: Vec<usize> = (0..DIMENSIONS).filter(|at| self.sizes[*at] > 1).collect();
        order.sort_by_key(|at| std::cmp::Reverse(self.output.strides[*at]));
        // Dimensions that stay, outermost first: the size of each, and the one whose strides it has.
        let mut kept: Vec<(u32, usize)> = Vec::new();
        for inner in order {
            let size = self.sizes[inner];
            let merged = kept.last().and_then(|(outer_size, outer)| {
                let follows = |it: &Operand| {
                    it.strides[*outer] == it.strides[inner].saturating_mul(size.into())
                };
                outer_size.checked_mul(size).filter(|_| self.operands().all(follows))
            });
            match (merged, kept.last_mut()) {
                (Some(size), Some(last)) => *last = (size, inner),
                _ => kept.push((size, inner)),
            }
        }
        self.keep(&kept)
    }

    /// Walks a dimension from its other end.
    fn mirror(&mut self, dimension: usize) {
        let last = i64::from(self.sizes[dimension] - 1);
        for operand in self.inputs.iter_mut().chain([&mut self.output]) {
            operand.base += last * operand.strides[dimension];
            operand.strides[dimension] = -operand.strides[dimension];
        }
    }

    fn keep(self, kept: &[(u32, usize)]) -> Self {
        let first = DIMENSIONS - kept.len();
        let mut sizes = [1; DIMENSIONS];
        for (place, (size, _)) in sizes[first..].iter_mut().zip(kept) {
            *place = *size;
        }
        let keep = |operand: Operand| {
            let mut strides = [0; DIMENSIONS];
            for (place, (_, from)) in strides[first..].iter_mut().zip(kept) {
                *place = operand.strides[*from];
            }
            Operand { strides, ..operand }
        };
        let inputs = self.inputs.into_iter().map(keep).collect();
        Self { sizes, inputs, output: keep(self.output) }
    }
}

#[cfg(test)]
pub(crate) mod tests;
