//! A model with a device: inputs of any shapes, compiled once for each.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use dml::Device;

use crate::error::Result;
use crate::execute::{Executable, IoBinding, Weights};
use crate::graph::typed;
use crate::inputs::{Input, Inputs};
use crate::model::Model;
use crate::program::{Output, ProgramInput};
use crate::tensor::Tensor;

/// How many compiled programs a session keeps, unless it is told otherwise.
const CAPACITY: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// Runs a model on a device with inputs of any shapes.
///
/// A program is compiled for each set of shapes, and of values that shapes depend on. The last ones used
/// are kept, each with its buffers; the model's weights are uploaded once for all of them.
#[derive(Debug)]
pub struct Session {
    device: Device,
    model: Model,
    capacity: NonZeroUsize,
    weights: Weights,
    /// The last one used is the last.
    compiled: Mutex<Vec<Arc<Executable>>>,
}

impl Session {
    /// A session that has compiled nothing yet.
    pub fn new(device: &Device, model: Model) -> Self {
        Self {
            device: device.clone(),
            model,
            capacity: CAPACITY,
            weights: Weights::default(),
            compiled: Mutex::default(),
        }
    }

    /// The same, keeping up to `capacity` compiled programs; without more it is 16.
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
    /// Those of [`Model::bind`], [`Program::compile`](crate::Program::compile) and [`Executable::run`].
    pub fn run(&self, inputs: &Inputs) -> Result<Vec<Output>> {
        self.executable(inputs)?.run(inputs)
    }

    /// Runs the model with what `binding` has on the device, and waits for it. Gives the outputs that do
    /// not stay there. The shapes of what is bound may change from run to run, as those of `inputs` may.
    ///
    /// # Errors
    /// Those of [`Model::bind`], [`Program::compile`](crate::Program::compile) and
    /// [`Executable::run_bound`].
    pub fn run_bound(&self, binding: &mut IoBinding, inputs: &Inputs) -> Result<Vec<Output>> {
        let executable = self.executable(&binding.shapes(inputs)?);
        executable.map_err(|error| binding.explained(error))?.run_bound(binding, inputs)
    }

    /// What runs the model with inputs like these: compiled now, unless it is still there.
    ///
    /// # Errors
    /// Those of [`Model::bind`] and [`Program::compile`](crate::Program::compile).
    pub fn executable(&self, inputs: &Inputs) -> Result<Arc<Executable>> {
        if let Some(known) = self.known(inputs) {
            return Ok(known);
        }
        // Outside of the lock, so that other shapes run meanwhile.
        let mut program = self.model.bind(inputs)?;
        // Each run brings its own values.
        for input in program.inputs.iter_mut().filter(|input| !input.fixed) {
            input.tensor = None;
        }
        let executable = Arc::new(program.compile_with(&self.device, &self.weights, &|_| ())?);
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let surplus = (compiled.len() + 1).saturating_sub(self.capacity.get());
        compiled.drain(..surplus);
        compiled.push(Arc::clone(&executable));
        Ok(executable)
    }

    /// How many compiled programs there are.
    pub fn compiled_count(&self) -> usize {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn known(&self, inputs: &Inputs) -> Option<Arc<Executable>> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let serves = |it: &Arc<Executable>| serves(it.program().inputs(), inputs);
        let index = compiled.iter().rposition(serves)?;
        let executable = compiled.remove(index);
        compiled.push(Arc::clone(&executable));
        Some(executable)
    }
}

/// Whether a program that was bound to other inputs runs with these: as many are given, with the same
/// shapes and types, and the same values where those count.
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
