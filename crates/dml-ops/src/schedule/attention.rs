//! Attention as one kernel, where a descriptor shows all of each operand; else its members by themselves.

use std::ops::Range;

use dml_core::kernel::can_run;
use dml_core::plan::{Access as Touch, Cost, Slot, Window};
use dml_core::{Error, Strategy};
use dml_spirv::attention::{self, KEYS, QUERIES};
use dml_spirv::element_wise::{DIMENSIONS, PushConstants};

use super::Schedule;
use crate::Target;
use crate::ir::Attention;
use crate::ir::space::{Operand, bytes_shown};
use crate::schedule::boxes::TensorBox;
use crate::schedule::cost;
use crate::schedule::piece::{record, take};

/// With fewer queries most invocations have none, and with fewer work groups most of a GPU is idle: more keys than these are
/// better divided among the work groups of products. Estimated, not measured.
const FEW_QUERIES: u32 = 16;
const FEW_GROUPS: u64 = 32;
const MOST_KEYS_OF_FEW: u32 = 1024;

/// A CPU driver gives up loops of an invocation after 65,535 iterations: lavapipe (Mesa 22.3). No attention for which a strategy
/// is forced there has more.
const MOST_ITERATIONS_OF_CPU: u64 = 1 << 15;

impl Target<'_> {
    /// Whether work groups share the queries and keys of an attention.
    pub(crate) fn shares_attention(&self) -> bool {
        let tuning = self.tuning;
        tuning.strategy.map_or(tuning.shared_tiles, |strategy| strategy == Strategy::RowGroups)
    }

    /// Whether a kernel has room for so many heads of these sizes, and suits them.
    pub(crate) fn suits_attention(&self, heads: u64, [queries, keys, elements]: [u32; 3]) -> bool {
        let groups = heads.saturating_mul(queries.div_ceil(QUERIES).into());
        let is_worth_a_kernel =
            (queries >= FEW_QUERIES && groups >= FEW_GROUPS) || keys <= MOST_KEYS_OF_FEW;
        keys <= attention::MOST_KEYS
            && elements <= attention::MOST_ELEMENTS
            && (is_worth_a_kernel || self.tuning.strategy.is_some())
    }

    /// Whether one kernel can compute an attention, suits it, and a descriptor shows each of its operands.
    pub(crate) fn can_share(&self, attention: &Attention) -> bool {
        let shows = |(operand, sizes): (&Operand, [u32; DIMENSIONS])| {
            let used = sizes.iter().zip(operand.strides).filter(|(size, _)| **size > 1);
            let reach = used.map(|(size, stride)| u64::from(*size - 1) * stride.unsigned_abs());
            let bytes = bytes_shown(operand.width, reach.sum());
            operand.buffer.is_none() || bytes <= self.max_window()
        };
        let heads = attention.outer.iter().map(|size| u64::from(*size)).product::<u64>();
        let queries = heads.saturating_mul(attention.queries.into());
        let tiles = u64::from(attention.keys.div_ceil(KEYS));
        let of_a_tile = u64::from(attention.depths) + u64::from(KEYS) * 2;
        let sizes = [attention.queries, attention.keys, attention.elements];
        let iterations = attention.passes() * tiles * of_a_tile;
        self.suits_attention(heads, sizes)
            && u32::try_from(queries).is_ok()
            && (self.tuning.shared_tiles || iterations <= MOST_ITERATIONS_OF_CPU)
            && attention.operands().all(shows)
    }
}

impl Schedule<'_> {
    /// Adds one kernel that computes an attention; returns whether there is such.
    ///
    /// # Errors
    /// [`Error::DeviceLimit`]: there would be too many steps.
    pub(super) fn attention(&mut self, attention: &Attention) -> Result<bool, Error> {
        let mut dispatches = self.dispatches();
        let alignment = dispatches.alignment();
        let mut taken = vec![];
        let mut windows = vec![];
        let mut bytes = 0_u64;
        let output = u32::try_from(attention.inputs.len()).ok();
        for (number, (operand, sizes)) in (0..).zip(attention.operands()) {
            let operand = self.placed_operand(operand);
            let all = TensorBox { origin: [0; DIMENSIONS], sizes };
            let Some(slot) = operand.buffer else {
                let first = super::modulo_2_32(operand.base);
                taken.push(take(&operand, first, &sizes, alignment));
                continue;
            };
            let view = operand.placement(alignment).view(&all);
            if view.range.end - view.range.start > self.target.max_window() {
                return Ok(false);
            }
            taken.push(take(&operand, view.start, &sizes, alignment));
            bytes += cost::bytes(&sizes, &operand.strides, operand.width, &view.range);
            let input = Some(number).filter(|it| Some(*it) != output);
            windows.push(window(slot, view.range, input));
        }
        let sizes = attention.sizes_of_kernel();
        let (record, inputs, output) = record(sizes, &taken, &attention.parameters);
        let formulas = attention.formulas.clone();
        let Some(elements) = attention::Attention::room(attention.elements) else {
            return Ok(false);
        };
        let kernel = attention::Attention {
            factors: formulas.factors,
            score: formulas.score,
            greatest_epilogue: formulas.greatest_epilogue,
            weight: formulas.weight,
            sum_epilogue: formulas.sum_epilogue,
            share: formulas.share,
            result: formulas.result,
            inputs,
            output,
            elements,
            passes: attention.passes,
        };
        let variant = kernel.variant(self.target.native_types());
        if !can_run(&variant, self.target.capabilities) {
            return Ok(false);
        }
        if let (Some(window), Some(binding)) = (windows.last_mut(), variant.bindings.last()) {
            window.access = binding.access;
        }
        let block = record.words(DIMENSIONS - 1);
        let block = block.iter().flat_map(|word| word.to_le_bytes()).collect();
        let block = self.constants.add_uniform(block);
        let heads: u32 = attention.outer.iter().product();
        let count = heads * attention.queries.div_ceil(QUERIES);
        let push = PushConstants { count, ..Default::default() };
        let cost = Cost { operations: attention.operations(), bytes };
        dispatches.push_groups(&variant, &windows, &push, Some(block), 1, cost)?;
        self.strategy = Strategy::RowGroups;
        self.add_dispatches(dispatches)?;
        Ok(true)
    }
}

fn window(slot: Slot, range: Range<u64>, input: Option<u32>) -> Window {
    let (access, base_word_at) = match input {
        Some(number) => (Touch::Read, PushConstants::base_word_at(number)),
        None => (Touch::Write, PushConstants::BASE_WORD_OF_OUTPUT_AT),
    };
    Window { slot, range, access, base_word_at }
}
