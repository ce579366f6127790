//! A model on a device, compiled once for each set of input shapes.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use dml::Device;

use crate::error::{Error, Result};
use crate::execute::{Executable, IoBinding, Progress, Reading, Weights};
use crate::graph::{Answers, Key, typed};
use crate::inputs::{Input, Inputs};
use crate::limits;
use crate::model::Model;
use crate::program::{Output, Program, ProgramInput};
use crate::tensor::Tensor;

/// How many compiled programs a session keeps by default.
const CAPACITY: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// Runs a model on a device with inputs of any shapes.
///
/// A program is compiled for each set of shapes, and of values that shapes depend on. The most recently used
/// programs are kept, each with its buffers. They share the model's weights, and the results that depend only
/// on weights, which stay on the device as long as a program reads them.
///
/// Where a shape or a condition depends on a value that the device computes, a part of the model runs first,
/// and the host reads the value. Later runs assume the value is unchanged and check it afterwards: it is read
/// with the outputs, at no extra cost. If it has changed, another kept program is used, or compiled.
#[derive(Debug)]
pub struct Session {
    device: Device,
    model: Arc<Model>,
    capacity: NonZeroUsize,
    weights: Weights,
    /// The programs in the order of their last use, the most recent one last.
    compiled: Mutex<Vec<Arc<Executable>>>,
}

impl Session {
    /// A session that has compiled nothing yet.
    pub fn new(device: &Device, model: impl Into<Arc<Model>>) -> Self {
        Self {
            device: device.clone(),
            model: model.into(),
            capacity: CAPACITY,
            weights: Weights::default(),
            compiled: Mutex::default(),
        }
    }

    /// Keeps up to `capacity` compiled programs instead of 16.
    #[must_use]
    pub fn with_capacity(self, capacity: NonZeroUsize) -> Self {
        Self { capacity, ..self }
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Runs the model and waits for it.
    ///
    /// # Errors
    /// See [`Model::bind`], [`Program::compile`] and [`Executable::run`].
    pub fn run(&self, inputs: &Inputs) -> Result<Vec<Output>> {
        self.run_with_progress(inputs, &|_| ())
    }

    /// Runs the model like [`run`](Self::run), and reports the progress of compilation to `tell`.
    ///
    /// # Errors
    /// See [`run`](Self::run).
    pub fn run_with_progress(
        &self,
        inputs: &Inputs,
        tell: &dyn Fn(Progress),
    ) -> Result<Vec<Output>> {
        self.run_as(inputs, tell, |it| it.run_reading(inputs))
    }

    /// Runs the model with the device tensors of `binding`, and waits for it. Returns the outputs that are not
    /// bound to the device. The shapes of bound tensors and of `inputs` may change from run to run.
    ///
    /// # Errors
    /// See [`Model::bind`], [`Program::compile`] and [`Executable::run_bound`].
    pub fn run_bound(&self, binding: &mut IoBinding, inputs: &Inputs) -> Result<Vec<Output>> {
        let shapes = binding.shapes(inputs)?;
        let ran = self.run_as(&shapes, &|_| (), |it| it.run_bound_reading(binding, inputs));
        ran.map_err(|error| binding.explained(error))
    }

    /// The compiled program for inputs like these: a kept one, or a new one.
    ///
    /// # Errors
    /// See [`Model::bind`], which also fails if the host has to know a device value that no earlier run has
    /// read, and [`Program::compile`].
    pub fn executable(&self, inputs: &Inputs) -> Result<Arc<Executable>> {
        match self.known(inputs, &[]) {
            Some(known) => Ok(known),
            None => self.compiled(self.model.bind(inputs)?, &|_| ()),
        }
    }

    /// Runs programs until the device's answers are those that the last program was made for.
    fn run_as(
        &self,
        inputs: &Inputs,
        tell: &dyn Fn(Progress),
        mut run: impl FnMut(&Executable) -> Result<Reading>,
    ) -> Result<Vec<Output>> {
        let mut executable = match self.known(inputs, &[]) {
            Some(known) => known,
            None => self.compiled(self.first(inputs)?, tell)?,
        };
        let (mut guesses, mut passes) = (0, 0);
        loop {
            let (found, sure) = match run(&executable)? {
                Reading::Outputs(outputs) => return Ok(outputs),
                Reading::Answers { found, sure } => (found, sure),
            };
            passes += 1;
            if found.len().max(passes) > limits::ANSWERS {
                let limit = limits::ANSWERS;
                let problem =
                    format!("the host has to know more than {limit} values of the device");
                return Err(Error::malformed(problem).in_file(self.model.file()));
            }
            let is_right = sure == found.len();
            let more = (guesses * 2).max(1).min(limits::ANSWERS - found.len());
            guesses = if is_right { more } else { 0 };
            let keys = executable.program().questions.iter().map(|it| it.key);
            let found: Vec<(Key, Tensor)> = keys.zip(found).collect();
            executable = match self.known(inputs, &found[..sure]) {
                Some(known) => known,
                None => self.compiled(self.answered(inputs, &found, (sure, guesses))?, tell)?,
            };
        }
    }

    /// The program that is tried first. Conditions and sizes that depend on floats of the caller are asked of
    /// the device as well, so that no program is made for each of their values.
    fn first(&self, inputs: &Inputs) -> Result<Program> {
        let bound = self.model.bind(inputs);
        let is_float = |it: &ProgramInput| it.element.is_some_and(|element| !element.is_integer());
        let is_for_all =
            |it: &Program| !it.inputs.iter().any(|input| input.fixed && is_float(input));
        match bound {
            Ok(program) if is_for_all(&program) => Ok(program),
            bound => match self.model.bind_reading(inputs, Answers::default()) {
                Ok(Some(asking)) => Ok(asking),
                Err(error) if bound.is_err() => Err(error),
                _ => bound,
            },
        }
    }

    /// The program for these answers, of which the first `sure` ones are valid. The others may contradict each
    /// other, and iterations that are guessed may break a rule that the iterations actually executed keep.
    fn answered(
        &self,
        inputs: &Inputs,
        found: &[(Key, Tensor)],
        (sure, guesses): (usize, usize),
    ) -> Result<Program> {
        let bind = |found: &[(Key, Tensor)], guesses| {
            let known = found.iter().cloned().collect();
            self.model.bind_reading(inputs, Answers { known, guesses })
        };
        let bound = match bind(found, guesses) {
            Err(_) if guesses > 0 || sure < found.len() => bind(&found[..sure], 0),
            bound => bound,
        };
        bound?.ok_or_else(|| Error::malformed("nothing of the device has to be read"))
    }

    fn compiled(&self, mut program: Program, tell: &dyn Fn(Progress)) -> Result<Arc<Executable>> {
        // Each run gives its own values.
        for input in program.inputs.iter_mut().filter(|input| !input.fixed) {
            input.tensor = None;
        }
        // The lock is not held while compiling, so that other shapes run meanwhile.
        let executable = Arc::new(program.compile_with(&self.device, &self.weights, tell)?);
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let surplus = (compiled.len() + 1).saturating_sub(self.capacity.get());
        let evicted: Vec<Arc<Executable>> = compiled.drain(..surplus).collect();
        compiled.push(Arc::clone(&executable));
        drop(compiled);
        // Dropped without the lock: other threads can look for programs while buffers are freed.
        drop(evicted);
        Ok(executable)
    }

    /// The number of compiled programs that are kept.
    pub fn compiled_count(&self) -> usize {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The most recently used program that was made for such inputs and these answers.
    fn known(&self, inputs: &Inputs, answers: &[(Key, Tensor)]) -> Option<Arc<Executable>> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let serves = |it: &Arc<Executable>| {
            let program = it.program();
            let is_known = |(key, answer): &(Key, Tensor)| {
                program
                    .questions
                    .iter()
                    .any(|it| it.key == *key && it.answer.as_ref() == Some(answer))
            };
            serves(program.inputs(), inputs) && answers.iter().all(is_known)
        };
        let index = compiled.iter().rposition(serves)?;
        let executable = compiled.remove(index);
        compiled.push(Arc::clone(&executable));
        Some(executable)
    }
}

/// Whether a program that was bound to other inputs runs with these: the same inputs are given, with the same
/// shapes and types, and with the same values where shapes or operators depend on them.
fn serves(bound: &[ProgramInput], given: &Inputs) -> bool {
    let is_bound = |name: &str| bound.iter().any(|input| input.name == name && input.given);
    let fits = |input: &ProgramInput| match given.get(&input.name) {
        None => !input.given,
        Some(Input::Shape(shape)) => *shape == input.shape && !input.fixed,
        Some(Input::Tensor(tensor)) => {
            let tensor = typed(tensor, input.element, &input.name);
            let is_same = |it: &Tensor| !input.fixed || input.tensor.as_ref() == Some(it);
            tensor.is_ok_and(|it| it.shape() == input.shape && is_same(&it))
        }
    };
    given.iter().all(|(name, _)| is_bound(name)) && bound.iter().all(fits)
}
