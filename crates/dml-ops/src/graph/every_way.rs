//! A graph compiled in every way for the least device: what tests compare with its operators one by one.

use dml_core::graph::ValidatedGraph;
use dml_core::plan::Plan;
use dml_core::{Capabilities, Error, Tuning, Validated};

use super::{Explanation, GraphOptions, compile_graph};
use crate::{Target, TransferUse};

/// All ways: the default first, then without fusing, then without sharing memory either.
pub const WAYS: [GraphOptions; 3] = [
    GraphOptions { fuse: true, share_memory: true },
    GraphOptions { fuse: false, share_memory: true },
    GraphOptions { fuse: false, share_memory: false },
];

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

/// The plans of `graph` in every way, each with what it is called.
///
/// # Errors
/// As [`compile_graph`].
pub fn plans(graph: &ValidatedGraph) -> Result<Vec<(String, Plan)>, Error> {
    let transfers = [TransferUse::Allowed, TransferUse::StorageOnly];
    let ways = WAYS.into_iter().flat_map(|options| transfers.map(|it| (options, it)));
    let plan = |(options, transfer)| {
        let (plan, _) = compiled(graph, options, transfer)?;
        Ok((format!("{options:?} {transfer:?}"), plan))
    };
    ways.map(plan).collect()
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
