//! Operators with the buffers that they are bound to.

use dml::vk::{BindingTable, Bindings, Recorder};
use dml::{Buffer, BufferBinding, CompiledOperator};
use dml_core::plan::BoundAt;

use crate::error::Result;
use crate::program::{Binding, Dispatch, Initial, Initialization, Program};

use super::{Error, at};

/// What is recorded of one step: an initialization, an execution, or one before the other.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) initialization: Option<BindingTable>,
    pub(super) execution: Option<BindingTable>,
}

impl Table {
    /// Adds what it has, after all before: operators have one temporary resource.
    pub(super) fn record(
        &self,
        recorder: &mut Recorder,
    ) -> std::result::Result<(), dml::vk::Error> {
        if let Some(table) = &self.initialization {
            recorder.barrier_all();
            recorder.initialize(table)?;
        }
        if let Some(table) = &self.execution {
            recorder.barrier_all();
            recorder.dispatch(table)?;
        }
        Ok(())
    }
}

/// When something is done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Before the first run.
    Once,
    /// In each run.
    Always,
}

/// An operator with the buffers that it is bound to.
pub(super) struct Bound<'a> {
    pub(super) program: &'a Program,
    pub(super) buffers: &'a [Option<Buffer>],
    pub(super) operator: usize,
    pub(super) compiled: &'a CompiledOperator,
    pub(super) temporary: Option<&'a Buffer>,
    pub(super) persistent: Option<&'a Buffer>,
}

impl Bound<'_> {
    /// What of a dispatch is done then: the first one of an operator initializes it.
    pub(super) fn dispatch(
        &self,
        dispatch: &Dispatch,
        (is_first, when): (bool, When),
        is_written: &[bool],
    ) -> Result<Table> {
        let is_initialized = is_first
            && self.compiled.needs_initialization()
            && self.owns_constants(dispatch, is_written) == (when == When::Once);
        let initialization = is_initialized.then(|| self.initialized(&dispatch.inputs));
        let is_executed = dispatch.once == (when == When::Once);
        let execution = is_executed.then(|| self.executed(dispatch));
        Ok(Table { initialization: initialization.transpose()?, execution: execution.transpose()? })
    }

    /// What of an initialization is done then: a program that has it wants it in each run.
    pub(super) fn initialization(&self, step: &Initialization, when: When) -> Result<Table> {
        let is_initialized = when == When::Always && self.compiled.needs_initialization();
        let initialization = is_initialized.then(|| self.initialized(&step.inputs)).transpose()?;
        Ok(Table { initialization, execution: None })
    }

    fn executed(&self, dispatch: &Dispatch) -> Result<BindingTable> {
        let inputs = self.inputs(&dispatch.inputs, BoundAt::Execution);
        let bound = |it: &Option<Binding>| it.as_ref().and_then(|binding| self.binding(binding));
        let outputs: Vec<_> = dispatch.outputs.iter().map(bound).collect();
        let bindings = Bindings { outputs: &outputs, ..self.bindings(&inputs) };
        let table = BindingTable::new(self.compiled.vulkan(), &bindings);
        table.map_err(|error| self.failed(error))
    }

    fn initialized(&self, inputs: &[Option<Binding>]) -> Result<BindingTable> {
        let inputs = self.inputs(inputs, BoundAt::Initialization);
        let table =
            BindingTable::for_initialization(self.compiled.vulkan(), &self.bindings(&inputs));
        table.map_err(|error| self.failed(error))
    }

    /// Whether what the operator keeps of these inputs is the same in every run: no run writes it.
    fn owns_constants(&self, dispatch: &Dispatch, is_written: &[bool]) -> bool {
        let is_constant = |binding: &Binding| {
            let initial = &self.program.buffers[binding.buffer].initial;
            !is_written[binding.buffer] && !matches!(initial, Initial::Input(_))
        };
        let owned = dispatch.inputs.iter().enumerate().filter(|(index, _)| self.is_owned(*index));
        owned.filter_map(|(_, it)| it.as_ref()).all(is_constant)
    }

    /// These inputs, and no outputs.
    fn bindings<'b>(&'b self, inputs: &'b [Option<BufferBinding<'b>>]) -> Bindings<'b> {
        let temporary = self.temporary.map(BufferBinding::whole);
        let persistent = self.persistent.map(BufferBinding::whole);
        Bindings { inputs, outputs: &[], temporary, persistent }
    }

    /// The inputs that are bound at this time.
    fn inputs(&self, inputs: &[Option<Binding>], time: BoundAt) -> Vec<Option<BufferBinding<'_>>> {
        let is_now = |index: usize| self.is_owned(index) == (time == BoundAt::Initialization);
        let inputs = inputs.iter().enumerate().map(|(index, it)| {
            it.as_ref().filter(|_| is_now(index)).and_then(|binding| self.binding(binding))
        });
        inputs.collect()
    }

    fn is_owned(&self, input: usize) -> bool {
        let needs = self.compiled.vulkan().inputs().get(input).and_then(Option::as_ref);
        needs.is_some_and(|it| it.bound_at == BoundAt::Initialization)
    }

    /// What is done once uses no buffer that is a recording's own.
    fn binding(&self, binding: &Binding) -> Option<BufferBinding<'_>> {
        let Binding { buffer, offset, size } = *binding;
        let buffer = self.buffers[buffer].as_ref()?;
        Some(BufferBinding { buffer, offset, size })
    }

    fn failed(&self, error: dml::vk::Error) -> Error {
        at(&self.program.operators[self.operator].node, error.into())
    }
}
