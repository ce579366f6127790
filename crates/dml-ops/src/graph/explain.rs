//! A report on a compiled graph: what is executed and fused, and why.

mod dot;

use std::collections::HashSet;
use std::fmt;

use dml_core::graph::{Source, ValidatedGraph};
use dml_core::plan::Step;
use dml_core::schema::FieldKind;

use crate::Target;
use crate::ir::optimize::Report;
use crate::ir::{Program, Recorded};
use crate::schedule::{Scheduled, TemporaryBytes};

pub use dot::quoted;

/// The report on a compiled graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The parts that are executed, in order.
    pub parts: Vec<NodeGroup>,
    /// Nodes whose result is an existing value.
    pub folded: Vec<String>,
    /// Nodes whose value an earlier node has computed.
    pub repeated: Vec<String>,
    /// Nodes whose results are not needed.
    pub unneeded: Vec<String>,
    /// Element-wise nodes that were not fused with their readers.
    pub not_fused: Vec<Fusion>,
    /// The memory of intermediate results.
    pub memory: Memory,
}

/// Nodes that are executed together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeGroup {
    /// The nodes: several if they are fused.
    pub nodes: Vec<String>,
    /// Whether the part only copies a result to a further output of the graph.
    pub copies_output: bool,
    /// The program, with a line for each buffer and each node, and the least cost.
    pub program: String,
    /// The number of steps, dispatches and transfers.
    pub steps: usize,
    /// The chosen kernels in dispatch order, each with the number of its dispatches in a row.
    pub kernels: Vec<(String, usize)>,
}

/// A node that is not fused with its readers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fusion {
    /// The node.
    pub node: String,
    /// The reason.
    pub reason: &'static str,
}

/// Bytes of intermediate results, in blocks of the descriptors' alignment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// If every node had its own buffers.
    pub separate: u64,
    /// Without the buffers that fusing and folding remove.
    pub after_fusion: u64,
    /// The size of the temporary resource.
    pub planned: u64,
    /// The greatest sum of the buffers that are live at one time.
    pub lower_bound: u64,
}

impl Explanation {
    pub(super) fn of(
        graph: &ValidatedGraph,
        needed: &[bool],
        report: &Report,
        parts: Vec<NodeGroup>,
        memory: Memory,
    ) -> Self {
        let labels =
            |nodes: &[usize]| nodes.iter().map(|node| graph.nodes()[*node].label()).collect();
        let unneeded: Vec<usize> = (0..needed.len()).filter(|it| !needed[*it]).collect();
        let fusion = |(node, reason): &(usize, &'static str)| Fusion {
            node: graph.nodes()[*node].label(),
            reason,
        };
        Self {
            parts,
            folded: labels(&report.folded),
            repeated: labels(&report.repeated),
            unneeded: labels(&unneeded),
            not_fused: report.not_fused.iter().map(fusion).collect(),
            memory,
        }
    }
}

/// The parts of a program: adjacent nodes that compute the same nodes of the graph.
pub(super) fn parts(
    graph: &ValidatedGraph,
    program: &Program,
    scheduled: &Scheduled<'_>,
) -> Vec<NodeGroup> {
    let label = |node: &usize| graph.nodes()[*node].label();
    let is_copy = |it: &Recorded| it.origin.operator == program.operator;
    let are_one = |one: &Recorded, other: &Recorded| {
        one.origin.is_of_same(&other.origin) && is_copy(one) == is_copy(other)
    };
    let all: Vec<&[Recorded]> = program.nodes.chunk_by(are_one).collect();
    let texts = program.texts(all.iter().copied());
    let mut parts = vec![];
    let mut first = 0;
    for (nodes, program) in all.into_iter().zip(texts) {
        let range = first..first + nodes.len();
        first = range.end;
        let steps: Vec<&Step> = scheduled.steps_of(range).collect();
        parts.push(NodeGroup {
            nodes: nodes[0].origin.sources.iter().map(label).collect(),
            copies_output: is_copy(&nodes[0]),
            program,
            steps: steps.len(),
            kernels: kernels(steps),
        });
    }
    parts
}

impl Memory {
    pub(super) fn of(graph: &ValidatedGraph, target: &Target<'_>, bytes: &TemporaryBytes) -> Self {
        let limits = &target.capabilities.limits;
        let alignment = limits.min_storage_buffer_offset_alignment.max(16);
        Self {
            separate: bytes_between(graph, alignment),
            after_fusion: bytes.separate,
            planned: bytes.planned,
            lower_bound: bytes.lower_bound,
        }
    }
}

/// Bytes of all results between the nodes of a graph, each with its own memory.
fn bytes_between(graph: &ValidatedGraph, alignment: u64) -> u64 {
    let outputs: HashSet<Source> = graph.outputs().iter().map(|(source, _)| *source).collect();
    let mut bytes = 0;
    for (node, of) in graph.nodes().iter().enumerate() {
        let Some(operator) = of.operator() else { continue };
        let tensors = operator.tensors(FieldKind::Output).enumerate();
        let inner = tensors
            .filter(|(output, _)| !outputs.contains(&Source::Node { node, output: *output }));
        let sizes = inner.filter_map(|(_, (_, tensor))| Some(tensor?.binding_size()));
        bytes += sizes.map(|size| size.next_multiple_of(alignment)).sum::<u64>();
    }
    bytes
}

/// The names of the kernels that steps dispatch.
fn kernels(steps: Vec<&Step>) -> Vec<(String, usize)> {
    let mut kernels: Vec<(String, usize)> = Vec::new();
    for step in steps {
        let Step::Dispatch(dispatch) = step else { continue };
        let name = &dispatch.kernel.variant.name;
        match kernels.last_mut() {
            Some((last, times)) if last == name => *times += 1,
            _ => kernels.push((name.to_string(), 1)),
        }
    }
    kernels
}

/// A count with a noun, such as `1 part` or `2 parts`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps: usize = self.parts.iter().map(|part| part.steps).sum();
        writeln!(f, "{}, {}", counted(self.parts.len(), "part"), counted(steps, "step"))?;
        for (index, part) in self.parts.iter().enumerate() {
            writeln!(f, "  {index}: {}: {}", part.steps_text(), part.nodes.join(" + "))?;
            for line in part.program.lines() {
                writeln!(f, "   {line}")?;
            }
            for (kernel, times) in &part.kernels {
                writeln!(f, "     {times} x {kernel}")?;
            }
        }
        for (what, nodes) in self.not_executed() {
            if !nodes.is_empty() {
                writeln!(f, "{what}: {}", nodes.join(", "))?;
            }
        }
        for Fusion { node, reason } in &self.not_fused {
            writeln!(f, "not fused: {node}: {reason}")?;
        }
        write!(f, "{}", self.memory)
    }
}

impl Explanation {
    /// The nodes that are not executed, and why.
    fn not_executed(&self) -> [(&'static str, &[String]); 3] {
        [
            ("folded", &self.folded),
            ("computed before", &self.repeated),
            ("not needed", &self.unneeded),
        ]
    }
}

impl NodeGroup {
    fn steps_text(&self) -> String {
        counted(self.steps, "step")
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { separate, after_fusion, planned, lower_bound } = self;
        write!(
            f,
            "intermediate results: {separate} bytes, {after_fusion} after fusing, {planned} planned \
             (at least {lower_bound} live at once)"
        )
    }
}
