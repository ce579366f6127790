//! ONNX operators that move elements, on the host and as DirectML operators: behaviour that ONNX's node tests
//! do not cover.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::onnx::{Graph, Message, ints, model, node, outputs, value};
use common::{f32s, host};
use dml_core::DataType;
use dml_import::{ElementType, Inputs, Model, Tensor};

/// The output of a node for `x`, which is an input or an initializer, and for integer initializers; with the
/// name of the only operator.
fn run(node: Message, x: &Tensor, integers: &[&[i64]]) -> Result<(Tensor, Vec<String>), String> {
    let initializer = |(name, values): (&str, &&[i64])| {
        common::onnx::initializer(name, &[i64::try_from(values.len()).unwrap()], values)
    };
    let graph = Graph {
        nodes: vec![node],
        initializers: ["a", "b", "c", "d"].into_iter().zip(integers).map(initializer).collect(),
        inputs: vec![value(
            "x",
            common::onnx::number(x.element_type()),
            &vec![None; x.shape().len()],
        )],
        outputs: outputs(),
    };
    let given = Inputs::new().with_tensor("x", x.clone());
    let program = Model::from_bytes(model(22, graph)).and_then(|it| it.bind(&given));
    let program = program.map_err(|error| error.to_string())?;
    let names = program
        .operators()
        .iter()
        .flat_map(|operator| operator.operators())
        .map(|it| it.schema().name.to_owned())
        .collect();
    Ok((host::run(&program).remove(0).tensor, names))
}

fn text(name: &str, value: &str) -> Message {
    Message::default().text(1, name).text(4, value).int(20, 3)
}

fn count(shape: &[u64]) -> Tensor {
    let count: u64 = shape.iter().product();
    f32s(shape, &(0..count).map(|it| it as f32).collect::<Vec<_>>())
}

#[test]
fn slices_are_operators_where_a_device_has_the_elements() {
    let slice = |x: &Tensor, arrays: &[&[i64]]| {
        let names = ["x", "a", "b", "c", "d"];
        run(node("Slice", &names[..=arrays.len()], &["y"], &[]), x, arrays).unwrap()
    };
    let x = count(&[3, 4]);
    let (y, names) = slice(&x, &[&[1, 1], &[3, 4], &[0, 1], &[1, 2]]);
    assert_eq!((y, names[0].as_str()), (f32s(&[2, 2], &[5.0, 7.0, 9.0, 11.0]), "SLICE"));
    let (y, names) = slice(&x, &[&[-1], &[i64::MIN], &[1], &[-3]]);
    let expected = f32s(&[3, 2], &[3.0, 0.0, 7.0, 4.0, 11.0, 8.0]);
    assert_eq!((y, names[0].as_str()), (expected, "SLICE1"));
    // Neighbouring dimensions that are not sliced are merged.
    let deep = count(&[2, 1, 1, 3, 1, 1, 1, 1, 1, 4]);
    let (y, names) = slice(&deep, &[&[1], &[2]]);
    assert_eq!(names, ["SLICE"]);
    assert_eq!(y.shape(), [1, 1, 1, 3, 1, 1, 1, 1, 1, 4]);
    assert_eq!(y.bytes(), &deep.bytes()[48..]);
    let (y, names) = slice(&x, &[&[2], &[1]]);
    assert_eq!((y.shape(), names.len()), (&[0, 4][..], 0));
}

#[test]
fn margins_are_padded_and_cut() {
    let pad = |mode: &str, x: &Tensor, pads: &[i64]| {
        let node = node("Pad", &["x", "a"], &["y"], &[]).message(5, text("mode", mode));
        run(node, x, &[pads])
    };
    let row = f32s(&[3], &[1.0, 2.0, 3.0]);
    for (mode, pads, expected, name) in [
        ("constant", [1, 2], &[0.0, 1.0, 2.0, 3.0, 0.0, 0.0][..], "PADDING"),
        ("constant", [-1, 2], &[2.0, 3.0, 0.0, 0.0], "SLICE PADDING"),
        ("edge", [2, -1], &[1.0, 1.0, 1.0, 2.0], "SLICE PADDING"),
        ("reflect", [3, 2], &[2.0, 3.0, 2.0, 1.0, 2.0, 3.0, 2.0, 1.0], "PADDING"),
        ("wrap", [1, 4], &[3.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0], "PADDING"),
        ("reflect", [-1, -1], &[2.0], "SLICE"),
    ] {
        let (y, names) = pad(mode, &row, &pads).unwrap();
        let length = u64::try_from(expected.len()).unwrap();
        assert_eq!((y, names.join(" ").as_str()), (f32s(&[length], expected), name), "{mode}");
    }
    // An empty dimension can only have constant padding.
    let empty = f32s(&[0], &[]);
    assert_eq!(pad("constant", &empty, &[1, 1]).unwrap().0, f32s(&[2], &[0.0, 0.0]));
    let error = pad("edge", &empty, &[1, 0]).unwrap_err();
    let expected =
        "pads: [1, 0] repeat elements of a dimension of size 0; accepted: 0, or the mode constant";
    assert!(error.contains(expected), "{error}");
    let without_rows = f32s(&[0, 3], &[]);
    let padded = pad("reflect", &without_rows, &[0, 2, 0, 1]).unwrap().0;
    assert_eq!(padded, f32s(&[0, 6], &[]));
    let error = pad("edge", &row, &[-2, -2]).unwrap_err();
    assert!(error.contains("pads: -4 cuts off too much; accepted: -3 and more"), "{error}");
    let error = pad("mirror", &row, &[0, 0]).unwrap_err();
    assert!(error.contains("attribute mode: \"mirror\" is unknown"), "{error}");
}

#[test]
fn tiles_of_doubles_are_strides_of_0() {
    let tile =
        |x: &Tensor, repeats: &[i64]| run(node("Tile", &["x", "a"], &["y"], &[]), x, &[repeats]);
    let (y, names) = tile(&count(&[1, 2]), &[2, 2]).unwrap();
    let expected = f32s(&[2, 4], &[0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
    assert_eq!((y, names[0].as_str()), (expected, "TILE"));
    let double = ElementType::Dml(DataType::Float64);
    let row: Vec<u8> = [1.5f64, -2.0].iter().flat_map(|it| it.to_le_bytes()).collect();
    let (y, names) = tile(&Tensor::new(double, [2], row.clone()).unwrap(), &[3]).unwrap();
    assert_eq!((y.bytes(), names.len()), (&row.repeat(3)[..], 1));
    assert_eq!(names, ["ELEMENT_WISE_IDENTITY"]);
    let error = tile(&count(&[1, 2]), &[2]).unwrap_err();
    assert!(error.contains("repeats: 1 is the wrong number of elements; accepted: 2"), "{error}");
}

#[test]
fn blocks_are_the_same_on_the_host_as_on_a_device() {
    let x = count(&[1, 8, 2, 3]);
    for (op, mode) in [("DepthToSpace", "DCR"), ("DepthToSpace", "CRD"), ("SpaceToDepth", "")] {
        let shape: &[u64] = if mode.is_empty() { &[1, 2, 4, 6] } else { &[1, 8, 2, 3] };
        let blocks = |input: &str| {
            let node = node(op, &[input], &["y"], &[("blocksize", 2)]);
            if mode.is_empty() { node } else { node.message(5, text("mode", mode)) }
        };
        let given = run(blocks("x"), &count(shape), &[]).unwrap();
        assert_eq!(given.1.len(), 1, "{op} {mode}");
        let integers: Vec<i64> = (0..48).collect();
        let sizes: Vec<i64> = shape.iter().map(|it| i64::try_from(*it).unwrap()).collect();
        let graph = Graph {
            nodes: vec![blocks("w")],
            initializers: vec![common::onnx::initializer("w", &sizes, &integers)],
            outputs: outputs(),
            ..Graph::default()
        };
        let program = Model::from_bytes(model(22, graph)).unwrap().bind(&Inputs::new()).unwrap();
        assert!(program.operators().is_empty());
        let folded = host::run(&program).remove(0).tensor;
        let floats: Vec<f32> = folded
            .bytes()
            .chunks(8)
            .map(|it| i64::from_le_bytes(it.try_into().unwrap()) as f32)
            .collect();
        assert_eq!(given.0, f32s(folded.shape(), &floats), "{op} {mode}");
    }
    let error = run(node("SpaceToDepth", &["x"], &["y"], &[("blocksize", 2)]), &x, &[]);
    let error = error.unwrap_err();
    assert!(error.contains("is not divided by the block; accepted: multiples of 2"), "{error}");
}

#[test]
fn the_middle_is_cut_and_padded_with_the_rest_at_the_end() {
    let node = node("CenterCropPad", &["x", "a"], &["y"], &[]).message(5, ints("axes", &[1, 0]));
    let (y, names) = run(node, &count(&[1, 5]), &[&[2, 2]]).unwrap();
    assert_eq!(y, f32s(&[2, 2], &[1.0, 2.0, 0.0, 0.0]));
    assert_eq!(names, ["SLICE", "PADDING"]);
}
