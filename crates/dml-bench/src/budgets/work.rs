//! A work: a model and the plans that it becomes.

use anyhow::{Context as _, Result};
use bytes::Bytes;
use dml::FeatureLevel;
use dml::core::plan::Plan;
use dml::core::{validate, validate_graph};
use dml::ops::graph::{GraphOptions, compile_graph};
use dml_import::onnx::{Source, SourceAttribute, SourceNode, SourceTensor, SourceValue};
use dml_import::program::{self, Initial, Program};
use dml_import::{Inputs, Model};

use crate::budgets::{Counts, Plans, Profile};

/// Something that a program is made of, and that a row of the table is about.
#[derive(Debug)]
pub struct Work {
    /// The name in the table.
    pub name: String,
    /// The operators that run.
    pub program: Program,
}

impl Work {
    /// The counts of one run on a device.
    ///
    /// # Errors
    /// The device cannot carry an operator.
    pub fn counts(&self, profile: &Profile) -> Result<Counts> {
        self.plans(profile)
            .and_then(|plans| plans.counts(profile))
            .with_context(|| format!("{} on {}", self.name, profile.name))
    }

    /// The plans of the work on a device.
    ///
    /// # Errors
    /// The device cannot carry an operator.
    pub fn plans(&self, profile: &Profile) -> Result<Plans> {
        let (mut of_runs, mut once) = (Vec::new(), Vec::new());
        for step in self.program.steps() {
            let program::Step::Dispatch(dispatch) = step else { continue };
            let operator = &self.program.operators()[dispatch.operator];
            let plan = plan(&operator.work, profile).with_context(|| operator.node.to_string())?;
            if dispatch.once { once.push(plan) } else { of_runs.push(plan) }
        }
        Ok(Plans { of_runs, once, least_bytes: self.least_bytes() })
    }

    /// The bytes of what a run has to read, inputs and constants, and of what it has to write.
    fn least_bytes(&self) -> u64 {
        let is_read = |it: &&program::BufferPlan| !matches!(it.initial, Initial::Undefined);
        let read = self.program.buffers().iter().filter(is_read).map(|buffer| buffer.size);
        let written = self.program.steps().iter().map(|step| match step {
            program::Step::Read(read) => match &read.source {
                program::Source::Buffer(binding) => binding.size,
                program::Source::Host(_) | program::Source::Input(_) => 0,
            },
            program::Step::Initialize(_) | program::Step::Dispatch(_) => 0,
        });
        read.chain(written).sum()
    }
}

fn plan(work: &program::Work, profile: &Profile) -> Result<Plan> {
    let target = profile.target();
    Ok(match work {
        program::Work::Operator(operator) => {
            dml::ops::lower(&validate(operator, FeatureLevel::HIGHEST)?, &target)?
        }
        program::Work::Graph { desc, .. } => {
            let graph = validate_graph(desc, FeatureLevel::HIGHEST)?;
            compile_graph(&graph, &target, GraphOptions::default())?.0
        }
    })
}

/// The types of elements that the works have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    F32,
    F16,
    I8,
    U8,
    I32,
    I64,
}

impl Type {
    /// ONNX's number, and bytes of an element.
    fn facts(self) -> (i32, u64) {
        match self {
            Self::F32 => (1, 4),
            Self::U8 => (2, 1),
            Self::I8 => (3, 1),
            Self::I32 => (6, 4),
            Self::I64 => (7, 8),
            Self::F16 => (10, 2),
        }
    }
}

/// A model of one node of ONNX: its inputs in their order, each given with a run or part of the model.
pub(crate) struct OneNode {
    name: &'static str,
    source: Source,
    node: SourceNode,
}

/// The domain of ONNX Runtime's operators.
pub(crate) const MICROSOFT: &str = "com.microsoft";

impl OneNode {
    /// A node of this operator, which the table calls `name`.
    pub(crate) fn new(name: &'static str, operator: &str) -> Self {
        let source = Source { opset: 21, ..Source::default() };
        Self {
            name,
            source,
            node: SourceNode { operator: operator.to_owned(), ..Default::default() },
        }
    }

    /// The name in the table.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// The node is of ONNX Runtime's domain.
    pub(crate) fn of_microsoft(mut self) -> Self {
        MICROSOFT.clone_into(&mut self.node.domain);
        self
    }

    fn next_input(&mut self) -> String {
        let name = format!("x{}", self.node.inputs.len());
        self.node.inputs.push(name.clone());
        name
    }

    /// An input that runs are given.
    pub(crate) fn input(mut self, ty: Type, shape: &[u64]) -> Self {
        let name = self.next_input();
        self.source.inputs.push(value(name, ty, shape));
        self
    }

    /// An input that is part of the model, all zeros: only its shape matters.
    pub(crate) fn weight(self, ty: Type, shape: &[u64]) -> Self {
        let bytes = shape.iter().product::<u64>() * ty.facts().1;
        self.constant(ty, shape, vec![0; usize::try_from(bytes).expect("fits the host")])
    }

    /// An input that is part of the model and has these bytes.
    pub(crate) fn constant(mut self, ty: Type, shape: &[u64], bytes: Vec<u8>) -> Self {
        let name = self.next_input();
        let (element, bytes) = (ty.facts().0, Bytes::from(bytes));
        let tensor = SourceTensor { element, shape: shape.to_vec(), bytes };
        self.source.constants.push((name, tensor));
        self
    }

    /// Integers of 64 bits that are part of the model.
    pub(crate) fn int64s(self, shape: &[u64], values: &[i64]) -> Self {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(Type::I64, shape, bytes)
    }

    /// An input that is left out.
    pub(crate) fn left_out(mut self) -> Self {
        self.node.inputs.push(String::new());
        self
    }

    pub(crate) fn int(self, name: &str, value: i64) -> Self {
        self.attribute(name, SourceAttribute::Int(value))
    }

    pub(crate) fn ints(self, name: &str, values: &[i64]) -> Self {
        self.attribute(name, SourceAttribute::Ints(values.to_vec()))
    }

    pub(crate) fn text(self, name: &str, value: &'static str) -> Self {
        self.attribute(name, SourceAttribute::Text(Bytes::from_static(value.as_bytes())))
    }

    fn attribute(mut self, name: &str, value: SourceAttribute) -> Self {
        self.node.attributes.push((name.to_owned(), value));
        self
    }

    /// An output of the node and of the model.
    pub(crate) fn output(mut self, ty: Type, shape: &[u64]) -> Self {
        let name = format!("y{}", self.node.outputs.len());
        self.source.outputs.push(name.clone());
        self.node.outputs.push(value(name, ty, shape));
        self
    }

    /// The work.
    ///
    /// # Errors
    /// The importer refuses the model.
    pub(crate) fn work(mut self) -> Result<Work> {
        self.source.nodes.push(self.node);
        let program =
            Model::from_onnx(self.name, &self.source).and_then(|it| it.bind(&Inputs::new()))?;
        Ok(Work { name: self.name.to_owned(), program })
    }
}

fn value(name: String, ty: Type, shape: &[u64]) -> SourceValue {
    let shape = Some(shape.iter().copied().map(Some).collect());
    SourceValue { name, element: ty.facts().0, shape }
}
