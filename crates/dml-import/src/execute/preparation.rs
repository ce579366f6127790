//! Steps that are executed once: their results depend only on weights, and all programs that need one share it.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use dml::vk::{Recorder, Submission};
use dml::{Buffer, Device, GraphCompiler};

use crate::error::{Error, Result};
use crate::program::{Binding, Dispatch, Initial, Program, Step, Weight, Work};

use super::bound::{BoundOperator, Table, When};
use super::memory::{bytes_of, create, persistent, scratch};
use super::{at, compiled, its_buffers};

/// Results of steps that are executed once. The first program that needs a result computes it, and it lives as
/// long as a program uses it.
#[derive(Debug, Default)]
pub(super) struct Preparations {
    known: Mutex<Known>,
    /// Held by the thread that computes results.
    turn: Mutex<()>,
}

#[derive(Debug, Default)]
struct Known {
    /// Results by the inputs that the steps read, which distinguish most steps.
    prepared: HashMap<Vec<Option<Input>>, Alike>,
    /// The number of results ever made, which numbers them.
    count: u64,
}

/// Steps that read the same inputs, and their outputs.
type Alike = Vec<(Work, Weak<PreparedOutputs>)>;

/// Returns the buffer of a weight, uploaded if necessary, by its index in the program's buffers.
pub(super) type Upload<'a> = dyn FnMut(usize) -> Result<Arc<Buffer>> + 'a;

/// For each buffer that a step writes which is executed once, the number of its result and the output's index.
pub(super) type Written = HashMap<usize, (u64, usize)>;

/// An input of a step that is executed once: a byte range of a weight, constant bytes, or a byte range of
/// another such step's output.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Input {
    Weight(Weight, Range<u64>),
    Bytes(Vec<u8>),
    Output { of: u64, index: usize, range: Range<u64> },
}

/// The outputs of a step that was executed once.
#[derive(Debug)]
pub(super) struct PreparedOutputs {
    /// Unique in the session.
    number: u64,
    outputs: Vec<Option<Buffer>>,
}

/// A step whose outputs no program has yet.
struct Missing<'a> {
    dispatch: &'a Dispatch,
    inputs: Vec<Option<Input>>,
    prepared: Arc<PreparedOutputs>,
}

/// The steps of a program that are executed once.
pub(super) fn once(program: &Program) -> impl Iterator<Item = &Dispatch> {
    program.steps.iter().filter_map(|step| match step {
        Step::Dispatch(dispatch) if dispatch.once => Some(dispatch),
        _ => None,
    })
}

impl Preparations {
    /// Puts the outputs of all steps of `program` that are executed once into `buffers`, which already hold the
    /// program's constants. Outputs that no other program has are computed now, in one submission; `upload`
    /// gives the buffers of weights that are needed for it. The outputs live as long as the returned handles. Also
    /// returns which buffers they are in.
    ///
    /// Other threads that compile programs with such steps wait until the results are submitted: they mostly need the
    /// same ones. Nobody but the caller waits for the submission.
    pub(super) fn prepare(
        &self,
        device: &Device,
        program: &Program,
        buffers: &mut [Option<Buffer>],
        upload: &mut Upload<'_>,
    ) -> Result<(Vec<Arc<PreparedOutputs>>, Written)> {
        let (mut all, mut missing) = (Vec::new(), Vec::new());
        let mut written = Written::new();
        if once(program).next().is_none() {
            return Ok((all, written));
        }
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        for dispatch in once(program) {
            let inputs = inputs(program, dispatch, &written)?;
            let work = &program.operators[dispatch.operator].work;
            let found = self.known().find(&inputs, work);
            let prepared = match found {
                Some(found) => found,
                None => {
                    let output = |it: &Option<Binding>| {
                        let buffer = it.as_ref()?.buffer;
                        let content = || program.content(buffer);
                        Some(create(device, program.buffers[buffer].size, content))
                    };
                    let outputs = dispatch.outputs.iter().map(|it| output(it).transpose());
                    let outputs = outputs.collect::<Result<_>>()?;
                    let number = self.known().next_number();
                    let prepared = Arc::new(PreparedOutputs { number, outputs });
                    missing.push(Missing { dispatch, inputs, prepared: Arc::clone(&prepared) });
                    prepared
                }
            };
            for (index, output) in dispatch.outputs.iter().enumerate() {
                let Some(Binding { buffer, .. }) = output else { continue };
                written.insert(*buffer, (prepared.number, index));
                buffers[*buffer].clone_from(&prepared.outputs[index]);
            }
            all.push(prepared);
        }
        if !missing.is_empty() {
            let submission = execute(device, program, (buffers, upload), &missing)?;
            self.known().insert(program, missing);
            drop(turn);
            finish(submission)?;
        }
        Ok((all, written))
    }

    /// Forgets results that no program uses any more.
    pub(super) fn forget_dropped(&self) {
        self.known().forget_dropped();
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes of all results.
    pub(super) fn bytes(&self) -> u64 {
        let known = self.known();
        let all = known.prepared.values().flatten().filter_map(|(_, prepared)| prepared.upgrade());
        all.map(|it| it.bytes()).fold(0, u64::saturating_add)
    }
}

impl PreparedOutputs {
    /// The bytes of the outputs.
    pub(super) fn bytes(&self) -> u64 {
        bytes_of(self.outputs.iter().flatten())
    }
}

impl Known {
    fn find(&self, inputs: &[Option<Input>], work: &Work) -> Option<Arc<PreparedOutputs>> {
        let alike = self.prepared.get(inputs)?;
        alike.iter().filter(|(it, _)| it == work).find_map(|(_, prepared)| prepared.upgrade())
    }

    fn next_number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    fn forget_dropped(&mut self) {
        retain_used(&mut self.prepared, |(_, prepared)| prepared.strong_count() > 0);
    }

    /// Adds new results, and removes those that no program uses any more.
    fn insert(&mut self, program: &Program, made: Vec<Missing<'_>>) {
        self.forget_dropped();
        for Missing { dispatch, inputs, prepared } in made {
            let work = program.operators[dispatch.operator].work.clone();
            self.prepared.entry(inputs).or_default().push((work, Arc::downgrade(&prepared)));
        }
    }
}

/// Removes values that nobody uses any more, and keys without values.
pub(super) fn retain_used<K, V>(known: &mut HashMap<K, Vec<V>>, is_used: impl Fn(&V) -> bool) {
    known.retain(|_, alike| {
        alike.retain(&is_used);
        !alike.is_empty()
    });
}

/// The inputs of a step that is executed once; `written` tells which buffers earlier such steps write.
fn inputs(program: &Program, dispatch: &Dispatch, written: &Written) -> Result<Vec<Option<Input>>> {
    let input = |binding: &Option<Binding>| {
        let Some(binding) = binding else { return Ok(None) };
        let problem = "a step that is executed once reads what runs write";
        let input = constant(program, binding, written);
        input.map(Some).ok_or_else(|| Error::malformed(problem))
    };
    dispatch.inputs.iter().map(input).collect()
}

/// The identity of a binding's content; `None` if runs may write it, or if it is a sequence.
pub(super) fn constant(program: &Program, binding: &Binding, written: &Written) -> Option<Input> {
    let Binding { buffer, offset, size } = binding;
    let range = *offset..offset.saturating_add(*size);
    match (&program.buffers[*buffer].initial, written.get(buffer)) {
        (Initial::Weight(weight), _) => Some(Input::Weight(weight.clone(), range)),
        (Initial::Tensor(tensor), _) => bytes(tensor.bytes(), &range).map(Input::Bytes),
        (_, Some((of, index))) => Some(Input::Output { of: *of, index: *index, range }),
        _ => None,
    }
}

fn bytes(all: &[u8], range: &Range<u64>) -> Option<Vec<u8>> {
    let [start, end] = [range.start, range.end].map(|it| usize::try_from(it).ok());
    // The binding is rounded up to words, and may reach beyond the tensor's last byte.
    let end = end?.min(all.len());
    all.get(start?..end).map(<[u8]>::to_vec)
}

/// Submits these steps. Buffers that only they need are freed with the submission.
fn execute(
    device: &Device,
    program: &Program,
    (buffers, upload): (&[Option<Buffer>], &mut Upload<'_>),
    steps: &[Missing<'_>],
) -> Result<Option<Submission>> {
    // They are compiled once, so that others gain nothing from them.
    let compiler = GraphCompiler::new(device, Arc::default());
    let operators =
        steps.iter().map(|step| compiled(&compiler, &program.operators[step.dispatch.operator]));
    let operators = operators.collect::<Result<Vec<_>>>()?;
    let (mut buffers, mut uploaded) = (buffers.to_vec(), Vec::new());
    for binding in steps.iter().flat_map(|step| &step.dispatch.inputs).flatten() {
        if buffers[binding.buffer].is_none() {
            let weight = upload(binding.buffer)?;
            buffers[binding.buffer] = Some((*weight).clone());
            uploaded.push(weight);
        }
    }
    let numbers = steps.iter().map(|step| step.dispatch.operator);
    let scratch = scratch(device, program, numbers.zip(&operators))?;
    let nothing_is_written = vec![false; buffers.len()];
    let mut tables = Vec::new();
    for (step, operator) in steps.iter().zip(&operators) {
        let node = &program.operators[step.dispatch.operator].node;
        let persistent = persistent(device, node, operator)?;
        let bound = BoundOperator {
            program,
            buffers: &buffers,
            operator: step.dispatch.operator,
            compiled: operator,
            temporary: &scratch,
            persistent: &persistent,
        };
        tables.push(bound.dispatch(step.dispatch, (true, When::Once), &nothing_is_written)?);
    }
    submit(device, &tables)
}

/// Records and submits `tables`; `None` if they have no commands.
pub(super) fn submit(device: &Device, tables: &[Table]) -> Result<Option<Submission>> {
    if tables.iter().all(|table| table.initialization.is_none() && table.execution.is_none()) {
        return Ok(None);
    }
    let mut recorder = Recorder::new(device.vulkan()).map_err(failed)?;
    for table in tables {
        table.record(&mut recorder).map_err(failed)?;
    }
    let list = recorder.finish().map_err(failed)?;
    device.vulkan().submit(list).map(Some).map_err(failed)
}

/// Waits for work that frees the weights which it read: runs allocate their memory after that.
pub(super) fn finish(submission: Option<Submission>) -> Result<()> {
    submission.map_or(Ok(()), |it| it.wait()).map_err(failed)
}

fn failed(error: dml::vk::Error) -> Error {
    at(&its_buffers(), error.into())
}
