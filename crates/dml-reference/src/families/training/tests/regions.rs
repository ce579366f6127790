use dml_core::operators::{RoiAlign1Desc, RoiAlignGradDesc};
use dml_core::{AbstractOperator, DataType, InterpolationMode, ReduceFunction, TensorDesc};

use super::{assert_near, numbers, outputs, packed, slopes};

const SIZES: [u32; 4] = [2, 2, 5, 6];
const CELLS: [u32; 4] = [3, 2, 2, 3];
const BATCHES: [f64; 3] = [1.0, 0.0, 1.0];

/// Regions with some samples outside. No difference moves a sample from one element to the next.
const REGIONS: [[f64; 4]; 3] =
    [[0.3, 0.4, 4.55, 3.9], [5.2, 4.1, 1.15, 0.7], [-2.55, 1.35, 7.3, 4.15]];

struct Mode {
    function: ReduceFunction,
    interpolation: InterpolationMode,
    scales: [f32; 2],
    offsets: [f32; 2],
    samples: [u32; 2],
    to_corners: bool,
}

const LINEAR: Mode = Mode {
    function: ReduceFunction::Average,
    interpolation: InterpolationMode::Linear,
    scales: [1.0; 2],
    offsets: [0.5, -0.5],
    samples: [2, 2],
    to_corners: false,
};

fn modes() -> [Mode; 7] {
    let nearest = InterpolationMode::NearestNeighbor;
    [
        LINEAR,
        Mode { samples: [1, 3], ..LINEAR },
        Mode { scales: [0.75, 1.25], offsets: [0.0, -0.25], ..LINEAR },
        Mode { to_corners: true, ..LINEAR },
        Mode { interpolation: nearest, samples: [3, 3], ..LINEAR },
        Mode { function: ReduceFunction::Max, ..LINEAR },
        Mode { function: ReduceFunction::Max, interpolation: nearest, ..LINEAR },
    ]
}

fn both(mode: &Mode) -> [AbstractOperator; 2] {
    let batches = TensorDesc::packed(DataType::Uint32, &[3]);
    let forward = RoiAlign1Desc {
        input_tensor: packed(&SIZES),
        roi_tensor: packed(&[3, 4]),
        batch_indices_tensor: batches.clone(),
        output_tensor: packed(&CELLS),
        reduction_function: mode.function,
        interpolation_mode: mode.interpolation,
        spatial_scale_x: mode.scales[0],
        spatial_scale_y: mode.scales[1],
        input_pixel_offset: mode.offsets[0],
        output_pixel_offset: mode.offsets[1],
        // Less than all elements, so that no sample outside is the greatest. An average's slopes are not
        // affected.
        out_of_bounds_input_value: -4.0,
        minimum_samples_per_output: mode.samples[0],
        maximum_samples_per_output: mode.samples[1],
        align_regions_to_corners: mode.to_corners,
    };
    let backward = RoiAlignGradDesc {
        input_tensor: Some(packed(&SIZES)),
        input_gradient_tensor: packed(&CELLS),
        roi_tensor: packed(&[3, 4]),
        batch_indices_tensor: batches,
        output_gradient_tensor: Some(packed(&SIZES)),
        output_roi_gradient_tensor: Some(packed(&[3, 4])),
        reduction_function: mode.function,
        interpolation_mode: mode.interpolation,
        spatial_scale_x: mode.scales[0],
        spatial_scale_y: mode.scales[1],
        input_pixel_offset: mode.offsets[0],
        output_pixel_offset: mode.offsets[1],
        minimum_samples_per_output: mode.samples[0],
        maximum_samples_per_output: mode.samples[1],
        align_regions_to_corners: mode.to_corners,
    };
    [forward.into(), backward.into()]
}

#[test]
fn gradients_are_the_slopes_of_aligned_regions() {
    // Elements are so far apart that a difference does not change which sample is the greatest.
    let count = SIZES.iter().product::<u32>();
    let image: Vec<f64> = (0..count).map(|at| f64::from(at * 37 % count) / 16.0).collect();
    let given = [image, REGIONS.concat(), BATCHES.to_vec()];
    let weights = numbers("weights", &CELLS, -0.3);
    for mode in modes() {
        let [forward, backward] = both(&mode);
        let inputs = [given[0].clone(), weights.clone(), given[1].clone(), given[2].clone()];
        let found = outputs(&backward, &inputs);
        let expected = slopes(&forward, &given, 0, &weights);
        assert_near("elements", &found[0], &expected);
        let expected = slopes(&forward, &given, 1, &weights);
        if mode.interpolation == InterpolationMode::Linear {
            assert_near("regions", &found[1], &expected);
        } else {
            assert_eq!(found[1], [0.0; 12]);
        }
    }
}

/// At an element, the slopes before and after it differ; the gradient is 0, as the documentation's `floor` and
/// `ceil` are equal.
#[test]
fn samples_at_elements_have_no_slope() {
    let mode = Mode { offsets: [0.0; 2], samples: [1, 1], ..LINEAR };
    let [_, backward] = both(&mode);
    let image = (0..SIZES.iter().product()).map(|at: u32| f64::from(at * at)).collect();
    // Samples are at elements 0, 1 and 2 along the width, and between elements along the height.
    let regions = [[0.0, 0.25, 3.0, 2.25]; 3].concat();
    let found =
        outputs(&backward, &[image, numbers("weights", &CELLS, 0.5), regions, vec![0.0; 3]]);
    for region in found[1].chunks(4) {
        let [x1, y1, x2, y2] = region else { unreachable!("there are four numbers") };
        assert_eq!([*x1, *x2], [0.0; 2]);
        assert!(*y1 > 1.0 && *y2 > 1.0, "{region:?}");
    }
}
