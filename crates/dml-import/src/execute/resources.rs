//! The resources that all recordings of a program share: its operators, and the buffers that are neither inputs
//! nor outputs.

use std::sync::{Arc, Mutex};

use dml::{Buffer, BufferUsage, CompiledOperator, Device};

use crate::error::{Error, Result};
use crate::program::{Binding, Initial, Program, Read, Source, Step};

use super::bound::{Bound, Table, When};
use super::memory::{create, persistent, scratch};
use super::preparation::{PreparedOutputs, submit};
use super::progress::{Progress, Uploads};
use super::upload::{Weights, fill};

/// A program's compiled operators and shared buffers.
#[derive(Debug)]
pub(super) struct Resources {
    /// `None` for operators that are executed once.
    operators: Vec<Option<CompiledOperator>>,
    /// `None` for buffers that belong to recordings, which are inputs and outputs that runs write, and for
    /// those that runs do not read.
    buffers: Vec<Option<Buffer>>,
    /// Which of the buffers runs write.
    is_written: Vec<bool>,
    /// Buffers that are filled again before each run, since operators overwrite them. A run holds the lock,
    /// because all recordings write the same intermediate results.
    refilled: Mutex<Vec<(Buffer, Initial)>>,
    scratch: Option<Buffer>,
    persistent: Vec<Option<Buffer>>,
    /// Owners of buffers shared with other programs, kept alive as long as these resources.
    _weights: Vec<Arc<Buffer>>,
    _prepared: Vec<Arc<PreparedOutputs>>,
}

impl Resources {
    /// Uploads the model's weights, and executes the work that is the same in every run.
    pub(super) fn new(
        device: &Device,
        program: &Program,
        operators: Vec<Option<CompiledOperator>>,
        (weights, tell): (&Weights, &dyn Fn(Progress)),
    ) -> Result<Self> {
        let mut uploads = Uploads::new(program, tell);
        let uses = Uses::of(program);
        let (mut buffers, mut refilled, mut held) = (Vec::new(), Vec::new(), Vec::new());
        for (index, plan) in program.buffers.iter().enumerate() {
            let buffer = match &plan.initial {
                Initial::Input(_) => None,
                Initial::Undefined if uses.is_made_once[index] => None,
                Initial::Undefined if uses.is_written[index] && uses.is_read[index] => None,
                Initial::Weight(_) if !uses.is_bound[index] => None,
                Initial::Weight(weight) => {
                    let weight = weights.buffer(device, plan, weight)?;
                    held.push(Arc::clone(&weight));
                    Some((*weight).clone())
                }
                initial => {
                    let buffer = create(device, plan.size, || program.content(index))?;
                    match initial {
                        Initial::Tensor(_) | Initial::Sequence(_) if uses.is_written[index] => {
                            refilled.push((buffer.clone(), initial.clone()));
                        }
                        initial => fill(device, &buffer, initial)?,
                    }
                    Some(buffer)
                }
            };
            if buffer.is_some() {
                uploads.filled(index);
            }
            buffers.push(buffer);
        }
        let mut upload = |index: usize| {
            let plan = &program.buffers[index];
            let Initial::Weight(weight) = &plan.initial else {
                return Err(Error::malformed("a step that is executed once reads no weight"));
            };
            let weight = weights.buffer(device, plan, weight)?;
            uploads.filled(index);
            Ok(weight)
        };
        let prepared = weights.prepared.prepare(device, program, &mut buffers, &mut upload)?;
        // Weights that other programs have already prepared are not uploaded.
        (0..buffers.len()).for_each(|index| uploads.filled(index));
        let scratch = scratch(device, program, numbered(&operators), BufferUsage::all())?;
        let persistent = operators.iter().zip(&program.operators).map(|(operator, of)| {
            operator.as_ref().map_or(Ok(None), |it| persistent(device, &of.node, it))
        });
        let persistent = persistent.collect::<Result<Vec<_>>>()?;
        let new = Self {
            operators,
            buffers,
            is_written: uses.is_written,
            refilled: Mutex::new(refilled),
            scratch,
            persistent,
            _weights: held,
            _prepared: prepared,
        };
        submit(device, &new.tables(device, program, (&new.buffers, When::Once))?)?;
        Ok(new)
    }

    /// The buffer with this index; `None` if each recording has its own.
    pub(super) fn buffer(&self, index: usize) -> Option<&Buffer> {
        self.buffers.get(index).and_then(Option::as_ref)
    }

    /// A compiled operator; `None` if it is executed once.
    pub(super) fn operator(&self, index: usize) -> Option<&CompiledOperator> {
        self.operators.get(index).and_then(Option::as_ref)
    }

    /// The buffers to refill before a run; a run holds this lock.
    pub(super) fn refilled(&self) -> &Mutex<Vec<(Buffer, Initial)>> {
        &self.refilled
    }

    /// The commands at time `when` of each step that runs an operator, with these buffers.
    pub(super) fn tables(
        &self,
        device: &Device,
        program: &Program,
        (buffers, when): (&[Option<Buffer>], When),
    ) -> Result<Vec<Table>> {
        // Operators may need more temporary memory if a caller's buffer lacks transfer usage.
        let usages = buffers.iter().flatten().map(Buffer::usage);
        let usage = usages.fold(BufferUsage::all(), BufferUsage::intersection);
        let larger = match usage.contains(device.vulkan().buffer_usages()) {
            true => None,
            false => scratch(device, program, numbered(&self.operators), usage)?,
        };
        let temporary = larger.as_ref().or(self.scratch.as_ref());
        let mut initialized = vec![false; self.operators.len()];
        let mut tables = Vec::new();
        for step in &program.steps {
            let Some(operator) = operator_of(step) else { continue };
            let Some(compiled) = &self.operators[operator] else { continue };
            let is_first = !std::mem::replace(&mut initialized[operator], true);
            let of = Bound {
                program,
                buffers,
                operator,
                compiled,
                temporary,
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

/// The index of the operator that a step initializes or executes in each run.
pub(super) fn operator_of(step: &Step) -> Option<usize> {
    match step {
        Step::Initialize(step) => Some(step.operator),
        Step::Dispatch(dispatch) if !dispatch.once => Some(dispatch.operator),
        Step::Dispatch(_) | Step::Read(_) => None,
    }
}

/// How a program uses each of its buffers.
struct Uses {
    /// Whether a step of runs writes the buffer.
    is_written: Vec<bool>,
    /// Whether the buffer holds an output of the program.
    is_read: Vec<bool>,
    /// Whether steps of runs bind the buffer.
    is_bound: Vec<bool>,
    /// Whether a step that is executed once writes the buffer.
    is_made_once: Vec<bool>,
}

impl Uses {
    fn of(program: &Program) -> Self {
        let none = || vec![false; program.buffers.len()];
        let mut uses =
            Self { is_written: none(), is_read: none(), is_bound: none(), is_made_once: none() };
        let mark = |which: &mut [bool], bindings: &[Option<Binding>]| {
            bindings.iter().flatten().for_each(|binding| which[binding.buffer] = true);
        };
        for step in &program.steps {
            match step {
                Step::Initialize(step) => mark(&mut uses.is_bound, &step.inputs),
                Step::Dispatch(dispatch) if dispatch.once => {
                    mark(&mut uses.is_made_once, &dispatch.outputs);
                }
                Step::Dispatch(dispatch) => {
                    mark(&mut uses.is_bound, &dispatch.inputs);
                    mark(&mut uses.is_bound, &dispatch.outputs);
                    mark(&mut uses.is_written, &dispatch.outputs);
                }
                Step::Read(Read { source: Source::Buffer(binding), .. }) => {
                    uses.is_read[binding.buffer] = true;
                    uses.is_bound[binding.buffer] = true;
                }
                Step::Read(_) => {}
            }
        }
        uses
    }
}

/// The operators that runs execute, with their indices.
fn numbered(
    operators: &[Option<CompiledOperator>],
) -> impl Iterator<Item = (usize, &CompiledOperator)> {
    operators.iter().enumerate().filter_map(|(index, it)| Some((index, it.as_ref()?)))
}
