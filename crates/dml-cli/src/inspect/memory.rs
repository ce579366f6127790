//! The device memory that a model needs.

use anyhow::Context as _;
use dml::core::plan::{BoundAt, Plan};
use dml::core::{Capabilities, FeatureLevel, Numerics, Tuning, validate, validate_graph};
use dml::ops::graph::compile_graph;
use dml::ops::{Target, TransferUse};
use dml_import::Program;
use dml_import::program::{Binding, Initial, Read, Source, Step, Work};

/// The memory of a model in bytes, by use.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Weights and constants that runs read.
    weights: u64,
    /// Weights that are only repacked or computed with before the first run, and freed then.
    sources: u64,
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
        let plans = program.operators().iter().map(|operator| {
            plan(&operator.work, numerics).with_context(|| operator.node.to_string())
        });
        let plans = plans.collect::<anyhow::Result<Vec<Plan>>>()?;
        let is_read = read_by_runs(program, &plans);
        for (buffer, is_read) in program.buffers().iter().zip(is_read) {
            let part = match buffer.initial {
                Initial::Weight(_) if !is_read => &mut memory.sources,
                Initial::Weight(_) | Initial::Tensor(_) | Initial::Sequence(_) => {
                    &mut memory.weights
                }
                Initial::Input(_) => &mut memory.inputs,
                Initial::Undefined => &mut memory.others,
            };
            *part = part.saturating_add(buffer.size);
        }
        for plan in plans {
            memory.intermediate = memory.intermediate.max(plan.temporary_size);
            memory.kept = memory.kept.saturating_add(plan.persistent_size);
        }
        Ok(memory)
    }

    /// `memory: 12 bytes of weights, ...`
    pub(super) fn text(&self) -> String {
        let Self { weights, sources, inputs, others, intermediate, kept } = self;
        format!(
            "memory: {weights} bytes of weights, {inputs} of inputs, {others} of outputs and what is between \
             programs, {intermediate} of intermediate results, {kept} of weights that operators repack; \
             {sources} bytes of weights are only needed before the first run"
        )
    }
}

/// Which buffers the runs of a program read or write, initializations before the first run aside.
fn read_by_runs(program: &Program, plans: &[Plan]) -> Vec<bool> {
    let mut is_read = vec![false; program.buffers().len()];
    for step in program.steps() {
        let bindings = match step {
            Step::Dispatch(dispatch) if dispatch.once => continue,
            Step::Dispatch(dispatch) => {
                let needs = &plans[dispatch.operator].inputs;
                let is_bound = |index: usize| {
                    let needs = needs.get(index).and_then(Option::as_ref);
                    needs.is_some_and(|need| need.bound_at == BoundAt::Execution)
                };
                let inputs = dispatch.inputs.iter().enumerate();
                let inputs = inputs.filter(|(index, _)| is_bound(*index)).map(|(_, it)| it);
                inputs.chain(&dispatch.outputs).flatten().collect()
            }
            Step::Initialize(step) => step.inputs.iter().flatten().collect(),
            Step::Read(Read { source: Source::Buffer(binding), .. }) => vec![binding],
            Step::Read(_) => continue,
        };
        bindings.into_iter().for_each(|it: &Binding| is_read[it.buffer] = true);
    }
    is_read
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
