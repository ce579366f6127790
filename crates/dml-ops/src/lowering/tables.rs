//! Tables: values that depend only on coordinates, computed while an operator is lowered.
//!
//! A kernel reads an element of a table instead of computing divisions, products and conversions. The host
//! computes it by the twins of the kernel's functions, so that the bits are equal.

use dml_spirv::element_wise::{DIMENSIONS, Value};

use super::map_builder::MapBuilder;
use crate::ir::space::Operand;
use crate::ir::{Computation, Recorder};

/// The most elements of a table, 16 KiB; larger sets of values are computed for each element.
pub(crate) const MOST_ELEMENTS: u64 = 1 << 12;

impl MapBuilder {
    /// The values that `compute` adds, which depend only on the coordinates in the dimensions that are more
    /// than 1 in `sizes`: read from tables where these are small, else computed. Inputs of `compute` have to
    /// be operands of numbers.
    pub(crate) fn tabulated<const N: usize>(
        &mut self,
        recorder: &mut Recorder<'_>,
        sizes: [u32; DIMENSIONS],
        compute: impl Fn(&mut Self) -> [Value; N],
    ) -> [Value; N] {
        if !fits_table(&sizes) {
            return compute(self);
        }
        let mut map = Self::default();
        let values = compute(&mut map);
        let Computation { program, parameters, .. } = &map.computation;
        let mut tables = values.map(|_| vec![]);
        for coordinate in coordinates(sizes) {
            let numbers = map.numbers(coordinate);
            let evaluated = program.evaluated(&numbers, parameters);
            for (table, value) in tables.iter_mut().zip(values) {
                table.push(word(evaluated.get(value)));
            }
        }
        tables.map(|words| self.input(recorder.table(words, &sizes)))
    }

    /// The inputs of the computation at a coordinate.
    fn numbers(&self, coordinate: [u32; DIMENSIONS]) -> Vec<u64> {
        let number = |it: &Operand| {
            debug_assert!(it.buffer.is_none(), "a table depends on coordinates alone");
            word(it.element(coordinate).cast_unsigned()).into()
        };
        self.inputs.iter().map(number).collect()
    }
}

/// Whether a table of `sizes` is small enough to be read in place of computing its values.
pub(crate) fn fits_table(sizes: &[u32; DIMENSIONS]) -> bool {
    sizes.iter().map(|size| u64::from(*size)).fold(1, u64::saturating_mul) <= MOST_ELEMENTS
}

/// All coordinates of a space of `sizes`, in row-major order.
fn coordinates(sizes: [u32; DIMENSIONS]) -> impl Iterator<Item = [u32; DIMENSIONS]> {
    let count: u32 = sizes.iter().product();
    (0..count).map(move |number| {
        let (mut rest, mut coordinate) = (number, [0; DIMENSIONS]);
        for (at, size) in coordinate.iter_mut().zip(sizes).rev() {
            (*at, rest) = (rest % size, rest / size);
        }
        coordinate
    })
}

/// The low 32 bits; for a negative number this is the number modulo 2^32.
#[expect(clippy::cast_possible_truncation, reason = "numbers are those modulo 2^32")]
pub(crate) fn word(bits: u64) -> u32 {
    bits as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_in_row_major_order() {
        let mut sizes = [1; DIMENSIONS];
        (sizes[2], sizes[7]) = (2, 3);
        let all: Vec<_> = coordinates(sizes).map(|it| (it[2], it[7])).collect();
        assert_eq!(all, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
    }
}
