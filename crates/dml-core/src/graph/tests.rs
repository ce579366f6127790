//! Invalid graphs, and their error messages.

use super::{GraphBuilder, GraphDesc, InputEdge, IntermediateEdge, NodeKind, Source};
use crate::error::{Error, HResult};
use crate::operators::{ActivationReluDesc, CastDesc, ElementWiseAddDesc};
use crate::tensor::{TensorDesc, TensorFlags};
use crate::types::{DataType, FeatureLevel};
use crate::{ValidatedGraph, validate_graph};

fn tensor(sizes: &[u32]) -> TensorDesc {
    TensorDesc::packed(DataType::Float32, sizes)
}

fn add(a: TensorDesc, b: TensorDesc) -> ElementWiseAddDesc {
    ElementWiseAddDesc { a_tensor: a, b_tensor: b, output_tensor: tensor(&[2, 3]) }
}

fn relu(sizes: &[u32]) -> ActivationReluDesc {
    ActivationReluDesc { input_tensor: tensor(sizes), output_tensor: tensor(sizes) }
}

/// `relu(a + b)`: node 0 is the sum, node 1 `the end`.
fn graph() -> GraphDesc {
    let mut graph = GraphBuilder::new();
    let [a, b] = [graph.input(), graph.input()];
    let sum = graph.operator(add(tensor(&[2, 3]), tensor(&[2, 3])), &[a, b]);
    let end = graph.operator(relu(&[2, 3]), &[sum]);
    graph.name(end, "the end");
    graph.output(end);
    graph.finish()
}

fn checked(graph: &GraphDesc) -> Result<ValidatedGraph, Error> {
    validate_graph(graph, FeatureLevel::HIGHEST)
}

#[track_caller]
fn refuses(change: impl FnOnce(&mut GraphDesc), message: &str) {
    let mut graph = graph();
    change(&mut graph);
    let error = checked(&graph).unwrap_err();
    assert_eq!(error.to_string(), format!("graph: {message}"));
    assert_eq!(error.hresult(), HResult::E_INVALIDARG);
}

/// DML_GRAPH_DESC::OutputEdges is not optional, as its other lists of edges are.
#[test]
fn a_graph_without_outputs_is_refused() {
    refuses(
        |it| (it.output_count, it.output_edges) = (0, vec![]),
        "OutputEdges: an empty list is not an output: the graph would compute nothing that can be read; \
         accepted: 1 edge and more",
    );
    assert!(checked(&GraphDesc::default()).is_err());
}

#[test]
fn nodes_are_in_an_order_in_which_they_can_be_executed() {
    let mut desc = graph();
    desc.nodes.swap(0, 1);
    for edge in &mut desc.input_edges {
        edge.to_node_index = 1;
    }
    desc.output_edges[0].from_node_index = 0;
    let edge = &mut desc.intermediate_edges[0];
    (edge.from_node_index, edge.to_node_index) = (1, 0);
    let graph = checked(&desc).unwrap();
    assert_eq!(graph.order(), [1, 0]);
    assert_eq!(graph.nodes()[0].inputs, [Some(Source::Node { node: 1, output: 0 })]);
    assert_eq!(graph.outputs()[0].0, Source::Node { node: 0, output: 0 });
    assert_eq!(
        graph.inputs().iter().flatten().map(|input| input.size).collect::<Vec<_>>(),
        [24, 24]
    );
}

#[test]
fn an_edge_that_leads_nowhere_is_refused() {
    refuses(
        |graph| graph.input_edges[1].graph_input_index = 2,
        "InputEdges[1].GraphInputIndex: 2 is not an input of the graph; accepted: 0 to 1",
    );
    refuses(
        |graph| graph.input_edges[0].to_node_index = 7,
        "InputEdges[0].ToNodeIndex: 7 is not a node; accepted: 0 to 1",
    );
    refuses(
        |graph| graph.intermediate_edges[0].to_node_input_index = 1,
        "IntermediateEdges[0].ToNodeInputIndex: 1 is not an input of Nodes[1]; accepted: 0 to 0",
    );
    refuses(
        |graph| graph.intermediate_edges[0].from_node_output_index = 1,
        "IntermediateEdges[0].FromNodeOutputIndex: 1 is not an output of Nodes[0]; accepted: 0 to 0",
    );
    refuses(
        |graph| {
            graph.intermediate_edges[0].name = "sum".to_owned();
            graph.intermediate_edges[0].from_node_index = 9;
        },
        "IntermediateEdges[0] (sum).FromNodeIndex: 9 is not a node; accepted: 0 to 1",
    );
    refuses(
        |graph| graph.output_edges[0].graph_output_index = 1,
        "OutputEdges[0].GraphOutputIndex: 1 is not an output of the graph; accepted: 0 to 0",
    );
}

#[test]
fn every_input_and_every_output_has_one_edge() {
    refuses(
        |graph| graph.input_edges.truncate(1),
        "Nodes[0].BTensor: the tensor has no edge; accepted: one edge for each input",
    );
    refuses(
        |graph| {
            let twice = InputEdge { to_node_index: 1, ..InputEdge::default() };
            graph.input_edges.push(twice);
        },
        "IntermediateEdges[0]: the edge leads to input 0 of Nodes[1] (the end), which has another edge; \
         accepted: one edge for each input",
    );
    refuses(
        |graph| graph.output_count = u32::MAX,
        "OutputCount: 4294967295 is not the number of OutputEdges, of which each output has one; \
         accepted: 1",
    );
    refuses(
        |graph| graph.input_count = u32::MAX,
        "InputCount: 4294967295 is too many; accepted: 0 to 65536",
    );
    refuses(
        |graph| {
            graph.output_count = 2;
            graph.output_edges.push(graph.output_edges[0].clone());
        },
        "OutputEdges[1].GraphOutputIndex: 0 has OutputEdges[0] already; accepted: an output of the graph \
         without an edge",
    );
}

#[test]
fn what_is_read_fits_what_is_written() {
    let with = |change: &dyn Fn(&mut GraphDesc)| {
        let mut graph = graph();
        change(&mut graph);
        checked(&graph).map(drop).map_err(|error| error.to_string())
    };
    let relu_of = |sizes: &'static [u32]| {
        move |graph: &mut GraphDesc| graph.nodes[1].kind = NodeKind::Operator(relu(sizes).into())
    };
    // Other sizes for all of the bytes, and for some of them.
    assert_eq!(with(&relu_of(&[6])), Ok(()));
    assert_eq!(with(&relu_of(&[5])), Ok(()));
    assert_eq!(
        with(&relu_of(&[7])),
        Err("graph: IntermediateEdges[0].TotalTensorSizeInBytes: 28 bytes are read from Nodes[0], which \
             has fewer; accepted: at most 24"
            .to_owned())
    );
    let cast = |graph: &mut GraphDesc| {
        let input_tensor = TensorDesc::packed(DataType::Float16, &[2, 3]);
        let cast = CastDesc { input_tensor, output_tensor: tensor(&[2, 3]) };
        graph.nodes[1].kind = NodeKind::Operator(cast.into());
    };
    assert_eq!(
        with(&cast),
        Err("graph: IntermediateEdges[0].DataType: FLOAT16 is read from Nodes[0].OutputTensor, which is \
             another type; accepted: FLOAT32"
            .to_owned())
    );
}

#[test]
fn an_owned_tensor_comes_from_outside() {
    let owned = TensorDesc { flags: TensorFlags::OWNED_BY_DML, ..tensor(&[2, 3]) };
    refuses(
        |graph| {
            let relu = ActivationReluDesc { input_tensor: owned.clone(), ..relu(&[2, 3]) };
            graph.nodes[1].kind = NodeKind::Operator(relu.into());
        },
        "IntermediateEdges[0].ToNodeInputIndex: 0 is a tensor that is OWNED_BY_DML, and another operator \
         writes it; accepted: inputs of the graph and constants",
    );
    refuses(
        |graph| {
            let both = add(owned.clone(), tensor(&[2, 3]));
            graph.nodes[0].kind = NodeKind::Operator(both.into());
            graph.input_edges[1].graph_input_index = 0;
        },
        "InputEdges[1].Flags: NONE differs from that of another edge from input 0; accepted: OWNED_BY_DML",
    );
}

#[test]
fn a_circle_and_a_refused_operator_name_their_nodes() {
    refuses(
        |graph| {
            graph.input_edges.truncate(1);
            let back = IntermediateEdge {
                from_node_index: 1,
                to_node_index: 0,
                to_node_input_index: 1,
                ..IntermediateEdge::default()
            };
            graph.intermediate_edges.push(back);
        },
        "IntermediateEdges: Nodes[0], Nodes[1] (the end) read each other in a cycle; accepted: edges \
         without a cycle",
    );
    refuses(
        |graph| graph.nodes[1].kind = NodeKind::Operator(relu(&[2, 0]).into()),
        "Nodes[1] (the end): ACTIVATION_RELU: InputTensor.Sizes[1]: 0 is not a size (tensors cannot be \
         empty); accepted: 1 to 4294967295",
    );
}

#[test]
fn graphs_and_constants_have_their_levels() {
    let level =
        |graph: &GraphDesc, level| validate_graph(graph, level).map_err(|it| it.to_string());
    let message = "GRAPH: needs feature level 2_1; this device was created at 2_0";
    assert_eq!(level(&graph(), FeatureLevel::V2_0), Err(message.to_owned()));
    let mut graph = GraphBuilder::new();
    let constant = graph.constant(vec![0; 24]);
    let relu = graph.operator(relu(&[2, 3]), &[constant]);
    graph.output(relu);
    let graph = graph.finish();
    assert!(level(&graph, FeatureLevel::V6_2).is_ok());
    let message =
        "graph: Nodes[0]: CONSTANT: needs feature level 6_2; this device was created at 6_1";
    assert_eq!(level(&graph, FeatureLevel::V6_1), Err(message.to_owned()));
}

#[test]
fn an_output_is_what_an_operator_writes() {
    refuses(
        |graph| graph.nodes[1].kind = NodeKind::Constant(vec![0; 24].into()),
        "IntermediateEdges[0].ToNodeInputIndex: 0 is not an input of Nodes[1]; accepted: none; there is no \
         input of Nodes[1]",
    );
    let mut graph = GraphBuilder::new();
    let constant = graph.constant(vec![0; 4]);
    graph.output(constant);
    let message = "graph: OutputEdges[0]: Nodes[0] is not an output of an operator; accepted: an output of \
                   an operator";
    assert_eq!(checked(&graph.finish()).unwrap_err().to_string(), message);
}
