//! bfloat16 on the device: operators compute in FLOAT32 and round their results once.

use super::common::onnx::{float, node};
use super::common::single::{check_of, judged};
use super::common::{f32s, int64};
use dml_import::{ElementType, Tensor};

/// The numbers rounded to bfloat16: to nearest, and to even.
fn halves(shape: &[u64], values: &[f32]) -> Tensor {
    let half = |it: &f32| {
        let bits = it.to_bits();
        let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
        (rounded as u16).to_le_bytes()
    };
    let bytes: Vec<u8> = values.iter().flat_map(half).collect();
    Tensor::new(ElementType::Bfloat16, shape, bytes).unwrap()
}

fn numbers(tensor: &Tensor) -> Vec<f32> {
    let (halves, _) = tensor.bytes().as_chunks();
    halves.iter().map(|halve| f32::from_bits(u32::from(u16::from_le_bytes(*halve)) << 16)).collect()
}

#[test]
fn casts_to_bfloat16_round_to_nearest_and_to_even() {
    let tie = |bits: u32| f32::from_bits(bits);
    let given = [
        1.0,
        tie(0x3f80_8000),
        tie(0x3f81_8000),
        tie(0x3f80_8001),
        -0.0,
        tie(1),
        f32::MAX,
        f32::INFINITY,
        f32::NEG_INFINITY,
    ];
    let x = f32s(&[9], &given);
    let cast = node("Cast", &["x"], &["y"], &[("to", 16)]);
    check_of(20, &cast, &[("x", &x)], &halves(&[9], &given));
    let exact = halves(&[3], &[1.5, -2.25, 1e30]);
    let back = node("Cast", &["x"], &["y"], &[("to", 1)]);
    check_of(20, &back, &[("x", &exact)], &f32s(&[3], &numbers(&exact)));
}

#[test]
fn results_are_those_of_float32_rounded_once() {
    let (a, b) = (super::samples(12, 1), super::samples(12, 2));
    let (x, y) = (halves(&[3, 4], &a), halves(&[3, 4], &b));
    let pairs = || numbers(&x).into_iter().zip(numbers(&y)).collect::<Vec<_>>();
    for (op, function) in [
        ("Add", (|a, b| a + b) as fn(f32, f32) -> f32),
        ("Mul", |a, b| a * b),
        ("Sub", |a, b| a - b),
    ] {
        let expected: Vec<f32> = pairs().into_iter().map(|(a, b)| function(a, b)).collect();
        let node = node(op, &["x", "w"], &["y"], &[]);
        check_of(20, &node, &[("x", &x), ("w", &y)], &halves(&[3, 4], &expected));
    }
}

#[test]
fn products_and_normalizations_are_of_bfloat16() {
    let whole: Vec<f32> = (0..6).map(|it| it as f32 - 2.0).collect();
    let (a, b) = (halves(&[2, 3], &whole), halves(&[3, 2], &whole));
    let product = node("MatMul", &["a", "b"], &["y"], &[]);
    let expected = halves(&[2, 2], &[4.0, 1.0, 4.0, 10.0]);
    check_of(20, &product, &[("a", &a), ("b", &b)], &expected);

    // The mean of a layer stays FLOAT32.
    let scale = halves(&[3], &[1.0; 3]);
    let norm = node("LayerNormalization", &["a", "s"], &["y", "mean"], &[])
        .message(5, float("epsilon", 0.0));
    judged(&norm, &[("a", &a), ("s", &scale)], &["y", "mean"], |found| {
        let root = 1.5f32.sqrt();
        assert_eq!(found[0], halves(&[2, 3], &[-root, 0.0, root, -root, 0.0, root]));
        assert_eq!(found[1], f32s(&[2, 1], &[-1.0, 2.0]));
    });
}

/// The bits of negative numbers are greater than those of positive ones, as integers.
#[test]
fn elements_are_compared_as_numbers() {
    let x = halves(&[1, 1, 4], &[-3.0, 1.0, -0.5, 0.0]);
    let given = [("x", &x)];
    let axis = |op| node(op, &["x"], &["y"], &[("axis", 2)]);
    check_of(20, &axis("ArgMax"), &given, &int64(&[1, 1, 1], &[1]));
    check_of(20, &axis("ArgMin"), &given, &int64(&[1, 1, 1], &[0]));
    let reduced = |op| node(op, &["x"], &["y"], &[]);
    check_of(20, &reduced("ReduceMax"), &given, &halves(&[1, 1, 1], &[1.0]));
    check_of(20, &reduced("ReduceMin"), &given, &halves(&[1, 1, 1], &[-3.0]));
    let pool = node("GlobalMaxPool", &["x"], &["y"], &[]);
    check_of(22, &pool, &given, &halves(&[1, 1, 1], &[1.0]));
    let count = int64(&[1], &[2]);
    let greatest = node("TopK", &["x", "k"], &["y"], &[]);
    judged(&greatest, &[("x", &x), ("k", &count)], &["y"], |found| {
        assert_eq!(found[0], halves(&[1, 1, 2], &[1.0, 0.0]));
    });
}
