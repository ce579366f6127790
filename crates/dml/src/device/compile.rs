//! How a device compiles operators and graphs.

use dml_core::plan::Plan;
use dml_core::{AbstractOperator, ExecutionFlags, GraphDesc, validate, validate_graph};
use dml_ops::Target;
use dml_ops::graph::{GraphOptions, compile_graph};
use dml_vk::{BufferUsage, CompileInput};

use crate::compiled::CompiledOperator;
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
    /// As [`Device::compile`], and where a flag cannot be honoured.
    pub fn compile_with(
        &self,
        operator: impl Into<AbstractOperator>,
        flags: ExecutionFlags,
    ) -> Result<CompiledOperator> {
        flags.check().map_err(Error::ExecutionFlags)?;
        let operator = validate(&operator.into(), self.feature_level)?;
        let vulkan = self.compile_plans(|target| dml_ops::lower(&operator, target))?;
        Ok(CompiledOperator::from_vulkan(operator, vulkan))
    }

    /// Compiles a graph to one operator: DirectML's CompileGraph. Its inputs and outputs are bound by their
    /// numbers in the graph, and it is initialized, recorded and executed as any operator is.
    ///
    /// # Errors
    /// [`Error::Operator`]: an edge or a node breaks a rule, or the feature level does not accept it, or
    /// the device cannot carry it; [`Error::Vulkan`]: the driver failed.
    pub fn compile_graph(&self, graph: &GraphDesc) -> Result<CompiledOperator> {
        self.compile_graph_with(graph, ExecutionFlags::NONE, GraphOptions::default())
    }

    /// Compiles a graph with DirectML's execution flags, in the way that `options` says.
    ///
    /// # Errors
    /// As [`Device::compile_graph`], and where a flag cannot be honoured.
    pub fn compile_graph_with(
        &self,
        graph: &GraphDesc,
        flags: ExecutionFlags,
        options: GraphOptions,
    ) -> Result<CompiledOperator> {
        flags.check().map_err(Error::ExecutionFlags)?;
        let graph = validate_graph(graph, self.feature_level)?;
        let mut explanation = None;
        let vulkan = self.compile_plans(|target| {
            let (plan, what) = compile_graph(&graph, target, options)?;
            // The first plan is the preferred one.
            explanation.get_or_insert(what);
            Ok(plan)
        })?;
        Ok(CompiledOperator::of_graph(graph, explanation, vulkan))
    }

    /// The plans that `lower` makes, compiled.
    #[allow(
        unsafe_code,
        reason = "the one place that vouches for this project's plans and kernels"
    )]
    fn compile_plans(
        &self,
        mut lower: impl FnMut(&Target<'_>) -> Result<Plan, dml_core::Error>,
    ) -> Result<dml_vk::CompiledOperator> {
        let has_transfers = self.vulkan.buffer_usages() == BufferUsage::all();
        let (plan, storage_only) = dml_ops::lower_both(has_transfers, |transfer| {
            let capabilities = self.capabilities();
            lower(&Target { capabilities, tuning: self.tuning, transfer })
        })?;
        // SAFETY: both plans are what `dml_ops` makes of a validated operator or graph for these
        // capabilities. They name kernels of `dml-spirv` alone, whose SPIR-V its manifest ties to its
        // sources and whose variants are reflected from it. That dispatches stay inside their windows
        // is checked with each kernel's twin, by the tests of both crates and by random plans.
        Ok(unsafe { self.vulkan.compile(CompileInput { plan, storage_only }) }?)
    }
}
