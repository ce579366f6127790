//! The order in which a row's elements are added, written down again apart from the kernels.

use dml_core::host::{HostBuffer, HostMemory, interpret};
use dml_core::operators::ReduceDesc;
use dml_core::{Capabilities, DataType, ReduceFunction, Strategy, TensorDesc, Tuning};
use dml_reference::Random;

use crate::tests::{lower_for, with_window};
use crate::{Target, TransferUse};

/// A number, and what rounding has lost of it.
type State = (f32, f32);

/// How wrong an order is.
#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    None,
    Lanes,
    Tree,
    DroppedRest,
}

fn join((h, r): State, (g, q): State, mistake: Mistake) -> State {
    let sum = h + g;
    let b = sum - h;
    let lost = (h - (sum - b)) + (g - b);
    (sum, if mistake == Mistake::DroppedRest { 0.0 } else { lost + (r + q) })
}

/// Neighbours joined until one is left; as a mistake one after the other.
fn tree(mut states: Vec<State>, mistake: Mistake) -> State {
    if mistake == Mistake::Tree {
        return states.into_iter().reduce(|a, b| join(a, b, mistake)).expect("there is one");
    }
    while states.len() > 1 {
        let pair = |it: &[State]| it.iter().copied().reduce(|a, b| join(a, b, mistake));
        states = states.chunks(2).filter_map(pair).collect();
    }
    states[0]
}

/// The sum of a row: lanes of blocks of 128, then neighbours.
fn sum(row: &[f32], mistake: Mistake) -> f32 {
    let lanes = if mistake == Mistake::Lanes { 8 } else { 16 };
    let leaves = row.chunks(128).flat_map(|block| {
        (0..lanes.min(block.len())).map(move |lane| {
            let of_lane = block.iter().skip(lane).step_by(lanes).map(|it| (*it, 0.0));
            of_lane.reduce(|a, b| join(a, b, mistake)).expect("there is one")
        })
    });
    let (high, rest) = tree(leaves.collect(), mistake);
    high + rest
}

/// The sums that a target computes of rows whose elements lie `stride` apart.
fn sums(rows: &[Vec<f32>], stride: u32, target: &Target<'_>) -> Vec<f32> {
    let [count, length] = [rows.len(), rows[0].len()].map(|it| u32::try_from(it).unwrap());
    let strides = if stride == 1 { [length, 1] } else { [1, stride] };
    let input = TensorDesc::packed(DataType::Float32, &[count, length]).with_strides(&strides);
    let desc = ReduceDesc {
        function: ReduceFunction::Sum,
        input_tensor: input,
        output_tensor: TensorDesc::packed(DataType::Float32, &[count, 1]),
        axes: vec![1],
    };
    let plan = lower_for(desc, target);
    let [needed, size] = [&plan.inputs[0], &plan.outputs[0]].map(|it| it.as_ref().unwrap().size);
    let mut bytes = vec![0; usize::try_from(needed).unwrap()];
    for (number, row) in rows.iter().enumerate() {
        for (at, element) in row.iter().enumerate() {
            let place = 4 * (number * strides[0] as usize + at * strides[1] as usize);
            bytes[place..place + 4].copy_from_slice(&element.to_le_bytes());
        }
    }
    let mut host = HostMemory::for_plan(&plan);
    host.inputs = vec![Some(HostBuffer { bytes, offset: 0, size: needed })];
    let bytes = vec![0; usize::try_from(size).unwrap()];
    host.outputs = vec![Some(HostBuffer { bytes, offset: 0, size })];
    interpret(&plan.exec, &mut host, target.capabilities).unwrap();
    let bytes = &host.outputs[0].as_ref().unwrap().bytes;
    bytes.as_chunks::<4>().0[..rows.len()].iter().map(|it| f32::from_le_bytes(*it)).collect()
}

/// Numbers of many sizes of which each but the first has its opposite later on: what is left is what rounding makes of
/// them, in which orders differ.
fn row(random: &mut Random, length: usize) -> Vec<f32> {
    let number = |random: &mut Random| {
        f32::from_bits((random.word() & 0x807f_ffff) | (97 + random.below(60)) << 23)
    };
    let half: Vec<f32> = (0..length.div_ceil(2)).map(|_| number(random)).collect();
    let opposites = half.iter().skip(1).rev().map(|it| -it);
    half.iter().copied().chain(opposites).chain([1.0]).take(length).collect()
}

#[test]
fn a_row_is_added_in_one_order_whoever_adds_it() {
    let [least, small] = [Capabilities::vulkan_minimum(), with_window(1024, 16)];
    let mut card = Capabilities::vulkan_minimum();
    (card.limits.max_compute_work_group_invocations, card.limits.max_compute_work_group_size) =
        (1024, [1024; 3]);
    let groups = Tuning::new().with_strategy(Strategy::RowGroups);
    let targets = [(&least, Tuning::new()), (&small, Tuning::new()), (&card, groups)].map(
        |(capabilities, tuning)| Target { capabilities, tuning, transfer: TransferUse::Allowed },
    );
    let mut random = Random::new("rows");
    let mistakes = [Mistake::Lanes, Mistake::Tree, Mistake::DroppedRest];
    let mut found = [0; 3];
    for length in
        (1..40).chain([63, 64, 65, 127, 128, 129, 255, 257, 1000, 1279, 8192, 8193, 20_000])
    {
        let rows: Vec<Vec<f32>> = (0..3).map(|_| row(&mut random, length)).collect();
        let expected: Vec<f32> = rows.iter().map(|row| sum(row, Mistake::None)).collect();
        for target in &targets {
            for stride in [1, 5] {
                assert_eq!(
                    sums(&rows, stride, target),
                    expected,
                    "{length} by {stride}: {target:?}"
                );
            }
        }
        for (count, mistake) in found.iter_mut().zip(mistakes) {
            let other: Vec<f32> = rows.iter().map(|row| sum(row, mistake)).collect();
            *count += usize::from(other != expected);
        }
    }
    assert!(found.iter().all(|it| *it > 3), "the rows tell no orders apart: {found:?}");
}
