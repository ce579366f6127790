//! What all recordings of a program have in common: its operators, and the buffers that are not inputs or
//! outputs.

use std::sync::Mutex;

use dml::vk::Recorder;
use dml::{Buffer, CompiledOperator, Device};

use crate::error::Result;
use crate::program::{Initial, Program, Read, Source, Step};

use super::at;
use super::bound::{Bound, Table, When};
use super::progress::{Progress, Uploads};
use super::upload::{Weights, create, fill, name};

/// A program's operators with what they are given once.
#[derive(Debug)]
pub(super) struct Resources {
    operators: Vec<CompiledOperator>,
    /// `None` for those that each recording has: the program's inputs, and outputs that runs write.
    buffers: Vec<Option<Buffer>>,
    /// Which of the buffers runs write.
    is_written: Vec<bool>,
    /// Buffers that are filled again before each run, since operators write them. Whoever holds them
    /// runs: recordings write the same intermediate results.
    refilled: Mutex<Vec<(Buffer, Initial)>>,
    scratch: Option<Buffer>,
    persistent: Vec<Option<Buffer>>,
}

impl Resources {
    /// Uploads what is part of the model, and does what is the same in every run.
    pub(super) fn new(
        device: &Device,
        program: &Program,
        operators: Vec<CompiledOperator>,
        (weights, tell): (&Weights, &dyn Fn(Progress)),
    ) -> Result<Self> {
        let mut uploads = Uploads::new(program, tell);
        let is_written = written(program);
        let is_read = read(program);
        let (mut buffers, mut refilled) = (Vec::new(), Vec::new());
        for (index, plan) in program.buffers.iter().enumerate() {
            buffers.push(match &plan.initial {
                Initial::Input(_) => None,
                Initial::Undefined if is_written[index] && is_read[index] => None,
                Initial::Weight(weight) => Some(weights.buffer(device, plan, weight)?),
                initial => {
                    let buffer = create(device, plan.size)?;
                    match initial {
                        Initial::Tensor(_) | Initial::Sequence(_) if is_written[index] => {
                            refilled.push((buffer.clone(), initial.clone()));
                        }
                        initial => fill(device, &buffer, initial)?,
                    }
                    Some(buffer)
                }
            });
            uploads.filled(&plan.initial, plan.size);
        }
        let scratch = scratch(device, &operators)?;
        let persistent = operators.iter().map(|it| {
            let size = it.binding_properties().persistent_resource_size;
            (size > 0).then(|| create(device, size)).transpose()
        });
        let persistent = persistent.collect::<Result<Vec<_>>>()?;
        let refilled = Mutex::new(refilled);
        let new = Self { operators, buffers, is_written, refilled, scratch, persistent };
        prepare(device, &new.tables(program, &new.buffers, When::Once)?)?;
        Ok(new)
    }

    /// The buffer with this number; `None` where each recording has its own.
    pub(super) fn buffer(&self, index: usize) -> Option<&Buffer> {
        self.buffers.get(index).and_then(Option::as_ref)
    }

    /// Whoever holds it runs the program, and fills these before.
    pub(super) fn refilled(&self) -> &Mutex<Vec<(Buffer, Initial)>> {
        &self.refilled
    }

    /// What of each step that has an operator is done then, with these buffers.
    pub(super) fn tables(
        &self,
        program: &Program,
        buffers: &[Option<Buffer>],
        when: When,
    ) -> Result<Vec<Table>> {
        let mut initialized = vec![false; self.operators.len()];
        let mut tables = Vec::new();
        for step in &program.steps {
            let Some(operator) = operator_of(step) else { continue };
            let is_first = !std::mem::replace(&mut initialized[operator], true);
            let of = Bound {
                program,
                buffers,
                operator,
                compiled: &self.operators[operator],
                temporary: self.scratch.as_ref(),
                persistent: self.persistent[operator].as_ref(),
            };
            tables.push(match step {
                Step::Initialize(step) => of.initialization(step, when)?,
                Step::Dispatch(dispatch) => {
                    of.dispatch(dispatch, (is_first, when), &self.is_written)?
                }
                Step::Read(_) => continue,
            });
        }
        Ok(tables)
    }
}

/// The operator that a step initializes or executes.
pub(super) fn operator_of(step: &Step) -> Option<usize> {
    match step {
        Step::Initialize(step) => Some(step.operator),
        Step::Dispatch(dispatch) => Some(dispatch.operator),
        Step::Read(_) => None,
    }
}

/// Does what is the same in every run, and waits for it.
fn prepare(device: &Device, tables: &[Table]) -> Result<()> {
    if tables.iter().all(|it| it.initialization.is_none() && it.execution.is_none()) {
        return Ok(());
    }
    let failed = |error: dml::vk::Error| at(&name(), error.into());
    let mut recorder = Recorder::new(device.vulkan()).map_err(failed)?;
    for table in tables {
        table.record(&mut recorder).map_err(failed)?;
    }
    let list = recorder.finish().map_err(failed)?;
    device.vulkan().submit(list).and_then(|it| it.wait()).map_err(failed)
}

/// Which buffers runs write.
fn written(program: &Program) -> Vec<bool> {
    let mut written = vec![false; program.buffers.len()];
    for step in &program.steps {
        let Step::Dispatch(dispatch) = step else { continue };
        if dispatch.once {
            continue;
        }
        for binding in dispatch.outputs.iter().flatten() {
            written[binding.buffer] = true;
        }
    }
    written
}

/// Which buffers have outputs of the program.
fn read(program: &Program) -> Vec<bool> {
    let mut read = vec![false; program.buffers.len()];
    for step in &program.steps {
        if let Step::Read(Read { source: Source::Buffer(binding), .. }) = step {
            read[binding.buffer] = true;
        }
    }
    read
}

/// One buffer for what operators need while they run, one after the other.
fn scratch(device: &Device, operators: &[CompiledOperator]) -> Result<Option<Buffer>> {
    let size = |it: &CompiledOperator| it.binding_properties().temporary_resource_size;
    match operators.iter().map(size).max().unwrap_or(0) {
        0 => Ok(None),
        size => create(device, size).map(Some),
    }
}
