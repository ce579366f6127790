//! The contents of the TOML files, after all checks.

use std::collections::BTreeMap;
use std::rc::Rc;

use heck::{ToShoutySnakeCase as _, ToUpperCamelCase as _};
use serde::Deserialize;

use super::names::DATA_TYPES;

/// The contents of the schema, from which files are generated.
#[derive(Debug)]
pub(crate) struct Schema {
    /// The named sets of data types, in the file's order.
    pub(crate) types: Vec<NamedTypes>,
    /// The enumerations that are generated, in the file's order.
    pub(crate) enums: Vec<Rc<Enumeration>>,
    /// The operators, by ascending number.
    pub(crate) operators: Vec<Operator>,
}

impl Schema {
    /// The name of each file without its ending, with its operators by ascending number.
    pub(crate) fn by_file(&self) -> BTreeMap<&str, Vec<&Operator>> {
        let mut files: BTreeMap<&str, Vec<&Operator>> = BTreeMap::new();
        for operator in &self.operators {
            files.entry(operator.module()).or_default().push(operator);
        }
        files
    }
}

/// A set in `types.toml`.
#[derive(Debug)]
pub(crate) struct NamedTypes {
    pub(crate) name: String,
    pub(crate) types: TypeSet,
}

/// The key for the data types, which are written by hand.
const DATA_TYPE: &str = "tensor-data-type";

/// An enumeration of DirectML.
#[derive(Debug)]
pub(crate) struct Enumeration {
    /// The value of the key `enum`.
    pub(crate) key: String,
    /// A summary of its meaning, in a few words.
    pub(crate) summary: String,
    /// The names of its values; the first has the number 0. Empty for the data types.
    pub(crate) values: Vec<String>,
}

impl Enumeration {
    /// DML_TENSOR_DATA_TYPE.
    pub(crate) fn of_data_types() -> Self {
        Self { key: DATA_TYPE.to_owned(), summary: String::new(), values: Vec::new() }
    }

    pub(crate) fn has_data_types(&self) -> bool {
        self.key == DATA_TYPE
    }

    /// The name of the table in `dml_core::schema`: DirectML's name without `DML_`.
    pub(crate) fn table(&self) -> String {
        self.key.to_shouty_snake_case()
    }

    /// The type in C.
    pub(crate) fn c(&self) -> String {
        format!("DML_{}", self.table())
    }

    /// The Rust type of a descriptor's field.
    pub(crate) fn rust(&self) -> String {
        if self.has_data_types() { "DataType".to_owned() } else { self.key.to_upper_camel_case() }
    }

    /// The values' names and numbers.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &str)> {
        self.values.iter().map(String::as_str).enumerate()
    }
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

/// Begins the comment above every item that is generated from an operator's row; the file's name follows.
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
    /// The comparisons by type; empty if none is decided.
    pub(crate) comparisons: Vec<(TypeSet, Comparison)>,
    pub(crate) fast: FastComparison,
    pub(crate) rule: Option<String>,
    pub(crate) doc: String,
    pub(crate) fields: Vec<Field>,
    /// The tables; if support depends on an attribute, the union of its values' tables.
    pub(crate) tables: Vec<Table>,
    pub(crate) varied: Option<VariedSupport>,
}

impl Operator {
    /// The comment that tells which file of the schema the next item is generated from.
    pub(crate) fn origin(&self) -> String {
        format!("{ORIGIN}{}\n", self.file)
    }

    /// The Rust module of what is generated from its file.
    fn module(&self) -> &str {
        self.file.strip_suffix(".toml").unwrap_or(&self.file)
    }
}

/// Support that depends on an attribute.
#[derive(Debug)]
pub(crate) struct VariedSupport {
    pub(crate) field: String,
    /// The variants by their lowest value; together they have every value.
    pub(crate) variants: Vec<Variant>,
}

#[derive(Debug)]
pub(crate) struct Variant {
    /// The values, ascending.
    pub(crate) values: Vec<usize>,
    pub(crate) tables: Vec<Table>,
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) kind: FieldKind,
    pub(crate) field_type: FieldType,
    pub(crate) optional: bool,
    /// The level from which on the field is optional, if it is not optional at lower ones.
    pub(crate) optional_from: Option<&'static str>,
    pub(crate) enumeration: Option<Rc<Enumeration>>,
    pub(crate) scalar_type: Option<String>,
    pub(crate) count: Option<String>,
    /// The tensor whose data type it has.
    pub(crate) type_of: Option<String>,
    /// The tensor whose sizes it has.
    pub(crate) sizes_of: Option<String>,
    pub(crate) doc: String,
}

/// The support of one level.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) level: &'static str,
    /// The supported types and ranks, in the order of the tensor fields.
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

/// The names of the variants are those of `dml_core::schema::FastComparison`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FastComparison {
    #[default]
    AsExact,
    SumsOfProducts,
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

    /// Whether C passes the field by a pointer that can be null.
    pub(crate) fn is_pointer(self) -> bool {
        self.is_tensor() || self.is_array() || matches!(self, Self::OperatorDesc | Self::ScaleBias)
    }

    /// The Rust and the C type of a required field; the C type with everything between it and the name.
    pub(crate) fn rust_and_c(self) -> (&'static str, &'static str) {
        match self {
            Self::Tensor => ("TensorDesc", "const DML_TENSOR_DESC *"),
            Self::TensorArray => ("Vec<TensorDesc>", "const DML_TENSOR_DESC *"),
            Self::OperatorDesc => ("AbstractOperator", "const DML_OPERATOR_DESC *"),
            Self::OperatorDescArray => ("Vec<AbstractOperator>", "const DML_OPERATOR_DESC *"),
            Self::Uint => ("u32", "UINT "),
            Self::Uint64 => ("u64", "UINT64 "),
            Self::Int => ("i32", "INT "),
            Self::Float => ("f32", "FLOAT "),
            Self::UintArray => ("Vec<u32>", "const UINT *"),
            Self::IntArray => ("Vec<i32>", "const INT *"),
            Self::FloatArray => ("Vec<f32>", "const FLOAT *"),
            Self::ScaleBias => ("[f32; 2]", "const DML_SCALE_BIAS *"),
            Self::Size2d => ("[u32; 2]", "DML_SIZE_2D "),
            Self::ScalarUnion => ("ScalarUnion", "DML_SCALAR_UNION "),
            Self::Bool => ("bool", "BOOL "),
        }
    }
}
