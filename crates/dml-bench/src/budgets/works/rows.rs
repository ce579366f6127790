//! Reductions, normalizations, and what sorts or adds up along rows.

use crate::budgets::work::OneNode;
use crate::budgets::work::Type::{self, F16, F32, I64};

/// Works that go along rows.
pub(super) fn works() -> Vec<OneNode> {
    let mut all = vec![softmax("softmax-f32", F32), softmax("softmax-f16", F16)];
    all.extend(normalizations());
    all.extend(reductions());
    all.extend([
        top_k("topk-40-of-50304", [1, 50304], 40),
        top_k("topk-10-of-4096x1024", [4096, 1024], 10),
        OneNode::new("cumsum-1024", "CumSum")
            .input(F32, &[1024, 1024])
            .int64s(&[], &[1])
            .output(F32, &[1024, 1024]),
    ]);
    all
}

fn softmax(name: &'static str, ty: Type) -> OneNode {
    let node = OneNode::new(name, "Softmax").input(ty, &[4096, 1024]);
    node.int("axis", -1).output(ty, &[4096, 1024])
}

fn layer_norm(name: &'static str, ty: Type) -> OneNode {
    let node = OneNode::new(name, "LayerNormalization").input(ty, &[4096, 768]);
    node.weight(ty, &[768]).weight(ty, &[768]).output(ty, &[4096, 768])
}

fn normalizations() -> Vec<OneNode> {
    vec![
        layer_norm("layernorm-f32", F32),
        layer_norm("layernorm-f16", F16),
        OneNode::new("rmsnorm-f32", "SimplifiedLayerNormalization")
            .input(F32, &[4096, 768])
            .weight(F32, &[768])
            .int("axis", -1)
            .output(F32, &[4096, 768]),
        OneNode::new("groupnorm-f32", "GroupNormalization")
            .input(F32, &[1, 320, 64, 64])
            .weight(F32, &[320])
            .weight(F32, &[320])
            .int("num_groups", 32)
            .output(F32, &[1, 320, 64, 64]),
        OneNode::new("instancenorm-f32", "InstanceNormalization")
            .input(F32, &[1, 64, 128, 128])
            .weight(F32, &[64])
            .weight(F32, &[64])
            .output(F32, &[1, 64, 128, 128]),
    ]
}

/// The sum of a matrix along these axes.
fn sum(name: &'static str, axes: &[i64], output: &[u64]) -> OneNode {
    let node = OneNode::new(name, "ReduceSum").input(F32, &[4096, 4096]);
    node.int64s(&[axes.len() as u64], axes).int("keepdims", 0).output(F32, output)
}

fn reductions() -> Vec<OneNode> {
    vec![
        sum("sum-of-rows", &[1], &[4096]),
        sum("sum-of-columns", &[0], &[4096]),
        sum("sum-of-all", &[0, 1], &[]),
        OneNode::new("global-average-pool", "GlobalAveragePool")
            .input(F32, &[1, 2048, 7, 7])
            .output(F32, &[1, 2048, 1, 1]),
        OneNode::new("argmax-f32", "ArgMax")
            .input(F32, &[4096, 1024])
            .int("axis", 1)
            .int("keepdims", 0)
            .output(I64, &[4096]),
    ]
}

/// The `count` largest of each row.
fn top_k(name: &'static str, [rows, columns]: [u64; 2], count: u64) -> OneNode {
    OneNode::new(name, "TopK")
        .input(F32, &[rows, columns])
        .int64s(&[1], &[count.cast_signed()])
        .int("axis", 1)
        .output(F32, &[rows, count])
        .output(I64, &[rows, count])
}
