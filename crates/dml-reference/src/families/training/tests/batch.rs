use dml_core::operators::{
    BatchNormalizationDesc, BatchNormalizationGradDesc, BatchNormalizationTrainingDesc,
    BatchNormalizationTrainingGradDesc,
};

use super::{assert_near, numbers, outputs, packed, slopes};

const SIZES: [u32; 3] = [3, 2, 4];
/// Sizes of scales: per channel, per element of a picture, and one for all.
const ROWS: [[u32; 3]; 3] = [[1, 2, 1], [1, 2, 4], [1, 1, 1]];
const EPSILON: f32 = 0.125;

#[test]
fn gradients_by_given_moments_are_the_slopes_of_batch_normalization() {
    for row in ROWS {
        let forward = BatchNormalizationDesc {
            input_tensor: packed(&SIZES),
            mean_tensor: packed(&row),
            variance_tensor: packed(&row),
            scale_tensor: packed(&row),
            bias_tensor: packed(&row),
            output_tensor: packed(&SIZES),
            spatial: true,
            epsilon: EPSILON,
            fused_activation: None,
        };
        let of_rows = |name| numbers(name, &row, 0.5);
        let x = numbers("x", &SIZES, -0.5);
        let [mean, variance] = ["mean", "variance"].map(of_rows);
        let [scale, bias] = ["scale", "bias"].map(of_rows);
        let weights = numbers("weights", &SIZES, -0.3);
        let inputs = [x.clone(), mean.clone(), variance.clone(), scale.clone(), bias];
        let forward = forward.into();
        let backward = BatchNormalizationGradDesc {
            input_tensor: packed(&SIZES),
            input_gradient_tensor: packed(&SIZES),
            mean_tensor: packed(&row),
            variance_tensor: packed(&row),
            scale_tensor: packed(&row),
            output_gradient_tensor: packed(&SIZES),
            output_scale_gradient_tensor: packed(&row),
            output_bias_gradient_tensor: packed(&row),
            epsilon: EPSILON,
        };
        let given = [x, weights.clone(), mean, variance, scale];
        let found = outputs(&backward.into(), &given);
        for (output, input) in [0, 3, 4].into_iter().enumerate() {
            let what = format!("gradient {output} of {row:?}");
            assert_near(&what, &found[output], &slopes(&forward, &inputs, input, &weights));
        }
    }
}

#[test]
fn gradients_in_training_are_the_slopes_of_batch_normalization_in_training() {
    for row in ROWS {
        let forward = BatchNormalizationTrainingDesc {
            input_tensor: packed(&SIZES),
            scale_tensor: packed(&row),
            bias_tensor: packed(&row),
            fused_add_tensor: None,
            output_tensor: packed(&SIZES),
            output_mean_tensor: packed(&row),
            output_variance_tensor: packed(&row),
            epsilon: EPSILON,
            fused_activation: None,
        };
        let [scale, bias] = ["scale", "bias"].map(|name| numbers(name, &row, 0.5));
        let x = numbers("x", &SIZES, -0.5);
        let weights = numbers("weights", &SIZES, -0.3);
        let inputs = [x.clone(), scale.clone(), bias, vec![]];
        let forward = forward.into();
        let of_batch = outputs(&forward, &inputs);
        let backward = BatchNormalizationTrainingGradDesc {
            input_tensor: packed(&SIZES),
            input_gradient_tensor: packed(&SIZES),
            mean_tensor: packed(&row),
            variance_tensor: packed(&row),
            scale_tensor: packed(&row),
            output_gradient_tensor: packed(&SIZES),
            output_scale_gradient_tensor: packed(&row),
            output_bias_gradient_tensor: packed(&row),
            epsilon: EPSILON,
        };
        let given = [x, weights.clone(), of_batch[1].clone(), of_batch[2].clone(), scale];
        let found = outputs(&backward.into(), &given);
        for (output, input) in [0, 1, 2].into_iter().enumerate() {
            let what = format!("gradient {output} of {row:?}");
            assert_near(&what, &found[output], &slopes(&forward, &inputs, input, &weights));
        }
    }
}
