use dml_core::AbstractOperator;
use dml_core::operators::{
    AveragePoolingDesc, AveragePoolingGradDesc, LocalResponseNormalizationDesc,
    LocalResponseNormalizationGradDesc, MaxPooling2Desc, MaxPoolingGradDesc,
};

use super::{assert_near, numbers, outputs, packed, slopes};

const SIZES: [u32; 4] = [1, 2, 5, 6];
/// The sizes of the gradients for windows of 2 by 3 elements, with strides of 2 and 1, and padding.
const WINDOWS: [u32; 4] = [1, 2, 3, 6];

#[test]
fn gradients_of_averages_are_the_slopes_of_average_pooling() {
    for include_padding in [false, true] {
        let (strides, window_size) = (vec![2, 1], vec![2, 3]);
        let (start_padding, end_padding) = (vec![1, 1], vec![0, 1]);
        let forward = AveragePoolingDesc {
            input_tensor: packed(&SIZES),
            output_tensor: packed(&WINDOWS),
            strides: strides.clone(),
            window_size: window_size.clone(),
            start_padding: start_padding.clone(),
            end_padding: end_padding.clone(),
            include_padding,
        };
        let backward = AveragePoolingGradDesc {
            input_gradient_tensor: packed(&WINDOWS),
            output_gradient_tensor: packed(&SIZES),
            strides,
            window_size,
            start_padding,
            end_padding,
            include_padding,
        };
        let weights = numbers("weights", &WINDOWS, -0.3);
        let expected = slopes(&forward.into(), &[numbers("x", &SIZES, 0.0)], 0, &weights);
        let found = outputs(&backward.into(), &[weights]);
        assert_near("average", &found[0], &expected);
    }
}

#[test]
fn gradients_of_greatest_elements_are_the_slopes_of_max_pooling() {
    let dilations = vec![1, 2];
    let (strides, window_size) = (vec![2, 1], vec![2, 3]);
    let (start_padding, end_padding) = (vec![1, 2], vec![0, 2]);
    let forward = MaxPooling2Desc {
        input_tensor: packed(&SIZES),
        output_tensor: packed(&WINDOWS),
        output_indices_tensor: None,
        strides: strides.clone(),
        window_size: window_size.clone(),
        start_padding: start_padding.clone(),
        end_padding: end_padding.clone(),
        dilations: dilations.clone(),
    };
    let backward = MaxPoolingGradDesc {
        input_tensor: packed(&SIZES),
        input_gradient_tensor: packed(&WINDOWS),
        output_gradient_tensor: packed(&SIZES),
        strides,
        window_size,
        start_padding,
        end_padding,
        dilations,
    };
    // Elements are so far apart that a difference does not change which one is the greatest.
    let count = SIZES.iter().product::<u32>();
    let x: Vec<f64> = (0..count).map(|at| f64::from(at * 37 % count) / 16.0).collect();
    let weights = numbers("weights", &WINDOWS, -0.3);
    let expected = slopes(&forward.into(), std::slice::from_ref(&x), 0, &weights);
    let found = outputs(&backward.into(), &[x, weights]);
    assert_near("greatest", &found[0], &expected);
}

#[test]
fn gradients_of_responses_are_the_slopes_of_local_response_normalization() {
    for (cross_channel, local_size) in [(true, 2), (false, 3), (false, 4)] {
        let (alpha, beta, bias) = (0.75, 0.6, 1.5);
        let forward = LocalResponseNormalizationDesc {
            input_tensor: packed(&SIZES),
            output_tensor: packed(&SIZES),
            cross_channel,
            local_size,
            alpha,
            beta,
            bias,
        };
        let backward = LocalResponseNormalizationGradDesc {
            input_tensor: packed(&SIZES),
            input_gradient_tensor: packed(&SIZES),
            output_gradient_tensor: packed(&SIZES),
            cross_channel,
            local_size,
            alpha,
            beta,
            bias,
        };
        let x = numbers("x", &SIZES, 0.5);
        let weights = numbers("weights", &SIZES, -0.3);
        let forward: AbstractOperator = forward.into();
        let expected = slopes(&forward, std::slice::from_ref(&x), 0, &weights);
        let found = outputs(&backward.into(), &[x, weights]);
        assert_near("response", &found[0], &expected);
    }
}
