//! Why a plan is refused. Each reason is a defect of whoever made the plan.

use std::ops::Range;

use super::push::PushField;
use super::region::CopyRegion;
use super::slot::Slot;
use super::{MAX_UPDATE_BYTES, UNIFORM_ALIGNMENT};

/// When steps of a plan are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// [`Plan::init`](super::Plan::init).
    Initialization,
    /// [`Plan::exec`](super::Plan::exec).
    Execution,
    /// Executions where an input is bound to the bytes of an output: the steps that
    /// [`Plan::in_place`](super::Plan::in_place) has for the pair, or those of all executions.
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
    /// The size of a resource is no multiple of 4.
    #[error("the {slot} resource has {size} bytes (accepted: multiples of 4)")]
    ResourceSize {
        /// Which resource.
        slot: Slot,
        /// Its bytes.
        size: u64,
    },
    /// A pair that may be bound to the same bytes is listed again, or one of both is not bound at
    /// executions.
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
        /// When it is run.
        phase: Phase,
        /// Which of the phase's steps it is, counted from 0.
        index: usize,
        /// What is wrong with it.
        reason: InvalidStep,
    },
}

/// Why a step is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidStep {
    /// It uses a slot that is not bound when it is run, or that the operator does not have.
    #[error("{slot} is used but not bound")]
    NotBound {
        /// The slot.
        slot: Slot,
    },
    /// It touches no bytes, or some outside of the binding, or off the required multiple of 4.
    #[error(
        "{slot}: bytes {range:?} are none, outside the {size} bytes that are bound, or off a \
         multiple of 4"
    )]
    OutOfBinding {
        /// The slot.
        slot: Slot,
        /// The bytes, relative to the start of the binding.
        range: Range<u64>,
        /// Bytes that are bound.
        size: u64,
    },
    /// An update has more bytes than vkCmdUpdateBuffer takes.
    #[error("an update of {size} bytes (accepted: at most {MAX_UPDATE_BYTES})")]
    Update {
        /// Its bytes.
        size: usize,
    },
    /// The regions of a copy touch each other.
    #[error(transparent)]
    Copy(#[from] InvalidCopy),
    /// A dispatch does not fit its kernel or the device.
    #[error("{kernel}: {reason}")]
    Dispatch {
        /// The kernel.
        kernel: &'static str,
        /// What is wrong.
        reason: InvalidDispatch,
    },
}

/// Why a dispatch is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidDispatch {
    /// There are more or fewer of something than the kernel declares.
    #[error("{given} {what} (accepted: {accepted})")]
    Count {
        /// `windows`, `specialization constants`, `bytes of push constants`.
        what: &'static str,
        /// How many there are.
        given: usize,
        /// How many the kernel declares and a plan may have.
        accepted: usize,
    },
    /// The place of a window's base word is none, or another window's.
    #[error("a base word at byte {at} (accepted: each once, in {})", base_words(fields))]
    BaseWord {
        /// The place, in bytes.
        at: u32,
        /// The kernel's push constants.
        fields: &'static [PushField],
    },
    /// The uniform block is missing, not the kernel's, or not where and as large as it may be.
    #[error("uniform block {given:?} (accepted: {})", uniform(*most))]
    Uniform {
        /// The bytes of the constants.
        given: Option<Range<u64>>,
        /// The bytes that it may have: `maxUniformBufferRange`, and what plans take. `None` where the
        /// kernel has no uniform block.
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

/// The fields that take base words, with their places.
fn base_words(fields: &[PushField]) -> String {
    let fields = fields.iter().filter(|it| it.takes_base_words());
    let names: Vec<String> = fields.map(ToString::to_string).collect();
    if names.is_empty() { "no field".to_owned() } else { names.join(", ") }
}

/// Why a copy is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidCopy {
    /// There is nothing to copy.
    #[error("copy to {destination}: no region (accepted: 1 and more)")]
    NoRegion {
        /// Where nothing goes.
        destination: Slot,
    },
    /// A region, or one of those that it repeats as, has no bytes or passes 2^64.
    #[error("{0:?}: empty or too far (accepted: regions of 1 byte and more that end below 2^64)")]
    Region(CopyRegion),
    /// Two regions write the same bytes, or one writes what another reads.
    #[error(
        "copy to {destination}: bytes {one:?} and {other:?} overlap (accepted: regions that write \
         nothing twice and nothing that is read)"
    )]
    Overlap {
        /// Where the bytes are.
        destination: Slot,
        /// Some of the bytes.
        one: Range<u64>,
        /// Some others.
        other: Range<u64>,
    },
}
