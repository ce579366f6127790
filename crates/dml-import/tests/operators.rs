//! ONNX operators: behaviour that ONNX's node tests do not cover.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::onnx::{Graph, Message, model, node, outputs, value};
use common::{f32s, host, int64};
use dml_import::{ElementType, Inputs, Model, Tensor};

/// The only output of one node of these inputs.
fn run(node: Message, inputs: &[(&str, Tensor)]) -> Result<Tensor, String> {
    host::run_node(22, node, inputs)
}

fn einsum(equation: &str, inputs: &[Tensor]) -> Result<Tensor, String> {
    const NAMES: [&str; 3] = ["a", "b", "c"];
    let text = Message::default().text(1, "equation").text(4, equation).int(20, 3);
    let node = node("Einsum", &NAMES[..inputs.len()], &["y"], &[]).message(5, text);
    let named: Vec<(&str, Tensor)> = NAMES.into_iter().zip(inputs.iter().cloned()).collect();
    run(node, &named)
}

#[test]
fn einsum_is_views_and_products_where_it_sums_nothing() {
    let count = |shape: &[u64]| {
        let count: u64 = shape.iter().product();
        let values: Vec<f32> = (0..count).map(|it| it as f32 + 1.0).collect();
        f32s(shape, &values)
    };
    let (row, column) = (count(&[3]), count(&[2]));
    let outer = f32s(&[2, 3], &[1.0, 2.0, 3.0, 2.0, 4.0, 6.0]);
    assert_eq!(einsum("j,i->ij", &[row.clone(), column.clone()]).unwrap(), outer);
    assert_eq!(einsum("i , j", &[column.clone(), row.clone()]).unwrap(), outer);
    // A diagonal of three equal dimensions, and one of a transposed product.
    assert_eq!(einsum("iii->i", &[count(&[2, 2, 2])]).unwrap(), f32s(&[2], &[1.0, 8.0]));
    let squares = f32s(&[2], &[1.0, 16.0]);
    assert_eq!(einsum("ii,ii->i", &[count(&[2, 2]), count(&[2, 2])]).unwrap(), squares);
    // The ellipsis is broadcast; it comes first if the output is not stated.
    let repeated = f32s(&[2, 2], &[1.0, 2.0, 6.0, 8.0]);
    let scale = f32s(&[2, 1], &[1.0, 2.0]);
    assert_eq!(einsum("...,...", &[count(&[2, 2]), scale]).unwrap(), repeated);
    assert_eq!(
        einsum("b...->...b", &[count(&[2, 3])]).unwrap(),
        f32s(&[3, 2], &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0])
    );
    // Sums over a dimension of size 1.
    assert_eq!(einsum("ij->i", &[count(&[2, 1])]).unwrap(), column);
    let three = einsum("i,j,i->ij", &[column.clone(), f32s(&[1], &[3.0]), column]).unwrap();
    assert_eq!(three, f32s(&[2, 1], &[3.0, 12.0]));
}

#[test]
fn einsum_sums_over_what_the_output_has_not() {
    let count = |shape: &[u64]| {
        let count: u64 = shape.iter().product();
        let values: Vec<f32> = (0..count).map(|it| it as f32 + 1.0).collect();
        f32s(shape, &values)
    };
    let (wide, high) = (count(&[2, 3]), count(&[3, 2]));
    let product = f32s(&[2, 2], &[22.0, 28.0, 49.0, 64.0]);
    assert_eq!(einsum("ij,jk->ik", &[wide.clone(), high.clone()]).unwrap(), product);
    // A transposed output, and a dimension that is summed in one factor only.
    let transposed = f32s(&[2, 2], &[22.0, 49.0, 28.0, 64.0]);
    assert_eq!(einsum("ij,jk->ki", &[wide.clone(), high.clone()]).unwrap(), transposed);
    assert_eq!(
        einsum("ij,jk->i", &[wide.clone(), high.clone()]).unwrap(),
        f32s(&[2], &[50.0, 113.0])
    );
    assert_eq!(einsum("ij,ij->", &[wide.clone(), wide.clone()]).unwrap(), f32s(&[], &[91.0]));
    assert_eq!(einsum("ij->j", std::slice::from_ref(&wide)).unwrap(), f32s(&[3], &[5.0, 7.0, 9.0]));
    assert_eq!(einsum("ii", &[count(&[2, 2])]).unwrap(), f32s(&[], &[5.0]));
    // Batches, one of which is broadcast.
    let batches = [count(&[2, 1, 2]), count(&[1, 2, 1])];
    let expected = f32s(&[2, 1, 1], &[5.0, 11.0]);
    assert_eq!(einsum("...ij,...jk->...ik", &batches).unwrap(), expected);
    assert_eq!(einsum("...j,...j->j", &[wide.clone(), count(&[1, 3])]).unwrap(), {
        f32s(&[3], &[5.0, 14.0, 27.0])
    });
    // Three factors: a dimension that a later factor needs is kept.
    let bilinear = [count(&[2]), wide, count(&[3])];
    assert_eq!(einsum("i,ij,j->", &bilinear).unwrap(), f32s(&[], &[78.0]));
    let integers = [1_i64, 2, 3, 4].map(i64::to_le_bytes).concat();
    let integers = Tensor::new(ElementType::INT64, [2, 2], integers).unwrap();
    let sums = Tensor::new(ElementType::INT64, [2], [5_i64, 11].map(i64::to_le_bytes).concat());
    let column = Tensor::new(ElementType::INT64, [2], [1_i64, 2].map(i64::to_le_bytes).concat());
    assert_eq!(einsum("ij,j->i", &[integers, column.unwrap()]).unwrap(), sums.unwrap());
}

#[test]
fn einsum_says_what_it_does_not_do() {
    let matrix = || f32s(&[2, 3], &[0.0; 6]);
    let refused = |equation: &str, inputs: &[Tensor], message: &str| {
        let error = einsum(equation, inputs).unwrap_err();
        assert!(error.contains(message), "{error}");
    };
    refused("ij", &[matrix(), matrix()], "inputs: 2 is the wrong number; accepted: 1, as terms");
    refused("ijk->ijk", &[matrix()], "inputs: [2, 3] does not fit; accepted: 3 dimensions");
    refused("i->i", &[matrix()], "inputs: [2, 3] does not fit; accepted: 1 dimensions");
    refused("ii->i", &[matrix()], "inputs: 3 is another size of the same dimension; accepted: 2");
    refused(
        "ij->ik",
        &[matrix()],
        "attribute equation: ij->ik names a dimension of the output that",
    );
    refused(
        "i!",
        &[matrix()],
        "attribute equation: i! is not an equation; accepted: terms of letters",
    );
}

#[test]
fn a_mean_is_the_sum_divided_by_how_many_there_are() {
    let mean = |inputs: &[(&str, Tensor)]| {
        let names: Vec<&str> = inputs.iter().map(|(name, _)| *name).collect();
        run(node("Mean", &names, &["y"], &[]), inputs)
    };
    let (a, b) = (f32s(&[2, 1], &[1.0, 4.0]), f32s(&[3], &[0.0, 3.0, 6.5]));
    let both = f32s(&[2, 3], &[0.5, 2.0, 3.75, 2.0, 3.5, 5.25]);
    assert_eq!(mean(&[("a", a.clone()), ("b", b)]).unwrap(), both);
    assert_eq!(mean(&[("a", a.clone())]).unwrap(), a);
    let thirds = mean(&[("a", a.clone()), ("b", a.clone()), ("c", a.clone())]).unwrap();
    assert_eq!(thirds, a);
    let error = mean(&[("a", int64(&[1], &[1]))]).unwrap_err();
    assert!(error.contains("inputs: int64 is the wrong type; accepted: floats"), "{error}");
}

#[test]
fn an_optional_value_without_an_element_is_an_input_left_out() {
    let tensor = Message::default().int(1, 1);
    let kind =
        Message::default().text(1, "type").message(14, Message::default().message(1, tensor));
    let optional = |inputs: &[&str]| {
        node("Optional", inputs, &["o"], &[]).message(5, kind.clone().int(20, 13))
    };
    let bind = |inputs: &[&str], op: &str| {
        let graph = Graph {
            nodes: vec![node(op, &["o"], &["y"], &[]), optional(inputs)],
            inputs: vec![value("x", 1, &[Some(1)])],
            outputs: outputs(),
            ..Graph::default()
        };
        let model = Model::from_bytes(model(18, graph)).map_err(|error| error.to_string())?;
        let given = Inputs::new().with_tensor("x", f32s(&[1], &[2.5]));
        let program = model.bind(&given).map_err(|error| error.to_string())?;
        Ok::<_, String>(host::run(&program).remove(0).tensor)
    };
    let truth = |it: u8| Tensor::new(ElementType::Bool, [], vec![it]).unwrap();
    assert_eq!(bind(&["x"], "OptionalHasElement").unwrap(), truth(1));
    assert_eq!(bind(&[], "OptionalHasElement").unwrap(), truth(0));
    assert_eq!(bind(&[""], "OptionalHasElement").unwrap(), truth(0));
    assert_eq!(bind(&["x"], "OptionalGetElement").unwrap(), f32s(&[1], &[2.5]));
    let error = bind(&[], "OptionalGetElement").unwrap_err();
    assert!(error.contains("OptionalGetElement 'y': input: nothing is given"), "{error}");
}

#[test]
fn dropout_that_drops_nothing_is_run_in_training_too() {
    let run_with = |ratio: Option<f32>, training: u8| {
        let name = if ratio.is_some() { "r" } else { "" };
        let mut inputs = vec![("x", f32s(&[2], &[1.0, 2.0]))];
        inputs.extend(ratio.map(|ratio| ("r", f32s(&[], &[ratio]))));
        inputs.push(("t", Tensor::new(ElementType::Bool, [], vec![training]).unwrap()));
        run(node("Dropout", &["x", name, "t"], &["y"], &[]), &inputs)
    };
    for (ratio, training) in [(Some(0.0), 1), (Some(-0.0), 1), (Some(0.5), 0), (None, 0)] {
        assert_eq!(run_with(ratio, training).unwrap(), f32s(&[2], &[1.0, 2.0]));
    }
    for ratio in [Some(0.1), Some(f32::NAN), None] {
        let error = run_with(ratio, 1).unwrap_err();
        assert!(error.contains("it is for training, whose results are random"), "{error}");
    }
}

#[test]
fn determinants_are_of_rows_in_any_order() {
    let of = |shape: &[u64], numbers: &[f32]| {
        run(node("Det", &["x"], &["y"], &[]), &[("x", f32s(shape, numbers))])
    };
    let three = [0., 2., 1., 3., 4., 0., 1., 2., 3., 1., 2., 0., 2., 4., 0., 0., 0., 1.];
    assert_eq!(of(&[2, 3, 3], &three), Ok(f32s(&[2], &[-16., 0.])));
    assert_eq!(of(&[0, 0], &[]), Ok(f32s(&[], &[1.])));
    let error = of(&[1, 2], &[1., 2.]).unwrap_err();
    assert!(error.contains("X: [1, 2] is the wrong shape"), "{error}");
    let error = of(&[1 << 40, 0, 0], &[]).unwrap_err();
    assert!(error.contains("computes more on the host than 4194304 elements"), "{error}");
}
