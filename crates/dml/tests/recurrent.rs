//! Steps of LSTMs, whose cell and hidden states one kernel writes, have the bits of the host on every device.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::graphs::check;
use dml::core::operators::{ACTIVATION_SIGMOID, ACTIVATION_TANH, LstmDesc};
use dml::{
    AbstractOperator, DataType, GraphBuilder, GraphDesc, RecurrentNetworkDirection, TensorDesc,
};

/// Three steps of two inputs; with a last cell state as an output.
fn lstm(data_type: DataType, [sequences, hidden]: [u32; 2]) -> GraphDesc {
    const STEPS: u32 = 3;
    const ELEMENTS: u32 = 2;
    let tensor = |sizes: [u32; 4]| TensorDesc::packed(data_type, &sizes);
    let state = || Some(tensor([1, 1, sequences, hidden]));
    let function = |schema| AbstractOperator::nested(schema, vec![]).unwrap();
    let [gate, shown] = [&ACTIVATION_SIGMOID, &ACTIVATION_TANH].map(function);
    let desc = LstmDesc {
        input_tensor: tensor([1, STEPS, sequences, ELEMENTS]),
        weight_tensor: tensor([1, 1, 4 * hidden, ELEMENTS]),
        recurrence_tensor: tensor([1, 1, 4 * hidden, hidden]),
        bias_tensor: None,
        hidden_init_tensor: state(),
        cell_mem_init_tensor: state(),
        sequence_lengths_tensor: None,
        peephole_tensor: Some(tensor([1, 1, 1, 3 * hidden])),
        output_sequence_tensor: Some(tensor([STEPS, 1, sequences, hidden])),
        output_single_tensor: None,
        output_cell_single_tensor: state(),
        activation_descs: vec![gate, shown.clone(), shown],
        direction: RecurrentNetworkDirection::Forward,
        clip_threshold: 0.0,
        use_clip_threshold: false,
        couple_input_forget: false,
    };
    let mut graph = GraphBuilder::new();
    let [input, weight, recurrence, first, cell, peepholes] =
        std::array::from_fn(|_| graph.input());
    let inputs = [input, weight, recurrence, first, cell, peepholes];
    let states = graph.operator(desc, &inputs);
    // The sequence and the last cell state.
    let cell = graph.output_of(states, 2);
    graph.output(states);
    graph.output(cell);
    graph.finish()
}

#[test]
fn both_states_of_a_step_are_those_of_the_host() {
    let shapes = [[1, 16], [1, 19], [3, 5], [5, 8]];
    let all = [DataType::Float32, DataType::Float16]
        .into_iter()
        .flat_map(|data_type| shapes.map(|shape| (data_type, shape)));
    check(
        all.map(|(data_type, shape)| (format!("{data_type:?} {shape:?}"), lstm(data_type, shape))),
    );
}
