//! Graphs: many operators as one [`Plan`].
//!
//! 1. [`concatenation`]: the programs of the operators that an output needs, one after the other, are one program.
//! 2. [`crate::ir::optimize`]: copies are removed, Maps are fused with the nodes that read them, and reductions of
//!    the same rows become groups, whichever operators recorded them.
//! 3. [`crate::schedule`]: the steps of every node; intermediate results share memory where lifetimes allow it.
//!
//! [`Explanation`] says what was done, and why.

mod concatenation;
#[cfg(any(test, feature = "testing"))]
pub mod every_way;
mod explain;
mod in_place;
mod known;
#[cfg(test)]
mod tests;

use dml_core::graph::ValidatedGraph;
use dml_core::plan::Plan;
use dml_core::{Error, Strategy};

use crate::Target;
use crate::ir::Program;
use crate::ir::optimize::{Report, optimize};
use crate::schedule::{Refusal, Scheduled, TemporaryBytes};

pub use explain::{Explanation, Fusion, Memory, NodeGroup as ExplainedPart, quoted};
pub use known::KnownPrograms;

/// How a graph is compiled. What is turned off costs time or memory, and changes no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphOptions {
    /// Whether element-wise operators are fused, and copies folded.
    pub fuse: bool,
}

impl Default for GraphOptions {
    fn default() -> Self {
        Self { fuse: true }
    }
}

/// The plan of a graph, and how it came about.
///
/// # Errors
/// [`Error::InNode`]: the target cannot carry a node.
pub fn compile_graph(
    graph: &ValidatedGraph,
    target: &Target<'_>,
    options: GraphOptions,
) -> Result<(Plan, Explanation), Error> {
    let mut explanation = None;
    let known = KnownPrograms::default();
    let plan = plan(graph, target, options, &known, |outcome| {
        explanation = Some(outcome.explanation(graph, target));
    })?;
    let missing = || Error::internal("GRAPH", "nothing explains the plan");
    Ok((plan, explanation.ok_or_else(missing)?))
}

/// The plan of a graph, with programs of operators that were recorded before for the same target.
///
/// # Errors
/// As [`compile_graph`].
pub fn plan_graph(
    graph: &ValidatedGraph,
    target: &Target<'_>,
    options: GraphOptions,
    known: &KnownPrograms,
) -> Result<Plan, Error> {
    plan(graph, target, options, known, |_| ())
}

/// The program that a plan is made of.
struct Outcome<'a> {
    needed: &'a [bool],
    program: &'a Program,
    report: &'a Report,
    scheduled: &'a Scheduled<'a>,
    bytes: &'a TemporaryBytes,
}

impl Outcome<'_> {
    fn explanation(&self, graph: &ValidatedGraph, target: &Target<'_>) -> Explanation {
        let parts = explain::parts(graph, self.program, self.scheduled);
        let memory = Memory::of(graph, target, self.bytes);
        Explanation::of(graph, self.needed, self.report, parts, memory)
    }
}

/// The plan of a graph; `explain` sees what it is made of.
fn plan(
    graph: &ValidatedGraph,
    target: &Target<'_>,
    options: GraphOptions,
    known: &KnownPrograms,
    explain: impl FnOnce(&Outcome<'_>),
) -> Result<Plan, Error> {
    let needed = concatenation::needed(graph);
    let mut program = concatenation::program(graph, &needed, target, known)?;
    let report = optimize(&mut program, options.fuse, target);
    let refused = |refusal: Refusal| {
        let sources = &program.nodes[refusal.node].origin.sources;
        let node = sources.last().copied().unwrap_or_default();
        concatenation::in_node(graph, node, refusal.error)
    };
    let mut scheduled = Scheduled::of(&program, target).map_err(refused)?;
    let bytes = scheduled.place_temporaries();
    explain(&Outcome {
        needed: &needed,
        program: &program,
        report: &report,
        scheduled: &scheduled,
        bytes: &bytes,
    });
    let in_place = in_place::in_place(&program, |node| scheduled.indices_of(node));
    Ok(Plan { strategy: Strategy::Kernel, in_place, ..scheduled.into_plan() })
}
