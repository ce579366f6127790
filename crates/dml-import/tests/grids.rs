//! ONNX operators on grids, compared with ONNX's reference.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::onnx::{Message, node};
use common::single::{check, check_near, refusal};
use common::{f32s, int64};
use dml_import::{ElementType, Tensor};

fn sample(mode: &str, padding: &str, corners: i64) -> Message {
    let text = |name: &str, value: &str| {
        Message::default().text(1, name).bytes(4, value.as_bytes()).int(20, 3)
    };
    node("GridSample", &["x", "g"], &["y"], &[("align_corners", corners)])
        .message(5, text("mode", mode))
        .message(5, text("padding_mode", padding))
}

/// A row of 1, 2 and 4 sampled at these coordinates; 0 and 2 are the centers of its first and last element.
fn row(mode: &str, padding: &str, places: &[f32], expected: &[f32]) {
    let count = places.len() as u64;
    let x = f32s(&[1, 1, 3, 1], &[1., 2., 4.]);
    for (corners, scale) in [(1, 1.), (0, 2. / 3.)] {
        let grid: Vec<f32> = places.iter().flat_map(|place| [0., (place - 1.) * scale]).collect();
        let grid = f32s(&[1, 1, count, 2], &grid);
        check_near(
            &sample(mode, padding, corners),
            &[("x", &x), ("g", &grid)],
            &[1, 1, 1, count],
            expected,
        );
    }
}

#[test]
fn places_between_elements_are_weighed_sums() {
    let inside = [0., 0.25, 1.5, 2.];
    row("linear", "zeros", &inside, &[1., 1.25, 3., 4.]);
    row("nearest", "zeros", &inside, &[1., 1., 4., 4.]);
    row("cubic", "border", &[0., 1., 1.5, 2.], &[1., 2., 3.09375, 4.]);
}

#[test]
fn outside_is_zero_or_the_border() {
    row("linear", "zeros", &[-0.25, 2.5, 9.], &[0.75, 2., 0.]);
    row("linear", "border", &[-0.25, 2.5, 9.], &[1., 4., 4.]);
    row("nearest", "zeros", &[-1., 3., 9.], &[0., 0., 0.]);
    row("nearest", "border", &[-1., 3., 9.], &[1., 4., 4.]);
}

#[test]
fn mirrors_are_at_the_centers_or_the_edges_of_the_last_elements() {
    let x = f32s(&[1, 1, 3, 1], &[1., 2., 4.]);
    let at = |corners: i64, places: &[f32], expected: &[f32]| {
        let scale = if corners == 1 { 1. } else { 2. / 3. };
        let grid: Vec<f32> = places.iter().flat_map(|place| [0., (place - 1.) * scale]).collect();
        let count = places.len() as u64;
        let grid = f32s(&[1, 1, count, 2], &grid);
        let sample = sample("linear", "reflection", corners);
        check_near(&sample, &[("x", &x), ("g", &grid)], &[1, 1, 1, count], expected);
    };
    at(1, &[-1., 2.5, 4., 5.], &[2., 3., 1., 2.]);
    at(0, &[-1., 3., 4., 5., 6.], &[1., 4., 2., 1., 1.]);
}

#[test]
fn the_nearest_of_any_type_is_taken_in_three_dimensions() {
    let bytes: Vec<u8> = (0..8_i64).flat_map(|it| (it << 40).to_le_bytes()).collect();
    let x = Tensor::new(ElementType::INT64, [1, 1, 2, 2, 2], bytes).unwrap();
    let grid = f32s(&[1, 1, 1, 3, 3], &[1., -1., -1., -1., 1., 1., 9., 0., 0.]);
    let expected = int64(&[1, 1, 1, 1, 3], &[1 << 40, 6 << 40, 0]);
    check(&sample("nearest", "zeros", 1), &[("x", &x), ("g", &grid)], &expected);
}

#[test]
fn what_cannot_be_sampled_is_refused() {
    let (x, grid) = (f32s(&[1, 1, 1, 2, 2], &[0.; 4]), f32s(&[1, 1, 1, 1, 3], &[0.; 3]));
    let error = refusal(&sample("cubic", "zeros", 0), &[("x", &x), ("g", &grid)]);
    assert!(error.contains("3 dimensions are not sampled so, but 1 to 2"), "{error}");
    let wrong = f32s(&[1, 1, 1, 1, 2], &[0.; 2]);
    let error = refusal(&sample("linear", "zeros", 0), &[("x", &x), ("g", &wrong)]);
    assert!(error.contains("grid: [1, 1, 1, 1, 2] is the wrong shape"), "{error}");
    let none = f32s(&[1, 1, 0, 2], &[]);
    let grid = f32s(&[1, 1, 1, 2], &[0.; 2]);
    let error = refusal(&sample("linear", "zeros", 0), &[("x", &none), ("g", &grid)]);
    assert!(error.contains("X: [0, 2] is the wrong number of elements"), "{error}");
    check(
        &sample("linear", "zeros", 0),
        &[("x", &none), ("g", &f32s(&[1, 0, 1, 2], &[]))],
        &f32s(&[1, 1, 0, 1], &[]),
    );
}

#[test]
fn matrices_move_the_coordinates_of_a_grid() {
    let (theta, size) = (f32s(&[1, 2, 3], &[2., 0., 1., 0., 1., 0.]), int64(&[4], &[1, 3, 1, 2]));
    let affine = |corners| node("AffineGrid", &["t", "s"], &["y"], &[("align_corners", corners)]);
    let all = [("t", &theta), ("s", &size)];
    check_near(&affine(0), &all, &[1, 1, 2, 2], &[0., 0., 2., 0.]);
    check_near(&affine(1), &all, &[1, 1, 2, 2], &[-1., -1., 3., -1.]);
    let vast = int64(&[4], &[1, 1, 1 << 30, 1 << 30]);
    let error = refusal(&affine(0), &[("t", &theta), ("s", &vast)]);
    assert!(error.contains("computes more on the host than 4194304 elements"), "{error}");
}
