//! Which steps of a plan must wait for which, derived from what they touch.
//!
//! This is a pure function of the steps: it needs no device, and nothing of it runs while commands
//! are recorded. Slots are assumed not to share memory, but for those that are said to be the same: an
//! input that is bound to the bytes of an output. Binding tables guarantee that.
//!
//! A plan can have many steps, one for each box of a large tensor, so they are not compared with
//! each other one by one: earlier steps that every later step sees alike are one group.

use std::ops::Range;

use ash::vk;
use dml_core::plan::{Aliases, Dispatch, Slot, Stage, Step};

use crate::memory::ranges::Ranges;
use crate::memory::{BINDING_ALIGNMENT, RESOURCE_ALIGNMENT};
use crate::record::access::access;

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

impl Barrier {
    /// Later commands wait for, and see, everything that operators and transfers did before. Constants of
    /// plans are among it: transfers write them, and kernels read them as uniform blocks.
    pub(crate) fn all() -> Self {
        let contract = access();
        Self {
            src_stages: contract.stages,
            src_access: vk::AccessFlags::TRANSFER_WRITE | vk::AccessFlags::SHADER_WRITE,
            dst_stages: contract.stages,
            dst_access: contract.resources | vk::AccessFlags::UNIFORM_READ,
        }
    }
}

/// Whether [concurrent](dml_core::plan::Dispatch::is_concurrent) dispatches are left without a barrier between
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concurrency {
    /// As the plan declares it.
    Declared,
    /// Dispatches wait wherever the ranges of their windows overlap. The synchronization checks of the
    /// validation layer compare ranges as wholes, and would report concurrent dispatches.
    OfSeparateRanges,
}

/// For each step the barrier that must be recorded before it, if any. `alignment` is the device's
/// minStorageBufferOffsetAlignment; 0 counts as 1. `aliases` says which slots are the same memory.
///
/// There is none before the first step and none after the last: what happens around the steps is
/// the caller's to order (see [`crate::access()`]).
pub fn derive_barriers(
    steps: &[Step],
    aliases: &Aliases,
    alignment: u64,
    concurrency: Concurrency,
) -> Vec<Option<Barrier>> {
    let alignment = alignment.max(1);
    let mut seen = Seen::default();
    let barrier = |step: &Step| {
        let is_concurrent = concurrency == Concurrency::Declared
            && matches!(step, Step::Dispatch(Dispatch { is_concurrent: true, .. }));
        seen.wait_for(StepUses::of(step, aliases, alignment), is_concurrent)
    };
    steps.iter().map(barrier).collect()
}

/// The steps so far, as groups that every later step has to wait for alike. There are as many as barriers
/// carry steps in different ways, however many steps there are.
#[derive(Default)]
struct Seen {
    groups: Vec<Group>,
}

impl Seen {
    /// The barrier before a step that touches this, and that may be concurrent with the latest ones.
    fn wait_for(&mut self, touched: StepUses, is_concurrent: bool) -> Option<Barrier> {
        let mut barrier = Barrier::default();
        if !is_concurrent {
            self.groups.iter_mut().for_each(|group| group.is_latest = false);
        }
        for group in self.groups.iter().filter(|group| !group.is_latest) {
            group.demand(&touched, &mut barrier);
        }
        let needed = !barrier.src_stages.is_empty();
        if needed {
            barrier.dst_stages = masks(touched.stage).stage;
            barrier.src_stages |= self.chained(&barrier);
            for group in &mut self.groups {
                group.pass(&barrier, touched.stage);
            }
        }
        self.groups.push(Group { touched, is_latest: true, available: false, reached: [None; 2] });
        unite_equals(&mut self.groups);
        needed.then_some(barrier)
    }

    /// The stages of steps that `barrier` orders by way of another stage, to which an earlier barrier carried
    /// them. Those steps have ended by then. Other steps of these stages are waited for as well: that is the
    /// price for an order which does not depend on a chain of barriers, because the synchronization checks of
    /// the validation layer lose some chains (`a_chain_of_barriers_names_the_stage_that_it_begins_with`).
    fn chained(&self, barrier: &Barrier) -> vk::PipelineStageFlags {
        let chained = self.groups.iter().filter(|group| group.is_chained(barrier));
        chained.fold(Default::default(), |stages, it| stages | masks(it.touched.stage).stage)
    }
}

/// Leaves one group of each kind, where the latest of them was.
fn unite_equals(groups: &mut Vec<Group>) {
    let mut later = groups.len();
    while later > 1 {
        later -= 1;
        while let Some(at) = groups[..later].iter().rposition(|one| one.is_like(&groups[later])) {
            let equal = groups.remove(at);
            later -= 1;
            groups[later].touched.unite(equal.touched);
        }
    }
}

/// The number of a byte of any slot: that of the slot, and then the one within it.
type Place = u128;

/// What steps touch.
struct StepUses {
    stage: Stage,
    reads: Ranges<Place>,
    writes: Ranges<Place>,
}

impl StepUses {
    fn of(step: &Step, aliases: &Aliases, alignment: u64) -> Self {
        let stage = step.stage();
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for used in step.uses().into_iter().filter(|used| !used.range.is_empty()) {
            let range = match stage {
                Stage::Transfer => used.range,
                Stage::ComputeShader => visible(used.slot, &used.range, alignment),
            };
            let slot = Place::from(number(aliases.slot(used.slot))) << u64::BITS;
            let range = slot + Place::from(range.start)..slot + Place::from(range.end);
            if used.access.reads() {
                reads.push(range.clone());
            }
            if used.access.writes() {
                writes.push(range);
            }
        }
        Self { stage, reads: Ranges::of(reads), writes: Ranges::of(writes) }
    }

    /// Adds what steps of the same stage touch.
    fn unite(&mut self, other: Self) {
        self.reads.unite(other.reads);
        self.writes.unite(other.writes);
    }
}

/// Tells a slot from all others.
fn number(slot: Slot) -> u64 {
    match slot {
        Slot::Temporary => 0,
        Slot::Persistent => 1,
        Slot::Constants => 2,
        Slot::Input(index) => 3 + 2 * u64::from(index),
        Slot::Output(index) => 4 + 2 * u64::from(index),
    }
}

/// What a descriptor may show of a slot whose window is `range`: it starts at the aligned address
/// below. Tensors start at any multiple of 16, resources and constants where every descriptor may. No kernel touches those bytes, but the validation layer judges descriptors as wholes, and a
/// barrier costs nothing beside a dispatch over a whole window.
fn visible(slot: Slot, range: &Range<u64>, alignment: u64) -> Range<u64> {
    let known = alignment.min(match slot {
        Slot::Input(_) | Slot::Output(_) => BINDING_ALIGNMENT,
        Slot::Temporary | Slot::Persistent | Slot::Constants => RESOURCE_ALIGNMENT,
    });
    let start = range.start - range.start % known;
    start.saturating_sub(alignment - known)..range.end
}

/// Steps of one stage that have been seen, and how far the barriers since have carried them.
struct Group {
    touched: StepUses,
    /// Whether the next step, if it is concurrent, may run at the same time as these.
    is_latest: bool,
    /// Whether their writes have been made available.
    available: bool,
    /// For each stage: whether later steps there wait for it, and the accesses that see their writes.
    reached: [Option<vk::AccessFlags>; 2],
}

impl Group {
    /// Whether barriers treat both alike from now on.
    fn is_like(&self, other: &Self) -> bool {
        self.touched.stage == other.touched.stage
            && self.is_latest == other.is_latest
            && self.available == other.available
            && self.reached == other.reached
    }

    /// Adds to `barrier` what `later` needs to wait for these steps.
    fn demand(&self, later: &StepUses, barrier: &mut Barrier) {
        let read_after_write = self.touched.writes.meet(&later.reads);
        let write_after_write = self.touched.writes.meet(&later.writes);
        let write_after_read = self.touched.reads.meet(&later.writes);
        if !(read_after_write || write_after_write || write_after_read) {
            return;
        }
        let mut sees = vk::AccessFlags::empty();
        if read_after_write {
            sees |= masks(later.stage).read;
        }
        if write_after_write {
            sees |= masks(later.stage).write;
        }
        if self.reached[index(later.stage)].is_some_and(|reached| reached.contains(sees)) {
            return;
        }
        barrier.dst_access |= sees;
        barrier.src_stages |= masks(self.touched.stage).stage;
        if !sees.is_empty() {
            barrier.src_access |= masks(self.touched.stage).write;
        }
    }

    /// Notes that `barrier` stands between these steps and everything later in stage `to`.
    fn pass(&mut self, barrier: &Barrier, to: Stage) {
        if !barrier.src_stages.contains(masks(self.touched.stage).stage) {
            return;
        }
        self.available |= barrier.src_access.contains(masks(self.touched.stage).write);
        let reached = self.reached[index(to)].get_or_insert_default();
        if self.available {
            *reached |= barrier.dst_access;
        }
    }

    /// Whether an earlier barrier carried these steps to a stage from which `barrier` carries them
    /// on.
    fn is_chained(&self, barrier: &Barrier) -> bool {
        [Stage::Transfer, Stage::ComputeShader].into_iter().any(|stage| {
            self.reached[index(stage)].is_some() && barrier.src_stages.contains(masks(stage).stage)
        })
    }
}

/// What Vulkan calls a stage, and how it reads and writes there.
struct StageMasks {
    stage: vk::PipelineStageFlags,
    read: vk::AccessFlags,
    write: vk::AccessFlags,
}

fn masks(stage: Stage) -> StageMasks {
    match stage {
        Stage::Transfer => StageMasks {
            stage: vk::PipelineStageFlags::TRANSFER,
            read: vk::AccessFlags::TRANSFER_READ,
            write: vk::AccessFlags::TRANSFER_WRITE,
        },
        Stage::ComputeShader => StageMasks {
            stage: vk::PipelineStageFlags::COMPUTE_SHADER,
            read: vk::AccessFlags::SHADER_READ,
            write: vk::AccessFlags::SHADER_WRITE,
        },
    }
}

fn index(stage: Stage) -> usize {
    usize::from(stage == Stage::ComputeShader)
}

#[cfg(test)]
mod tests;
