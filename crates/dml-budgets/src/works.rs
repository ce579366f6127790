//! The works: one node of ONNX each, of sizes that models have.

mod products;
mod rows;
mod simple;

use anyhow::Result;

use crate::Work;

/// All works, in the order of the table.
///
/// # Errors
/// The importer refuses one of them.
pub fn works() -> Result<Vec<Work>> {
    let all = products::works().into_iter().chain(rows::works()).chain(simple::works());
    all.map(crate::work::OneNode::work).collect()
}
