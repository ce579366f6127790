//! What the TOML files mean, after all checks.

use serde::Deserialize;

use crate::names::{DATA_TYPES, EnumNames};

/// Everything that is generated from.
#[derive(Debug)]
pub(crate) struct Schema {
    /// The named sets of data types, in the file's order.
    pub(crate) types: Vec<NamedTypes>,
    /// By ascending number.
    pub(crate) operators: Vec<Operator>,
}

impl Schema {
    pub(crate) fn implemented(&self) -> impl Iterator<Item = &Operator> {
        self.operators.iter().filter(|operator| operator.implemented)
    }
}

/// A set in `types.toml`.
#[derive(Debug)]
pub(crate) struct NamedTypes {
    pub(crate) name: String,
    pub(crate) types: TypeSet,
}

/// Data types: bit n stands for the nth entry of [`super::names::DATA_TYPES`]. Empty where the
/// reference does not state them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TypeSet(pub(crate) u16);

impl TypeSet {
    pub(crate) const ALL: Self = Self((1 << DATA_TYPES.len()) - 1);

    pub(crate) fn is_superset(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Stands above every item that is generated from an operator's row; the file's name follows.
pub(crate) const ORIGIN: &str = "// From schema/";

#[derive(Debug)]
pub(crate) struct Operator {
    pub(crate) name: String,
    /// The name of its file.
    pub(crate) file: String,
    pub(crate) number: u32,
    pub(crate) summary: String,
    pub(crate) in_place: bool,
    pub(crate) implemented: bool,
    /// Empty where nothing is decided.
    pub(crate) comparisons: Vec<(TypeSet, Comparison)>,
    pub(crate) rule: Option<String>,
    pub(crate) doc: String,
    pub(crate) fields: Vec<Field>,
    /// Whether the struct has no other fields.
    pub(crate) fields_complete: bool,
    /// Where support depends on an attribute: what at least one of its values has.
    pub(crate) tables: Vec<Table>,
    pub(crate) varied: Option<VariedSupport>,
}

impl Operator {
    /// The comment that tells which file of the schema the next item is generated from.
    pub(crate) fn origin(&self) -> String {
        format!("{ORIGIN}{}\n", self.file)
    }
}

/// Support that depends on an attribute.
#[derive(Debug)]
pub(crate) struct VariedSupport {
    pub(crate) field: String,
    /// By the lowest value; together they have every value.
    pub(crate) variants: Vec<Variant>,
}

#[derive(Debug)]
pub(crate) struct Variant {
    /// Ascending.
    pub(crate) values: Vec<usize>,
    pub(crate) tables: Vec<Table>,
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) kind: FieldKind,
    pub(crate) field_type: FieldType,
    pub(crate) optional: bool,
    /// A level, where it is optional only from there on.
    pub(crate) optional_from: Option<&'static str>,
    pub(crate) enumeration: Option<&'static EnumNames>,
    pub(crate) scalar_type: Option<String>,
    pub(crate) count: Option<String>,
    pub(crate) doc: String,
}

/// What a level accepts.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) level: &'static str,
    /// In the order of the tensor fields.
    pub(crate) tensors: Vec<TensorSupport>,
}

#[derive(Clone, Debug)]
pub(crate) struct TensorSupport {
    pub(crate) field: String,
    /// The lowest and the highest dimension count.
    pub(crate) ranks: (usize, usize),
    pub(crate) types: TypeSet,
}

/// The names of the variants are those of `dml_core::schema::Comparison`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Comparison {
    BitExact,
    Ulp(u32),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FieldKind {
    Input,
    Output,
    #[default]
    Attribute,
}

/// The names of the variants are those of `dml_core::schema::FieldType`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FieldType {
    Tensor,
    TensorArray,
    OperatorDesc,
    OperatorDescArray,
    Uint,
    Uint64,
    Int,
    Float,
    UintArray,
    IntArray,
    FloatArray,
    ScaleBias,
    #[serde(rename = "size-2d")]
    Size2d,
    ScalarUnion,
    Bool,
}

impl FieldType {
    pub(crate) fn is_tensor(self) -> bool {
        matches!(self, Self::Tensor | Self::TensorArray)
    }

    pub(crate) fn is_array(self) -> bool {
        matches!(
            self,
            Self::TensorArray
                | Self::OperatorDescArray
                | Self::UintArray
                | Self::IntArray
                | Self::FloatArray
        )
    }

    /// What C passes by pointer can be null.
    pub(crate) fn is_pointer(self) -> bool {
        self.is_tensor() || self.is_array() || matches!(self, Self::OperatorDesc | Self::ScaleBias)
    }

    /// The type of a field that cannot be left out, in Rust and in C.
    pub(crate) fn rust_and_c(self) -> (&'static str, &'static str) {
        match self {
            Self::Tensor => ("TensorDesc", "*const DML_TENSOR_DESC"),
            Self::TensorArray => ("Vec<TensorDesc>", "*const DML_TENSOR_DESC"),
            Self::OperatorDesc => ("AbstractOperator", "*const DML_OPERATOR_DESC"),
            Self::OperatorDescArray => ("Vec<AbstractOperator>", "*const DML_OPERATOR_DESC"),
            Self::Uint => ("u32", "u32"),
            Self::Uint64 => ("u64", "u64"),
            Self::Int => ("i32", "i32"),
            Self::Float => ("f32", "f32"),
            Self::UintArray => ("Vec<u32>", "*const u32"),
            Self::IntArray => ("Vec<i32>", "*const i32"),
            Self::FloatArray => ("Vec<f32>", "*const f32"),
            Self::ScaleBias => ("[f32; 2]", "*const DML_SCALE_BIAS"),
            Self::Size2d => ("[u32; 2]", "DML_SIZE_2D"),
            Self::ScalarUnion => ("ScalarUnion", "DML_SCALAR_UNION"),
            Self::Bool => ("bool", "BOOL"),
        }
    }
}
