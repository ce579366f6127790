//! Iteration spaces: which elements of which tensors belong together, whatever the tensors' layouts.
//!
//! A space has up to 8 sizes; each operand has a base and a stride for each of them. A broadcast is a stride
//! of 0, a slice a base and perhaps a negative stride, a transposed tensor has its strides in another order.
//! Spaces are coalesced first: most then have one, two or three dimensions.

use std::ops::RangeInclusive;

use dml_core::{Error, TensorLayout};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, MAX_INPUTS, QUAD, Value};

use super::buffer::Buffer;

/// The elements after the first one in a quad, which may begin at any element of an operand.
pub(crate) const SLACK: usize = 3;

/// A view of a buffer in a space, or an index generator. A program's operands are views of its own buffers;
/// the schedule places them, so that they are views of a plan's slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Operand<B = Buffer> {
    /// The buffer; `None` for an index generator: each element is then its own index, modulo 2^32, in a
    /// tensor with this base and these strides.
    pub(crate) buffer: Option<B>,
    /// The width of its elements.
    pub(crate) width: ElementWidth,
    /// The element at coordinate 0, counted from the start of the buffer.
    pub(crate) base: i64,
    /// Elements from a coordinate to the next, outermost dimension first.
    pub(crate) strides: [i64; DIMENSIONS],
    /// The number of coordinates of the last dimension that share an element, as a power of two; the stride
    /// leads to the next element. Other than 0 only for rows of blocks that are reduced.
    pub(crate) repeats: u32,
    /// Whether [`SLACK`] elements after any of its elements may be read; they are not used.
    pub(crate) has_slack: bool,
    /// An offset of its elements that the program computes.
    pub(crate) displacement: Option<Displacement>,
    /// A second result of a Map, which is written to the buffer of its output; inputs have none.
    pub(crate) second: Option<SecondResult>,
}

/// A second result for each coordinate of a Map's output, as wide as the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SecondResult {
    /// The value of the program that is written.
    pub(crate) value: Value,
    /// Its element's distance from the element of the first result, in elements.
    pub(crate) distance: u32,
}

/// An offset, in elements, that a program computes for each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Displacement {
    /// The value with the offset, of 32 bits.
    pub(crate) by: Value,
    /// The greatest offset, except [`dml_spirv::functions::NOWHERE`].
    pub(crate) most: u64,
    /// Whether every offset is a multiple of [`dml_spirv::element_wise::QUAD`].
    pub(crate) is_of_quads: bool,
}

impl Displacement {
    /// A displacement by any offset up to `most`.
    pub(crate) fn new(by: Value, most: u64) -> Self {
        Self { by, most, is_of_quads: false }
    }
}

impl<B> Operand<B> {
    /// All of `tensor`, at the start of `buffer`.
    ///
    /// # Errors
    /// [`Error::Internal`]: no kernel moves such elements.
    pub(crate) fn of(
        operator: &'static str,
        buffer: B,
        tensor: &TensorLayout,
    ) -> Result<Self, Error> {
        let data_type = tensor.data_type();
        let width = ElementWidth::from_element_bits(data_type.bits()).ok_or_else(|| {
            Error::internal(operator, format!("no kernel moves elements of {data_type}"))
        })?;
        let strides = leading(tensor.strides(), 0).map(i64::from);
        Ok(Self { displacement: None, strides, ..Self::at(buffer, width, 0) })
    }

    /// A view of a tensor with these sizes in a larger space: dimensions of size 1 are broadcast.
    pub(crate) fn repeated(self, sizes: &[u32; DIMENSIONS]) -> Self {
        let strides = std::array::from_fn(|at| if sizes[at] > 1 { self.strides[at] } else { 0 });
        Self { strides, ..self }
    }

    /// One element of a buffer, at every coordinate.
    pub(crate) fn at(buffer: B, width: ElementWidth, base: i64) -> Self {
        let strides = [0; DIMENSIONS];
        Self { buffer: Some(buffer), width, ..Self::numbers(base, strides) }
    }

    /// An index generator of 32 bits: `base` at coordinate 0, plus the strides.
    pub(crate) fn numbers(base: i64, strides: [i64; DIMENSIONS]) -> Self {
        Self {
            buffer: None,
            width: ElementWidth::B32,
            base,
            strides,
            repeats: 0,
            has_slack: false,
            displacement: None,
            second: None,
        }
    }

    /// The operand as a packed tensor of `sizes`, in row-major order, with the same base. Dimensions of size
    /// 1 get stride 0, for larger spaces.
    pub(crate) fn packed(self, sizes: &[u32]) -> Self {
        let mut strides = [0; DIMENSIONS];
        let mut next = 1;
        for (stride, size) in strides.iter_mut().rev().zip(sizes.iter().rev()) {
            *stride = if *size > 1 { next } else { 0 };
            next *= i64::from(*size);
        }
        Self { strides, ..self }
    }

    /// This view in another buffer, in which this buffer begins at the element `start`.
    pub(crate) fn moved<T>(&self, buffer: Option<T>, start: i64) -> Operand<T> {
        let Self { width, base, strides, repeats, has_slack, displacement, second, .. } = *self;
        let base = base + start;
        Operand { buffer, width, base, strides, repeats, has_slack, displacement, second }
    }

    /// The greatest displacement of an element.
    pub(crate) fn beyond(&self) -> u64 {
        let slack = if self.has_slack { SLACK as u64 } else { 0 };
        let of_second = self.second.map_or(0, |it| it.distance.into());
        slack + self.displacement.map_or(0, |displacement| displacement.most) + of_second
    }

    /// Whether the operand is one element for each coordinate, at its strides.
    pub(crate) fn is_plain(&self) -> bool {
        self.displacement.is_none() && self.second.is_none()
    }

    /// The index of the element at a coordinate.
    pub(crate) fn element(&self, coordinate: [u32; DIMENSIONS]) -> i64 {
        let terms = coordinate.into_iter().zip(self.strides);
        self.base + terms.map(|(at, stride)| i64::from(at) * stride).sum::<i64>()
    }

    /// Whether each element of a space of `sizes` has the same offset as in `other`, from the same base.
    pub(crate) fn lies_as(&self, other: &Self, sizes: &[u32; DIMENSIONS]) -> bool {
        if !self.is_plain() || !other.is_plain() {
            return false;
        }
        let dimensions = sizes.iter().zip(self.strides.iter().zip(&other.strides));
        let mut used = dimensions.filter(|(size, _)| **size > 1);
        self.width == other.width && used.all(|(_, (one, other))| one == other)
    }
}

impl Operand {
    /// This view with its buffer renamed.
    pub(crate) fn renamed(&self, name: &impl Fn(Buffer) -> Buffer) -> Self {
        Self { buffer: self.buffer.map(name), ..self.clone() }
    }
}

/// The bytes of a tensor that a descriptor must cover for elements that are up to `reach` apart, wherever it
/// begins: at a multiple of four words and four elements.
pub(crate) fn bytes_shown(width: ElementWidth, reach: u64) -> u64 {
    const FOUR: u64 = 4;
    let four = width.bytes_of(FOUR).max(FOUR * FOUR);
    width.bytes_of(reach + 1) + four
}

/// The least and the greatest element of a view from `base` on, with a size and a stride for each dimension.
pub(crate) fn extent(
    base: i64,
    dimensions: impl IntoIterator<Item = (u32, i64)>,
) -> RangeInclusive<i64> {
    let (mut least, mut greatest) = (base, base);
    for (size, stride) in dimensions {
        let distance = stride.saturating_mul(i64::from(size) - 1);
        least = least.saturating_add(distance.min(0));
        greatest = greatest.saturating_add(distance.max(0));
    }
    least..=greatest
}

/// The sizes of a space whose tensors have `sizes`.
pub(crate) fn leading(sizes: &[u32], filler: u32) -> [u32; DIMENSIONS] {
    let mut all = [filler; DIMENSIONS];
    all[DIMENSIONS - sizes.len()..].copy_from_slice(sizes);
    all
}

/// Sizes, and the operands whose elements belong together at each coordinate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IterationSpace<B = Buffer> {
    /// The sizes, outermost dimension first; none is 0, and their product is less than 2^32.
    pub(crate) sizes: [u32; DIMENSIONS],
    /// The operands that are read, at most [`MAX_INPUTS`].
    pub(crate) inputs: Vec<Operand<B>>,
    /// The operand that is written. No two coordinates have the same element, unless it is displaced.
    pub(crate) output: Operand<B>,
}

impl<B> IterationSpace<B> {
    /// Whether every operand is one element for each coordinate, at its strides.
    pub(crate) fn is_plain(&self) -> bool {
        self.inputs.iter().chain([&self.output]).all(Operand::is_plain)
    }

    /// The number of coordinates.
    pub(crate) fn elements(&self) -> u64 {
        self.sizes.iter().map(|size| u64::from(*size)).product()
    }
}

impl IterationSpace {
    /// This space with its buffers renamed.
    pub(crate) fn renamed(&self, name: &impl Fn(Buffer) -> Buffer) -> Self {
        let inputs = self.inputs.iter().map(|input| input.renamed(name)).collect();
        Self { sizes: self.sizes, inputs, output: self.output.renamed(name) }
    }
}

impl<B: Clone> IterationSpace<B> {
    /// All operands: the inputs, then the output.
    pub(crate) fn operands(&self) -> impl Iterator<Item = &Operand<B>> {
        self.inputs.iter().chain([&self.output])
    }

    /// The operands that have a buffer.
    pub(crate) fn stored(&self) -> impl Iterator<Item = &Operand<B>> {
        self.operands().filter(|operand| operand.buffer.is_some())
    }

    /// The operand in whose order memory is walked: the output, or if that is displaced, the input that is
    /// stored to it in order.
    fn walked(&self) -> &Operand<B> {
        let first = self.inputs.first().filter(|_| self.output.displacement.is_some());
        first.unwrap_or(&self.output)
    }

    /// This space in as few dimensions as possible. The output is walked forwards, and in memory order.
    #[must_use]
    pub(crate) fn coalesced(self) -> Self {
        self.coalesced_where(|_| true)
    }

    /// As [`Self::coalesced`], but a dimension is merged with its neighbours only if `may_merge` allows it
    /// for the output's stride.
    #[must_use]
    pub(crate) fn coalesced_where(mut self, may_merge: impl Fn(i64) -> bool) -> Self {
        debug_assert!(self.inputs.len() <= MAX_INPUTS + 1);
        for dimension in 0..DIMENSIONS {
            if self.walked().strides[dimension] < 0 {
                self.mirror(dimension);
            }
        }
        let mut order: Vec<usize> = (0..DIMENSIONS).filter(|at| self.sizes[*at] > 1).collect();
        order.sort_by_key(|at| std::cmp::Reverse(self.walked().strides[*at]));
        // Dimensions that stay, outermost first: the size of each, and the one whose strides it has.
        let mut kept: Vec<(u32, usize)> = Vec::new();
        for inner in order {
            let size = self.sizes[inner];
            let merged = kept.last().and_then(|(outer_size, outer)| {
                let follows = |it: &Operand<B>| {
                    it.strides[*outer] == it.strides[inner].saturating_mul(size.into())
                };
                let may_merge = may_merge(self.output.strides[inner]);
                outer_size.checked_mul(size).filter(|_| may_merge && self.operands().all(follows))
            });
            match (merged, kept.last_mut()) {
                (Some(size), Some(last)) => *last = (size, inner),
                _ => kept.push((size, inner)),
            }
        }
        self.keep(&kept)
    }

    /// This space with `dimension` moved after all others.
    #[must_use]
    pub(crate) fn with_last(mut self, dimension: usize) -> Self {
        self.sizes[dimension..].rotate_left(1);
        for operand in self.inputs.iter_mut().chain([&mut self.output]) {
            operand.strides[dimension..].rotate_left(1);
        }
        self
    }

    /// Merges the last two dimensions, [blocks, length of a block], if the length is a power of two of at most `longest` elements,
    /// and each operand is contiguous across both or has one element for each block.
    pub(crate) fn with_blocks(&self, longest: u32) -> Option<Self> {
        const LAST: usize = DIMENSIONS - 1;
        let [blocks, length] = [self.sizes[LAST - 1], self.sizes[LAST]];
        if !length.is_power_of_two() || !(QUAD..=longest).contains(&length) {
            return None;
        }
        let joined = |operand: &Operand<B>| {
            let mut joined = operand.clone();
            let [outer, inner] = [operand.strides[LAST - 1], operand.strides[LAST]];
            if outer != inner * i64::from(length) {
                joined.repeats = length.ilog2();
                joined.strides[LAST] = outer;
            }
            joined.strides[..LAST].rotate_right(1);
            joined.strides[0] = 0;
            let is_one = operand.buffer.is_some() && operand.displacement.is_none() && inner == 0;
            (joined.repeats == 0 || is_one).then_some(joined)
        };
        let inputs = self.inputs.iter().map(joined).collect::<Option<_>>()?;
        let mut sizes = self.sizes;
        sizes[..LAST].rotate_right(1);
        (sizes[0], sizes[LAST]) = (1, blocks.checked_mul(length)?);
        Some(Self { sizes, inputs, output: joined(&self.output)? })
    }

    /// A space for each coordinate of the outermost dimension.
    pub(crate) fn outermost(&self) -> impl Iterator<Item = Self> + '_ {
        (0..self.sizes[0]).map(|at| {
            let mut space = self.clone();
            space.sizes[0] = 1;
            for operand in space.inputs.iter_mut().chain([&mut space.output]) {
                operand.base += i64::from(at) * operand.strides[0];
            }
            space
        })
    }

    /// Walks a dimension backwards.
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
        let keep = |operand: Operand<B>| {
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
