//! Sorts: the least numbers of each row, in ascending order.
//!
//! A bitonic network sorts: two blocks that are sorted in opposite directions are merged to one of twice the
//! length, in passes that each compare numbers half as far apart as the pass before. If only the least
//! numbers are wanted, blocks of that many numbers are sorted; then of two blocks the lesser half of all
//! numbers is kept, which halves the number of blocks until one is left.
//!
//! On CPU drivers each pass is a Map ([`network`]). On GPUs a work group does all passes among the numbers
//! that it shares, and keeps the wanted ones. All numbers are different, except for the greatest ones that
//! pad a row, so the order is unique.

mod network;

use dml_core::plan::{Access as Touch, Cost, Slot, Window};
use dml_core::{Error, Strategy};
use dml_spirv::element_wise::PushConstants;
use dml_spirv::sort::{self, NUMBER_BITS, Record};

use super::Schedule;
use crate::ir::Sort;
use crate::ir::space::Operand;
use crate::schedule::boxes::{Placement, TensorBox};
use crate::schedule::dispatches::Alignment;
use network::Network;

impl Schedule<'_> {
    /// Adds the steps that sort.
    ///
    /// # Errors
    /// As [`super::Dispatches::push`].
    pub(super) fn sort(&mut self, sort: &Sort) -> Result<(), Error> {
        let [numbers, result] = [&sort.numbers, &sort.result].map(|it| self.placed_operand(it));
        let count = u64::from(sort.rows) << sort.length;
        if !self.shares_rows(sort::sort) || !self.shows_numbers(&numbers, count) {
            return Network::new(self, sort, [&numbers, &result]).sort(sort.wanted, &result);
        }
        self.strategy = Strategy::RowGroups;
        match sort.wanted < NUMBER_BITS || sort.length <= NUMBER_BITS {
            true => self.keep_least(sort, numbers, &result),
            false => self.sort_long_blocks(sort, [&numbers, &result]),
        }
    }

    /// Whether one descriptor shows all numbers.
    fn shows_numbers(&self, numbers: &Operand<Slot>, count: u64) -> bool {
        let alignment = self.dispatches().alignment();
        let Ok(count) = u32::try_from(count) else { return false };
        let window = placement(numbers, alignment).window([count]);
        alignment == Alignment::Quads && window <= self.target.max_window()
    }

    /// Dispatches work groups that keep the least of their numbers, until each row has only the wanted ones.
    fn keep_least(
        &mut self,
        sort: &Sort,
        numbers: Operand<Slot>,
        result: &Operand<Slot>,
    ) -> Result<(), Error> {
        let Sort { rows, wanted, mut length, .. } = *sort;
        let mut from = numbers;
        // The temporary for the numbers that are left after a dispatch that is not the last one.
        let mut other: Option<Operand<Slot>> = None;
        loop {
            let halvings = length.min(NUMBER_BITS) - wanted;
            let numbers = rows << length;
            let record = Record { numbers, length, blocks: [1, wanted], halvings, starts: [0; 2] };
            length -= halvings;
            if length == wanted {
                return self.sort_in_groups(record, &from, result);
            }
            let place = || self.temporary(from.width, u64::from(rows) << length);
            let to = other.take().unwrap_or_else(place);
            self.sort_in_groups(record, &from, &to)?;
            other = Some(std::mem::replace(&mut from, to));
        }
    }

    /// Sorts blocks with more numbers than a work group shares: Maps compare numbers that are further apart.
    fn sort_long_blocks(
        &mut self,
        sort: &Sort,
        [numbers, result]: [&Operand<Slot>; 2],
    ) -> Result<(), Error> {
        let mut network = Network::new(self, sort, [numbers, result]);
        let blocks = [1, NUMBER_BITS];
        network.sort_in_groups(blocks, None)?;
        for block in NUMBER_BITS + 1..=sort.wanted {
            network.merge_in_groups(block, (block == sort.length).then_some(result))?;
        }
        while network.length > sort.wanted {
            network.halve(sort.wanted, None)?;
            let is_last = network.length == sort.wanted;
            network.merge_in_groups(sort.wanted, is_last.then_some(result))?;
        }
        Ok(())
    }

    /// Adds a dispatch of the sort kernel.
    fn sort_in_groups(
        &mut self,
        record: Record,
        from: &Operand<Slot>,
        to: &Operand<Slot>,
    ) -> Result<(), Error> {
        let mut dispatches = self.dispatches();
        let alignment = dispatches.alignment();
        let left = record.numbers >> record.halvings;
        let operands = [
            (from, record.numbers, Touch::Read, PushConstants::base_word_at(0)),
            (to, left, Touch::Write, PushConstants::BASE_WORD_OF_OUTPUT_AT),
        ];
        let mut windows = vec![];
        let mut starts = [0; 2];
        for ((operand, count, access, base_word_at), start) in operands.into_iter().zip(&mut starts)
        {
            let Some(slot) = operand.buffer else { continue };
            let all = TensorBox { origin: [0], sizes: [count] };
            let view = placement(operand, alignment).view(&all);
            *start = view.start;
            windows.push(Window { slot, range: view.range, access, base_word_at });
        }
        let record = Record { starts, ..record };
        let block = record.words().iter().flat_map(|word| word.to_le_bytes()).collect();
        let block = self.constants.add_uniform(block);
        let push = PushConstants { count: record.count(), ..Default::default() };
        let [read, written] = [record.numbers, left].map(u64::from);
        let cost = Cost {
            operations: read.saturating_mul(record.comparisons().max(1).into()),
            bytes: (read + written) * u64::from(from.width.bytes()),
        };
        dispatches.push_with_block(&sort::sort(), &windows, &push, Some(block), cost)?;
        self.add_dispatches(dispatches)
    }
}

/// The placement of contiguous numbers.
fn placement(operand: &Operand<Slot>, alignment: Alignment) -> Placement<1> {
    let Placement { first, element_bits, granule, beyond, .. } = operand.placement(alignment);
    Placement { first, strides: [1], repeats: 0, element_bits, granule, beyond }
}

#[cfg(test)]
mod tests;
