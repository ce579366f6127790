//! Compares an output buffer with what it must hold, byte for byte.

use std::fmt;

use dml_core::TensorLayout;

/// Every byte of an output buffer before execution: neither a zero nor part of a likely value.
pub const SENTINEL: u8 = 0xa5;

/// Bytes before and after a binding that must keep the sentinel. A multiple of every alignment, so
/// that a binding's own offset decides its alignment.
pub const GUARD: u64 = 256;

/// An output's buffer and what it must hold.
#[derive(Clone, Copy, Debug)]
pub struct Compared<'a> {
    /// Where its elements are.
    pub layout: &'a TensorLayout,
    /// What they must be: bit patterns in row-major logical order.
    pub elements: &'a [u64],
    /// Where the tensor starts in the buffer.
    pub offset: u64,
    /// Every byte of the buffer before execution.
    pub before: &'a [u8],
    /// Every byte of the buffer after it.
    pub after: &'a [u8],
}

/// What is wrong with an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The first difference, in words.
    pub problem: String,
    /// Which element it is, in row-major logical order; `None` where no element is wrong.
    pub element: Option<usize>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl From<String> for Difference {
    fn from(problem: String) -> Self {
        Self { problem, element: None }
    }
}

/// Finds the first difference between an output's buffer `after` execution and what it must hold:
/// the elements where the layout puts them, and everywhere else what was there before. Only the
/// bytes from the last element to the next multiple of 4 may be zeros as well.
///
/// # Errors
/// The first difference.
pub fn compare(output: &Compared<'_>) -> Result<(), Difference> {
    let Compared { layout, elements, offset, before, after } = *output;
    let width = layout.data_type().bits() as usize / 8;
    let size = width as u64;
    if elements.len() as u64 != layout.element_count() {
        let (found, wanted) = (elements.len(), layout.element_count());
        return Err(format!("the reference has {found} elements, the tensor {wanted}").into());
    }
    let mut expected = before.to_vec();
    for (index, (at, element)) in layout.element_offsets().zip(elements).enumerate() {
        let bytes = &element.to_le_bytes()[..width];
        let start = to_index(offset + at * size)?;
        let found = after
            .get(start..start + bytes.len())
            .ok_or_else(|| format!("the buffer ends before element {index}"))?;
        if found != bytes {
            let was = &before[start..start + bytes.len()];
            let problem = difference(layout, index, bytes, found, found == was);
            return Err(Difference { problem, element: Some(index) });
        }
        expected[start..start + bytes.len()].copy_from_slice(bytes);
    }
    if after.len() != before.len() {
        return Err(format!("{} bytes have become {}", before.len(), after.len()).into());
    }
    let end = to_index(offset + layout.span() * size)?;
    let rounded = to_index(offset + layout.minimum_size())?;
    let tail_is_zero = after[end..rounded].iter().all(|byte| *byte == 0);
    if tail_is_zero {
        expected[end..rounded].fill(0);
    }
    match after.iter().zip(&expected).position(|(found, wanted)| found != wanted) {
        None => Ok(()),
        Some(at) => Err(Difference::from(format!(
            "byte {} relative to the tensor, which no element covers, was overwritten with {:#04x}",
            at as i128 - i128::from(offset),
            after[at]
        ))),
    }
}

fn to_index(offset: u64) -> Result<usize, String> {
    usize::try_from(offset).map_err(|_| format!("offset {offset} does not fit this machine"))
}

fn difference(
    layout: &TensorLayout,
    index: usize,
    expected: &[u8],
    found: &[u8],
    is_unchanged: bool,
) -> String {
    let coordinate = coordinate(layout.sizes(), index);
    let hex =
        |bytes: &[u8]| -> String { bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect() };
    let note = if is_unchanged { " (not written)" } else { "" };
    let (expected, found) = (hex(expected), hex(found));
    format!("element {coordinate:?}: expected 0x{expected}, found 0x{found}{note}")
}

/// The coordinate of the element with this number, in row-major order, in a tensor of these sizes.
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
    fn sample() -> (TensorLayout, Vec<u64>, Vec<u8>) {
        let desc = TensorDesc::packed(DataType::Uint8, &[2, 3]).with_strides(&[4, 1]);
        let mut buffer = vec![SENTINEL; 24];
        for at in [8, 9, 10, 12, 13, 14] {
            buffer[at] = 1;
        }
        (TensorLayout::new(&desc).unwrap(), vec![1; 6], buffer)
    }

    fn check_with(change: impl Fn(&mut Vec<u8>)) -> Result<(), String> {
        let (layout, elements, mut buffer) = sample();
        change(&mut buffer);
        let before = [SENTINEL; 24];
        let (layout, elements) = (&layout, elements.as_slice());
        compare(&Compared { layout, elements, offset: 8, before: &before, after: &buffer })
            .map_err(|difference| difference.problem)
    }

    #[test]
    fn equal_bytes_pass_with_or_without_a_zeroed_tail() {
        assert_eq!(check_with(|_| ()), Ok(()));
        assert_eq!(check_with(|buffer| buffer[15] = 0), Ok(()));
    }

    #[test]
    fn every_kind_of_difference_is_told_apart() {
        let error = |change: fn(&mut Vec<u8>)| check_with(change).unwrap_err();
        assert_eq!(error(|buffer| buffer[13] = 0), "element [1, 1]: expected 0x01, found 0x00");
        assert_eq!(
            error(|buffer| buffer[13] = SENTINEL),
            "element [1, 1]: expected 0x01, found 0xa5 (not written)"
        );
        assert!(error(|buffer| buffer[11] = 0).starts_with("byte 3 relative to the tensor"));
        assert!(error(|buffer| buffer[7] = 0).starts_with("byte -1 relative to the tensor"));
        assert!(error(|buffer| buffer[16] = 0).starts_with("byte 8 relative to the tensor"));
        assert!(error(|buffer| buffer[15] = 7).starts_with("byte 7 relative to the tensor"));
        assert!(error(|buffer| buffer.truncate(14)).contains("ends before element 5"));
    }
}
