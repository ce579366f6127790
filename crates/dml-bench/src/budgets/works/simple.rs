//! Pooling, movement of elements, and what is computed element by element.

use crate::budgets::work::OneNode;
use crate::budgets::work::Type::{self, F16, F32, I8, I64};

/// Works without sums of products and without rows.
pub(super) fn works() -> Vec<OneNode> {
    let mut all = pooling_and_movement();
    all.extend([
        add("add-f32", F32),
        add("add-f16", F16),
        add("add-int8", I8),
        gelu("gelu-f32", F32),
        gelu("gelu-f16", F16),
        OneNode::new("add-bias-f32", "Add")
            .input(F32, &[1, 64, 512, 512])
            .input(F32, &[1, 64, 1, 1])
            .output(F32, &[1, 64, 512, 512]),
    ]);
    all
}

fn pool(name: &'static str, operator: &str, stride: i64, size: u64) -> OneNode {
    OneNode::new(name, operator)
        .input(F32, &[1, 64, size, size])
        .ints("kernel_shape", &[3, 3])
        .ints("strides", &[stride; 2])
        .ints("pads", &[1; 4])
        .output(F32, &[1, 64, 56, 56])
}

fn transpose(name: &'static str, ty: Type) -> OneNode {
    let node = OneNode::new(name, "Transpose").input(ty, &[4096, 4096]);
    node.ints("perm", &[1, 0]).output(ty, &[4096, 4096])
}

fn pooling_and_movement() -> Vec<OneNode> {
    let scales = [1.0_f32, 1.0, 2.0, 2.0].into_iter().flat_map(f32::to_le_bytes).collect();
    vec![
        pool("maxpool-3x3", "MaxPool", 2, 112),
        pool("avgpool-3x3", "AveragePool", 1, 56),
        OneNode::new("resize-linear-2x", "Resize")
            .input(F32, &[1, 64, 128, 128])
            .left_out()
            .constant(F32, &[4], scales)
            .text("mode", "linear")
            .output(F32, &[1, 64, 256, 256]),
        OneNode::new("gather-rows", "Gather")
            .weight(F32, &[8192, 768])
            .input(I64, &[4096])
            .output(F32, &[4096, 768]),
        transpose("transpose-f32", F32),
        transpose("transpose-f16", F16),
    ]
}

fn add(name: &'static str, ty: Type) -> OneNode {
    let node = OneNode::new(name, "Add").input(ty, &[4096, 4096]);
    node.input(ty, &[4096, 4096]).output(ty, &[4096, 4096])
}

fn gelu(name: &'static str, ty: Type) -> OneNode {
    OneNode::new(name, "Gelu").input(ty, &[4096, 3072]).output(ty, &[4096, 3072])
}
