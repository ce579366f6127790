//! ONNX operators with indices, on the host and on devices, compared with ONNX's documentation.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::onnx::{Message, ints, node};
use common::single::{check, refusal};
use common::{f32s, int64};
use dml_import::{ElementType, Tensor};

fn counted(shape: &[u64]) -> Tensor {
    let count: u64 = shape.iter().product();
    f32s(shape, &(0..count).map(|it| it as f32).collect::<Vec<_>>())
}

#[test]
fn slices_are_gathered_along_any_axis_by_indices_of_any_rank() {
    let (x, i) = (counted(&[2, 3, 2]), int64(&[2, 2], &[2, -3, 1, 0]));
    let gather = |axis| node("Gather", &["x", "i"], &["y"], &[("axis", axis)]);
    let rows = [4., 5., 0., 1., 2., 3., 0., 1., 10., 11., 6., 7., 8., 9., 6., 7.];
    check(&gather(1), &[("x", &x), ("i", &i)], &f32s(&[2, 2, 2, 2], &rows));
    let scalar = int64(&[], &[-1]);
    let column = f32s(&[2, 3], &[1., 3., 5., 7., 9., 11.]);
    check(&gather(-1), &[("x", &x), ("i", &scalar)], &column);
}

#[test]
fn elements_are_gathered_of_more_than_the_indices_walk() {
    let (x, i) = (counted(&[3, 3]), int64(&[2, 2], &[1, -1, 0, 2]));
    let gather = node("GatherElements", &["x", "i"], &["y"], &[("axis", 1)]);
    check(&gather, &[("x", &x), ("i", &i)], &f32s(&[2, 2], &[1., 2., 3., 5.]));
    let wide = int64(&[4, 1], &[0; 4]);
    let error = refusal(&gather, &[("x", &x), ("i", &wide)]);
    assert!(error.contains("indices: [4, 1] is the wrong shape"), "{error}");
}

#[test]
fn parts_are_gathered_within_batches() {
    let x = counted(&[2, 2, 2]);
    let gather = |batches| node("GatherND", &["x", "i"], &["y"], &[("batch_dims", batches)]);
    let i = int64(&[2, 1], &[1, -2]);
    check(&gather(1), &[("x", &x), ("i", &i)], &f32s(&[2, 2], &[2., 3., 4., 5.]));
    check(
        &gather(0),
        &[("x", &x), ("i", &i)],
        &f32s(&[2, 2, 2], &[4., 5., 6., 7., 0., 1., 2., 3.]),
    );
    let whole = int64(&[3], &[1, 0, 1]);
    check(&gather(0), &[("x", &x), ("i", &whole)], &f32s(&[], &[5.]));
}

#[test]
fn updates_are_written_where_indices_say() {
    let (x, u) = (counted(&[3, 2]), f32s(&[1, 2], &[70., 80.]));
    let i = int64(&[1, 2], &[-1, 0]);
    let all = [("x", &x), ("i", &i), ("u", &u)];
    let scatter = node("ScatterElements", &["x", "i", "u"], &["y"], &[("axis", 0)]);
    check(&scatter, &all, &f32s(&[3, 2], &[0., 80., 2., 3., 70., 5.]));
    let parts = node("ScatterND", &["x", "i", "u"], &["y"], &[]);
    let rows = int64(&[1, 1], &[1]);
    check(
        &parts,
        &[("x", &x), ("i", &rows), ("u", &u)],
        &f32s(&[3, 2], &[0., 1., 70., 80., 4., 5.]),
    );
    let high = int64(&[4, 2], &[0; 8]);
    let error = refusal(&scatter, &[("x", &x), ("i", &high), ("u", &counted(&[4, 2]))]);
    assert!(error.contains("indices: [4, 2] is the wrong shape"), "{error}");
}

#[test]
fn elements_beyond_the_indices_keep_their_values() {
    let scatter = |axis| node("ScatterElements", &["x", "i", "u"], &["y"], &[("axis", axis)]);
    let x = counted(&[3, 2]);
    let (narrow, update) = (int64(&[1, 1], &[-1]), f32s(&[1, 1], &[9.]));
    let all = [("x", &x), ("i", &narrow), ("u", &update)];
    check(&scatter(0), &all, &f32s(&[3, 2], &[0., 1., 2., 3., 9., 5.]));
    check(&scatter(1), &all, &f32s(&[3, 2], &[0., 9., 2., 3., 4., 5.]));
    // Along the middle dimension, of the first of two rows and of the first of three columns.
    let x = counted(&[2, 2, 3]);
    let (indices, updates) = (int64(&[1, 2, 1], &[1, 0]), f32s(&[1, 2, 1], &[70., 80.]));
    let expected = [80., 1., 2., 70., 4., 5., 6., 7., 8., 9., 10., 11.];
    let all = [("x", &x), ("i", &indices), ("u", &updates)];
    check(&scatter(1), &all, &f32s(&[2, 2, 3], &expected));
}

/// A node with a reduction.
fn reduced(op: &str, reduction: &str, attributes: &[(&str, i64)]) -> Message {
    let text = Message::default().text(1, "reduction").bytes(4, reduction.as_bytes()).int(20, 3);
    node(op, &["x", "i", "u"], &["y"], attributes).message(5, text)
}

#[test]
fn updates_of_one_element_are_added_up_in_order() {
    let (x, u) = (counted(&[3, 2]), f32s(&[3, 1], &[10., 20., 40.]));
    let i = int64(&[3, 1], &[-1, 0, 2]);
    let all = [("x", &x), ("i", &i), ("u", &u)];
    let elements = |reduction| reduced("ScatterElements", reduction, &[("axis", 0)]);
    check(&elements("add"), &all, &f32s(&[3, 2], &[20., 1., 2., 3., 54., 5.]));
    check(&elements("mul"), &all, &f32s(&[3, 2], &[0., 1., 2., 3., 1600., 5.]));
    check(&elements("min"), &all, &f32s(&[3, 2], &[0., 1., 2., 3., 4., 5.]));
    check(&elements("max"), &all, &f32s(&[3, 2], &[20., 1., 2., 3., 40., 5.]));
    let (rows, u) = (int64(&[2, 1], &[1, -2]), f32s(&[2, 2], &[10., 20., 30., 40.]));
    let parts = reduced("ScatterND", "add", &[]);
    let all = [("x", &x), ("i", &rows), ("u", &u)];
    check(&parts, &all, &f32s(&[3, 2], &[0., 1., 42., 63., 4., 5.]));
}

#[test]
fn what_cannot_be_added_up_is_refused() {
    let (x, i, u) = (counted(&[3]), int64(&[1, 1], &[3]), f32s(&[1], &[1.]));
    let parts = reduced("ScatterND", "add", &[]);
    let error = refusal(&parts, &[("x", &x), ("i", &i), ("u", &u)]);
    assert!(error.contains("indices: 3 is not a dimension; accepted: -3 to 2"), "{error}");
    let error = refusal(&reduced("ScatterND", "and", &[]), &[("x", &x), ("i", &i), ("u", &u)]);
    assert!(error.contains("attribute reduction: \"and\" is unknown"), "{error}");
}

#[test]
fn one_is_hot() {
    let (i, depth) = (f32s(&[3], &[0., -1., 7.]), f32s(&[], &[4.]));
    let values = f32s(&[2], &[0.5, 2.]);
    let hot = node("OneHot", &["i", "depth", "v"], &["y"], &[("axis", 0)]);
    let (off, on) = (0.5, 2.);
    let expected = [on, off, off, off, off, off, off, off, off, off, on, off];
    check(&hot, &[("i", &i), ("depth", &depth), ("v", &values)], &f32s(&[4, 3], &expected));
}

#[test]
fn sequences_are_reversed_along_time() {
    let (x, lengths) = (counted(&[3, 2, 2]), int64(&[2], &[3, 2]));
    let reverse = |batch, time| {
        node("ReverseSequence", &["x", "l"], &["y"], &[("batch_axis", batch), ("time_axis", time)])
    };
    let expected = [8., 9., 6., 7., 4., 5., 2., 3., 0., 1., 10., 11.];
    check(&reverse(1, 0), &[("x", &x), ("l", &lengths)], &f32s(&[3, 2, 2], &expected));
    let lengths = int64(&[3], &[2, 1, 0]);
    let expected = [2., 3., 0., 1., 4., 5., 6., 7., 8., 9., 10., 11.];
    check(&reverse(0, 1), &[("x", &x), ("l", &lengths)], &f32s(&[3, 2, 2], &expected));
    let error = refusal(&reverse(1, 1), &[("x", &x), ("l", &lengths)]);
    assert!(error.contains("are not such axes"), "{error}");
}

#[test]
fn pooled_elements_are_put_back() {
    let x = f32s(&[1, 1, 2, 2], &[1., 2., 3., 4.]);
    let i = int64(&[1, 1, 2, 2], &[5, 7, 13, 15]);
    let unpool = |inputs: &[&str]| {
        let node = node("MaxUnpool", inputs, &["y"], &[]);
        node.message(5, ints("kernel_shape", &[2, 2])).message(5, ints("strides", &[2, 2]))
    };
    let put = |size: usize| {
        let mut all = vec![0.; size * size];
        for (value, at) in [(1., (1, 1)), (2., (1, 3)), (3., (3, 1)), (4., (3, 3))] {
            all[at.0 * size + at.1] = value;
        }
        f32s(&[1, 1, size as u64, size as u64], &all)
    };
    check(&unpool(&["x", "i"]), &[("x", &x), ("i", &i)], &put(4));
}

#[test]
fn truth_values_are_moved_as_they_are() {
    let x = Tensor::new(ElementType::Bool, [3], vec![1, 0, 1]).unwrap();
    let i = int64(&[2], &[1, 2]);
    let expected = Tensor::new(ElementType::Bool, [2], vec![0, 1]).unwrap();
    check(&node("Gather", &["x", "i"], &["y"], &[]), &[("x", &x), ("i", &i)], &expected);
}
