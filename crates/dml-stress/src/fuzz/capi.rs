//! `capi`: DirectML's structs as a C program fills them, in half of all runs with damage, read by the C library: an
//! operator's, and those of a graph.

use std::fmt::Debug;

use dml::core::graph::{InputEdge, IntermediateEdge, NodeDesc, NodeKind, OutputEdge};
use dml::core::{validate, validate_graph};
use dml::{FeatureLevel, GraphDesc};
use dml_reference::Random;
use dml_reference::graphs::random_graph;
use dmlvk::fuzzing::{RoundTrip, graph_through_c, through_c};

use crate::plans::hostile;

/// The only reason for which undamaged structs are refused: too many dimensions.
const REASON: &str = "DimensionCount";

/// Names of nodes and edges.
const NAMES: [&str; 4] = ["", "a", "größer", "\n\"%s"];

pub(super) fn run(bytes: &[u8]) -> bool {
    let mut random = Random::from_bytes(bytes);
    let damage = random.one_in(2);
    let schema = if random.one_in(4) {
        random.pick(dml::core::operators::OPERATORS)
    } else {
        random.pick(&dml_ops::OPERATORS).schema()
    };
    if let Some(operator) = hostile::operator(schema, &mut random) {
        let trip = through_c(&operator, damage, &mut |end| random.below(end));
        if let Some(read) = checked(trip) {
            let _ = validate(&read, FeatureLevel::HIGHEST);
        }
    }
    let graph = if random.one_in(2) {
        let nodes = 1 + random.below(6);
        random_graph(&mut random, nodes)
    } else {
        hostile_graph(&mut random)
    };
    let trip = graph_through_c(&graph, damage, &mut |end| random.below(end));
    if let Some(read) = checked(trip) {
        let _ = validate_graph(&read, FeatureLevel::HIGHEST);
    }
    true
}

/// The value that was read, which must equal the written one unless that was damaged.
fn checked<T: Debug>(trip: RoundTrip<T>) -> Option<T> {
    let RoundTrip { written, read, is_damaged } = trip;
    match read {
        Ok(read) => {
            // As text, since a NaN differs from itself.
            let text = [&written, &read].map(|it| format!("{it:?}"));
            assert!(is_damaged || text[0] == text[1], "{}\nhas become\n{}", text[0], text[1]);
            Some(read)
        }
        Err(message) => {
            assert!(is_damaged || message.contains(REASON), "refused {written:?}: {message}");
            assert!(!message.contains('\n') && !message.contains("internal error"), "{message}");
            None
        }
    }
}

/// A graph of any operators, with edges between any indices.
fn hostile_graph(random: &mut Random) -> GraphDesc {
    let mut graph = GraphDesc {
        input_count: index(random),
        output_count: index(random),
        ..GraphDesc::default()
    };
    for _ in 0..random.below(4) {
        let schema = random.pick(dml::core::operators::OPERATORS);
        let operator = if random.one_in(3) { None } else { hostile::operator(schema, random) };
        let bytes = random.below(20) as usize;
        let kind = operator.map_or(NodeKind::Constant(vec![7; bytes].into()), NodeKind::Operator);
        graph.nodes.push(NodeDesc { name: name(random).into(), kind });
    }
    for _ in 0..random.below(4) {
        graph.input_edges.push(InputEdge {
            graph_input_index: index(random),
            to_node_index: index(random),
            to_node_input_index: index(random),
            name: name(random),
        });
    }
    for _ in 0..random.below(4) {
        graph.output_edges.push(OutputEdge {
            from_node_index: index(random),
            from_node_output_index: index(random),
            graph_output_index: index(random),
            name: name(random),
        });
    }
    for _ in 0..random.below(4) {
        graph.intermediate_edges.push(IntermediateEdge {
            from_node_index: index(random),
            from_node_output_index: index(random),
            to_node_index: index(random),
            to_node_input_index: index(random),
            name: name(random),
        });
    }
    graph
}

/// An index, mostly a valid one.
fn index(random: &mut Random) -> u32 {
    if random.one_in(16) { u32::MAX } else { random.below(4) }
}

fn name(random: &mut Random) -> String {
    random.pick(&NAMES).to_owned()
}
