//! Checks plans before they are compiled, and derives the usages that their buffers need.

use std::collections::BTreeMap;

use dml_core::capabilities::Capabilities;
use dml_core::plan::{Plan, Slot, Step};

use crate::error::{Error, Result};
use crate::memory::buffer::BufferUsage;

/// Runs [`Plan::check`], which finds defects of this project before they reach the device.
pub(crate) fn check_plan(plan: &Plan, capabilities: &Capabilities) -> Result<()> {
    plan.check(capabilities)
        .map_err(|problem| Error::internal(format!("{}: malformed plan: {problem}", plan.operator)))
}

/// The usage that each slot's buffer needs for `steps`: storage, and the usages of their transfers.
pub(crate) fn slot_usages(steps: &[Step]) -> BTreeMap<Slot, BufferUsage> {
    let mut usages = BTreeMap::new();
    for step in steps {
        let transfers = match step {
            Step::Fill(fill) => vec![(fill.slot, BufferUsage::TRANSFER_DST)],
            Step::Update(update) => vec![(update.slot, BufferUsage::TRANSFER_DST)],
            Step::Copy(copy) => vec![
                (copy.source, BufferUsage::TRANSFER_SRC),
                (copy.destination, BufferUsage::TRANSFER_DST),
            ],
            Step::Dispatch(_) => Vec::new(),
        };
        for (slot, usage) in transfers {
            let needed = usages.entry(slot).or_insert(BufferUsage::STORAGE);
            *needed |= usage;
        }
    }
    usages
}
