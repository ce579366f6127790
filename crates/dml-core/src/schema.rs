//! The operators as data: their fields, and the tensors that each feature level accepts in them.

mod enums;
pub(crate) mod operator;
mod support;
pub(crate) mod validated;

use std::fmt;

use crate::error::Error;
use crate::types::{DataType, DataTypeSet, FeatureLevel};

use validated::Validated;

pub use enums::*;
pub use operator::{FieldType, TensorPath};
pub use support::{RankSet, SupportTable, SupportVariant, TensorSupport, VariedSupport, table_at};

/// How results are compared with the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Comparison {
    /// Every bit is equal.
    BitExact,
    /// Floating-point numbers differ by at most this many units in the last place. A NaN is equal to any
    /// NaN and to nothing else, and zeros have the same sign. Where a FLOAT32 operand or result is
    /// subnormal, a zero of its sign may take its place, as Vulkan allows. Integers are equal bit by bit if
    /// the bound is 0; otherwise they may be truncated from FLOAT32 numbers within the bound.
    Ulp(u32),
    /// Not decided yet; only operators that are not implemented have this.
    Undecided,
}

/// How much further results may be from the reference with [`Numerics::Fast`], before their [`Comparison`] applies.
///
/// [`Numerics::Fast`]: crate::Numerics::Fast
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FastComparison {
    /// No further than with exact numerics.
    AsExact,
    /// A sum of `n` products of floating-point numbers may be off by `(n + 6) 2^-24` of the sum of their magnitudes,
    /// times what it is scaled by: the bound for any order of additions, fused or not.
    SumsOfProducts,
}

/// The role of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A tensor that is read.
    Input,
    /// A tensor that is written.
    Output,
    /// A value that is known when the operator is created.
    Attribute,
}

/// One field of an operator's descriptor.
#[derive(Debug, PartialEq, Eq)]
pub struct FieldSchema {
    /// DirectML's name of the field.
    pub name: &'static str,
    /// The field's role.
    pub kind: FieldKind,
    /// The field's type.
    pub field_type: FieldType,
    /// Whether it may be left out.
    pub optional: bool,
    /// The lowest level at which the field may be left out; `None` if that does not depend on the level.
    pub optional_from: Option<FeatureLevel>,
    /// The enum whose numbers a `UINT` field holds.
    pub enumeration: Option<&'static EnumSchema>,
    /// For a scalar union: the field that tells the type of the scalar.
    pub scalar_type: Option<&'static str>,
    /// For an array: the `UINT` field that tells the number of elements.
    pub count: Option<&'static str>,
    /// The tensor whose data type this one has, or this `UINT` holds.
    pub type_of: Option<&'static str>,
    /// The tensor whose sizes this one has.
    pub sizes_of: Option<&'static str>,
}

impl FieldSchema {
    /// Whether the field holds a value of an enumeration, other than the data type of a tensor.
    pub const fn is_choice(&self) -> bool {
        self.enumeration.is_some() && self.type_of.is_none()
    }

    /// A field that cannot be left out.
    pub const fn new(name: &'static str, kind: FieldKind, field_type: FieldType) -> Self {
        Self {
            name,
            kind,
            field_type,
            optional: false,
            optional_from: None,
            enumeration: None,
            scalar_type: None,
            count: None,
            type_of: None,
            sizes_of: None,
        }
    }

    /// This field, as one that may be left out.
    pub const fn optional(self) -> Self {
        Self { optional: true, ..self }
    }

    /// This field, as one that may be left out from `level` on.
    pub const fn optional_from(self, level: FeatureLevel) -> Self {
        Self { optional: true, optional_from: Some(level), ..self }
    }

    /// This field, holding the numbers of an enum.
    pub const fn with_enumeration(self, enumeration: &'static EnumSchema) -> Self {
        Self { enumeration: Some(enumeration), ..self }
    }

    /// This field, with the type of its scalar given by the field `field`.
    pub const fn with_scalar_type(self, field: &'static str) -> Self {
        Self { scalar_type: Some(field), ..self }
    }

    /// This field, with its number of elements given by the field `field`.
    pub const fn with_count(self, field: &'static str) -> Self {
        Self { count: Some(field), ..self }
    }

    /// This field, with the data type of the tensor `field`.
    pub const fn with_type_of(self, field: &'static str) -> Self {
        Self { type_of: Some(field), ..self }
    }

    /// This field, with the sizes of the tensor `field`.
    pub const fn with_sizes_of(self, field: &'static str) -> Self {
        Self { sizes_of: Some(field), ..self }
    }
}

/// A constraint between the fields of one operator that the tables do not express.
///
/// Rules are written in `operators/rules.rs` and named in the schema.
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
    /// The operator's function, in a few words.
    pub summary: &'static str,
    /// Whether this runtime executes it.
    pub implemented: bool,
    /// Whether DirectML allows an output to be the same memory as an input.
    pub in_place: bool,
    /// How results are compared, by the data type of the output; empty if that is not decided.
    pub comparisons: &'static [(DataTypeSet, Comparison)],
    /// The errors that fast numerics allow beside that.
    pub fast: FastComparison,
    /// The fields, in DirectML's order.
    pub fields: &'static [FieldSchema],
    /// The constraint between the fields, if there is one.
    pub rule: Option<Rule>,
    /// The support tables, by ascending level; the first is the level of introduction. If they depend on an
    /// attribute (`varied`), they accept everything that at least one of its values accepts.
    pub tables: &'static [SupportTable],
    /// The tables for each value of the attribute that they depend on.
    pub varied: Option<VariedSupport>,
}

impl OperatorSchema {
    /// The level that introduced the operator.
    pub fn introduced(&self) -> FeatureLevel {
        self.tables.first().map_or(FeatureLevel::HIGHEST, |table| table.level)
    }

    /// Whether the operator has a field of this name.
    pub fn has_field(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name == name)
    }

    /// The tensors whose data types are chosen independently; every other tensor has the type of one of these.
    pub fn type_parameters(&self) -> impl Iterator<Item = &'static FieldSchema> {
        let tensors = self.fields.iter().filter(|field| field.kind != FieldKind::Attribute);
        tensors.filter(|field| field.type_of.is_none())
    }

    /// How the elements of an output of `data_type` are compared with the reference.
    pub fn comparison(&self, data_type: DataType) -> Comparison {
        let found = self.comparisons.iter().find(|(types, _)| types.contains(data_type));
        found.map_or(Comparison::Undecided, |(_, comparison)| *comparison)
    }

    /// The highest table at or below `level`; `None` if the operator was introduced later.
    pub fn table_at(&self, level: FeatureLevel) -> Option<&'static SupportTable> {
        table_at(self.tables, level)
    }

    /// The tables for one value of the attribute that support depends on, or `tables` if there is no such
    /// attribute or value.
    pub fn tables_where(&self, value: u32) -> &'static [SupportTable] {
        let variants = self.varied.as_ref().map_or(&[][..], |varied| varied.variants);
        variants
            .iter()
            .find(|variant| variant.values.contains(&value))
            .map_or(self.tables, |variant| variant.tables)
    }

    /// All lists of tables of the operator, each with the attribute's values that it is for; the values of
    /// `tables` itself are empty.
    pub fn every_tables(
        &self,
    ) -> impl Iterator<Item = (&'static [u32], &'static [SupportTable])> + Clone {
        let variants = self.varied.as_ref().map_or(&[][..], |varied| varied.variants);
        let all: (&[u32], _) = (&[], self.tables);
        std::iter::once(all).chain(variants.iter().map(|variant| (variant.values, variant.tables)))
    }
}

#[cfg(test)]
impl OperatorSchema {
    /// The row of a fictitious operator, without fields and tables.
    pub(crate) const fn made_up(name: &'static str) -> Self {
        Self {
            name,
            operator_type: 9999,
            summary: "",
            implemented: false,
            in_place: false,
            comparisons: &[],
            fast: FastComparison::AsExact,
            fields: &[],
            rule: None,
            tables: &[],
            varied: None,
        }
    }
}
