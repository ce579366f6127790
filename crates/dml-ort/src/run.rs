//! A run of a group of nodes: where its inputs are, and where its outputs go.

use std::ptr;
use std::sync::Arc;

use bytes::Bytes;
use dml::Device;
use dml_import::onnx::element_type;
use dml_import::program::{Destination, Output, Read, Source, Step};
use dml_import::{DeviceTensor, ElementType, Error, Inputs, IoBinding, Program, Session, Tensor};

use crate::abi::{OrtKernelContext, OrtValue};
use crate::api::Api;
use crate::boundary::{Code, Failure, Result};
use crate::counters::{self, Copied};
use crate::memory::{self, Location, OutputUse, Place, Value};
use crate::view::Reader;

/// An output of a group of nodes.
pub(crate) struct GroupOutput {
    name: String,
    /// Its readers in earlier runs.
    reads: Arc<OutputUse>,
}

impl GroupOutput {
    /// An output that nobody has read.
    pub(crate) fn new(name: String) -> Self {
        Self { name, reads: Arc::default() }
    }
}

/// An input of a run.
pub(crate) struct Given<'a> {
    name: &'a str,
    element: ElementType,
    shape: Vec<u64>,
    location: Location,
    size: usize,
}

impl<'a> Given<'a> {
    /// The input of this name in a run.
    ///
    /// # Errors
    /// The input is not given, its type is unknown, or its memory is not known.
    ///
    /// # Safety
    ///
    /// The value is null, or an input of a run.
    pub(crate) unsafe fn new(api: Api, name: &'a str, value: *const OrtValue) -> Result<Self> {
        if value.is_null() {
            return Err(Failure::invalid(format!("input '{name}' is not given")));
        }
        // SAFETY: the caller's promise, here and below.
        let (number, shape) = unsafe { Reader::new(api) }.kind(value)?;
        let element = element_type(number)
            .ok_or_else(|| Failure::invalid(format!("input '{name}': {number} is not a type")))?;
        // SAFETY: as above.
        let (location, size) = unsafe { memory::location(api, value) }
            .map_err(|it| it.within(&format!("input '{name}'")))?;
        Ok(Self { name, element, shape, location, size })
    }

    /// Whether it begins at a place of the device memory.
    fn is_at(&self, place: &Place) -> bool {
        matches!(&self.location, Location::Device(own) if own.is_same(place))
    }

    /// Whether it is on the device, and may become an output.
    fn may_become(&self, output: &Read, binding: &IoBinding) -> bool {
        let is_alike = (self.element, &self.shape) == (output.element, &output.shape);
        is_alike && binding.input(self.name).is_some()
    }

    /// The elements on the host.
    fn tensor(&self) -> Result<Tensor> {
        let bytes = match &self.location {
            Location::Host(address) if self.size > 0 => {
                // SAFETY: the tensor has so many bytes, and nothing writes them during the run.
                let bytes = unsafe { std::slice::from_raw_parts(*address, self.size) };
                Bytes::copy_from_slice(bytes)
            }
            Location::Host(_) => Bytes::new(),
            Location::Device(place) => place.allocation.on_host(place.offset, self.size)?,
        };
        Ok(Tensor::new(self.element, self.shape.clone(), bytes)?)
    }

    /// The elements on the device, unless a run should upload them.
    fn on_device(&self, device: &Device) -> Result<Option<DeviceTensor>> {
        let Location::Device(place) = &self.location else { return Ok(None) };
        let kind = (self.element, &self.shape[..]);
        place.allocation.on_device(device, kind, (place.offset, self.size))
    }
}

/// Where ONNX Runtime wants an output.
enum Target {
    /// The place is known once the shape of the output is.
    Later,
    /// The output is not wanted.
    Nowhere,
    /// Here, with so many bytes.
    At(Location, usize),
}

/// A run.
pub(crate) struct Run<'a> {
    pub(crate) api: Api,
    pub(crate) device: &'a Device,
    pub(crate) context: *mut OrtKernelContext,
    pub(crate) given: Vec<Given<'a>>,
    pub(crate) outputs: &'a [GroupOutput],
}

impl Run<'_> {
    /// Runs the session, and hands its outputs over.
    ///
    /// # Errors
    /// As the session's; afterwards inputs are as they were.
    ///
    /// # Safety
    ///
    /// The context is that of a run of these nodes, whose inputs are those that are given.
    pub(crate) unsafe fn run(&self, session: &Session, binding: &mut IoBinding) -> Result<()> {
        let mut inputs = Inputs::new();
        let mut uploaded = 0;
        for input in &self.given {
            match input.on_device(self.device)? {
                Some(tensor) => binding.set_input(input.name, tensor),
                None => {
                    inputs = inputs.with_tensor(input.name, input.tensor()?);
                    uploaded += input.size;
                }
            }
        }
        let mut targets = Vec::new();
        let ran = session.run_bound_with(binding, &inputs, |program, binding| {
            // SAFETY: the caller's promise.
            unsafe { self.prepare(program, binding, &mut targets) }
                .map_err(|it| Error::Malformed(it.message().to_owned()))
        });
        let found = match ran {
            Ok(found) => found,
            Err(error) => {
                // The run's error says more than one of putting inputs back.
                let _ = self.restore(binding, &targets);
                return Err(error.into());
            }
        };
        counters::add(Copied::ToDevice, uploaded);
        // All outputs are handed over, even after an error: some were inputs before.
        let mut finished = Ok(());
        for (index, target) in targets.into_iter().enumerate() {
            // SAFETY: the caller's promise.
            finished = finished.and(unsafe { self.finish(index, (binding, &found), target) });
        }
        finished
    }

    /// Decides where a program leaves its outputs, and adds the target of each to `targets`. What is there now is
    /// cleared once all targets are known.
    ///
    /// # Safety
    ///
    /// As [`Run::run`].
    unsafe fn prepare(
        &self,
        program: &Program,
        binding: &mut IoBinding,
        targets: &mut Vec<Target>,
    ) -> Result<()> {
        targets.clear();
        let (mut kept, mut caches, mut cleared) = (Vec::new(), Vec::new(), Vec::new());
        for (index, output) in self.outputs.iter().enumerate() {
            let read = read_of(program, &output.name);
            let target = match read {
                // SAFETY: the caller's promise.
                Some(read) if !program.asks_device() => unsafe { self.target(index, &read.shape) }?,
                // The output may have another shape.
                _ => Target::Later,
            };
            if let (Some(read), Target::At(Location::Device(place), size)) = (read, &target) {
                let inputs = self.given.iter().filter(|it| it.is_at(place));
                let cache = inputs.clone().find(|it| it.may_become(read, binding));
                // The tensor that was there may be used again.
                if cache.is_some() || inputs.count() == 0 {
                    cleared.push((place.clone(), *size));
                }
                caches.extend(cache.map(|input| (output.name.as_str(), input.name)));
            }
            // The host reads it with the run's other outputs.
            let is_for_host = matches!(target, Target::At(Location::Host(_), _));
            targets.push(target);
            let Some(read) = read else { continue };
            let is_on_device = match read.source {
                Source::Buffer(_) => true,
                Source::Input(input) => binding.input(&program.inputs()[input].name).is_some(),
                Source::Host(_) => false,
            };
            if is_on_device && !is_for_host && output.reads.stays(byte_count(read)) {
                kept.push(output.name.as_str());
            }
        }
        binding.set_outputs(kept.iter().copied());
        for (output, input) in caches.into_iter().filter(|(output, _)| kept.contains(output)) {
            binding.set_cache(output, input);
        }
        cleared.iter().try_for_each(|(place, size)| place.allocation.clear(place.offset, *size))
    }

    /// Puts inputs back where outputs would have replaced them.
    fn restore(&self, binding: &IoBinding, targets: &[Target]) -> Result<()> {
        for target in targets {
            let Target::At(Location::Device(place), size) = target else { continue };
            let input = self.given.iter().find(|it| it.is_at(place) && it.size == *size);
            if let Some(tensor) = input.and_then(|input| binding.input(input.name)) {
                place.allocation.write(place.offset, *size, Value::of_device(tensor.clone()))?;
            }
        }
        Ok(())
    }

    /// Where ONNX Runtime wants an output.
    ///
    /// # Safety
    ///
    /// As [`Run::run`].
    unsafe fn target(&self, index: usize, shape: &[u64]) -> Result<Target> {
        let size =
            |size: &u64| i64::try_from(*size).map_err(|_| Failure::invalid("a size is too large"));
        let shape = shape.iter().map(size).collect::<Result<Vec<i64>>>()?;
        let value = self.api.get(ptr::null_mut(), |out| {
            let get = self.api.ort.KernelContext_GetOutput();
            // SAFETY: the caller's promise; the shape has so many sizes.
            unsafe { get(self.context, index, shape.as_ptr(), shape.len(), out) }
        })?;
        if value.is_null() {
            return Ok(Target::Nowhere);
        }
        // SAFETY: the value was just given.
        let found = unsafe { memory::location(self.api, value) };
        let (location, size) =
            found.map_err(|it| it.within(&format!("output '{}'", self.outputs[index].name)))?;
        Ok(Target::At(location, size))
    }

    /// Hands an output over.
    ///
    /// # Safety
    ///
    /// As [`Run::run`].
    unsafe fn finish(
        &self,
        index: usize,
        (binding, found): (&IoBinding, &[Output]),
        target: Target,
    ) -> Result<()> {
        let output = &self.outputs[index];
        let name = &output.name;
        let is_it =
            |it: &&Output| matches!(&it.destination, Destination::Output(own) if own == name);
        let (tensor, host) = (binding.output(name), found.iter().find(is_it));
        let shape = tensor.map(DeviceTensor::shape).or(host.map(|host| host.tensor.shape()));
        let shape = shape
            .ok_or_else(|| Failure::new(Code::Fail, format!("output '{name}' was not computed")))?;
        let target = match target {
            // SAFETY: the caller's promise.
            Target::Later => unsafe { self.target(index, shape) }?,
            known => known,
        };
        let Target::At(location, size) = target else { return Ok(()) };
        let value = match (tensor, host) {
            (Some(tensor), _) => Value::of_device(tensor.clone()),
            (None, Some(host)) => {
                let bytes = host.tensor.clone().into_bytes();
                counters::add(Copied::FromDevice, bytes.len());
                Value::of_host(bytes)
            }
            (None, None) => return Ok(()),
        };
        if value.size() != size {
            let given = value.size();
            return Err(Failure::new(
                Code::Fail,
                format!("output '{name}': {given} bytes for a tensor of {size}"),
            ));
        }
        match location {
            Location::Device(place) => {
                place.allocation.write(place.offset, size, value.of_output(&output.reads))
            }
            Location::Host(_) if size == 0 => Ok(()),
            Location::Host(to) => {
                // SAFETY: the output has so many bytes, which nobody else uses during the run.
                let to = unsafe { std::slice::from_raw_parts_mut(to, size) };
                value.copy_to(to)
            }
        }
    }
}

/// The step of a program that gives an output of this name.
fn read_of<'a>(program: &'a Program, name: &str) -> Option<&'a Read> {
    program.steps().iter().find_map(|step| match step {
        Step::Read(read) if matches!(&read.destination, Destination::Output(own) if own == name) => {
            Some(read)
        }
        _ => None,
    })
}

/// The bytes of an output, as far as it is known.
fn byte_count(read: &Read) -> usize {
    let count = read.shape.iter().product::<u64>();
    let bytes = read.element.size().and_then(|size| count.checked_mul(size));
    bytes.and_then(|byte| usize::try_from(byte).ok()).unwrap_or(usize::MAX)
}
