//! Attention of one sequence, from a short one to a long one.

use dml::core::operators::MultiheadAttentionDesc;
use dml::{DataType, TensorDesc};
use dml_reference::descriptors;
use serde_json::json;

use crate::case::{Baseline, Case, Other};
use crate::meaning::Attention;
use crate::operation::{Operation, share};

/// Sums of as many positive numbers as there are keys, one after the other.
const TOLERANCE: f32 = 3e-5;

/// Each by itself: twelve heads of 64 elements, as BERT has them.
pub(super) fn groups() -> Vec<Vec<Case>> {
    let case = |steps: u32| {
        let of = Attention { steps, heads: 12, elements: 64 };
        let id = format!("attention/f32/12_heads_of_64/{steps}");
        let one = Case::new(id, attention(of), Baseline::Copy, None).computing();
        let peers =
            ["iree:attention", "ncnn:attention", "torch:attention"].map(Other::told).to_vec();
        let parameters = json!({"heads": of.heads, "scale": of.scale()});
        vec![Case { peers, parameters, ..one }]
    };
    [128, 256, 512, 1024, 2048].map(case).to_vec()
}

fn attention(of: Attention) -> Operation {
    let tensor = || TensorDesc::packed(DataType::Float32, &[1, of.steps, of.heads * of.elements]);
    let desc = MultiheadAttentionDesc {
        scale: of.scale(),
        ..descriptors::attention([tensor(), tensor(), tensor(), tensor()], of.heads)
    };
    Operation::new(desc, move |inputs| of.of([&inputs[0], &inputs[1], &inputs[2]]))
        .with_most(2)
        .with_input(2, share(2, 1.0))
        .within(TOLERANCE)
}
