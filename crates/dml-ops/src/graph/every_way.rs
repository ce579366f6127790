//! Plans of a graph with every option, for tests that compare them with the graph's operators one by one.

use dml_core::graph::ValidatedGraph;
use dml_core::plan::Plan;
use dml_core::{Capabilities, Error, Tuning, Validated};

use super::{Explanation, GraphOptions, compile_graph};
use crate::{Target, TransferUse};

/// All options: the default, then without fusing.
pub const WAYS: [GraphOptions; 2] = [GraphOptions { fuse: true }, GraphOptions { fuse: false }];

/// Compiles `graph` for the least device.
///
/// # Errors
/// As [`compile_graph`].
pub fn compiled(
    graph: &ValidatedGraph,
    options: GraphOptions,
    transfer: TransferUse,
) -> Result<(Plan, Explanation), Error> {
    let capabilities = &Capabilities::vulkan_minimum();
    compile_graph(graph, &Target { capabilities, tuning: Tuning::new(), transfer }, options)
}

/// Compiles `graph` for a GPU that can do no more than the least device.
///
/// # Errors
/// As [`compile_graph`].
pub fn compiled_for_gpu(graph: &ValidatedGraph) -> Result<(Plan, Explanation), Error> {
    let tuning = Tuning::new().with_most_regions(0).with_shared_tiles();
    let (capabilities, transfer) = (&Capabilities::vulkan_minimum(), TransferUse::Allowed);
    compile_graph(graph, &Target { capabilities, tuning, transfer }, WAYS[0])
}

/// The plans of `graph` with every option, and for a GPU, each with a name.
///
/// # Errors
/// As [`compile_graph`].
pub fn plans(graph: &ValidatedGraph) -> Result<Vec<(String, Plan)>, Error> {
    let transfers = [TransferUse::Allowed, TransferUse::StorageOnly];
    let ways = WAYS.into_iter().flat_map(|options| transfers.map(|transfer| (options, transfer)));
    let plan = |(options, transfer)| {
        let (plan, _) = compiled(graph, options, transfer)?;
        Ok((format!("{options:?} {transfer:?}"), plan))
    };
    let for_gpu = || Ok(("for a GPU".to_owned(), compiled_for_gpu(graph)?.0));
    ways.map(plan).chain(std::iter::once_with(for_gpu)).collect()
}

/// The plan of one operator for the least device.
///
/// # Errors
/// As [`crate::lower`].
pub fn lowered(operator: &Validated) -> Result<Plan, Error> {
    let capabilities = &Capabilities::vulkan_minimum();
    let transfer = TransferUse::Allowed;
    crate::lower(operator, &Target { capabilities, tuning: Tuning::new(), transfer })
}
