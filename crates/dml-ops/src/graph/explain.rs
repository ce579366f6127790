//! What compiling a graph has done, and why.

mod dot;

use std::fmt;

use dml_core::graph::ValidatedGraph;
use dml_core::plan::Step;

use super::group::Groups;
use super::part::Part as LoweredPart;
use super::values::Values;

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
        values: &Values,
        groups: Groups<'_>,
        parts: &[LoweredPart],
        memory: Memory,
    ) -> Self {
        let label = |node: &usize| graph.nodes()[*node].label.clone();
        let labels = |nodes: &[usize]| nodes.iter().map(label).collect();
        let part = |it: &LoweredPart| Part {
            nodes: labels(&it.nodes),
            program: it.program.to_string(),
            steps: it.plan.exec.len(),
            kernels: kernels(&it.plan.exec),
        };
        let fusion = |(node, reason): (usize, _)| Fusion { node: label(&node), reason };
        Self {
            parts: parts.iter().map(part).collect(),
            folded: labels(&values.folded),
            unneeded: labels(&values.unneeded),
            not_fused: groups.refused.into_iter().map(fusion).collect(),
            memory,
        }
    }
}

/// The names of what steps dispatch.
fn kernels(steps: &[Step]) -> Vec<(&'static str, usize)> {
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
            for line in part.program.lines().skip(1) {
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
