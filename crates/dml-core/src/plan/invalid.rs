//! Errors of invalid plans. Each one is a defect of the code that made the plan.

use std::ops::Range;

use super::push::PushField;
use super::region::CopyRegion;
use super::slot::Slot;
use super::{DIVISION_ALIGNMENT, MAX_UPDATE_BYTES, UNIFORM_ALIGNMENT};

/// The phase in which steps of a plan are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// [`Plan::init`](super::Plan::init).
    Initialization,
    /// [`Plan::exec`](super::Plan::exec).
    Execution,
    /// Executions with an input bound to the bytes of an output: the pair's own steps of
    /// [`Plan::in_place`](super::Plan::in_place), or [`Plan::exec`](super::Plan::exec).
    InPlace {
        /// The input.
        input: u32,
        /// The output.
        output: u32,
    },
}

/// Why a plan is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidPlan {
    /// The size of a resource is not a multiple of 4.
    #[error("the {slot} resource has {size} bytes (accepted: multiples of 4)")]
    ResourceSize {
        /// The resource.
        slot: Slot,
        /// Its size in bytes.
        size: u64,
    },
    /// A resource is divided at a wrong place.
    #[error(
        "the {slot} resource has a piece {piece:?} (accepted: pieces of 1 byte and more, in order, from a \
         multiple of {DIVISION_ALIGNMENT})"
    )]
    Division {
        /// The resource.
        slot: Slot,
        /// The bytes of the piece.
        piece: Range<u64>,
    },
    /// A pair that may be bound to the same bytes is listed twice, or one of the two is not bound at
    /// executions, or leaves out steps that there are not.
    #[error(
        "input {input} in place of output {output} (accepted: each pair once, of tensors that are \
         bound at executions)"
    )]
    Pair {
        /// The input.
        input: u32,
        /// The output.
        output: u32,
    },
    /// A step cannot be run.
    #[error("{phase:?}, step {index}: {reason}")]
    Step {
        /// The phase of the step.
        phase: Phase,
        /// The index of the step in its phase, from 0.
        index: usize,
        /// Why the step is refused.
        reason: InvalidStep,
    },
}

/// Why a step is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidStep {
    /// The step uses a slot that is not bound in its phase, or that the operator does not have.
    #[error("{slot} is used but not bound")]
    NotBound {
        /// The slot.
        slot: Slot,
    },
    /// The step uses an empty range, bytes outside of the binding, or a range that is not aligned to 4 bytes.
    #[error(
        "{slot}: bytes {range:?} are none, outside the {size} bytes that are bound, or off a \
         multiple of 4"
    )]
    OutOfBinding {
        /// The slot.
        slot: Slot,
        /// The bytes, relative to the start of the binding.
        range: Range<u64>,
        /// The size of the binding in bytes.
        size: u64,
    },
    /// The step uses bytes on both sides of a division, which may be in different buffers.
    #[error("{slot}: bytes {range:?} are not in one piece of the resource with all others")]
    Divided {
        /// The resource.
        slot: Slot,
        /// The bytes.
        range: Range<u64>,
    },
    /// An update has more bytes than vkCmdUpdateBuffer allows.
    #[error("an update of {size} bytes (accepted: at most {MAX_UPDATE_BYTES})")]
    Update {
        /// The size of the update in bytes.
        size: usize,
    },
    /// The regions of a copy are invalid or overlap.
    #[error(transparent)]
    Copy(#[from] InvalidCopy),
    /// A dispatch does not fit its kernel or the device.
    #[error("{kernel}: {reason}")]
    Dispatch {
        /// The kernel.
        kernel: String,
        /// Why the dispatch is refused.
        reason: InvalidDispatch,
    },
}

/// Why a dispatch is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidDispatch {
    /// The dispatch has more or fewer windows, constants or bytes than the kernel declares.
    #[error("{given} {what} (accepted: {accepted})")]
    Count {
        /// The counted thing: `windows`, `specialization constants`, `bytes of push constants`.
        what: &'static str,
        /// The number that the dispatch has.
        given: usize,
        /// The number that the kernel declares and a plan may have.
        accepted: usize,
    },
    /// The offset of a window's base word is not that of a base word in the push constants, or is another window's.
    #[error("a base word at byte {at} (accepted: each once, in {})", base_words(fields))]
    BaseWord {
        /// The offset in bytes.
        at: u32,
        /// The kernel's push constants.
        fields: &'static [PushField],
    },
    /// The uniform block is missing, the kernel has none, or its offset or size is not allowed.
    #[error("uniform block {given:?} (accepted: {})", uniform(*most))]
    Uniform {
        /// The bytes of the constants.
        given: Option<Range<u64>>,
        /// The most bytes of the block: the lesser of `maxUniformBufferRange` and the limit of plans. `None` if
        /// the kernel has no uniform block.
        most: Option<u64>,
    },
    /// A window, or the descriptor that shows it, is too large.
    #[error("a window of {size} bytes exceeds maxStorageBufferRange {limit}")]
    WindowSize {
        /// Bytes that the descriptor would show.
        size: u64,
        /// The device's limit.
        limit: u64,
    },
    /// The number of work groups.
    #[error("{groups:?} groups (accepted: 1 to maxComputeWorkGroupCount, {limit:?})")]
    Groups {
        /// Groups in x, y and z.
        groups: [u32; 3],
        /// The device's limit.
        limit: [u32; 3],
    },
}

fn uniform(most: Option<u64>) -> String {
    most.map_or("none".to_owned(), |most| {
        format!("at most {most} bytes from a multiple of {UNIFORM_ALIGNMENT}")
    })
}

/// The fields that take base words, with their offsets.
fn base_words(fields: &[PushField]) -> String {
    let fields = fields.iter().filter(|field| field.takes_base_words());
    let names: Vec<String> = fields.map(ToString::to_string).collect();
    if names.is_empty() { "no field".to_owned() } else { names.join(", ") }
}

/// Why a copy is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidCopy {
    /// The copy has no regions.
    #[error("copy to {destination}: no region (accepted: 1 and more)")]
    NoRegion {
        /// The destination of the copy.
        destination: Slot,
    },
    /// A region, or one of its repetitions, has no bytes or passes 2^64.
    #[error("{0:?}: empty or too far (accepted: regions of 1 byte and more that end below 2^64)")]
    Region(CopyRegion),
    /// Two regions write the same bytes, or one writes what another reads.
    #[error(
        "copy to {destination}: bytes {one:?} and {other:?} overlap (accepted: regions that write \
         nothing twice and nothing that is read)"
    )]
    Overlap {
        /// The buffer that holds the bytes.
        destination: Slot,
        /// The first range of bytes.
        one: Range<u64>,
        /// The second range of bytes.
        other: Range<u64>,
    },
}
