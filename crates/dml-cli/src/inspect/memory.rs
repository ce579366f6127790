//! The device memory that a model needs.

use anyhow::Context as _;
use dml::core::plan::Plan;
use dml::core::{Capabilities, FeatureLevel, Numerics, Tuning, validate, validate_graph};
use dml::ops::graph::compile_graph;
use dml::ops::{Target, TransferUse};
use dml_import::Program;
use dml_import::program::{Initial, Work};

/// The memory of a model in bytes, by use.
#[derive(Debug, Default)]
pub(super) struct Memory {
    weights: u64,
    inputs: u64,
    others: u64,
    intermediate: u64,
    kept: u64,
}

impl Memory {
    /// The memory on a device with the least capabilities that Vulkan guarantees. The operators of a program run
    /// one after the other, so that they share the largest of their temporary resources.
    pub(super) fn of(program: &Program, numerics: Numerics) -> anyhow::Result<Self> {
        let mut memory = Self::default();
        for buffer in program.buffers() {
            let part = match buffer.initial {
                Initial::Weight(_) | Initial::Tensor(_) | Initial::Sequence(_) => {
                    &mut memory.weights
                }
                Initial::Input(_) => &mut memory.inputs,
                Initial::Undefined => &mut memory.others,
            };
            *part = part.saturating_add(buffer.size);
        }
        for operator in program.operators() {
            let plan = plan(&operator.work, numerics).with_context(|| operator.node.to_string())?;
            memory.intermediate = memory.intermediate.max(plan.temporary_size);
            memory.kept = memory.kept.saturating_add(plan.persistent_size);
        }
        Ok(memory)
    }

    /// `memory: 12 bytes of weights, ...`
    pub(super) fn text(&self) -> String {
        let Self { weights, inputs, others, intermediate, kept } = self;
        format!(
            "memory: {weights} bytes of weights, {inputs} of inputs, {others} of outputs and what is between \
             programs, {intermediate} of intermediate results, {kept} kept by operators"
        )
    }
}

fn plan(work: &Work, numerics: Numerics) -> anyhow::Result<Plan> {
    let capabilities = &Capabilities::vulkan_minimum();
    let tuning = Tuning::new().with_numerics(numerics);
    let target = Target { capabilities, tuning, transfer: TransferUse::Allowed };
    match work {
        Work::Operator(operator) => {
            Ok(dml::ops::lower(&validate(operator, FeatureLevel::HIGHEST)?, &target)?)
        }
        Work::Graph { desc, .. } => {
            let graph = validate_graph(desc, FeatureLevel::HIGHEST)?;
            Ok(compile_graph(&graph, &target, Default::default())?.0)
        }
    }
}
