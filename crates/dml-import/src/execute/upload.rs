//! What is in buffers before a program runs.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use dml::{Buffer, Device};

use crate::error::{NodeName, Result};
use crate::program::{BufferPlan, Initial, Weight};

use super::at;

/// How much of a sequence is in host memory at a time.
const CHUNK_BYTES: usize = 4 << 20;

/// The weights of a model that are on the device, for all of its programs.
#[derive(Debug, Default)]
pub(crate) struct Weights(Mutex<HashMap<usize, (Weight, Buffer)>>);

impl Weights {
    /// The buffer with a weight, uploaded by the first who asks for it.
    pub(super) fn buffer(&self, device: &Device, plan: &BufferPlan, of: &Weight) -> Result<Buffer> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, buffer)) = known.get(&of.key()) {
            return Ok(buffer.clone());
        }
        let buffer = create(device, plan.size)?;
        fill(device, &buffer, &plan.initial)?;
        // The weight stays alive, so that no other one gets its address.
        known.insert(of.key(), (of.clone(), buffer.clone()));
        Ok(buffer)
    }
}

pub(super) fn create(device: &Device, size: u64) -> Result<Buffer> {
    device.create_buffer(size).map_err(|error| at(&name(), error))
}

/// Writes what `initial` says; inputs are written by runs.
pub(super) fn fill(device: &Device, buffer: &Buffer, initial: &Initial) -> Result<()> {
    let write = |offset, bytes: &[u8]| {
        let written = device.vulkan().write_buffer(buffer, offset, bytes);
        written.map_err(|error| at(&name(), error.into()))
    };
    match initial {
        Initial::Undefined | Initial::Input(_) => Ok(()),
        Initial::Tensor(tensor) => write(0, tensor.bytes()),
        Initial::Weight(weight) => write(0, weight.load()?.bytes()),
        Initial::Sequence(sequence) => {
            let mut offset = 0;
            for chunk in sequence.chunks(CHUNK_BYTES) {
                write(offset, &chunk)?;
                offset += chunk.len() as u64;
            }
            Ok(())
        }
    }
}

pub(super) fn name() -> NodeName {
    NodeName::new("program", "its buffers")
}
