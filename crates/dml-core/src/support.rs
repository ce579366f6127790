//! Support queries: whether an operator accepts a data type and a dimension count at a feature level,
//! and whether its kernels use the hardware's type or emulate it.
//!
//! DirectML has no counterpart of [`query`]. The counterparts of its `CheckFeatureSupport` are
//! [`highest_supported_level`] and [`data_type_supported`].

use std::fmt;

use crate::capabilities::{Feature, Features};
use crate::operators::OPERATORS;
use crate::schema::operator::AbstractOperator;
use crate::schema::{OperatorSchema, SupportTable, TensorSupport};
use crate::tensor::{MAX_DIMENSION_COUNT, TensorDesc};
use crate::types::{DataType, FeatureLevel};

/// The answer to a support query. If several answers hold, it is the first of them in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Support {
    /// No feature level accepts the type and the dimension count.
    Never,
    /// DirectML's reference does not state which types are accepted.
    Undocumented,
    /// The lowest level that accepts the type and the dimension count; the given level is below it.
    NeedsLevel(FeatureLevel),
    /// The level accepts them, but this runtime does not implement the operator.
    NotImplemented,
    /// The operator runs, by kernels that emulate the type with 32-bit words. The bits are the same.
    Emulated(Emulation),
    /// The operator runs, by kernels that use the hardware's type.
    Native,
}

impl Support {
    /// This answer; if the operator runs, it is native or emulated as for kernels that use the optional features
    /// `used` for elements of `data_type`.
    #[must_use]
    pub fn with_kernels(self, data_type: DataType, used: Features) -> Self {
        match self.runs() {
            true => emulation(data_type, used).map_or(Self::Native, Self::Emulated),
            false => self,
        }
    }

    /// Whether the operator runs.
    pub fn runs(self) -> bool {
        matches!(self, Self::Emulated(_) | Self::Native)
    }

    /// The answer for two tensors together, of which each has one of these answers.
    fn worse(self, other: Self) -> Self {
        let order = |it: Self| match it {
            Self::Never => 0,
            Self::Undocumented => 1,
            Self::NeedsLevel(_) => 2,
            Self::NotImplemented => 3,
            Self::Emulated(_) => 4,
            Self::Native => 5,
        };
        match (self, other) {
            (Self::NeedsLevel(one), Self::NeedsLevel(other)) => Self::NeedsLevel(one.max(other)),
            (one, other) if order(other) < order(one) => other,
            (one, _) => one,
        }
    }

    /// A word for each answer, for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Undocumented => "undocumented",
            Self::NeedsLevel(_) => "needs-level",
            Self::NotImplemented => "not-implemented",
            Self::Emulated(_) => "emulated",
            Self::Native => "native",
        }
    }
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeedsLevel(level) => write!(f, "needs feature level {level}"),
            Self::Emulated(emulation) => write!(f, "emulated ({emulation})"),
            other => f.write_str(other.name()),
        }
    }
}

/// How kernels emulate a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Emulation {
    /// Elements narrower than a word are parts of 32-bit words.
    PartsOfWords,
    /// An element is two 32-bit words.
    TwoWords,
}

impl Emulation {
    /// A description in a few words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PartsOfWords => "parts of 32-bit words",
            Self::TwoWords => "two 32-bit words",
        }
    }
}

impl fmt::Display for Emulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The optional features of hardware with native elements of `data_type`. Empty for 4-bit types, which no
/// hardware has, and for 32-bit types, which every device has.
pub const fn hardware_features(data_type: DataType) -> &'static [Feature] {
    use Feature::{
        ShaderFloat16, ShaderFloat64, ShaderInt8, ShaderInt16, ShaderInt64,
        StorageBuffer8BitAccess, StorageBuffer16BitAccess,
    };
    match data_type {
        DataType::Float64 => &[ShaderFloat64],
        DataType::Float16 => &[ShaderFloat16, StorageBuffer16BitAccess],
        DataType::Uint64 | DataType::Int64 => &[ShaderInt64],
        DataType::Uint16 | DataType::Int16 => &[ShaderInt16, StorageBuffer16BitAccess],
        DataType::Uint8 | DataType::Int8 => &[ShaderInt8, StorageBuffer8BitAccess],
        DataType::Uint4
        | DataType::Int4
        | DataType::Float32
        | DataType::Uint32
        | DataType::Int32 => &[],
    }
}

/// How kernels that use the optional features `used` emulate `data_type`; `None` if they use the hardware's
/// type: always for 32 bits, and for other types if `used` has a feature of theirs.
pub fn emulation(data_type: DataType, used: Features) -> Option<Emulation> {
    let emulation = match data_type.bits() {
        32 => return None,
        64 => Emulation::TwoWords,
        _ => Emulation::PartsOfWords,
    };
    let is_native = hardware_features(data_type).iter().any(|feature| used.has(*feature));
    (!is_native).then_some(emulation)
}

/// Whether `schema` accepts a tensor of `data_type` with `rank` dimensions at `level`, with kernels that use
/// the optional features `used`: none for the kernels that run on every device.
///
/// If the answer depends on the tensor or on an attribute, the best one is given; [`query_tensor`] asks for one
/// tensor, and [`query_tensors`] for all tensors together.
pub fn query(
    schema: &OperatorSchema,
    data_type: DataType,
    rank: usize,
    level: FeatureLevel,
    used: Features,
) -> Support {
    answer(schema, tables(schema), (data_type, rank), level, used, |_| true)
}

/// [`query`] for one tensor of the operator; `None` if it has no tensor field of this name.
pub fn query_tensor(
    schema: &OperatorSchema,
    field: &str,
    data_type: DataType,
    rank: usize,
    level: FeatureLevel,
    used: Features,
) -> Option<Support> {
    let mut every = schema.every_tables().flat_map(|(_, tables)| tables);
    every.find(|table| table.tensor(field).is_some())?;
    let is_asked = |tensor: &TensorSupport| tensor.field == field;
    Some(answer(schema, tables(schema), (data_type, rank), level, used, is_asked))
}

/// [`query`] for `operator` with the types and dimension counts of its tensors: the worst of the answers for
/// each tensor.
pub fn query_tensors(operator: &AbstractOperator, level: FeatureLevel, used: Features) -> Support {
    let schema = operator.schema();
    let ask = |(field, desc): (&'static str, &TensorDesc)| {
        let rank = desc.sizes.len();
        let is_asked = |tensor: &TensorSupport| tensor.field == field;
        if !operator
            .support_tables()
            .iter()
            .flat_map(|support_table| support_table.tensors)
            .any(is_asked)
        {
            return Support::Undocumented;
        }
        let tables = operator.support_tables().iter();
        answer(schema, tables, (desc.data_type, rank), level, used, is_asked)
    };
    operator.tensors().map(ask).reduce(Support::worse).unwrap_or(Support::Undocumented)
}

/// DML_FEATURE_FEATURE_LEVELS: the highest of `requested` that a device created at `created_at`
/// supports; `None` if it supports none of them. Never above the level that it was created at.
pub fn highest_supported_level(
    requested: &[FeatureLevel],
    created_at: FeatureLevel,
) -> Option<FeatureLevel> {
    requested.iter().copied().filter(|level| *level <= created_at).max()
}

/// DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT: whether at least one operator runs with tensors of
/// `data_type` at `level`.
///
/// DirectML does not define this exactly; here it follows from [`query`]. It does not depend on the
/// device, because types that a device lacks are emulated.
pub fn data_type_supported(data_type: DataType, level: FeatureLevel) -> bool {
    let runs = |schema: &OperatorSchema, rank| {
        query(schema, data_type, rank, level, Features::NONE).runs()
    };
    OPERATORS.iter().any(|schema| (1..=MAX_DIMENSION_COUNT).any(|rank| runs(schema, rank)))
}

/// The best answer of `tables` for the tensors for which `chosen` is true.
fn answer(
    schema: &OperatorSchema,
    tables: impl Iterator<Item = &'static SupportTable> + Clone,
    (data_type, rank): (DataType, usize),
    level: FeatureLevel,
    used: Features,
    chosen: impl Fn(&TensorSupport) -> bool,
) -> Support {
    let lowest = |accepts: &dyn Fn(&TensorSupport) -> bool| {
        let fits = |it: &TensorSupport| chosen(it) && it.ranks.contains(rank) && accepts(it);
        let tables = tables.clone().filter(|table| table.tensors.iter().any(fits));
        tables.map(|table| table.level).min()
    };
    match lowest(&|tensor| tensor.data_types.contains(data_type)) {
        None if lowest(&|tensor| !tensor.types_documented()).is_some() => Support::Undocumented,
        None => Support::Never,
        Some(needed) if needed > level => Support::NeedsLevel(needed),
        Some(_) if !schema.implemented => Support::NotImplemented,
        Some(_) => Support::Native.with_kernels(data_type, used),
    }
}

/// The operator's tables. If they depend on an attribute, the tables of each value: the joint tables also
/// accept combinations of type and rank that no value accepts.
fn tables(schema: &OperatorSchema) -> impl Iterator<Item = &'static SupportTable> + Clone {
    let is_varied = schema.varied.is_some();
    let chosen = move |values: &[u32]| !is_varied || !values.is_empty();
    schema.every_tables().filter(move |(values, _)| chosen(values)).flat_map(|(_, tables)| tables)
}

#[cfg(test)]
mod tests;
