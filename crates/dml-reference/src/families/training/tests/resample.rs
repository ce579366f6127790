use dml_core::operators::{Resample1Desc, Resample2Desc, ResampleGrad1Desc, ResampleGradDesc};
use dml_core::{AbstractOperator, AxisDirection, InterpolationMode};

use super::{assert_near, numbers, outputs, packed, slopes};

/// Input and output sizes, and for each dimension the scale; and the offsets of input and output.
type Shape = ([u32; 3], [u32; 3], [f32; 3], f32, f32);

const SHAPES: [Shape; 3] = [
    ([2, 3, 4], [2, 6, 9], [1.0, 2.0, 2.25], 0.5, -0.5),
    ([1, 8, 7], [1, 4, 3], [1.0, 0.5, 0.45], 0.5, -0.5),
    ([2, 3, 3], [3, 5, 4], [1.5, 1.5, 1.25], -0.25, 0.75),
];

#[test]
fn gradients_are_the_slopes_of_resampling() {
    for (sizes, output, scales, input_offset, output_offset) in SHAPES {
        let [scales, input, after] =
            [scales, [input_offset; 3], [output_offset; 3]].map(|it| it.to_vec());
        for interpolation_mode in [InterpolationMode::NearestNeighbor, InterpolationMode::Linear] {
            let forward = Resample1Desc {
                input_tensor: packed(&sizes),
                output_tensor: packed(&output),
                interpolation_mode,
                scales: scales.clone(),
                input_pixel_offsets: input.clone(),
                output_pixel_offsets: after.clone(),
            };
            let backward = ResampleGradDesc {
                input_gradient_tensor: packed(&output),
                output_gradient_tensor: packed(&sizes),
                interpolation_mode,
                scales: scales.clone(),
                input_pixel_offsets: input.clone(),
                output_pixel_offsets: after.clone(),
            };
            check([forward.into(), backward.into()], [&sizes, &output]);
            for rounding_direction in [AxisDirection::Increasing, AxisDirection::Decreasing] {
                let forward = Resample2Desc {
                    input_tensor: packed(&sizes),
                    output_tensor: packed(&output),
                    interpolation_mode,
                    rounding_direction,
                    scales: scales.clone(),
                    input_pixel_offsets: input.clone(),
                    output_pixel_offsets: after.clone(),
                };
                let backward = ResampleGrad1Desc {
                    input_gradient_tensor: packed(&output),
                    output_gradient_tensor: packed(&sizes),
                    interpolation_mode,
                    rounding_direction,
                    scales: scales.clone(),
                    input_pixel_offsets: input.clone(),
                    output_pixel_offsets: after.clone(),
                };
                check([forward.into(), backward.into()], [&sizes, &output]);
            }
        }
    }
}

fn check([forward, backward]: [AbstractOperator; 2], [sizes, output]: [&[u32]; 2]) {
    let weights = numbers("weights", output, -0.3);
    let expected = slopes(&forward, &[numbers("x", sizes, 0.0)], 0, &weights);
    let found = outputs(&backward, &[weights]);
    assert_near(backward.schema().name, &found[0], &expected);
}
