//! Sums of products of halves by cooperative matrices, where it is asked for: a device adds products
//! in an order of its own, so that bits differ from one to another.

use dml_core::capabilities::Limit;
use dml_core::plan::{Access as Touch, Cost, Slot, Window};
use dml_core::{Error, Strategy};
use dml_spirv::element_wise::PushConstants;
use dml_spirv::product::{CooperativeRecord, cooperative};

use crate::Target;
use crate::ir::{Matrices, WholeMatrices};
use crate::schedule::Schedule;
use crate::schedule::cost;

impl Target<'_> {
    /// MSize, NSize and KSize of the cooperative matrices that products of halves are to use, if they are.
    pub(crate) fn cooperative_matrix(&self) -> Option<[u32; 3]> {
        let limits = &self.capabilities.limits;
        let size = limits.cooperative_matrix_size;
        let can_run = |feature| self.capabilities.features.has(feature);
        let is_offered = size.iter().all(|it| *it > 0)
            && cooperative().required_features.iter().copied().all(can_run)
            && limits.get(Limit::MaxComputeWorkGroupInvocations) >= limits.subgroup_size.into();
        let is_asked_for = self.tuning.strategy == Some(Strategy::CooperativeMatrices);
        (is_asked_for && is_offered).then_some(size)
    }
}

impl Matrices<Slot> {
    fn bytes(&self) -> u64 {
        self.count * u64::from(self.place.width.bytes())
    }

    fn words(&self, elements: u64) -> u32 {
        let words = elements * u64::from(self.place.width.bytes()) / 4;
        u32::try_from(words).expect("a window shows all of them")
    }

    fn window(&self, access: Touch, base_word_at: u32) -> Window {
        let start = self.place.base.cast_unsigned() * u64::from(self.place.width.bytes());
        let slot = self.place.buffer.expect("matrices are stored");
        Window { slot, range: start..start + self.bytes(), access, base_word_at }
    }
}

impl Schedule<'_> {
    /// Adds the step that multiplies rows by columns.
    ///
    /// # Errors
    /// [`Error::DeviceLimit`]: there are too many steps.
    pub(in crate::schedule) fn contract_whole(&mut self, of: &WholeMatrices) -> Result<(), Error> {
        let WholeMatrices { matrix, sizes, batches, .. } = *of;
        let all = of.operands.each_ref().map(|it| Matrices {
            place: self.placed_operand(&it.place),
            count: it.count,
            batches: it.batches,
        });
        let record = CooperativeRecord {
            sizes,
            batches,
            starts: [0; 3],
            outer: all.each_ref().map(|it| it.words(it.batches[0])),
            inner: all.each_ref().map(|it| it.words(it.batches[1])),
        };
        let block = record.words(matrix).iter().flat_map(|word| word.to_le_bytes()).collect();
        let block = self.constants.add_uniform(block);
        let count = u32::try_from(record.count(matrix)).expect("no more than sums");
        let push = PushConstants { count, ..Default::default() };
        let [rows, columns, sums] = &all;
        let windows = [
            rows.window(Touch::Read, PushConstants::base_word_at(0)),
            columns.window(Touch::Read, PushConstants::base_word_at(1)),
            sums.window(Touch::Write, PushConstants::BASE_WORD_OF_OUTPUT_AT),
        ];
        self.strategy = Strategy::CooperativeMatrices;
        let mut dispatches = self.dispatches();
        let products = cost::elements(&sizes).saturating_mul(cost::elements(&batches));
        let bytes = all.iter().map(Matrices::bytes).sum();
        let cost = Cost { operations: products.saturating_mul(2), bytes };
        dispatches.push_with_block(&cooperative(), &windows, &push, Some(block), cost)?;
        self.add_dispatches(dispatches)
    }
}
