//! The resources that all recordings of a program share: its operators, its constants and its weights.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dml::{Buffer, BufferUsage, CompiledOperator, Device};

use crate::error::{Error, Result};
use crate::program::{Binding, Dispatch, Initial, Program, Read, Source, Step};

use super::bound::{BoundOperator, Table, When, is_owned, is_packed};
use super::memory::{bytes_of, create, largest_scratch, persistent};
use super::packing::PackedWeights;
use super::preparation::PreparedOutputs;
use super::progress::{Progress, Uploads};
use super::weights::{Weights, fill};

/// Buffers that are filled again before each run, since operators overwrite them.
pub(super) type Refilled = [(Buffer, Initial)];

/// A program's compiled operators and shared buffers.
#[derive(Debug)]
pub(crate) struct Resources {
    /// `None` for operators that are executed once.
    operators: Vec<Option<CompiledOperator>>,
    /// `None` for buffers that belong to arenas, which are those that runs write, and for those that runs do not
    /// read.
    buffers: Vec<Option<Buffer>>,
    /// Which of the buffers runs write.
    is_written: Vec<bool>,
    refilled: Vec<(Buffer, Initial)>,
    /// Held by the run whose turn it is; `None` if runs only write their own arenas.
    turn: Option<Mutex<()>>,
    /// The buffers of each operator's persistent resource.
    persistent: Vec<Vec<Buffer>>,
    /// Owners of buffers shared with other programs, kept alive as long as these resources.
    shared: Shared,
    /// The bytes of the buffers that no other program has.
    own_bytes: u64,
}

/// Buffers that programs share.
#[derive(Debug, Default)]
struct Shared {
    weights: Vec<Arc<Buffer>>,
    prepared: Vec<Arc<PreparedOutputs>>,
    packed: Vec<Arc<PackedWeights>>,
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
        let uses = Uses::of(program, &operators);
        let (mut buffers, mut refilled, mut shared) = (Vec::new(), Vec::new(), Shared::default());
        let mut own_bytes = 0u64;
        for (index, plan) in program.buffers.iter().enumerate() {
            let buffer = match &plan.initial {
                Initial::Input(_) => None,
                Initial::Undefined if uses.is_made_once[index] || uses.is_written[index] => None,
                Initial::Weight(_) if !uses.is_bound[index] => None,
                Initial::Weight(weight) => {
                    let weight = weights.buffer(device, plan, weight)?;
                    shared.weights.push(Arc::clone(&weight));
                    Some((*weight).clone())
                }
                initial => {
                    let buffer = create(device, plan.size, || program.content(index))?;
                    own_bytes = own_bytes.saturating_add(buffer.size());
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
        let (prepared, written) =
            weights.prepared.prepare(device, program, &mut buffers, &mut upload)?;
        shared.prepared = prepared;
        let packed = weights.packed.pack(
            device,
            program,
            (&operators, &uses.is_written),
            (&buffers, &written, &mut upload),
        )?;
        // Weights that other programs have already prepared are not uploaded.
        (0..buffers.len()).for_each(|index| uploads.filled(index));
        let mut all = Vec::new();
        // Runs initialize operators whose resources are not packed, or that a step initializes.
        let mut writes_persistent =
            program.steps.iter().any(|step| matches!(step, Step::Initialize(_)));
        for ((operator, of), packed) in operators.iter().zip(&program.operators).zip(packed) {
            all.push(match (operator, packed) {
                (_, Some(packed)) => {
                    let buffers = packed.buffers().to_vec();
                    shared.packed.push(packed);
                    buffers
                }
                (Some(operator), None) => {
                    let own = persistent(device, &of.node, operator)?;
                    writes_persistent |= !own.is_empty();
                    own_bytes = own_bytes.saturating_add(bytes_of(&own));
                    own
                }
                (None, None) => vec![],
            });
        }
        let constants =
            operators.iter().flatten().map(|operator| operator.vulkan().plan().constants.len());
        let own_bytes = constants.fold(own_bytes, |all, it| all.saturating_add(it as u64));
        let (is_written, persistent) = (uses.is_written, all);
        let turn = (writes_persistent || !refilled.is_empty()).then(Mutex::default);
        Ok(Self { operators, buffers, is_written, refilled, turn, persistent, shared, own_bytes })
    }

    /// The bytes of device memory that are freed with the program: those of its own, and of buffers that no other
    /// program shares now.
    pub(super) fn bytes(&self) -> u64 {
        let Shared { weights, prepared, packed } = &self.shared;
        let weights = weights
            .iter()
            .filter(|weight| Arc::strong_count(weight) == 1)
            .map(|weight| weight.size());
        let prepared = prepared.iter().filter(|it| Arc::strong_count(it) == 1).map(|it| it.bytes());
        let packed = packed.iter().filter(|it| Arc::strong_count(it) == 1).map(|it| it.bytes());
        weights.chain(prepared).chain(packed).fold(self.own_bytes, u64::saturating_add)
    }

    /// The buffer with this index; `None` if it belongs to arenas.
    pub(super) fn buffer(&self, index: usize) -> Option<&Buffer> {
        self.buffers.get(index).and_then(Option::as_ref)
    }

    /// A compiled operator; `None` if it is executed once.
    pub(super) fn operator(&self, index: usize) -> Option<&CompiledOperator> {
        self.operators.get(index).and_then(Option::as_ref)
    }

    /// The buffers to refill before a run.
    pub(super) fn refilled(&self) -> &Refilled {
        &self.refilled
    }

    /// A run's turn, which it holds until it has ended, if runs write buffers that all recordings of the program share:
    /// persistent resources, or constants that are filled again. `None` if runs may overlap.
    pub(super) fn turn(&self) -> Option<MutexGuard<'_, ()>> {
        self.turn.as_ref().map(|turn| turn.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The buffers of temporary memory that operators need for bound buffers of this usage: the bytes of each, and the
    /// operator that needs as many.
    pub(super) fn largest_scratch(&self, usage: BufferUsage) -> Vec<(u64, usize)> {
        largest_scratch(numbered(&self.operators), usage)
    }

    /// The commands of each step that runs an operator, with these buffers and this temporary memory.
    pub(super) fn tables(
        &self,
        program: &Program,
        (buffers, temporary): (&[Option<Buffer>], &[Buffer]),
    ) -> Result<Vec<Table>> {
        let mut initialized = vec![false; self.operators.len()];
        let mut tables = Vec::new();
        for step in &program.steps {
            let Some(operator) = operator_of(step) else { continue };
            let Some(compiled) = &self.operators[operator] else { continue };
            let is_first = !std::mem::replace(&mut initialized[operator], true);
            let persistent = &self.persistent[operator][..];
            let of = BoundOperator { program, buffers, operator, compiled, temporary, persistent };
            tables.push(match step {
                Step::Initialize(step) => of.initialization(step)?,
                Step::Dispatch(dispatch) => {
                    of.dispatch(dispatch, (is_first, When::Always), &self.is_written)?
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
    /// Whether steps of runs bind the buffer.
    is_bound: Vec<bool>,
    /// Whether a step that is executed once writes the buffer.
    is_made_once: Vec<bool>,
}

impl Uses {
    fn of(program: &Program, operators: &[Option<CompiledOperator>]) -> Self {
        let none = || vec![false; program.buffers.len()];
        let mut uses = Self { is_written: none(), is_bound: none(), is_made_once: none() };
        let mark = |which: &mut [bool], bindings: &[Option<Binding>]| {
            bindings.iter().flatten().for_each(|binding| which[binding.buffer] = true);
        };
        for dispatch in program.steps.iter().filter_map(dispatch_of) {
            let written = match dispatch.once {
                true => &mut uses.is_made_once,
                false => &mut uses.is_written,
            };
            mark(written, &dispatch.outputs);
        }
        for step in &program.steps {
            match step {
                Step::Initialize(step) => mark(&mut uses.is_bound, &step.inputs),
                Step::Dispatch(dispatch) if dispatch.once => {}
                Step::Dispatch(dispatch) => {
                    let operator = operators[dispatch.operator].as_ref();
                    let inputs = dispatch.inputs.iter().enumerate().filter(|(index, _)| {
                        operator.is_none_or(|operator| {
                            !is_packed(program, (operator, dispatch), &uses.is_written)
                                || !is_owned(operator, *index)
                        })
                    });
                    let inputs = inputs.filter_map(|(_, binding)| binding.as_ref());
                    inputs.for_each(|binding| uses.is_bound[binding.buffer] = true);
                    mark(&mut uses.is_bound, &dispatch.outputs);
                }
                Step::Read(Read { source: Source::Buffer(binding), .. }) => {
                    uses.is_bound[binding.buffer] = true;
                }
                Step::Read(_) => {}
            }
        }
        uses
    }
}

fn dispatch_of(step: &Step) -> Option<&Dispatch> {
    match step {
        Step::Dispatch(dispatch) => Some(dispatch),
        Step::Initialize(_) | Step::Read(_) => None,
    }
}

/// The operators that runs execute, with their indices.
fn numbered(
    operators: &[Option<CompiledOperator>],
) -> impl Iterator<Item = (usize, &CompiledOperator)> {
    operators.iter().enumerate().filter_map(|(index, it)| Some((index, it.as_ref()?)))
}
