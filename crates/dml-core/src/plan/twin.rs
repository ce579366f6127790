//! The interface of a kernel's host twin to its dispatch.

use super::invalid::InvalidStep;
use super::memory::HostMemory;
use super::slot::{Access, Slot};
use crate::capabilities::{Feature, Limit};

/// A kernel's computation on the host: the twin of the shader of the same name.
pub type HostKernel = dyn Fn(&mut HostDispatch<'_>) -> Result<(), HostError> + Send + Sync;

/// An error of interpreting a plan. Each is a defect of the plan or of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// A step is invalid on every device.
    #[error(transparent)]
    Step(#[from] InvalidStep),
    /// A kernel needs a feature that is not enabled.
    #[error("{kernel}: needs {feature}, which is not enabled")]
    MissingFeature {
        /// The kernel.
        kernel: String,
        /// The first missing feature.
        feature: Feature,
    },
    /// A kernel needs more of a limit than the device has.
    #[error("{kernel}: {needed} exceeds {} ({available})", limit.name())]
    Limit {
        /// The kernel.
        kernel: String,
        /// The device's limit.
        limit: Limit,
        /// The value that the kernel needs.
        needed: u64,
        /// The device's value.
        available: u64,
    },
    /// A kernel accesses a word outside of a descriptor, or in a way that the binding does not declare.
    #[error(
        "{kernel}: word {word} of binding {binding} is outside its descriptor ({words} words) or not declared for {access}"
    )]
    OutOfDescriptor {
        /// The kernel.
        kernel: String,
        /// The binding number.
        binding: usize,
        /// The word's index.
        word: u32,
        /// Size of the descriptor in words.
        words: u64,
        /// `read` or `write`.
        access: &'static str,
    },
}

/// A storage buffer as a kernel twin sees it.
#[derive(Debug)]
pub(crate) struct HostDescriptor {
    /// The buffer that is bound.
    pub(crate) slot: Slot,
    /// The first byte in the slot's buffer.
    pub(crate) start: usize,
    pub(crate) words: u64,
    pub(crate) access: Access,
}

/// A dispatch as a kernel twin sees it: the counterpart of a shader's interface.
#[derive(Debug)]
pub struct HostDispatch<'a> {
    /// The kernel's name.
    pub(crate) kernel: &'a str,
    pub(crate) groups: [u32; 3],
    /// The specialization constants by name.
    pub(crate) specialization: &'a [(&'static str, u32)],
    pub(crate) push_constants: &'a [u8],
    /// The bytes of the uniform block.
    pub(crate) uniform: &'a [u8],
    pub(crate) descriptors: &'a [HostDescriptor],
    pub(crate) memory: &'a mut HostMemory,
}

impl HostDispatch<'_> {
    /// `gl_NumWorkGroups`.
    pub fn groups(&self) -> [u32; 3] {
        self.groups
    }

    /// The value of a specialization constant, by its name in the shader.
    ///
    /// # Panics
    /// The kernel has no constant of that name: a twin asks for its shader's constants.
    pub fn specialization(&self, name: &str) -> u32 {
        let found = self.specialization.iter().find(|it| it.0 == name);
        let (_, value) = found.unwrap_or_else(|| panic!("{} has no {name}", self.kernel));
        *value
    }

    /// The `index`-th 32-bit word of the push constants.
    pub fn push_word(&self, index: usize) -> u32 {
        word_at(self.push_constants, index)
    }

    /// The `index`-th 32-bit word of the uniform block; 0 beyond its end.
    pub fn uniform_word(&self, index: usize) -> u32 {
        if index < self.uniform.len() / 4 { word_at(self.uniform, index) } else { 0 }
    }

    /// Reads a word of a storage buffer.
    pub fn load(&mut self, binding: usize, word: u32) -> Result<u32, HostError> {
        let bytes = self.word(binding, word, Access::Read)?;
        Ok(u32::from_le_bytes(*bytes))
    }

    /// Writes a word of a storage buffer.
    pub fn store(&mut self, binding: usize, word: u32, value: u32) -> Result<(), HostError> {
        *self.word(binding, word, Access::Write)? = value.to_le_bytes();
        Ok(())
    }

    /// `atomicAnd`.
    pub fn atomic_and(&mut self, binding: usize, word: u32, value: u32) -> Result<(), HostError> {
        let bytes = self.word(binding, word, Access::ReadWrite)?;
        *bytes = (u32::from_le_bytes(*bytes) & value).to_le_bytes();
        Ok(())
    }

    /// `atomicOr`.
    pub fn atomic_or(&mut self, binding: usize, word: u32, value: u32) -> Result<(), HostError> {
        let bytes = self.word(binding, word, Access::ReadWrite)?;
        *bytes = (u32::from_le_bytes(*bytes) | value).to_le_bytes();
        Ok(())
    }

    fn word(
        &mut self,
        binding: usize,
        word: u32,
        wanted: Access,
    ) -> Result<&mut [u8; 4], HostError> {
        let descriptor = &self.descriptors[binding];
        let allowed = (!wanted.reads() || descriptor.access.reads())
            && (!wanted.writes() || descriptor.access.writes());
        if !allowed || u64::from(word) >= descriptor.words {
            return Err(HostError::OutOfDescriptor {
                kernel: self.kernel.to_owned(),
                binding,
                word,
                words: descriptor.words,
                access: if wanted.writes() { "write" } else { "read" },
            });
        }
        let start = descriptor.start + word as usize * 4;
        let slot = descriptor.slot;
        let buffer = self.memory.get(slot).ok_or(InvalidStep::NotBound { slot })?;
        let bytes = &mut buffer.bytes[start..start + 4];
        Ok(bytes.try_into().expect("a slice of 4 bytes"))
    }
}

fn word_at(bytes: &[u8], index: usize) -> u32 {
    let bytes = &bytes[index * 4..index * 4 + 4];
    u32::from_le_bytes(bytes.try_into().expect("a slice of 4 bytes"))
}
