//! The element types of DirectML's tensors.

use std::fmt;

use super::named_enum::named_enum;

named_enum! {
    /// DML_TENSOR_DATA_TYPE, without its UNKNOWN value, which is never valid in a tensor.
    ///
    /// The numbers are DirectML's.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[repr(u32)]
    DataType
    /// Reads DirectML's name in any case, with or without its prefix.
    called "data type", as |text| {
        let upper = text.to_ascii_uppercase();
        upper.strip_prefix("DML_TENSOR_DATA_TYPE_").unwrap_or(&upper).to_owned()
    },
    /// DirectML's name without the prefix `DML_TENSOR_DATA_TYPE_`.
    name;
    /// IEEE 754 binary32.
    Float32 = 1, "FLOAT32";
    /// IEEE 754 binary16.
    Float16 = 2, "FLOAT16";
    /// 32-bit unsigned integer.
    Uint32 = 3, "UINT32";
    /// 16-bit unsigned integer.
    Uint16 = 4, "UINT16";
    /// 8-bit unsigned integer.
    Uint8 = 5, "UINT8";
    /// 32-bit two's complement integer.
    Int32 = 6, "INT32";
    /// 16-bit two's complement integer.
    Int16 = 7, "INT16";
    /// 8-bit two's complement integer.
    Int8 = 8, "INT8";
    /// IEEE 754 binary64.
    Float64 = 9, "FLOAT64";
    /// 64-bit unsigned integer.
    Uint64 = 10, "UINT64";
    /// 64-bit two's complement integer.
    Int64 = 11, "INT64";
    /// 4-bit unsigned integer, two to a byte, the first in the low half.
    Uint4 = 12, "UINT4";
    /// 4-bit two's complement integer, two to a byte, the first in the low half.
    Int4 = 13, "INT4";
}

impl DataType {
    /// Bits of one element: 4, 8, 16, 32 or 64.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Uint4 | Self::Int4 => 4,
            Self::Uint8 | Self::Int8 => 8,
            Self::Float16 | Self::Uint16 | Self::Int16 => 16,
            Self::Float32 | Self::Uint32 | Self::Int32 => 32,
            Self::Float64 | Self::Uint64 | Self::Int64 => 64,
        }
    }

    /// The least and the largest value of an integer; `None` for floats.
    pub const fn integer_range(self) -> Option<(i128, i128)> {
        let bits = self.bits();
        match self {
            Self::Float16 | Self::Float32 | Self::Float64 => None,
            Self::Int4 | Self::Int8 | Self::Int16 | Self::Int32 | Self::Int64 => {
                Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1))
            }
            _ => Some((0, (1 << bits) - 1)),
        }
    }

    /// The bits of the integer `value`, which wraps around at the ends of the type.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the upper bits are no part of the element"
    )]
    pub const fn integer_bits(self, value: i128) -> u64 {
        value as u64 & (u64::MAX >> (64 - self.bits()))
    }

    /// The integer with the bits `bits`, ignoring those above the type's; `None` for floats.
    pub const fn integer_value(self, bits: u64) -> Option<i128> {
        let unused = 64 - self.bits();
        match self.integer_range() {
            None => None,
            Some((0, _)) => Some((bits << unused >> unused) as i128),
            Some(_) => Some(((bits << unused).cast_signed() >> unused) as i128),
        }
    }

    /// The bits of `value` as an integer: truncated toward zero, saturated at the ends of the type; a
    /// NaN is 0. `None` for floats.
    #[expect(clippy::cast_possible_truncation, reason = "truncated on purpose")]
    pub fn saturated_bits(self, value: f64) -> Option<u64> {
        let (least, most) = self.integer_range()?;
        Some(self.integer_bits((value as i128).clamp(least, most)))
    }

    /// DirectML's number of the type.
    pub const fn dml_value(self) -> u32 {
        self as u32
    }

    /// The type with DirectML's number `value`; `None` for UNKNOWN (0) and other numbers.
    pub fn from_dml_value(value: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|data_type| data_type.dml_value() == value)
    }
}

/// A set of data types, such as a support table states.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DataTypeSet(u16);

impl DataTypeSet {
    /// Every type.
    pub const ALL: Self = Self::of(&DataType::ALL);

    /// No type.
    pub const NONE: Self = Self(0);

    /// The set of `types`.
    pub const fn of(types: &[DataType]) -> Self {
        let mut bits = 0;
        let mut index = 0;
        while index < types.len() {
            bits |= 1 << types[index] as u32;
            index += 1;
        }
        Self(bits)
    }

    /// This set and `types`.
    pub const fn with(self, types: &[DataType]) -> Self {
        Self(self.0 | Self::of(types).0)
    }

    /// Whether the set has no type.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the set has `data_type`.
    pub const fn contains(self, data_type: DataType) -> bool {
        self.0 & (1 << data_type as u32) != 0
    }

    /// Whether the set contains all types of `other`.
    pub const fn is_superset(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The types of the set, by ascending number.
    pub fn iter(self) -> impl Iterator<Item = DataType> {
        DataType::ALL.into_iter().filter(move |data_type| self.contains(*data_type))
    }
}

impl fmt::Display for DataTypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, data_type) in self.iter().enumerate() {
            write!(f, "{}{data_type}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl fmt::Debug for DataTypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_directml_s() {
        let expected = [
            (1, "FLOAT32", 32),
            (2, "FLOAT16", 16),
            (3, "UINT32", 32),
            (4, "UINT16", 16),
            (5, "UINT8", 8),
            (6, "INT32", 32),
            (7, "INT16", 16),
            (8, "INT8", 8),
            (9, "FLOAT64", 64),
            (10, "UINT64", 64),
            (11, "INT64", 64),
            (12, "UINT4", 4),
            (13, "INT4", 4),
        ];
        let found = DataType::ALL.map(|t| (t.dml_value(), t.name(), t.bits()));
        assert_eq!(found, expected);
    }

    #[test]
    fn unknown_is_not_a_type() {
        assert_eq!(DataType::from_dml_value(0), None);
        assert_eq!(DataType::from_dml_value(14), None);
        assert_eq!(DataType::from_dml_value(13), Some(DataType::Int4));
    }

    #[test]
    fn names_are_read_in_any_case_with_or_without_prefix() {
        assert_eq!("float16".parse(), Ok(DataType::Float16));
        assert_eq!("DML_TENSOR_DATA_TYPE_INT64".parse(), Ok(DataType::Int64));
        let error = "bfloat16".parse::<DataType>().unwrap_err().to_string();
        let expected = "unknown data type 'bfloat16' (did you mean FLOAT16?); accepted: FLOAT32, ";
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn a_set_knows_its_members() {
        let set = DataTypeSet::of(&[DataType::Float32]).with(&[DataType::Int8]);
        assert!(set.contains(DataType::Int8) && !set.contains(DataType::Int16));
        assert!(DataTypeSet::ALL.is_superset(set) && !set.is_superset(DataTypeSet::ALL));
        assert_eq!(set.to_string(), "FLOAT32, INT8");
    }
}
