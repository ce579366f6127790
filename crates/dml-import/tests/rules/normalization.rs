//! Normalization.

use dml_core::DataType;
use dml_import::{ElementType, Tensor};

use crate::common::f32s;
use crate::common::onnx::{Message, float, ints, node};
use crate::common::single::{check, check_near, judged, refusal};

fn normalization(op: &str, inputs: &[&str], attributes: &[(&str, i64)]) -> Message {
    node(op, inputs, &["y"], attributes)
}

#[test]
fn norms_of_rows_do_not_leave_the_range_of_floats() {
    for (x, expected) in [
        ([1e-25, 0.0], [1.0, 0.0]),
        ([3e-20, 4e-20], [0.6, 0.8]),
        ([-3e-30, 4e-30], [-0.6, 0.8]),
        ([3e20, 4e20], [0.6, 0.8]),
        ([3e38, 0.0], [1.0, 0.0]),
        ([3e38, -3e38], [0.707_106_77, -0.707_106_77]),
        ([1e-37, 1e-37], [0.707_106_77, 0.707_106_77]),
        ([0.0, 0.0], [0.0, 0.0]),
        ([1e-30, 1.0], [1e-30, 1.0]),
    ] {
        let node = normalization("LpNormalization", &["x"], &[]);
        check_near(&node, &[("x", &f32s(&[2], &x))], &[2], &expected);
    }
    for (x, expected) in
        [([3e38, -3e38], [0.5, -0.5]), ([1e-37, 3e-37], [0.25, 0.75]), ([0.0, 0.0], [0.0, 0.0])]
    {
        let node = normalization("LpNormalization", &["x"], &[("p", 1)]);
        check_near(&node, &[("x", &f32s(&[2], &x))], &[2], &expected);
    }
    // Rows along the first dimension, of very different magnitudes.
    let x = f32s(&[2, 3], &[3e-25, 0.0, 3e25, 4e-25, 0.0, 4e25]);
    let node = normalization("LpNormalization", &["x"], &[("axis", 0)]);
    check_near(&node, &[("x", &x)], &[2, 3], &[0.6, 0.0, 0.6, 0.8, 0.0, 0.8]);
}

#[test]
fn norms_of_windows_do_not_leave_the_range_of_floats() {
    let x = [3e-20, 4e-20, 3e20, 4e20, 0.0, 0.0, 3.0, 4.0];
    let scaled = [5e-20, 5e20, 0.0, 5.0];
    let kernel = ints("kernel_shape", &[2]);
    let pool = normalization("LpPool", &["x"], &[]).message(5, kernel);
    let pool = pool.message(5, ints("strides", &[2]));
    for (part, expected) in x.chunks(2).zip(scaled) {
        let global = normalization("GlobalLpPool", &["x"], &[]);
        for node in [&pool, &global] {
            // Numbers near 0 are compared by relative error.
            judged(node, &[("x", &f32s(&[1, 1, 2], part))], &["y"], |outputs| {
                let norm = f32::from_le_bytes(outputs[0].bytes().try_into().unwrap());
                let is_near = norm == expected || (norm / expected - 1.0).abs() < 1e-6;
                assert!(is_near, "{norm} for {expected}");
            });
        }
    }
    // Neighbouring windows are scaled independently.
    check_near(&pool, &[("x", &f32s(&[1, 1, 8], &x))], &[1, 1, 4], &scaled);
    let x = f32s(&[1, 1, 2], &[1e20, 1e-20]);
    let cubes = normalization("GlobalLpPool", &["x"], &[("p", 3)]);
    check_near(&cubes, &[("x", &x)], &[1, 1, 1], &[1e20]);
}

#[test]
fn small_deviations_are_beside_what_is_added_to_them() {
    let axes = ints("axes", &[0]);
    let node = normalization("MeanVarianceNormalization", &["x"], &[]).message(5, axes);
    check_near(&node, &[("x", &f32s(&[2], &[0.0, 2e-6]))], &[2], &[-0.999_001, 0.999_001]);
    check_near(&node, &[("x", &f32s(&[2], &[1.0, 3.0]))], &[2], &[-1.0, 1.0]);
    for value in [0.0, 0.1, 3.3, 1e6] {
        check_near(&node, &[("x", &f32s(&[3], &[value; 3]))], &[3], &[0.0; 3]);
    }
}

#[test]
fn scales_and_biases_are_repeated_to_what_is_normalized() {
    let x = f32s(&[2, 3], &[0.0, 1.0, 2.0, 3.0, 5.0, 7.0]);
    let root = 1.224_736_f32;
    let normal = [-root, 0.0, root, -1.224_742, 0.0, 1.224_742];
    let of = |shape: &[u64], values: &[f32]| f32s(shape, values);
    let check_with = |scale: &Tensor, bias: &Tensor, scales: [f32; 6], biases: [f32; 6]| {
        let expected: Vec<f32> = (0..6).map(|at| normal[at] * scales[at] + biases[at]).collect();
        let node = normalization("LayerNormalization", &["x", "scale", "bias"], &[]);
        let inputs = [("x", &x), ("scale", scale), ("bias", bias)];
        check_near(&node, &inputs, &[2, 3], &expected);
    };
    for shape in [&[][..], &[1], &[1, 1]] {
        check_with(&of(shape, &[2.0]), &of(shape, &[1.0]), [2.0; 6], [1.0; 6]);
    }
    let row = [1.0, 2.0, 3.0];
    let rows = [1.0, 2.0, 3.0, 1.0, 2.0, 3.0];
    check_with(&of(&[3], &row), &of(&[], &[1.0]), rows, [1.0; 6]);
    check_with(&of(&[1, 3], &row), &of(&[2, 1], &[1.0, 4.0]), rows, [1.0, 1.0, 1.0, 4.0, 4.0, 4.0]);
    let all = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    check_with(&of(&[2, 3], &all), &of(&[2, 3], &all), all, all);
    check_with(&of(&[2, 1], &[1.0, 2.0]), &of(&[3], &row), [1.0, 1.0, 1.0, 2.0, 2.0, 2.0], rows);
}

#[test]
fn scales_are_repeated_within_several_dimensions_of_rows() {
    let x = f32s(&[1, 2, 2], &[1.0, -1.0, 1.0, -1.0]);
    let node = normalization("SimplifiedLayerNormalization", &["x", "scale"], &[("axis", 1)]);
    for (shape, values, expected) in [
        (&[2, 1][..], &[2.0, 3.0][..], [2.0, -2.0, 3.0, -3.0]),
        (&[2], &[2.0, 3.0], [2.0, -3.0, 2.0, -3.0]),
        (&[1, 1, 2], &[2.0, 3.0], [2.0, -3.0, 2.0, -3.0]),
        (&[], &[2.0], [2.0, -2.0, 2.0, -2.0]),
    ] {
        let scale = f32s(shape, values);
        check_near(&node, &[("x", &x), ("scale", &scale)], &[1, 2, 2], &expected);
    }
}

#[test]
fn a_scale_or_bias_of_another_shape_is_refused_by_its_name() {
    let x = f32s(&[2, 3], &[0.0; 6]);
    let [row, pair] = [f32s(&[3], &[1.0; 3]), f32s(&[2], &[1.0; 2])];
    let node = normalization("LayerNormalization", &["x", "scale", "bias"], &[]);
    let message = refusal(&node, &[("x", &x), ("scale", &pair), ("bias", &row)]);
    let expected = "scale: [2] is the wrong shape; accepted: shapes that are repeated to [2, 3]";
    assert!(message.contains(expected), "{message}");
    let message = refusal(&node, &[("x", &x), ("scale", &row), ("bias", &pair)]);
    assert!(message.contains("bias: [2] is the wrong shape"), "{message}");
    let wide = f32s(&[1, 2, 3], &[1.0; 6]);
    let message = refusal(&node, &[("x", &x), ("scale", &wide), ("bias", &row)]);
    assert!(message.contains("scale: [1, 2, 3] is the wrong shape"), "{message}");
    // These inputs must have exactly one element per channel.
    let x = f32s(&[1, 3, 2], &[0.0; 6]);
    let one = f32s(&[1], &[1.0]);
    let node = normalization("InstanceNormalization", &["x", "scale", "bias"], &[]);
    let message = refusal(&node, &[("x", &x), ("scale", &row), ("bias", &one)]);
    assert!(message.contains("bias: [1] is the wrong shape; accepted: [3]"), "{message}");
    let names = ["x", "scale", "bias", "mean", "variance"];
    let node = normalization("BatchNormalization", &names, &[]);
    let given = [("x", &x), ("scale", &row), ("bias", &row), ("mean", &one), ("variance", &row)];
    let message = refusal(&node, &given);
    assert!(message.contains("input_mean: [1] is the wrong shape; accepted: [3]"), "{message}");
}

#[test]
fn means_and_deviations_of_16_bit_rows_are_32_bit_floats() {
    let halves = |shape: &[u64], bits: &[u16]| {
        let bytes: Vec<u8> = bits.iter().flat_map(|it| it.to_le_bytes()).collect();
        Tensor::new(ElementType::Dml(DataType::Float16), shape, bytes).unwrap()
    };
    // 1 and 3, whose variance is 1; scales of 1.
    let (x, scale) = (halves(&[1, 2], &[0x3C00, 0x4200]), halves(&[2], &[0x3C00, 0x3C00]));
    let node = node("LayerNormalization", &["x", "scale"], &["y", "mean", "inverse"], &[]);
    let node = node.message(5, float("epsilon", 3.0));
    judged(&node, &[("x", &x), ("scale", &scale)], &["y", "mean", "inverse"], |found| {
        assert_eq!(found[0], halves(&[1, 2], &[0xB800, 0x3800]));
        assert_eq!(found[1..], [f32s(&[1, 1], &[2.0]), f32s(&[1, 1], &[0.5])]);
    });
}

#[test]
fn what_has_no_element_is_normalized_to_nothing() {
    let empty = f32s(&[0, 3], &[]);
    let row = f32s(&[3], &[1.0; 3]);
    for op in ["LpNormalization", "Softmax", "LogSoftmax", "Hardmax"] {
        check(&normalization(op, &["x"], &[]), &[("x", &empty)], &empty);
        let bare = f32s(&[3, 0], &[]);
        check(&normalization(op, &["x"], &[]), &[("x", &bare)], &bare);
    }
    let node = normalization("LayerNormalization", &["x", "scale"], &[]);
    check(&node, &[("x", &empty), ("scale", &row)], &empty);
    let images = f32s(&[0, 3, 2], &[]);
    let node = normalization("InstanceNormalization", &["x", "s", "b"], &[]);
    check(&node, &[("x", &images), ("s", &row), ("b", &row)], &images);
}
