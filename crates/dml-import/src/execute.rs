//! Compilation and execution of programs on a device.

mod arena;
mod bound;
mod cache;
mod device_tensor;
mod in_place;
mod io_binding;
mod lent;
mod memory;
mod packing;
mod preparation;
mod progress;
mod recording;
mod resources;
mod run_bound;
mod weights;

use std::sync::Arc;

use dml::{CompiledOperator, Device, GraphCompiler};
use dml_core::graph::NodeKind;
use dml_core::{Error as CoreError, validate};
use rustc_hash::FxHashSet;

use crate::error::{Error, NodeName, Requirement, Result};
use crate::graph::typed;
use crate::inputs::{Input, Inputs};
use crate::program::{
    Destination, HostQuestion, Operator, Output, Program, ProgramInput, Read, Source, Step, Work,
};
use crate::tensor::{Tensor, text};

use arena::Arenas;
pub(crate) use cache::{Bounds, ProgramCache};
pub use device_tensor::DeviceTensor;
pub use io_binding::IoBinding;
pub(crate) use memory::is_out_of_memory;
pub use progress::Progress;
use recording::{DeviceBindings, Recording};
use resources::{Resources, operator_of};
use run_bound::InputValues;
pub(crate) use weights::{Evict, Weights};

/// The result of a run.
#[derive(Debug)]
pub(crate) enum Reading {
    Outputs(Vec<Output>),
    /// The device's answers to all questions of the host; the program was made for other answers, or for none.
    Answers {
        found: Vec<Tensor>,
        /// How many leading answers are valid: up to and including the first that changed.
        sure: usize,
    },
}

/// A program compiled for a device, with its buffers. Runs may be repeated, from any thread. Two runs may overlap, each
/// with its own buffers for inputs, outputs and temporary memory; more wait for one of them, as do runs of programs
/// whose operators write what all runs share (such as DxDispatch's). A run is one submission, except where DxDispatch's
/// commands refill a buffer that they also write, and where a device without copies has to read a buffer before a later
/// command writes it again.
#[derive(Debug)]
pub struct Executable {
    device: Device,
    program: Program,
    /// `None` if every output is known without a device.
    resources: Option<Arc<Resources>>,
    memory: SharedMemory,
}

/// Device memory that the programs of a session share.
#[derive(Clone, Debug)]
pub(crate) struct SharedMemory {
    pub(crate) weights: Arc<Weights>,
    pub(crate) arenas: Arc<Arenas<Recording>>,
}

impl SharedMemory {
    /// The memory of a new session on `device`.
    pub(crate) fn of(device: &Device) -> Self {
        Self { weights: Weights::of(device), arenas: Arc::default() }
    }
}

impl Program {
    /// Compiles the operators for `device`, and uploads the model's weights.
    ///
    /// # Errors
    /// [`Error::Device`] names the node whose operator the device refuses; [`Error::Memory`]: there is no
    /// room for a tensor; [`Error::InFile`]: a weight cannot be read.
    pub fn compile(&self, device: &Device) -> Result<Executable> {
        self.compile_with_progress(device, &|_| ())
    }

    /// Compiles the program like [`compile`](Self::compile), and reports progress to `tell`.
    ///
    /// # Errors
    /// See [`compile`](Self::compile).
    pub fn compile_with_progress(
        &self,
        device: &Device,
        tell: &dyn Fn(Progress),
    ) -> Result<Executable> {
        let compiler = GraphCompiler::new(device, Arc::default());
        let mut program = self.clone();
        let memory = SharedMemory::of(device);
        let resources = program.resources(&compiler, &memory, tell)?;
        Ok(Executable::new(device, program, resources, memory))
    }

    /// Compiles the program with device memory that it shares with others; `None` if it needs no device.
    pub(crate) fn resources(
        &mut self,
        compiler: &GraphCompiler,
        shared: &SharedMemory,
        tell: &dyn Fn(Progress),
    ) -> Result<Option<Arc<Resources>>> {
        tell(Progress::Compiling);
        let device = compiler.device();
        shared.weights.unify(self);
        let operators = self.compiled(compiler)?;
        if !self.needs_device() {
            return Ok(None);
        }
        let resources = Resources::new(device, self, operators, (&shared.weights, tell));
        let resources = resources.map_err(|error| memory::with_tensor(device, self, error))?;
        Ok(Some(Arc::new(resources)))
    }

    /// The compiled operators; `None` for those that are executed once.
    fn compiled(&self, compiler: &GraphCompiler) -> Result<Vec<Option<CompiledOperator>>> {
        let in_runs: FxHashSet<usize> = self.steps.iter().filter_map(operator_of).collect();
        let operators = self.operators.iter().enumerate();
        let compiled = |(index, operator): (usize, &Operator)| {
            in_runs.contains(&index).then(|| compiled(compiler, operator)).transpose()
        };
        operators.map(compiled).collect()
    }

    /// The outputs of a program that needs no device.
    ///
    /// # Errors
    /// Values of an input are missing or do not fit; [`Error::Unreadable`] where the program does need
    /// a device.
    pub fn run_on_host(&self, inputs: &Inputs) -> Result<Vec<Output>> {
        self.check_fixed(inputs)?;
        let tensors = self.tensors(inputs)?;
        let output = |step: &Step| match step {
            Step::Read(read) => self.known(read, &tensors).transpose(),
            Step::Initialize(_) | Step::Dispatch(_) => None,
        };
        let outputs = self.steps.iter().map(|step| {
            output(step).unwrap_or_else(|| Err(Error::Unreadable("needs a device".to_owned())))
        });
        outputs.collect()
    }

    /// Checks that inputs on which shapes depend have the values that were bound.
    fn check_fixed(&self, given: &Inputs) -> Result<()> {
        for input in self.inputs.iter().filter(|input| input.fixed) {
            let Some(Input::Tensor(found)) = given.get(&input.name) else { continue };
            // Other shapes are refused with the other inputs.
            let is_shape = found.shape() == input.shape;
            if is_shape && Some(typed(found, input.element, &input.name)?) != input.tensor {
                let problem = "cannot be given: shapes depend on the one that was bound";
                let accepted = "the same, or a new program";
                return Err(Error::input(&input.name, "another value", problem, accepted));
            }
        }
        Ok(())
    }

    /// The values of the inputs, those of `given` before those that were bound.
    fn tensors(&self, given: &Inputs) -> Result<Vec<Option<Tensor>>> {
        if let Some((name, _)) = given.iter().find(|(name, _)| !self.has_input(name)) {
            return Err(self.unknown_input(name));
        }
        self.inputs.iter().map(|input| tensor(input, given)).collect()
    }

    fn unknown_input(&self, name: &str) -> Error {
        Error::unknown_input(name, self.inputs.iter().map(|input| input.name.as_str()))
    }

    fn has_input(&self, name: &str) -> bool {
        self.inputs.iter().any(|input| input.name == name)
    }

    /// An output that no step writes; `None` for outputs in buffers.
    fn known(&self, read: &Read, tensors: &[Option<Tensor>]) -> Result<Option<Output>> {
        let tensor = match &read.source {
            Source::Host(tensor) => tensor.clone(),
            Source::Input(index) => {
                let tensor = self.input(*index, tensors)?;
                tensor.reshaped(read.shape.clone()).with_element(read.element)
            }
            Source::Buffer(_) => return Ok(None),
        };
        Ok(Some(Output { destination: read.destination.clone(), tensor }))
    }

    fn input(&self, index: usize, tensors: &[Option<Tensor>]) -> Result<Tensor> {
        let missing = || Error::missing(&self.inputs[index].name, Requirement::Values);
        tensors[index].clone().ok_or_else(missing)
    }
}

fn tensor(input: &ProgramInput, given: &Inputs) -> Result<Option<Tensor>> {
    let Some(found) = given.get(&input.name) else { return Ok(input.tensor.clone()) };
    if found.shape() != input.shape {
        let (given, bound) = (text(found.shape()), text(&input.shape));
        return Err(Error::input(&input.name, given, "is not the shape that was bound", bound));
    }
    let Input::Tensor(tensor) = found else { return Ok(input.tensor.clone()) };
    typed(tensor, input.element, &input.name).map(Some)
}

/// An operator or a graph for a device. Of a graph, the node is named that is refused.
fn compiled(compiler: &GraphCompiler, operator: &Operator) -> Result<CompiledOperator> {
    let device = compiler.device();
    match &operator.work {
        Work::Operator(one) => {
            device.compile(one.clone()).map_err(|error| at(&operator.node, error))
        }
        Work::Graph { desc, nodes } => compiler.compile(desc).map_err(|error| {
            let refused = match &error {
                dml::Error::Operator(CoreError::InNode { node, error }) => {
                    Some((node_number(node), (**error).clone()))
                }
                _ => None,
            };
            let named = refused.and_then(|(at, error)| Some((nodes.get(at?)?, error)));
            match named {
                Some((node, error)) => at(node, dml::Error::Operator(error)),
                // Graphs that are refused without naming a node: report the first operator that is refused by
                // itself.
                None => match first_refused(device, operator) {
                    Some((at_node, refusal)) => at(&at_node, dml::Error::Operator(refusal)),
                    None => at(&operator.node, error),
                },
            }
        }),
    }
}

/// The node number in a label such as `Nodes[3]` or `Nodes[3] name`.
fn node_number(label: &str) -> Option<usize> {
    let rest = label.strip_prefix("Nodes[")?;
    rest.split(']').next()?.parse().ok()
}

fn first_refused(device: &Device, operator: &Operator) -> Option<(NodeName, CoreError)> {
    let Work::Graph { desc, nodes } = &operator.work else { return None };
    let level = device.feature_level();
    desc.nodes.iter().zip(nodes).find_map(|(it, node)| match &it.kind {
        NodeKind::Operator(operator) => {
            validate(operator, level).err().map(|error| (NodeName::clone(node), error))
        }
        NodeKind::Constant(_) => None,
    })
}

impl Executable {
    /// A program with its compiled resources.
    pub(crate) fn new(
        device: &Device,
        program: Program,
        resources: Option<Arc<Resources>>,
        memory: SharedMemory,
    ) -> Self {
        Self { device: device.clone(), program, resources, memory }
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The device that the program was compiled for.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Runs the program and waits for it. Values in `inputs` replace those that were bound.
    ///
    /// # Errors
    /// Values of an input are missing or do not fit; [`Error::Memory`]: there is no room for a tensor;
    /// [`Error::Device`]: a binding is refused, or the device was lost; [`Error::Invalid`]: the device computes
    /// a value that differs from the one the program was made for, which only a [`Session`](crate::Session) can
    /// handle.
    pub fn run(&self, inputs: &Inputs) -> Result<Vec<Output>> {
        self.program.check_fixed(inputs)?;
        match self.run_reading(inputs)? {
            Reading::Outputs(outputs) => Ok(outputs),
            Reading::Answers { found, sure } => Err(self.outdated(&found[..sure])),
        }
    }

    /// Runs the program; gives the device's answers instead of outputs if the program was not made for them.
    pub(crate) fn run_reading(&self, inputs: &Inputs) -> Result<Reading> {
        Ok(self.read(self.run_all(inputs)?))
    }

    /// Separates a run's outputs from the answers, and checks the answers.
    fn read(&self, mut outputs: Vec<Output>) -> Reading {
        let is_answer = |it: &Output| matches!(it.destination, Destination::Answer(_));
        let first = outputs.iter().position(is_answer).unwrap_or(outputs.len());
        let found: Vec<Tensor> = outputs.split_off(first).into_iter().map(|it| it.tensor).collect();
        let questions = &self.program.questions;
        let is_wrong = |(it, found): (&HostQuestion, &Tensor)| {
            it.answer.as_ref().is_some_and(|answer| answer != found)
        };
        let wrong = questions.iter().zip(&found).position(is_wrong);
        match wrong.is_none() && !self.program.is_open() {
            true => Reading::Outputs(outputs),
            false => Reading::Answers { sure: wrong.map_or(found.len(), |wrong| wrong + 1), found },
        }
    }

    fn outdated(&self, answers: &[Tensor]) -> Error {
        let asked = &self.program.questions[answers.len().saturating_sub(1)];
        let show = |it: Option<&Tensor>| {
            it.map_or_else(String::new, |it| {
                format!("{:02x?}", &it.bytes()[..it.bytes().len().min(8)])
            })
        };
        let problem = "are the first bytes that a device computes for it";
        let accepted = format!("{}, or a session", show(asked.answer.as_ref()));
        asked.node.invalid("input", show(answers.last()), problem, accepted)
    }

    fn run_all(&self, inputs: &Inputs) -> Result<Vec<Output>> {
        let (device, program) = (&self.device, &self.program);
        check_alive(device)?;
        let given = InputValues::on_host(program.tensors(inputs)?);
        let reads: Vec<&Read> = self.reads().map(|(_, read)| read).collect();
        self.outputs(&reads, &given, |resources| {
            let _turn = resources.turn();
            self.memory.arenas.with(resources, |arena| {
                let recording = arena.recording(resources, |arena| {
                    Recording::new(
                        device,
                        program,
                        resources,
                        (DeviceBindings::of_host(program), arena),
                    )
                })?;
                recording.run(device, program, resources.refilled(), &given.host)
            })
        })
    }

    /// The bytes of device memory that are freed with the program: what no other program shares.
    pub(crate) fn own_bytes(&self) -> u64 {
        self.resources.as_ref().map_or(0, |resource| resource.bytes())
    }

    /// The steps that read tensors, with their indices.
    fn reads(&self) -> impl Iterator<Item = (usize, &Read)> {
        self.program.steps.iter().enumerate().filter_map(|(index, step)| match step {
            Step::Read(read) => Some((index, read)),
            Step::Initialize(_) | Step::Dispatch(_) => None,
        })
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        self.resources = None;
        self.memory.weights.forget_dropped();
    }
}

/// Fails if the device was lost, or belongs to the process that this one was forked from: a run would wait for memory
/// and for turns of threads that a forked process does not have.
pub(crate) fn check_alive(device: &Device) -> Result<()> {
    device.vulkan().check_alive().map_err(|error| at(&its_buffers(), error.into()))
}

/// The name that errors of a program's buffers have in place of a node's.
fn its_buffers() -> NodeName {
    NodeName::new("program", "its buffers")
}

fn at(node: &NodeName, error: dml::Error) -> Error {
    Error::Device { node: node.clone(), error: Box::new(error) }
}
