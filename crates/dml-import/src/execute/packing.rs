//! Weights that operators repack at initialization, which all programs share that pack them in the same way.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use dml::vk::Submission;
use dml::{Buffer, CompiledOperator, Device};
use dml_core::plan::{Plan, Slot, Step as PlanStep};

use crate::error::Result;
use crate::program::{Binding, Dispatch, Program, Step};

use super::bound::{BoundOperator, is_owned, is_packed};
use super::memory::{bytes_of, persistent, scratch};
use super::preparation::{Input, Upload, Written, constant, finish, retain_used, submit};

/// The packed weights of a device, by the weights that they are made of.
#[derive(Debug, Default)]
pub(super) struct Packings {
    known: Mutex<Known>,
    /// Held by the thread that packs weights.
    turn: Mutex<()>,
}

type Known = HashMap<Vec<Option<Input>>, Alike>;

/// Packings of the same weights.
type Alike = Vec<(Packing, Weak<PackedWeights>)>;

/// How weights are packed: the initialization of a plan.
#[derive(Debug, PartialEq)]
struct Packing {
    /// The steps, each with the constants that it reads.
    steps: Vec<(PlanStep, Vec<u8>)>,
    size: u64,
    /// The pieces that the packed weights are divided into.
    divisions: Vec<u64>,
}

/// The persistent resource of an initialized operator.
#[derive(Debug)]
pub(super) struct PackedWeights {
    /// Empty if the operator keeps nothing.
    buffers: Vec<Buffer>,
}

/// An operator whose packed weights no program has yet.
struct Missing<'a> {
    operator: usize,
    compiled: &'a CompiledOperator,
    dispatch: &'a Dispatch,
    /// `None` if other programs cannot share the result.
    key: Option<(Vec<Option<Input>>, Packing)>,
    packed: Arc<PackedWeights>,
}

impl PackedWeights {
    pub(super) fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// The bytes of the buffers.
    pub(super) fn bytes(&self) -> u64 {
        bytes_of(&self.buffers)
    }
}

impl Packings {
    /// The packed weights of each operator of `program` that owns constants, by the operator's index. Those that no
    /// other program has are packed now, in one submission: `buffers` are the program's constants, and `upload`
    /// gives weights that only packing reads.
    ///
    /// Other threads that compile programs with such operators wait until the packing is submitted: they mostly need
    /// the same weights. Nobody but the caller waits for the submission.
    pub(super) fn pack(
        &self,
        device: &Device,
        program: &Program,
        (operators, is_written): (&[Option<CompiledOperator>], &[bool]),
        (buffers, written, upload): (&[Option<Buffer>], &Written, &mut Upload<'_>),
    ) -> Result<Vec<Option<Arc<PackedWeights>>>> {
        let mut all: Vec<Option<Arc<PackedWeights>>> = vec![None; operators.len()];
        if owning(program, operators).next().is_none() {
            return Ok(all);
        }
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut missing = Vec::new();
        for dispatch in owning(program, operators) {
            let operator = dispatch.operator;
            let Some(compiled) = &operators[operator] else { continue };
            if !is_packed(program, (compiled, dispatch), is_written) {
                continue;
            }
            let packing = Packing::of(compiled.vulkan().plan());
            let key = inputs(program, (compiled, dispatch), written).map(|it| (it, packing));
            // Runs that initialize the operator again write the resource.
            let key = key.filter(|_| !is_initialized_by_runs(program, operator));
            let found = key.as_ref().and_then(|(inputs, packing)| {
                let known = self.known();
                let (_, packed) = known.get(inputs)?.iter().find(|(it, _)| it == packing)?;
                packed.upgrade()
            });
            let packed = match found {
                Some(found) => found,
                None => {
                    let node = &program.operators[operator].node;
                    let buffers = persistent(device, node, compiled)?;
                    let packed = Arc::new(PackedWeights { buffers });
                    let new = Arc::clone(&packed);
                    missing.push(Missing { operator, compiled, dispatch, key, packed: new });
                    packed
                }
            };
            all[operator] = Some(packed);
        }
        if !missing.is_empty() {
            let submission = execute(device, program, (buffers, upload), &missing)?;
            self.insert(missing);
            drop(turn);
            finish(submission)?;
        }
        Ok(all)
    }

    /// Forgets what no program uses any more.
    pub(super) fn forget_dropped(&self) {
        forget(&mut self.known());
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds new weights, and removes those that no program uses any more.
    fn insert(&self, packed: Vec<Missing<'_>>) {
        let mut known = self.known();
        forget(&mut known);
        for Missing { key, packed, .. } in packed {
            let Some((inputs, packing)) = key else { continue };
            known.entry(inputs).or_default().push((packing, Arc::downgrade(&packed)));
        }
    }

    /// The bytes of all packed weights.
    pub(super) fn bytes(&self) -> u64 {
        let known = self.known();
        let packed = known.values().flatten().filter_map(|(_, packed)| packed.upgrade());
        packed.map(|packed| packed.bytes()).fold(0, u64::saturating_add)
    }
}

/// Forgets packed weights that no program uses.
fn forget(known: &mut Known) {
    retain_used(known, |(_, packed)| packed.strong_count() > 0);
}

impl Packing {
    fn of(plan: &Plan) -> Self {
        let steps = plan.init.iter().map(|step| {
            let read = step.uses().into_iter().filter(|it| it.slot == Slot::Constants);
            let mut constants = Vec::new();
            for range in read.map(|read| read.range) {
                let [start, end] = [range.start, range.end].map(usize::try_from);
                let (Ok(start), Ok(end)) = (start, end) else { continue };
                constants.extend_from_slice(plan.constants.get(start..end).unwrap_or_default());
            }
            let mut step = step.clone();
            // Where a uniform block lies in the constants depends on the steps of executions.
            if let PlanStep::Dispatch(dispatch) = &mut step {
                dispatch.uniform =
                    dispatch.uniform.take().map(|uniform| 0..uniform.end - uniform.start);
            }
            (step, constants)
        });
        let divisions = plan.divisions.persistent.clone();
        Self { steps: steps.collect(), size: plan.persistent_size, divisions }
    }
}

/// The first dispatch of each operator that needs an initialization which the program does not state.
fn owning<'a>(
    program: &'a Program,
    operators: &[Option<CompiledOperator>],
) -> impl Iterator<Item = &'a Dispatch> {
    let mut seen = vec![false; operators.len()];
    let needs = operators
        .iter()
        .map(|operator| operator.as_ref().is_some_and(CompiledOperator::needs_initialization));
    let needs: Vec<bool> = needs.collect();
    program.steps.iter().filter_map(move |step| match step {
        Step::Initialize(step) => {
            seen[step.operator] = true;
            None
        }
        Step::Dispatch(dispatch) if !dispatch.once => {
            let is_first = !std::mem::replace(&mut seen[dispatch.operator], true);
            (is_first && needs[dispatch.operator]).then_some(dispatch)
        }
        Step::Dispatch(_) | Step::Read(_) => None,
    })
}

fn is_initialized_by_runs(program: &Program, operator: usize) -> bool {
    let mut steps = program.steps.iter();
    steps.any(|step| matches!(step, Step::Initialize(step) if step.operator == operator))
}

/// The identities of the inputs that the operator owns; `None` if one has none.
fn inputs(
    program: &Program,
    (compiled, dispatch): (&CompiledOperator, &Dispatch),
    written: &Written,
) -> Option<Vec<Option<Input>>> {
    let owned = owned(compiled, dispatch);
    owned.map(|it| it.map_or(Some(None), |it| constant(program, it, written).map(Some))).collect()
}

/// The inputs that the operator owns; `None` for others.
fn owned<'a>(
    compiled: &CompiledOperator,
    dispatch: &'a Dispatch,
) -> impl Iterator<Item = Option<&'a Binding>> {
    let inputs = dispatch.inputs.iter().enumerate();
    inputs.map(|(index, it)| it.as_ref().filter(|_| is_owned(compiled, index)))
}

/// Submits the packing of weights. Buffers that only packing reads are freed with the submission.
fn execute(
    device: &Device,
    program: &Program,
    (buffers, upload): (&[Option<Buffer>], &mut Upload<'_>),
    missing: &[Missing<'_>],
) -> Result<Option<Submission>> {
    let (mut buffers, mut uploaded) = (buffers.to_vec(), Vec::new());
    for binding in missing.iter().flat_map(|it| owned(it.compiled, it.dispatch)).flatten() {
        if buffers[binding.buffer].is_none() {
            let weight = upload(binding.buffer)?;
            buffers[binding.buffer] = Some((*weight).clone());
            uploaded.push(weight);
        }
    }
    let operators = missing.iter().map(|it| (it.operator, it.compiled));
    let scratch = scratch(device, program, operators)?;
    let tables = missing.iter().map(|it| {
        let bound = BoundOperator {
            program,
            buffers: &buffers,
            operator: it.operator,
            compiled: it.compiled,
            temporary: &scratch,
            persistent: it.packed.buffers(),
        };
        bound.packing(it.dispatch)
    });
    submit(device, &tables.collect::<Result<Vec<_>>>()?)
}
