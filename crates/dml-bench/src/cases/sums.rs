//! Sums, and graphs of element-wise operators.

use dml::core::operators::ElementWiseAddDesc;
use dml::{DataType, TensorDesc};

use crate::case::{Baseline, Case, LAVAPIPE, Other};
use crate::chain::chain;
use crate::operation::Operation;

/// The groups of cases that are compared with each other.
pub(super) fn groups() -> Vec<Vec<Case>> {
    vec![additions(), chains()]
}

/// Sums of 16 M elements, which move three times the output's bytes if nothing is broadcast, and a copy twice
/// as many. The target for GPUs is 0.9 of a copy's bandwidth.
fn additions() -> Vec<Case> {
    const CONTIGUOUS: &str = "add/f32/64MiB";
    let sum = |id: &str, work: Operation, gpu_target: f64, beside: Option<Other>| Case {
        gpu_target: Some(gpu_target / 0.9),
        beside: beside.into_iter().collect(),
        ..Case::new(id, work, Baseline::Copy, None)
    };
    let packed = |data_type| packed(data_type, &[4096, 4096]);
    let first = sum(CONTIGUOUS, packed(DataType::Float32), 1.5, None);
    let half = Other { only_on: Some(LAVAPIPE), ..Other::at_most(1.3, CONTIGUOUS) };
    let channels = per_channel([64, 512 * 512]);
    let broadcast = Other::at_most(1.5, CONTIGUOUS);
    vec![
        Case { peers: addition_peers(), ..first },
        sum("add/f16/32MiB", packed(DataType::Float16), 1.5, Some(half)),
        sum("add/i8/16MiB", packed(DataType::Int8), 1.5, Some(Other::at_most(1.0, CONTIGUOUS))),
        sum("add/f32/64MiB/per_channel", channels, 1.0, Some(broadcast)),
    ]
}

/// clip(relu((a + b) / c)) of 16 M elements, as one kernel and as four, beside the sum alone.
fn chains() -> Vec<Case> {
    const SEPARATE: &str = "chain/f32/64MiB/separate";
    const SUM: &str = "chain/f32/64MiB/add_alone";
    let sizes = [4096, 4096];
    let fused = Case::new("chain/f32/64MiB/fused", chain(&sizes, true), Baseline::Copy, None);
    let sum = packed(DataType::Float32, &sizes);
    vec![
        Case { beside: vec![Other::at_most(0.6, SEPARATE), Other::told(SUM)], ..fused },
        Case::new(SEPARATE, chain(&sizes, false), Baseline::Copy, None),
        Case::new(SUM, sum, Baseline::Copy, None),
    ]
}

/// Peers on the same driver. The targets are for lavapipe alone.
fn addition_peers() -> Vec<Other> {
    let others = ["iree:add", "ncnn:add", "ncnn:add_alone"]
        .map(|name| Other { only_on: Some(LAVAPIPE), ..Other::at_most(1.0 / 1.5, name) });
    [&others[..], &[Other::told("torch:add")]].concat()
}

/// ELEMENT_WISE_ADD of two packed tensors.
fn packed(data_type: DataType, sizes: &[u32]) -> Operation {
    let tensor = || TensorDesc::packed(data_type, sizes);
    let (a_tensor, b_tensor, output_tensor) = (tensor(), tensor(), tensor());
    let desc = ElementWiseAddDesc { a_tensor, b_tensor, output_tensor };
    Operation::new(desc, |inputs| inputs[0].iter().zip(&inputs[1]).map(|(a, b)| a + b).collect())
}

/// ELEMENT_WISE_ADD of `channels` of so many elements, and one number for each channel.
fn per_channel([channels, elements]: [u32; 2]) -> Operation {
    let packed = TensorDesc::packed(DataType::Float32, &[channels, elements]);
    let desc = ElementWiseAddDesc {
        a_tensor: packed.clone(),
        b_tensor: packed.clone().with_strides(&[1, 0]),
        output_tensor: packed,
    };
    Operation::new(desc, move |inputs| {
        let channels = inputs[0].chunks(elements as usize).zip(&inputs[1]);
        channels.flat_map(|(channel, summand)| channel.iter().map(move |it| it + summand)).collect()
    })
}
