//! What runs on a device: [`query`] answers for each operator, data type and dimension count.
//!
//! ```
//! use dml::support::{self, Support};
//! use dml::{DataType, FeatureLevel};
//!
//! // Without a device: the least that Vulkan allows one.
//! let device = dml::core::Capabilities::vulkan_minimum();
//! let eye = dml::core::operators::find("DIAGONAL_MATRIX").unwrap();
//! let ask = |level| support::query(eye, DataType::Int64, 2, level, &device);
//! assert_eq!(ask(FeatureLevel::V4_0), Support::NeedsLevel(FeatureLevel::V5_1));
//! assert_eq!(ask(FeatureLevel::V5_1).to_string(), "emulated (without shaderInt64: two 32-bit words)");
//! ```

use dml_core::schema::OperatorSchema;
use dml_core::{Capabilities, DataType, FeatureLevel};

pub use dml_core::support::{
    Emulation, EmulationMethod, Support, data_type_supported, emulation, highest_supported_level,
    query, query_tensor, query_tensors,
};

use crate::device::Device;

impl Device {
    /// Whether the device takes tensors of `data_type` with `rank` dimensions for an operator, see
    /// [`query`]. What the device offers decides, not what is enabled.
    pub fn support(&self, schema: &OperatorSchema, data_type: DataType, rank: usize) -> Support {
        query(schema, data_type, rank, self.feature_level(), &self.offered())
    }

    /// What the Vulkan device offers under its cap: its limits, and its optional features whether or
    /// not they are enabled.
    pub fn offered(&self) -> Capabilities {
        self.vulkan().offered()
    }

    /// CheckFeatureSupport for DML_FEATURE_FEATURE_LEVELS: the highest of `requested` that the device
    /// supports, never above the level that it was created at; `None` where it supports none.
    pub fn check_feature_levels(&self, requested: &[FeatureLevel]) -> Option<FeatureLevel> {
        highest_supported_level(requested, self.feature_level())
    }

    /// CheckFeatureSupport for DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT: whether at least one operator
    /// takes tensors of `data_type` on the device.
    pub fn check_tensor_data_type(&self, data_type: DataType) -> bool {
        data_type_supported(data_type, self.feature_level())
    }
}
