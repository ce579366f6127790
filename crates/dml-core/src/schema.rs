//! What an operator's fields are, and what each feature level accepts in them: as data.

mod enums;

use std::fmt;

use crate::data_type::DataTypeSet;
use crate::error::Error;
use crate::feature_level::FeatureLevel;
use crate::tensor::MAX_DIMENSION_COUNT;
use crate::validate::Validated;

pub use enums::{EnumSchema, TENSOR_DATA_TYPE};

/// How results are compared with the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Comparison {
    /// Every bit is equal.
    BitExact,
    /// Not decided yet; only operators that are not implemented have this.
    Undecided,
}

/// What a field is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A tensor that is read.
    Input,
    /// A tensor that is written.
    Output,
    /// A value that is known when the operator is created.
    Attribute,
}

/// The type of a field, in DirectML's own model of operator descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// `const DML_TENSOR_DESC*`
    Tensor,
    /// `const DML_TENSOR_DESC*` with a count
    TensorArray,
    /// `const DML_OPERATOR_DESC*`
    OperatorDesc,
    /// `UINT`
    Uint,
    /// `UINT64`
    Uint64,
    /// `INT`
    Int,
    /// `FLOAT`
    Float,
    /// `const UINT*` with a count
    UintArray,
    /// `const INT*` with a count
    IntArray,
    /// `const FLOAT*` with a count
    FloatArray,
    /// `const DML_SCALE_BIAS*`
    ScaleBias,
    /// `DML_SIZE_2D`
    Size2d,
    /// `DML_SCALAR_UNION`
    ScalarUnion,
    /// `BOOL`
    Bool,
}

/// One field of an operator's descriptor.
#[derive(Debug, PartialEq, Eq)]
pub struct FieldSchema {
    /// DirectML's name of the field.
    pub name: &'static str,
    /// What it is for.
    pub kind: FieldKind,
    /// Its type.
    pub field_type: FieldType,
    /// Whether it may be left out.
    pub optional: bool,
    /// The enum whose numbers a `UINT` field holds.
    pub enumeration: Option<&'static EnumSchema>,
    /// For a scalar union: the field that tells the type of the scalar.
    pub scalar_type: Option<&'static str>,
    /// For an array: the `UINT` field that tells the number of elements.
    pub count: Option<&'static str>,
}

impl FieldSchema {
    /// A field that cannot be left out.
    pub const fn new(name: &'static str, kind: FieldKind, field_type: FieldType) -> Self {
        let (enumeration, scalar_type, count) = (None, None, None);
        Self { name, kind, field_type, optional: false, enumeration, scalar_type, count }
    }

    /// The same, but it may be left out.
    pub const fn optional(self) -> Self {
        Self { optional: true, ..self }
    }

    /// The same, holding the numbers of an enum.
    pub const fn with_enumeration(self, enumeration: &'static EnumSchema) -> Self {
        Self { enumeration: Some(enumeration), ..self }
    }

    /// The same, with its scalar's type told by `field`.
    pub const fn with_scalar_type(self, field: &'static str) -> Self {
        Self { scalar_type: Some(field), ..self }
    }

    /// The same, with its number of elements told by `field`.
    pub const fn with_count(self, field: &'static str) -> Self {
        Self { count: Some(field), ..self }
    }
}

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

    /// Whether the set has everything that `other` has.
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

/// What one table accepts for one tensor.
#[derive(Debug, PartialEq, Eq)]
pub struct TensorSupport {
    /// The tensor's field.
    pub field: &'static str,
    /// Dimension counts.
    pub ranks: RankSet,
    /// Data types.
    pub data_types: DataTypeSet,
}

/// What an operator accepts from one feature level up to the next table.
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

/// What must hold between the fields of one operator, beyond what the tables state.
///
/// Rules are written in `rules.rs` and named in the schema.
#[derive(Clone, Copy)]
pub struct Rule {
    /// The name of the function.
    pub name: &'static str,
    /// Called at the end of validation, with an operator whose fields are all valid by themselves.
    pub check: fn(&Validated) -> Result<(), Error>,
}

impl PartialEq for Rule {
    /// Compares names: addresses of functions are not unique.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// An operator: its descriptor and its support tables.
#[derive(Debug, PartialEq)]
pub struct OperatorSchema {
    /// DirectML's name without the prefix `DML_OPERATOR_`.
    pub name: &'static str,
    /// DirectML's number of the operator.
    pub operator_type: u32,
    /// What it does, in a few words.
    pub summary: &'static str,
    /// Whether this runtime executes it.
    pub implemented: bool,
    /// Whether DirectML allows an output to be the same memory as an input.
    pub in_place: bool,
    /// How results are compared.
    pub comparison: Comparison,
    /// The fields, in DirectML's order.
    pub fields: &'static [FieldSchema],
    /// What must hold between the fields.
    pub rule: Option<Rule>,
    /// The support tables, by ascending level; the first is the level of introduction.
    pub tables: &'static [SupportTable],
}

impl OperatorSchema {
    /// The level that introduced the operator.
    pub fn introduced(&self) -> FeatureLevel {
        self.tables.first().map_or(FeatureLevel::HIGHEST, |table| table.level)
    }

    /// The highest table at or below `level`; `None` where the operator does not exist yet.
    pub fn table_at(&self, level: FeatureLevel) -> Option<&'static SupportTable> {
        self.tables.iter().rfind(|table| table.level <= level)
    }

    /// The lowest level whose table satisfies `accepts`.
    pub fn lowest_level(&self, accepts: impl Fn(&SupportTable) -> bool) -> Option<FeatureLevel> {
        self.tables.iter().find(|table| accepts(table)).map(|table| table.level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::OPERATORS;

    #[test]
    fn rank_sets_read_as_a_person_would_write_them() {
        assert_eq!(RankSet::range(4, 4).to_string(), "4");
        assert_eq!(RankSet::range(2, 4).to_string(), "2 to 4");
        assert!(!RankSet::range(1, 8).contains(9));
    }

    #[test]
    fn tables_ascend_and_each_accepts_all_that_the_one_before_does() {
        for schema in OPERATORS {
            for pair in schema.tables.windows(2) {
                assert!(pair[0].level < pair[1].level, "{}", schema.name);
                for before in pair[0].tensors {
                    let after = pair[1].tensor(before.field).unwrap();
                    assert!(after.ranks.is_superset(before.ranks), "{}", schema.name);
                    assert!(after.data_types.is_superset(before.data_types), "{}", schema.name);
                }
            }
        }
    }

    #[test]
    fn every_table_covers_every_tensor_field() {
        for schema in OPERATORS {
            let fields = schema.fields.iter().filter(|f| f.kind != FieldKind::Attribute);
            let names: Vec<&str> = fields.map(|field| field.name).collect();
            for table in schema.tables {
                let covered: Vec<&str> = table.tensors.iter().map(|t| t.field).collect();
                assert_eq!(covered, names, "{} at {}", schema.name, table.level);
            }
        }
    }
}
