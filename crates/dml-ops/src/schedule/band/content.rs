//! The contents of small outputs and blocks, computed on the host.

use std::ops::Range;

use super::steps::BandedOutput;

impl BandedOutput {
    /// Bytes of the elements, from the first one to the last one.
    pub(super) fn element_bytes(&self) -> u64 {
        let last = self.batches.sizes.iter().zip(self.batches.strides);
        let last: u64 = last.map(|(size, stride)| u64::from(size - 1) * u64::from(stride)).sum();
        (last + 1) * u64::from(self.element_width.bytes())
    }

    /// Bytes of one matrix if its elements are adjacent, with no others between; the matrices of a dense
    /// tensor then follow each other.
    pub(super) fn matrix_bytes(&self) -> Option<u64> {
        let [_, _, height, width] = self.batches.sizes.map(u64::from);
        let [_, _, row_stride, column_stride] = self.batches.strides.map(u64::from);
        let span = (height - 1) * row_stride + (width - 1) * column_stride + 1;
        (span == height * width).then(|| span * u64::from(self.element_width.bytes()))
    }

    /// The elements of a dense output, with zeros up to the end of the last word.
    pub(super) fn content(&self) -> Vec<u8> {
        let [size0, size1, ..] = self.batches.sizes;
        let [stride0, stride1, ..] = self.batches.strides;
        let mut bytes = vec![0; to_index(self.bytes)];
        for (at0, at1) in (0..size0).flat_map(|at0| (0..size1).map(move |at1| (at0, at1))) {
            self.write_matrix(&mut bytes, to_index((at0 * stride0 + at1 * stride1).into()));
        }
        bytes
    }

    /// The contents of one matrix whose elements are adjacent.
    pub(super) fn matrix_content(&self, bytes: u64) -> Vec<u8> {
        let mut content = vec![0; to_index(bytes)];
        self.write_matrix(&mut content, 0);
        content
    }

    /// Writes the value in the band of the matrix that begins with this element.
    fn write_matrix(&self, bytes: &mut [u8], first: usize) {
        let [_, _, row_stride, column_stride] = self.batches.strides.map(|stride| stride as usize);
        let width = self.element_width.bytes() as usize;
        let value = &self.value.to_le_bytes()[..width];
        for (row, columns) in self.band_rows() {
            for column in columns {
                let at = (first + row * row_stride + column * column_stride) * width;
                bytes[at..at + width].copy_from_slice(value);
            }
        }
    }

    /// The columns of the band in each row, for each part of the band.
    fn band_rows(&self) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
        let [_, _, height, width] = self.batches.sizes;
        (0..height).flat_map(move |row| {
            // The diagonal of the row's first element.
            let first = height - 1 - row;
            let column = move |diagonal: u32| diagonal.saturating_sub(first).min(width) as usize;
            let parts = self.band.parts().iter();
            parts.map(move |part| (row as usize, column(part.start)..column(part.end)))
        })
    }
}

/// The size of something that was chosen because it is small.
fn to_index(bytes: u64) -> usize {
    usize::try_from(bytes).expect("what is made on the host is small")
}
