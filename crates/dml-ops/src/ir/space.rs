//! Iteration spaces: which elements of which tensors belong together, whatever the tensors' layouts.
//!
//! A space has up to 8 sizes; each operand has a base and a stride for each of them. A broadcast is a
//! stride of 0, a slice a base and perhaps a negative stride, a transposed tensor strides in another
//! order. Spaces are coalesced first: most have one, two or three dimensions then.

use dml_core::{Error, TensorLayout};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, MAX_INPUTS, QUAD, Value};

use super::buffer::Buffer;

/// A quad that begins at any element of an operand has so many elements after it.
pub(crate) const SLACK: usize = 3;

/// A view of a buffer in a space, or the numbers of its elements. A program's operands are views of its own
/// buffers; the schedule places them, so that they are views of a plan's slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Operand<B = Buffer> {
    /// What it is a view of; `None` where it is stored nowhere: then each element is its own number, modulo 2^32,
    /// counted as those of a tensor with this base and these strides.
    pub(crate) buffer: Option<B>,
    /// How wide its elements are.
    pub(crate) width: ElementWidth,
    /// The element at coordinate 0, counted from the start of the buffer.
    pub(crate) base: i64,
    /// Elements from a coordinate to the next, outermost dimension first.
    pub(crate) strides: [i64; DIMENSIONS],
    /// So many coordinates of the last dimension have one element, as a power of two; the stride leads to the next
    /// element. Only where rows of blocks are reduced it is not 0.
    pub(crate) repeats: u32,
    /// Whether [`SLACK`] elements after any of its elements may be read, which are not used.
    pub(crate) has_slack: bool,
    /// Where its elements are further on than their coordinates say.
    pub(crate) displacement: Option<Displacement>,
}

/// Elements are as much further on as the program says that is computed for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Displacement {
    /// The value that says it, of 32 bits.
    pub(crate) by: Value,
    /// What it is at most, [`dml_spirv::functions::NOWHERE`] apart.
    pub(crate) most: u64,
    /// Whether it is a multiple of [`dml_spirv::element_wise::QUAD`] wherever it leads.
    pub(crate) is_of_quads: bool,
}

impl Displacement {
    /// One that may be anything up to `most`.
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

    /// One element of a buffer, at every coordinate.
    pub(crate) fn at(buffer: B, width: ElementWidth, base: i64) -> Self {
        let (buffer, strides) = (Some(buffer), [0; DIMENSIONS]);
        Self { buffer, width, base, strides, repeats: 0, has_slack: false, displacement: None }
    }

    /// Numbers of 32 bits: `base` at coordinate 0, and so much more from a coordinate to the next.
    pub(crate) fn numbers(base: i64, strides: [i64; DIMENSIONS]) -> Self {
        let width = ElementWidth::B32;
        let (buffer, repeats) = (None, 0);
        Self { buffer, width, base, strides, repeats, has_slack: false, displacement: None }
    }

    /// The same place as the elements of a tensor of `sizes`, in row-major order without gaps. Where a size is
    /// 1 it stays in a larger space.
    pub(crate) fn packed(self, sizes: &[u32]) -> Self {
        let mut strides = [0; DIMENSIONS];
        let mut next = 1;
        for (stride, size) in strides.iter_mut().rev().zip(sizes.iter().rev()) {
            *stride = if *size > 1 { next } else { 0 };
            next *= i64::from(*size);
        }
        Self { strides, ..self }
    }

    /// The same view of another buffer, of which this one begins with the element `start`.
    pub(crate) fn moved<T>(&self, buffer: Option<T>, start: i64) -> Operand<T> {
        let Self { width, base, strides, repeats, has_slack, displacement, .. } = *self;
        Operand { buffer, width, base: base + start, strides, repeats, has_slack, displacement }
    }

    /// How many elements further on than its coordinate says an element may be accessed.
    pub(crate) fn beyond(&self) -> u64 {
        let slack = if self.has_slack { SLACK as u64 } else { 0 };
        slack + self.displacement.map_or(0, |it| it.most)
    }

    /// The number of the element at a coordinate.
    pub(crate) fn element(&self, coordinate: [u32; DIMENSIONS]) -> i64 {
        let terms = coordinate.into_iter().zip(self.strides);
        self.base + terms.map(|(at, stride)| i64::from(at) * stride).sum::<i64>()
    }

    /// Whether each element of a space of `sizes` lies where `other` has it, if both begin at one place.
    pub(crate) fn lies_as(&self, other: &Self, sizes: &[u32; DIMENSIONS]) -> bool {
        if self.displacement.is_some() || other.displacement.is_some() {
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

/// How many bytes of a tensor need to be shown at once for elements that are up to `reach` apart, wherever a
/// descriptor begins: at a multiple of four words and four elements.
pub(crate) fn bytes_shown(width: ElementWidth, reach: u64) -> u64 {
    const FOUR: u64 = 4;
    let four = width.bytes_of(FOUR).max(FOUR * FOUR);
    width.bytes_of(reach + 1) + four
}

/// The sizes of a space whose tensors have `sizes`.
pub(crate) fn leading(sizes: &[u32], filler: u32) -> [u32; DIMENSIONS] {
    let mut all = [filler; DIMENSIONS];
    all[DIMENSIONS - sizes.len()..].copy_from_slice(sizes);
    all
}

/// Elements that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IterationSpace<B = Buffer> {
    /// Coordinates in each dimension, outermost first; none is 0, and all together are less than 2^32.
    pub(crate) sizes: [u32; DIMENSIONS],
    /// What is read, at most [`MAX_INPUTS`].
    pub(crate) inputs: Vec<Operand<B>>,
    /// What is written; no two coordinates have the same element, but where it is displaced.
    pub(crate) output: Operand<B>,
}

impl IterationSpace {
    /// This space with its buffers renamed.
    pub(crate) fn renamed(&self, name: &impl Fn(Buffer) -> Buffer) -> Self {
        let inputs = self.inputs.iter().map(|it| it.renamed(name)).collect();
        Self { sizes: self.sizes, inputs, output: self.output.renamed(name) }
    }
}

impl<B: Clone> IterationSpace<B> {
    /// What is read, and what is written last.
    pub(crate) fn operands(&self) -> impl Iterator<Item = &Operand<B>> {
        self.inputs.iter().chain([&self.output])
    }

    /// The operands that are somewhere.
    pub(crate) fn stored(&self) -> impl Iterator<Item = &Operand<B>> {
        self.operands().filter(|operand| operand.buffer.is_some())
    }

    /// The operand in whose order memory is walked: the output, or what goes to it one after the other where
    /// its own order is that of displacements.
    fn walked(&self) -> &Operand<B> {
        let first = self.inputs.first().filter(|_| self.output.displacement.is_some());
        first.unwrap_or(&self.output)
    }

    /// The same elements in as few dimensions as possible. The output is walked forwards, and in the
    /// order in which it lies in memory.
    #[must_use]
    pub(crate) fn coalesced(self) -> Self {
        self.coalesced_where(|_| true)
    }

    /// The same, where only dimensions are merged with those around them for whose stride of the output `may_merge`
    /// says so.
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

    /// The same with a dimension after all others.
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
