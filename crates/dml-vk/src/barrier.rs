//! Which steps of a plan must wait for which, derived from what they touch.
//!
//! This is a pure function of the steps: it needs no device, and nothing of it runs while commands
//! are recorded. Slots are assumed not to share memory, which binding tables guarantee:
//! executed in place, an operator does not name the slot of its input.

use std::collections::BTreeMap;
use std::ops::Range;

use ash::vk;
use dml_core::plan::{Slot, Stage, Step};

/// One global memory barrier, recorded with vkCmdPipelineBarrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Barrier {
    /// Stages of the earlier steps that are waited for.
    pub src_stages: vk::PipelineStageFlags,
    /// Writes of those steps that become visible. Empty where only reads are waited for.
    pub src_access: vk::AccessFlags,
    /// The stage of the step that waits.
    pub dst_stages: vk::PipelineStageFlags,
    /// How that step touches what it waits for.
    pub dst_access: vk::AccessFlags,
}

/// For each step the barrier that must be recorded before it, if any.
///
/// There is none before the first step and none after the last: what happens around the steps is
/// the caller's to order (see [`crate::access()`]).
pub fn derive_barriers(steps: &[Step]) -> Vec<Option<Barrier>> {
    let mut earlier: Vec<Earlier> = Vec::with_capacity(steps.len());
    let mut barriers = Vec::with_capacity(steps.len());
    for step in steps {
        let touched = Touched::of(step);
        let mut barrier = Barrier::default();
        // The latest first: waiting for it may carry what it has itself waited for.
        for one in earlier.iter().rev() {
            one.demand(&touched, &mut barrier);
        }
        let needed = !barrier.src_stages.is_empty();
        if needed {
            barrier.dst_stages = stage_mask(touched.stage);
            for one in &mut earlier {
                one.pass(&barrier, touched.stage);
            }
        }
        barriers.push(needed.then_some(barrier));
        earlier.push(Earlier { touched, available: false, reached: [None; 2] });
    }
    barriers
}

/// Sorted ranges that neither touch nor overlap.
type Ranges = Vec<Range<u64>>;

/// What one step touches.
struct Touched {
    stage: Stage,
    reads: BTreeMap<Slot, Ranges>,
    writes: BTreeMap<Slot, Ranges>,
}

impl Touched {
    fn of(step: &Step) -> Self {
        let (mut reads, mut writes) = (BTreeMap::new(), BTreeMap::new());
        for used in step.uses().into_iter().filter(|used| !used.range.is_empty()) {
            if used.access.reads() {
                reads.entry(used.slot).or_insert_with(Ranges::new).push(used.range.clone());
            }
            if used.access.writes() {
                writes.entry(used.slot).or_insert_with(Ranges::new).push(used.range);
            }
        }
        reads.values_mut().chain(writes.values_mut()).for_each(merge);
        Self { stage: step.stage(), reads, writes }
    }
}

/// A step that has been seen, and how far the barriers since have carried it.
struct Earlier {
    touched: Touched,
    /// Whether its writes have been made available.
    available: bool,
    /// For each stage: whether later steps there wait for it, and the accesses that see its writes.
    reached: [Option<vk::AccessFlags>; 2],
}

impl Earlier {
    /// Adds to `barrier` what `later` needs to wait for this step.
    fn demand(&self, later: &Touched, barrier: &mut Barrier) {
        let read_after_write = meet(&self.touched.writes, &later.reads);
        let write_after_write = meet(&self.touched.writes, &later.writes);
        let write_after_read = meet(&self.touched.reads, &later.writes);
        if !(read_after_write || write_after_write || write_after_read) {
            return;
        }
        let mut sees = vk::AccessFlags::empty();
        if read_after_write {
            sees |= read_mask(later.stage);
        }
        if write_after_write {
            sees |= write_mask(later.stage);
        }
        if self.reached[index(later.stage)].is_some_and(|reached| reached.contains(sees)) {
            return;
        }
        barrier.dst_access |= sees;
        if self.is_chained(barrier) && (sees.is_empty() || self.available) {
            return;
        }
        barrier.src_stages |= stage_mask(self.touched.stage);
        if !sees.is_empty() {
            barrier.src_access |= write_mask(self.touched.stage);
        }
    }

    /// Notes that `barrier` stands between this step and everything later in stage `to`.
    fn pass(&mut self, barrier: &Barrier, to: Stage) {
        let own = barrier.src_stages.contains(stage_mask(self.touched.stage));
        if !own && !self.is_chained(barrier) {
            return;
        }
        self.available |= own && barrier.src_access.contains(write_mask(self.touched.stage));
        let reached = self.reached[index(to)].get_or_insert_default();
        if self.available {
            *reached |= barrier.dst_access;
        }
    }

    /// Whether an earlier barrier carried this step to a stage from which `barrier` carries it on.
    fn is_chained(&self, barrier: &Barrier) -> bool {
        [Stage::Transfer, Stage::ComputeShader].into_iter().any(|stage| {
            self.reached[index(stage)].is_some() && barrier.src_stages.contains(stage_mask(stage))
        })
    }
}

fn index(stage: Stage) -> usize {
    match stage {
        Stage::Transfer => 0,
        Stage::ComputeShader => 1,
    }
}

fn stage_mask(stage: Stage) -> vk::PipelineStageFlags {
    match stage {
        Stage::Transfer => vk::PipelineStageFlags::TRANSFER,
        Stage::ComputeShader => vk::PipelineStageFlags::COMPUTE_SHADER,
    }
}

fn read_mask(stage: Stage) -> vk::AccessFlags {
    match stage {
        Stage::Transfer => vk::AccessFlags::TRANSFER_READ,
        Stage::ComputeShader => vk::AccessFlags::SHADER_READ,
    }
}

fn write_mask(stage: Stage) -> vk::AccessFlags {
    match stage {
        Stage::Transfer => vk::AccessFlags::TRANSFER_WRITE,
        Stage::ComputeShader => vk::AccessFlags::SHADER_WRITE,
    }
}

/// Sorts ranges and joins those that touch.
fn merge(ranges: &mut Ranges) {
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, kept| {
        let joined = next.start <= kept.end;
        if joined {
            kept.end = kept.end.max(next.end);
        }
        joined
    });
}

/// Whether any byte is in both.
fn meet(a: &BTreeMap<Slot, Ranges>, b: &BTreeMap<Slot, Ranges>) -> bool {
    a.iter().any(|(slot, ranges)| b.get(slot).is_some_and(|others| overlap(ranges, others)))
}

fn overlap(mut a: &[Range<u64>], mut b: &[Range<u64>]) -> bool {
    while let ([first, rest_a @ ..], [second, rest_b @ ..]) = (a, b) {
        if first.end <= second.start {
            a = rest_a;
        } else if second.end <= first.start {
            b = rest_b;
        } else {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests;
