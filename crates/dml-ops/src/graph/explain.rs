//! What compiling a graph has done, and why.

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

/// What became of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// What is executed, in order.
    pub parts: Vec<Part>,
    /// Nodes whose result is a value that was there before.
    pub folded: Vec<String>,
    /// Nodes whose results nothing needs.
    pub unneeded: Vec<String>,
    /// Element-wise nodes that were not fused with what reads them.
    pub not_fused: Vec<Fusion>,
    /// Of intermediate results.
    pub memory: Memory,
}

/// What is executed together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The nodes: more than one where they are fused.
    pub nodes: Vec<String>,
    /// Whether it only copies a result to a further output of the graph.
    pub copies_output: bool,
    /// What is computed, a line for each buffer and each node of the program, with what it costs at least.
    pub program: String,
    /// How many steps it takes, dispatches and transfers.
    pub steps: usize,
    /// The kernels that were chosen, in the order in which they are dispatched, and how often each is one after
    /// the other.
    pub kernels: Vec<(&'static str, usize)>,
}

/// A node that is a part by itself, or the last of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fusion {
    /// The node.
    pub node: String,
    /// Why it is not fused with what reads it.
    pub reason: &'static str,
}

/// Bytes of intermediate results, in blocks that descriptors can begin at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Where every node had its own.
    pub separate: u64,
    /// Of those that are left after fusing and folding.
    pub after_fusion: u64,
    /// What the temporary resource has.
    pub planned: u64,
    /// The most that live at one time.
    pub lower_bound: u64,
}

impl Explanation {
    pub(super) fn of(
        graph: &ValidatedGraph,
        needed: &[bool],
        report: &Report,
        parts: Vec<Part>,
        memory: Memory,
    ) -> Self {
        let labels = |nodes: &[usize]| nodes.iter().map(|it| graph.nodes()[*it].label()).collect();
        let unneeded: Vec<usize> = (0..needed.len()).filter(|it| !needed[*it]).collect();
        let fusion = |(node, reason): &(usize, &'static str)| Fusion {
            node: graph.nodes()[*node].label(),
            reason,
        };
        Self {
            parts,
            folded: labels(&report.folded),
            unneeded: labels(&unneeded),
            not_fused: report.not_fused.iter().map(fusion).collect(),
            memory,
        }
    }
}

/// The parts of a program: nodes that compute the same nodes of the graph, one after the other.
pub(super) fn parts(
    graph: &ValidatedGraph,
    program: &Program,
    scheduled: &Scheduled<'_>,
) -> Vec<Part> {
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
        parts.push(Part {
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

/// Bytes of all results between the nodes of a graph, each with a place of its own.
fn bytes_between(graph: &ValidatedGraph, alignment: u64) -> u64 {
    let outputs: HashSet<Source> = graph.outputs().iter().map(|(source, _)| *source).collect();
    let mut bytes = 0;
    for (node, of) in graph.nodes().iter().enumerate() {
        let Some(operator) = of.operator() else { continue };
        let tensors = operator.tensors(FieldKind::Output).enumerate();
        let inner = tensors
            .filter(|(output, _)| !outputs.contains(&Source::Node { node, output: *output }));
        let sizes = inner.filter_map(|(_, (_, tensor))| Some(tensor?.binding_size()));
        bytes += sizes.map(|it| it.next_multiple_of(alignment)).sum::<u64>();
    }
    bytes
}

/// The names of what steps dispatch.
fn kernels(steps: Vec<&Step>) -> Vec<(&'static str, usize)> {
    let mut kernels: Vec<(&'static str, usize)> = Vec::new();
    for step in steps {
        let Step::Dispatch(dispatch) = step else { continue };
        let name = dispatch.kernel.variant.name;
        match kernels.last_mut() {
            Some((last, times)) if *last == name => *times += 1,
            _ => kernels.push((name, 1)),
        }
    }
    kernels
}

/// `1 part`, or `2 parts`.
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
        for (what, nodes) in [("folded", &self.folded), ("not needed", &self.unneeded)] {
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

impl Part {
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
