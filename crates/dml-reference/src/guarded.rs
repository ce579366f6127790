//! Tensors between guard bytes, and byte-for-byte checks of buffers after an execution.

use std::fmt;
use std::hash::Hasher;

use dml_core::schema::Comparison;
use dml_core::{DataType, TensorLayout};

use super::compare::{accepts, canonical, moved, ulp};
use super::elements::{element, elements_in, mask, set_element};
use super::text::text_and_bits;

/// Every byte of an output buffer before execution: not zero, and not part of a likely value.
pub const SENTINEL: u8 = 0xa5;

/// The number of bytes before and after a binding that must keep the sentinel. It is a multiple of every
/// alignment, so that a binding's own offset determines its alignment.
pub const GUARD: u64 = 256;

/// A buffer that contains a tensor between guards.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Every byte of the buffer before execution.
    pub before: Vec<u8>,
    /// The byte offset at which the tensor starts, after a guard.
    pub offset: u64,
    /// The tensor's size in bytes.
    pub size: u64,
}

/// An output: its buffer and its expected content.
#[derive(Clone, Debug)]
pub struct Output {
    /// The buffer.
    pub tensor: Tensor,
    /// The layout of the elements.
    pub layout: TensorLayout,
    /// The expected elements: bit patterns in row-major logical order.
    pub elements: Vec<u64>,
    /// The expected elements if subnormal inputs are flushed to zero, if that differs.
    pub flushed: Option<Vec<u64>>,
    /// The absolute error allowed for each element before `comparison` applies: with
    /// [`Numerics::Fast`](dml_core::Numerics::Fast).
    pub errors: Option<Vec<f64>>,
    /// The comparison of elements with the expected ones.
    pub comparison: Comparison,
}

/// A difference between a buffer and its expected content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// A description of the first difference.
    pub problem: String,
    /// The output's index, and the element's index in row-major logical order; `None` if no element is wrong.
    pub place: Option<(usize, usize)>,
}

impl Difference {
    /// This difference, in the operator's output with this index.
    pub(super) fn in_output(self, index: usize) -> Self {
        Self {
            problem: format!("output {index}: {}", self.problem),
            place: self.place.map(|(_, element)| (index, element)),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl From<String> for Difference {
    fn from(problem: String) -> Self {
        Self { problem, place: None }
    }
}

impl Tensor {
    /// A tensor with these bytes, which starts `offset` bytes after the guard.
    pub fn guarded(offset: u64, bytes: &[u8]) -> Self {
        let offset = GUARD + offset;
        let before = [&sentinels(offset), bytes, &sentinels(GUARD)].concat();
        Self { before, offset, size: bytes.len() as u64 }
    }

    /// A tensor of `size` bytes of the sentinel, which starts `offset` bytes after the guard.
    pub fn unwritten(offset: u64, size: u64) -> Self {
        Self::guarded(offset, &sentinels(size))
    }

    /// The bytes of the tensor before execution.
    pub fn bytes(&self) -> &[u8] {
        let index = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        &self.before[index(self.offset)..index(self.offset + self.size)]
    }
}

fn sentinels(count: u64) -> Vec<u8> {
    vec![SENTINEL; usize::try_from(count).unwrap_or(usize::MAX)]
}

impl Output {
    /// An output whose elements must equal these bit by bit.
    pub fn exact(tensor: Tensor, layout: TensorLayout, elements: Vec<u64>) -> Self {
        let (flushed, errors, comparison) = (None, None, Comparison::BitExact);
        Self { tensor, layout, elements, flushed, errors, comparison }
    }

    /// The tensor's bytes if it had these elements and no other byte had been written.
    pub fn holding(&self, elements: &[u64]) -> Vec<u8> {
        let mut bytes = self.tensor.bytes().to_vec();
        for (place, element) in self.layout.element_offsets().zip(elements) {
            set_element(self.layout.data_type(), &mut bytes, place, *element);
        }
        bytes
    }

    /// Whether the element with this index may have these bits.
    pub fn accepts(&self, index: usize, found: u64) -> bool {
        let data_type = self.layout.data_type();
        let mut nearest = self.nearest(index, found);
        nearest.any(|expected| accepts(self.comparison, data_type, expected, found))
    }

    /// The elements that [`Self::allowed`] gives, each moved towards `found` as far as the errors allow.
    pub(super) fn nearest(&self, index: usize, found: u64) -> impl Iterator<Item = u64> {
        let data_type = self.layout.data_type();
        let error = self.errors.as_ref().and_then(|error| error.get(index).copied());
        self.allowed(index).map(move |expected| match error {
            Some(error) if error > 0.0 && error.is_finite() => {
                moved(data_type, expected, found, error)
            }
            _ => expected,
        })
    }

    /// The expected bits of an element, followed by alternatives. Bits beyond the width of the type are
    /// ignored.
    pub(super) fn allowed(&self, index: usize) -> impl Iterator<Item = u64> {
        let lists = [Some(&self.elements), self.flushed.as_ref()];
        let mask = mask(self.layout.data_type());
        let bits = move |list: &Vec<u64>| Some(list.get(index)? & mask);
        lists.into_iter().flatten().filter_map(bits)
    }

    /// Adds the elements of the buffer `after` execution to `digest`, in a form that is equal on all devices:
    /// without elements that depend on whether subnormal inputs are flushed, with zeros for subnormal FLOAT32
    /// results, and with one bit pattern for all NaNs.
    pub(super) fn digest(&self, after: &[u8], digest: &mut impl Hasher) {
        let data_type = self.layout.data_type();
        let start = usize::try_from(self.tensor.offset).unwrap_or(usize::MAX);
        let found = elements_in(&self.layout, after.get(start..).unwrap_or_default());
        for (index, found) in found.into_iter().enumerate() {
            let mut allowed = self.allowed(index).map(|bits| canonical(data_type, bits));
            let expected = allowed.next();
            if allowed.all(|other| Some(other) == expected) {
                digest.write_u64(canonical(data_type, found));
            }
        }
    }

    /// Finds the first difference between the buffer `after` execution and its expected content: elements at
    /// the positions of the layout, compared by `comparison`, and all other bytes unchanged. Only the bytes
    /// from the last element to the next multiple of 4 may be zeros instead.
    ///
    /// # Errors
    /// The first difference.
    pub fn check(&self, after: &[u8]) -> Result<(), Difference> {
        let Self { tensor: Tensor { before, offset, .. }, layout, elements, .. } = self;
        if elements.len() as u64 != layout.element_count() {
            let (found, wanted) = (elements.len(), layout.element_count());
            return Err(format!("the reference has {found} elements, the tensor {wanted}").into());
        }
        let start = to_index(*offset)?;
        let mut expected = before.clone();
        for (index, place) in layout.element_offsets().enumerate() {
            let found = self
                .element(after, place)
                .ok_or_else(|| format!("the buffer ends before element {index}"))?;
            if !self.accepts(index, found) {
                let is_unchanged = self.element(before, place) == Some(found);
                let problem = self.difference(index, found, is_unchanged);
                return Err(Difference { problem, place: Some((0, index)) });
            }
            set_element(layout.data_type(), &mut expected[start..], place, found);
        }
        if after.len() != before.len() {
            return Err(format!("{} bytes have become {}", before.len(), after.len()).into());
        }
        self.allow_zeros_after_the_last(&after[start..], &mut expected[start..]);
        match after.iter().zip(&expected).position(|(found, wanted)| found != wanted) {
            None => Ok(()),
            Some(at) => Err(Difference::from(format!(
                "byte {} relative to the tensor, which no element covers, was overwritten with {:#04x}",
                at as i128 - i128::from(*offset),
                after[at]
            ))),
        }
    }

    /// The bits of the element `place` elements into the tensor, in this buffer; `None` if the buffer ends
    /// before it.
    pub fn element(&self, buffer: &[u8], place: u64) -> Option<u64> {
        let start = usize::try_from(self.tensor.offset).ok()?;
        element(self.layout.data_type(), buffer.get(start..)?, place)
    }

    /// Expects zeros from the last element to the next multiple of 4 bytes, if `after` has only zeros there.
    /// Both buffers begin with the tensor.
    fn allow_zeros_after_the_last(&self, after: &[u8], expected: &mut [u8]) {
        // In half bytes, since the last element may end in the middle of a byte.
        let half = DataType::Uint4;
        let width = u64::from(self.layout.data_type().bits() / half.bits());
        let rest = self.layout.span() * width..self.layout.minimum_size() * 2;
        if rest.clone().all(|at| element(half, after, at) == Some(0)) {
            rest.for_each(|at| set_element(half, expected, at, 0));
        }
    }

    /// Describes a wrong element: the expected and found bits, and if a distance is allowed, both distances.
    fn difference(&self, index: usize, found: u64, is_unchanged: bool) -> String {
        let data_type = self.layout.data_type();
        let coordinate = coordinate(self.layout.sizes(), index);
        let shown = |bits: u64| text_and_bits(data_type, bits);
        let note = if is_unchanged { " (not written)" } else { "" };
        let mut allowed = self.allowed(index);
        let expected = allowed.next().unwrap_or_default();
        let other = allowed.find(|other| *other != expected);
        let or = other.map_or_else(String::new, |it| format!(" or {}", shown(it)));
        let distance = match self.comparison {
            Comparison::Ulp(bound) => {
                let off = ulp(data_type, expected, found);
                let off = off.map_or("no number of".to_owned(), |off| off.to_string());
                format!("; {off} ULP apart, {bound} allowed")
            }
            _ => String::new(),
        };
        let (expected, found) = (shown(expected), shown(found));
        format!("element {coordinate:?}: expected {expected}{or}, found {found}{note}{distance}")
    }
}

fn to_index(offset: u64) -> Result<usize, String> {
    usize::try_from(offset).map_err(|_| format!("offset {offset} does not fit this machine"))
}

/// The coordinate of the element with this row-major index, in a tensor of these sizes.
pub fn coordinate(sizes: &[u32], mut index: usize) -> Vec<usize> {
    let mut coordinate: Vec<usize> = sizes
        .iter()
        .rev()
        .map(|size| {
            let size = *size as usize;
            let at = index % size;
            index /= size;
            at
        })
        .collect();
    coordinate.reverse();
    coordinate
}

#[cfg(test)]
mod tests {
    use super::*;
    use dml_core::{DataType, TensorDesc};

    /// A padded [2, 3] UINT8 tensor of ones, 8 bytes into a buffer of sentinels.
    fn sample() -> (Output, Vec<u8>) {
        let desc = TensorDesc::packed(DataType::Uint8, &[2, 3]).with_strides(&[4, 1]);
        let mut buffer = vec![SENTINEL; 24];
        for at in [8, 9, 10, 12, 13, 14] {
            buffer[at] = 1;
        }
        let tensor = Tensor { before: vec![SENTINEL; 24], offset: 8, size: 8 };
        let layout = TensorLayout::new(&desc).unwrap();
        (Output::exact(tensor, layout, vec![1; 6]), buffer)
    }

    fn check_with(change: impl Fn(&mut Vec<u8>)) -> Result<(), String> {
        let (output, mut buffer) = sample();
        change(&mut buffer);
        output.check(&buffer).map_err(|difference| difference.problem)
    }

    #[test]
    fn equal_bytes_pass_with_or_without_a_zeroed_tail() {
        assert_eq!(check_with(|_| ()), Ok(()));
        assert_eq!(check_with(|buffer| buffer[15] = 0), Ok(()));
    }

    /// The check of three UINT4 elements, 1, 2 and 3, in the first bytes of a tensor of 8 bytes.
    fn checked_halves(first: [u8; 4]) -> Result<(), String> {
        let desc = TensorDesc::packed(DataType::Uint4, &[3]).with_total_size(8);
        let layout = TensorLayout::new(&desc).unwrap();
        let output = Output::exact(Tensor::unwritten(0, 8), layout, vec![1, 2, 0xf3]);
        let mut after = output.tensor.before.clone();
        after[256..260].copy_from_slice(&first);
        output.check(&after).map_err(|difference| difference.problem)
    }

    #[test]
    fn elements_of_4_bits_are_compared_one_by_one() {
        assert_eq!(checked_halves([0x21, 0xa3, SENTINEL, SENTINEL]), Ok(()));
        assert_eq!(checked_halves([0x21, 0x03, 0, 0]), Ok(()), "a zeroed tail");
        let error = |first| checked_halves(first).unwrap_err();
        let wrong = error([0x31, 0xa3, SENTINEL, SENTINEL]);
        assert_eq!(wrong, "element [1]: expected 2 (0x2), found 3 (0x3)");
        let swapped = error([0x12, 0xa3, SENTINEL, SENTINEL]);
        assert_eq!(swapped, "element [0]: expected 1 (0x1), found 2 (0x2)");
        let unwritten = error([0x21, SENTINEL, SENTINEL, SENTINEL]);
        assert_eq!(unwritten, "element [2]: expected 3 (0x3), found 5 (0x5) (not written)");
        for padding in [[0x21, 0x13, 0, 0], [0x21, 0x03, 0, SENTINEL], [0x21, 0x73, 0xa5, 0xa5]] {
            let said = error(padding);
            assert!(said.starts_with("byte 1 relative to the tensor"), "{said}");
        }
        let after_it = error([0x21, 0xa3, 0, SENTINEL]);
        assert!(after_it.starts_with("byte 2 relative to the tensor"), "{after_it}");
    }

    #[test]
    fn bits_beyond_the_width_of_the_type_do_not_count() {
        let (mut output, buffer) = sample();
        output.elements.fill(0xff01);
        assert_eq!(output.check(&buffer), Ok(()));
        output.elements.fill(0xff02);
        let problem = output.check(&buffer).unwrap_err().problem;
        assert_eq!(problem, "element [0, 0]: expected 2 (0x02), found 1 (0x01)");
    }

    #[test]
    fn every_kind_of_difference_is_told_apart() {
        let error = |change: fn(&mut Vec<u8>)| check_with(change).unwrap_err();
        assert_eq!(
            error(|buffer| buffer[13] = 0),
            "element [1, 1]: expected 1 (0x01), found 0 (0x00)"
        );
        assert_eq!(
            error(|buffer| buffer[13] = SENTINEL),
            "element [1, 1]: expected 1 (0x01), found 165 (0xa5) (not written)"
        );
        assert!(error(|buffer| buffer[11] = 0).starts_with("byte 3 relative to the tensor"));
        assert!(error(|buffer| buffer[7] = 0).starts_with("byte -1 relative to the tensor"));
        assert!(error(|buffer| buffer[16] = 0).starts_with("byte 8 relative to the tensor"));
        assert!(error(|buffer| buffer[15] = 7).starts_with("byte 7 relative to the tensor"));
        assert!(error(|buffer| buffer.truncate(14)).contains("ends before element 5"));
    }

    /// The check of a FLOAT32 tensor of two elements, the last of which must be `expected`.
    fn compared(expected: u64, found: u32, flushed: Option<u64>) -> Result<(), String> {
        let layout = TensorLayout::new(&TensorDesc::packed(DataType::Float32, &[2])).unwrap();
        let output = Output {
            flushed: flushed.map(|flushed| vec![7, flushed]),
            comparison: Comparison::Ulp(0),
            ..Output::exact(Tensor::unwritten(0, 8), layout, vec![7, expected])
        };
        let mut after = output.tensor.before.clone();
        after[256..264].copy_from_slice(&(u64::from(found) << 32 | 7).to_le_bytes());
        output.check(&after).map_err(|difference| difference.problem)
    }

    #[test]
    fn what_a_bound_allows_is_taken_and_what_it_does_not_is_measured() {
        let one = 1.0_f32.to_bits();
        assert_eq!(compared(one.into(), one, None), Ok(()));
        assert_eq!(
            compared(one.into(), one + 1, None).unwrap_err(),
            "element [1]: expected 1.0 (0x3f800000), found 1.0000001 (0x3f800001); \
             1 ULP apart, 0 allowed"
        );
        assert_eq!(compared(0x7fc0_0000, 0xffff_ffff, None), Ok(()));
        let not_a_number = compared(one.into(), 0x7fc0_0000, None).unwrap_err();
        assert!(not_a_number.ends_with("; no number of ULP apart, 0 allowed"), "{not_a_number}");
        assert_eq!(compared(1, 0, None), Ok(()), "a subnormal may be a zero");
        assert!(compared(0, 1 << 31, None).is_err());
    }

    #[test]
    fn the_result_of_inputs_without_subnormals_is_taken_too() {
        assert_eq!(compared(0x80_0001, 0x80_0000, Some(0x80_0000)), Ok(()));
        assert_eq!(
            compared(0x80_0001, 0x80_0002, Some(0x80_0000)).unwrap_err(),
            "element [1]: expected 1.1754945e-38 (0x00800001) or 1.1754944e-38 (0x00800000), \
             found 1.1754946e-38 (0x00800002); 1 ULP apart, 0 allowed"
        );
    }
}
