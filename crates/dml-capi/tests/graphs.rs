//! Graphs through the C functions, on every device.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "a C program's calls")]

mod common;

use std::ptr;

use common::graph::Graph;
use common::*;
use dmlvk::*;

/// 1 + 1, 1 - 2, -5 + 3 and 7 + 0.5, of which those below 0 become 0.
const INPUT: [f32; 4] = [1.0, 1.0, -5.0, 7.0];
const RESULT: [f32; 4] = [2.0, 0.0, 0.0, 7.5];

fn bytes(floats: [f32; 4]) -> Vec<u8> {
    floats.into_iter().flat_map(f32::to_le_bytes).collect()
}

fn execute_with(
    operator: DmlVkOperator,
    input: DmlVkBufferBinding,
    output: DmlVkBufferBinding,
) -> HRESULT {
    // SAFETY: there is one binding each.
    unsafe { dmlvk_execute_operator(operator, &raw const input, 1, &raw const output, 1) }
}

#[test]
fn a_graph_is_executed_as_an_operator_is() {
    for index in 0..device_count() {
        let device = create_device(index, 0, 0);
        // The description is gone when the graph is executed.
        let operator = Graph::new(0).compiled(device);
        let buffer = create_buffer(device, 512);
        ok(write(buffer, 0, &bytes(INPUT)));
        let [input, output] =
            [0, 256].map(|offset| DmlVkBufferBinding { buffer, offset, size: 16 });
        ok(execute_with(operator, input, output));
        assert_eq!(read(buffer, 256, 16), bytes(RESULT));
        refused(execute_with(operator, nothing(), output), E_INVALIDARG, "Inputs[0]");
        refused(execute_with(operator, input, nothing()), E_INVALIDARG, "Outputs[0]");
        // SAFETY: it is not in use.
        ok(unsafe { dmlvk_destroy_operator(operator) });
        refused(execute_with(operator, input, output), E_INVALIDARG, "operator");
        destroy(device);
    }
}

#[test]
fn an_owned_input_of_a_graph_is_initialized_once() {
    for index in 0..device_count() {
        let device = create_device(index, 0, 0);
        let operator = Graph::new(1).compiled(device);
        let mut needed = 0;
        // SAFETY: there is a place for the answer.
        ok(unsafe { dmlvk_needs_initialization(operator, &raw mut needed) });
        assert_eq!(needed, 1);
        let buffer = create_buffer(device, 512);
        ok(write(buffer, 0, &bytes(INPUT)));
        let [input, output] =
            [0, 256].map(|offset| DmlVkBufferBinding { buffer, offset, size: 16 });
        refused(execute_with(operator, nothing(), output), E_INVALIDARG, "not initialized");
        // SAFETY: there is one binding.
        ok(unsafe { dmlvk_initialize_operator(operator, &raw const input, 1) });
        ok(write(buffer, 0, &[0xAA; 16]));
        ok(execute_with(operator, nothing(), output));
        assert_eq!(read(buffer, 256, 16), bytes(RESULT));
        destroy(device);
    }
}

/// A change to a graph, and the expected error message.
type Mistake = (fn(&mut Graph), &'static str);

/// Asserts that each is refused for its own reason.
#[track_caller]
fn all_refused(mistakes: &[Mistake]) {
    let device = create_device(0, 0, 0);
    for (mistake, wanted) in mistakes {
        let mut graph = Graph::new(0);
        mistake(&mut graph);
        let (code, operator) = graph.compile(device, 0);
        refused(code, E_INVALIDARG, wanted);
        assert!(operator.is_null());
    }
    destroy(device);
}

#[test]
fn null_pointers_are_refused_with_their_path() {
    all_refused(&[
        (|it| it.desc.Nodes = ptr::null(), "graph: Nodes: null, with 3 elements"),
        (|it| it.desc.InputEdges = ptr::null(), "graph: InputEdges: null, with 1 elements"),
        (|it| it.desc.OutputEdges = ptr::null(), "graph: OutputEdges: null, with 1 elements"),
        (
            |it| it.desc.IntermediateEdges = ptr::null(),
            "graph: IntermediateEdges: null, with 2 elements",
        ),
        (|it| it.nodes[0].Desc = ptr::null(), "graph: Nodes[0].Desc: null"),
        (|it| it.nodes[1].Desc = ptr::null(), "graph: Nodes[1].Desc: null"),
        (
            |it| it.operator_nodes[1].Operator = ptr::null(),
            "graph: Nodes[2].Operator: DML_OPERATOR_DESC: null",
        ),
        (
            |it| it.operators[0].Desc = ptr::null(),
            "graph: Nodes[0].Operator: ELEMENT_WISE_ADD: DML_OPERATOR_DESC.Desc: null",
        ),
        (|it| it.constant.Data = ptr::null(), "graph: Nodes[1].Data: null, with 16 bytes"),
        (|it| it.input_edges[0].Desc = ptr::null(), "graph: InputEdges[0].Desc: null"),
        (|it| it.output_edges[0].Desc = ptr::null(), "graph: OutputEdges[0].Desc: null"),
        (
            |it| it.intermediate_edges[1].Desc = ptr::null(),
            "graph: IntermediateEdges[1].Desc: null",
        ),
    ]);
}

/// An impossible count is refused before the array is read.
#[test]
fn counts_that_cannot_be_true_are_refused() {
    all_refused(&[
        (|it| it.desc.NodeCount = u32::MAX, "graph: Nodes: 4294967295 elements, more than 65536"),
        (|it| it.desc.InputEdgeCount = 65537, "graph: InputEdges: 65537 elements"),
        (|it| it.desc.OutputEdgeCount = u32::MAX, "graph: OutputEdges: 4294967295 elements"),
        (
            |it| it.desc.IntermediateEdgeCount = u32::MAX,
            "graph: IntermediateEdges: 4294967295 elements",
        ),
        (
            |it| it.constant.DataSize = u64::MAX,
            "graph: Nodes[1].Data: 18446744073709551615 bytes, more than 34359738360",
        ),
        (|it| it.desc.InputCount = u32::MAX, "graph: InputCount: 4294967295 is too many"),
        (|it| it.desc.OutputCount = 2, "graph: OutputCount: 2"),
    ]);
}

#[test]
fn unknown_types_are_refused_with_their_path() {
    all_refused(&[
        (
            |it| it.nodes[2].Type = 0,
            "graph: Nodes[2].Type: 0 is not a type of node; accepted: 1 (OPERATOR), 2 (CONSTANT)",
        ),
        (|it| it.nodes[1].Type = 3, "graph: Nodes[1].Type: 3 is not a type of node"),
        (
            |it| it.operators[1].Type = 1000,
            "graph: Nodes[2].Operator: DML_OPERATOR_DESC.Type: 1000 is not an operator",
        ),
        (
            |it| it.buffers[0].DataType = 99,
            "graph: Nodes[0].Operator: ELEMENT_WISE_ADD: ATensor.DataType: 99 is not a data type",
        ),
        (
            |it| it.input_edges[0].Type = 0,
            "graph: InputEdges[0].Type: 0 is not the type of these edges; accepted: 1 (INPUT)",
        ),
        (
            |it| it.output_edges[0].Type = 3,
            "graph: OutputEdges[0].Type: 3 is not the type of these edges; accepted: 2 (OUTPUT)",
        ),
        (
            |it| it.intermediate_edges[1].Type = 2,
            "graph: IntermediateEdges[1].Type: 2 is not the type of these edges; \
             accepted: 3 (INTERMEDIATE)",
        ),
    ]);
}

#[test]
fn names_that_are_no_utf_8_are_refused() {
    all_refused(&[
        (
            |it| it.operator_nodes[0].Name = c"a\xFF\n".as_ptr(),
            r#"graph: Nodes[0].Name: "a\xff\n" is no UTF-8; accepted: UTF-8, or null"#,
        ),
        (|it| it.constant.Name = c"\x80".as_ptr(), r#"graph: Nodes[1].Name: "\x80" is no UTF-8"#),
        (|it| it.input.Name = c"\xC3".as_ptr(), r#"InputEdges[0].Name: "\xc3" is no UTF-8"#),
        (|it| it.output.Name = c"\xC3".as_ptr(), r#"OutputEdges[0].Name: "\xc3" is no UTF-8"#),
        (
            |it| it.intermediate[1].Name = c"\xC3".as_ptr(),
            r#"IntermediateEdges[1].Name: "\xc3" is no UTF-8"#,
        ),
    ]);
}

/// A message is one line, whatever the names in it.
#[test]
fn names_with_line_breaks_do_not_break_a_message() {
    all_refused(&[(
        |it| {
            it.operator_nodes[1].Name = c"the\nresult\x07".as_ptr();
            it.intermediate[1].FromNodeIndex = 2;
        },
        "graph: IntermediateEdges: Nodes[2] (the result ) read each other in a cycle",
    )]);
}

/// Graphs from C get the same errors as graphs from Rust.
#[test]
fn rules_of_graphs_hold() {
    all_refused(&[
        (|it| it.input.ToNodeIndex = 7, "graph: InputEdges[0].ToNodeIndex: 7 is not a node"),
        (|it| it.output.FromNodeOutputIndex = 1, "graph: OutputEdges[0].FromNodeOutputIndex: 1"),
        (
            |it| {
                it.intermediate[0].Name = c"b".as_ptr();
                it.intermediate[0].ToNodeInputIndex = 2;
            },
            "graph: IntermediateEdges[0] (b).ToNodeInputIndex: 2",
        ),
        (|it| it.intermediate[1].FromNodeIndex = 2, "Nodes[2] (result) read each other in a cycle"),
        (|it| it.desc.IntermediateEdgeCount = 1, "graph: Nodes[2] (result).InputTensor"),
        (|it| it.constant.DataSize = 12, "bytes are read from Nodes[1], which has fewer"),
        (|it| it.buffers[1].TotalTensorSizeInBytes = 12, "graph: Nodes[0] (sum): ELEMENT_WISE_ADD"),
    ]);
}

#[test]
fn the_call_itself_is_checked() {
    let device = create_device(0, 0, 0);
    let graph = Graph::new(0);
    refused(graph.compile(device, 8).0, E_INVALIDARG, "execution flags: 0x8");
    refused(graph.compile(ptr::null_mut(), 0).0, E_INVALIDARG, "device: the handle is null");
    // SAFETY: null is what every pointer of this interface may be.
    let (code, operator) =
        made(|place| unsafe { dmlvk_compile_graph(device, ptr::null(), 0, place) });
    refused(code, E_INVALIDARG, "dmlvk_compile_graph: DML_GRAPH_DESC: null");
    assert!(operator.is_null());
    // SAFETY: as above.
    let code = unsafe { dmlvk_compile_graph(device, &raw const graph.desc, 0, ptr::null_mut()) };
    refused(code, E_INVALIDARG, "compiled: null");
    destroy(device);
    for (level, wanted) in
        [(0x2000, "needs feature level 2_1"), (0x6100, "needs feature level 6_2")]
    {
        let device = create_device(0, 0, level);
        refused(graph.compile(device, 0).0, E_INVALIDARG, wanted);
        destroy(device);
    }
}
