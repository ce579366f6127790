//! Reductions.

use dml_import::{ElementType, Tensor};

use crate::common::onnx::{Message, node};
use crate::common::single::{check, check_near, judged, refusal};
use crate::common::{element, f32s, int64};

/// A tensor of integers of one dimension.
fn integers(name: &str, values: &[i128]) -> Tensor {
    shaped(name, &[values.len() as u64], values)
}

fn shaped(name: &str, shape: &[u64], values: &[i128]) -> Tensor {
    let element = element(name);
    let size = usize::try_from(element.size().unwrap()).unwrap();
    let bytes = values.iter().flat_map(|value| value.to_le_bytes().into_iter().take(size));
    Tensor::new(element, shape, bytes.collect::<Vec<u8>>()).unwrap()
}

fn reduction(op: &str, inputs: &[&str], attributes: &[(&str, i64)]) -> Message {
    node(op, inputs, &["y"], attributes)
}

const NO_AXES: [(&str, i64); 1] = [("noop_with_empty_axes", 1)];

#[test]
fn without_axes_what_is_no_reduction_is_still_done() {
    let x = f32s(&[2], &[-2.0, 3.0]);
    for (op, expected) in [
        ("ReduceL1", [2.0, 3.0]),
        ("ReduceL2", [2.0, 3.0]),
        ("ReduceSumSquare", [4.0, 9.0]),
        ("ReduceLogSumExp", [-2.0, 3.0]),
        ("ReduceSum", [-2.0, 3.0]),
        ("ReduceMean", [-2.0, 3.0]),
        ("ReduceProd", [-2.0, 3.0]),
        ("ReduceMax", [-2.0, 3.0]),
        ("ReduceMin", [-2.0, 3.0]),
    ] {
        check(&reduction(op, &["x"], &NO_AXES), &[("x", &x)], &f32s(&[2], &expected));
        // An empty list of axes means the same as no list.
        let axes = int64(&[0], &[]);
        let node = reduction(op, &["x", "axes"], &NO_AXES);
        check(&node, &[("x", &x), ("axes", &axes)], &f32s(&[2], &expected));
    }
    let x = f32s(&[2, 1], &[1.0, 0.0]);
    let expected = f32s(&[2, 1], &[0.0, f32::NEG_INFINITY]);
    check(&reduction("ReduceLogSum", &["x"], &NO_AXES), &[("x", &x)], &expected);
}

#[test]
fn without_axes_integers_keep_their_type() {
    for name in ["int32", "int64"] {
        let x = integers(name, &[-2, 3]);
        for (op, expected) in [
            ("ReduceL1", [2, 3]),
            ("ReduceL2", [2, 3]),
            ("ReduceSumSquare", [4, 9]),
            ("ReduceLogSumExp", [-2, 3]),
            ("ReduceMean", [-2, 3]),
            ("ReduceMax", [-2, 3]),
        ] {
            let expected = integers(name, &expected);
            check(&reduction(op, &["x"], &NO_AXES), &[("x", &x)], &expected);
        }
    }
    let x = Tensor::new(ElementType::Bool, [2], vec![1, 0]).unwrap();
    check(&reduction("ReduceMax", &["x"], &NO_AXES), &[("x", &x)], &x);
}

#[test]
fn no_elements_give_what_the_schema_says_of_their_type() {
    let axes = int64(&[1], &[1]);
    let reduced = |op: &str, x: &Tensor, expected: &Tensor| {
        let node = reduction(op, &["x", "axes"], &[("keepdims", 0)]);
        check(&node, &[("x", x), ("axes", &axes)], expected);
    };
    for (name, least, most) in [
        ("int8", i128::from(i8::MIN), i128::from(i8::MAX)),
        ("uint8", 0, 255),
        ("int32", i32::MIN.into(), i32::MAX.into()),
        ("uint32", 0, u32::MAX.into()),
        ("int64", i64::MIN.into(), i64::MAX.into()),
        ("uint64", 0, u64::MAX.into()),
    ] {
        let empty = shaped(name, &[2, 0], &[]);
        reduced("ReduceMax", &empty, &integers(name, &[least; 2]));
        reduced("ReduceMin", &empty, &integers(name, &[most; 2]));
    }
    let empty = Tensor::new(ElementType::Bool, [2, 0], vec![]).unwrap();
    reduced("ReduceMax", &empty, &Tensor::new(ElementType::Bool, [2], vec![0, 0]).unwrap());
    reduced("ReduceMin", &empty, &Tensor::new(ElementType::Bool, [2], vec![1, 1]).unwrap());
    for (op, of_floats, of_integers) in [
        ("ReduceMax", f32::NEG_INFINITY, i32::MIN),
        ("ReduceMin", f32::INFINITY, i32::MAX),
        ("ReduceSum", 0.0, 0),
        ("ReduceProd", 1.0, 1),
        ("ReduceL1", 0.0, 0),
        ("ReduceL2", 0.0, 0),
        ("ReduceSumSquare", 0.0, 0),
        ("ReduceLogSum", f32::NEG_INFINITY, i32::MIN),
        ("ReduceLogSumExp", f32::NEG_INFINITY, i32::MIN),
    ] {
        reduced(op, &f32s(&[2, 0], &[]), &f32s(&[2], &[of_floats; 2]));
        let empty = shaped("int32", &[2, 0], &[]);
        reduced(op, &empty, &integers("int32", &[of_integers.into(); 2]));
    }
}

#[test]
fn nothing_is_chosen_of_no_elements() {
    for op in ["ArgMax", "ArgMin"] {
        let node = node(op, &["x"], &["y"], &[("axis", 1)]);
        let message = refusal(&node, &[("x", &f32s(&[2, 0], &[]))]);
        let expected = "data: [2, 0] has nothing to choose from; accepted: at least one element";
        assert!(message.contains(expected), "{message}");
        check(&node, &[("x", &f32s(&[0, 2], &[]))], &int64(&[0, 1], &[]));
    }
}

#[test]
fn means_of_integers_are_rounded_toward_zero() {
    let most = i128::from(i32::MAX);
    let rows = [-7, -4, -9, most, most - 1, 1];
    for (name, expected) in [("int32", [-6, 1_431_655_764]), ("int64", [-6, 1_431_655_764])] {
        let x = shaped(name, &[2, 3], &rows);
        let axes = int64(&[1], &[-1]);
        let node = reduction("ReduceMean", &["x", "axes"], &[("keepdims", 0)]);
        check(&node, &[("x", &x), ("axes", &axes)], &integers(name, &expected));
    }
    for name in ["uint32", "uint64"] {
        let x = shaped(name, &[1, 2], &[4_000_000_000, 4_000_000_001]);
        let node = reduction("ReduceMean", &["x"], &[]);
        check(&node, &[("x", &x)], &shaped(name, &[1, 1], &[4_000_000_000]));
    }
}

#[test]
fn roots_and_logarithms_of_integers_are_truncated() {
    for name in ["int32", "int64"] {
        let x = integers(name, &[-3, 4, 1]);
        let of = |op: &str, expected: i128| {
            let node = reduction(op, &["x"], &[("keepdims", 0)]);
            check(&node, &[("x", &x)], &shaped(name, &[], &[expected]));
        };
        of("ReduceL1", 8);
        of("ReduceL2", 5);
        of("ReduceSumSquare", 26);
        of("ReduceProd", -12);
        of("ReduceLogSumExp", 4);
        let x = integers(name, &[20, 30, 5]);
        let node = reduction("ReduceLogSum", &["x"], &[("keepdims", 0)]);
        // ln 55
        check(&node, &[("x", &x)], &shaped(name, &[], &[4]));
    }
}

#[test]
fn norms_of_small_and_large_floats_are_in_range() {
    for (x, expected) in [
        ([3e-20, 4e-20], 5e-20),
        ([3e-30, -4e-30], 5e-30),
        ([1e-37, 0.0], 1e-37),
        ([3e20, 4e20], 5e20),
        ([-3e37, 4e37], 5e37),
        ([2e38, 0.0], 2e38),
        ([0.0, -0.0], 0.0),
        ([f32::INFINITY, 1.0], f32::INFINITY),
        ([3e38, 3e38], f32::INFINITY),
    ] {
        let x = f32s(&[2], &x);
        judged(&reduction("ReduceL2", &["x"], &[("keepdims", 0)]), &[("x", &x)], &["y"], |found| {
            let found = f32::from_le_bytes(found[0].bytes().try_into().unwrap());
            let is_near = found == expected || (found / expected - 1.0).abs() < 1e-6;
            assert!(is_near, "{found} for {expected}");
        });
    }
    let nan = f32s(&[2], &[f32::NAN, 1e30]);
    judged(&reduction("ReduceL2", &["x"], &[]), &[("x", &nan)], &["y"], |found| {
        assert!(f32::from_le_bytes(found[0].bytes().try_into().unwrap()).is_nan());
    });
    // Rows are scaled independently, also if they are longer than what is reduced at once.
    let long: Vec<f32> = (0..20_000).map(|at| if at < 10_000 { 1e-22 } else { 1e22 }).collect();
    let x = f32s(&[2, 10_000], &long);
    let axes = int64(&[1], &[1]);
    let node = reduction("ReduceL2", &["x", "axes"], &[("keepdims", 0)]);
    judged(&node, &[("x", &x), ("axes", &axes)], &["y"], |found| {
        let (first, second) = found[0].bytes().split_at(4);
        let [first, second] = [first, second].map(|it| f32::from_le_bytes(it.try_into().unwrap()));
        assert!((first / 1e-20 - 1.0).abs() < 1e-6, "{first}");
        assert!((second / 1e24 - 1.0).abs() < 1e-6, "{second}");
    });
}

#[test]
fn squares_that_are_asked_for_may_overflow() {
    let x = f32s(&[2], &[3e20, 1.0]);
    let node = reduction("ReduceSumSquare", &["x"], &[("keepdims", 0)]);
    check(&node, &[("x", &x)], &f32s(&[], &[f32::INFINITY]));
    let x = f32s(&[2], &[1000.0, 1000.0]);
    let node = reduction("ReduceLogSumExp", &["x"], &[("keepdims", 0)]);
    check_near(&node, &[("x", &x)], &[], &[1_000.693_1]);
    let x = f32s(&[2], &[0.0, 0.0]);
    let node = reduction("ReduceLogSum", &["x"], &[("keepdims", 0)]);
    check(&node, &[("x", &x)], &f32s(&[], &[f32::NEG_INFINITY]));
}

#[test]
fn what_goes_through_no_elements_is_empty() {
    let quantized = node("DynamicQuantizeLinear", &["x"], &["y", "s", "z"], &[]);
    judged(&quantized, &[("x", &f32s(&[0, 2], &[]))], &["y", "s", "z"], |found| {
        assert_eq!(found[0], shaped("uint8", &[0, 2], &[]));
        assert_eq!(found[1], f32s(&[], &[1.0]));
        assert_eq!(found[2], shaped("uint8", &[], &[0]));
    });
    let names = ["x", "w", "r", "", "", "h"];
    let network = node("RNN", &names, &["y", "last"], &[("hidden_size", 1)]);
    let (x, state) = (f32s(&[0, 1, 2], &[]), f32s(&[1, 1, 1], &[7.0]));
    let (w, r) = (f32s(&[1, 1, 2], &[1.0; 2]), f32s(&[1, 1, 1], &[1.0]));
    let inputs = [("x", &x), ("w", &w), ("r", &r), ("h", &state)];
    judged(&network, &inputs, &["y", "last"], |found| {
        assert_eq!(found[0], f32s(&[0, 1, 1, 1], &[]));
        assert_eq!(found[1], state);
    });
    let transposed = reduction("ConvTranspose", &["x", "w"], &[]);
    let inputs = [("x", &f32s(&[1, 1, 0], &[])), ("w", &f32s(&[1, 1, 3], &[1.0; 3]))];
    check(&transposed, &inputs, &f32s(&[1, 1, 2], &[0.0; 2]));
}
