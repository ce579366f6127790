//! The passes of a scan, each a Map.

use dml_core::Error;
use dml_core::plan::Slot;
use dml_spirv::element_wise::{DIMENSIONS, ElementFormula};

use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{Computation, Scan};
use crate::schedule::Schedule;

/// The dimension along which elements are joined, between that of rows and that of columns.
const AXIS: usize = DIMENSIONS - 2;

impl Schedule<'_> {
    /// Adds all passes, which alternate between two buffers for each number of a state.
    pub(super) fn scan_in_passes(
        &mut self,
        scan: &Scan,
        elements: Operand<Slot>,
        results: &[Operand<Slot>],
    ) -> Result<(), Error> {
        let [rows, length, columns] = scan.sizes;
        let mut sizes = [1; DIMENSIONS];
        sizes[AXIS - 1..].copy_from_slice(&[rows, length, columns]);
        let passes = scan.passes();
        let mut others = self.other_places(scan, &elements, results);
        let packed = |it: &Operand<Slot>| it.clone().packed(&sizes);
        let results: Vec<_> = results.iter().map(packed).collect();
        others.iter_mut().for_each(|other| *other = packed(other));
        let mut state = vec![packed(&elements)];
        if results.len() > 1 {
            state.push(self.nothing_lost());
        }
        for pass in 0..passes {
            let ends_there = (passes - pass) % 2 == 1;
            let next = if ends_there { &results } else { &others };
            self.join(&Pass { scan, sizes, distance: 1 << pass, state: &state, next })?;
            state.clone_from(next);
        }
        Ok(())
    }

    /// Buffers for the numbers of states while they are not in the results.
    fn other_places(
        &mut self,
        scan: &Scan,
        elements: &Operand<Slot>,
        results: &[Operand<Slot>],
    ) -> Vec<Operand<Slot>> {
        let count = scan.sizes.iter().map(|size| u64::from(*size)).product();
        if scan.passes() < 2 {
            return results.to_vec();
        }
        let is_there =
            |it: &Operand<Slot>| it.buffer == elements.buffer && it.base == elements.base;
        let place = |(at, it): (usize, &Operand<Slot>)| match at {
            0 if !is_there(it) => elements.clone(),
            _ => self.temporary(it.width, count),
        };
        results.iter().enumerate().map(place).collect()
    }

    /// A zero: the rounding error of an element.
    fn nothing_lost(&mut self) -> Operand<Slot> {
        let start = self.constants.add_aligned(&[0; 4], 4).start;
        Operand::at(Slot::Constants, dml_spirv::ElementWidth::B32, (start / 4).cast_signed())
    }

    /// Joins each element with the one at a distance before it.
    fn join(&mut self, pass: &Pass<'_>) -> Result<(), Error> {
        let Pass { scan, sizes, distance, state, next } = *pass;
        let along = |length: u32| {
            let mut sizes = sizes;
            sizes[AXIS] = length;
            sizes
        };
        let after = |it: &Operand<Slot>| {
            let base = it.base + i64::from(distance) * it.strides[AXIS];
            Operand { base, ..it.clone() }
        };
        let inputs: Vec<_> = state.iter().cloned().chain(state.iter().map(after)).collect();
        for ((number, output), function) in state.iter().zip(next).zip(scan.reducer.joins()) {
            let kept = IterationSpace {
                sizes: along(distance),
                inputs: vec![number.clone()],
                output: output.clone(),
            };
            self.map(kept, &Computation::copy())?;
            let joined = IterationSpace {
                sizes: along(sizes[AXIS] - distance),
                inputs: inputs.clone(),
                output: after(output),
            };
            self.map(joined, &Computation::of(ElementFormula::of(function)))?;
        }
        Ok(())
    }
}

struct Pass<'a> {
    scan: &'a Scan,
    sizes: [u32; DIMENSIONS],
    distance: u32,
    /// The numbers of the states before the pass, and the places of the new ones.
    state: &'a [Operand<Slot>],
    next: &'a [Operand<Slot>],
}
