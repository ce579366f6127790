//! Recording an operator into a command buffer.

use std::ffi::CStr;

use ash::vk;
use dml_core::plan::Slot;

use crate::bind::compiled_plan::Phase;
use crate::bind::slot_buffers::{BoundDispatch, BoundStep, Command};
use crate::bind::table::BindingTable;
use crate::error::{Error, Result};
use crate::record::barrier::Barrier;
use crate::record::batches::{BatchStart, Batches};
use crate::record::recorder::Recorder;
use crate::record::writer::Writer;

/// Records the operators of a table: one execution, or the initialization of those that the table was made
/// for. Nothing is allocated, submitted or waited for.
///
/// All commands go into this command buffer, so only the bound on dispatches of the device's [work
/// bound](crate::Device::work_bound) holds. A [`Recorder`] divides its commands into batches.
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
    // SAFETY: this function's own promises.
    unsafe { record_in_batches(command_buffer, &[], table) };
}

/// Records a table into `first`, and from each of `later` on into that.
///
/// # Safety
///
/// As [`record_plan`], for all of these command buffers; they are submitted in this order.
unsafe fn record_in_batches(first: vk::CommandBuffer, later: &[BatchStart], table: &BindingTable) {
    let writer = Writer { raw: &table.device().shared.raw, command_buffer: first };
    let mut writer = BatchWriter { writer, later: later.iter(), recorded: 0 };
    let mut has_temporary = false;
    for part in table.parts() {
        let uses_temporary = part.bound.iter().any(|it| it.slot == Slot::Temporary);
        if uses_temporary && has_temporary {
            // SAFETY: this function's own promises.
            unsafe { writer.writer.barrier(&Barrier::all()) };
        }
        has_temporary |= uses_temporary;
        // SAFETY: this function's own promises.
        unsafe { writer.operator(&part.compiled.shared.label, &part.steps) };
    }
}

/// A writer that goes on from one command buffer to the next.
struct BatchWriter<'a> {
    writer: Writer<'a>,
    /// The next ones.
    later: std::slice::Iter<'a, BatchStart>,
    /// Steps of the table so far.
    recorded: usize,
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
        let first = self.command_buffer();
        let steps = table.parts().iter().flat_map(|part| &part.steps);
        let later = self.make_room(steps.map(|step| step.work))?;
        self.keep(table.keep_alive());
        // SAFETY: the command buffers are recording and `self` is borrowed exclusively; the table was
        // just stored beside them, and the list is kept until the commands have completed.
        unsafe { record_in_batches(first, &later, table) };
        Ok(())
    }
}

impl BatchWriter<'_> {
    /// # Safety
    ///
    /// As [`record_in_batches`].
    unsafe fn operator(&mut self, label: &CStr, steps: &[BoundStep]) {
        // SAFETY: the caller's promise.
        unsafe { self.writer.begin_label(label) };
        let mut bound = vk::Pipeline::null();
        for step in steps {
            let next = self.later.as_slice().first().filter(|next| next.step == self.recorded);
            if let Some(BatchStart { command_buffer, .. }) = next.copied() {
                self.later.next();
                // SAFETY: the caller's promise; the label was begun above.
                unsafe { self.writer.end_label() };
                self.writer.command_buffer = command_buffer;
                // SAFETY: the caller's promise.
                unsafe { self.writer.barrier(&Batches::barrier()) };
                // SAFETY: the caller's promise.
                unsafe { self.writer.begin_label(label) };
                // Command buffers inherit nothing.
                bound = vk::Pipeline::null();
            }
            if let Some(barrier) = &step.barrier {
                // SAFETY: the caller's promise.
                unsafe { self.writer.barrier(barrier) };
            }
            // SAFETY: the caller's promise.
            unsafe { self.writer.command(&step.command, &mut bound) };
            self.recorded += 1;
        }
        // SAFETY: the caller's promise; the label was begun above.
        unsafe { self.writer.end_label() };
    }
}

impl Writer<'_> {
    /// # Safety
    ///
    /// As [`record_plan`].
    unsafe fn begin_label(&self, label: &CStr) {
        let Some(debug) = self.raw.debug() else { return };
        let label = vk::DebugUtilsLabelEXT::default().label_name(label);
        // SAFETY: the caller's promise; `label` outlives the call.
        unsafe { (debug.cmd_begin_debug_utils_label_ext)(self.command_buffer, &raw const label) };
    }

    /// # Safety
    ///
    /// As [`record_plan`]; a label was begun in this command buffer.
    unsafe fn end_label(&self) {
        let Some(debug) = self.raw.debug() else { return };
        // SAFETY: the caller's promise.
        unsafe { (debug.cmd_end_debug_utils_label_ext)(self.command_buffer) };
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
