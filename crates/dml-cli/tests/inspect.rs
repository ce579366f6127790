//! The counts and pictures of `dml inspect`, and the times of `dml run --repeat`.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../dml-import/tests/common/onnx.rs"]
#[allow(dead_code, reason = "each test file uses its own part")]
mod onnx;

mod common;

use std::path::Path;

use common::{dml, failed, stdout, text, without_device};

/// A name that would end a label.
const X: &str = "x\"]; evil [label=\"";

/// `y = Relu(MatMul(x, w))` of `rows` rows, or of any number.
fn write(folder: &Path, rows: Option<i64>) -> String {
    let graph = onnx::Graph {
        nodes: vec![
            onnx::node("MatMul", &[X, "w"], &["p"], &[]),
            onnx::node("Relu", &["p"], &["y"], &[]),
        ],
        initializers: vec![onnx::floats("w", &[3, 4], &[1.0; 12])],
        inputs: vec![onnx::value(X, 1, &[rows, Some(3)])],
        outputs: onnx::outputs(),
    };
    let path = folder.join("model.onnx");
    std::fs::write(&path, onnx::model(13, graph)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn arithmetic_and_memory_are_counted_where_sizes_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let printed = stdout(without_device(&["inspect", &write(folder.path(), Some(2))]));
    // 2 x 4 elements, each a sum of three products; and as many numbers.
    assert!(printed.contains("GEMM, feature level 1_0 and later, 48 flops\n"), "{printed}");
    assert!(printed.contains("RELU, feature level 1_0 and later, 8 flops\n"), "{printed}");
    assert!(
        printed.contains("\nflops: 56\nmemory: 48 bytes of weights, 24 of inputs, "),
        "{printed}"
    );
    assert!(printed.contains("; 0 bytes of weights are only needed before"), "{printed}");

    let printed = stdout(without_device(&["inspect", &write(folder.path(), None)]));
    assert!(!printed.contains("flops") && !printed.contains("memory"), "{printed}");
}

#[test]
fn numerics_are_printed_and_no_others_are_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), Some(2));
    let last = |arguments: &[&str]| {
        let printed = stdout(without_device(&[&["inspect", &path], arguments].concat()));
        printed.lines().last().unwrap().to_owned()
    };
    assert_eq!(last(&[]), "numerics: exact, the same bits on every device");
    let fast = "numerics: fast, sums of products may differ between devices";
    assert_eq!(last(&["--numerics", "fast"]), fast);
    for command in ["inspect", "run"] {
        let refused = without_device(&[command, &path, "--numerics", "quick"]);
        failed(
            &refused,
            2,
            "'--numerics <exact|fast>': unknown numerics 'quick'; accepted: exact, fast",
        );
    }
}

#[test]
fn a_picture_has_each_node_and_no_name_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), Some(2));
    let picture = stdout(without_device(&["inspect", &path, "--dot", "-"]));
    let expected = r#"digraph {
  node [shape=box, style=filled];
  in0 [label="x\"]; evil [label=\"\nfloat32 [2, 3]", shape=ellipse, fillcolor=white];
"#;
    assert!(picture.starts_with(expected) && picture.ends_with("}\n"), "{picture}");
    for line in
        ["  in0 -> n1 [label=\"float32 [2, 3]\"];", "  n1 -> n2 [label=\"float32 [2, 4]\"];"]
    {
        assert!(picture.lines().any(|it| it == line), "{picture}");
    }
    assert!(picture.contains("  n2 -> out0 [label=\"float32 [2, 4]\"];\n"), "{picture}");

    let file = folder.path().join("picture.dot");
    let arguments = ["inspect", &path, "--dot", file.to_str().unwrap()];
    assert!(stdout(without_device(&arguments)).starts_with("format: ONNX\n"));
    assert_eq!(std::fs::read_to_string(file).unwrap(), picture);
}

/// A chain of three nodes after `first`, whose output is `c`.
fn write_chain(
    folder: &Path,
    nodes: Vec<onnx::Message>,
    initializers: Vec<onnx::Message>,
) -> String {
    let mut nodes = nodes;
    for (input, output) in [("c", "d"), ("d", "e"), ("e", "y")] {
        nodes.push(onnx::node("Relu", &[input], &[output], &[]));
    }
    let inputs = vec![onnx::value("x", 1, &[Some(1), Some(3), None, None])];
    let graph = onnx::Graph { nodes, initializers, inputs, outputs: onnx::outputs() };
    let path = folder.join("open.onnx");
    std::fs::write(&path, onnx::model(13, graph)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// `Concat(x, up(down(x)))`, which fits where sizes are even.
fn write_detector(folder: &Path) -> String {
    let two = || onnx::ints("strides", &[2, 2]);
    let down = onnx::node("MaxPool", &["x"], &["a"], &[]);
    let down = down.message(5, onnx::ints("kernel_shape", &[1, 1])).message(5, two());
    let up = onnx::node("Resize", &["a", "", "scales"], &["b"], &[]);
    let concat = onnx::node("Concat", &["x", "b"], &["c"], &[("axis", 1)]);
    let scales = onnx::floats("scales", &[4], &[1.0, 1.0, 2.0, 2.0]);
    write_chain(folder, vec![down, up, concat], vec![scales])
}

#[test]
fn sizes_that_are_assumed_are_no_reason_that_a_node_does_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = write_detector(folder.path());
    let printed = stdout(without_device(&["inspect", &path]));
    assert!(!printed.contains("does not run"), "{printed}");
    assert!(
        printed.contains("Concat 'c'") && printed.contains(": JOIN, feature level"),
        "{printed}"
    );
    assert_eq!(printed.matches(": ACTIVATION_RELU, feature level").count(), 3, "{printed}");
    let needed =
        "x float32 [1, 3, ?, ?], needed: --input x=FILE.npy or --shape x=1x3x?x? --random\n";
    assert!(printed.contains(needed), "{printed}");
    // With given sizes that do not match, the reason is certain.
    let printed = stdout(without_device(&["inspect", &path, "--shape", "x=1x3x3x3"]));
    assert!(printed.contains("\ndoes not run: Concat (1), and 3 nodes that need"), "{printed}");
}

#[test]
fn what_depends_on_open_sizes_is_counted_and_says_what_to_give() {
    let folder = tempfile::tempdir().unwrap();
    // No size that is assumed is a multiple of 1009.
    let reshape = onnx::node("Reshape", &["x", "s"], &["c"], &[]);
    let path =
        write_chain(folder.path(), vec![reshape], vec![onnx::initializer("s", &[2], &[-1, 1009])]);
    let printed = stdout(without_device(&["inspect", &path]));
    let cause = ": depends on sizes or values that are not given; 3 nodes that need its result are \
                 left out\n";
    assert!(printed.contains("Reshape 'c'") && printed.contains(cause), "{printed}");
    let end = "\ndepends on what is not given: Reshape (1), and 3 nodes that need their results; give \
               --shape x=1x3x?x?\n";
    assert!(printed.ends_with(end), "{printed}");
    assert!(!printed.contains("Relu") && !printed.contains("does not run"), "{printed}");
    let printed = stdout(without_device(&["inspect", &path, "--shape", "x=1x3x1009x2"]));
    assert!(printed.contains("Relu 'y' -> float32 [6, 1009]: "), "{printed}");
}

#[test]
fn a_cause_is_one_line_with_a_count_of_what_needs_its_result() {
    let folder = tempfile::tempdir().unwrap();
    let path =
        write_chain(folder.path(), vec![onnx::node("ImageDecoder", &["x"], &["c"], &[])], vec![]);
    let printed = stdout(without_device(&["inspect", &path]));
    let count = "; 3 nodes that need its result are left out\n";
    let lines: Vec<&str> = printed.lines().filter(|line| line.contains("ImageDecoder")).collect();
    assert!(lines.len() == 2 && printed.contains(count), "{printed}");
    let end = "\ndoes not run: ImageDecoder (1), and 3 nodes that need their results\n";
    assert!(printed.ends_with(end), "{printed}");
    let refused = without_device(&["run", &path, "--shape", "x=1x3x2x2"]);
    failed(&refused, 1, &format!("; `dml inspect {path}` shows what runs each node\n"));
}

#[test]
fn a_repeated_run_says_how_long_it_took_after_its_outputs() {
    let folder = tempfile::tempdir().unwrap();
    let graph = onnx::Graph {
        nodes: vec![onnx::node("EyeLike", &["x"], &["y"], &[])],
        inputs: vec![onnx::value("x", 1, &[Some(2), Some(3)])],
        outputs: onnx::outputs(),
        ..Default::default()
    };
    let path = folder.path().join("model.onnx");
    std::fs::write(&path, onnx::model(13, graph)).unwrap();
    let out = folder.path().to_str().unwrap();
    let arguments = ["run", path.to_str().unwrap(), "--output-dir", out, "--repeat"];
    let output = dml(&[&arguments[..], &["3"]].concat());
    let report = text(&output.stderr);
    assert!(report.starts_with("ran "), "{report}");
    assert_eq!(report.lines().count(), 3, "no progress where nobody watches: {report}");
    let printed = stdout(output);
    let lines: Vec<&str> = printed.lines().rev().take(2).collect();
    assert!(lines[0].starts_with("runs: 3, median ") && lines[0].contains(", p99 "), "{printed}");
    assert!(lines[0].ends_with(", numerics exact"), "{printed}");
    assert!(lines[1].starts_with("once: read ") && lines[1].contains("first run "), "{printed}");
    assert!(printed.starts_with("y: float32 [2, 3] -> "), "{printed}");
    let fast = stdout(dml(&[&arguments[..], &["1", "--numerics", "fast"]].concat()));
    assert!(fast.ends_with(", numerics fast\n"), "{fast}");
    failed(dml(&[&arguments[..], &["0"]].concat()), 2, "--repeat");
}

/// An assumed value is not a reason for a refusal either.
#[test]
fn a_node_that_needs_values_which_are_not_given_is_not_refused_for_others() {
    let folder = tempfile::tempdir().unwrap();
    let graph = onnx::Graph {
        nodes: vec![onnx::node("Reshape", &["x", "s"], &["y"], &[])],
        inputs: vec![onnx::value("x", 1, &[Some(2), Some(3)]), onnx::value("s", 7, &[Some(2)])],
        outputs: onnx::outputs(),
        ..Default::default()
    };
    let path = folder.path().join("model.onnx");
    std::fs::write(&path, onnx::model(13, graph)).unwrap();
    let printed = stdout(without_device(&["inspect", path.to_str().unwrap()]));
    let end = "\ndepends on what is not given: Reshape (1); give --input s=FILE.npy\n";
    assert!(printed.ends_with(end) && !printed.contains("does not run"), "{printed}");
}
