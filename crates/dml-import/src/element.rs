//! The element types of a model's values, and the DirectML types that carry them.

use std::fmt;

use dml_core::value::element_bits;
use dml_core::{DataType, ScalarUnion};

use crate::small_float::{Rounding, SmallFloat};

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
    /// 2-bit two's complement integers from -2 to 1, carried like [`Int4`](Self::Int4).
    Int2,
    /// 2-bit unsigned integers from 0 to 3, carried like [`Uint4`](Self::Uint4).
    Uint2,
    /// Floats of at most 8 bits, carried as UINT8 bit patterns: they are stored and converted, and computed with
    /// in FLOAT32.
    Small(SmallFloat),
    /// A type that tensors of this runtime cannot have, under the format's name.
    Other(&'static str),
}

/// The upper half of binary32's 1.0.
const BFLOAT16_ONE: u16 = 0x3F80;

/// An integer type of fewer bits than the byte that carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NarrowInteger {
    pub(crate) bits: u32,
    pub(crate) is_signed: bool,
}

impl NarrowInteger {
    /// The least and the greatest value.
    pub(crate) fn range(self) -> (i128, i128) {
        match self.is_signed {
            true => (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1),
            false => (0, (1 << self.bits) - 1),
        }
    }

    /// The value that the lowest bits of `value` have.
    pub(crate) fn wrapped(self, value: i128) -> i128 {
        let low = value & ((1 << self.bits) - 1);
        if low > self.range().1 { low - (1 << self.bits) } else { low }
    }
}

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
        let data_type =
            self.storage().filter(|storage| self == Self::Dml(*storage) && storage.bits() >= 8)?;
        let kind = data_type.name().chars().next()?.to_ascii_lowercase();
        Some(format!("{kind}{}", data_type.bits() / unit_bits))
    }

    /// The DirectML type of the tensors that carry this type; `None` if tensors cannot have it.
    pub fn storage(self) -> Option<DataType> {
        match self {
            Self::Dml(data_type) => Some(data_type),
            Self::Bool => Some(DataType::Uint8),
            Self::Bfloat16 => Some(DataType::Uint16),
            Self::Int4 | Self::Int2 => Some(DataType::Int8),
            Self::Uint4 | Self::Uint2 | Self::Small(_) => Some(DataType::Uint8),
            Self::Other(_) => None,
        }
    }

    /// The format of elements that are small floats.
    pub(crate) fn small_float(self) -> Option<SmallFloat> {
        match self {
            Self::Small(format) => Some(format),
            _ => None,
        }
    }

    /// Whether DirectML carries elements as integers that have the bits of floats.
    pub(crate) fn is_pattern(self) -> bool {
        matches!(self, Self::Bfloat16 | Self::Small(_))
    }

    /// Bytes of an element in memory; `None` if tensors cannot have the type.
    pub fn size(self) -> Option<u64> {
        self.storage().map(|storage| u64::from(storage.bits() / 8))
    }

    /// Whether the type is an integer or a truth value.
    pub fn is_integer(self) -> bool {
        match self {
            Self::Dml(data_type) => data_type.integer_range().is_some(),
            Self::Bool | Self::Int4 | Self::Uint4 | Self::Int2 | Self::Uint2 => true,
            Self::Bfloat16 | Self::Small(_) | Self::Other(_) => false,
        }
    }

    /// The integer type of fewer than 8 bits; `None` for all other types.
    pub(crate) fn narrow_integer(self) -> Option<NarrowInteger> {
        let (bits, is_signed) = match self {
            Self::Int4 => (4, true),
            Self::Uint4 => (4, false),
            Self::Int2 => (2, true),
            Self::Uint2 => (2, false),
            _ => return None,
        };
        Some(NarrowInteger { bits, is_signed })
    }

    /// The bits of an element in files, which pack several elements into a byte, the first in the lowest bits;
    /// `None` for types of whole bytes.
    pub(crate) fn packed_bits(self) -> Option<u32> {
        let of_float = self.small_float().map(SmallFloat::bits).filter(|bits| *bits < 8);
        self.narrow_integer().map(|narrow_integer| narrow_integer.bits).or(of_float)
    }

    /// The least and the largest value of the byte that carries an element, for types that use only some of its
    /// values.
    pub(crate) fn range(self) -> Option<(i128, i128)> {
        match self {
            Self::Bool => Some((0, 1)),
            Self::Small(format) if format.bits() < 8 => Some((0, (1 << format.bits()) - 1)),
            other => other.narrow_integer().map(NarrowInteger::range),
        }
    }

    /// The bits of 1 in this type.
    pub(crate) fn one(self) -> u64 {
        match self {
            Self::Dml(data_type) => element_bits(1.0, data_type),
            Self::Bool | Self::Int4 | Self::Uint4 | Self::Int2 | Self::Uint2 => 1,
            Self::Bfloat16 => BFLOAT16_ONE.into(),
            Self::Small(format) => format.pattern(1.0, Rounding::default()).into(),
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
            Self::Int2 => f.pad("int2"),
            Self::Uint2 => f.pad("uint2"),
            Self::Small(format) => format.fmt(f),
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
