//! A compiled operator and what it needs from its bindings.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use dml_core::schema::FieldKind;
use dml_core::{TensorLayout, Validated};
use dml_vk::{BindingProperties, Buffer};

/// An operator that is ready to be executed any number of times, from any thread.
///
/// A cheap handle: clones share the pipelines.
#[derive(Clone, Debug)]
pub struct CompiledOperator {
    operator: Validated,
    pub(crate) vulkan: dml_vk::CompiledOperator,
    /// The persistent resource, for all clones; made by the first initialization that needs one.
    pub(crate) persistent: Arc<OnceLock<Buffer>>,
    /// Whether initialization has completed, for all clones.
    pub(crate) initialized: Arc<AtomicBool>,
}

impl CompiledOperator {
    /// An operator of plans that somebody has compiled for it with [`dml_vk::Device::compile`], such
    /// as a test with a plan that is wrong on purpose. Nothing checks that they compute what the
    /// operator says.
    pub fn from_vulkan(operator: Validated, vulkan: dml_vk::CompiledOperator) -> Self {
        let (persistent, initialized) = (Arc::default(), Arc::default());
        Self { operator, vulkan, persistent, initialized }
    }

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

    /// Whether [`crate::Device::initialize`] must run before the first execution: an input is
    /// OWNED_BY_DML.
    pub fn needs_initialization(&self) -> bool {
        self.vulkan.needs_initialization()
    }

    /// Whether it can be executed, as far as initialization goes.
    pub fn is_initialized(&self) -> bool {
        !self.needs_initialization() || self.initialized.load(Ordering::Acquire)
    }

    /// The layout of the `index`-th input; `None` beyond the last one or where it is left out. Each
    /// element of an array of tensors is an input.
    pub fn input_layout(&self, index: usize) -> Option<&TensorLayout> {
        self.operator.tensors(FieldKind::Input).nth(index).and_then(|(_, layout)| layout)
    }

    /// Bytes that a binding of the `index`-th input must cover, see [`TensorLayout::binding_size`]; 0
    /// beyond the last one or where it is left out.
    pub fn input_size(&self, index: usize) -> u64 {
        self.input_layout(index).map_or(0, TensorLayout::binding_size)
    }

    /// The layout of the `index`-th output; `None` beyond the last one or where it is left out. Each
    /// element of an array of tensors is an output.
    pub fn output_layout(&self, index: usize) -> Option<&TensorLayout> {
        self.operator.tensors(FieldKind::Output).nth(index).and_then(|(_, layout)| layout)
    }

    /// Bytes that a binding of the `index`-th output must cover, see [`TensorLayout::binding_size`]; 0
    /// beyond the last one or where it is left out.
    pub fn output_size(&self, index: usize) -> u64 {
        self.output_layout(index).map_or(0, TensorLayout::binding_size)
    }
}
