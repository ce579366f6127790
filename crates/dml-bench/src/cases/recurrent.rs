//! LSTMs: what depends on the step before.

use dml::core::operators::{ACTIVATION_SIGMOID, ACTIVATION_TANH, LstmDesc};
use dml::{AbstractOperator, DataType, RecurrentNetworkDirection, TensorDesc};

use crate::case::{Baseline, Case, Other};
use crate::meaning::LongShortTerm;
use crate::operation::{Operation, share};

const TOLERANCE: f32 = 1e-5;

/// Each by itself: sequences, elements of a state, and steps.
pub(super) fn groups() -> Vec<Vec<Case>> {
    let all =
        [[1, 128, 64], [1, 128, 128], [1, 128, 256], [1, 128, 512], [8, 256, 64], [8, 256, 512]];
    let case = |[sequences, hidden, steps]: [u32; 3]| {
        let of = LongShortTerm { steps, sequences, elements: hidden, hidden };
        let id = format!("lstm/f32/{sequences}_of_{hidden}/{steps}");
        let one = Case::new(id, lstm(of), Baseline::Copy, None).computing();
        let peers = ["iree:lstm", "ncnn:lstm"].map(Other::told).to_vec();
        vec![Case { peers, ..one }]
    };
    all.map(case).to_vec()
}

fn lstm(of: LongShortTerm) -> Operation {
    let tensor = |sizes: [u32; 4]| TensorDesc::packed(DataType::Float32, &sizes);
    let LongShortTerm { steps, sequences, elements, hidden } = of;
    let function = |schema| AbstractOperator::nested(schema, vec![]).expect("it has no attributes");
    let [gate, state] = [&ACTIVATION_SIGMOID, &ACTIVATION_TANH].map(function);
    let desc = LstmDesc {
        input_tensor: tensor([1, steps, sequences, elements]),
        weight_tensor: tensor([1, 1, 4 * hidden, elements]),
        recurrence_tensor: tensor([1, 1, 4 * hidden, hidden]),
        bias_tensor: None,
        hidden_init_tensor: None,
        cell_mem_init_tensor: None,
        sequence_lengths_tensor: None,
        peephole_tensor: None,
        output_sequence_tensor: Some(tensor([steps, 1, sequences, hidden])),
        output_single_tensor: None,
        output_cell_single_tensor: None,
        activation_descs: vec![gate, state.clone(), state],
        direction: RecurrentNetworkDirection::Forward,
        clip_threshold: 0.0,
        use_clip_threshold: false,
        couple_input_forget: false,
    };
    // Sums are small and above 0: functions see the steep part of their range, and nothing cancels.
    let most = 2.0 / (elements + hidden) as f32;
    Operation::new(desc, move |inputs| of.of([&inputs[0], &inputs[1], &inputs[2]]))
        .with_input(0, share(0, 1.0))
        .with_input(1, share(1, most))
        .with_input(2, share(2, most))
        .within(TOLERANCE)
}
