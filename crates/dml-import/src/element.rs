//! The element types of a model's values, and the DirectML types that carry them.

use std::fmt;

use dml_core::value::element_bits;
use dml_core::{DataType, ScalarUnion};

/// The type of an element of a model's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// One of DirectML's types of 8 bits and more.
    Dml(DataType),
    /// Truth values, carried as UINT8 0 and 1.
    Bool,
    /// bfloat16, carried as its UINT16 bit pattern.
    Bfloat16,
    /// 4-bit two's complement integers from -8 to 7, carried as INT8, one element per byte.
    Int4,
    /// 4-bit unsigned integers from 0 to 15, carried as UINT8, one element per byte.
    Uint4,
    /// 8-bit floats with 4 bits of exponent and without infinities, carried as UINT8 bit patterns: they are
    /// moved, never computed with.
    Float8E4m3,
    /// 8-bit floats with 5 bits of exponent, carried like [`Float8E4m3`](Self::Float8E4m3).
    Float8E5m2,
    /// A type that tensors of this runtime cannot have, under the format's name.
    Other(&'static str),
}

/// The upper half of binary32's 1.0.
const BFLOAT16_ONE: u16 = 0x3F80;
/// 1.0 has the exponent's bias in its exponent and no fraction: a bias of 7 above 3 bits, and of 15 above 2.
const FLOAT8E4M3_ONE: u8 = 7 << 3;
const FLOAT8E5M2_ONE: u8 = 15 << 2;

impl ElementType {
    /// 64-bit two's complement integers.
    pub const INT64: Self = Self::Dml(DataType::Int64);
    /// 32-bit two's complement integers.
    pub const INT32: Self = Self::Dml(DataType::Int32);
    /// 64-bit unsigned integers.
    pub(crate) const UINT64: Self = Self::Dml(DataType::Uint64);
    /// IEEE 754 binary32.
    pub const FLOAT32: Self = Self::Dml(DataType::Float32);
    /// IEEE 754 binary16.
    pub const FLOAT16: Self = Self::Dml(DataType::Float16);

    /// IEEE 754's types.
    pub(crate) const FLOATS: [Self; 3] =
        [Self::FLOAT16, Self::FLOAT32, Self::Dml(DataType::Float64)];

    /// Truth values, bfloat16, and DirectML's types of at least 8 bits.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let dml = DataType::ALL.into_iter().filter(|it| it.bits() >= 8).map(Self::Dml);
        [Self::Bool, Self::Bfloat16].into_iter().chain(dml)
    }

    /// The first letter of the type's kind and its size in units of `unit_bits`, such as `f4` in bytes or `i64`
    /// in bits; `None` for types that are not DirectML's, or smaller than a byte.
    pub(crate) fn short_name(self, unit_bits: u32) -> Option<String> {
        let data_type = self.storage().filter(|it| self == Self::Dml(*it) && it.bits() >= 8)?;
        let kind = data_type.name().chars().next()?.to_ascii_lowercase();
        Some(format!("{kind}{}", data_type.bits() / unit_bits))
    }

    /// The DirectML type of the tensors that carry this type; `None` if tensors cannot have it.
    pub fn storage(self) -> Option<DataType> {
        match self {
            Self::Dml(data_type) => Some(data_type),
            Self::Bool => Some(DataType::Uint8),
            Self::Bfloat16 => Some(DataType::Uint16),
            Self::Int4 => Some(DataType::Int8),
            Self::Uint4 | Self::Float8E4m3 | Self::Float8E5m2 => Some(DataType::Uint8),
            Self::Other(_) => None,
        }
    }

    /// Whether elements are opaque bit patterns, which are moved but not computed with.
    pub(crate) fn is_pattern(self) -> bool {
        matches!(self, Self::Float8E4m3 | Self::Float8E5m2)
    }

    /// Bytes of an element in memory; `None` if tensors cannot have the type.
    pub fn size(self) -> Option<u64> {
        self.storage().map(|it| u64::from(it.bits() / 8))
    }

    /// Whether the type is an integer or a truth value.
    pub fn is_integer(self) -> bool {
        match self {
            Self::Dml(data_type) => data_type.integer_range().is_some(),
            Self::Bool | Self::Int4 | Self::Uint4 => true,
            Self::Bfloat16 | Self::Float8E4m3 | Self::Float8E5m2 | Self::Other(_) => false,
        }
    }

    /// The 4-bit type, of which files pack two elements into a byte, the first in the low half; `None` for all
    /// other types.
    pub(crate) fn half_byte(self) -> Option<DataType> {
        match self {
            Self::Int4 => Some(DataType::Int4),
            Self::Uint4 => Some(DataType::Uint4),
            _ => None,
        }
    }

    /// The least and the largest value of an element, for types that use only some of the values of the byte
    /// that carries them.
    pub(crate) fn range(self) -> Option<(i128, i128)> {
        match self {
            Self::Bool => Some((0, 1)),
            other => other.half_byte()?.integer_range(),
        }
    }

    /// The bits of 1 in this type.
    pub(crate) fn one(self) -> u64 {
        match self {
            Self::Dml(data_type) => element_bits(1.0, data_type),
            Self::Bool | Self::Int4 | Self::Uint4 => 1,
            Self::Bfloat16 => BFLOAT16_ONE.into(),
            Self::Float8E4m3 => FLOAT8E4M3_ONE.into(),
            Self::Float8E5m2 => FLOAT8E5M2_ONE.into(),
            Self::Other(_) => 0,
        }
    }
}

impl fmt::Display for ElementType {
    /// Writes NumPy's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dml(data_type) => f.pad(&data_type.name().to_ascii_lowercase()),
            Self::Bool => f.pad("bool"),
            Self::Bfloat16 => f.pad("bfloat16"),
            Self::Int4 => f.pad("int4"),
            Self::Uint4 => f.pad("uint4"),
            Self::Float8E4m3 => f.pad("float8e4m3"),
            Self::Float8E5m2 => f.pad("float8e5m2"),
            Self::Other(name) => f.pad(name),
        }
    }
}

/// The scalar with `bits`.
pub(crate) fn scalar(bits: u64) -> ScalarUnion {
    ScalarUnion::from_bits(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_one_in_every_type() {
        assert_eq!(ElementType::Bfloat16.one(), 0x3F80);
        assert_eq!(ElementType::Bool.one(), 1);
        assert_eq!(ElementType::Dml(DataType::Float16).one(), 0x3c00);
        assert_eq!(ElementType::INT64.one(), 1);
    }
}
