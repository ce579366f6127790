//! Inputs and outputs that stay on the device from run to run.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use crate::element::ElementType;
use crate::error::{Error, Result, shortened};
use crate::inputs::Inputs;

use super::device_tensor::DeviceTensor;
use super::recording::{Places, Recording};
use super::resources::Resources;

/// How many recordings a binding keeps for each program: a state alternates between two tensors, its
/// initial value is a third, and a caller who holds an output has each of them twice.
const RECORDINGS: usize = 8;

/// Which inputs and outputs of a model stay on the device.
///
/// - An *input* that is bound is read where it is. Values of all others are given to each run.
/// - An *output* that is bound is left on the device, and read when it is asked for.
/// - A *state* is an output that becomes an input of the next run.
///
/// A run never writes a tensor that somebody holds: a clone of an output, or of a state, stays what it
/// is. Otherwise tensors are used again, and a run that is like an earlier one creates nothing.
///
/// A binding is one sequence of runs. Several of them, each with its own states, may use one
/// [`Session`](crate::Session) or [`Executable`](crate::Executable).
#[derive(Debug, Default)]
pub struct IoBinding {
    inputs: BTreeMap<String, DeviceTensor>,
    outputs: BTreeMap<String, Slot>,
    states: Vec<State>,
    recorded: Vec<Recorded>,
}

/// An output that becomes an input of the next run.
#[derive(Debug)]
pub(super) struct State {
    pub(super) output: String,
    pub(super) input: String,
    initial: DeviceTensor,
}

/// An output that stays on the device.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// What the last run wrote.
    tensor: Option<DeviceTensor>,
    /// What runs before it wrote, and recordings use.
    spare: Vec<DeviceTensor>,
}

/// The commands of a program with tensors of the binding.
#[derive(Debug)]
struct Recorded {
    of: Weak<Resources>,
    recording: Recording,
}

impl IoBinding {
    /// Nothing stays on the device.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with an input that is on the device.
    #[must_use]
    pub fn with_input(mut self, name: impl Into<String>, tensor: DeviceTensor) -> Self {
        self.set_input(name, tensor);
        self
    }

    /// The same with an output that stays on the device: runs do not give it to the host.
    #[must_use]
    pub fn with_output(mut self, name: impl Into<String>) -> Self {
        self.outputs.entry(name.into()).or_default();
        self
    }

    /// The same with an output that becomes an input of the next run. The first run reads `initial`.
    #[must_use]
    pub fn with_state(
        mut self,
        output: impl Into<String>,
        input: impl Into<String>,
        initial: DeviceTensor,
    ) -> Self {
        let (output, input) = (output.into(), input.into());
        self.states.retain(|it| it.input != input);
        self.set_input(&input, initial.clone());
        self.states.push(State { output: output.clone(), input, initial });
        self.with_output(output)
    }

    /// Binds an input, or gives a state another value.
    pub fn set_input(&mut self, name: impl Into<String>, tensor: DeviceTensor) {
        self.inputs.insert(name.into(), tensor);
    }

    /// What the next run reads for an input that is bound: of a state, what the last run wrote.
    pub fn input(&self, name: &str) -> Option<&DeviceTensor> {
        self.inputs.get(name)
    }

    /// What the last run left in an output that is bound; `None` before the first run.
    pub fn output(&self, name: &str) -> Option<&DeviceTensor> {
        self.outputs.get(name)?.tensor.as_ref()
    }

    /// Gives all states their initial values, which costs nothing.
    pub fn reset(&mut self) {
        for state in &self.states {
            self.inputs.insert(state.input.clone(), state.initial.clone());
        }
    }

    /// What is bound to inputs, by name.
    pub(super) fn inputs(&self) -> impl Iterator<Item = (&str, &DeviceTensor)> {
        self.inputs.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// The outputs that stay on the device, by name.
    pub(super) fn outputs(&self) -> &BTreeMap<String, Slot> {
        &self.outputs
    }

    pub(super) fn states(&self) -> &[State] {
        &self.states
    }

    /// What is known of all inputs before a program is: of those on the device, their shapes.
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

    /// The error, in terms of what is bound: the host does not read what is on the device.
    pub(crate) fn explained(&self, error: Error) -> Error {
        match error {
            Error::InFile { file, error } => self.explained(*error).in_file(&file),
            Error::Missing { name, .. } if self.inputs.contains_key(&name) => host_input(&name),
            other => other,
        }
    }

    /// The commands of a program with these tensors; `record` makes them where they are new.
    pub(super) fn recording(
        &mut self,
        of: &Arc<Resources>,
        places: Places,
        record: impl FnOnce(Places) -> Result<Recording>,
    ) -> Result<&mut Recording> {
        let is_of = |it: &Recorded| it.of.as_ptr() == Arc::as_ptr(of);
        let is_same = |it: &Recorded| is_of(it) && *it.recording.places() == places;
        let recorded = match self.recorded.iter().position(is_same) {
            Some(known) => self.recorded.remove(known),
            None => Recorded { of: Arc::downgrade(of), recording: record(places)? },
        };
        self.recorded.retain(|it| it.of.strong_count() > 0);
        if self.recorded.iter().filter(|it| is_of(it)).count() == RECORDINGS
            && let Some(oldest) = self.recorded.iter().position(is_of)
        {
            self.recorded.remove(oldest);
        }
        // The last one used is the last.
        self.recorded.push(recorded);
        let last = self.recorded.len() - 1;
        Ok(&mut self.recorded[last].recording)
    }

    /// Takes over what a run has left on the device.
    pub(super) fn finish(&mut self, written: BTreeMap<String, DeviceTensor>) {
        for state in &self.states {
            if let Some(tensor) = written.get(&state.output) {
                self.inputs.insert(state.input.clone(), tensor.clone());
            }
        }
        let recorded = &self.recorded;
        let is_recorded = |it: &DeviceTensor| recorded.iter().any(|one| one.recording.uses(it));
        for (name, tensor) in written {
            let Some(slot) = self.outputs.get_mut(&name) else { continue };
            slot.spare.extend(slot.tensor.take());
            slot.spare.retain(|it| !it.is_same(&tensor) && is_recorded(it));
            slot.tensor = Some(tensor);
        }
    }
}

impl Slot {
    /// A tensor that nobody else holds, for a run to write.
    pub(super) fn free(&self, element: ElementType, shape: &[u64]) -> Option<DeviceTensor> {
        let mut all = self.spare.iter().chain(&self.tensor);
        all.find(|it| it.is_free_for(element, shape)).map(|it| it.viewed(element, shape))
    }
}

/// An input whose values the host has to know is on the device.
pub(super) fn host_input(name: &str) -> Error {
    let problem =
        "cannot be bound: the host needs its values, since shapes or operators depend on them";
    Error::input(name, "a tensor on the device", problem, "values for each run")
}
