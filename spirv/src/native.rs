//! Optional types of the hardware that kernels are linked for. They change no bit of a result.

use dml_core::capabilities::{Feature, Features};

use crate::ElementWidth;
use crate::kernels;
use crate::link::Source;

/// The optional types that a kernel may use. Where it lacks one, 32-bit words stand for its elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NativeTypes {
    /// Integers of 64 bits in registers (shaderInt64).
    pub int64: bool,
    /// Buffers of elements of 8 bits (storageBuffer8BitAccess).
    pub storage8: bool,
    /// Buffers of elements of 16 bits (storageBuffer16BitAccess).
    pub storage16: bool,
}

impl NativeTypes {
    /// None: what every device can run.
    pub const NONE: Self = Self { int64: false, storage8: false, storage16: false };

    /// Those that a device with these features has.
    pub fn of(features: Features) -> Self {
        Self {
            int64: features.has(Feature::ShaderInt64),
            storage8: features.has(Feature::StorageBuffer8BitAccess),
            storage16: features.has(Feature::StorageBuffer16BitAccess),
        }
    }

    /// The library with the functions of `library` that use these types.
    pub(crate) fn library(self, library: &'static Source) -> &'static Source {
        let with_int64 =
            [(&kernels::WIDE, &kernels::WIDE_INT64), (&kernels::F64, &kernels::F64_INT64)];
        let found = with_int64.into_iter().find(|(plain, _)| std::ptr::eq(*plain, library));
        found.filter(|_| self.int64).map_or(library, |(_, native)| native)
    }

    /// The loads and stores of elements of a width.
    pub(crate) fn memory(self, width: ElementWidth) -> &'static Source {
        match width {
            ElementWidth::B8 if self.storage8 => &kernels::MEMORY_NARROW_B8,
            ElementWidth::B8 => &kernels::MEMORY_B8,
            ElementWidth::B16 if self.storage16 => &kernels::MEMORY_NARROW_B16,
            ElementWidth::B16 => &kernels::MEMORY_B16,
            ElementWidth::B32 => &kernels::MEMORY_B32,
            ElementWidth::B64 => &kernels::MEMORY_B64,
        }
    }
}
