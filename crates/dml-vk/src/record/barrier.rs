//! Derives the barriers between the steps of a plan from the bytes that they read and write.
//!
//! This is a pure function of the steps: it needs no device, and none of it runs while commands are recorded.
//! Slots are assumed not to share memory, except for aliases: an input that is bound to the bytes of an
//! output. Binding tables guarantee that.
//!
//! A plan can have many steps, one for each box of a large tensor, so they are not compared one by one:
//! earlier steps with equal dependencies form one group.

use std::ops::Range;

use ash::vk;
use dml_core::plan::{Aliases, Slot, Stage, Step};

use crate::memory::ranges::Ranges;
use crate::memory::{BINDING_ALIGNMENT, RESOURCE_ALIGNMENT};
use crate::record::access::access;

/// One global memory barrier, recorded with vkCmdPipelineBarrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Barrier {
    /// Stages of the earlier steps, which are waited for.
    pub src_stages: vk::PipelineStageFlags,
    /// Writes of those steps that become visible. Empty if the barrier only waits for reads.
    pub src_access: vk::AccessFlags,
    /// The stage of the step that waits.
    pub dst_stages: vk::PipelineStageFlags,
    /// The waiting step's accesses.
    pub dst_access: vk::AccessFlags,
}

impl Barrier {
    /// A barrier between all earlier and later commands. Constants of plans are included: transfers write
    /// them, and kernels read them as uniform blocks.
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

/// Whether [concurrent](dml_core::plan::Dispatch::is_concurrent) dispatches run without a barrier between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concurrency {
    /// As the plan declares it.
    Declared,
    /// Dispatches wait if the ranges of their windows overlap. The validation layer's synchronization checks
    /// compare whole ranges, and would report concurrent dispatches.
    OfSeparateRanges,
}

/// For each step, the barrier to record before it, if any. `alignment` is the device's
/// minStorageBufferOffsetAlignment; 0 counts as 1. `aliases` says which slots are the same memory.
///
/// There is no barrier before the first step or after the last: the caller orders the steps as a whole (see
/// [`crate::access()`]).
pub fn derive_barriers(
    steps: &[Step],
    aliases: &Aliases,
    alignment: u64,
    concurrency: Concurrency,
) -> Vec<Option<Barrier>> {
    let alignment = alignment.max(1);
    let mut seen = Seen::default();
    let barrier = |step: &Step| {
        let is_concurrent = concurrency == Concurrency::Declared && step.is_concurrent();
        seen.wait_for(StepUses::of(step, aliases, alignment), is_concurrent)
    };
    steps.iter().map(barrier).collect()
}

/// The steps so far, in groups with equal dependencies for later steps. The number of groups is bounded by
/// the ways in which barriers order steps, not by the number of steps.
#[derive(Default)]
struct Seen {
    groups: Vec<Group>,
}

impl Seen {
    /// The barrier before a step with these uses, which may be concurrent with the latest steps.
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

/// Merges equal groups, each at the position of its latest member.
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
type ByteNumber = u128;

/// The bytes that steps touch.
struct StepUses {
    stage: Stage,
    reads: Ranges<ByteNumber>,
    writes: Ranges<ByteNumber>,
}

impl StepUses {
    fn of(step: &Step, aliases: &Aliases, alignment: u64) -> Self {
        let stage = step.stage();
        let uses = step.uses();
        let (mut reads, mut writes) = (Vec::with_capacity(uses.len()), Vec::with_capacity(1));
        for used in uses.into_iter().filter(|used| !used.range.is_empty()) {
            let range = match stage {
                Stage::Transfer => used.range,
                Stage::ComputeShader => visible(used.slot, &used.range, alignment),
            };
            let slot = ByteNumber::from(number(aliases.slot(used.slot))) << u64::BITS;
            let range = slot + ByteNumber::from(range.start)..slot + ByteNumber::from(range.end);
            if used.access.reads() {
                reads.push(range.clone());
            }
            if used.access.writes() {
                writes.push(range);
            }
        }
        Self { stage, reads: Ranges::of(reads), writes: Ranges::of(writes) }
    }

    /// Adds the uses of steps of the same stage.
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

/// The bytes of a slot that a descriptor may cover, if the kernel's window is `range`: the descriptor starts
/// at the aligned address below. Tensors start at any multiple of 16, resources and constants at every
/// descriptor's alignment. No kernel touches the additional bytes, but the validation layer counts them as
/// accessed. A barrier more costs nothing beside a dispatch over a whole window.
fn visible(slot: Slot, range: &Range<u64>, alignment: u64) -> Range<u64> {
    let known = alignment.min(match slot {
        Slot::Input(_) | Slot::Output(_) => BINDING_ALIGNMENT,
        Slot::Temporary | Slot::Persistent | Slot::Constants => RESOURCE_ALIGNMENT,
    });
    let start = range.start - range.start % known;
    start.saturating_sub(alignment - known)..range.end
}

/// Steps of one stage, and the effect of the barriers after them.
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
    /// Whether later barriers treat both groups alike.
    fn is_like(&self, other: &Self) -> bool {
        self.touched.stage == other.touched.stage
            && self.is_latest == other.is_latest
            && self.available == other.available
            && self.reached == other.reached
    }

    /// Adds to `barrier` the stages and accesses by which `later` waits for these steps.
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

    /// Records that `barrier` stands between these steps and all later steps of stage `to`.
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

    /// Whether an earlier barrier made a stage wait for these steps that `barrier` waits for.
    fn is_chained(&self, barrier: &Barrier) -> bool {
        [Stage::Transfer, Stage::ComputeShader].into_iter().any(|stage| {
            self.reached[index(stage)].is_some() && barrier.src_stages.contains(masks(stage).stage)
        })
    }
}

/// Vulkan's flags for a stage, and for reads and writes in it.
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
