//! The target of a plan: the device, its driver's tuning, and the usage of buffers.

use std::ops::Range;

use dml_core::kernel::{KernelModule, Shared, SpecializationConstant, select};
use dml_core::plan::KernelKey;
use dml_core::{Capabilities, Error, Numerics, Tuning};
use dml_spirv::{ElementWidth, Kernel, NativeTypes, transpose};

/// Specialization constants of kernels: the number of invocations in a work group in x, and the number of
/// indices of an invocation, for kernels that take runs.
const LOCAL_SIZE: &str = "LOCAL_SIZE";
const RUN_LENGTH: &str = "RUN_LENGTH";
/// The number of invocations in a work group, for kernels whose work groups are subgroups.
const SUBGROUP_SIZE: &str = "SUBGROUP_SIZE";
/// The number of invocations in a work group, for kernels whose tiles have a fixed size.
const TILE_INVOCATIONS: &str = "TILE_INVOCATIONS";

/// On both CPU drivers, one of 16 elements in a run takes a third of the time of a single element.
const INDICES_IN_A_RUN: u32 = 16;

/// The largest number of steps in a plan. The largest possible tensors, 2^32 - 1 elements of 64 bits, take
/// 257 boxes with the 128 MiB that Vulkan guarantees for a descriptor, and some 66,000 if they are
/// transposed. A step takes about half a kilobyte, and a descriptor set beside it.
pub(crate) const MAX_STEPS: u32 = 1 << 17;

/// The number of rows that makes it worthwhile to copy columns to quads.
pub(crate) const ROWS_WORTH_A_COPY: u32 = 16;

/// Whether a plan may use fills and copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransferUse {
    /// Buffers have transfer usage beside storage usage.
    Allowed,
    /// Buffers have storage usage alone: dispatches only.
    StorageOnly,
}

/// The device and the buffers that a plan is made for.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The features and limits of the device.
    pub capabilities: &'a Capabilities,
    /// The preferences for its driver.
    pub tuning: Tuning,
    /// Whether its buffers may be filled and copied.
    pub transfer: TransferUse,
}

impl Target<'_> {
    /// Invocations in a work group: the driver's preference as far as the device allows it.
    pub fn local_size(&self) -> u32 {
        self.group_size(self.tuning.local_size)
    }

    /// The number of invocations in a work group, a power of two, at most `preferred` and the device's limit.
    fn group_size(&self, preferred: u32) -> u32 {
        let limits = &self.capabilities.limits;
        let [most_x, ..] = limits.max_compute_work_group_size;
        let most = limits.max_compute_work_group_invocations.min(most_x);
        self.tuning.with_local_size(preferred.min(most)).local_size
    }

    /// The most bytes of a buffer: maxBufferSize and maxMemoryAllocationSize.
    pub(crate) fn max_buffer(&self) -> u64 {
        let limits = &self.capabilities.limits;
        limits.max_buffer_size.min(limits.max_memory_allocation_size)
    }

    /// The largest byte range that a descriptor can cover for a tensor that starts at any multiple of 16: the
    /// descriptor starts at the aligned address below.
    pub fn max_window(&self) -> u64 {
        let limits = &self.capabilities.limits;
        limits.max_storage_buffer_range.saturating_sub(limits.min_storage_buffer_offset_alignment)
    }

    /// Whether a descriptor can cover so many elements of a width at once, wherever they start.
    pub(crate) fn shows(&self, count: u64, width: ElementWidth) -> bool {
        count * u64::from(width.bytes()) <= self.max_window()
    }

    /// The first `bytes` of a buffer, a multiple of 4, divided into ranges of at most a descriptor, each with
    /// the number of its words.
    pub(crate) fn word_pieces(
        &self,
        bytes: u64,
    ) -> impl Iterator<Item = (Range<u64>, u32)> + use<> {
        let most = u32::try_from(self.max_window() / 4).unwrap_or(u32::MAX).max(1);
        let piece = u64::from(most) * 4;
        (0..bytes.div_ceil(piece)).map(move |index| {
            let range = index * piece..bytes.min((index + 1) * piece);
            let count = u32::try_from((range.end - range.start) / 4).unwrap_or(most);
            (range, count)
        })
    }

    /// Whether results may differ between devices for speed.
    pub(crate) fn numerics(&self) -> Numerics {
        self.tuning.numerics
    }

    /// The optional types of the hardware that kernels use here.
    pub fn native_types(&self) -> NativeTypes {
        match self.tuning.native_types {
            true => NativeTypes::of(self.capabilities.features),
            false => NativeTypes::NONE,
        }
    }

    /// The variant of `kernel` to use here for elements of `element_width`.
    pub fn variant(&self, kernel: &Kernel, element_width: ElementWidth) -> Shared<KernelModule> {
        Shared::Static(*select(kernel.variants(element_width), self.capabilities))
    }

    /// The key of a kernel, with the best value here for each of its specialization constants. An unknown
    /// constant keeps the shader's value; a test checks that this project's kernels have none.
    pub fn kernel_key(&self, variant: &Shared<KernelModule>) -> KernelKey {
        let constants = variant.specialization_constants.iter();
        let value = |it: &SpecializationConstant| self.value_of(it.name).unwrap_or(it.default);
        KernelKey { variant: variant.clone(), specialization: constants.map(value).collect() }
    }

    /// The value of a specialization constant, by its name in the shaders.
    fn value_of(&self, name: &str) -> Option<u32> {
        let limits = &self.capabilities.limits;
        let [m, n, k] = limits.cooperative_matrix_size;
        match name {
            LOCAL_SIZE => Some(self.local_size()),
            RUN_LENGTH => Some(INDICES_IN_A_RUN),
            SUBGROUP_SIZE => Some(limits.subgroup_size),
            TILE_INVOCATIONS => Some(self.group_size(transpose::TILE_INVOCATIONS)),
            "MATRIX_M" => Some(m),
            "MATRIX_N" => Some(n),
            "MATRIX_K" => Some(k),
            _ => None,
        }
    }

    /// The number of indices in a work group of `variant`: of each invocation, times the number of
    /// invocations. A kernel whose work group size is fixed has one index for each invocation.
    pub(crate) fn group_length(&self, variant: &KernelModule) -> u32 {
        let has = |name| {
            variant
                .specialization_constants
                .iter()
                .any(|specialization_constant| specialization_constant.name == name)
        };
        let of_invocation = if has(RUN_LENGTH) { INDICES_IN_A_RUN } else { 1 };
        if has(LOCAL_SIZE) { self.local_size() * of_invocation } else { 1 }
    }
}

/// The error for an operator that takes more than [`MAX_STEPS`] dispatches.
pub(crate) fn beyond_steps(operator: &'static str, field: &'static str, needed: u64) -> Error {
    Error::DeviceLimit {
        operator,
        field,
        needed,
        unit: "dispatches",
        limit: "what a plan takes, with the maxStorageBufferRange and maxComputeWorkGroupCount",
        available: MAX_STEPS.into(),
    }
}

#[cfg(test)]
mod tests {
    use dml_core::kernel::KernelDescription;
    use dml_spirv::element_wise::{AccessPattern, ElementFormula, ElementWise, KernelOperand};
    use dml_spirv::kernels;

    use super::*;

    fn with_target(test: impl FnOnce(&Target<'_>)) {
        let capabilities = Capabilities::vulkan_minimum();
        let tuning = Tuning::new().with_local_size(32);
        test(&Target { capabilities: &capabilities, tuning, transfer: TransferUse::Allowed });
    }

    /// A kernel of each skeleton.
    fn linked() -> impl Iterator<Item = Shared<KernelModule>> {
        let operand = KernelOperand { width: ElementWidth::B32, access: AccessPattern::Whole };
        (0..8).map(move |outer_dimensions| {
            let (program, inputs) = (ElementFormula::default(), vec![operand]);
            ElementWise { program, inputs, output: operand, second: None, outer_dimensions }
                .variant(NativeTypes::NONE)
        })
    }

    #[test]
    fn every_constant_of_every_kernel_is_given_a_value() {
        with_target(|target| {
            for variant in kernels::ALL.iter().copied().map(Shared::Static).chain(linked()) {
                for constant in variant.specialization_constants {
                    let (kernel, name) = (&variant.name, constant.name);
                    assert!(target.value_of(name).is_some(), "{kernel}: {name}");
                }
            }
        });
    }

    #[test]
    fn constants_go_by_their_names_whatever_their_order() {
        let constant = |id, name| SpecializationConstant { id, name, default: 7 };
        let constants =
            [constant(0, "RUN_LENGTH"), constant(3, "OTHER"), constant(5, "LOCAL_SIZE")];
        let described = |count: usize| {
            let specialization_constants = Vec::leak(constants[..count].to_vec());
            let like = kernels::FILL_WORDS_B32.description().clone();
            let description = KernelDescription { specialization_constants, ..like };
            Shared::from(KernelModule::new(description))
        };
        with_target(|target| {
            let all = described(3);
            assert_eq!(target.kernel_key(&all).specialization, [16, 7, 32]);
            assert_eq!(target.group_length(&all), 16 * 32);
            assert_eq!(target.kernel_key(&described(0)).specialization, [0; 0]);
            assert_eq!(target.group_length(&described(0)), 1);
        });
    }
}
