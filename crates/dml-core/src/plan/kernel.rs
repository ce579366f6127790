//! What a compiled kernel is, as far as plans and executors need to know.
//!
//! The table of kernels is generated into `dml-spirv`; this module only gives its type. A plan
//! refers to a `&'static KernelModule`, never to a name, so a kernel that does not exist cannot
//! be asked for.

use std::fmt;
use std::hash::{Hash, Hasher};

use super::slot::Access;
use super::twin::HostKernel;
pub use crate::capabilities::Feature;

/// A storage buffer of descriptor set 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelBinding {
    /// The binding number.
    pub binding: u32,
    /// How the kernel touches it.
    pub access: Access,
}

/// A specialization constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecializationConstant {
    /// `constant_id` in the shader.
    pub id: u32,
    /// Its name in the shader.
    pub name: &'static str,
    /// Its value where none is given.
    pub default: u32,
}

/// One kernel compiled for one type family.
pub struct KernelModule {
    /// What it is called in messages and tools, such as `copy_b32`: kernel and family.
    pub name: &'static str,
    /// SPIR-V in host byte order of a little-endian machine, a multiple of 4 bytes.
    pub spirv: &'static [u8],
    /// The entry point.
    pub entry_point: &'static str,
    /// The storage buffers of set 0, by ascending binding number.
    pub bindings: &'static [KernelBinding],
    /// Size of the push constant block in bytes.
    pub push_constant_size: u32,
    /// The binding number of its uniform block, where it has one: [`crate::plan::Dispatch::uniform`].
    pub uniform_binding: Option<u32>,
    /// The specialization constants, by ascending id.
    pub specialization_constants: &'static [SpecializationConstant],
    /// Optional Vulkan features without which the variant may not be used.
    pub required_features: &'static [Feature],
    /// The same computation on the host.
    pub host: HostKernel,
}

impl fmt::Debug for KernelModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KernelModule").field(&self.name).finish()
    }
}

/// Everything that a pipeline and its layout are made from. The twin on the host is no part of it:
/// functions have no identity.
impl PartialEq for KernelModule {
    fn eq(&self, other: &Self) -> bool {
        let content = |it: &Self| {
            (
                (it.name, it.entry_point, it.bindings, it.push_constant_size),
                (it.specialization_constants, it.uniform_binding, it.required_features, it.spirv),
            )
        };
        std::ptr::eq(self, other) || content(self) == content(other)
    }
}

impl Eq for KernelModule {}

impl Hash for KernelModule {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Plans are compiled by the thousand: not the words, which seldom differ where this does not.
        (self.name, self.spirv.len(), self.push_constant_size).hash(state);
    }
}
