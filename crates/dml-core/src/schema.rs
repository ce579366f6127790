//! What an operator's fields are, and what each feature level accepts in them: as data.

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
    /// Floating-point numbers are at most so many units in the last place away. A NaN is equal to any
    /// NaN and to nothing else, and zeros have the same sign. Where a FLOAT32 operand or result is
    /// subnormal, a zero of its sign may take its place, as Vulkan allows it. Integers are equal bit by
    /// bit where the bound is 0, else they may be truncated from FLOAT32 numbers that far away.
    Ulp(u32),
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
    /// The lowest level at which it may be left out; `None` where it always may, or never.
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
    /// Whether it is one of an enumeration's choices that says more than the type of a tensor.
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

    /// The same, but it may be left out.
    pub const fn optional(self) -> Self {
        Self { optional: true, ..self }
    }

    /// The same, but from `level` on it may be left out.
    pub const fn optional_from(self, level: FeatureLevel) -> Self {
        Self { optional: true, optional_from: Some(level), ..self }
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

    /// The same, with the data type of the tensor `field`.
    pub const fn with_type_of(self, field: &'static str) -> Self {
        Self { type_of: Some(field), ..self }
    }

    /// The same, with the sizes of the tensor `field`.
    pub const fn with_sizes_of(self, field: &'static str) -> Self {
        Self { sizes_of: Some(field), ..self }
    }
}

/// What must hold between the fields of one operator, beyond what the tables state.
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
    /// What it does, in a few words.
    pub summary: &'static str,
    /// Whether this runtime executes it.
    pub implemented: bool,
    /// Whether DirectML allows an output to be the same memory as an input.
    pub in_place: bool,
    /// How results are compared, by the data type of the output; empty where that is not decided.
    pub comparisons: &'static [(DataTypeSet, Comparison)],
    /// The fields, in DirectML's order.
    pub fields: &'static [FieldSchema],
    /// What must hold between the fields.
    pub rule: Option<Rule>,
    /// The support tables, by ascending level; the first is the level of introduction. Where an
    /// attribute decides (`varied`), they accept what at least one of its values does.
    pub tables: &'static [SupportTable],
    /// The tables for each value of the attribute that they depend on.
    pub varied: Option<VariedSupport>,
}

impl OperatorSchema {
    /// The level that introduced the operator.
    pub fn introduced(&self) -> FeatureLevel {
        self.tables.first().map_or(FeatureLevel::HIGHEST, |table| table.level)
    }

    /// Whether it has a field of this name.
    pub fn has_field(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name == name)
    }

    /// The tensors whose data types are chosen one by one; every other one has the type of one of these.
    pub fn type_parameters(&self) -> impl Iterator<Item = &'static FieldSchema> {
        let tensors = self.fields.iter().filter(|field| field.kind != FieldKind::Attribute);
        tensors.filter(|field| field.type_of.is_none())
    }

    /// How the elements of an output of `data_type` are compared with the reference.
    pub fn comparison(&self, data_type: DataType) -> Comparison {
        let found = self.comparisons.iter().find(|(types, _)| types.contains(data_type));
        found.map_or(Comparison::Undecided, |(_, comparison)| *comparison)
    }

    /// The highest table at or below `level`; `None` where the operator does not exist yet.
    pub fn table_at(&self, level: FeatureLevel) -> Option<&'static SupportTable> {
        table_at(self.tables, level)
    }

    /// The tables that hold for one value of the attribute that they depend on. They are `tables`
    /// where there is no such attribute, or no such value.
    pub fn tables_where(&self, value: u32) -> &'static [SupportTable] {
        let variants = self.varied.as_ref().map_or(&[][..], |varied| varied.variants);
        variants
            .iter()
            .find(|variant| variant.values.contains(&value))
            .map_or(self.tables, |variant| variant.tables)
    }

    /// Every list of tables that the operator has, with the values of the attribute that it is for.
    pub fn every_tables(
        &self,
    ) -> impl Iterator<Item = (&'static [u32], &'static [SupportTable])> + Clone {
        let variants = self.varied.as_ref().map_or(&[][..], |varied| varied.variants);
        let all: (&[u32], _) = (&[], self.tables);
        std::iter::once(all).chain(variants.iter().map(|it| (it.values, it.tables)))
    }
}

#[cfg(test)]
impl OperatorSchema {
    /// A row that no operator has, without fields and tables.
    pub(crate) const fn made_up(name: &'static str) -> Self {
        Self {
            name,
            operator_type: 9999,
            summary: "",
            implemented: false,
            in_place: false,
            comparisons: &[],
            fields: &[],
            rule: None,
            tables: &[],
            varied: None,
        }
    }
}
