//! Programs on a device.

use std::sync::Mutex;

use bytes::Bytes;
use dml::{
    AbstractOperator, Buffer, BufferBinding, CompiledOperator, Device, TensorDesc, TensorFlags,
};
use dml_core::schema::FieldKind;

use crate::error::{Error, NodeName, Requirement, Result};
use crate::graph::typed;
use crate::inputs::{Input, Inputs};
use crate::program::{
    Binding, Dispatch, Initial, Output, Program, ProgramInput, Read, Source, Step,
};
use crate::tensor::{Tensor, text};

/// How much of a sequence is in host memory at a time.
const CHUNK_BYTES: usize = 4 << 20;

/// A program whose operators are compiled for a device. It runs any number of times, from any thread;
/// runs that are started at the same time wait for each other.
#[derive(Debug)]
pub struct Executable {
    device: Device,
    program: Program,
    operators: Vec<CompiledOperator>,
    /// Operators with inputs that are OWNED_BY_DML keep them between the calls of one run.
    running: Mutex<()>,
}

impl Program {
    /// Compiles the operators for `device`.
    ///
    /// # Errors
    /// [`Error::Device`] names the node whose operator the device refuses.
    pub fn compile(&self, device: &Device) -> Result<Executable> {
        let compile = |it: &crate::program::Operator| {
            device.compile(it.operator.clone()).map_err(|error| at(&it.node, error))
        };
        Ok(Executable {
            device: device.clone(),
            program: self.clone(),
            operators: self.operators.iter().map(compile).collect::<Result<_>>()?,
            running: Mutex::default(),
        })
    }

    /// The outputs of a program that needs no device.
    ///
    /// # Errors
    /// Values of an input are missing or do not fit; [`Error::Unreadable`] where the program does need
    /// a device.
    pub fn run_on_host(&self, inputs: &Inputs) -> Result<Vec<Output>> {
        let tensors = self.tensors(inputs)?;
        let output = |step: &Step| match step {
            Step::Read(read) => self.known(read, &tensors).transpose(),
            Step::Dispatch(_) => None,
        };
        let outputs = self.steps.iter().map(|step| {
            output(step).unwrap_or_else(|| Err(Error::Unreadable("needs a device".to_owned())))
        });
        outputs.collect()
    }

    /// The values of the inputs, those of `given` before those that were bound.
    fn tensors(&self, given: &Inputs) -> Result<Vec<Option<Tensor>>> {
        if let Some((name, _)) = given.iter().find(|(name, _)| !self.has_input(name)) {
            let names: Vec<&str> = self.inputs.iter().map(|it| it.name.as_str()).collect();
            let problem = "is no input of the program";
            return Err(Error::input(name, "it", problem, names.join(", ")));
        }
        self.inputs.iter().map(|input| tensor(input, given)).collect()
    }

    fn has_input(&self, name: &str) -> bool {
        self.inputs.iter().any(|input| input.name == name)
    }

    /// An output that no step writes.
    fn known(&self, read: &Read, tensors: &[Option<Tensor>]) -> Result<Option<Output>> {
        let tensor = match &read.source {
            Source::Host(tensor) => tensor.clone(),
            Source::Input(index) => self.input(*index, tensors)?.reshaped(read.shape.clone()),
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
    let tensor = typed(tensor, input.element, &input.name)?;
    if input.fixed && Some(&tensor) != input.tensor.as_ref() {
        let problem = "cannot be given: shapes depend on the one that was bound";
        return Err(Error::input(
            &input.name,
            "another value",
            problem,
            "the same, or a new program",
        ));
    }
    Ok(Some(tensor))
}

impl Executable {
    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Runs the program and waits for it. Values of `inputs` come before those that were bound.
    ///
    /// # Errors
    /// Values of an input are missing or do not fit; [`Error::Device`]: memory ran out, a binding is
    /// refused, or the device was lost.
    pub fn run(&self, inputs: &Inputs) -> Result<Vec<Output>> {
        let tensors = self.program.tensors(inputs)?;
        let _running = self.running.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let buffers = self.program.buffers.iter().enumerate();
        let buffers = buffers.map(|(index, _)| self.buffer(index, &tensors));
        let buffers = buffers.collect::<Result<Vec<Buffer>>>()?;
        let mut initialized = vec![false; self.operators.len()];
        let mut outputs = Vec::new();
        for step in &self.program.steps {
            match step {
                Step::Dispatch(dispatch) => self.dispatch(dispatch, &buffers, &mut initialized)?,
                Step::Read(read) => outputs.push(match self.program.known(read, &tensors)? {
                    Some(output) => output,
                    None => self.read(read, &buffers)?,
                }),
            }
        }
        Ok(outputs)
    }

    fn buffer(&self, index: usize, tensors: &[Option<Tensor>]) -> Result<Buffer> {
        let plan = &self.program.buffers[index];
        let node = NodeName::new("buffer", index.to_string());
        let buffer = self.device.create_buffer(plan.size).map_err(|error| at(&node, error))?;
        let write = |offset, bytes: &[u8]| {
            let written = self.device.vulkan().write_buffer(&buffer, offset, bytes);
            written.map_err(|error| at(&node, error.into()))
        };
        match &plan.initial {
            Initial::Undefined => {}
            Initial::Tensor(tensor) => write(0, tensor.bytes())?,
            Initial::Input(input) => write(0, self.program.input(*input, tensors)?.bytes())?,
            Initial::Sequence(sequence) => {
                let mut offset = 0;
                for chunk in sequence.chunks(CHUNK_BYTES) {
                    write(offset, &chunk)?;
                    offset += chunk.len() as u64;
                }
            }
        }
        Ok(buffer)
    }

    fn dispatch(
        &self,
        dispatch: &Dispatch,
        buffers: &[Buffer],
        initialized: &mut [bool],
    ) -> Result<()> {
        let compiled = &self.operators[dispatch.operator];
        let source = &self.program.operators[dispatch.operator];
        let bind = |binding: &Binding| BufferBinding {
            buffer: &buffers[binding.buffer],
            offset: binding.offset,
            size: binding.size,
        };
        let all = |bindings: &[Option<Binding>], chosen: &dyn Fn(usize) -> bool| {
            let bindings = bindings.iter().enumerate();
            let bind = |(index, it): (usize, &Option<Binding>)| {
                it.as_ref().filter(|_| chosen(index)).map(bind)
            };
            bindings.map(bind).collect::<Vec<_>>()
        };
        let owned = owned(&source.operator);
        let is_owned = |index: usize| owned.get(index).copied().unwrap_or(false);
        let failed = |error| at(&source.node, error);
        if compiled.needs_initialization() && !initialized[dispatch.operator] {
            let inputs = all(&dispatch.inputs, &is_owned);
            self.device.initialize(compiled, &inputs).map_err(failed)?;
            initialized[dispatch.operator] = true;
        }
        let inputs = all(&dispatch.inputs, &|index| !is_owned(index));
        let outputs = all(&dispatch.outputs, &|_| true);
        self.device.execute(compiled, &inputs, &outputs).map_err(failed)
    }

    fn read(&self, read: &Read, buffers: &[Buffer]) -> Result<Output> {
        let bytes = match &read.source {
            Source::Buffer(binding) => {
                let node = NodeName::new("buffer", binding.buffer.to_string());
                let bytes = crate::tensor::byte_count(read.element, &read.shape).unwrap_or(0);
                let range = binding.offset..binding.offset + bytes;
                let buffer = &buffers[binding.buffer];
                let read = self.device.vulkan().read_buffer(buffer, range);
                read.map_err(|error| at(&node, error.into()))?
            }
            _ => Vec::new(),
        };
        let tensor = Tensor::new(read.element, read.shape.clone(), Bytes::from(bytes))?;
        Ok(Output { destination: read.destination.clone(), tensor })
    }
}

/// Which inputs are bound at initialization.
fn owned(operator: &AbstractOperator) -> Vec<bool> {
    let owned = |tensor: &TensorDesc| tensor.flags.contains(TensorFlags::OWNED_BY_DML);
    operator.bindings(FieldKind::Input).map(|(_, tensor)| tensor.is_some_and(owned)).collect()
}

fn at(node: &NodeName, error: dml::Error) -> Error {
    Error::Device { node: node.clone(), error: Box::new(error) }
}
