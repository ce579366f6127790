//! The [`KernelModule`] of a linked kernel, as plans name it.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use dml_core::capabilities::{Limit, required_features, work_group};
use dml_core::host::HostKernel;
use dml_core::kernel::{KernelBinding, KernelDescription, KernelModule, Shared};
use dml_core::plan::Access as Touch;
use rustc_hash::FxHashMap;

use super::OUTPUT_BINDING;
use super::program::{AccessPattern, KernelOperand};
use crate::ElementWidth;
use crate::link::Source;

/// A kernel that has been linked.
pub(crate) struct LinkedKernel {
    pub(crate) name: String,
    pub(crate) spirv: Vec<u32>,
    pub(crate) skeleton: &'static Source,
    /// The kernel's twin on the host.
    pub(crate) host: Box<HostKernel>,
}

impl LinkedKernel {
    /// The module. `access` is the kernel's access to the output. Index generators have no binding.
    pub(crate) fn module(self, inputs: &[KernelOperand], access: Touch) -> KernelModule {
        self.module_that(inputs, access, |_| Touch::Read)
    }

    /// As [`Self::module`], with another access to some inputs.
    pub(crate) fn module_that(
        self,
        inputs: &[KernelOperand],
        access: Touch,
        of_input: impl Fn(usize) -> Touch,
    ) -> KernelModule {
        let inputs = (0..).zip(inputs).enumerate();
        let inputs = inputs.filter(|(_, (_, it))| it.access != AccessPattern::Index);
        let inputs =
            inputs.map(|(at, (binding, _))| KernelBinding { binding, access: of_input(at) });
        let output = KernelBinding { binding: OUTPUT_BINDING, access };
        self.module_with(inputs.chain([output]).collect())
    }

    /// The module, with these bindings.
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
            name: name.into(),
            spirv: spirv.into(),
            entry_point: "main",
            bindings: bindings.into(),
            push_fields: interface.push_fields,
            uniform_binding: interface.uniform_binding,
            specialization_constants: interface.specialization_constants,
            required_features: features.iter().collect(),
            required_limits: limits,
            host: Shared::Counted(Arc::from(self.host)),
        })
    }
}

/// Kernels that have been linked, by what they were linked for. A kernel is freed with its last user, but for those
/// that were linked last: planning asks for kernels that it then does not choose.
pub(crate) struct LinkedKernels<K>(LazyLock<Mutex<Linked<K>>>);

/// The most bytes of SPIR-V that the kernels which were linked last are kept for: some 60 kernels. With a quarter
/// of it, whoever plans many operators, or one for many devices, links the same kernels again and again.
const RECENT_BYTES: usize = 1 << 20;

/// Fewer keys than this are not searched for those of freed kernels.
const FEW_KEYS: usize = 64;

struct Linked<K> {
    kernels: FxHashMap<K, Weak<KernelModule>>,
    /// As many keys are searched for those of freed kernels: twice those that the last search has left.
    most_keys: usize,
    /// The kernels that were linked last, oldest first, at most [`RECENT_BYTES`].
    recent: VecDeque<Arc<KernelModule>>,
    recent_bytes: usize,
}

impl<K: Eq + Hash> LinkedKernels<K> {
    /// No kernels yet.
    pub(crate) const fn new() -> Self {
        Self(LazyLock::new(|| {
            let (kernels, recent, recent_bytes) = Default::default();
            Mutex::new(Linked { kernels, most_keys: FEW_KEYS, recent, recent_bytes })
        }))
    }

    /// The kernel for `key`, which `link` links if nobody has it now.
    pub(crate) fn get(
        &self,
        key: K,
        link: impl FnOnce(&K) -> KernelModule,
    ) -> Shared<KernelModule> {
        let mut linked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = linked.kernels.get(&key).and_then(Weak::upgrade);
        Shared::Counted(known.unwrap_or_else(|| {
            let kernel = Arc::new(link(&key));
            linked.kernels.insert(key, Arc::downgrade(&kernel));
            linked.keep(&kernel);
            kernel
        }))
    }

    /// The key that `kernel` was linked for; `None` if this cache did not link it.
    pub(crate) fn key(&self, kernel: &KernelModule) -> Option<K>
    where
        K: Clone,
    {
        let linked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = linked.kernels.iter();
        all.find(|(_, it)| std::ptr::eq(it.as_ptr(), kernel)).map(|(key, _)| key.clone())
    }
}

impl<K> Linked<K> {
    /// Keeps a kernel that was linked now, and no longer those that were linked long before.
    fn keep(&mut self, kernel: &Arc<KernelModule>) {
        self.recent_bytes += kernel.spirv.len();
        self.recent.push_back(Arc::clone(kernel));
        while self.recent_bytes > RECENT_BYTES
            && let Some(oldest) = self.recent.pop_front()
        {
            self.recent_bytes -= oldest.spirv.len();
        }
        if self.kernels.len() >= self.most_keys {
            self.kernels.retain(|_, it| it.strong_count() > 0);
            self.most_keys = FEW_KEYS.max(2 * self.kernels.len());
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::FILL_WORDS_B32;

    /// Kernels of which four are recent.
    fn kernel(number: &u32) -> KernelModule {
        KernelModule::new(KernelDescription {
            name: format!("kernel {number}").into(),
            spirv: vec![0; RECENT_BYTES / 4].into(),
            ..FILL_WORDS_B32.description().clone()
        })
    }

    fn downgrade(kernel: &Shared<KernelModule>) -> Weak<KernelModule> {
        match kernel {
            Shared::Counted(kernel) => Arc::downgrade(kernel),
            Shared::Static(_) => panic!("linked kernels are counted"),
        }
    }

    #[test]
    fn kernels_are_freed_with_their_last_user_but_for_those_that_were_linked_last() {
        static KERNELS: LinkedKernels<u32> = LinkedKernels::new();
        let used = KERNELS.get(100, kernel);
        let all: Vec<_> = (0..20).map(|at| downgrade(&KERNELS.get(at, kernel))).collect();
        let live = || all.iter().map(Weak::strong_count).collect::<Vec<_>>();
        assert_eq!(live(), [[0; 16].as_slice(), &[1; 4]].concat());
        // A kernel that somebody uses is not linked again, and is found by what it was linked for.
        assert_eq!(KERNELS.get(100, |_| panic!("linked twice")), used);
        assert_eq!(KERNELS.key(&used), Some(100));
        assert_eq!(KERNELS.get(19, |_| panic!("linked twice")).name, "kernel 19");
        assert_eq!(KERNELS.get(0, kernel).name, "kernel 0");
        let last_user = downgrade(&used);
        drop(used);
        assert_eq!(last_user.strong_count(), 0);
        // Keys of freed kernels are dropped when there are many.
        let keys = || KERNELS.0.lock().unwrap().kernels.len();
        assert_eq!(keys(), 21);
        let most = (200..400).map(|at| (KERNELS.get(at, kernel), keys()).1).max();
        assert_eq!(most, Some(FEW_KEYS - 1));
    }
}
