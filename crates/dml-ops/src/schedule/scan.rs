//! Scans: each element of a row is joined with all elements before it.
//!
//! On CPU drivers each pass is a Map ([`passes`]). On GPUs a work group joins a part of a row in shared
//! memory: all of a row, or the elements that are less than 2^n apart. Elements that are 2^n apart then form
//! rows of their own, which are joined likewise, so that the order of joins is the same in all cases.

mod passes;

use dml_core::plan::{Access as Touch, Cost, Slot, Window};
use dml_core::{Error, Strategy};
use dml_spirv::element_wise::{OUTPUT_BINDING, PushConstants};
use dml_spirv::reduce::Reducer;
use dml_spirv::scan::{Lanes, RESTS_BINDING, Record, Scan as Kernel};

use super::Schedule;
use crate::ir::Scan;
use crate::ir::space::Operand;
use crate::schedule::boxes::Placement;
use crate::schedule::dispatches::Alignment;

/// Whether the rows that a work group shares have enough elements for it; rows of a single column share groups.
fn fills_a_group(scan: &Scan) -> bool {
    const FEW: u64 = 256;
    let [_, length, columns] = scan.sizes;
    columns == 1 || u64::from(length) * u64::from(columns) >= FEW
}

/// A stage of a scan: the operands of the states' numbers that are read, and of those that are written.
struct Stage<'a> {
    reducer: &'static Reducer,
    /// Rows, and elements of a row.
    sizes: [u32; 2],
    lanes: Lanes,
    from: &'a [Operand<Slot>],
    to: &'a [Operand<Slot>],
}

impl Schedule<'_> {
    /// Adds the steps that join each element of a row with all elements before it.
    ///
    /// # Errors
    /// As [`super::Dispatches::push`].
    pub(super) fn scan(&mut self, scan: &Scan) -> Result<(), Error> {
        let elements = self.placed_operand(&scan.elements);
        let results: Vec<_> = scan.results.iter().map(|it| self.placed_operand(it)).collect();
        let is_forced = self.target.tuning.strategy.is_some();
        let fills_groups = is_forced || fills_a_group(scan);
        let first = Kernel { reducer: scan.reducer, begins: results.len() > 1 };
        let native_types = self.target.native_types();
        let shares_rows = fills_groups
            && self.shows_rows(scan, &results)
            && self.shares_rows(|| first.variant(native_types));
        match shares_rows {
            true => self.scan_in_groups(scan, elements, &results),
            false => self.scan_in_passes(scan, elements, &results),
        }
    }

    /// Whether a descriptor can show all of a row.
    fn shows_rows(&self, scan: &Scan, results: &[Operand<Slot>]) -> bool {
        let [_, length, columns] = scan.sizes;
        let Some(row) = length.checked_mul(columns) else { return false };
        let alignment = self.dispatches().alignment();
        let window = |it: &Operand<Slot>| placement(it, row, alignment).window([1, row]);
        alignment == Alignment::Quads
            && results.iter().all(|it| window(it) <= self.target.max_window())
    }

    fn scan_in_groups(
        &mut self,
        scan: &Scan,
        elements: Operand<Slot>,
        results: &[Operand<Slot>],
    ) -> Result<(), Error> {
        self.strategy = Strategy::RowGroups;
        let ([rows, length, columns], reducer) = (scan.sizes, scan.reducer);
        let sizes = [rows, length * columns];
        let mut columns = columns;
        let mut from = vec![elements];
        let mut others: Option<Vec<Operand<Slot>>> = None;
        let mut writes_results = false;
        loop {
            let lanes = if columns == 1 { Lanes::Rows } else { Lanes::Columns(columns) };
            let record = Record { rows, row: sizes[1], lanes, starts: [0; 4] };
            let Some(joined) = record.joined() else {
                // A last stage may be in place: each work group reads all its elements before it writes.
                return self.scan_stage(&Stage { reducer, sizes, lanes, from: &from, to: results });
            };
            let to = if writes_results {
                results.to_vec()
            } else {
                let count = u64::from(rows) * u64::from(sizes[1]);
                let place = |it: &Operand<Slot>| self.temporary(it.width, count);
                others.get_or_insert_with(|| results.iter().map(place).collect()).clone()
            };
            self.scan_stage(&Stage { reducer, sizes, lanes, from: &from, to: &to })?;
            columns *= joined;
            (from, writes_results) = (to, !writes_results);
        }
    }

    fn scan_stage(&mut self, stage: &Stage<'_>) -> Result<(), Error> {
        let Stage { reducer, sizes, lanes, from, to } = *stage;
        let mut dispatches = self.dispatches();
        let target = dispatches.target();
        let kernel = Kernel { reducer, begins: from.len() < to.len() };
        let variant = kernel.variant(target.native_types());
        // The binding of each operand, and its index among the starts of a record.
        let inputs = from.iter().zip([(0, 0), (1, 1)]);
        let outputs = to.iter().zip([(OUTPUT_BINDING, 3), (RESTS_BINDING, 2)]).rev();
        let operands: Vec<_> = inputs.chain(outputs).collect();
        let alignment = dispatches.alignment();
        let placements: Vec<_> =
            operands.iter().map(|(it, _)| placement(it, sizes[1], alignment)).collect();
        for part in dispatches.boxes(sizes, &placements)? {
            let [rows, row] = part.sizes;
            let mut record = Record { rows, row, lanes, starts: [0; 4] };
            let mut windows = vec![];
            for ((operand, (binding, start)), placement) in operands.iter().zip(&placements) {
                let (Some(slot), view) = (operand.buffer, placement.view(&part)) else { continue };
                record.starts[*start] = view.start;
                let access = if *start < 2 { Touch::Read } else { Touch::Write };
                let base_word_at = PushConstants::base_word_at(*binding);
                windows.push(Window { slot, range: view.range, access, base_word_at });
            }
            let block = record.words().iter().flat_map(|word| word.to_le_bytes()).collect();
            let block = self.constants.add_uniform(block);
            let count = u32::try_from(record.count()).expect("no more than elements");
            let push = PushConstants { count, ..Default::default() };
            let elements = u64::from(rows) * u64::from(row);
            let bytes = operands.iter().map(|(it, _)| elements * u64::from(it.width.bytes())).sum();
            let joins = u64::from(record.passes().max(1)) * to.len() as u64;
            let cost = Cost { operations: elements.saturating_mul(joins), bytes };
            dispatches.push_with_block(&variant, &windows, &push, Some(block), cost)?;
        }
        self.add_dispatches(dispatches)
    }
}

/// The placement of contiguous rows of `row` elements.
fn placement(operand: &Operand<Slot>, row: u32, alignment: Alignment) -> Placement<2> {
    let Placement { first, element_bits, granule, beyond, .. } = operand.placement(alignment);
    Placement { first, strides: [row.into(), 1], repeats: 0, element_bits, granule, beyond }
}

#[cfg(test)]
mod tests;
