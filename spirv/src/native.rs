//! Optional types of the hardware that kernels are linked for. They never change a result.

use dml_core::capabilities::{Feature, Features};

use crate::functions::{
    DIVIDE_I64, DIVIDE_U64, Function, MODULUS_FLOOR_I64, MODULUS_TRUNCATE_I64, MODULUS_U64,
};
use crate::link::Source;
use crate::{ElementWidth, kernels};

/// The functions that divide integers of 64 bits.
const DIVISIONS: [&Function; 5] =
    [&DIVIDE_U64, &DIVIDE_I64, &MODULUS_U64, &MODULUS_TRUNCATE_I64, &MODULUS_FLOOR_I64];

/// The optional types that a kernel may use. Elements of a type that is missing are computed with 32-bit words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NativeTypes {
    /// Integers of 64 bits in registers (shaderInt64).
    pub int64: bool,
    /// Buffers of elements of 8 bits (storageBuffer8BitAccess).
    pub storage8: bool,
    /// Buffers of elements of 16 bits (storageBuffer16BitAccess).
    pub storage16: bool,
    /// Floats of 16 bits in registers that are rounded to nearest.
    pub float16: Float16,
    /// Dot products of four integers of 8 bits (shaderIntegerDotProduct).
    pub dot_product: bool,
}

/// Support for floats of 16 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Float16 {
    /// No such floats, or other rounding, or without signed zeros, infinities and NaN.
    #[default]
    None,
    /// Normal numbers (shaderFloat16, shaderRoundingModeRTEFloat16, shaderSignedZeroInfNanPreserveFloat16):
    /// subnormal numbers may be taken for 0.
    Normal,
    /// Subnormal numbers, too (shaderDenormPreserveFloat16).
    All,
}

impl Float16 {
    fn of(features: Features) -> Self {
        let is_rounded = features.has(Feature::ShaderFloat16)
            && features.has(Feature::ShaderRoundingModeRteFloat16)
            && features.has(Feature::ShaderSignedZeroInfNanPreserveFloat16);
        match is_rounded {
            true if features.has(Feature::ShaderDenormPreserveFloat16) => Self::All,
            true => Self::Normal,
            false => Self::None,
        }
    }

    /// The float controls that kernels with these floats must declare.
    pub(crate) fn modes(self) -> Features {
        let (is_used, keeps_subnormals) = (self != Self::None, self == Self::All);
        Features::NONE
            .with(Feature::ShaderRoundingModeRteFloat16, is_used)
            .with(Feature::ShaderSignedZeroInfNanPreserveFloat16, is_used)
            .with(Feature::ShaderDenormPreserveFloat16, keeps_subnormals)
    }
}

impl NativeTypes {
    /// No optional types, for every device.
    pub const NONE: Self = Self {
        int64: false,
        storage8: false,
        storage16: false,
        float16: Float16::None,
        dot_product: false,
    };

    /// The types that a device with these features has.
    pub fn of(features: Features) -> Self {
        Self {
            int64: features.has(Feature::ShaderInt64),
            storage8: features.has(Feature::StorageBuffer8BitAccess),
            storage16: features.has(Feature::StorageBuffer16BitAccess),
            float16: Float16::of(features),
            dot_product: features.has(Feature::ShaderIntegerDotProduct),
        }
    }

    /// The types that an element-wise kernel with these functions uses. No GPU has an instruction that divides
    /// integers of 64 bits, and compilers write every division out: with several of them a kernel needs more
    /// registers than there are (RADV would keep 300 of ROI_POOLING's in memory).
    pub(crate) fn within(self, functions: impl Iterator<Item = &'static Function>) -> Self {
        let divisions = functions.filter(|function| DIVISIONS.contains(function)).count();
        Self { int64: self.int64 && divisions <= 1, ..self }
    }

    /// The library with the functions of `library` that use these types.
    pub(crate) fn library(self, library: &'static Source) -> &'static Source {
        let half = match self.float16 {
            Float16::None => &kernels::F16,
            Float16::Normal => &kernels::F16_FLOAT16,
            Float16::All => &kernels::F16_SUBNORMALS,
        };
        let (wide, double) = match self.int64 {
            true => (&kernels::WIDE_INT64, &kernels::F64_INT64),
            false => (&kernels::WIDE, &kernels::F64),
        };
        let native = [(&kernels::F16, half), (&kernels::WIDE, wide), (&kernels::F64, double)];
        let found = native.into_iter().find(|(plain, _)| std::ptr::eq(*plain, library));
        found.map_or(library, |(_, native)| native)
    }

    /// The loads and stores of elements of a width.
    pub(crate) fn memory(self, width: ElementWidth) -> &'static Source {
        match width {
            ElementWidth::B4 => &kernels::MEMORY_B4,
            ElementWidth::B8 if self.storage8 => &kernels::MEMORY_NARROW_B8,
            ElementWidth::B8 => &kernels::MEMORY_B8,
            ElementWidth::B16 if self.storage16 => &kernels::MEMORY_NARROW_B16,
            ElementWidth::B16 => &kernels::MEMORY_B16,
            ElementWidth::B32 => &kernels::MEMORY_B32,
            ElementWidth::B64 => &kernels::MEMORY_B64,
        }
    }
}
