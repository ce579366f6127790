//! Graphs: many operators as one [`Plan`].
//!
//! 1. Values ([`values`]): what each node reads and writes; a node that only copies a value to where it
//!    is read disappears.
//! 2. Groups ([`group`]): element-wise operators whose results only the next one reads become one
//!    program ([`program`]). What a product makes of its sums, such as adding a bias, is one of them.
//! 3. Parts ([`part`]): each group, and each other node, is lowered by itself.
//! 4. The plan ([`assemble`]): intermediate results get places in the temporary resource ([`memory`]), and
//!    the steps of all parts follow each other, with their slots renamed ([`crate::schedule::relocate`]).
//!
//! [`Explanation`] tells what was done and why.

mod assemble;
#[cfg(feature = "reference")]
pub mod every_way;
mod explain;
mod group;
pub mod memory;
mod part;
mod program;
#[cfg(feature = "reference")]
pub mod random;
#[cfg(test)]
mod tests;
mod values;

use std::collections::HashMap;

use dml_core::graph::{Source, ValidatedGraph};
use dml_core::plan::Plan;
use dml_core::schema::FieldKind;
use dml_core::{Error, Validated};

use crate::lowering::form::{Before, Form};
use crate::{FormOf, Target};

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

/// What the nodes of a graph compute element by element.
type Forms = HashMap<usize, Fusible>;

/// What of a node can be fused.
struct Fusible {
    form: Form,
    /// What is computed before, where the form is the last step only.
    before: Option<Before>,
}

/// The value of what `node` computes before its last step: the one after its outputs.
fn value_before(node: usize, operator: &Validated) -> Source {
    Source::Node { node, output: operator.tensors(FieldKind::Output).count() }
}

fn forms(graph: &ValidatedGraph, target: &Target<'_>) -> Result<Forms, Error> {
    let mut forms = Forms::new();
    for (index, node) in graph.nodes().iter().enumerate() {
        let Some(operator) = node.operator() else { continue };
        let form = crate::find(operator.schema().operator_type).and_then(|it| it.form.as_ref());
        let fusible = match form {
            None => None,
            Some(FormOf::Whole(form)) => Some(Fusible { form: form(operator)?, before: None }),
            Some(FormOf::Ending(ending)) => {
                let found = ending(operator, target)?;
                found.map(|(form, before)| Fusible { form, before: Some(before) })
            }
        };
        forms.extend(fusible.map(|it| (index, it)));
    }
    Ok(forms)
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
    let forms = forms(graph, target)?;
    let values = values::Values::of(graph, &forms, options.fuse);
    let groups = group::groups(graph, &values, &forms, options.fuse)?;
    let parts = part::parts(graph, &values, &groups.all, target)?;
    Ok(assemble::assemble(graph, &values, groups, parts, target, options))
}
