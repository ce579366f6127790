//! ONNX operators on regions of interest: behaviour that ONNX's node tests do not cover.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::host::run_node;
use common::onnx::{Message, ints, node};
use common::{f32s, int64};
use dml_import::Tensor;

fn text(name: &str, text: &str) -> Message {
    Message::default().text(1, name).text(4, text).int(20, 3)
}

/// RoiAlign of a plane with elements 0, 1 and so on, with one cell per region.
fn align(
    version: i64,
    size: u64,
    region: [f32; 4],
    samples: i64,
    texts: &[(&str, &str)],
) -> Result<f32, String> {
    let values: Vec<f32> = (0..size * size).map(|it| it as f32).collect();
    let inputs = [
        ("x", f32s(&[1, 1, size, size], &values)),
        ("rois", f32s(&[1, 4], &region)),
        ("batches", int64(&[1], &[0])),
    ];
    let of = ["x", "rois", "batches"];
    let node = node("RoiAlign", &of, &["y"], &[("sampling_ratio", samples)]);
    let node = texts.iter().fold(node, |it, (name, value)| it.message(5, text(name, value)));
    let aligned = run_node(version, node, &inputs)?;
    assert_eq!(aligned.shape(), [1; 4]);
    Ok(f32::from_le_bytes(aligned.bytes().try_into().unwrap()))
}

/// The sum of the region's start and 1 is rounded up, so that the difference is more than 1.
#[test]
fn a_region_that_is_enlarged_to_one_element_has_one_sample() {
    let start = 1.361_646_5_f32;
    assert!(start + 1.0 - start > 1.0);
    let squares: Vec<f32> = (0..4).flat_map(|_| [0.0, 1.0, 4.0, 9.0]).collect();
    let inputs = [
        ("x", f32s(&[1, 1, 4, 4], &squares)),
        ("rois", f32s(&[1, 4], &[start, 1.0, 2.0, 2.0])),
        ("batches", int64(&[1], &[0])),
    ];
    let node = node("RoiAlign", &["x", "rois", "batches"], &["y"], &[("sampling_ratio", 0)]);
    let aligned = run_node(10, node, &inputs).unwrap();
    let found = f32::from_le_bytes(aligned.bytes().try_into().unwrap());
    // Between 1 and 4, where two samples would give 3.70.
    let expected = 1.0 + 3.0 * (start + 0.5 - 1.0);
    assert!((found - expected).abs() < 1e-5, "{found} for {expected}");
}

#[test]
fn regions_are_at_least_one_element_large_but_at_half_pixels() {
    let empty = [1.0; 4];
    // The mean of 4, 5, 7 and 8, half an element further; and at the pixel's corner, the mean of 0, 1, 3 and 4.
    assert_eq!(align(10, 3, empty, 1, &[]), Ok(6.0));
    assert_eq!(align(16, 3, empty, 1, &[]), Ok(2.0));
    let mode = ("coordinate_transformation_mode", "output_half_pixel");
    assert_eq!(align(22, 3, empty, 1, &[mode]), Ok(6.0));
}

#[test]
fn without_a_ratio_there_are_as_many_samples_as_elements() {
    assert_eq!(align(22, 3, [0.0, 0.0, 3.0, 3.0], 0, &[]), Ok(4.0));
    assert_eq!(align(22, 5, [0.0, 0.0, 5.0, 2.0], 0, &[]), Ok(4.5));
}

#[test]
fn the_greatest_is_that_of_neighbours_times_their_weights() {
    let modes = [("mode", "max"), ("coordinate_transformation_mode", "output_half_pixel")];
    assert_eq!(align(22, 3, [0.0, 0.0, 2.0, 2.0], 1, &modes), Ok(4.0));
    assert_eq!(align(22, 3, [0.0, 0.0, 3.0, 3.0], 1, &modes), Ok(2.0));
}

#[test]
fn the_greatest_elements_of_cells_are_those_of_rounded_corners() {
    let values: Vec<f32> = (0..16_u8).map(f32::from).collect();
    let pool = |rois: Tensor, shape: &[i64]| {
        let inputs = [("x", f32s(&[1, 1, 4, 4], &values)), ("rois", rois)];
        let node = node("MaxRoiPool", &["x", "rois"], &["y"], &[]);
        run_node(22, node.message(5, ints("pooled_shape", shape)), &inputs)
    };
    let rois = f32s(&[2, 5], &[0.0, 0.0, 0.2, 3.0, 2.9, 0.0, 1.0, 1.4, 0.6, 0.5]);
    let expected = f32s(&[2, 1, 2, 2], &[5.0, 7.0, 13.0, 15.0, 5.0, 5.0, 5.0, 5.0]);
    assert_eq!(pool(rois.clone(), &[2, 2]).unwrap(), expected);
    let refused = |rois, shape: &[i64], wanted: &str| {
        let error = pool(rois, shape).unwrap_err();
        assert!(error.contains(wanted), "{error}");
    };
    refused(rois.clone(), &[2, 0], "pooled_shape");
    refused(rois, &[2], "pooled_shape");
    refused(f32s(&[1, 4], &[0.0; 4]), &[1, 1], "rois");
}

#[test]
fn what_no_region_takes_is_refused() {
    let refused = |samples, texts: &[(&str, &str)], wanted: &str| {
        let error = align(22, 2, [0.0; 4], samples, texts).unwrap_err();
        assert!(error.contains(wanted), "{error}");
    };
    refused(-1, &[], "sampling_ratio");
    refused(1, &[("mode", "sum")], "mode");
    refused(1, &[("coordinate_transformation_mode", "pixel")], "coordinate_transformation_mode");
    refused(501, &[], "MinimumSamplesPerOutput");
}
