//! Graphs: what a file may leave out, and its mistakes.

use super::*;
use crate::graph::{GraphBuilder, GraphDesc, IntermediateEdge, NodeKind};
use crate::operators::ElementWiseAddDesc;

fn tensor() -> TensorDesc {
    TensorDesc::packed(DataType::Float32, &[2, 3])
}

/// `relu(input + 1)`.
fn sum_and_relu() -> Value {
    let tensor = json!({ "DataType": "FLOAT32", "Sizes": [2, 3] });
    let ones = [0, 0, 0x80, 0x3f].repeat(6);
    let sum = json!({ "ATensor": tensor, "BTensor": tensor, "OutputTensor": tensor });
    json!({
        "Nodes": [
            { "Type": "OPERATOR", "Operator": { "Type": "ELEMENT_WISE_ADD", "Desc": sum } },
            { "Type": "DML_GRAPH_NODE_TYPE_CONSTANT", "Data": ones },
            { "Type": "operator", "Name": "the end", "Operator": {
                "type": "DML_OPERATOR_ACTIVATION_RELU", "InputTensor": tensor, "OutputTensor": tensor
            } }
        ],
        "InputEdges": [{ "GraphInputIndex": 0, "ToNodeIndex": 0, "ToNodeInputIndex": 0 }],
        "IntermediateEdges": [
            { "FromNodeIndex": 1, "FromNodeOutputIndex": 0, "ToNodeIndex": 0, "ToNodeInputIndex": 1 },
            { "FromNodeIndex": 0, "FromNodeOutputIndex": 0, "ToNodeIndex": 2, "ToNodeInputIndex": 0 }
        ],
        "OutputEdges": [{ "FromNodeIndex": 2, "FromNodeOutputIndex": 0, "GraphOutputIndex": 0 }]
    })
}

fn built() -> GraphDesc {
    let mut graph = GraphBuilder::new();
    let input = graph.input();
    // The builder's nodes are in the order of their values, the file's are not.
    let one = graph.constant([0, 0, 0x80, 0x3f].repeat(6));
    let sum =
        ElementWiseAddDesc { a_tensor: tensor(), b_tensor: tensor(), output_tensor: tensor() };
    let sum = graph.operator(sum, &[input, one]);
    let relu = ActivationReluDesc { input_tensor: tensor(), output_tensor: tensor() };
    let end = graph.operator(relu, &[sum]);
    graph.name(end, "the end");
    graph.output(end);
    let mut graph = graph.finish();
    graph.nodes.swap(0, 1);
    graph.input_edges[0].to_node_index = 0;
    let edge = |from, to, input| IntermediateEdge {
        from_node_index: from,
        to_node_index: to,
        to_node_input_index: input,
        ..IntermediateEdge::default()
    };
    graph.intermediate_edges = vec![edge(1, 0, 1), edge(0, 2, 0)];
    graph
}

#[test]
fn a_node_may_name_its_operator() {
    let mut json = sum_and_relu();
    let sum = json["Nodes"][0]["Operator"].take();
    json["Nodes"][0] = json!({ "type": "DML_GRAPH_NODE_TYPE_OPERATOR", "Operator": "a sum" });
    let sum = operator(&sum).unwrap();
    let named = graph_with(&json, |name| (name == "a sum").then(|| sum.clone()));
    assert_eq!(named, Ok(built()));
    let message = graph_with(&json, |_| None).unwrap_err().to_string();
    assert!(
        message.contains("Nodes[0].Operator: \"a sum\" is not an operator's name"),
        "{message}"
    );
    assert_eq!(graph(&json).unwrap_err().to_string(), message);
}

#[test]
fn a_graph_is_what_the_builder_makes() {
    assert_eq!(graph(&sum_and_relu()), Ok(built()));
    let mut json = sum_and_relu();
    (json["InputCount"], json["OutputCount"]) = (json!(1), json!(1));
    json["Nodes"][1]["Data"] = json!({ "DataType": "FLOAT32", "Values": [1, 1.0, 1, 1, 1, 1] });
    assert_eq!(graph(&json), Ok(built()));
}

#[test]
fn what_is_left_out_follows_from_the_edges() {
    let mut json = sum_and_relu();
    json["InputEdges"][0]["GraphInputIndex"] = json!(4);
    json["InputEdges"][0]["Name"] = json!("an edge");
    json["OutputEdges"] = json!([]);
    json["IntermediateEdges"] = Value::Null;
    let desc = graph(&json).unwrap();
    assert_eq!((desc.input_count, desc.output_count), (5, 0));
    assert_eq!(desc.input_edges[0].name, "an edge");
    assert_eq!(desc.intermediate_edges, []);
    json["InputCount"] = json!(7);
    assert_eq!(graph(&json).unwrap().input_count, 7);
    json["InputEdges"][0]["GraphInputIndex"] = json!(u32::MAX);
    json["InputCount"] = Value::Null;
    assert_eq!(graph(&json).unwrap().input_count, u32::MAX);
    assert_eq!(graph(&json!({ "Nodes": [] })), Ok(GraphDesc::default()));
}

#[test]
fn constants_are_bytes_or_numbers_of_a_type() {
    let data = |data: Value| {
        let node = json!({ "Nodes": [{ "Type": "CONSTANT", "Data": data }] });
        match graph(&node).unwrap().nodes.remove(0).kind {
            NodeKind::Constant(bytes) => bytes.to_vec(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(data(json!([0, 255])), [0, 255]);
    assert!(data(json!([])).is_empty());
    assert_eq!(data(json!({ "DataType": "INT16", "Values": [-2, 258] })), [0xfe, 0xff, 2, 1]);
    assert_eq!(data(json!({ "DataType": "FLOAT16", "Values": ["inf"] })), [0, 0x7c]);
}

/// The graph with another value at a JSON pointer.
#[track_caller]
fn refuses_at(pointer: &str, value: Value, message: &str) {
    let mut json = sum_and_relu();
    let (outer, key) = pointer.rsplit_once('/').unwrap();
    match json.pointer_mut(outer).unwrap() {
        Value::Array(items) => items[key.parse::<usize>().unwrap()] = value,
        outer => outer[key] = value,
    }
    assert_eq!(graph(&json).unwrap_err().to_string(), message);
}

#[test]
fn mistakes_of_operators_are_named_with_their_node() {
    refuses_at(
        "/Nodes/2/Operator/InputTensor/Sizes",
        json!([2, -3]),
        "ACTIVATION_RELU: Nodes[2].Operator.InputTensor.Sizes[1]: -3 is out of range; \
         accepted: 0 to 4294967295",
    );
    refuses_at(
        "/Nodes/0/Operator/Desc/ATensor/DataType",
        json!("FLOAT31"),
        "ELEMENT_WISE_ADD: Nodes[0].Operator.ATensor.DataType: \"FLOAT31\" is not a data type \
         (did you mean FLOAT32, FLOAT16 or FLOAT64?); \
         accepted: FLOAT32, FLOAT16, UINT32, UINT16, UINT8, INT32, INT16, INT8, FLOAT64, UINT64, INT64, \
         UINT4, INT4",
    );
    let mut json = sum_and_relu();
    json["Nodes"][2]["Operator"]["type"] = json!("NOTHING");
    let error = graph(&json).unwrap_err().to_string();
    let expected =
        "operator: Nodes[2].Operator.type: \"NOTHING\" is not a known operator; accepted: ";
    assert!(error.starts_with(expected), "{error}");
    let message = "graph: Nodes[0].Operator: [] is not an object; accepted: an object";
    refuses_at("/Nodes/0/Operator", json!([]), message);
}

#[test]
fn mistakes_of_nodes_and_edges_are_named() {
    let message = "graph: json: [] is not an object; accepted: an object";
    assert_eq!(graph(&json!([])).unwrap_err().to_string(), message);
    let message = "graph: Nodes: null is missing; accepted: a value";
    refuses_at("/Nodes", Value::Null, message);
    refuses_at("/Nodes", json!({}), "graph: Nodes: {} is not an array; accepted: an array");
    refuses_at(
        "/Nodes/0/Type",
        json!("INPUT"),
        "graph: Nodes[0].Type: \"INPUT\" is not a type of node; accepted: OPERATOR, CONSTANT",
    );
    refuses_at(
        "/Nodes/0/Data",
        json!([1]),
        "graph: Nodes[0].Data: [1] is given for an unknown field; accepted: Type, Name, Operator",
    );
    refuses_at(
        "/Nodes/0/Name",
        json!(1),
        "graph: Nodes[0].Name: 1 is not a text; accepted: a text",
    );
    refuses_at(
        "/Nodes/1/Data/3",
        json!(256),
        "graph: Nodes[1].Data[3]: 256 is out of range; accepted: 0 to 255",
    );
    refuses_at(
        "/Nodes/1/Data",
        json!({ "DataType": "INT8", "Values": [1, 128] }),
        "graph: Nodes[1].Data.Values[1]: 128 is out of range; accepted: -128 to 127",
    );
    refuses_at(
        "/InputCount",
        json!(1_u64 << 32),
        "graph: InputCount: 4294967296 is out of range; accepted: 0 to 4294967295",
    );
    refuses_at(
        "/Inputs",
        json!(1),
        "graph: Inputs: 1 is given for an unknown field; accepted: InputCount, OutputCount, Nodes, \
         InputEdges, OutputEdges, IntermediateEdges",
    );
    refuses_at(
        "/InputEdges/0/ToNodeIndex",
        Value::Null,
        "graph: InputEdges[0].ToNodeIndex: null is missing; accepted: a value",
    );
    refuses_at(
        "/OutputEdges/0/GraphInputIndex",
        json!(0),
        "graph: OutputEdges[0].GraphInputIndex: 0 is given for an unknown field \
         (did you mean GraphOutputIndex?); accepted: FromNodeIndex, FromNodeOutputIndex, GraphOutputIndex, Name",
    );
    refuses_at(
        "/IntermediateEdges/1",
        json!(7),
        "graph: IntermediateEdges[1]: 7 is not an object; accepted: an object",
    );
    refuses_at(
        "/IntermediateEdges/1/FromNodeIndex",
        json!(0.5),
        "graph: IntermediateEdges[1].FromNodeIndex: 0.5 is not an integer; accepted: 0 to 4294967295",
    );
}
