//! `graphs`: a random graph, its draws taken from the fuzzer's bytes, or any graph as JSON, validated and
//! compiled in every way. A random one is also interpreted.

use dml::FeatureLevel;
use dml::core::{Capabilities, Error, json, validate_graph};
use dml_ops::TransferUse;
use dml_ops::graph::GraphOptions;
use dml_ops::graph::every_way::{compiled, lowered, plans};
use dml_reference::Random;
use dml_reference::graphs::{check, random_graph};

use super::descriptors::is_readable;

/// Interpreting takes time.
const MOST_NODES: u32 = 24;

pub(super) fn run(bytes: &[u8]) -> bool {
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{') {
        return as_json(bytes);
    }
    let mut random = Random::from_bytes(bytes);
    let nodes = 1 + random.below(MOST_NODES);
    let graph = random_graph(&mut random, nodes);
    let valid = validate_graph(&graph, FeatureLevel::HIGHEST);
    let valid = valid.unwrap_or_else(|error| panic!("{error}: {graph:?}"));
    let plans = plans(&valid).unwrap_or_else(|error| panic!("{error}: {graph:?}"));
    let checked = check(&valid, &mut random, &Capabilities::vulkan_minimum(), lowered, plans);
    checked.unwrap_or_else(|problem| panic!("{problem}: {graph:?}"));
    true
}

/// Its tensors may be of any size, so that nothing is executed.
fn as_json(bytes: &[u8]) -> bool {
    let Ok(json) = serde_json::from_slice(bytes) else { return true };
    let graph = match json::graph(&json) {
        Ok(graph) => graph,
        Err(error) => return is_readable(&error),
    };
    for level in [FeatureLevel::HIGHEST, FeatureLevel::V2_1] {
        let graph = match validate_graph(&graph, level) {
            Ok(graph) => graph,
            Err(error) => {
                is_readable(&error);
                continue;
            }
        };
        for transfer in [TransferUse::Allowed, TransferUse::StorageOnly] {
            match compiled(&graph, GraphOptions::default(), transfer) {
                Ok(_) | Err(Error::DeviceLimit { .. }) => {}
                Err(error) => panic!("refused in the wrong way: {error}"),
            }
        }
    }
    true
}
