//! QuantizeLinear and DequantizeLinear: blocks, axes, output types and the division's precision.

use dml_import::{ElementType, Tensor};

use crate::common::onnx::{Message, node};
use crate::common::single::{check_of, refusal_of};
use crate::common::{element, f32s};

/// Elements of a type, wrapped around.
fn integers(name: &str, shape: &[u64], values: &[i64]) -> Tensor {
    let element = element_of(name);
    let width = usize::try_from(element.size().unwrap()).unwrap();
    let bytes: Vec<u8> =
        values.iter().flat_map(|value| value.to_le_bytes()[..width].to_vec()).collect();
    Tensor::new(element, shape, bytes).unwrap()
}

fn element_of(name: &str) -> ElementType {
    match name {
        "int4" => ElementType::Int4,
        "uint4" => ElementType::Uint4,
        other => element(other),
    }
}

/// FLOAT16 values, which must be exact.
fn halves(shape: &[u64], values: &[f32]) -> Tensor {
    let bits = |value: &f32| half::f16::from_f32(*value).to_bits().to_le_bytes();
    let bytes: Vec<u8> = values.iter().flat_map(bits).collect();
    Tensor::new(ElementType::FLOAT16, shape, bytes).unwrap()
}

fn quantize(attributes: &[(&str, i64)]) -> Message {
    node("QuantizeLinear", &["x", "s", "z"], &["y"], attributes)
}

fn dequantize(attributes: &[(&str, i64)]) -> Message {
    node("DequantizeLinear", &["x", "s", "z"], &["y"], attributes)
}

/// The index of the scale and zero point of each element of a matrix of `rows` by `columns` with blocks along
/// `axis`.
fn of_elements(rows: usize, columns: usize, axis: usize, block: usize) -> Vec<usize> {
    let blocks = columns.div_ceil(block);
    let at = |index: usize| {
        let (row, column) = (index / columns, index % columns);
        if axis == 0 { row / block * columns + column } else { row * blocks + column / block }
    };
    (0..rows * columns).map(at).collect()
}

const SCALES: [f32; 10] = [0.5, 2.0, 0.25, 1.0, 4.0, 0.125, 8.0, 0.5, 1.0, 2.0];
const ZEROS: [i64; 10] = [1, 0, 3, 2, 1, 0, 2, 3, 1, 0];

/// Quantizes and dequantizes a matrix of 2 by 5, or of 5 by 2.
#[expect(clippy::cast_possible_truncation, reason = "quotients are small whole numbers")]
fn check_blocks(name: &str, axis: usize, block: usize) {
    let (rows, columns) = if axis == 0 { (5, 2) } else { (2, 5) };
    let shape = [rows as u64, columns as u64];
    let mut blocks = shape;
    blocks[axis] = blocks[axis].div_ceil(block as u64);
    let count = usize::try_from(blocks[0] * blocks[1]).unwrap();
    let (scale, zero) = (f32s(&blocks, &SCALES[..count]), integers(name, &blocks, &ZEROS[..count]));
    let values = [-3.0, 0.5, 1.75, 2.0, 7.5, 1.0, -0.25, 3.0, 40.0, 5.0];
    let (least, most) = match name {
        "int4" => (-8, 7),
        "uint4" => (0, 15),
        "uint8" => (0, 255),
        _ => (-(1 << 15), (1 << 15) - 1),
    };
    let of = of_elements(rows, columns, axis, block);
    let quantized = values.iter().zip(&of).map(|(value, at)| {
        let whole = (value / SCALES[*at]).round_ties_even();
        (whole as i64 + ZEROS[*at]).clamp(least, most)
    });
    let quantized: Vec<i64> = quantized.collect();
    let real = quantized.iter().zip(&of).map(|(it, at)| (it - ZEROS[*at]) as f32 * SCALES[*at]);
    let real: Vec<f32> = real.collect();
    let [signed_axis, signed_block] = [axis, block].map(|it| i64::try_from(it).unwrap());
    let from_end = if block == 3 { 2 } else { 0 };
    let attributes = [("axis", signed_axis - from_end), ("block_size", signed_block)];
    let y = integers(name, &shape, &quantized);
    let x = f32s(&shape, &values);
    check_of(21, &quantize(&attributes), &[("x", &x), ("s", &scale), ("z", &zero)], &y);
    let inputs = [("x", &y), ("s", &scale), ("z", &zero)];
    check_of(21, &dequantize(&attributes), &inputs, &f32s(&shape, &real));
}

#[test]
fn the_last_block_may_be_shorter_than_the_others() {
    for axis in [0, 1] {
        for block in [2, 3, 4, 5, 8] {
            check_blocks("uint8", axis, block);
        }
        check_blocks("int4", axis, 2);
        check_blocks("uint4", axis, 3);
        check_blocks("int16", axis, 2);
    }
    let x = f32s(&[5], &[1.0; 5]);
    let scale = f32s(&[2], &[1.0; 2]);
    let of =
        |block| node("QuantizeLinear", &["x", "s"], &["y"], &[("axis", 0), ("block_size", block)]);
    let message = refusal_of(21, &of(2), &[("x", &x), ("s", &scale)]);
    assert!(message.contains("scale: [2] is the wrong shape; accepted: [3]"), "{message}");
    let message = refusal_of(21, &of(-2), &[("x", &x), ("s", &scale)]);
    assert!(message.contains("attribute block_size: -2 is not a number of elements"), "{message}");
}

#[test]
fn integers_become_the_real_numbers_that_output_dtype_names() {
    let x = integers("int8", &[2, 2], &[-3, 4, 100, -128]);
    let zero = integers("int8", &[2], &[1, -2]);
    let (expected, scales) = ([-2.0, 12.0, 49.5, -252.0], [0.5, 2.0]);
    let attributes = |number| [("axis", 1), ("output_dtype", number)];
    let by_single = [("x", &x), ("s", &f32s(&[2], &scales)), ("z", &zero)];
    let by_half = [("x", &x), ("s", &halves(&[2], &scales)), ("z", &zero)];
    for inputs in [&by_single, &by_half] {
        for opset in [23, 28] {
            check_of(opset, &dequantize(&attributes(1)), inputs, &f32s(&[2, 2], &expected));
            check_of(opset, &dequantize(&attributes(10)), inputs, &halves(&[2, 2], &expected));
        }
        let message = refusal_of(23, &dequantize(&attributes(7)), inputs);
        assert!(message.contains("output_dtype: int64 is the wrong type"), "{message}");
    }
    // With 0, the scale's type determines the output's.
    check_of(23, &dequantize(&attributes(0)), &by_half, &halves(&[2, 2], &expected));
    // A product that FLOAT16 cannot represent, of a FLOAT16 scale.
    let (x, scale) = (integers("int16", &[1], &[30001]), halves(&[], &[0.5]));
    let node = node("DequantizeLinear", &["x", "s"], &["y"], &[("output_dtype", 1)]);
    check_of(23, &node, &[("x", &x), ("s", &scale)], &f32s(&[1], &[15000.5]));
}

#[test]
fn output_dtype_is_the_type_of_quantized_elements_without_a_zero_point() {
    let x = f32s(&[4], &[-300.0, -1.5, 2.5, 70000.0]);
    let scale = f32s(&[], &[1.0]);
    for (name, number, expected) in [
        ("uint8", 2, [0, 0, 2, 255]),
        ("int8", 3, [-128, -2, 2, 127]),
        ("uint16", 4, [0, 0, 2, 65535]),
        ("int16", 5, [-300, -2, 2, 32767]),
        ("uint4", 21, [0, 0, 2, 15]),
        ("int4", 22, [-8, -2, 2, 7]),
    ] {
        let node = node("QuantizeLinear", &["x", "s"], &["y"], &[("output_dtype", number)]);
        check_of(21, &node, &[("x", &x), ("s", &scale)], &integers(name, &[4], &expected));
    }
    let zero = integers("int8", &[], &[0]);
    let inputs = [("x", &x), ("s", &scale), ("z", &zero)];
    let message = refusal_of(21, &quantize(&[("output_dtype", 2)]), &inputs);
    assert!(message.contains("zero_point: int8 is the wrong type; accepted: uint8"), "{message}");
}

#[test]
fn elements_are_divided_in_the_precision_of_the_scale_or_the_one_asked_for() {
    // The quotient is 20.505; in FLOAT16 it is 20.5, which is rounded to the even 20.
    let (x, scale, half_scale) = (f32s(&[1], &[10.2525]), f32s(&[], &[0.5]), halves(&[], &[0.5]));
    let node = |precision| {
        let attributes = [("output_dtype", 3), ("precision", precision)];
        node("QuantizeLinear", &["x", "s"], &["y"], &attributes)
    };
    let whole = |value: i64| integers("int8", &[1], &[value]);
    check_of(23, &node(0), &[("x", &x), ("s", &scale)], &whole(21));
    check_of(23, &node(1), &[("x", &x), ("s", &scale)], &whole(21));
    check_of(23, &node(10), &[("x", &x), ("s", &scale)], &whole(20));
    check_of(23, &node(0), &[("x", &x), ("s", &half_scale)], &whole(20));
    check_of(23, &node(1), &[("x", &x), ("s", &half_scale)], &whole(21));
    let x = halves(&[1], &[2.5]);
    check_of(23, &node(0), &[("x", &x), ("s", &f32s(&[], &[0.5]))], &whole(5));
    let x = integers("int32", &[1], &[7]);
    check_of(23, &node(0), &[("x", &x), ("s", &f32s(&[1], &[2.0]))], &whole(4));
    let message = refusal_of(23, &node(16), &[("x", &x), ("s", &scale)]);
    assert!(message.contains("precision of the division: bfloat16"), "{message}");
}

#[test]
fn scales_lie_along_any_axis_or_are_one_for_all() {
    let x = f32s(&[2, 2, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    let scale = f32s(&[2], &[1.0, 0.5]);
    let zero = integers("uint8", &[2], &[0, 10]);
    for (axis, expected) in [
        (0, [1, 2, 3, 4, 20, 22, 24, 26]),
        (1, [1, 2, 16, 18, 5, 6, 24, 26]),
        (2, [1, 14, 3, 18, 5, 22, 7, 26]),
    ] {
        let y = integers("uint8", &[2, 2, 2], &expected);
        for axis in [axis, axis - 3] {
            let inputs = [("x", &x), ("s", &scale), ("z", &zero)];
            check_of(13, &quantize(&[("axis", axis)]), &inputs, &y);
            let inputs = [("x", &y), ("s", &scale), ("z", &zero)];
            check_of(13, &dequantize(&[("axis", axis)]), &inputs, &x);
        }
    }
    let expected = integers("uint8", &[2, 2, 2], &[3, 5, 7, 9, 11, 13, 15, 17]);
    for shape in [&[][..], &[1]] {
        for of_zero in [&[][..], &[1]] {
            let (scale, zero) = (f32s(shape, &[0.5]), integers("uint8", of_zero, &[1]));
            let inputs = [("x", &x), ("s", &scale), ("z", &zero)];
            check_of(10, &quantize(&[]), &inputs, &expected);
            // The axis does not matter for a single scale.
            check_of(13, &quantize(&[("axis", 7)]), &inputs, &expected);
        }
    }
}
