//! A compiled operator and the requirements on its bindings.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

use dml_core::schema::FieldKind;
use dml_core::{TensorLayout, Validated, ValidatedGraph};
use dml_ops::graph::Explanation;
use dml_vk::{BindingProperties, Buffer};

/// The operator or graph that was compiled.
#[derive(Clone, Debug)]
enum Work {
    Operator(Arc<Validated>),
    Graph {
        graph: Arc<ValidatedGraph>,
        /// The explanation of the preferred plan.
        explanation: LazyExplanation,
    },
}

type Explain = Box<dyn FnOnce() -> Option<Explanation> + Send>;

/// An explanation that is made when somebody asks for it.
#[derive(Clone, Debug)]
pub(crate) struct LazyExplanation(Arc<LazyLock<Option<Explanation>, Explain>>);

impl LazyExplanation {
    pub(crate) fn new(explain: impl FnOnce() -> Option<Explanation> + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(explain))))
    }
}

/// An operator that is ready to be executed any number of times, from any thread.
///
/// A cheap handle: clones share the pipelines.
#[derive(Clone, Debug)]
pub struct CompiledOperator {
    work: Work,
    pub(crate) vulkan: dml_vk::CompiledOperator,
    /// The buffers of the persistent resource, for all clones; made by the first initialization that needs one.
    pub(crate) persistent: Arc<OnceLock<Vec<Buffer>>>,
    /// Whether initialization has completed, for all clones.
    pub(crate) initialized: Arc<AtomicBool>,
}

impl CompiledOperator {
    /// An operator with plans that the caller compiled with [`dml_vk::Device::compile`], such as a test
    /// with a wrong plan. It is not checked that the plans compute the operator.
    pub fn from_vulkan(operator: Validated, vulkan: dml_vk::CompiledOperator) -> Self {
        Self::of_operator(Arc::new(operator), vulkan)
    }

    pub(crate) fn of_operator(operator: Arc<Validated>, vulkan: dml_vk::CompiledOperator) -> Self {
        Self::new(Work::Operator(operator), vulkan)
    }

    pub(crate) fn of_graph(
        graph: Arc<ValidatedGraph>,
        explanation: LazyExplanation,
        vulkan: dml_vk::CompiledOperator,
    ) -> Self {
        Self::new(Work::Graph { graph, explanation }, vulkan)
    }

    fn new(work: Work, vulkan: dml_vk::CompiledOperator) -> Self {
        let (persistent, initialized) = (Arc::default(), Arc::default());
        Self { work, vulkan, persistent, initialized }
    }

    /// The validated operator; `None` for a graph.
    pub fn operator(&self) -> Option<&Validated> {
        match &self.work {
            Work::Operator(operator) => Some(operator),
            Work::Graph { .. } => None,
        }
    }

    /// The validated graph, which [`Explanation::to_dot`] can draw; `None` for an operator.
    pub fn graph(&self) -> Option<&ValidatedGraph> {
        match &self.work {
            Work::Operator(_) => None,
            Work::Graph { graph, .. } => Some(graph),
        }
    }

    /// How a graph was compiled, and why; `None` for an operator.
    pub fn explanation(&self) -> Option<&Explanation> {
        match &self.work {
            Work::Operator(_) => None,
            Work::Graph { explanation, .. } => explanation.0.as_ref().as_ref(),
        }
    }

    /// The compiled plan, for recording with [`crate::vk`].
    pub fn vulkan(&self) -> &dml_vk::CompiledOperator {
        &self.vulkan
    }

    /// Descriptors and memory that execution needs for buffers of any usage, as DirectML reports them. If all
    /// buffers have transfer usage, [`dml_vk::CompiledOperator::binding_properties_for`] may need less.
    pub fn binding_properties(&self) -> BindingProperties {
        self.vulkan.binding_properties()
    }

    /// Whether [`crate::Device::initialize`] must run before the first execution, because an input is
    /// OWNED_BY_DML.
    pub fn needs_initialization(&self) -> bool {
        self.vulkan.needs_initialization()
    }

    /// Whether initialization has completed or is not needed, so that the operator can be executed.
    pub fn is_initialized(&self) -> bool {
        !self.needs_initialization() || self.initialized.load(Ordering::Acquire)
    }

    /// The layout of the `index`-th input; `None` if there is no such input or it is left out. Each
    /// element of an array of tensors is an input. An input of a graph has the layout of the first node
    /// that reads it.
    pub fn input_layout(&self, index: usize) -> Option<&TensorLayout> {
        self.layout(FieldKind::Input, index)
    }

    /// Bytes that a binding of the `index`-th input must cover, see [`TensorLayout::binding_size`]; 0
    /// if there is no such input or it is left out.
    pub fn input_size(&self, index: usize) -> u64 {
        self.vulkan.inputs().get(index).and_then(Option::as_ref).map_or(0, |needs| needs.size)
    }

    /// The layout of the `index`-th output; `None` if there is no such output or it is left out. Each
    /// element of an array of tensors is an output.
    pub fn output_layout(&self, index: usize) -> Option<&TensorLayout> {
        self.layout(FieldKind::Output, index)
    }

    /// Bytes that a binding of the `index`-th output must cover, see [`TensorLayout::binding_size`]; 0
    /// if there is no such output or it is left out.
    pub fn output_size(&self, index: usize) -> u64 {
        self.vulkan.outputs().get(index).and_then(Option::as_ref).map_or(0, |needs| needs.size)
    }

    fn layout(&self, kind: FieldKind, index: usize) -> Option<&TensorLayout> {
        match &self.work {
            Work::Operator(operator) => operator.tensors(kind).nth(index)?.1,
            Work::Graph { graph, .. } => graph.tensor(kind, index),
        }
    }
}
