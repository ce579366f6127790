//! Uploads the initial content of buffers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use dml::{Buffer, Device};

use crate::error::Result;
use crate::program::{BufferPlan, Initial, Weight};

use super::memory::{self, create};
use super::preparation::Preparations;
use super::{at, its_buffers};

/// How many bytes of a sequence are generated in host memory at a time.
const CHUNK_BYTES: usize = 4 << 20;

/// The weights of a model on the device, as they are and prepared, shared by all of its programs. They stay
/// there as long as a program uses them.
#[derive(Debug, Default)]
pub(crate) struct Weights {
    uploaded: Mutex<HashMap<Weight, Weak<Buffer>>>,
    pub(super) prepared: Preparations,
}

impl Weights {
    /// The buffer of a weight; the first caller uploads it.
    pub(super) fn buffer(
        &self,
        device: &Device,
        plan: &BufferPlan,
        of: &Weight,
    ) -> Result<Arc<Buffer>> {
        let mut uploaded = self.uploaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = uploaded.get(of).and_then(Weak::upgrade) {
            return Ok(known);
        }
        let buffer = Arc::new(create(device, plan.size, || memory::weight(of))?);
        fill(device, &buffer, &plan.initial)?;
        // The key keeps the weight alive, so that its address cannot be reused.
        uploaded.insert(of.clone(), Arc::downgrade(&buffer));
        Ok(buffer)
    }
}

/// Writes the initial content of a buffer; runs write inputs.
pub(super) fn fill(device: &Device, buffer: &Buffer, initial: &Initial) -> Result<()> {
    let write = |offset, bytes: &[u8]| {
        let written = device.vulkan().write_buffer(buffer, offset, bytes);
        written.map_err(|error| at(&its_buffers(), error.into()))
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
