//! Support tables: the dimension counts and data types that each feature level accepts.

use std::fmt;

use crate::tensor::MAX_DIMENSION_COUNT;
use crate::types::{DataTypeSet, FeatureLevel};

/// A set of dimension counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RankSet(u16);

impl RankSet {
    /// The counts from `first` to `last`, both included.
    pub const fn range(first: usize, last: usize) -> Self {
        let mut bits = 0;
        let mut rank = first;
        while rank <= last {
            bits |= 1 << rank;
            rank += 1;
        }
        Self(bits)
    }

    /// Whether `rank` is in the set.
    pub const fn contains(self, rank: usize) -> bool {
        rank <= MAX_DIMENSION_COUNT && self.0 & (1 << rank) != 0
    }

    /// Whether the set contains all counts of `other`.
    pub const fn is_superset(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The counts, ascending.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (1..=MAX_DIMENSION_COUNT).filter(move |rank| self.contains(*rank))
    }
}

impl fmt::Display for RankSet {
    /// Writes `4`, `2 to 4` or `2, 4`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranks: Vec<usize> = self.iter().collect();
        match ranks.as_slice() {
            [first, .., last] if last - first + 1 == ranks.len() => write!(f, "{first} to {last}"),
            more => {
                let texts: Vec<String> = more.iter().map(ToString::to_string).collect();
                f.write_str(&texts.join(", "))
            }
        }
    }
}

impl fmt::Debug for RankSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

/// The dimension counts and data types that one table accepts for one tensor.
#[derive(Debug, PartialEq, Eq)]
pub struct TensorSupport {
    /// The tensor's field.
    pub field: &'static str,
    /// Dimension counts.
    pub ranks: RankSet,
    /// Data types; the empty set if DirectML's reference does not state them.
    pub data_types: DataTypeSet,
}

impl TensorSupport {
    /// A cell of a table.
    pub const fn new(field: &'static str, ranks: RankSet, data_types: DataTypeSet) -> Self {
        Self { field, ranks, data_types }
    }

    /// Whether DirectML's reference states the data types.
    pub const fn types_documented(&self) -> bool {
        !self.data_types.is_empty()
    }
}

/// The tensors that an operator accepts from one feature level up to the level of the next table.
#[derive(Debug, PartialEq, Eq)]
pub struct SupportTable {
    /// The lowest level at which the table applies.
    pub level: FeatureLevel,
    /// One entry for each tensor field.
    pub tensors: &'static [TensorSupport],
}

impl SupportTable {
    /// The entry of a tensor field.
    pub fn tensor(&self, field: &str) -> Option<&'static TensorSupport> {
        self.tensors.iter().find(|support| support.field == field)
    }
}

/// Support that depends on the value of an attribute.
#[derive(Debug, PartialEq, Eq)]
pub struct VariedSupport {
    /// The attribute's field: an enum.
    pub field: &'static str,
    /// A variant for each group of values with the same tables; together they cover all values.
    pub variants: &'static [SupportVariant],
}

/// The tables for some values of an attribute.
#[derive(Debug, PartialEq, Eq)]
pub struct SupportVariant {
    /// The values, by DirectML's number.
    pub values: &'static [u32],
    /// The tables, by ascending level.
    pub tables: &'static [SupportTable],
}

/// The highest of `tables` at or below `level`; `None` if all are above it.
pub fn table_at(
    tables: &'static [SupportTable],
    level: FeatureLevel,
) -> Option<&'static SupportTable> {
    tables.iter().rfind(|table| table.level <= level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_sets_read_as_a_person_would_write_them() {
        assert_eq!(RankSet::range(4, 4).to_string(), "4");
        assert_eq!(RankSet::range(2, 4).to_string(), "2 to 4");
        assert!(!RankSet::range(1, 8).contains(9));
    }
}
