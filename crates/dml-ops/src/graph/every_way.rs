//! A graph compiled in every way computes what its operators compute one by one.

use dml_core::graph::ValidatedGraph;
use dml_core::plan::{Aliases, Plan};
use dml_core::{Capabilities, Error, Tuning};

use super::random::{input_bytes, interpreted, node_by_node, output_elements};
use super::{Explanation, GraphOptions, compile_graph};
use crate::reference::Random;
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

/// Compiles `graph` in every way and interprets it with random inputs, apart and in place. Tells how it is
/// compiled by default.
///
/// # Errors
/// A way differs, cannot be compiled, or cannot be interpreted.
pub fn check(graph: &ValidatedGraph, random: &mut Random) -> Result<Explanation, String> {
    let capabilities = &Capabilities::vulkan_minimum();
    let inputs = input_bytes(graph, random);
    let (expected, _) = node_by_node(graph, &inputs, capabilities)?;
    let expected = output_elements(graph, &expected, false);
    for options in WAYS {
        for transfer in [TransferUse::Allowed, TransferUse::StorageOnly] {
            let (plan, _) = compiled(graph, options, transfer).map_err(|it| it.to_string())?;
            let pairs = plan.in_place.iter().map(|it| Aliases::new([it.pair()]));
            for aliases in std::iter::once(Aliases::NONE).chain(pairs) {
                let found = interpreted(&plan, &inputs, &aliases, capabilities)?;
                let found = output_elements(graph, &found, false);
                if found != expected {
                    let what = format!("{options:?} {transfer:?} {aliases:?}");
                    return Err(format!("{what}: {found:x?}, not {expected:x?}"));
                }
            }
        }
    }
    let default = compiled(graph, WAYS[0], TransferUse::Allowed);
    default.map(|it| it.1).map_err(|it| it.to_string())
}
