//! ONNX operators with data-dependent output sizes, compared with ONNX Runtime.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::onnx::{Message, node};
use common::single::{check, judged, refusal};
use common::{f32s, int64};
use dml_import::{ElementType, Tensor};

fn suppression(centered: i64) -> Message {
    let inputs = ["boxes", "scores", "count", "overlap", "least"];
    node("NonMaxSuppression", &inputs, &["y"], &[("center_point_box", centered)])
}

/// Boxes of one batch whose corners are `[0, x]` and `[1, x + 1]`.
fn row(places: &[f32]) -> Tensor {
    let numbers: Vec<f32> = places.iter().flat_map(|x| [0., *x, 1., *x + 1.]).collect();
    f32s(&[1, places.len() as u64, 4], &numbers)
}

fn truths(values: &[u8]) -> Tensor {
    Tensor::new(ElementType::Bool, [values.len() as u64], values.to_vec()).unwrap()
}

/// Checks which boxes, given by their corners, are selected.
fn chosen(inputs: [&Tensor; 5], expected: &Tensor) {
    let names = ["boxes", "scores", "count", "overlap", "least"];
    let all: Vec<(&str, &Tensor)> = names.into_iter().zip(inputs).collect();
    check(&suppression(0), &all, expected);
}

#[test]
fn of_equal_scores_the_first_box_comes_first() {
    let (boxes, scores) = (row(&[0., 5., 10., 15.]), f32s(&[1, 1, 4], &[0.5, -0.0, 0.5, 0.0]));
    let (count, overlap, least) = (int64(&[1], &[9]), f32s(&[1], &[0.5]), f32s(&[], &[-1.]));
    let expected = int64(&[4, 3], &[0, 0, 0, 0, 0, 2, 0, 0, 1, 0, 0, 3]);
    chosen([&boxes, &scores, &count, &overlap, &least], &expected);
}

#[test]
fn what_is_equal_to_a_threshold_is_not_above_it() {
    // Two boxes that share half of each: their intersection over union is a third.
    let (boxes, scores) = (row(&[0., 0.5, 9.]), f32s(&[1, 1, 3], &[0.75, 0.5, 0.25]));
    let (count, least) = (int64(&[], &[9]), f32s(&[1], &[0.25]));
    let of_overlap = |overlap: f32, expected: &Tensor| {
        chosen([&boxes, &scores, &count, &f32s(&[1], &[overlap]), &least], expected);
    };
    of_overlap(1. / 3., &int64(&[2, 3], &[0, 0, 0, 0, 0, 1]));
    of_overlap(0.33, &int64(&[1, 3], &[0, 0, 0]));
}

#[test]
fn nothing_is_chosen_of_no_boxes_nor_without_a_count() {
    let few = node("NonMaxSuppression", &["boxes", "scores"], &["y"], &[]);
    let (boxes, scores) = (row(&[0.]), f32s(&[1, 1, 1], &[1.]));
    let none = int64(&[0, 3], &[]);
    check(&few, &[("boxes", &boxes), ("scores", &scores)], &none);
    let counted = node("NonMaxSuppression", &["boxes", "scores", "count"], &["y"], &[]);
    let (boxes, scores) = (f32s(&[1, 0, 4], &[]), f32s(&[1, 1 << 60, 0], &[]));
    let count = int64(&[1], &[i64::MAX]);
    check(&counted, &[("boxes", &boxes), ("scores", &scores), ("count", &count)], &none);
    let count = int64(&[1], &[i64::MIN]);
    let (boxes, scores) = (row(&[0.]), f32s(&[1, 1, 1], &[1.]));
    check(&counted, &[("boxes", &boxes), ("scores", &scores), ("count", &count)], &none);
}

#[test]
fn boxes_that_do_not_fit_are_refused() {
    let counted = node("NonMaxSuppression", &["boxes", "scores", "count"], &["y"], &[]);
    let (boxes, scores, count) = (row(&[0.]), f32s(&[1, 1, 2], &[1.; 2]), int64(&[1], &[1]));
    let error = refusal(&counted, &[("boxes", &boxes), ("scores", &scores), ("count", &count)]);
    assert!(
        error.contains("scores: [1, 1, 2] is the wrong shape; accepted: [1, classes, 1]"),
        "{error}"
    );
    let (scores, overlap) = (f32s(&[1, 1, 1], &[1.]), f32s(&[1], &[f32::NAN]));
    let inputs = ["boxes", "scores", "count", "overlap"];
    let all = [("boxes", &boxes), ("scores", &scores), ("count", &count), ("overlap", &overlap)];
    let error = refusal(&node("NonMaxSuppression", &inputs, &["y"], &[]), &all);
    assert!(
        error.contains("iou_threshold: NaN is not a part of an area; accepted: 0 to 1"),
        "{error}"
    );
    let wrong = node("NonMaxSuppression", &inputs, &["y"], &[("center_point_box", 2)]);
    let error = refusal(&wrong, &all);
    assert!(error.contains("attribute center_point_box: 2 is not a format of boxes"), "{error}");
}

/// No boxes overlap, so each is compared with all earlier ones.
#[test]
fn boxes_beyond_the_limit_of_the_host_are_refused_at_once() {
    let places: Vec<f32> = (0..60_000_u16).map(|it| f32::from(it) * 2.).collect();
    let count = places.len() as u64;
    let (boxes, scores) = (row(&places), f32s(&[1, 1, count], &vec![1.; places.len()]));
    let most = int64(&[1], &[i64::MAX]);
    let counted = node("NonMaxSuppression", &["boxes", "scores", "count"], &["y"], &[]);
    let error = refusal(&counted, &[("boxes", &boxes), ("scores", &scores), ("count", &most)]);
    assert!(error.contains("computes more on the host than 4194304 elements"), "{error}");
}

#[test]
fn slices_are_kept_where_a_condition_is_true() {
    let x = f32s(&[2, 3], &[1., 2., 3., 4., 5., 6.]);
    let along = |axis| node("Compress", &["x", "c"], &["y"], &[("axis", axis)]);
    let kept = |node: &Message, condition: &[u8], expected: &Tensor| {
        check(node, &[("x", &x), ("c", &truths(condition))], expected);
    };
    kept(&along(-1), &[0, 1, 1], &f32s(&[2, 2], &[2., 3., 5., 6.]));
    // Slices beyond a short condition are left out, and true values beyond the end are ignored.
    kept(&along(0), &[1], &f32s(&[1, 3], &[1., 2., 3.]));
    kept(&along(0), &[0, 1, 1], &f32s(&[1, 3], &[4., 5., 6.]));
    kept(&along(1), &[], &f32s(&[2, 0], &[]));
    let flat = node("Compress", &["x", "c"], &["y"], &[]);
    kept(&flat, &[0, 1, 0, 0, 1], &f32s(&[2], &[2., 5.]));
    let error = refusal(&along(2), &[("x", &x), ("c", &truths(&[1]))]);
    assert!(error.contains("attribute axis: 2 is not a dimension; accepted: -2 to 1"), "{error}");
}

/// The four outputs of Unique.
fn unique(attributes: &[(&str, i64)], x: &Tensor, values: &Tensor, numbers: [&[i64]; 3]) {
    let names = ["y", "first", "inverse", "counts"];
    judged(&node("Unique", &["x"], &names, attributes), &[("x", x)], &names, |found| {
        assert_eq!(&found[0], values);
        for (found, numbers) in found[1..].iter().zip(numbers) {
            assert_eq!(found, &int64(&[numbers.len() as u64], numbers));
        }
    });
}

#[test]
fn what_is_repeated_is_found_once() {
    let x = f32s(&[6], &[2., 1., 1., 3., 4., 3.]);
    let values = f32s(&[4], &[1., 2., 3., 4.]);
    unique(&[], &x, &values, [&[1, 0, 3, 4], &[1, 0, 0, 2, 3, 2], &[2, 1, 2, 1]]);
    let values = f32s(&[4], &[2., 1., 3., 4.]);
    unique(&[("sorted", 0)], &x, &values, [&[0, 1, 3, 4], &[0, 1, 1, 2, 3, 2], &[1, 2, 2, 1]]);
    let rows = int64(&[3, 2], &[1, -1, 0, 5, 1, -1]);
    let values = int64(&[2, 2], &[0, 5, 1, -1]);
    unique(&[("axis", -2)], &rows, &values, [&[1, 0], &[1, 0, 1], &[1, 2]]);
    let columns = int64(&[2, 3], &[7, 7, 0, 7, 7, 0]);
    let values = int64(&[2, 2], &[0, 7, 0, 7]);
    unique(&[("axis", 1)], &columns, &values, [&[2, 0], &[1, 1, 0], &[1, 2]]);
}

#[test]
fn both_zeros_are_one_and_no_element_is_none() {
    let x = f32s(&[5], &[0., f32::NAN, -0., f32::NEG_INFINITY, f32::NAN]);
    let names = ["y", "first", "inverse", "counts"];
    judged(&node("Unique", &["x"], &names, &[]), &[("x", &x)], &names, |found| {
        assert_eq!(found[1], int64(&[3], &[3, 0, 1]));
        assert_eq!(found[2], int64(&[5], &[1, 2, 1, 0, 2]));
        assert_eq!(found[3], int64(&[3], &[1, 2, 2]));
    });
    let empty = [&[][..]; 3];
    unique(&[], &f32s(&[0], &[]), &f32s(&[0], &[]), empty);
    let vast = f32s(&[1 << 40, 0], &[]);
    let error = refusal(&node("Unique", &["x"], &["y"], &[("axis", 0)]), &[("x", &vast)]);
    assert!(error.contains("computes more on the host than 4194304 elements"), "{error}");
}
