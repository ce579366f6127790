//! What the TOML files mean, after all checks.

use serde::Deserialize;

use super::names::EnumNames;

/// Everything that is generated from.
#[derive(Debug)]
pub(super) struct Schema {
    /// The named sets of data types, in the file's order.
    pub(super) types: Vec<NamedTypes>,
    /// By ascending number.
    pub(super) operators: Vec<Operator>,
}

impl Schema {
    pub(super) fn implemented(&self) -> impl Iterator<Item = &Operator> {
        self.operators.iter().filter(|operator| operator.implemented)
    }
}

/// A set in `types.toml`.
#[derive(Debug)]
pub(super) struct NamedTypes {
    pub(super) name: String,
    pub(super) types: TypeSet,
}

/// Data types: bit n stands for the nth entry of [`super::names::DATA_TYPES`]. Empty where the
/// reference does not state them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TypeSet(pub(super) u16);

impl TypeSet {
    pub(super) fn is_superset(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

#[derive(Debug)]
pub(super) struct Operator {
    pub(super) name: String,
    /// The name of its file.
    pub(super) file: String,
    pub(super) number: u32,
    pub(super) summary: String,
    pub(super) in_place: bool,
    pub(super) implemented: bool,
    pub(super) comparison: Option<Comparison>,
    pub(super) rule: Option<String>,
    pub(super) doc: String,
    pub(super) fields: Vec<Field>,
    /// Whether the struct has no other fields.
    pub(super) fields_complete: bool,
    /// Where support depends on an attribute: what at least one of its values has.
    pub(super) tables: Vec<Table>,
    pub(super) varied: Option<Varied>,
}

/// Support that depends on an attribute.
#[derive(Debug)]
pub(super) struct Varied {
    pub(super) field: String,
    /// By the lowest value; together they have every value.
    pub(super) variants: Vec<Variant>,
}

#[derive(Debug)]
pub(super) struct Variant {
    /// Ascending.
    pub(super) values: Vec<usize>,
    pub(super) tables: Vec<Table>,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: FieldKind,
    pub(super) field_type: FieldType,
    pub(super) optional: bool,
    /// A level, where it is optional only from there on.
    pub(super) optional_from: Option<&'static str>,
    pub(super) enumeration: Option<&'static EnumNames>,
    pub(super) scalar_type: Option<String>,
    pub(super) count: Option<String>,
    pub(super) doc: String,
}

/// What a level accepts.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) level: &'static str,
    /// In the order of the tensor fields.
    pub(super) tensors: Vec<TensorSupport>,
}

#[derive(Clone, Debug)]
pub(super) struct TensorSupport {
    pub(super) field: String,
    /// The lowest and the highest dimension count.
    pub(super) ranks: (usize, usize),
    pub(super) types: TypeSet,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Comparison {
    BitExact,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FieldKind {
    Input,
    Output,
    #[default]
    Attribute,
}

/// The names of the variants are those of `dml_core::schema::FieldType`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FieldType {
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
    pub(super) fn is_tensor(self) -> bool {
        matches!(self, Self::Tensor | Self::TensorArray)
    }

    pub(super) fn is_array(self) -> bool {
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
    pub(super) fn is_pointer(self) -> bool {
        self.is_tensor() || self.is_array() || matches!(self, Self::OperatorDesc | Self::ScaleBias)
    }

    /// The type of a field that cannot be left out, in Rust and in C.
    pub(super) fn rust_and_c(self) -> (&'static str, &'static str) {
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
