//! How a device compiles operators and graphs.

use std::sync::Arc;

use dml_core::plan::Plan;
use dml_core::{
    AbstractOperator, ExecutionFlags, GraphDesc, ValidatedGraph, validate, validate_graph,
};
use dml_ops::graph::{GraphOptions, KnownPrograms, compile_graph, plan_graph};
use dml_ops::{Program, Target, TransferUse};
use dml_vk::{BufferUsage, CompileInput, LowerPlan};

use crate::compiled::{CompiledOperator, LazyExplanation};
use crate::device::Device;
use crate::error::{Error, Result};

impl Device {
    /// Compiles an operator.
    ///
    /// # Errors
    /// [`Error::Operator`]: the descriptor breaks a rule, or the feature level does not accept it,
    /// or the device cannot carry it; [`Error::Vulkan`]: the driver failed.
    pub fn compile(&self, operator: impl Into<AbstractOperator>) -> Result<CompiledOperator> {
        self.compile_with(operator, ExecutionFlags::NONE)
    }

    /// Compiles an operator with DirectML's execution flags.
    ///
    /// # Errors
    /// As [`Device::compile`], and [`Error::ExecutionFlags`]: a flag is unknown.
    pub fn compile_with(
        &self,
        operator: impl Into<AbstractOperator>,
        flags: ExecutionFlags,
    ) -> Result<CompiledOperator> {
        flags.check().map_err(Error::ExecutionFlags)?;
        let operator = Arc::new(validate(&operator.into(), self.feature_level)?);
        let lowered = Arc::clone(&operator);
        let vulkan = self.compile_plans(move |target| dml_ops::lower(&lowered, target))?;
        Ok(CompiledOperator::of_operator(operator, vulkan))
    }

    /// Compiles a graph to one operator: DirectML's CompileGraph. Its inputs and outputs are bound by their
    /// indices in the graph, and it is initialized, recorded and executed like any operator.
    ///
    /// # Errors
    /// [`Error::Operator`]: an edge or a node breaks a rule, or the feature level does not accept it, or
    /// the device cannot carry it; [`Error::Vulkan`]: the driver failed.
    pub fn compile_graph(&self, graph: &GraphDesc) -> Result<CompiledOperator> {
        self.compile_graph_with(graph, ExecutionFlags::NONE, GraphOptions::default())
    }

    /// Compiles a graph with DirectML's execution flags and `options`.
    ///
    /// # Errors
    /// As [`Device::compile_graph`], and [`Error::ExecutionFlags`]: a flag is unknown.
    pub fn compile_graph_with(
        &self,
        graph: &GraphDesc,
        flags: ExecutionFlags,
        options: GraphOptions,
    ) -> Result<CompiledOperator> {
        flags.check().map_err(Error::ExecutionFlags)?;
        let graph = validate_graph(graph, self.feature_level)?;
        self.compile_validated(graph, options, Arc::default())
    }

    pub(crate) fn compile_validated(
        &self,
        graph: ValidatedGraph,
        options: GraphOptions,
        known: Arc<KnownPrograms>,
    ) -> Result<CompiledOperator> {
        let graph = Arc::new(graph);
        let lowered = Arc::clone(&graph);
        let vulkan =
            self.compile_plans(move |target| plan_graph(&lowered, target, options, &known))?;
        let (explained, device) = (Arc::clone(&graph), self.vulkan.clone());
        let (tuning, transfer) = (self.tuning, self.preferred_transfers());
        let explanation = LazyExplanation::new(move || {
            let target = Target { capabilities: device.capabilities(), tuning, transfer };
            // A graph that was lowered can be lowered again.
            compile_graph(&explained, &target, options).ok().map(|(_, explanation)| explanation)
        });
        Ok(CompiledOperator::of_graph(graph, explanation, vulkan))
    }

    /// The transfers that plans may use if all buffers have all usages.
    fn preferred_transfers(&self) -> TransferUse {
        let has_transfers = self.vulkan.buffer_usages() == BufferUsage::all();
        if has_transfers { TransferUse::Allowed } else { TransferUse::StorageOnly }
    }

    /// The nodes of an operator before they are scheduled: for explanations.
    ///
    /// # Errors
    /// As [`Device::compile`], except for errors of the driver.
    pub fn program(&self, operator: impl Into<AbstractOperator>) -> Result<Program> {
        let operator = validate(&operator.into(), self.feature_level)?;
        let (capabilities, tuning) = (self.vulkan.capabilities(), self.tuning);
        let target = Target { capabilities, tuning, transfer: TransferUse::Allowed };
        Ok(dml_ops::implementation(&operator)?.program(&operator, &target)?)
    }

    /// Compiles the plan of `lower`. If it has transfers, a second plan for buffers with storage usage only is made
    /// when such buffers are bound.
    #[allow(
        unsafe_code,
        reason = "the one place that vouches for this project's plans and kernels"
    )]
    fn compile_plans(
        &self,
        lower: impl Fn(&Target<'_>) -> Result<Plan, dml_core::Error> + Send + Sync + 'static,
    ) -> Result<dml_vk::CompiledOperator> {
        let preferred = self.preferred_transfers();
        let (vulkan, tuning) = (self.vulkan.clone(), self.tuning);
        let lower = move |transfer| {
            lower(&Target { capabilities: vulkan.capabilities(), tuning, transfer })
        };
        let plan = lower(preferred)?;
        let storage_only = match plan.is_dispatch_only() {
            true => None,
            false => Some(LowerPlan::new(move || lower(TransferUse::StorageOnly))),
        };
        // SAFETY: both plans are what `dml_ops` makes of a validated operator or graph for these
        // capabilities. They name kernels of `dml-spirv` alone, whose SPIR-V its manifest ties to its
        // sources and whose variants are reflected from it. That dispatches stay inside their windows
        // is checked with each kernel's twin, by the tests of both crates and by random plans.
        Ok(unsafe { self.vulkan.compile(CompileInput { plan, storage_only }) }?)
    }
}
