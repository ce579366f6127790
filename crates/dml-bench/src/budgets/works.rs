//! The works: one node of ONNX each, of sizes that models have.

mod products;
mod rows;
mod simple;

use anyhow::Result;

use crate::budgets::Work;
use crate::budgets::work::OneNode;

/// All works, in the order of the table.
///
/// # Errors
/// The importer refuses one of them.
pub fn works() -> Result<Vec<Work>> {
    nodes().map(OneNode::work).collect()
}

/// The work that the table calls `name`; `None` where there is none.
///
/// # Errors
/// The importer refuses it.
pub fn work(name: &str) -> Result<Option<Work>> {
    nodes().find(|node| node.name() == name).map(OneNode::work).transpose()
}

/// The names of the works, in the order of the table.
pub fn names() -> Vec<&'static str> {
    nodes().map(|node| node.name()).collect()
}

fn nodes() -> impl Iterator<Item = OneNode> {
    products::works().into_iter().chain(rows::works()).chain(simple::works())
}
