//! Nodes whose results depend on the order of a row's elements.

use dml_spirv::reduce::Reducer;

use super::buffer::Buffer;
use super::space::Operand;

/// Each element of a row joined with all before it, in one order on every device: after the first pass all have been
/// joined with the one before, then with two, four and so on.
///
/// Elements and results are packed.
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    /// Rows, elements of a row, and how many rows lie between these.
    pub(crate) sizes: [u32; 3],
    /// How two states are joined; an element is one of which nothing was lost.
    pub(crate) reducer: &'static Reducer,
    /// The elements. They may be overwritten.
    pub(crate) elements: Operand,
    /// The numbers of the states. The first ones are where the elements were if that is where passes that alternate
    /// between two places end.
    pub(crate) results: Vec<Operand>,
}

impl Scan {
    /// How many passes there are along so many elements.
    pub(crate) fn passes_along(length: u32) -> u32 {
        u32::BITS - (length - 1).leading_zeros()
    }

    /// How many passes there are.
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

/// The least numbers of each row, in ascending order: numbers of 64 bits without a sign.
///
/// Rows have powers of two of numbers, which are packed, and so are the results.
#[derive(Clone, Debug)]
pub(crate) struct Sort {
    pub(crate) rows: u32,
    /// Rows have 2^length numbers.
    pub(crate) length: u32,
    /// 2^wanted numbers are wanted of each.
    pub(crate) wanted: u32,
    /// The numbers. They may be overwritten.
    pub(crate) numbers: Operand,
    /// The place of the results: that of the numbers where all are wanted and passes that alternate between two places
    /// end there.
    pub(crate) result: Operand,
}

impl Sort {
    /// How many passes a bitonic network of comparisons has.
    pub(crate) fn passes(&self) -> u32 {
        // Blocks of 2^n numbers are sorted in n passes; keeping the lesser ones of two blocks is one more.
        let of_blocks = self.wanted * (self.wanted + 1) / 2;
        of_blocks + (self.length - self.wanted) * (1 + self.wanted)
    }

    /// This node with its buffers renamed.
    pub(crate) fn renamed(&self, name: &impl Fn(Buffer) -> Buffer) -> Self {
        let [numbers, result] = [&self.numbers, &self.result].map(|it| it.renamed(name));
        Self { numbers, result, ..*self }
    }
}
