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

/// An operator with the buffers that it is bound to.
pub(super) struct Bound<'a> {
    pub(super) program: &'a Program,
    pub(super) buffers: &'a [Buffer],
    pub(super) operator: usize,
    pub(super) compiled: &'a CompiledOperator,
    pub(super) temporary: Option<&'a Buffer>,
    pub(super) persistent: Option<&'a Buffer>,
}

impl Bound<'_> {
    /// An execution, and the initialization before it where it is the first.
    pub(super) fn dispatch(&self, dispatch: &Dispatch, is_first: bool) -> Result<Table> {
        let initialization = match self.compiled.needs_initialization() && is_first {
            false => None,
            true => Some(self.initialized(&dispatch.inputs)?),
        };
        let inputs = self.inputs(&dispatch.inputs, BoundAt::Execution);
        let bound = |it: &Option<Binding>| it.as_ref().map(|binding| self.binding(binding));
        let outputs: Vec<_> = dispatch.outputs.iter().map(bound).collect();
        let bindings = Bindings { outputs: &outputs, ..self.bindings(&inputs) };
        let execution = BindingTable::new(self.compiled.vulkan(), &bindings);
        let execution = Some(execution.map_err(|error| self.failed(error))?);
        Ok(Table { initialization, execution })
    }

    pub(super) fn initialization(&self, step: &Initialization) -> Result<Table> {
        let initialization = match self.compiled.needs_initialization() {
            false => None,
            true => Some(self.initialized(&step.inputs)?),
        };
        Ok(Table { initialization, execution: None })
    }

    fn initialized(&self, inputs: &[Option<Binding>]) -> Result<BindingTable> {
        let inputs = self.inputs(inputs, BoundAt::Initialization);
        let table =
            BindingTable::for_initialization(self.compiled.vulkan(), &self.bindings(&inputs));
        table.map_err(|error| self.failed(error))
    }

    /// Whether what the operator keeps of these inputs is the same in every run: no run writes it.
    pub(super) fn owns_constants(&self, dispatch: &Dispatch, is_written: &[bool]) -> bool {
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
            it.as_ref().filter(|_| is_now(index)).map(|binding| self.binding(binding))
        });
        inputs.collect()
    }

    fn is_owned(&self, input: usize) -> bool {
        let needs = self.compiled.vulkan().inputs().get(input).and_then(Option::as_ref);
        needs.is_some_and(|it| it.bound_at == BoundAt::Initialization)
    }

    fn binding(&self, binding: &Binding) -> BufferBinding<'_> {
        let Binding { buffer, offset, size } = *binding;
        BufferBinding { buffer: &self.buffers[buffer], offset, size }
    }

    fn failed(&self, error: dml::vk::Error) -> Error {
        at(&self.program.operators[self.operator].node, error.into())
    }
}
