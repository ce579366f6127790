//! Scan: behaviour that ONNX's node tests do not cover.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::onnx::{Graph, Message, floats, ints, model, node, repeated, value};
use common::{f32s, host, int64, tensors};
use dml_import::{Inputs, Model, Tensor};

/// The outputs of `graph` in a version of ONNX, or its error.
fn run(opset: i64, graph: Graph, inputs: &Inputs) -> Result<Vec<Tensor>, String> {
    let program = Model::from_bytes(model(opset, graph)).and_then(|it| it.bind(inputs));
    program.map(|program| tensors(&host::run(&program))).map_err(|error| error.to_string())
}

/// A body that adds each slice `e` to the sum `s`.
fn adding() -> Graph {
    Graph {
        nodes: vec![node("Add", &["s", "e"], &["t"], &[])],
        inputs: vec![value("s", 1, &[]), value("e", 1, &[])],
        outputs: vec![value("t", 1, &[]), value("t", 1, &[])],
        ..Graph::default()
    }
}

/// The attribute that declares one scan input.
fn one_input() -> Message {
    Message::default().text(1, "num_scan_inputs").int(3, 1).int(20, 2)
}

/// Running sums along one dimension, in either direction, stacked along another, in either direction.
#[test]
fn a_scan_goes_along_any_dimension_in_both_directions() {
    let (rows, columns) = (2usize, 3usize);
    let x: Vec<f32> = (0..6u8).map(|it| f32::from(it * it)).collect();
    for (input_axis, output_axis, backward, reversed) in
        [(0, 0, 0, 0), (1, 0, 0, 0), (-1, 1, 1, 0), (0, -1, 0, 1), (-2, -2, 1, 1)]
    {
        let more = [
            one_input(),
            ints("scan_input_axes", &[input_axis]),
            ints("scan_input_directions", &[backward]),
            ints("scan_output_axes", &[output_axis]),
            ints("scan_output_directions", &[reversed]),
        ];
        let along_rows = input_axis.rem_euclid(2) == 0;
        let (steps, width) = if along_rows { (rows, columns) } else { (columns, rows) };
        let zeros = floats("zeros", &[i64::try_from(width).unwrap()], &vec![0.0; width]);
        let graph = Graph {
            nodes: vec![repeated("Scan", &["zeros", "x"], &["last", "y"], adding(), &more)],
            initializers: vec![zeros],
            inputs: vec![value("x", 1, &[None, None])],
            outputs: vec![value("last", 1, &[]), value("y", 1, &[])],
        };
        let given = f32s(&[rows as u64, columns as u64], &x);
        let found = run(16, graph, &Inputs::new().with_tensor("x", given)).unwrap();
        let at = |step: usize, lane: usize| {
            if along_rows { x[step * columns + lane] } else { x[lane * columns + step] }
        };
        let mut sums = vec![0.0; width];
        let mut all: Vec<Vec<f32>> = vec![];
        for step in 0..steps {
            let step = if backward == 1 { steps - 1 - step } else { step };
            (0..width).for_each(|lane| sums[lane] += at(step, lane));
            all.push(sums.clone());
        }
        if reversed == 1 {
            all.reverse();
        }
        let expected = if output_axis.rem_euclid(2) == 0 {
            f32s(&[steps as u64, width as u64], &all.concat())
        } else {
            let turned = (0..width).flat_map(|lane| all.iter().map(move |it| it[lane]));
            f32s(&[width as u64, steps as u64], &turned.collect::<Vec<f32>>())
        };
        assert_eq!(found, [f32s(&[width as u64], &sums), expected], "{input_axis} {output_axis}");
    }
}

/// Version 8 has batches of sequences, of which each is scanned up to its length.
#[test]
fn version_8_has_batches_of_sequences() {
    let run_with = |lengths: &[i64], backward: i64| {
        let more = [one_input(), ints("directions", &[backward])];
        let graph = Graph {
            nodes: vec![repeated("Scan", &["n", "s0", "x"], &["last", "y"], adding(), &more)],
            initializers: vec![floats("s0", &[2], &[10.0, 20.0])],
            inputs: vec![value("n", 7, &[None]), value("x", 1, &[None, None])],
            outputs: vec![value("last", 1, &[]), value("y", 1, &[])],
        };
        let x = f32s(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let lengths = int64(&[lengths.len() as u64], lengths);
        let inputs = Inputs::new().with_tensor("n", lengths).with_tensor("x", x);
        run(8, graph, &inputs)
    };
    let all = [11.0, 13.0, 16.0, 24.0, 29.0, 35.0];
    assert_eq!(run_with(&[3, 3], 0).unwrap(), [f32s(&[2], &[16.0, 35.0]), f32s(&[2, 3], &all)]);
    let part = [11.0, 13.0, 0.0, 0.0, 0.0, 0.0];
    assert_eq!(run_with(&[2, 0], 0).unwrap(), [f32s(&[2], &[13.0, 20.0]), f32s(&[2, 3], &part)]);
    let back = [13.0, 15.0, 16.0, 26.0, 31.0, 35.0];
    assert_eq!(run_with(&[3, 3], 1).unwrap(), [f32s(&[2], &[16.0, 35.0]), f32s(&[2, 3], &back)]);
    let error = |lengths: &[i64], backward| run_with(lengths, backward).unwrap_err();
    assert!(error(&[3], 0).contains("sequence_lens: 1 is the wrong number; accepted: 2, one for"));
    assert!(
        error(&[3, 4], 0).contains("sequence_lens: 4 is more than the slices; accepted: up to 3")
    );
    assert!(error(&[3, -1], 0).contains("sequence_lens: -1 is not a size"));
    assert!(error(&[3, 2], 1).contains("ONNX leaves open where a shorter sequence begins"));
}

#[test]
fn a_scan_of_no_slices_hands_on_what_it_was_given() {
    let body = Graph {
        nodes: vec![node("Concat", &["e", "e"], &["twice"], &[("axis", 0)])],
        inputs: vec![value("s", 1, &[]), value("e", 1, &[])],
        outputs: vec![value("s", 1, &[]), value("twice", 1, &[])],
        ..Graph::default()
    };
    let graph = Graph {
        nodes: vec![repeated("Scan", &["s0", "x"], &["last", "y"], body, &[one_input()])],
        initializers: vec![floats("s0", &[], &[10.0])],
        inputs: vec![value("x", 1, &[None, Some(2)])],
        outputs: vec![value("last", 1, &[]), value("y", 1, &[])],
    };
    let found = run(16, graph, &Inputs::new().with_tensor("x", f32s(&[0, 2], &[]))).unwrap();
    assert_eq!(found, [f32s(&[], &[10.0]), f32s(&[0, 4], &[])]);
}
