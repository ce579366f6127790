//! Descriptors that tests of lowering start from.

use dml_core::operators::{
    ConvolutionDesc, GemmDesc, MeanVarianceNormalization2Desc, MultiheadAttentionDesc,
};
use dml_core::{
    ConvolutionDirection, ConvolutionMode, MatrixTransform, MultiheadAttentionMaskType, TensorDesc,
};

pub use crate::families::diagonal::cases::{band, diagonal};
pub use crate::families::fill::cases::desc as filled;

/// The product of two matrices and its output, without a third matrix, a scale or an activation.
pub fn gemm([a, b, output]: [TensorDesc; 3], trans_b: MatrixTransform) -> GemmDesc {
    GemmDesc {
        a_tensor: a,
        b_tensor: b,
        c_tensor: None,
        output_tensor: output,
        trans_a: MatrixTransform::None,
        trans_b,
        alpha: 1.0,
        beta: 0.0,
        fused_activation: None,
    }
}

/// The convolution of an input and a filter in two dimensions, with its output: steps of 1, no padding, one group.
pub fn convolution([input, filter, output]: [TensorDesc; 3]) -> ConvolutionDesc {
    ConvolutionDesc {
        input_tensor: input,
        filter_tensor: filter,
        bias_tensor: None,
        output_tensor: output,
        mode: ConvolutionMode::CrossCorrelation,
        direction: ConvolutionDirection::Forward,
        strides: vec![1; 2],
        dilations: vec![1; 2],
        start_padding: vec![0; 2],
        end_padding: vec![0; 2],
        output_padding: vec![0; 2],
        group_count: 1,
        fused_activation: None,
    }
}

/// The attention of queries, keys and values, with its output, without a mask, biases or a past.
pub fn attention(
    [query, key, value, output]: [TensorDesc; 4],
    head_count: u32,
) -> MultiheadAttentionDesc {
    MultiheadAttentionDesc {
        query_tensor: Some(query),
        key_tensor: Some(key),
        value_tensor: Some(value),
        stacked_query_key_tensor: None,
        stacked_key_value_tensor: None,
        stacked_query_key_value_tensor: None,
        bias_tensor: None,
        mask_tensor: None,
        relative_position_bias_tensor: None,
        past_key_tensor: None,
        past_value_tensor: None,
        output_tensor: output,
        output_present_key_tensor: None,
        output_present_value_tensor: None,
        scale: 1.0,
        mask_filter_value: 0.0,
        head_count,
        mask_type: MultiheadAttentionMaskType::None,
    }
}

/// The normalization of a tensor over `axes` to a mean of 0 and a variance of 1, with a scale and a bias that are both read
/// by the view `parameters`.
pub fn normalization(
    tensor: &TensorDesc,
    parameters: &TensorDesc,
    axes: Vec<u32>,
) -> MeanVarianceNormalization2Desc {
    MeanVarianceNormalization2Desc {
        input_tensor: tensor.clone(),
        scale_tensor: Some(parameters.clone()),
        bias_tensor: Some(parameters.clone()),
        output_tensor: tensor.clone(),
        axes,
        use_mean: true,
        use_variance: true,
        epsilon: 1e-5,
        fused_activation: None,
    }
}
