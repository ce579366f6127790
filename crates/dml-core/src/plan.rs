//! Kernel plans: the steps that execute an operator, as plain data.
//!
//! `dml-ops` lowers a validated operator to a [`Plan`]; `dml-vk` records it into a command buffer;
//! [`crate::host`] runs it on the CPU. A plan knows sizes and byte ranges relative to the tensors
//! that will be bound, never the buffers themselves: where a bound buffer starts is patched in when
//! the buffers are known (see [`Window::place`]).
//!
//! Barriers are not part of a plan. Each step states the bytes that it reads and writes ([`Step::uses`]), and
//! the executor of the plan derives from them which steps must wait for which.

mod alias;
mod check;
mod copy_check;
mod cost;
mod describe;
mod divisions;
mod in_place;
mod invalid;
pub mod kernel;
pub(crate) mod memory;
mod push;
mod region;
mod slot;
pub(crate) mod twin;

pub use alias::Aliases;
pub use cost::{Cost, WorkBound};
pub use describe::Totals;
pub use divisions::Divisions;
pub use in_place::{InPlace, InPlaceSteps};
pub use invalid::{InvalidCopy, InvalidDispatch, InvalidPlan, InvalidStep, Phase};
pub use region::{CopyRegion, Repeat};
pub use slot::{Access, Slot, Stage, Use};

use std::borrow::Cow;
use std::ops::Range;

use crate::capabilities::Features;
use crate::tensor::{TensorFlags, TensorLayout};
use crate::types::Strategy;
pub(crate) use check::check_window_size;
use kernel::{KernelModule, Shared};
pub(crate) use slot::span;

/// The most bytes of push constants of a dispatch, which every device supports (Vulkan's required limits,
/// maxPushConstantsSize).
pub const MAX_PUSH_CONSTANT_BYTES: usize = 128;

/// The largest alignment of a uniform block's offset that a device may require (Vulkan's required limits,
/// minUniformBufferOffsetAlignment).
pub const UNIFORM_ALIGNMENT: u64 = 256;

/// A resource is divided at a multiple of this many bytes: the largest alignment of a descriptor's start that a device
/// may demand (Vulkan's required limits, minStorageBufferOffsetAlignment).
pub const DIVISION_ALIGNMENT: u64 = 256;

/// The most bytes of a uniform block, which every device supports (Vulkan's required limits,
/// maxUniformBufferRange).
pub const MAX_UNIFORM_BYTES: u64 = 16 << 10;

/// The most bytes of an update (vkCmdUpdateBuffer).
pub const MAX_UPDATE_BYTES: u64 = 64 << 10;

/// Repeats a 32-bit pattern over a byte range whose ends are multiples of 4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fill {
    /// The buffer.
    pub slot: Slot,
    /// Bytes relative to the start of the binding.
    pub range: Range<u64>,
    /// Written little-endian.
    pub pattern: u32,
}

/// Writes literal bytes; offset and length are multiples of 4, the length at most
/// [`MAX_UPDATE_BYTES`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The buffer.
    pub slot: Slot,
    /// Bytes relative to the start of the binding.
    pub offset: u64,
    /// The bytes to write.
    pub data: Vec<u8>,
}

/// Copies regions in any order: a region's destination shares no byte with another region's destination, nor
/// with the source of any region. [`Copy::check`] checks that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// The buffer to read.
    pub source: Slot,
    /// The buffer to write.
    pub destination: Slot,
    /// At least one region.
    pub regions: Vec<CopyRegion>,
}

/// The pipeline of a dispatch: a compiled variant and the values of its specialization constants.
/// Shapes are never part of the key, so a new shape compiles nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KernelKey {
    /// The compiled kernel.
    pub variant: Shared<KernelModule>,
    /// One value for each of the variant's specialization constants, in their order.
    pub specialization: Vec<u32>,
}

/// A byte range that one descriptor of a dispatch shows to its kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The buffer.
    pub slot: Slot,
    /// Bytes relative to the start of the binding; both ends are multiples of 4.
    pub range: Range<u64>,
    /// Whether the kernel reads or writes the range.
    pub access: Access,
    /// Byte offset of the push constant that receives [`PlacedWindow::base_word`]: in a field of the
    /// kernel that [takes base words](kernel::PushField::takes_base_words), one for each window.
    pub base_word_at: u32,
}

/// A [`Window`] for a known offset of its buffer's binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedWindow {
    /// The descriptor's offset in the buffer, in bytes; a multiple of the device's alignment.
    pub offset: u64,
    /// The number of bytes that the descriptor covers.
    pub size: u64,
    /// 32-bit words from the descriptor's start to the window's first byte.
    pub base_word: u32,
}

impl Window {
    /// Places the window for a binding that starts `bound_offset` bytes into its buffer.
    ///
    /// A descriptor must start at a multiple of `alignment` (minStorageBufferOffsetAlignment), a
    /// tensor only at a multiple of 16: the descriptor starts at the aligned address below, and the
    /// kernel is told how far to skip. Both arguments must be multiples of 4, which binding and
    /// capability checks guarantee; `alignment` is a power of two.
    pub fn place(&self, bound_offset: u64, alignment: u64) -> PlacedWindow {
        let start = bound_offset + self.range.start;
        let remainder = start & (alignment - 1);
        PlacedWindow {
            offset: start - remainder,
            size: remainder + (self.range.end - self.range.start),
            base_word: u32::try_from(remainder / 4)
                .expect("an alignment is at most 256 in Vulkan, and u32 in any case"),
        }
    }
}

/// Runs a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// The pipeline.
    pub kernel: KernelKey,
    /// One window for each binding of the kernel, in binding order.
    pub windows: Vec<Window>,
    /// At most [`MAX_PUSH_CONSTANT_BYTES`]; each window's base word is patched in.
    pub push_constants: Vec<u8>,
    /// The bytes of [`Slot::Constants`] that the kernel's uniform block shows, if it has one: from a multiple of
    /// [`UNIFORM_ALIGNMENT`], at most [`MAX_UNIFORM_BYTES`].
    pub uniform: Option<Range<u64>>,
    /// Work groups in x, y and z, within the device's limits, none of them 0.
    pub groups: [u32; 3],
    /// Whether the dispatch may run at the same time as the steps directly before it, back to and including
    /// the nearest one for which this is false: neither writes a 32-bit word that the other reads or writes,
    /// even if the byte ranges of their windows overlap, as with interleaved elements.
    pub is_concurrent: bool,
    /// The work of the dispatch.
    pub cost: Cost,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Repeats a pattern.
    Fill(Fill),
    /// Writes literal bytes.
    Update(Update),
    /// Copies bytes between slots.
    Copy(Copy),
    /// Runs a kernel.
    Dispatch(Dispatch),
}

impl Dispatch {
    fn uses(&self) -> Vec<Use> {
        let window =
            |it: &Window| Use { slot: it.slot, range: it.range.clone(), access: it.access };
        let uniform = |range: &Range<u64>| Use {
            slot: Slot::Constants,
            range: range.clone(),
            access: Access::Read,
        };
        self.windows.iter().map(window).chain(self.uniform.iter().map(uniform)).collect()
    }
}

impl Step {
    /// Every byte range that the step touches.
    pub fn uses(&self) -> Vec<Use> {
        let write = |slot, range| Use { slot, range, access: Access::Write };
        match self {
            Self::Fill(fill) => vec![write(fill.slot, fill.range.clone())],
            Self::Update(update) => {
                vec![write(update.slot, span(update.offset, update.data.len() as u64))]
            }
            Self::Copy(copy) => copy.uses(),
            Self::Dispatch(dispatch) => dispatch.uses(),
        }
    }

    /// Like [`Step::uses`], but with a single range for each loop of a copy, from its first byte to its last.
    pub fn bounds(&self) -> Vec<Use> {
        match self {
            Self::Copy(copy) => copy.bounds(),
            _ => self.uses(),
        }
    }

    /// Whether the step is a dispatch that [is concurrent](Dispatch::is_concurrent).
    pub fn is_concurrent(&self) -> bool {
        matches!(self, Self::Dispatch(dispatch) if dispatch.is_concurrent)
    }

    /// The pipeline stage that executes the step.
    pub fn stage(&self) -> Stage {
        match self {
            Self::Fill(_) | Self::Update(_) | Self::Copy(_) => Stage::Transfer,
            Self::Dispatch(_) => Stage::ComputeShader,
        }
    }
}

/// When a tensor is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundAt {
    /// Initialization only: the tensor is OWNED_BY_DML, and initialization copies the data that executions
    /// need.
    Initialization,
    /// Execution only.
    Execution,
}

/// The requirements of a plan on one binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingRequirement {
    /// The operator's field or an element of it, such as `OutputTensor` or `OutputTensors[1]`.
    pub field: Cow<'static, str>,
    /// Bytes that the binding must cover, see [`TensorLayout::binding_size`].
    pub size: u64,
    /// The binding's offset must be a multiple of this.
    pub alignment: u32,
    /// When the tensor must be bound; at any other time it must not be.
    pub bound_at: BoundAt,
}

impl BindingRequirement {
    /// The requirements of a tensor that is bound to `field`.
    pub fn of(field: impl Into<Cow<'static, str>>, tensor: &TensorLayout) -> Self {
        let size = tensor.binding_size();
        let owned = tensor.flags().contains(TensorFlags::OWNED_BY_DML);
        let bound_at = if owned { BoundAt::Initialization } else { BoundAt::Execution };
        Self { field: field.into(), size, alignment: tensor.alignment(), bound_at }
    }
}

/// The steps and resources to execute an operator, independent of any device object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The operator's name, for labels and messages.
    pub operator: &'static str,
    /// The strategy of [`Plan::exec`].
    pub strategy: Strategy,
    /// One entry for each input binding; `None` where an optional input is absent.
    pub inputs: Vec<Option<BindingRequirement>>,
    /// One entry for each output binding.
    pub outputs: Vec<Option<BindingRequirement>>,
    /// The steps of initialization, run once before the first execution.
    pub init: Vec<Step>,
    /// The steps of every execution.
    pub exec: Vec<Step>,
    /// Pairs of an input and an output that may be bound to exactly the same bytes, each pair once. Any other
    /// input shares no byte with an output.
    pub in_place: Vec<InPlace>,
    /// The size of [`Slot::Temporary`] in bytes, a multiple of 4; 0 if it is not used.
    pub temporary_size: u64,
    /// The size of [`Slot::Persistent`] in bytes, a multiple of 4; 0 if it is not used.
    pub persistent_size: u64,
    /// Where the two resources may be divided into several buffers.
    pub divisions: Divisions,
    /// Contents of [`Slot::Constants`].
    pub constants: Vec<u8>,
}

impl Plan {
    /// Every step of every phase.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        let in_place = self.in_place.iter().flat_map(InPlace::own_steps);
        self.init.iter().chain(&self.exec).chain(in_place)
    }

    /// The optional features that the plan's kernels need.
    pub fn required_features(&self) -> Features {
        let dispatches = self.steps().filter_map(|step| match step {
            Step::Dispatch(dispatch) => Some(dispatch),
            _ => None,
        });
        let features = dispatches.flat_map(|it| it.kernel.variant.required_features.iter());
        features.copied().collect()
    }

    /// Whether every step is a dispatch, so that buffers need no transfer usage.
    pub fn is_dispatch_only(&self) -> bool {
        self.steps().all(|step| matches!(step, Step::Dispatch(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(range: Range<u64>) -> Window {
        Window { slot: Slot::Output(0), range, access: Access::Write, base_word_at: 0 }
    }

    #[test]
    fn a_window_on_the_alignment_has_no_remainder() {
        let placed = window(0..64).place(512, 256);
        assert_eq!(placed, PlacedWindow { offset: 512, size: 64, base_word: 0 });
    }

    #[test]
    fn a_window_off_the_alignment_starts_below_and_skips() {
        let placed = window(0..64).place(272, 256);
        assert_eq!(placed, PlacedWindow { offset: 256, size: 80, base_word: 4 });
        let placed = window(16..20).place(4096, 64);
        assert_eq!(placed, PlacedWindow { offset: 4096, size: 20, base_word: 4 });
    }

    #[test]
    fn a_copy_reads_its_source_and_writes_its_destination() {
        let copy = Step::Copy(Copy {
            source: Slot::Input(0),
            destination: Slot::Output(0),
            regions: vec![CopyRegion::once(4, 8, 12)],
        });
        assert_eq!(
            copy.uses(),
            [
                Use { slot: Slot::Input(0), range: 4..16, access: Access::Read },
                Use { slot: Slot::Output(0), range: 8..20, access: Access::Write },
            ]
        );
        assert_eq!(copy.stage(), Stage::Transfer);
    }
}
