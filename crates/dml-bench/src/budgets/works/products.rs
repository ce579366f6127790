//! Matrices, convolutions, attention and LSTM.

use crate::budgets::work::OneNode;
use crate::budgets::work::Type::{self, F16, F32, I8, I32, U8};

/// Works whose sums are of products.
pub(super) fn works() -> Vec<OneNode> {
    let mut all = vec![
        matmul("gemm-f32-4096", F32, 4096, 4096),
        matmul("gemm-f16-4096", F16, 4096, 4096),
        matmul("gemm-f32-1024", F32, 1024, 1024),
        matmul("gemm-f16-1024", F16, 1024, 1024),
        matmul("gemv-f32-4096", F32, 1, 4096),
        matmul("gemv-f16-4096", F16, 1, 4096),
        matmul("gemm-f32-8x4096", F32, 8, 4096),
        matmul("gemm-f16-8x4096", F16, 8, 4096),
    ];
    all.extend(transposed_and_quantized());
    all.extend(convolutions());
    all.extend([attention("attention-f32", F32), attention("attention-f16", F16), lstm()]);
    all
}

/// `rows` x `size` by `size` x `size`.
fn matmul(name: &'static str, ty: Type, rows: u64, size: u64) -> OneNode {
    let node = OneNode::new(name, "MatMul").input(ty, &[rows, size]);
    node.weight(ty, &[size, size]).output(ty, &[rows, size])
}

fn transposed_and_quantized() -> Vec<OneNode> {
    vec![
        OneNode::new("gemv-f32-transposed", "Gemm")
            .input(F32, &[1, 4096])
            .weight(F32, &[4096, 4096])
            .int("transB", 1)
            .output(F32, &[1, 4096]),
        OneNode::new("gemm-int8-1024", "MatMulInteger")
            .input(U8, &[1024, 1024])
            .weight(I8, &[1024, 1024])
            .output(I32, &[1024, 1024]),
        int4("gemv-int4-f32", F32),
        int4("gemv-int4-f16", F16),
    ]
}

/// A row by a matrix of 4-bit weights, in blocks of 32.
fn int4(name: &'static str, ty: Type) -> OneNode {
    let node = OneNode::new(name, "MatMulNBits").of_microsoft().input(ty, &[1, 4096]);
    let node = node.weight(U8, &[4096, 128, 16]).weight(ty, &[4096 * 128]);
    let sizes = [("K", 4096), ("N", 4096), ("bits", 4), ("block_size", 32)];
    sizes.into_iter().fold(node, |node, (name, value)| node.int(name, value)).output(ty, &[1, 4096])
}

/// A convolution of `channels` x `size` x `size`, with margins that keep the size.
fn convolution(
    name: &'static str,
    [channels, size]: [u64; 2],
    [filters, channels_of_filter, side]: [u64; 3],
) -> OneNode {
    let margin = i64::from(side > 1);
    OneNode::new(name, "Conv")
        .input(F32, &[1, channels, size, size])
        .weight(F32, &[filters, channels_of_filter, side, side])
        .ints("pads", &[margin; 4])
        .output(F32, &[1, filters, size, size])
}

fn convolutions() -> Vec<OneNode> {
    let depthwise = convolution("conv-depthwise-3x3-144", [144, 56], [144, 1, 3]);
    vec![
        convolution("conv-3x3-64", [64, 56], [64, 64, 3]),
        convolution("conv-3x3-256", [256, 56], [256, 256, 3]),
        convolution("conv-1x1-256-64", [256, 56], [64, 256, 1]),
        depthwise.int("group", 144),
        OneNode::new("conv-transposed-2x2", "ConvTranspose")
            .input(F32, &[1, 128, 64, 64])
            .weight(F32, &[128, 64, 2, 2])
            .ints("strides", &[2, 2])
            .output(F32, &[1, 64, 128, 128]),
        quantized_convolution(),
    ]
}

fn quantized_convolution() -> OneNode {
    let scale = || 0.02_f32.to_le_bytes().to_vec();
    OneNode::new("conv-int8-3x3-64", "QLinearConv")
        .input(U8, &[1, 64, 56, 56])
        .constant(F32, &[], scale())
        .constant(U8, &[], vec![128])
        .weight(I8, &[64, 64, 3, 3])
        .constant(F32, &[], scale())
        .constant(I8, &[], vec![0])
        .constant(F32, &[], scale())
        .constant(U8, &[], vec![128])
        .ints("pads", &[1; 4])
        .output(U8, &[1, 64, 56, 56])
}

/// 12 heads of 64, 1024 queries and keys.
fn attention(name: &'static str, ty: Type) -> OneNode {
    let node = OneNode::new(name, "MultiHeadAttention").of_microsoft().int("num_heads", 12);
    let shape = [1, 1024, 768];
    (0..3).fold(node, |node, _| node.input(ty, &shape)).output(ty, &shape)
}

/// 16 steps of one sequence.
fn lstm() -> OneNode {
    const HIDDEN: u64 = 512;
    OneNode::new("lstm-512", "LSTM")
        .input(F32, &[16, 1, HIDDEN])
        .weight(F32, &[1, 4 * HIDDEN, HIDDEN])
        .weight(F32, &[1, 4 * HIDDEN, HIDDEN])
        .weight(F32, &[1, 8 * HIDDEN])
        .int("hidden_size", HIDDEN.cast_signed())
        .output(F32, &[16, 1, 1, HIDDEN])
}
