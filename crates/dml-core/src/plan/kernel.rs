//! Compiled kernels, as plans and executors see them.
//!
//! The table of kernels is generated into `dml-spirv`; this module only defines its type. A plan
//! refers to a [`Shared`] module, never to a name, so it cannot refer to a kernel that does not exist.

mod identity;
mod shared;

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

pub use super::push::{PushField, are_same_fields};
use super::slot::Access;
use super::twin::HostKernel;
pub use crate::capabilities::Feature;
use crate::capabilities::{Capabilities, Limit};
use identity::Identity;
pub use shared::Shared;

/// A storage buffer of descriptor set 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelBinding {
    /// The binding number.
    pub binding: u32,
    /// Whether the kernel reads or writes the buffer.
    pub access: Access,
}

/// A specialization constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecializationConstant {
    /// `constant_id` in the shader.
    pub id: u32,
    /// Its name in the shader.
    pub name: &'static str,
    /// The value if none is given.
    pub default: u32,
}

/// A kernel's SPIR-V, its interface, and its requirements on the device.
#[derive(Clone)]
pub struct KernelDescription {
    /// The name in messages and tools, such as `copy_b32`: kernel and type family.
    pub name: Cow<'static, str>,
    /// SPIR-V in host byte order of a little-endian machine, a multiple of 4 bytes.
    pub spirv: Cow<'static, [u8]>,
    /// The entry point.
    pub entry_point: &'static str,
    /// The storage buffers of set 0, by ascending binding number.
    pub bindings: Cow<'static, [KernelBinding]>,
    /// The members of the push constant block, by ascending offset.
    pub push_fields: &'static [PushField],
    /// The binding number of the uniform block, if there is one: [`crate::plan::Dispatch::uniform`].
    pub uniform_binding: Option<u32>,
    /// The specialization constants, by ascending id.
    pub specialization_constants: &'static [SpecializationConstant],
    /// Optional Vulkan features without which the kernel may not be used.
    pub required_features: Cow<'static, [Feature]>,
    /// The least values of device limits that the work groups need, except those that depend on specialization
    /// constants.
    pub required_limits: Cow<'static, [(Limit, u64)]>,
    /// The kernel's twin: the same computation on the host.
    pub host: Shared<HostKernel>,
}

impl KernelDescription {
    /// Bytes of the push constant block; 0 without one.
    pub const fn push_constant_size(&self) -> u32 {
        match self.push_fields {
            [] => 0,
            [.., last] => last.offset + last.size,
        }
    }

    /// The least values of device limits that the kernel needs, for its work groups and its pipeline layout.
    pub fn needed_limits(&self) -> impl Iterator<Item = (Limit, u64)> {
        let of_layout = [
            (Limit::MaxPushConstantsSize, self.push_constant_size().into()),
            (Limit::MaxPerStageDescriptorStorageBuffers, self.bindings.len() as u64),
            (Limit::MaxPerStageDescriptorUniformBuffers, self.uniform_binding.iter().len() as u64),
        ];
        of_layout.into_iter().chain(self.required_limits.iter().copied())
    }
}

/// The first of `variants` whose features are enabled and whose limits suffice. The variants compute the same
/// bits with the same bindings and push constants, best first; the last one runs on every device and is the
/// default.
///
/// # Panics
/// There are no variants.
pub fn select<'a, K: Deref<Target = KernelModule>>(
    variants: &'a [K],
    capabilities: &Capabilities,
) -> &'a K {
    let (last, better) = variants.split_last().expect("a kernel has a variant for every device");
    better.iter().find(|it| can_run(it, capabilities)).unwrap_or(last)
}

/// Whether a device with these capabilities has all features and limits that a kernel requires.
pub fn can_run(kernel: &KernelModule, capabilities: &Capabilities) -> bool {
    kernel.required_features.iter().all(|feature| capabilities.features.has(*feature))
        && kernel.needed_limits().all(|(limit, needed)| capabilities.limits.get(limit) >= needed)
}

/// One kernel compiled or linked for one type family: its description, and an identity that is computed
/// from everything that a pipeline is made from.
///
/// Modules are equal if their identities are. The host twin is not part of the identity, because functions have
/// none.
pub struct KernelModule {
    description: KernelDescription,
    identity: u128,
}

impl KernelModule {
    /// The module of this description: used by compiled tables of kernels, and by linking at run time.
    pub const fn new(description: KernelDescription) -> Self {
        Self { identity: Identity::of(&description), description }
    }

    /// The module's description. Dereferencing gives the same, but is not possible in constants.
    pub const fn description(&self) -> &KernelDescription {
        &self.description
    }

    /// A hash of the name, the SPIR-V and the interface. It is the same in every process and on every
    /// machine.
    pub const fn identity(&self) -> u128 {
        self.identity
    }
}

impl Deref for KernelModule {
    type Target = KernelDescription;

    fn deref(&self) -> &KernelDescription {
        &self.description
    }
}

impl fmt::Debug for KernelModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KernelModule").field(&self.name).finish()
    }
}

impl PartialEq for KernelModule {
    fn eq(&self, other: &Self) -> bool {
        self.identity == other.identity
    }
}

impl Eq for KernelModule {}

impl Hash for KernelModule {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capabilities::Features;
    use crate::host::{HostDispatch, HostError};

    fn nothing(_: &mut HostDispatch<'_>) -> Result<(), HostError> {
        Ok(())
    }

    const fn made_up(
        name: &'static str,
        required_features: &'static [Feature],
        push_fields: &'static [PushField],
    ) -> KernelModule {
        KernelModule::new(KernelDescription {
            name: Cow::Borrowed(name),
            spirv: Cow::Borrowed(&[]),
            entry_point: "main",
            bindings: Cow::Borrowed(&[]),
            push_fields,
            uniform_binding: None,
            specialization_constants: &[],
            required_features: Cow::Borrowed(required_features),
            required_limits: Cow::Borrowed(&[]),
            host: Shared::Static(&nothing),
        })
    }

    static BEST: KernelModule =
        made_up("best", &[Feature::ShaderFloat16, Feature::SubgroupShuffle], &[]);
    static GOOD: KernelModule = made_up("good", &[Feature::SubgroupShuffle], &[]);
    static LAST: KernelModule = made_up("last", &[], &[]);
    /// Needs more than the 128 bytes of push constants that every device takes.
    static LARGE: KernelModule = made_up("large", &[], &[PushField::word("far", 252)]);

    #[test]
    fn the_first_variant_that_a_device_can_run_is_selected() {
        let least = Capabilities::vulkan_minimum();
        let variants = [&BEST, &GOOD, &LAST];
        let has = |features: &[Feature]| {
            let features: Features = features.iter().copied().collect();
            &*select(&variants, &Capabilities { features, ..least.clone() }).name
        };
        assert_eq!(has(&[Feature::ShaderFloat16, Feature::SubgroupShuffle]), "best");
        assert_eq!(has(&[Feature::SubgroupShuffle]), "good");
        assert_eq!(has(&[Feature::ShaderFloat16]), "last");
        assert_eq!(has(&[]), "last");
        assert_eq!(select(&[&LARGE, &LAST], &least).name, "last");
        let limits = least.limits.clone().with(Limit::MaxPushConstantsSize, 256);
        let large = Capabilities { limits, ..least.clone() };
        assert_eq!(select(&[&LARGE, &LAST], &large).name, "large");
    }

    #[test]
    fn every_device_runs_the_last_variant_whatever_it_has() {
        for feature in Feature::ALL {
            let features = Features::ALL.with(feature, false);
            let device = Capabilities { features, ..Capabilities::vulkan_minimum() };
            let variants = [&BEST, &GOOD, &LAST];
            let selected = select(&variants, &device);
            let can_run = selected
                .required_features
                .iter()
                .all(|required_feature| features.has(*required_feature));
            assert!(can_run, "{selected:?} without {feature}");
        }
    }
}
