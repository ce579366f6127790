use std::ptr;

use dml::core::operators::ACTIVATION_RELU;
use dml::core::{AbstractOperator, FieldValue};

use super::*;
use crate::decode::tests::descs::DML_ACTIVATION_RELU_OPERATOR_DESC;
use crate::types::DML_OPERATOR_DESC;

/// All numbers differ, so that a swapped member is noticed.
#[test]
fn every_member_of_a_graph_arrives() {
    let relu =
        DML_ACTIVATION_RELU_OPERATOR_DESC { InputTensor: ptr::null(), OutputTensor: ptr::null() };
    let relu = DML_OPERATOR_DESC { Type: 44, Desc: ptr::from_ref(&relu).cast() };
    let operator =
        DML_OPERATOR_GRAPH_NODE_DESC { Operator: &raw const relu, Name: c"relu".as_ptr() };
    let data = [1u8, 2, 3];
    let constant = DML_CONSTANT_DATA_GRAPH_NODE_DESC {
        Data: data.as_ptr().cast(),
        DataSize: 3,
        Name: c"grün".as_ptr(),
    };
    // Nothing is read of what has no size.
    let empty =
        DML_CONSTANT_DATA_GRAPH_NODE_DESC { Data: ptr::null(), DataSize: 0, Name: ptr::null() };
    let nodes = [
        DML_GRAPH_NODE_DESC { Type: 1, Desc: ptr::from_ref(&operator).cast() },
        DML_GRAPH_NODE_DESC { Type: 2, Desc: ptr::from_ref(&constant).cast() },
        DML_GRAPH_NODE_DESC { Type: 2, Desc: ptr::from_ref(&empty).cast() },
    ];
    let input = DML_INPUT_GRAPH_EDGE_DESC {
        GraphInputIndex: 10,
        ToNodeIndex: 11,
        ToNodeInputIndex: 12,
        Name: c"input".as_ptr(),
    };
    let output = DML_OUTPUT_GRAPH_EDGE_DESC {
        FromNodeIndex: 20,
        FromNodeOutputIndex: 21,
        GraphOutputIndex: 22,
        Name: c"output".as_ptr(),
    };
    let intermediate = DML_INTERMEDIATE_GRAPH_EDGE_DESC {
        FromNodeIndex: 30,
        FromNodeOutputIndex: 31,
        ToNodeIndex: 32,
        ToNodeInputIndex: 33,
        Name: c"between".as_ptr(),
    };
    let input = DML_GRAPH_EDGE_DESC { Type: 1, Desc: ptr::from_ref(&input).cast() };
    let output = DML_GRAPH_EDGE_DESC { Type: 2, Desc: ptr::from_ref(&output).cast() };
    let intermediate = DML_GRAPH_EDGE_DESC { Type: 3, Desc: ptr::from_ref(&intermediate).cast() };
    let desc = DML_GRAPH_DESC {
        InputCount: 40,
        OutputCount: 41,
        NodeCount: 3,
        Nodes: nodes.as_ptr(),
        InputEdgeCount: 1,
        InputEdges: &raw const input,
        OutputEdgeCount: 1,
        OutputEdges: &raw const output,
        IntermediateEdgeCount: 1,
        IntermediateEdges: &raw const intermediate,
    };
    // SAFETY: everything that is pointed to lives long enough.
    let found = unsafe { graph(&raw const desc) }.unwrap_or_else(|failure| panic!("{failure:?}"));
    let relu = vec![FieldValue::Tensor(None), FieldValue::Tensor(None)];
    let relu = AbstractOperator::new(&ACTIVATION_RELU, relu).expect("two tensors");
    let node = |name: &str, kind| NodeDesc { name: name.into(), kind };
    let expected = GraphDesc {
        input_count: 40,
        output_count: 41,
        nodes: vec![
            node("relu", NodeKind::Operator(relu)),
            node("grün", NodeKind::Constant(vec![1, 2, 3].into())),
            node("", NodeKind::Constant(vec![].into())),
        ],
        input_edges: vec![InputEdge {
            graph_input_index: 10,
            to_node_index: 11,
            to_node_input_index: 12,
            name: "input".to_owned(),
        }],
        output_edges: vec![OutputEdge {
            from_node_index: 20,
            from_node_output_index: 21,
            graph_output_index: 22,
            name: "output".to_owned(),
        }],
        intermediate_edges: vec![IntermediateEdge {
            from_node_index: 30,
            from_node_output_index: 31,
            to_node_index: 32,
            to_node_input_index: 33,
            name: "between".to_owned(),
        }],
    };
    assert_eq!(found, expected);
}

/// Null is allowed if the count is 0.
#[test]
fn arrays_without_elements_may_be_null() {
    let desc = DML_GRAPH_DESC {
        InputCount: 0,
        OutputCount: 0,
        NodeCount: 0,
        Nodes: ptr::null(),
        InputEdgeCount: 0,
        InputEdges: ptr::null(),
        OutputEdgeCount: 0,
        OutputEdges: ptr::null(),
        IntermediateEdgeCount: 0,
        IntermediateEdges: ptr::null(),
    };
    // SAFETY: nothing is pointed to.
    let found = unsafe { graph(&raw const desc) };
    assert_eq!(found.unwrap_or_else(|failure| panic!("{failure:?}")), GraphDesc::default());
}
