//! Recording an operator into a command buffer.

use ash::vk;
use dml_core::plan::Slot;

use crate::bind::compiled_plan::Phase;
use crate::bind::places::{BoundDispatch, BoundStep, Command};
use crate::bind::table::BindingTable;
use crate::error::{Error, Result};
use crate::record::barrier::Barrier;
use crate::record::recorder::Recorder;
use crate::record::writer::Writer;

/// Records the operators of a table: one execution, or the initialization of those that the table was made
/// for. Nothing is allocated, submitted or waited for.
///
/// Barriers are only recorded between the operator's own steps, not around them: see [`crate::access()`]. The
/// caller must record one between an initialization and an execution. The results of an operator that [needs
/// initialization](crate::CompiledOperator::needs_initialization) and was not initialized are undefined.
/// Recording changes the bound compute pipeline, descriptor set 0 and the push constants.
///
/// # Safety
///
/// - `command_buffer` is in the recording state, outside a render pass, of the table's device, of the
///   device's queue family ([`Device::queue_family`](crate::Device::queue_family)), and used by no other
///   thread meanwhile. Another family would need a transfer of ownership of every buffer, those of the
///   runtime included, which have VK_SHARING_MODE_EXCLUSIVE.
/// - A clone of `table` is kept until the command buffer is reset, freed, or has completed for the
///   last time.
/// - From each submission of the command buffer until it has completed, nothing that is not ordered by a
///   barrier or semaphore touches the same bytes: what the operator writes is neither read nor written,
///   what it reads is not written. That goes for the safe functions as well: [`crate::Device::submit`],
///   [`crate::Device::read_buffer`] and [`crate::Device::write_buffer`] order themselves after what
///   this crate submitted, and know nothing of submissions of the caller's own.
pub unsafe fn record_plan(command_buffer: vk::CommandBuffer, table: &BindingTable) {
    let writer = Writer { raw: &table.device().shared.raw, command_buffer };
    let mut has_temporary = false;
    for part in table.parts() {
        let uses_temporary = part.bound.iter().any(|it| it.slot == Slot::Temporary);
        if uses_temporary && has_temporary {
            // SAFETY: this function's own promises.
            unsafe { writer.barrier(&Barrier::all()) };
        }
        has_temporary |= uses_temporary;
        // SAFETY: this function's own promises.
        unsafe { writer.operator(&part.compiled.shared.label, &part.steps) };
    }
}

impl Recorder {
    /// Records the initialization of operators, from a table made with
    /// [`BindingTable::for_initialization`] or [`BindingTable::for_initializations`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] where the table belongs to another device, or was made for
    /// executions.
    pub fn initialize(&mut self, table: &BindingTable) -> Result<()> {
        self.record(table, Phase::Initialize)
    }

    /// Records an execution of a bound operator.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] where the table belongs to another device, or was made for
    /// initialization.
    pub fn dispatch(&mut self, table: &BindingTable) -> Result<()> {
        self.record(table, Phase::Execute)
    }

    fn record(&mut self, table: &BindingTable, phase: Phase) -> Result<()> {
        if !table.device().is_same(self.device()) {
            return Err(Error::invalid("table", "it belongs to another device"));
        }
        if table.phase() != phase {
            let problem = match phase {
                Phase::Initialize => "it was made for executions, not for initialization",
                Phase::Execute => "it was made for initialization, not for executions",
            };
            return Err(Error::invalid("table", problem));
        }
        self.keep(table.keep_alive());
        // SAFETY: the command buffer is recording and `self` is borrowed exclusively; the table was
        // just stored beside it, and the list is kept until the commands have completed.
        unsafe { record_plan(self.command_buffer(), table) };
        Ok(())
    }
}

impl Writer<'_> {
    /// # Safety
    ///
    /// As [`record_plan`].
    unsafe fn operator(&self, label: &std::ffi::CStr, steps: &[BoundStep]) {
        if let Some(debug) = self.raw.debug() {
            let label = vk::DebugUtilsLabelEXT::default().label_name(label);
            // SAFETY: the caller's promise; `label` outlives the call.
            unsafe {
                (debug.cmd_begin_debug_utils_label_ext)(self.command_buffer, &raw const label);
            }
        }
        let mut bound = vk::Pipeline::null();
        for step in steps {
            if let Some(barrier) = &step.barrier {
                // SAFETY: the caller's promise.
                unsafe { self.barrier(barrier) };
            }
            // SAFETY: the caller's promise.
            unsafe { self.command(&step.command, &mut bound) };
        }
        if let Some(debug) = self.raw.debug() {
            // SAFETY: the caller's promise; the label was begun above.
            unsafe { (debug.cmd_end_debug_utils_label_ext)(self.command_buffer) };
        }
    }

    /// # Safety
    ///
    /// As [`record_plan`]; the command's handles are alive.
    unsafe fn command(&self, command: &Command, bound: &mut vk::Pipeline) {
        match command {
            Command::Fill { buffer, offset, size, pattern } => {
                // SAFETY: the caller's promise; the range was checked when it was bound.
                unsafe { self.fill(*buffer, *offset, *size, *pattern) };
            }
            Command::Update { buffer, offset, data } => {
                let core = self.raw.core();
                // SAFETY: the caller's promise; the range was checked when it was bound.
                unsafe { core.cmd_update_buffer(self.command_buffer, *buffer, *offset, data) };
            }
            Command::Copy { source, destination, regions } => {
                // SAFETY: the caller's promise; the regions were checked when they were bound.
                unsafe { self.copy(*source, *destination, regions) };
            }
            Command::Dispatch(dispatch) => {
                // SAFETY: the caller's promise.
                unsafe { self.dispatch(dispatch, bound) };
            }
        }
    }

    /// # Safety
    ///
    /// As [`record_plan`]; the dispatch is one of a table that the caller keeps.
    unsafe fn dispatch(&self, dispatch: &BoundDispatch, bound: &mut vk::Pipeline) {
        let core = self.raw.core();
        let (point, pipeline) = (vk::PipelineBindPoint::COMPUTE, &dispatch.pipeline);
        if *bound != pipeline.handle {
            // SAFETY: the caller's promise; the pipeline is kept by the table.
            unsafe { core.cmd_bind_pipeline(self.command_buffer, point, pipeline.handle) };
            *bound = pipeline.handle;
        }
        let sets = [dispatch.set];
        // SAFETY: the caller's promise; the set was allocated with the pipeline's set layout.
        unsafe {
            core.cmd_bind_descriptor_sets(
                self.command_buffer,
                point,
                pipeline.layout.handle,
                0,
                &sets,
                &[],
            );
        }
        let (stage, bytes) = (vk::ShaderStageFlags::COMPUTE, dispatch.push_constants());
        if !bytes.is_empty() {
            // SAFETY: the caller's promise; the pipeline's layout has a range of this size.
            unsafe {
                core.cmd_push_constants(
                    self.command_buffer,
                    pipeline.layout.handle,
                    stage,
                    0,
                    bytes,
                );
            }
        }
        let [x, y, z] = dispatch.groups;
        // SAFETY: the caller's promise; the counts were checked against the device's limits.
        unsafe { core.cmd_dispatch(self.command_buffer, x, y, z) };
    }
}
