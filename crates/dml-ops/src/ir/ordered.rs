//! Nodes whose results depend on the order of a row's elements.

use dml_spirv::reduce::Reducer;

use super::buffer::Buffer;
use super::space::Operand;

/// Joins each element of a row with all elements before it, in the same order on every device: after the first pass
/// elements have been joined with the one before, then with two, four and so on.
///
/// Elements and results are packed.
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    /// Rows, elements of a row, and the number of rows that are interleaved.
    pub(crate) sizes: [u32; 3],
    /// The function that joins two states; an element is a state without rounding errors.
    pub(crate) reducer: &'static Reducer,
    /// The elements, which may be overwritten.
    pub(crate) elements: Operand,
    /// The numbers of the states. The first of them are stored in place of the elements if passes that
    /// alternate between two buffers end there.
    pub(crate) results: Vec<Operand>,
}

impl Scan {
    /// The number of passes along a row of `length` elements.
    pub(crate) fn passes_along(length: u32) -> u32 {
        u32::BITS - (length - 1).leading_zeros()
    }

    /// The number of passes.
    pub(crate) fn passes(&self) -> u32 {
        Self::passes_along(self.sizes[1])
    }

    /// The elements, and the results.
    pub(crate) fn operands(&self) -> impl Iterator<Item = &Operand> {
        [&self.elements].into_iter().chain(&self.results)
    }

    /// This node with its buffers renamed.
    pub(crate) fn renamed(&self, name: &impl Fn(Buffer) -> Buffer) -> Self {
        let results = self.results.iter().map(|it| it.renamed(name)).collect();
        Self { elements: self.elements.renamed(name), results, ..self.clone() }
    }
}

/// Finds the least numbers of each row, in ascending order; numbers are unsigned and have 64 bits.
///
/// The numbers of elements of rows and of results are powers of two; both are packed.
#[derive(Clone, Debug)]
pub(crate) struct Sort {
    pub(crate) rows: u32,
    /// Rows have 2^length numbers.
    pub(crate) length: u32,
    /// 2^wanted numbers of each row are wanted.
    pub(crate) wanted: u32,
    /// The numbers, which may be overwritten.
    pub(crate) numbers: Operand,
    /// The results, which replace the numbers where all are wanted and passes that alternate between two
    /// buffers end there.
    pub(crate) result: Operand,
}

impl Sort {
    /// The number of passes of a bitonic network of comparisons.
    pub(crate) fn passes(&self) -> u32 {
        // Merging a block of 2^n numbers takes n passes; keeping the lesser numbers of two blocks takes one more.
        let of_blocks = self.wanted * (self.wanted + 1) / 2;
        of_blocks + (self.length - self.wanted) * (1 + self.wanted)
    }

    /// This node with its buffers renamed.
    pub(crate) fn renamed(&self, name: &impl Fn(Buffer) -> Buffer) -> Self {
        let [numbers, result] = [&self.numbers, &self.result].map(|it| it.renamed(name));
        Self { numbers, result, ..*self }
    }
}
