//! Inputs and outputs that stay on the device from run to run.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use crate::element::ElementType;
use crate::error::{Error, Result, shortened};
use crate::inputs::Inputs;

use super::arena::Arena;
use super::device_tensor::DeviceTensor;
use super::lent::Lent;
use super::recording::{DeviceBindings, Recording};
use super::resources::Resources;

/// How many recordings a binding keeps for each program: a state alternates between two tensors, its initial
/// value is a third, and a caller who holds an output doubles their number.
const RECORDINGS: usize = 8;

/// Which inputs and outputs of a model stay on the device.
///
/// - An *input* that is bound is read from its device tensor. Values of all others are given to each run.
/// - An *output* that is bound stays on the device, and is read on request.
/// - A *state* is an output that becomes an input of the next run.
/// - A *cache* is a state that runs update in place where they can.
///
/// A run never writes a tensor that somebody else holds, so a clone of an output or of a state does not change.
/// Otherwise tensors are reused, and a run like an earlier one allocates nothing.
///
/// A binding is one sequence of runs. Several bindings, each with its own states, may use one
/// [`Session`](crate::Session) or [`Executable`](crate::Executable).
#[derive(Debug, Default)]
pub struct IoBinding {
    inputs: BTreeMap<String, DeviceTensor>,
    outputs: BTreeMap<String, DeviceOutput>,
    states: Vec<State>,
    recorded: Vec<Recorded>,
}

/// An output that becomes an input of the next run.
#[derive(Debug)]
pub(super) struct State {
    pub(super) output: String,
    pub(super) input: String,
    /// `None` for a cache.
    initial: Option<DeviceTensor>,
}

impl State {
    pub(super) fn is_cache(&self) -> bool {
        self.initial.is_none()
    }
}

/// An output that stays on the device.
#[derive(Debug, Default)]
pub(super) struct DeviceOutput {
    /// The tensor that the last run wrote.
    tensor: Option<DeviceTensor>,
    /// Tensors that earlier runs wrote, and that recordings use.
    spare: Vec<DeviceTensor>,
}

/// The commands of a program, recorded with tensors of the binding.
#[derive(Debug)]
struct Recorded {
    of: Weak<Resources>,
    recording: Lent<Recording>,
}

impl Recorded {
    /// Whether the arena has not taken the recording back, and `holds` is true for it.
    fn is(&self, holds: impl FnOnce(&Recording) -> bool) -> bool {
        self.recording.lock().as_ref().is_some_and(holds)
    }
}

impl IoBinding {
    /// A binding without inputs, outputs or states.
    pub fn new() -> Self {
        Self::default()
    }

    /// Binds an input to a device tensor.
    #[must_use]
    pub fn with_input(mut self, name: impl Into<String>, tensor: DeviceTensor) -> Self {
        self.set_input(name, tensor);
        self
    }

    /// Keeps an output on the device: runs do not return it.
    #[must_use]
    pub fn with_output(mut self, name: impl Into<String>) -> Self {
        self.outputs.entry(name.into()).or_default();
        self
    }

    /// Adds a state: an output that becomes an input of the next run. The first run reads `initial`.
    #[must_use]
    pub fn with_state(
        self,
        output: impl Into<String>,
        input: impl Into<String>,
        initial: DeviceTensor,
    ) -> Self {
        let state =
            State { output: output.into(), input: input.into(), initial: Some(initial.clone()) };
        self.with(state, initial)
    }

    /// Adds a cache: a state whose tensor runs write in place if the program writes only parts of it, such as the new
    /// keys of GroupQueryAttention, and nobody holds a clone of it. The first run reads `content`.
    ///
    /// [`reset`](Self::reset) leaves a cache as it is. After an error in a run, what the run was to write may be in
    /// the cache or not.
    #[must_use]
    pub fn with_cache(
        self,
        output: impl Into<String>,
        input: impl Into<String>,
        content: DeviceTensor,
    ) -> Self {
        let state = State { output: output.into(), input: input.into(), initial: None };
        self.with(state, content)
    }

    fn with(mut self, state: State, first: DeviceTensor) -> Self {
        self.states.retain(|it| it.input != state.input);
        self.set_input(&state.input, first);
        let output = state.output.clone();
        self.states.push(state);
        self.with_output(output)
    }

    /// Binds an input, or replaces the value of a state.
    pub fn set_input(&mut self, name: impl Into<String>, tensor: DeviceTensor) {
        self.inputs.insert(name.into(), tensor);
    }

    /// The tensor that the next run reads for a bound input or a state.
    pub fn input(&self, name: &str) -> Option<&DeviceTensor> {
        self.inputs.get(name)
    }

    /// The value of a bound output after the last run; `None` before the first run.
    pub fn output(&self, name: &str) -> Option<&DeviceTensor> {
        self.outputs.get(name)?.tensor.as_ref()
    }

    /// Keeps these outputs on the device, and no others.
    pub fn set_outputs<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) {
        let mut before = std::mem::take(&mut self.outputs);
        let kept = |name: &str| (name.to_owned(), before.remove(name).unwrap_or_default());
        self.outputs = names.into_iter().map(kept).collect();
    }

    /// Makes an input that is bound a cache of this output, see [`with_cache`](Self::with_cache).
    pub fn set_cache(&mut self, output: impl Into<String>, input: impl Into<String>) {
        let state = State { output: output.into(), input: input.into(), initial: None };
        self.states.retain(|it| it.input != state.input);
        self.states.push(state);
    }

    /// Unbinds all inputs; states and caches become outputs.
    pub fn clear_inputs(&mut self) {
        self.inputs.clear();
        self.states.clear();
    }

    /// Forgets the recorded commands of runs but for those of the last `most` different ones, and with them the
    /// tensors that only they use.
    pub fn keep_recordings(&mut self, most: usize) {
        self.recorded.drain(..self.recorded.len().saturating_sub(most));
    }

    /// Gives all states but caches their initial values, which costs nothing.
    pub fn reset(&mut self) {
        for state in &self.states {
            if let Some(initial) = &state.initial {
                self.inputs.insert(state.input.clone(), initial.clone());
            }
        }
    }

    /// The tensors bound to inputs, by name.
    pub(super) fn inputs(&self) -> impl Iterator<Item = (&str, &DeviceTensor)> {
        self.inputs.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// The outputs that stay on the device, by name.
    pub(super) fn outputs(&self) -> &BTreeMap<String, DeviceOutput> {
        &self.outputs
    }

    pub(super) fn states(&self) -> &[State] {
        &self.states
    }

    /// How often the binding holds a tensor.
    pub(super) fn holds(&self, tensor: &DeviceTensor) -> usize {
        let of_slots =
            self.outputs.values().flat_map(|output| output.spare.iter().chain(&output.tensor));
        self.inputs.values().chain(of_slots).filter(|input| input.is_same(tensor)).count()
    }

    /// Values and shapes of all inputs, for binding the model: device tensors give their shapes only.
    pub(crate) fn shapes(&self, given: &Inputs) -> Result<Inputs> {
        let mut all = given.clone();
        for (name, tensor) in &self.inputs {
            self.check_not_given(name, given)?;
            all = all.with_shape(name, tensor.shape());
        }
        Ok(all)
    }

    pub(super) fn check_not_given(&self, name: &str, given: &Inputs) -> Result<()> {
        if given.get(name).is_none() {
            return Ok(());
        }
        Err(Error::BoundInput { name: shortened(name) })
    }

    /// Rewords an error about missing values for inputs that are bound to device tensors.
    pub(crate) fn explained(&self, error: Error) -> Error {
        match error {
            Error::InFile { file, error } => self.explained(*error).in_file(&file),
            Error::Missing { name, .. } if self.inputs.contains_key(&name) => host_input(&name),
            other => other,
        }
    }

    /// Runs `run` with the recording of a program for these places with the buffers of `arena`; `record` makes a new
    /// one.
    pub(super) fn with_recording<T>(
        &mut self,
        (of, arena): (&Arc<Resources>, &mut Arena<Recording>),
        places: &DeviceBindings,
        record: impl FnOnce(DeviceBindings, &mut Arena<Recording>) -> Result<Recording>,
        run: impl FnOnce(&mut Recording) -> Result<T>,
    ) -> Result<T> {
        self.forget_dropped();
        let is_of = |it: &Recorded| it.of.as_ptr() == Arc::as_ptr(of);
        let is_same = |it: &Recorded| {
            is_of(it) && it.is(|it| it.stamp().is_of(arena) && it.places() == places)
        };
        let recorded = match self.recorded.iter().position(is_same) {
            Some(known) => self.recorded.remove(known),
            None => {
                let recording = record(places.clone(), arena)?;
                Recorded { of: Arc::downgrade(of), recording: arena.lend(of, recording) }
            }
        };
        // The arena may have grown, so that the buffers of earlier recordings can be freed.
        self.forget_dropped();
        if self.recorded.iter().filter(|it| is_of(it)).count() == RECORDINGS
            && let Some(oldest) = self.recorded.iter().position(is_of)
        {
            self.recorded.remove(oldest);
        }
        let ran = match recorded.recording.lock().as_mut() {
            Some(recording) => run(recording),
            None => Err(Error::malformed("a recording was taken back while its arena is in use")),
        };
        // Recordings are in the order of their last use, the most recent one last.
        self.recorded.push(recorded);
        ran
    }

    /// Drops recordings of programs that exist no more, or that their arena has taken back.
    fn forget_dropped(&mut self) {
        self.recorded.retain(|it| it.of.strong_count() > 0 && it.is(|it| it.stamp().is_current()));
    }

    /// Stores the outputs that a run has left on the device.
    pub(super) fn finish(&mut self, written: BTreeMap<String, DeviceTensor>) {
        for state in &self.states {
            if let Some(tensor) = written.get(&state.output) {
                self.inputs.insert(state.input.clone(), tensor.clone());
            }
        }
        let recorded = &self.recorded;
        let is_recorded =
            |tensor: &DeviceTensor| recorded.iter().any(|one| one.is(|it| it.uses(tensor)));
        for (name, tensor) in written {
            let Some(slot) = self.outputs.get_mut(&name) else { continue };
            slot.spare.extend(slot.tensor.take());
            slot.spare.retain(|it| !it.is_same(&tensor) && is_recorded(it));
            slot.tensor = Some(tensor);
        }
    }
}

impl DeviceOutput {
    /// A tensor that nobody else holds, for a run to write.
    pub(super) fn free(&self, element: ElementType, shape: &[u64]) -> Option<DeviceTensor> {
        let mut all = self.spare.iter().chain(&self.tensor);
        all.find(|it| it.is_free_for(element, shape)).map(|it| it.viewed(element, shape))
    }
}

/// The error of a device tensor bound to an input whose values the host needs.
pub(super) fn host_input(name: &str) -> Error {
    let problem =
        "cannot be bound: the host needs its values, since shapes or operators depend on them";
    Error::input(name, "a tensor on the device", problem, "values for each run")
}
