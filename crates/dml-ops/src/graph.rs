//! Graphs: many operators as one [`Plan`].
//!
//! 1. Values ([`values`]): what each node reads and writes; a node that only copies a value to where it
//!    is read disappears.
//! 2. Groups ([`group`]): what is computed element by element, and only one other reads so, becomes one node of a
//!    program with it ([`program`]). What can be is seen in the operators' programs ([`fusible`]): all of an operator,
//!    its last node, such as adding a bias to a product's sums, or rows that are reduced along one dimension.
//! 3. Parts ([`part`]): each group, and each other node, is scheduled by itself.
//! 4. The plan ([`assemble`]): intermediate results get places in the temporary resource ([`memory`]), and
//!    the steps of all parts follow each other, with their slots renamed ([`crate::schedule::relocate`]).
//!
//! [`Explanation`] tells what was done and why.

mod assemble;
#[doc(hidden)]
pub mod every_way;
mod explain;
mod fusible;
mod group;
pub mod memory;
mod part;
mod program;
#[cfg(test)]
mod tests;
mod values;

use std::collections::HashMap;

use dml_core::Error;
use dml_core::graph::{GraphNode, Source, ValidatedGraph};
use dml_core::plan::Plan;
use dml_core::schema::FieldKind;

use crate::{Program, Target};
pub(crate) use fusible::Fusible;

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

/// The program of every node; `None` for constants, and for nodes that nothing needs.
type Programs = Vec<Option<Program>>;

/// The fusible parts, by node.
type FusibleNodes = HashMap<usize, Fusible>;

/// The value that a node's body writes: numbered after the node's outputs.
fn value_of_body(graph: &ValidatedGraph, node: usize) -> Source {
    let outputs = graph.nodes()[node].operator();
    let outputs = outputs.map_or(0, |it| it.tensors(FieldKind::Output).count());
    Source::Node { node, output: outputs }
}

fn programs(
    graph: &ValidatedGraph,
    needed: &[bool],
    target: &Target<'_>,
) -> Result<Programs, Error> {
    let program = |(node, is_needed): (&GraphNode, &bool)| {
        let Some(operator) = node.operator().filter(|_| *is_needed) else { return Ok(None) };
        let program = crate::implementation(operator)?
            .program(operator, target)
            .map_err(|error| Error::InNode { node: node.label.clone(), error: Box::new(error) })?;
        Ok(Some(program))
    };
    graph.nodes().iter().zip(needed).map(program).collect()
}

fn fusible_nodes(programs: &Programs) -> Result<FusibleNodes, Error> {
    let mut all = FusibleNodes::new();
    for (index, program) in programs.iter().enumerate() {
        let found = program.as_ref().map(Fusible::of).transpose()?.flatten();
        all.extend(found.map(|it| (index, it)));
    }
    Ok(all)
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
    let needed = values::needed(graph);
    let programs = programs(graph, &needed, target)?;
    let fusible = fusible_nodes(&programs)?;
    let values = values::Values::of(graph, &needed, &fusible, options.fuse);
    let groups = group::groups(graph, &values, &fusible, options.fuse)?;
    let parts = part::parts(graph, &values, &groups.all, &programs, target)?;
    Ok(assemble::assemble(graph, &values, groups, parts, target, options))
}
