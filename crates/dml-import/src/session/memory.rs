//! The device memory of a session: a report, and what is done if it runs out.

use std::fmt;

use crate::error::{Error, Result};
use crate::execute::{Evict, is_out_of_memory};
use crate::session::Session;

/// The device memory that a session holds, in bytes, see [`Session::memory_report`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionMemory {
    /// Weights as they are in the file, which runs read. Shared by all sessions of the device.
    pub weights: u64,
    /// Results that depend only on weights, such as dequantized weights. Shared by all sessions of the device.
    pub prepared: u64,
    /// Weights that operators repacked. Shared by all sessions of the device.
    pub packed: u64,
    /// Constants of the programs, and what of the above only one program reads.
    pub programs: u64,
    /// Temporary memory, inputs, outputs and staging memory, which the programs of the session use in turn.
    pub arenas: u64,
    /// The most bytes of `programs` and `arenas` together.
    pub most_program_bytes: u64,
    /// The programs that are kept.
    pub program_count: usize,
}

impl fmt::Display for SessionMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { weights, prepared, packed, programs, arenas, most_program_bytes, program_count } =
            self;
        write!(
            f,
            "device memory: {weights} bytes of weights as in the file, {prepared} made of them, {packed} repacked; \
             {arenas} for runs, {programs} of {program_count} programs (at most {most_program_bytes} for both)"
        )
    }
}

impl Session {
    /// The device memory that the session holds now, and for what.
    pub fn memory_report(&self) -> SessionMemory {
        let (weights, arenas) = (&self.memory.weights, &self.memory.arenas);
        SessionMemory {
            weights: weights.uploaded_bytes(),
            prepared: weights.prepared_bytes(),
            packed: weights.packed_bytes(),
            programs: self.compiled.bytes(),
            arenas: arenas.bytes(),
            most_program_bytes: self.compiled.bounds().most_bytes,
            program_count: self.compiled.count(),
        }
    }

    /// Frees what no run uses now: compiled programs, the buffers of runs, weights that nobody else reads, and what the
    /// device keeps for later use (see [`dml::vk::Device::trim`]). Later runs compile again.
    pub fn trim(&self) {
        while self.compiled.evict(u64::MAX) {}
        self.memory.arenas.clear();
        self.compiler.device().vulkan().trim();
    }

    /// The result of `work`. While memory runs out for it, staging memory is freed, then programs that no run uses are
    /// evicted, the least used first, those of other sessions of the device after the session's own, and then the
    /// buffers that no run uses; after that, the error is returned.
    pub(super) fn with_memory<T>(&self, mut work: impl FnMut() -> Result<T>) -> Result<T> {
        let (mut has_released, mut has_cleared) = (false, false);
        loop {
            let error = match work() {
                Err(error) if is_out_of_memory(&error) => error,
                result => return result,
            };
            if !std::mem::replace(&mut has_released, true) {
                // Uploads that were not submitted keep the buffers of a program that could not be made.
                self.compiler.device().vulkan().release_unused();
                continue;
            }
            let wanted = match error.kind() {
                Error::Memory(missing) => missing.size.unwrap_or(0),
                _ => 0,
            };
            if self.compiled.evict(wanted) || self.memory.weights.evict(wanted) {
                continue;
            }
            if std::mem::replace(&mut has_cleared, true) {
                return Err(error.with_device_memory(self.compiler.device()));
            }
            self.memory.arenas.clear();
            self.compiler.device().vulkan().release_unused();
        }
    }
}
