//! What runs where: whether an operator takes a data type and a dimension count at a feature level,
//! and whether the device has what it takes or the runtime makes up for it.
//!
//! DirectML has no counterpart of [`query`]. That of its `CheckFeatureSupport` is
//! [`highest_supported_level`] and [`data_type_supported`].

use std::fmt;

use crate::capabilities::{Capabilities, Feature};
use crate::operators::OPERATORS;
use crate::schema::operator::AbstractOperator;
use crate::schema::{OperatorSchema, SupportTable, TensorSupport};
use crate::tensor::{MAX_DIMENSION_COUNT, TensorDesc};
use crate::types::{DataType, FeatureLevel};

/// Whether something runs. Where several answers hold, it is the first of them in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Support {
    /// No feature level accepts it.
    Never,
    /// DirectML's reference does not state what is accepted.
    Undocumented,
    /// This level, and none below it, accepts it; the one asked about is below.
    NeedsLevel(FeatureLevel),
    /// The level accepts it, but this runtime does not have the operator.
    NotImplemented,
    /// It runs with the same bits as anywhere, though the device lacks what direct access to the
    /// type needs.
    Emulated(Emulation),
    /// It runs, and the device has what the type needs.
    Native,
}

impl Support {
    /// Whether it runs.
    pub fn runs(self) -> bool {
        matches!(self, Self::Emulated(_) | Self::Native)
    }

    /// What two tensors come to of which one has each of these answers.
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

/// How the runtime makes up for a feature that the device lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Emulation {
    /// What the device lacks.
    pub missing: Feature,
    /// What is done instead.
    pub method: EmulationMethod,
}

impl fmt::Display for Emulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "without {}: {}", self.missing, self.method.name())
    }
}

/// What is done where direct access to a type is not possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EmulationMethod {
    /// Elements narrower than a word are written by atomic operations on the 32-bit word around them.
    WordAtomics,
    /// An element is two 32-bit words.
    TwoWords,
}

impl EmulationMethod {
    /// The method in a few words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WordAtomics => "32-bit atomics",
            Self::TwoWords => "two 32-bit words",
        }
    }
}

/// How elements of `data_type` are accessed on a device that offers `capabilities.features`; `None`
/// where directly.
pub fn emulation(data_type: DataType, capabilities: &Capabilities) -> Option<Emulation> {
    use EmulationMethod::{TwoWords, WordAtomics};
    let (missing, method) = match data_type {
        DataType::Float64 => (Feature::ShaderFloat64, TwoWords),
        DataType::Uint64 | DataType::Int64 => (Feature::ShaderInt64, TwoWords),
        other => match other.bits() {
            32 => return None,
            16 => (Feature::StorageBuffer16BitAccess, WordAtomics),
            _ => (Feature::StorageBuffer8BitAccess, WordAtomics),
        },
    };
    (!capabilities.features.has(missing)).then_some(Emulation { missing, method })
}

/// Whether `schema` takes a tensor of `data_type` with `rank` dimensions at `level`, on a device that
/// offers `capabilities.features`.
///
/// Where the operator's tensors differ, or an attribute decides, it is the best answer of any;
/// [`query_tensor`] tells them apart, and [`query_tensors`] asks for all of them together.
pub fn query(
    schema: &OperatorSchema,
    data_type: DataType,
    rank: usize,
    level: FeatureLevel,
    capabilities: &Capabilities,
) -> Support {
    answer(schema, data_type, rank, level, capabilities, |_| true)
}

/// The same for one tensor of the operator; `None` where it has no tensor field of this name.
pub fn query_tensor(
    schema: &OperatorSchema,
    field: &str,
    data_type: DataType,
    rank: usize,
    level: FeatureLevel,
    capabilities: &Capabilities,
) -> Option<Support> {
    let mut tables = schema.every_tables().flat_map(|(_, tables)| tables);
    tables.find(|table| table.tensor(field).is_some())?;
    Some(answer(schema, data_type, rank, level, capabilities, |tensor| tensor.field == field))
}

/// The same for `operator` with the types and dimension counts of its tensors: as the worst of the
/// answers for each of them.
pub fn query_tensors(
    operator: &AbstractOperator,
    level: FeatureLevel,
    capabilities: &Capabilities,
) -> Support {
    let schema = operator.schema();
    let ask = |(field, desc): (&'static str, &TensorDesc)| {
        let rank = desc.sizes.len();
        let answer = query_tensor(schema, field, desc.data_type, rank, level, capabilities);
        answer.unwrap_or(Support::Undocumented)
    };
    operator.tensors().map(ask).reduce(Support::worse).unwrap_or(Support::Undocumented)
}

/// DML_FEATURE_FEATURE_LEVELS: the highest of `requested` that a device created at `created_at`
/// supports; `None` where it supports none of them. Never above the level that it was created at.
pub fn highest_supported_level(
    requested: &[FeatureLevel],
    created_at: FeatureLevel,
) -> Option<FeatureLevel> {
    requested.iter().copied().filter(|level| *level <= created_at).max()
}

/// DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT: whether at least one operator runs with tensors of
/// `data_type` at `level`.
///
/// DirectML leaves open what exactly this promises; here it follows from [`query`]. It does not
/// depend on the device, since what a device lacks is emulated.
pub fn data_type_supported(data_type: DataType, level: FeatureLevel) -> bool {
    let device = Capabilities::vulkan_minimum();
    let runs =
        |schema: &OperatorSchema, rank| query(schema, data_type, rank, level, &device).runs();
    OPERATORS.iter().any(|schema| (1..=MAX_DIMENSION_COUNT).any(|rank| runs(schema, rank)))
}

/// The best answer for the tensors that are `chosen`.
fn answer(
    schema: &OperatorSchema,
    data_type: DataType,
    rank: usize,
    level: FeatureLevel,
    capabilities: &Capabilities,
    chosen: impl Fn(&TensorSupport) -> bool,
) -> Support {
    let lowest = |accepts: &dyn Fn(&TensorSupport) -> bool| {
        let fits = |it: &TensorSupport| chosen(it) && it.ranks.contains(rank) && accepts(it);
        let tables = tables(schema).filter(|table| table.tensors.iter().any(fits));
        tables.map(|table| table.level).min()
    };
    match lowest(&|tensor| tensor.data_types.contains(data_type)) {
        None if lowest(&|tensor| !tensor.types_documented()).is_some() => Support::Undocumented,
        None => Support::Never,
        Some(needed) if needed > level => Support::NeedsLevel(needed),
        Some(_) if !schema.implemented => Support::NotImplemented,
        Some(_) => emulation(data_type, capabilities).map_or(Support::Native, Support::Emulated),
    }
}

/// The operator's tables. Where an attribute decides, those of its values: the tables that join them
/// also accept combinations of type and rank that none of the values does.
fn tables(schema: &OperatorSchema) -> impl Iterator<Item = &'static SupportTable> {
    let is_varied = schema.varied.is_some();
    let chosen = move |values: &[u32]| !is_varied || !values.is_empty();
    schema.every_tables().filter(move |(values, _)| chosen(values)).flat_map(|(_, tables)| tables)
}

#[cfg(test)]
mod tests;
