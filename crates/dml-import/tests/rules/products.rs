//! Products and powers, and element-wise functions of integers and NaN.

use dml_import::{ElementType, Tensor};

use crate::common::onnx::{Message, node};
use crate::common::single::{check, judged, refusal};
use crate::common::{element, f32s};

/// A tensor of integers.
fn integers(name: &str, shape: &[u64], values: &[i128]) -> Tensor {
    let element = element(name);
    let size = usize::try_from(element.size().unwrap()).unwrap();
    let bytes = values.iter().flat_map(|value| value.to_le_bytes().into_iter().take(size));
    Tensor::new(element, shape, bytes.collect::<Vec<u8>>()).unwrap()
}

fn float(name: &str, value: f32) -> Message {
    Message::default().text(1, name).float(2, value).int(20, 1)
}

fn text(name: &str, value: &str) -> Message {
    Message::default().text(1, name).text(4, value).int(20, 3)
}

fn operator(op: &str, inputs: &[&str]) -> Message {
    node(op, inputs, &["y"], &[])
}

#[test]
fn sums_of_no_products_are_zeros_or_what_is_added() {
    let (a, b) = (f32s(&[2, 0], &[]), f32s(&[0, 3], &[]));
    let c = f32s(&[3], &[1.0, 2.0, 3.0]);
    let gemm = operator("Gemm", &["a", "b", "c"]).message(5, float("beta", 2.0));
    let expected = f32s(&[2, 3], &[2.0, 4.0, 6.0, 2.0, 4.0, 6.0]);
    check(&gemm, &[("a", &a), ("b", &b), ("c", &c)], &expected);
    let zeros = f32s(&[2, 3], &[0.0; 6]);
    check(&operator("Gemm", &["a", "b"]), &[("a", &a), ("b", &b)], &zeros);
    check(&operator("MatMul", &["a", "b"]), &[("a", &a), ("b", &b)], &zeros);
    let turned = node("Gemm", &["b", "a"], &["y"], &[("transA", 1), ("transB", 1)]);
    check(&turned, &[("a", &a), ("b", &b)], &f32s(&[3, 2], &[0.0; 6]));
    for equation in ["ij,jk->ik", "ij,jk->k"] {
        let einsum = operator("Einsum", &["a", "b"]).message(5, text("equation", equation));
        let shape: &[u64] = if equation.ends_with("ik") { &[2, 3] } else { &[3] };
        let count = usize::try_from(shape.iter().product::<u64>()).unwrap();
        check(&einsum, &[("a", &a), ("b", &b)], &f32s(shape, &vec![0.0; count]));
    }
    let (x, w) = (f32s(&[1, 0, 2, 2], &[]), f32s(&[2, 0, 1, 1], &[]));
    let bias = f32s(&[2], &[5.0, 6.0]);
    let expected = f32s(&[1, 2, 2, 2], &[5.0, 5.0, 5.0, 5.0, 6.0, 6.0, 6.0, 6.0]);
    check(&operator("Conv", &["x", "w", "b"]), &[("x", &x), ("w", &w), ("b", &bias)], &expected);
    let (x, w) = (f32s(&[0, 1, 2, 2], &[]), f32s(&[1, 1, 1, 1], &[1.0]));
    check(&operator("Conv", &["x", "w"]), &[("x", &x), ("w", &w)], &f32s(&[0, 1, 2, 2], &[]));
}

#[test]
fn scales_of_quantized_products_may_be_halves() {
    let names = ["a", "as", "az", "b", "bs", "bz", "ys", "yz"];
    let (a, b) = (integers("uint8", &[1, 2], &[9, 11]), integers("uint8", &[2, 1], &[12, 8]));
    let (scale, zero) = (integers("uint16", &[], &[0x3800]), integers("uint8", &[], &[7]));
    // With FLOAT16 scales of one half: 0.5 * 0.5 * ((9 - 7) * (12 - 7) + (11 - 7) * (8 - 7)) / 0.5 + 7.
    let scale = Tensor::new(element("float16"), [], scale.bytes().to_vec()).unwrap();
    let given = [&a, &scale, &zero, &b, &scale, &zero, &scale, &zero];
    let given: Vec<(&str, &Tensor)> = names.into_iter().zip(given).collect();
    check(&operator("QLinearMatMul", &names), &given, &integers("uint8", &[1, 1], &[14]));
}

#[test]
fn quantized_sums_of_no_products_are_zero_points() {
    let names = ["a", "as", "az", "b", "bs", "bz", "ys", "yz"];
    let (a, b) = (integers("uint8", &[2, 0], &[]), integers("uint8", &[0, 2], &[]));
    let (scale, zero) = (f32s(&[], &[0.5]), integers("uint8", &[], &[7]));
    let given = [&a, &scale, &zero, &b, &scale, &zero, &scale, &zero];
    let given: Vec<(&str, &Tensor)> = names.into_iter().zip(given).collect();
    check(&operator("QLinearMatMul", &names), &given, &integers("uint8", &[2, 2], &[7; 4]));
    let expected = integers("int32", &[2, 2], &[0; 4]);
    check(&operator("MatMulInteger", &["a", "b"]), &[("a", &a), ("b", &b)], &expected);
}

#[test]
fn products_of_integers_wrap_around() {
    let most = i128::from(i32::MAX);
    for name in ["int32", "uint32", "int64", "uint64"] {
        let (a, b) = (integers(name, &[1, 2], &[most, 3]), integers(name, &[2, 1], &[most, 5]));
        let product = operator("MatMul", &["a", "b"]);
        let expected = integers(name, &[1, 1], &[most * most + 15]);
        check(&product, &[("a", &a), ("b", &b)], &expected);
        let a = integers(name, &[2, 1, 2, 3], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        let b = integers(name, &[3, 2], &[1, 2, 3, 4, 5, 6]);
        let expected = integers(name, &[2, 1, 2, 2], &[22, 28, 49, 64, 76, 100, 103, 136]);
        check(&product, &[("a", &a), ("b", &b)], &expected);
        let vector = integers(name, &[3], &[1, 2, 3]);
        let expected = integers(name, &[], &[14]);
        check(&product, &[("a", &vector), ("b", &vector)], &expected);
        let expected = integers(name, &[2], &[22, 28]);
        check(&product, &[("a", &vector), ("b", &b)], &expected);
    }
}

#[test]
fn gemm_of_integers_is_exact() {
    for name in ["int32", "uint32", "int64", "uint64"] {
        let a = integers(name, &[2, 1], &[3, 4]);
        let b = integers(name, &[3, 2], &[1, 2, 3, 4, 5, 6]);
        let c = integers(name, &[3, 1], &[10, 20, 30]);
        let inputs = [("a", &b), ("b", &a), ("c", &c)];
        let gemm = operator("Gemm", &["a", "b", "c"]);
        let gemm = gemm.message(5, float("alpha", 2.0)).message(5, float("beta", 3.0));
        check(&gemm, &inputs, &integers(name, &[3, 1], &[52, 110, 168]));
        let gemm = operator("Gemm", &["a", "b", "c"]).message(5, float("alpha", 0.5));
        let message = refusal(&gemm, &inputs);
        assert!(message.contains("attribute alpha: 0.5 is not an integer"), "{message}");
        let turned = node("Gemm", &["a", "b"], &["y"], &[("transA", 1), ("transB", 1)]);
        let row = integers(name, &[1, 2], &[1, 2]);
        check(&turned, &[("a", &a), ("b", &row)], &integers(name, &[1, 1], &[11]));
    }
}

#[test]
fn powers_of_integers_are_exact() {
    let bases = [2, -3, 3, 0, 5, -1, 1, 2, 2, -1];
    let exponents = [3, 3, -1, 0, 0, -3, -2, -1, 20, 70];
    let powers = [8, -27, 0, 1, 1, -1, 1, 0, 1 << 20, 1];
    for base in ["int32", "int64"] {
        for exponent in ["int32", "int64", "float32"] {
            let x = integers(base, &[10], &bases);
            let y = match exponent {
                "float32" => f32s(&[10], &exponents.map(|exponent| exponent as f32)),
                name => integers(name, &[10], &exponents.map(i128::from)),
            };
            let expected = integers(base, &[10], &powers);
            check(&operator("Pow", &["x", "z"]), &[("x", &x), ("z", &y)], &expected);
        }
    }
    let pow = operator("Pow", &["x", "z"]);
    let x = integers("int64", &[3], &[3, 3_037_000_499, -2]);
    let y = integers("int64", &[3], &[39, 2, 63]);
    let powers = [3_i128.pow(39), 3_037_000_499 * 3_037_000_499, i64::MIN.into()];
    check(&pow, &[("x", &x), ("z", &y)], &integers("int64", &[3], &powers));
    let y = f32s(&[], &[2.0]);
    let x = integers("int32", &[2], &[46_340, -46_339]);
    let expected = integers("int32", &[2], &[2_147_395_600, 2_147_302_921]);
    check(&pow, &[("x", &x), ("z", &y)], &expected);
    let x = integers("int64", &[3], &[9, 27, 4]);
    let expected = integers("int64", &[3], &[3, 5, 2]);
    check(&pow, &[("x", &x), ("z", &f32s(&[], &[0.5]))], &expected);
}

#[test]
fn signs_of_what_is_no_number_are_that() {
    let x = f32s(&[6], &[f32::NAN, -0.0, 0.0, f32::INFINITY, f32::NEG_INFINITY, -1e-30]);
    judged(&operator("Sign", &["x"]), &[("x", &x)], &["y"], |found| {
        let floats = found[0].bytes().chunks_exact(4);
        let floats: Vec<f32> =
            floats.map(|float| f32::from_le_bytes(float.try_into().unwrap())).collect();
        assert!(floats[0].is_nan(), "{floats:?}");
        assert_eq!(floats[1..], [0.0, 0.0, 1.0, -1.0, -1.0]);
    });
    let x = integers("int64", &[3], &[-7, 0, 7]);
    check(&operator("Sign", &["x"]), &[("x", &x)], &integers("int64", &[3], &[-1, 0, 1]));
}

#[test]
fn what_is_no_number_stays_that() {
    let nan = f32s(&[1], &[f32::NAN]);
    let unary = ["Relu", "LeakyRelu", "Elu", "Celu", "Selu", "Softplus", "Softsign", "HardSigmoid"];
    let others = ["HardSwish", "Sigmoid", "Tanh", "Round", "Ceil", "Floor", "Abs", "Gelu"];
    let is_nan = |found: &[Tensor]| {
        assert!(f32::from_le_bytes(found[0].bytes().try_into().unwrap()).is_nan());
    };
    for op in unary.into_iter().chain(others) {
        judged(&operator(op, &["x"]), &[("x", &nan)], &["y"], is_nan);
    }
    let one = f32s(&[1], &[1.0]);
    for op in ["Max", "Min", "PRelu", "Add"] {
        judged(&operator(op, &["x", "z"]), &[("x", &nan), ("z", &one)], &["y"], is_nan);
    }
    // A NaN bound makes every element NaN.
    let given = [("x", &one), ("min", &nan), ("max", &one)];
    judged(&operator("Clip", &["x", "min", "max"]), &given, &["y"], is_nan);
    // These operators give 0 where neither condition holds.
    for op in ["ThresholdedRelu", "Shrink"] {
        check(&operator(op, &["x"]), &[("x", &nan)], &f32s(&[1], &[0.0]));
    }
}

#[test]
fn infinities_of_neither_sign_are_found_nowhere() {
    let x = f32s(&[3], &[f32::INFINITY, f32::NEG_INFINITY, 1.0]);
    let attributes = [("detect_negative", 0), ("detect_positive", 0)];
    let expected = Tensor::new(ElementType::Bool, [3], vec![0; 3]).unwrap();
    check(&node("IsInf", &["x"], &["y"], &attributes), &[("x", &x)], &expected);
}

#[test]
fn integers_that_activations_do_not_take_are_computed() {
    for name in ["int8", "int16", "int32", "int64"] {
        let x = integers(name, &[3], &[-7, 0, 7]);
        check(&operator("Relu", &["x"]), &[("x", &x)], &integers(name, &[3], &[0, 0, 7]));
    }
    for (name, expected) in [("int32", [-14, 0, 7]), ("int64", [-14, 0, 7])] {
        let (x, slope) = (integers(name, &[3], &[-7, 0, 7]), integers(name, &[1], &[2]));
        let node = operator("PRelu", &["x", "z"]);
        check(&node, &[("x", &x), ("z", &slope)], &integers(name, &[3], &expected));
    }
    for name in ["uint32", "uint64"] {
        let (x, slope) = (integers(name, &[2], &[0, 7]), integers(name, &[1], &[2]));
        check(&operator("PRelu", &["x", "z"]), &[("x", &x), ("z", &slope)], &x);
    }
    for name in ["uint8", "uint16", "uint32", "uint64"] {
        let x = integers(name, &[2], &[200, 7]);
        check(&operator("Abs", &["x"]), &[("x", &x)], &x);
    }
}
