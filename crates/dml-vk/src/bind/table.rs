//! Binding tables: an operator with its buffers, ready to be recorded any number of times.
//!
//! Everything that depends on where buffers are bound is done here: descriptor sets are allocated and written, push
//! constants patched, copy regions shifted. Recording a table therefore allocates nothing.

use std::fmt;
use std::sync::Arc;

use dml_core::plan::Slot;

use crate::bind::binding::{Bindings, CheckedBinding, sharing};
use crate::bind::compiled::CompiledOperator;
use crate::bind::compiled_plan::Phase;
use crate::bind::part::TablePart;
use crate::bind::slot_buffers::Command;
use crate::device::Device;
use crate::device::queue::SubmittedResources;
use crate::error::{Error, Result};
use crate::memory::buffer::BufferShared;
use crate::record::recorder::KeptResources;

/// Operators with the buffers that they work on: one for its executions, or any number for their
/// initialization.
///
/// A cheap handle to something immutable: clones share the table, which may be recorded many times
/// and be in flight several times. It owns its descriptor sets and keeps the compiled operator and
/// the buffers alive; it must not be dropped before a command buffer that it was recorded into with
/// [`crate::record_plan`] has completed. A [`crate::Recorder`] sees to that by itself.
#[derive(Clone, Debug)]
pub struct BindingTable {
    shared: Arc<TableShared>,
}

/// The state that clones of a binding table share.
pub(crate) struct TableShared {
    pub(crate) parts: Vec<TablePart>,
    phase: Phase,
    dispatch_count: u64,
    device: Device,
}

impl TableShared {
    fn buffers(&self) -> impl Iterator<Item = &BufferShared> {
        self.parts.iter().flat_map(|part| &part.bound).map(|binding| &*binding.buffer.shared)
    }
}

impl SubmittedResources for TableShared {
    fn is_copied_by_host(&self) -> bool {
        self.buffers().any(BufferShared::is_copied_by_host)
    }

    fn dispatch_count(&self) -> u64 {
        self.dispatch_count
    }

    fn note_submitted(&self, value: u64) {
        self.buffers().for_each(|buffer| buffer.note_submitted(value));
    }
}

impl BindingTable {
    /// Binds buffers to an operator for its executions.
    ///
    /// The operator's preferred plan is used if the buffers' usages suffice: STORAGE, and TRANSFER_DST for
    /// outputs and TRANSFER_SRC for inputs. Buffers with STORAGE alone get the same bytes from a plan made of
    /// dispatches only, which is usually slower.
    ///
    /// Inputs that are OWNED_BY_DML are not bound. An output must not share bytes with another binding,
    /// except for the pairs in [`CompiledOperator::in_place`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidBinding`] naming the field if a binding is missing, unexpected, misaligned, outside
    /// its buffer, too small, overlapping a written one, or lacks a usage; [`Error::OutOfMemory`],
    /// [`Error::DeviceLost`].
    pub fn new(compiled: &CompiledOperator, bindings: &Bindings<'_>) -> Result<Self> {
        let parts = vec![TablePart::bind(compiled, bindings, Phase::Execute)?];
        Ok(Self::of(compiled.device(), parts, Phase::Execute))
    }

    /// Binds buffers to an operator for its initialization: the inputs that are OWNED_BY_DML and the
    /// resources, no other inputs, no outputs.
    ///
    /// # Errors
    ///
    /// As [`BindingTable::new`].
    pub fn for_initialization(
        compiled: &CompiledOperator,
        bindings: &Bindings<'_>,
    ) -> Result<Self> {
        Self::for_initializations(compiled.device(), &[(compiled, *bindings)])
    }

    /// Binds buffers to many operators of `device` for their initialization, as
    /// [`BindingTable::for_initialization`] does to one. They may share one temporary resource, which has the
    /// largest size that one of them needs: operators that use it then wait for each other. Apart from that,
    /// no operator may write bytes that another one reads or writes.
    ///
    /// # Errors
    ///
    /// As [`BindingTable::new`]; [`Error::InvalidArgument`] if an operator belongs to another device.
    pub fn for_initializations(
        device: &Device,
        operators: &[(&CompiledOperator, Bindings<'_>)],
    ) -> Result<Self> {
        if operators.iter().any(|(it, _)| !it.device().is_same(device)) {
            return Err(Error::invalid("operators", "one of them is another device's"));
        }
        let bind = |(compiled, bindings): &(&CompiledOperator, Bindings<'_>)| {
            TablePart::bind(compiled, bindings, Phase::Initialize)
        };
        let parts = operators.iter().map(bind).collect::<Result<Vec<_>>>()?;
        check_apart(&parts)?;
        Ok(Self::of(device, parts, Phase::Initialize))
    }

    fn of(device: &Device, parts: Vec<TablePart>, phase: Phase) -> Self {
        let steps = parts.iter().flat_map(|part| &part.steps);
        let dispatches = steps.filter(|step| matches!(step.command, Command::Dispatch(_)));
        let dispatch_count = dispatches.count() as u64;
        Self {
            shared: Arc::new(TableShared { parts, phase, dispatch_count, device: device.clone() }),
        }
    }

    /// The operators: exactly one if the table is for executions.
    pub fn operators(&self) -> impl Iterator<Item = &CompiledOperator> {
        self.shared.parts.iter().map(|part| &part.compiled)
    }

    /// The phase that the table was made for.
    pub fn phase(&self) -> Phase {
        self.shared.phase
    }

    /// Whether the operators' preferred plans are used, not the plans for buffers of STORAGE alone.
    pub fn uses_preferred_plan(&self) -> bool {
        self.shared.parts.iter().all(|part| part.is_preferred)
    }

    pub(crate) fn parts(&self) -> &[TablePart] {
        &self.shared.parts
    }

    /// A reference that keeps the table's resources alive.
    pub(crate) fn keep_alive(&self) -> Arc<dyn KeptResources> {
        Arc::clone(&self.shared) as _
    }

    /// The device that everything in the table belongs to.
    pub fn device(&self) -> &Device {
        &self.shared.device
    }
}

/// Checks that no operator writes bytes that another one uses, except for temporary resources.
fn check_apart(parts: &[TablePart]) -> Result<()> {
    let owners = parts.iter().flat_map(|part| std::iter::repeat_n(part, part.bound.len()));
    let owners: Vec<&TablePart> = owners.collect();
    let all: Vec<&CheckedBinding> = parts.iter().flat_map(|part| &part.bound).collect();
    let shared = sharing(&all);
    for (index, &at) in shared.iter().enumerate() {
        for &other in &shared[index + 1..] {
            let both = [all[at].slot, all[other].slot];
            let is_allowed = matches!(
                both,
                [Slot::Temporary, Slot::Temporary] | [Slot::Input(_), Slot::Input(_)]
            );
            let is_one = std::ptr::eq(owners[at], owners[other]);
            if !is_allowed && !is_one && all[at].overlaps(all[other]) {
                return Err(shared_bytes(owners[other], all[other], owners[at], all[at]));
            }
        }
    }
    Ok(())
}

fn shared_bytes(
    part: &TablePart,
    binding: &CheckedBinding,
    other: &TablePart,
    earlier: &CheckedBinding,
) -> Error {
    Error::InvalidBinding {
        operator: part.compiled.operator(),
        field: binding.field.clone(),
        problem: format!(
            "bytes {}..{} overlap {} of {} (bytes {}..{}) in the same buffer",
            binding.offset,
            binding.end(),
            earlier.field,
            other.compiled.operator(),
            earlier.offset,
            earlier.end()
        ),
        accepted: "a range that shares no byte with what another operator writes".to_owned(),
    }
}

impl fmt::Debug for TableShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operators: Vec<_> = self.parts.iter().map(|part| part.compiled.operator()).collect();
        f.debug_struct("TableShared")
            .field("operators", &operators)
            .field("phase", &self.phase)
            .finish_non_exhaustive()
    }
}
