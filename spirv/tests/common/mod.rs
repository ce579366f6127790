//! Tensors of two batches, rows and columns, element by element.

use dml_spirv::ElementWidth;

/// Both batches, row and column of every element.
pub(crate) fn indices([size0, size1, height, width]: [u32; 4]) -> impl Iterator<Item = [u32; 4]> {
    (0..size0 * size1 * height * width).map(move |index| {
        let row = index / width;
        let batch = row / height;
        [batch / size1, batch % size1, row % height, index % width]
    })
}

/// Where an element is, in elements, if the first one is at `start`.
pub(crate) fn element(start: u32, strides: [u32; 4], index: [u32; 4]) -> usize {
    let offset = |(index, stride): (&u32, u32)| (index * stride) as usize;
    start as usize + index.iter().zip(strides).map(offset).sum::<usize>()
}

/// Bytes up to the end of the element `last`, as a multiple of 4.
pub(crate) fn bytes_to(last: usize, element_width: ElementWidth) -> usize {
    ((last + 1) * element_width.bytes() as usize).next_multiple_of(4)
}
