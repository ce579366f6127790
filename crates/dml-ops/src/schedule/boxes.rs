//! Boxes: the parts of a tensor that is too large for one descriptor.
//!
//! A box is a range of every dimension. The boxes of one tensor have equal sizes, except the last ones of a
//! dimension; they do not overlap, cover the tensor, and each operand's part of a box fits one window. All
//! bytes are counted in 64 bits.

use std::ops::Range;

/// The alignment of windows for kernels that access single words.
pub(crate) const WORD: u64 = 4;

/// The position of an operand's elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement<const N: usize> {
    /// The element at coordinate 0, counted from the start of the slot.
    pub(crate) first: i64,
    /// Strides in elements, outermost dimension first. Strides of dimensions of size 1 have no meaning.
    pub(crate) strides: [i64; N],
    /// The number of coordinates of the last dimension that share an element, as a power of two.
    pub(crate) repeats: u32,
    /// The width of an element: 4, 8, 16, 32 or 64 bits.
    pub(crate) element_bits: u32,
    /// The alignment of windows in bytes, a power of two, at least [`WORD`].
    pub(crate) granule: u64,
    /// The greatest displacement of an access from the element at its coordinate, in elements, for which
    /// every box has room.
    pub(crate) beyond: u64,
}

/// A part of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TensorBox<const N: usize> {
    /// Coordinates of its first element.
    pub(crate) origin: [u32; N],
    /// Elements in each dimension, at least 1.
    pub(crate) sizes: [u32; N],
}

/// The range of an operand that a window covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct View {
    /// Bytes relative to the start of the slot, from a multiple of the granule, in whole words.
    pub(crate) range: Range<u64>,
    /// The element at the box's origin, counted from the start of the range. Without negative strides it is
    /// less than the number of elements in a granule.
    pub(crate) start: u32,
}

impl<const N: usize> Placement<N> {
    /// An operand of a kernel that accesses single words.
    pub(crate) fn in_words(first: u64, strides: [u32; N], element_bits: u32) -> Self {
        let first = first.cast_signed();
        let (strides, granule) = (strides.map(i64::from), WORD);
        Self { first, strides, repeats: 0, element_bits, granule, beyond: 0 }
    }

    /// The words that hold the elements of `part`.
    pub(crate) fn view(&self, part: &TensorBox<N>) -> View {
        let bits = u64::from(self.element_bits);
        let origin = self.first + self.distance(part.origin);
        // Elements before the one at the origin, because of negative strides.
        let lasts = self.elements(part.sizes.map(|size| size - 1));
        let below = lasts.into_iter().zip(self.strides);
        let below: i64 = below.map(|(last, stride)| i64::from(last) * stride.min(0)).sum();
        let lowest = (origin + below).cast_unsigned();
        let begin = lowest * bits;
        let end = self.bytes(lowest + self.reach(part.sizes) + 1);
        let lead = begin % (8 * self.granule);
        let start = lead / bits + below.unsigned_abs();
        View {
            range: (begin - lead) / 8..end.next_multiple_of(WORD),
            start: u32::try_from(start).expect("within a window"),
        }
    }

    /// Makes boxes of `sizes` smaller until `window` bytes hold one wherever it begins. Only dimensions that
    /// are outermost in memory are cut, so that as many adjacent elements as possible stay together. `None`
    /// if not even one element fits.
    fn cut(&self, mut sizes: [u32; N], window: u64) -> Option<[u32; N]> {
        // Kernels count elements in 32 bits.
        let window = window.min(u64::from(self.element_bits) << 29);
        let usable = (window - window % WORD).checked_sub(self.lead())?;
        let most = (8 * usable / u64::from(self.element_bits)).checked_sub(1)?;
        let mut order: [usize; N] = std::array::from_fn(|dimension| dimension);
        order.sort_by_key(|dimension| std::cmp::Reverse(self.strides[*dimension].unsigned_abs()));
        for dimension in order {
            let all = self.reach(sizes);
            if all <= most {
                break;
            }
            let stride = self.strides[dimension].unsigned_abs();
            let mut alone = [0; N];
            alone[dimension] = sizes[dimension] - 1;
            let others = all - self.distance(alone).unsigned_abs();
            let neighbours = most.checked_sub(others).map_or(0, |room| room / stride);
            let repeats = if dimension == N - 1 { self.repeats } else { 0 };
            let fitting = u32::try_from((neighbours + 1) << repeats).expect("less than the size");
            sizes[dimension] = self.in_whole_granules(dimension, fitting);
        }
        (self.reach(sizes) <= most).then_some(sizes)
    }

    /// At most `size`, and if possible such that adjacent boxes in this dimension share no granule: then
    /// neither has to wait for the other.
    fn in_whole_granules(&self, dimension: usize, size: u32) -> u32 {
        let granule = u32::try_from(8 * self.granule).unwrap_or(u32::MAX);
        let elements = (granule / self.element_bits).max(1);
        let common = self.strides[dimension].trailing_zeros().min(elements.trailing_zeros());
        let multiple = elements >> common;
        if size < multiple { size } else { size - size % multiple }
    }

    /// The offset in elements of the element at `coordinate`.
    fn distance(&self, coordinate: [u32; N]) -> i64 {
        let terms = self.elements(coordinate).into_iter().zip(self.strides);
        terms.map(|(at, stride)| i64::from(at) * stride).sum()
    }

    /// The distance in elements from the lowest to the highest one that a box may access.
    fn reach(&self, sizes: [u32; N]) -> u64 {
        let lasts = self.elements(sizes.map(|size| size - 1));
        let terms = lasts.into_iter().zip(self.strides);
        let distances = terms.map(|(last, stride)| u64::from(last) * stride.unsigned_abs());
        distances.sum::<u64>() + self.beyond
    }

    /// The number of operand elements that the coordinate covers in each dimension.
    fn elements(&self, mut coordinate: [u32; N]) -> [u32; N] {
        if let Some(last) = coordinate.last_mut() {
            *last >>= self.repeats;
        }
        coordinate
    }

    /// The bytes of a window that holds a box of `sizes` wherever it begins.
    pub(crate) fn window(&self, sizes: [u32; N]) -> u64 {
        self.bytes(self.reach(sizes) + 1).next_multiple_of(WORD) + self.lead()
    }

    /// Bytes from the start of a granule to the last element that can begin in it.
    fn lead(&self) -> u64 {
        (8 * self.granule).saturating_sub(self.element_bits.into()).div_ceil(8)
    }

    /// The bytes of so many elements.
    fn bytes(&self, count: u64) -> u64 {
        (count * u64::from(self.element_bits)).div_ceil(8)
    }
}

/// Divides a tensor of `sizes`, none of them 0, into boxes: as few as possible when the outermost dimension
/// in memory is divided. `None` if `window` bytes cannot hold one element of an operand.
pub(crate) fn divide<const N: usize>(
    sizes: [u32; N],
    operands: &[Placement<N>],
    window: u64,
) -> Option<Boxes<N>> {
    let whole = TensorBox { origin: [0; N], sizes };
    let fits = |operand: &Placement<N>| {
        let Range { start, end } = operand.view(&whole).range;
        end - start <= window
    };
    let mut most = sizes;
    for operand in operands.iter().filter(|operand| !fits(operand)) {
        most = operand.cut(most, window)?;
    }
    Some(Boxes { sizes, most, next: Some([0; N]) })
}

/// The boxes of a tensor, in row-major order.
#[derive(Clone, Debug)]
pub(crate) struct Boxes<const N: usize> {
    sizes: [u32; N],
    /// Sizes of all boxes except the last ones of a dimension.
    most: [u32; N],
    /// Origin of the next box.
    next: Option<[u32; N]>,
}

impl<const N: usize> Boxes<N> {
    /// The number of boxes, at most the number of elements.
    pub(crate) fn total(&self) -> u64 {
        self.sizes
            .iter()
            .zip(self.most)
            .map(|(size, most)| u64::from(size.div_ceil(most)))
            .product()
    }

    /// Sizes of all boxes except the last ones of a dimension.
    pub(crate) fn most(&self) -> [u32; N] {
        self.most
    }

    /// These boxes, but none larger than `sizes`.
    #[must_use]
    pub(crate) fn of_at_most(mut self, sizes: [u32; N]) -> Self {
        for (most, size) in self.most.iter_mut().zip(sizes) {
            *most = size.min(*most);
        }
        self
    }

    fn after(&self, mut origin: [u32; N]) -> Option<[u32; N]> {
        for dimension in (0..N).rev() {
            let left = self.sizes[dimension] - origin[dimension];
            if left > self.most[dimension] {
                origin[dimension] += self.most[dimension];
                return Some(origin);
            }
            origin[dimension] = 0;
        }
        None
    }
}

impl<const N: usize> Iterator for Boxes<N> {
    type Item = TensorBox<N>;

    fn next(&mut self) -> Option<TensorBox<N>> {
        let origin = self.next?;
        self.next = self.after(origin);
        let size = |at: usize| self.most[at].min(self.sizes[at] - origin[at]);
        Some(TensorBox { origin, sizes: std::array::from_fn(size) })
    }
}

#[cfg(test)]
mod tests;
