//! Basic types: data types, feature levels, enumerations, scalars and preferences.

mod data_type;
/// DirectML's enumerations, whose numbers attributes hold.
pub mod enums;
mod feature_level;
mod flags;
pub(crate) mod named_enum;
mod numerics;
mod refusal;
mod scalar;
mod strategy;
mod tuning;
pub mod value;

pub use data_type::{DataType, DataTypeSet};
pub use feature_level::FeatureLevel;
pub use flags::ExecutionFlags;
pub use numerics::Numerics;
pub use refusal::{InvalidField, UnknownName};
pub use scalar::ScalarUnion;
pub use strategy::Strategy;
pub use tuning::Tuning;
