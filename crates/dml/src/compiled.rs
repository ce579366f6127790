//! A compiled operator and what it needs from its bindings.

use dml_core::schema::FieldKind;
use dml_core::{TensorLayout, Validated};
use dml_vk::{BindingProperties, Buffer};

/// An operator that is ready to be executed any number of times, from any thread.
///
/// A cheap handle: clones share the pipelines.
#[derive(Clone, Debug)]
pub struct CompiledOperator {
    pub(crate) operator: Validated,
    pub(crate) vulkan: dml_vk::CompiledOperator,
    /// The persistent resource, where the operator has one.
    pub(crate) persistent: Option<Buffer>,
}

impl CompiledOperator {
    /// The validated operator.
    pub fn operator(&self) -> &Validated {
        &self.operator
    }

    /// The compiled plan, for recording with [`crate::vk`].
    pub fn vulkan(&self) -> &dml_vk::CompiledOperator {
        &self.vulkan
    }

    /// Descriptors and memory that execution needs, as DirectML reports them.
    pub fn binding_properties(&self) -> BindingProperties {
        self.vulkan.binding_properties()
    }

    /// The layout of the `index`-th output; `None` beyond the last one or where it is left out.
    pub fn output_layout(&self, index: usize) -> Option<&TensorLayout> {
        self.operator.tensors(FieldKind::Output).nth(index).and_then(|(_, layout)| layout)
    }

    /// Bytes that a binding of the `index`-th output must cover: TotalTensorSizeInBytes rounded up
    /// to a multiple of 4; 0 beyond the last one or where it is left out.
    pub fn output_size(&self, index: usize) -> u64 {
        self.output_layout(index).map_or(0, |layout| layout.total_size().next_multiple_of(4))
    }
}
