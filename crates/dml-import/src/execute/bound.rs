//! Operators with their buffers bound.

use dml::vk::{BindingTable, Bindings, Recorder};
use dml::{Buffer, BufferBinding, CompiledOperator};
use dml_core::plan::BoundAt;

use crate::error::Result;
use crate::program::{Binding, Dispatch, Initial, Initialization, Program};

use super::{Error, at};

/// The commands of one step: an initialization, an execution, or an initialization followed by an execution.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) initialization: Option<BindingTable>,
    pub(super) execution: Option<BindingTable>,
}

impl Table {
    /// Records the commands, with barriers before them: operators share one temporary resource.
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

/// When a command is executed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Before the first run.
    Once,
    /// In each run.
    Always,
}

/// An operator with the buffers that it is bound to.
pub(super) struct BoundOperator<'a> {
    pub(super) program: &'a Program,
    pub(super) buffers: &'a [Option<Buffer>],
    pub(super) operator: usize,
    pub(super) compiled: &'a CompiledOperator,
    pub(super) temporary: &'a [Buffer],
    pub(super) persistent: &'a [Buffer],
}

impl BoundOperator<'_> {
    /// The commands of a dispatch at time `when`. The first dispatch of an operator initializes it.
    pub(super) fn dispatch(
        &self,
        dispatch: &Dispatch,
        (is_first, when): (bool, When),
        is_written: &[bool],
    ) -> Result<Table> {
        let is_initialized = is_first
            && self.compiled.needs_initialization()
            && is_packed(self.program, (self.compiled, dispatch), is_written)
                == (when == When::Once);
        let initialization = is_initialized.then(|| self.initialized(&dispatch.inputs));
        let is_executed = dispatch.once == (when == When::Once);
        let execution = is_executed.then(|| self.executed(dispatch));
        Ok(Table { initialization: initialization.transpose()?, execution: execution.transpose()? })
    }

    /// The commands of an explicit initialization, which belongs to each run.
    pub(super) fn initialization(&self, step: &Initialization) -> Result<Table> {
        let is_initialized = self.compiled.needs_initialization();
        let initialization = is_initialized.then(|| self.initialized(&step.inputs)).transpose()?;
        Ok(Table { initialization, execution: None })
    }

    /// The commands that pack the weights which the operator owns.
    pub(super) fn packing(&self, dispatch: &Dispatch) -> Result<Table> {
        let initialization = Some(self.initialized(&dispatch.inputs)?);
        Ok(Table { initialization, execution: None })
    }

    fn executed(&self, dispatch: &Dispatch) -> Result<BindingTable> {
        let inputs = self.inputs(&dispatch.inputs, BoundAt::Execution);
        let bound = |it: &Option<Binding>| it.as_ref().and_then(|binding| self.binding(binding));
        let outputs: Vec<_> = dispatch.outputs.iter().map(bound).collect();
        let [temporary, persistent] = self.resources();
        let bindings = Bindings {
            inputs: &inputs,
            outputs: &outputs,
            temporary: &temporary,
            persistent: &persistent,
        };
        let table = BindingTable::new(self.compiled.vulkan(), &bindings);
        table.map_err(|error| self.failed(error))
    }

    fn initialized(&self, inputs: &[Option<Binding>]) -> Result<BindingTable> {
        let inputs = self.inputs(inputs, BoundAt::Initialization);
        let [temporary, persistent] = self.resources();
        let bindings = Bindings {
            inputs: &inputs,
            outputs: &[],
            temporary: &temporary,
            persistent: &persistent,
        };
        let table = BindingTable::for_initialization(self.compiled.vulkan(), &bindings);
        table.map_err(|error| self.failed(error))
    }

    /// The temporary and the persistent resource.
    fn resources(&self) -> [Vec<BufferBinding<'_>>; 2] {
        [self.temporary, self.persistent].map(|it| it.iter().map(BufferBinding::whole).collect())
    }

    /// The inputs that are bound at initialization, or those bound at execution.
    fn inputs(&self, inputs: &[Option<Binding>], time: BoundAt) -> Vec<Option<BufferBinding<'_>>> {
        let is_now =
            |index: usize| is_owned(self.compiled, index) == (time == BoundAt::Initialization);
        let inputs = inputs.iter().enumerate().map(|(index, it)| {
            it.as_ref().filter(|_| is_now(index)).and_then(|binding| self.binding(binding))
        });
        inputs.collect()
    }

    /// The buffer range of a binding; `None` for buffers that belong to a recording.
    fn binding(&self, binding: &Binding) -> Option<BufferBinding<'_>> {
        let Binding { buffer, offset, size } = *binding;
        let buffer = self.buffers[buffer].as_ref()?;
        Some(BufferBinding { buffer, offset, size })
    }

    fn failed(&self, error: dml::vk::Error) -> Error {
        at(&self.program.operators[self.operator].node, error.into())
    }
}

/// Whether an operator has inputs of its own, and all of them are the same in every run: neither steps nor callers
/// write them. They are packed before the first run.
pub(super) fn is_packed(
    program: &Program,
    (operator, dispatch): (&CompiledOperator, &Dispatch),
    is_written: &[bool],
) -> bool {
    let is_constant = |binding: &Binding| {
        let initial = &program.buffers[binding.buffer].initial;
        !is_written[binding.buffer] && !matches!(initial, Initial::Input(_))
    };
    let owned = dispatch.inputs.iter().enumerate().filter(|(index, _)| is_owned(operator, *index));
    owned.filter_map(|(_, it)| it.as_ref()).all(is_constant)
}

/// Whether the input is OWNED_BY_DML.
pub(super) fn is_owned(operator: &CompiledOperator, input: usize) -> bool {
    let needs = operator.vulkan().inputs().get(input).and_then(Option::as_ref);
    needs.is_some_and(|need| need.bound_at == BoundAt::Initialization)
}
