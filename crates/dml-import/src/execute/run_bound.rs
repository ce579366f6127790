//! Runs with inputs and outputs on the host or on the device.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::inputs::Inputs;
use crate::program::{BufferPlan, Destination, Initial, Output, Read, Source};
use crate::tensor::{Tensor, text};

use super::arena::Arena;
use super::device_tensor::DeviceTensor;
use super::in_place::Pair;
use super::io_binding::{DeviceOutput, IoBinding, host_input};
use super::memory;
use super::recording::{DeviceBindings, Recording};
use super::resources::Resources;
use super::{Executable, Reading, check_alive};

/// The values of a program's inputs, in its order. An input on the device has no host value.
pub(super) struct InputValues {
    pub(super) host: Vec<Option<Tensor>>,
    device: Vec<Option<DeviceTensor>>,
}

impl InputValues {
    /// Values that are all on the host.
    pub(super) fn on_host(host: Vec<Option<Tensor>>) -> Self {
        Self { device: vec![None; host.len()], host }
    }
}

impl Executable {
    /// Runs the program with the device tensors of `binding`, and waits for it. Returns the outputs that are
    /// not bound to the device.
    ///
    /// # Errors
    /// As [`run`](Self::run); [`Error::Input`] and [`Error::Output`]: a bound input or output is not one of the
    /// program's, does not fit, or is given as well. After an error all states are as they were before, and
    /// outputs on the device are undefined.
    pub fn run_bound(&self, binding: &mut IoBinding, inputs: &Inputs) -> Result<Vec<Output>> {
        self.program.check_fixed(inputs)?;
        match self.run_bound_reading(binding, inputs)? {
            Reading::Outputs(outputs) => Ok(outputs),
            Reading::Answers { found, sure } => Err(self.outdated(&found[..sure])),
        }
    }

    /// Runs with a binding; returns the device's answers instead of outputs if the program was not made for
    /// them. Then all states are as they were before.
    pub(crate) fn run_bound_reading(
        &self,
        binding: &mut IoBinding,
        inputs: &Inputs,
    ) -> Result<Reading> {
        let (device, program) = (&self.device, &self.program);
        check_alive(device)?;
        let given = self.given(binding, inputs)?;
        let mut places = DeviceBindings::of_host(program);
        for (plan, place) in program.buffers.iter().zip(&mut places.buffers) {
            if let Initial::Input(index) = plan.initial {
                *place = given.device[index].as_ref().and_then(DeviceTensor::buffer).cloned();
            }
        }
        let kept = self.kept(binding, &given, &mut places)?;
        let is_read = |(index, _): &(usize, &Read)| !places.is_kept[*index];
        let reads: Vec<&Read> = self.reads().filter(is_read).map(|(_, read)| read).collect();
        let outputs = self.outputs(&reads, &given, |resources| {
            let _turn = resources.turn();
            self.memory.arenas.with(resources, |arena| {
                let record = |places, arena: &mut Arena<Recording>| {
                    Recording::new(device, program, resources, (places, arena))
                };
                binding.with_recording((resources, arena), &places, record, |recording| {
                    recording.run(device, program, resources.refilled(), &given.host)
                })
            })
        })?;
        let found = self.read(outputs);
        if matches!(found, Reading::Outputs(_)) {
            binding.finish(kept);
        }
        Ok(found)
    }

    /// The outputs of `reads`: those known already, and the others from the bytes that `run` reads back, in
    /// their order.
    pub(super) fn outputs(
        &self,
        reads: &[&Read],
        given: &InputValues,
        run: impl FnOnce(&Arc<Resources>) -> Result<Vec<Vec<u8>>>,
    ) -> Result<Vec<Output>> {
        let known = reads.iter().map(|read| self.known(read, given));
        let known = known.collect::<Result<Vec<_>>>()?;
        let written = self.resources.as_ref().map_or_else(|| Ok(vec![]), run)?;
        let mut written = written.into_iter();
        let output = |(read, known): (&&Read, Option<Output>)| match known {
            Some(output) => Ok(output),
            None => written_output(read, &mut written),
        };
        reads.iter().zip(known).map(output).collect()
    }

    /// The values of the inputs, after checking those on the device.
    fn given(&self, binding: &IoBinding, inputs: &Inputs) -> Result<InputValues> {
        let program = &self.program;
        for (name, tensor) in binding.inputs() {
            binding.check_not_given(name, inputs)?;
            let Some(input) = program.inputs.iter().find(|input| input.name == name) else {
                return Err(program.unknown_input(name));
            };
            if input.fixed {
                return Err(host_input(name));
            }
            if tensor.shape() != input.shape {
                let (given, bound) = (text(tensor.shape()), text(&input.shape));
                return Err(Error::input(name, given, "is not the shape that was bound", bound));
            }
            let found = tensor.element_type();
            if let Some(declared) = input.element.filter(|element| *element != found) {
                let given = format!("{found} {}", text(tensor.shape()));
                let problem = "is not of the declared type";
                return Err(Error::input(name, given, problem, declared.to_string()));
            }
        }
        let device: Vec<Option<DeviceTensor>> =
            program.inputs.iter().map(|input| binding.input(&input.name).cloned()).collect();
        let mut host = program.tensors(inputs)?;
        for (host, on_device) in host.iter_mut().zip(&device) {
            host.take_if(|_| Option::is_some(on_device));
        }
        Ok(InputValues { host, device })
    }

    /// The tensor of each output that stays on the device. Sets in `places` the buffers that the program
    /// writes.
    fn kept(
        &self,
        binding: &IoBinding,
        given: &InputValues,
        places: &mut DeviceBindings,
    ) -> Result<BTreeMap<String, DeviceTensor>> {
        let mut kept = BTreeMap::new();
        let mut placed: BTreeMap<usize, DeviceTensor> = BTreeMap::new();
        for (index, read) in self.reads() {
            let bound = named(read).and_then(|name| binding.outputs().get_key_value(name));
            let Some((name, slot)) = bound else { continue };
            places.is_kept[index] = true;
            let tensor = match &read.source {
                Source::Buffer(at) => match placed.get(&at.buffer) {
                    // Two outputs of the model are the same value.
                    Some(earlier) => earlier.viewed(read.element, &read.shape),
                    None => {
                        let tensor = match self.in_place(binding, (name, read), given, at.buffer) {
                            Some(cache) => {
                                places.buffers[at.buffer] = cache.buffer().cloned();
                                cache
                            }
                            None => self.written(slot, read, at.buffer, places)?,
                        };
                        placed.insert(at.buffer, tensor.clone());
                        tensor
                    }
                },
                Source::Input(index) => match &given.device[*index] {
                    Some(input) => input.viewed(read.element, &read.shape),
                    None => self.uploaded(slot, read, given)?,
                },
                Source::Host(_) => self.uploaded(slot, read, given)?,
            };
            kept.insert(name.clone(), tensor);
        }
        if !self.program.is_open() {
            self.check_outputs(binding, &kept)?;
        }
        Ok(kept)
    }

    /// The tensor of a cache, if a run may write this output over it.
    fn in_place(
        &self,
        binding: &IoBinding,
        (name, read): (&str, &Read),
        given: &InputValues,
        written: usize,
    ) -> Option<DeviceTensor> {
        let cache =
            binding.states().iter().find(|state| state.is_cache() && state.output == name)?;
        let program = &self.program;
        let input = program.inputs.iter().position(|input| input.name == cache.input)?;
        let tensor = given.device[input].as_ref()?;
        // One more is the input's own.
        let handles = binding.holds(tensor) + 1;
        let is_of_input = |it: &BufferPlan| matches!(it.initial, Initial::Input(it) if it == input);
        let mut of_input = (0..).zip(&program.buffers).filter(|(_, it)| is_of_input(it));
        // Several graphs, or types, may read the input through a buffer each.
        let (Some((buffer, _)), None) = (of_input.next(), of_input.next()) else { return None };
        let pair = Pair { input, read: buffer, written };
        let is_allowed = tensor.is_free_but_for(handles, read.element, &read.shape)
            && self.resources.as_ref().is_some_and(|resource| resource.may_share(program, pair));
        is_allowed.then(|| tensor.clone())
    }

    /// An output on the device, either written by runs to a tensor of the binding, or computed once for all
    /// runs.
    fn written(
        &self,
        slot: &DeviceOutput,
        read: &Read,
        buffer: usize,
        places: &mut DeviceBindings,
    ) -> Result<DeviceTensor> {
        let constant = self.resources.as_ref().and_then(|resource| resource.buffer(buffer));
        if let Some(constant) = constant {
            return Ok(DeviceTensor::shared(&self.device, read.element, &read.shape, constant));
        }
        let tensor = self.free(slot, read)?;
        places.buffers[buffer] = tensor.buffer().cloned();
        Ok(tensor)
    }

    /// An output whose value the host knows.
    fn uploaded(
        &self,
        slot: &DeviceOutput,
        read: &Read,
        given: &InputValues,
    ) -> Result<DeviceTensor> {
        let tensor = self.free(slot, read)?;
        if let Some(known) = self.program.known(read, &given.host)? {
            tensor.write(&known.tensor)?;
        }
        Ok(tensor)
    }

    fn free(&self, slot: &DeviceOutput, read: &Read) -> Result<DeviceTensor> {
        match slot.free(read.element, &read.shape) {
            Some(free) => Ok(free),
            None => DeviceTensor::undefined(&self.device, read.element, &read.shape, || {
                memory::output(read)
            }),
        }
    }

    /// Checks that every bound output exists, and that states have the types of the inputs that they become.
    fn check_outputs(
        &self,
        binding: &IoBinding,
        kept: &BTreeMap<String, DeviceTensor>,
    ) -> Result<()> {
        if let Some(unknown) = binding.outputs().keys().find(|name| !kept.contains_key(*name)) {
            let names = self.reads().filter_map(|(_, read)| named(read));
            return Err(Error::unknown_output(unknown, names));
        }
        for state in binding.states() {
            let input = self.program.inputs.iter().find(|input| input.name == state.input);
            let declared = input.and_then(|input| input.element);
            let (Some(tensor), Some(declared)) = (kept.get(&state.output), declared) else {
                continue;
            };
            let given = tensor.element_type();
            if given != declared {
                let problem =
                    format!("is not the type of input '{}', which it becomes", state.input);
                return Err(Error::output(
                    &state.output,
                    given.to_string(),
                    &problem,
                    declared.to_string(),
                ));
            }
        }
        Ok(())
    }

    /// An output that no step writes.
    fn known(&self, read: &Read, given: &InputValues) -> Result<Option<Output>> {
        let on_device = match read.source {
            Source::Input(index) => given.device[index].as_ref(),
            _ => None,
        };
        match on_device {
            Some(input) => {
                let tensor = input.viewed(read.element, &read.shape).read()?;
                Ok(Some(Output { destination: read.destination.clone(), tensor }))
            }
            None => self.program.known(read, &given.host),
        }
    }
}

/// An output, from the next bytes that a recording has read.
fn written_output(read: &Read, written: &mut impl Iterator<Item = Vec<u8>>) -> Result<Output> {
    let bytes = written.next().unwrap_or_default();
    let tensor = Tensor::new(read.element, read.shape.clone(), bytes)?;
    Ok(Output { destination: read.destination.clone(), tensor })
}

/// The name of a read, if it is an output of the model.
fn named(read: &Read) -> Option<&str> {
    match &read.destination {
        Destination::Output(name) => Some(name),
        _ => None,
    }
}
