//! A model on a device, compiled once for each set of input shapes.

mod memory;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use dml::{Device, GraphCompiler};

use crate::error::{Error, Result};
use crate::execute::{
    Bounds, Executable, IoBinding, ProgramCache, Progress, Reading, SharedMemory, check_alive,
};
use crate::graph::{Answers, Key, typed};
use crate::inputs::{Input, Inputs};
use crate::limits;
use crate::model::Model;
use crate::program::{Output, Program, ProgramInput};
use crate::tensor::Tensor;

pub use memory::SessionMemory;

/// How many compiled programs a session keeps by default.
const CAPACITY: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// The part of the device's heap that the programs of a session may have for themselves by default.
const PART_OF_HEAP: u64 = 4;

/// Runs a model on a device with inputs of any shapes.
///
/// A program is compiled for each set of shapes, and of values that shapes depend on. Up to 16 programs are kept, as
/// long as what they have for themselves takes at most a quarter of the device's largest heap; those that ran once
/// are evicted first. Runs that do not overlap use the same temporary memory and the same buffers for inputs and
/// outputs. Two runs may overlap, each with its own; more wait for one of them. Programs share the model's weights, and the results that depend only on weights, with all sessions of
/// the device; these stay there as long as a program reads them.
///
/// Where device memory runs out, programs that no run uses are evicted, also those of other sessions of the device,
/// and the work is tried again.
///
/// Where a shape or a condition depends on a value that the device computes, a part of the model runs first,
/// and the host reads the value. Later runs assume the value is unchanged and check it afterwards: it is read
/// with the outputs, at no extra cost. If it has changed, another kept program is used, or compiled.
#[derive(Debug)]
pub struct Session {
    compiler: GraphCompiler,
    model: Arc<Model>,
    memory: SharedMemory,
    compiled: Arc<ProgramCache>,
    /// The bytes of the arenas when the bound was enforced last.
    arena_bytes: AtomicU64,
    compilations: Mutex<Vec<Weak<Compilation>>>,
}

impl Session {
    /// A session that has compiled nothing yet.
    pub fn new(device: &Device, model: impl Into<Arc<Model>>) -> Self {
        let model = model.into();
        let memory = SharedMemory::of(device);
        let most_bytes = device.vulkan().device_heap().size / PART_OF_HEAP;
        let bounds = Bounds { capacity: CAPACITY, most_bytes };
        let compiled = Arc::new(ProgramCache::new(bounds, &memory.arenas));
        memory.weights.add_session(&compiled);
        Self {
            compiler: GraphCompiler::new(device, model.operators()),
            model,
            memory,
            compiled,
            arena_bytes: AtomicU64::new(0),
            compilations: Mutex::default(),
        }
    }

    /// Keeps up to `capacity` compiled programs instead of 16.
    #[must_use]
    pub fn with_capacity(self, capacity: NonZeroUsize) -> Self {
        self.compiled.set_bounds(Bounds { capacity, ..self.compiled.bounds() });
        self
    }

    /// Keeps programs as long as they have at most `bytes` of device memory for themselves, instead of a quarter of
    /// the device's largest heap. Weights that several programs read do not count, nor do tensors of the caller.
    /// Programs that run now are not evicted.
    #[must_use]
    pub fn with_program_bytes(self, bytes: u64) -> Self {
        self.compiled.set_bounds(Bounds { most_bytes: bytes, ..self.compiled.bounds() });
        self
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
        self.run_bound_with(binding, inputs, |_, _| Ok(()))
    }

    /// Runs the model like [`run_bound`](Self::run_bound). Before each program that is run for it, `prepare` sees the
    /// program and may change which outputs stay on the device, and which inputs are caches.
    ///
    /// # Errors
    /// See [`run_bound`](Self::run_bound), and the errors of `prepare`.
    pub fn run_bound_with(
        &self,
        binding: &mut IoBinding,
        inputs: &Inputs,
        mut prepare: impl FnMut(&Program, &mut IoBinding) -> Result<()>,
    ) -> Result<Vec<Output>> {
        let shapes = binding.shapes(inputs)?;
        let ran = self.run_as(&shapes, &|_| (), |it| {
            prepare(it.program(), binding)?;
            it.run_bound_reading(binding, inputs)
        });
        ran.map_err(|error| binding.explained(error))
    }

    /// The compiled program for inputs like these: a kept one, or a new one.
    ///
    /// # Errors
    /// See [`Model::bind`], which also fails if the host has to know a device value that no earlier run has
    /// read, and [`Program::compile`].
    pub fn executable(&self, inputs: &Inputs) -> Result<Arc<Executable>> {
        self.known_or(inputs, (&[], Values::Bound), |session| {
            session.compiled(session.model.bind(inputs)?, &|_| ())
        })
    }

    /// Runs programs until the device's answers are those that the last program was made for.
    fn run_as(
        &self,
        inputs: &Inputs,
        tell: &dyn Fn(Progress),
        mut run: impl FnMut(&Executable) -> Result<Reading>,
    ) -> Result<Vec<Output>> {
        let mut executable = self.known_or(inputs, (&[], Values::Alike), |session| {
            session.compiled(session.first(inputs)?, tell)
        })?;
        let (mut guesses, mut passes) = (0, 0);
        loop {
            let reading = self.with_memory(|| run(&executable))?;
            self.enforce_bound();
            let (found, sure) = match reading {
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
            let keys = executable.program().questions.iter().map(|question| question.key);
            let found: Vec<(Key, Tensor)> = keys.zip(found).collect();
            executable = self.known_or(inputs, (&found[..sure], Values::Alike), |session| {
                session.compiled(session.answered(inputs, &found, (sure, guesses))?, tell)
            })?;
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
        let resources =
            self.with_memory(|| program.resources(&self.compiler, &self.memory, tell))?;
        let (device, memory) = (self.compiler.device(), self.memory.clone());
        let executable = Arc::new(Executable::new(device, program, resources, memory));
        self.compiled.add(&executable);
        self.compiled.enforce();
        Ok(executable)
    }

    /// Evicts programs if the arenas have grown.
    fn enforce_bound(&self) {
        let bytes = self.memory.arenas.bytes();
        if self.arena_bytes.swap(bytes, Ordering::Relaxed) != bytes {
            self.compiled.enforce();
        }
    }

    /// The number of compiled programs that are kept.
    pub fn compiled_count(&self) -> usize {
        self.compiled.count()
    }

    /// The executable for such inputs and these answers, if there is one; else the result of `compile`. Threads
    /// that bring the same shapes wait for the first one, and take what it has compiled.
    fn known_or(
        &self,
        inputs: &Inputs,
        (answers, values): (&[(Key, Tensor)], Values),
        compile: impl FnOnce(&Self) -> Result<Arc<Executable>>,
    ) -> Result<Arc<Executable>> {
        // Before any lock, which a thread of the parent process may hold in a forked one.
        check_alive(self.compiler.device())?;
        if let Some(known) = self.known(inputs, answers, values) {
            return Ok(known);
        }
        let compilation = self.compilation(inputs);
        let _turn = compilation.turn.lock().unwrap_or_else(PoisonError::into_inner);
        match self.known(inputs, answers, values) {
            Some(known) => Ok(known),
            None => compile(self),
        }
    }

    /// The compilation that all threads share that bring inputs of these shapes now.
    fn compilation(&self, inputs: &Inputs) -> Arc<Compilation> {
        let shapes: Vec<(String, Vec<u64>)> =
            inputs.iter().map(|(name, it)| (name.to_owned(), it.shape().to_vec())).collect();
        let mut all = self.compilations.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|it| it.strong_count() > 0);
        match all.iter().filter_map(Weak::upgrade).find(|it| it.shapes == shapes) {
            Some(other) => other,
            None => {
                let new = Arc::new(Compilation { shapes, turn: Mutex::default() });
                all.push(Arc::downgrade(&new));
                new
            }
        }
    }

    /// The last one used that was made for such inputs, and for these answers.
    fn known(
        &self,
        inputs: &Inputs,
        answers: &[(Key, Tensor)],
        values: Values,
    ) -> Option<Arc<Executable>> {
        // Compared outside of the lock, so that other threads run meanwhile.
        let all = self.compiled.programs();
        let mut alike = Vec::new();
        let mut found = None;
        for executable in all.iter().rev() {
            let program = executable.program();
            let is_known = |(key, answer): &(Key, Tensor)| {
                let mut asked = program.questions.iter();
                asked.any(|it| it.key == *key && it.answer.as_ref() == Some(answer))
            };
            match fit(program.inputs(), inputs).filter(|_| answers.iter().all(is_known)) {
                Some(Values::Bound) => {
                    found = Some(executable);
                    break;
                }
                Some(Values::Alike) => alike.push(executable),
                None => {}
            }
        }
        if found.is_none() && values == Values::Alike {
            let is_same = |it: &&Arc<Executable>| self.model.concludes_same(it.program(), inputs);
            found = alike.into_iter().find(is_same);
        }
        let found = found?;
        self.compiled.note_use(found);
        Some(Arc::clone(found))
    }
}

/// Which values of fixed inputs a program is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    /// The values that it was bound to.
    Bound,
    /// All of which the host concludes the same.
    Alike,
}

/// Shapes for which a program is being compiled.
#[derive(Debug)]
struct Compilation {
    shapes: Vec<(String, Vec<u64>)>,
    /// Whoever holds it compiles.
    turn: Mutex<()>,
}

/// How a program that was bound to other inputs fits these: `None` unless as many are given, with the same shapes and
/// types.
fn fit(bound: &[ProgramInput], given: &Inputs) -> Option<Values> {
    let is_bound = |name: &str| bound.iter().any(|input| input.name == name && input.given);
    if !given.iter().all(|(name, _)| is_bound(name)) {
        return None;
    }
    let mut values = Values::Bound;
    for input in bound {
        match given.get(&input.name) {
            None if input.given => return None,
            Some(other) if other.shape() != input.shape => return None,
            Some(Input::Shape(_)) if input.fixed => return None,
            None | Some(Input::Shape(_)) => {}
            Some(Input::Tensor(tensor)) => {
                let tensor = typed(tensor, input.element, &input.name).ok()?;
                if input.fixed && input.tensor.as_ref() != Some(&tensor) {
                    values = Values::Alike;
                }
            }
        }
    }
    Some(values)
}
