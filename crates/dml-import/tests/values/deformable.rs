//! DeformConv.

use super::common::f32s;
use super::common::onnx::{ints, node};
use super::common::single::refusal_of;
use dml_import::Tensor;

/// An image of 4 by 5 elements, a filter of 2 by 2 taps, strides of 1 and 2, a padding of 1 at the top and the left.
const PLACES: [usize; 2] = [4, 5];
const OUTPUT: [usize; 2] = [4, 3];

/// A linear sample of an image; elements outside are 0.
fn sample(image: &[f32], y: f32, x: f32) -> f32 {
    let element = |y: f32, x: f32| {
        let is_inside = y >= 0.0 && x >= 0.0 && y < PLACES[0] as f32 && x < PLACES[1] as f32;
        if is_inside { image[y as usize * PLACES[1] + x as usize] } else { 0.0 }
    };
    let (top, left) = (y.floor(), x.floor());
    let (down, right) = (y - top, x - left);
    element(top, left) * (1.0 - down) * (1.0 - right)
        + element(top, left + 1.0) * (1.0 - down) * right
        + element(top + 1.0, left) * down * (1.0 - right)
        + element(top + 1.0, left + 1.0) * down * right
}

#[test]
fn samples_are_read_at_their_offsets_and_weighted_by_the_mask() {
    let (channels, filters, groups) = (4, 2, 2);
    let area = PLACES[0] * PLACES[1];
    let outputs = OUTPUT[0] * OUTPUT[1];
    let image = super::samples(channels * area, 1);
    let filter = super::samples(filters * 2 * 4, 2);
    let offset: Vec<f32> =
        super::samples(groups * 8 * outputs, 3).iter().map(|it| it * 2.0).collect();
    let (bias, mask) = (super::samples(filters, 4), super::samples(groups * 4 * outputs, 5));
    let mut expected = vec![];
    for f in 0..filters {
        for place in 0..outputs {
            let mut sum = bias[f];
            for depth in 0..2 {
                let channel = f * 2 + depth;
                let group = channel / (channels / groups);
                for tap in 0..4 {
                    let at = |axis: usize| offset[((group * 4 + tap) * 2 + axis) * outputs + place];
                    let y = (place / OUTPUT[1]) as f32 - 1.0 + (tap / 2) as f32 + at(0);
                    let x = (place % OUTPUT[1] * 2) as f32 - 1.0 + (tap % 2) as f32 + at(1);
                    let factor = mask[(group * 4 + tap) * outputs + place];
                    let weight = filter[(f * 2 + depth) * 4 + tap];
                    sum += weight * factor * sample(&image[channel * area..][..area], y, x);
                }
            }
            expected.push(sum);
        }
    }
    let node = node(
        "DeformConv",
        &["x", "w", "o", "b", "m"],
        &["y"],
        &[("group", 2), ("offset_group", 2)],
    );
    let node = node.message(5, ints("strides", &[1, 2])).message(5, ints("pads", &[1, 1, 0, 0]));
    let x = f32s(&[1, 4, 4, 5], &image);
    let (w, b) = (f32s(&[2, 2, 2, 2], &filter), f32s(&[2], &bias));
    let (o, m) = (f32s(&[1, 16, 4, 3], &offset), f32s(&[1, 8, 4, 3], &mask));
    let given = [("x", &x), ("w", &w), ("o", &o), ("b", &b), ("m", &m)];
    super::judged_of(22, &node, &given, &["y"], |found: &[Tensor]| {
        super::assert_near(&super::numbers(&found[0]), &expected);
    });
}

#[test]
fn offsets_must_have_two_coordinates_for_each_tap() {
    let x = f32s(&[1, 1, 3, 3], &[0.0; 9]);
    let (w, o) = (f32s(&[1, 1, 2, 2], &[0.0; 4]), f32s(&[1, 4, 2, 2], &[0.0; 16]));
    let error = refusal_of(
        22,
        &node("DeformConv", &["x", "w", "o"], &["y"], &[]),
        &[("x", &x), ("w", &w), ("o", &o)],
    );
    let message = "offset: [1, 4, 2, 2] is the wrong shape; accepted: [1, 8, 2, 2]";
    assert!(error.contains(message), "{error}");
}
