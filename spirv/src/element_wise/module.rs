//! The [`KernelModule`] of a linked kernel, as plans name it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{LazyLock, Mutex, PoisonError};

use dml_core::capabilities::{Limit, required_features, work_group};
use dml_core::host::{HostDispatch, HostError};
use dml_core::kernel::{KernelBinding, KernelDescription, KernelModule};
use dml_core::plan::Access as Touch;

use super::OUTPUT_BINDING;
use super::program::{AccessPattern, KernelOperand};
use crate::ElementWidth;
use crate::link::Source;

/// A kernel that has been linked.
pub(crate) struct LinkedKernel {
    pub(crate) name: String,
    pub(crate) spirv: Vec<u32>,
    pub(crate) skeleton: &'static Source,
    pub(crate) host: Box<Host>,
}

/// The kernel's twin on the host.
type Host = dyn Fn(&mut HostDispatch<'_>) -> Result<(), HostError> + Send + Sync;

impl LinkedKernel {
    /// The module, which is never freed. `access` is the kernel's access to the output. Index generators have no
    /// binding.
    pub(crate) fn module(self, inputs: &[KernelOperand], access: Touch) -> KernelModule {
        let inputs = (0..).zip(inputs).filter(|(_, it)| it.access != AccessPattern::Index);
        let inputs = inputs.map(|(binding, _)| KernelBinding { binding, access: Touch::Read });
        let output = KernelBinding { binding: OUTPUT_BINDING, access };
        self.module_with(inputs.chain([output]).collect())
    }

    /// The module, which is never freed, with these bindings.
    pub(crate) fn module_with(self, bindings: Vec<KernelBinding>) -> KernelModule {
        let features =
            required_features(&self.spirv).expect("what was linked is SPIR-V of known needs");
        let interface = self.skeleton.interface;
        // A work group size that a specialization constant sets is chosen when the pipeline is made.
        // The shared memory of a group does not depend on it.
        let is_fixed = interface.specialization_constants.is_empty();
        let is_needed = |(limit, needed): &(Limit, u64)| {
            is_fixed || (*limit == Limit::MaxComputeSharedMemorySize && *needed > 0)
        };
        let limits = work_group(&self.spirv, &HashMap::new()).map(|it| it.needed_limits());
        let limits = limits.into_iter().flatten().filter(is_needed).collect();
        let spirv: Vec<u8> = self.spirv.into_iter().flat_map(u32::to_le_bytes).collect();
        let of_features = features.iter().map(|feature| format!(" {feature}"));
        let name = [self.name].into_iter().chain(of_features).collect::<String>();
        KernelModule::new(KernelDescription {
            name: String::leak(name),
            spirv: Vec::leak(spirv),
            entry_point: "main",
            bindings: Vec::leak(bindings),
            push_fields: interface.push_fields,
            uniform_binding: interface.uniform_binding,
            specialization_constants: interface.specialization_constants,
            required_features: Vec::leak(features.iter().collect()),
            required_limits: Vec::leak(limits),
            host: Box::leak(self.host),
        })
    }
}

/// Kernels that have been linked, by what they were linked for. Kernels are never freed: their number grows with
/// programs and classes of strides, not with shapes.
pub(crate) struct LinkedKernels<K>(LazyLock<Mutex<HashMap<K, &'static KernelModule>>>);

impl<K: Eq + Hash> LinkedKernels<K> {
    /// No kernels yet.
    pub(crate) const fn new() -> Self {
        Self(LazyLock::new(Mutex::default))
    }

    /// The kernel for `key`, which `link` links at the first call.
    pub(crate) fn get(
        &self,
        key: K,
        link: impl FnOnce(&K) -> KernelModule,
    ) -> &'static KernelModule {
        let mut linked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        linked.entry(key).or_insert_with_key(|key| Box::leak(Box::new(link(key))))
    }

    /// What `kernel` was linked for; `None` if it is not one of these.
    pub(crate) fn key(&self, kernel: &KernelModule) -> Option<K>
    where
        K: Clone,
    {
        let linked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        linked.iter().find(|(_, it)| std::ptr::eq(**it, kernel)).map(|(key, _)| key.clone())
    }
}

/// How storing elements accesses the output: elements narrower than a word are merged into it by atomics.
pub(crate) fn touch(output: KernelOperand) -> Touch {
    let is_merged = output.access != AccessPattern::Whole
        && matches!(output.width, ElementWidth::B8 | ElementWidth::B16);
    if is_merged { Touch::ReadWrite } else { Touch::Write }
}

/// The operands in a kernel's name, such as `(b32 whole, b32 single) b32 whole`.
pub(crate) fn operands(inputs: &[KernelOperand], output: KernelOperand) -> String {
    let operand = |it: &KernelOperand| format!("{:?} {:?}", it.width, it.access).to_lowercase();
    let inputs: Vec<String> = inputs.iter().map(operand).collect();
    format!("({}) {}", inputs.join(", "), operand(&output))
}
