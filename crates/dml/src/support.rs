//! Support queries for each operator, data type and dimension count: see [`query`].
//!
//! ```
//! use dml::support::{self, Support};
//! use dml::{DataType, FeatureLevel};
//!
//! let eye = dml::core::operators::find("DIAGONAL_MATRIX").unwrap();
//! let ask = |level| support::query(eye, DataType::Int64, 2, level);
//! assert_eq!(ask(FeatureLevel::V4_0), Support::NeedsLevel(FeatureLevel::V5_1));
//! assert_eq!(ask(FeatureLevel::V5_1).to_string(), "emulated (two 32-bit words)");
//! ```

use dml_core::capabilities::Features;
use dml_core::schema::OperatorSchema;
use dml_core::{AbstractOperator, Capabilities, DataType, FeatureLevel, support};

pub use dml_core::support::{
    Emulation, Support, data_type_supported, emulation, hardware_features, highest_supported_level,
};

use crate::device::Device;

/// Whether `schema` accepts a tensor of `data_type` with `rank` dimensions at `level`, on any device:
/// native or emulated as for the kernels without optional features, which every operator has.
/// [`query_tensors`] answers for the kernels of a given device.
///
/// If the answer depends on the tensor or on an attribute, the best one is given.
pub fn query(
    schema: &OperatorSchema,
    data_type: DataType,
    rank: usize,
    level: FeatureLevel,
) -> Support {
    support::query(schema, data_type, rank, level, Features::NONE)
}

/// [`query`] for one tensor of the operator; `None` if it has no tensor field of this name.
pub fn query_tensor(
    schema: &OperatorSchema,
    field: &str,
    data_type: DataType,
    rank: usize,
    level: FeatureLevel,
) -> Option<Support> {
    support::query_tensor(schema, field, data_type, rank, level, Features::NONE)
}

/// [`query`] for all tensors of `operator`, with the worst of the answers, on a device with `capabilities`:
/// native or emulated as for the kernels that are selected on that device.
pub fn query_tensors(
    operator: &AbstractOperator,
    level: FeatureLevel,
    capabilities: &Capabilities,
) -> Support {
    let used = dml_ops::used_features(operator, level, capabilities);
    support::query_tensors(operator, level, used)
}

impl Device {
    /// Whether the device accepts tensors of `data_type` with `rank` dimensions for an operator, see
    /// [`query`].
    pub fn support(&self, schema: &OperatorSchema, data_type: DataType, rank: usize) -> Support {
        query(schema, data_type, rank, self.feature_level())
    }

    /// Whether the device accepts `operator`, and whether native or emulated, see [`query_tensors`].
    pub fn operator_support(&self, operator: &AbstractOperator) -> Support {
        query_tensors(operator, self.feature_level(), self.capabilities())
    }

    /// The capabilities that the Vulkan device offers under its cap: its limits, and its optional features,
    /// enabled or not.
    pub fn offered(&self) -> Capabilities {
        self.vulkan().offered()
    }

    /// CheckFeatureSupport for DML_FEATURE_FEATURE_LEVELS: the highest of `requested` that the device
    /// supports, never above the level that it was created at; `None` if it supports none.
    pub fn check_feature_levels(&self, requested: &[FeatureLevel]) -> Option<FeatureLevel> {
        highest_supported_level(requested, self.feature_level())
    }

    /// CheckFeatureSupport for DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT: whether at least one operator
    /// accepts tensors of `data_type` on the device.
    pub fn check_tensor_data_type(&self, data_type: DataType) -> bool {
        data_type_supported(data_type, self.feature_level())
    }
}
