//! Graphs: many operators as one [`Plan`].
//!
//! 1. [`concatenation`]: the programs of the operators that an output needs, one after the other, are one program.
//! 2. [`crate::ir::optimize`]: copies are removed, Maps are fused with the nodes that read them, and reductions of
//!    the same rows become groups, whichever operators recorded them.
//! 3. [`crate::schedule`]: the steps of every node; intermediate results share memory where lifetimes allow it.
//!
//! [`Explanation`] says what was done, and why.

mod concatenation;
#[doc(hidden)]
pub mod every_way;
mod explain;
mod in_place;
#[cfg(test)]
mod tests;

use dml_core::graph::ValidatedGraph;
use dml_core::plan::Plan;
use dml_core::{Error, Strategy};

use crate::Target;
use crate::ir::optimize::optimize;
use crate::schedule::{Refusal, Scheduled};

pub use explain::{Explanation, Fusion, Memory, Part as ExplainedPart, quoted};

/// How a graph is compiled. What is turned off costs time or memory, and changes no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphOptions {
    /// Whether element-wise operators are fused, and copies folded.
    pub fuse: bool,
    /// Whether intermediate results share memory.
    pub share_memory: bool,
}

impl Default for GraphOptions {
    fn default() -> Self {
        Self { fuse: true, share_memory: true }
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
    let needed = concatenation::needed(graph);
    let mut program = concatenation::program(graph, &needed, target)?;
    let report = optimize(&mut program, options.fuse, target);
    let refused = |refusal: Refusal| {
        let sources = &program.nodes[refusal.node].origin.sources;
        let node = sources.last().copied().unwrap_or_default();
        concatenation::in_node(graph, node, refusal.error)
    };
    let mut scheduled = Scheduled::of(&program, target).map_err(refused)?;
    let bytes = scheduled.place_temporaries(options.share_memory);
    let parts = explain::parts(graph, &program, &scheduled);
    let explanation =
        Explanation::of(graph, &needed, &report, parts, Memory::of(graph, target, &bytes));
    let plan = scheduled.into_plan();
    Ok((
        Plan { strategy: Strategy::Kernel, in_place: in_place::in_place(&program), ..plan },
        explanation,
    ))
}
