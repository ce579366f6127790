//! Resize and Upsample: the selected elements, compared with ONNX's formulas in exact fractions.

use dml_import::{ElementType, Inputs, Model, Tensor};

use crate::common::onnx::{Graph, Message, floats, initializer, ints, model, node, number, value};
use crate::common::single::{check, check_near, judged_model, refusal};
use crate::common::{f32s, int64};
use crate::fraction::Fraction;

/// All coordinate modes but `tf_crop_and_resize`, which takes a region.
const MODES: [&str; 6] = [
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "tf_half_pixel_for_nn",
    "align_corners",
    "asymmetric",
];

const ROUNDINGS: [&str; 4] = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"];

/// Input and output sizes.
const SIZES: [u64; 9] = [1, 2, 3, 5, 8, 14, 15, 33, 64];

fn text(name: &str, value: &str) -> Message {
    Message::default().text(1, name).text(4, value).int(20, 3)
}

fn float(name: &str, value: f32) -> Message {
    Message::default().text(1, name).float(2, value).int(20, 1)
}

fn with(node: Message, attributes: &[Message]) -> Message {
    attributes.iter().fold(node, |node, attribute| node.message(5, attribute.clone()))
}

/// Resize of `x` to the sizes `s`.
fn to_sizes(attributes: &[Message]) -> Message {
    with(node("Resize", &["x", "", "", "s"], &["y"], &[]), attributes)
}

/// Resize of `x` by the scales `s`.
fn by_scales(attributes: &[Message]) -> Message {
    with(node("Resize", &["x", "", "s"], &["y"], &[]), attributes)
}

fn nearest(mode: &str, rounding: &str) -> [Message; 3] {
    let mode = text("coordinate_transformation_mode", mode);
    [text("mode", "nearest"), mode, text("nearest_mode", rounding)]
}

fn counted(size: u64) -> Vec<f32> {
    (0..size).map(|number| number as f32).collect()
}

/// ONNX's input coordinate of the output element `x`.
fn coordinate(mode: &str, x: u64, [input, output]: [u64; 2], scale: Fraction) -> Fraction {
    let [x, input, output] = [x, input, output].map(|it| Fraction::from(i128::from(it)));
    let (one, half) = (Fraction::from(1), Fraction::new(1, 2));
    match mode {
        "half_pixel" => (x + half) / scale - half,
        "half_pixel_symmetric" => {
            let adjustment = output / (input * scale);
            input * half * (one - adjustment) + (x + half) / scale - half
        }
        "pytorch_half_pixel" if output == one => Fraction::from(0),
        "pytorch_half_pixel" => (x + half) / scale - half,
        "tf_half_pixel_for_nn" => (x + half) / scale,
        "align_corners" if output == one => Fraction::from(0),
        "align_corners" => x * (input - one) / (output - one),
        "asymmetric" => x / scale,
        other => panic!("{other}"),
    }
}

/// The element of `input` at a rounded coordinate.
fn rounded(rounding: &str, at: Fraction, input: u64) -> f32 {
    let half = Fraction::new(1, 2);
    let whole = match rounding {
        "floor" => at.floor(),
        "ceil" => at.ceil(),
        "round_prefer_floor" => (at - half).ceil(),
        "round_prefer_ceil" => (at + half).floor(),
        other => panic!("{other}"),
    };
    whole.clamp(0, i128::from(input) - 1) as f32
}

/// A graph that resizes each of these sizes to each, and its inputs.
fn every_size(attributes: &[Message]) -> (Vec<u8>, Inputs, Vec<[u64; 2]>) {
    let (mut graph, mut inputs, mut pairs) = (Graph::default(), Inputs::new(), vec![]);
    for output in SIZES {
        let size = i64::try_from(output).unwrap();
        graph.initializers.push(initializer(&format!("s{output}"), &[1], &[size]));
    }
    for input in SIZES {
        let x = format!("x{input}");
        graph.inputs.push(value(&x, number(ElementType::FLOAT32), &[None]));
        inputs = inputs.with_tensor(&x, f32s(&[input], &counted(input)));
        for output in SIZES {
            let (sizes, y) = (format!("s{output}"), format!("y{input}_{output}"));
            let resize = node("Resize", &[&x, "", "", &sizes], &[&y], &[]);
            graph.nodes.push(with(resize, attributes));
            graph.outputs.push(value(&y, 0, &[]));
            pairs.push([input, output]);
        }
    }
    (model(20, graph), inputs, pairs)
}

#[test]
fn aligned_corners_reach_the_last_element() {
    for (input, output, rounding, last) in
        [(15, 2, "floor", 14.), (8, 33, "floor", 7.), (14, 5, "round_prefer_ceil", 13.)]
    {
        let (x, sizes) = (f32s(&[input], &counted(input)), int64(&[1], &[output]));
        let node = to_sizes(&nearest("align_corners", rounding));
        let expected: Vec<f32> = (0..output.unsigned_abs())
            .map(|x| {
                let pair = [input, output.unsigned_abs()];
                rounded(rounding, coordinate("align_corners", x, pair, 1.into()), input)
            })
            .collect();
        assert_eq!(expected.last(), Some(&last));
        let expected = f32s(&[output.unsigned_abs()], &expected);
        check(&node, &[("x", &x), ("s", &sizes)], &expected);
    }
}

#[test]
fn nearest_elements_are_those_of_exact_coordinates() {
    for (mode, rounding) in MODES.iter().flat_map(|mode| ROUNDINGS.map(|it| (*mode, it))) {
        let (model, inputs, pairs) = every_size(&nearest(mode, rounding));
        judged_model(model, &inputs, |found| {
            for ([input, output], found) in pairs.iter().zip(found) {
                let scale = Fraction::new((*output).into(), (*input).into());
                let expected: Vec<f32> = (0..*output)
                    .map(|x| coordinate(mode, x, [*input, *output], scale))
                    .map(|at| rounded(rounding, at, *input))
                    .collect();
                let case = format!("{mode}, {rounding}: {input} to {output}");
                assert_eq!(*found, f32s(&[*output], &expected), "{case}");
            }
        });
    }
}

#[test]
fn a_given_scale_is_the_ratio_of_the_sizes_or_else_the_exact_value_of_its_float() {
    for (mode, scale) in
        MODES.iter().flat_map(|mode| [0.1_f32, 1. / 3., 0.6, 1.5, 3.3].map(|it| (*mode, it)))
    {
        if mode == "align_corners" {
            continue;
        }
        for (input, rounding) in [(10, "floor"), (9, "round_prefer_ceil"), (31, "ceil")] {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the fraction of a small number above 0 is cut off"
            )]
            let (length, output) = (input as f32 * scale, (input as f32 * scale) as u64);
            let (x, scales) = (f32s(&[input], &counted(input)), f32s(&[1], &[scale]));
            let exact = match length.fract() == 0.0 {
                true => Fraction::new(i128::from(output), i128::from(input)),
                false => Fraction::of_float(scale),
            };
            let expected: Vec<f32> = (0..output)
                .map(|x| rounded(rounding, coordinate(mode, x, [input, output], exact), input))
                .collect();
            let node = by_scales(&nearest(mode, rounding));
            check(&node, &[("x", &x), ("s", &scales)], &f32s(&[output], &expected));
        }
    }
}

#[test]
fn a_scale_of_a_third_takes_every_third_element() {
    let (x, scales) = (f32s(&[9], &counted(9)), f32s(&[1], &[1. / 3.]));
    let node = by_scales(&nearest("asymmetric", "floor"));
    check(&node, &[("x", &x), ("s", &scales)], &f32s(&[3], &[0., 3., 6.]));
}

/// 15 elements resized to 2, by a scale that is a little more than 2 / 15.
#[test]
fn corners_are_aligned_by_scales_as_by_sizes() {
    let (x, scales) = (f32s(&[15], &counted(15)), f32s(&[1], &[2. / 15.]));
    let node = by_scales(&nearest("align_corners", "floor"));
    check(&node, &[("x", &x), ("s", &scales)], &f32s(&[2], &[0., 14.]));
}

#[test]
fn linear_means_are_those_of_exact_coordinates() {
    let value_at = |at: Fraction, input: u64| {
        let last = Fraction::from(i128::from(input) - 1);
        if at < Fraction::from(0) {
            0.0
        } else if at < last {
            at.to_float()
        } else {
            last.to_float()
        }
    };
    for mode in MODES {
        for (input, output) in [(1, 3), (2, 7), (15, 2), (8, 33), (33, 8), (40, 1)] {
            let (x, sizes) = (f32s(&[input], &counted(input)), int64(&[1], &[output]));
            let output = output.unsigned_abs();
            let scale = Fraction::new(output.into(), input.into());
            let expected: Vec<f32> = (0..output)
                .map(|x| value_at(coordinate(mode, x, [input, output], scale), input))
                .collect();
            let mode = text("coordinate_transformation_mode", mode);
            let node = to_sizes(&[text("mode", "linear"), mode]);
            check_near(&node, &[("x", &x), ("s", &sizes)], &[output], &expected);
        }
    }
}

#[test]
fn cubic_interpolation_of_one_element_is_that_element() {
    for mode in MODES {
        let attributes = [
            text("mode", "cubic"),
            text("coordinate_transformation_mode", mode),
            Message::default().text(1, "exclude_outside").int(3, 1).int(20, 2),
        ];
        let (x, sizes) = (f32s(&[1, 1], &[5.]), int64(&[2], &[3, 1]));
        check_near(&to_sizes(&attributes), &[("x", &x), ("s", &sizes)], &[3, 1], &[5.; 3]);
    }
}

/// The columns grow and the rows shrink: version 10 rounds column coordinates down, and row coordinates up.
#[test]
fn version_10_rounds_each_dimension_by_its_own_scale() {
    let scales = floats("s", &[2], &[2. / 3., 1.5]);
    let x = f32s(&[3, 2], &counted(6));
    // Rows 0 and 1.5, which is rounded up to 2; columns 0, 2/3 and 4/3.
    let expected = f32s(&[2, 3], &[0., 0., 1., 4., 4., 5.]);
    for (name, opset) in [("Resize", 10), ("Upsample", 9)] {
        let graph = Graph {
            nodes: vec![node(name, &["x", "s"], &["y"], &[])],
            initializers: vec![scales.clone()],
            inputs: vec![value("x", 1, &[None, None])],
            outputs: vec![value("y", 0, &[])],
        };
        run_as(opset, graph, &x, &expected);
    }
}

#[test]
fn version_1_has_the_scales_of_height_and_width_as_attributes() {
    let x = f32s(&[1, 1, 2, 2], &[1., 2., 3., 4.]);
    let scales = [float("height_scale", 2.), float("width_scale", 1.5)];
    let upsample = node("Upsample", &["x"], &["y"], &[]);
    let graph = |attributes: &[Message]| Graph {
        nodes: vec![with(with(upsample.clone(), &scales), attributes)],
        inputs: vec![value("x", 1, &[None, None, None, None])],
        outputs: vec![value("y", 0, &[])],
        ..Graph::default()
    };
    let rows = [[1., 1., 2.], [1., 1., 2.], [3., 3., 4.], [3., 3., 4.]].concat();
    run_as(1, graph(&[text("mode", "nearest")]), &x, &f32s(&[1, 1, 4, 3], &rows));
    run_as(6, graph(&[]), &x, &f32s(&[1, 1, 4, 3], &rows));
    let error = Model::from_bytes(model(1, Graph { nodes: vec![upsample.clone()], ..graph(&[]) }))
        .unwrap()
        .bind(&Inputs::new().with_tensor("x", x))
        .unwrap_err();
    assert!(error.to_string().contains("height_scale"), "{error}");
}

/// Checks the output `y` of a graph for the input `x`.
fn run_as(opset: i64, graph: Graph, x: &Tensor, expected: &Tensor) {
    let inputs = Inputs::new().with_tensor("x", x.clone());
    judged_model(model(opset, graph), &inputs, |found| assert_eq!(&found[0], expected));
}

/// RESAMPLE2 supports neither these types nor so many dimensions.
#[test]
fn nearest_elements_are_moved_whatever_their_type_and_rank() {
    let node = to_sizes(&nearest("asymmetric", "floor"));
    let (x, sizes) = (int64(&[2], &[i64::MIN, 7]), int64(&[1], &[4]));
    let expected = int64(&[4], &[i64::MIN, i64::MIN, 7, 7]);
    check(&node, &[("x", &x), ("s", &sizes)], &expected);
    let x = Tensor::new(ElementType::Bool, [3], vec![1, 0, 1]).unwrap();
    let expected = Tensor::new(ElementType::Bool, [6], vec![1, 1, 0, 0, 1, 1]).unwrap();
    check(&node, &[("x", &x), ("s", &int64(&[1], &[6]))], &expected);
    let x = f32s(&[2, 1, 2, 1, 2], &counted(8));
    let sizes = int64(&[5], &[1, 2, 1, 2, 1]);
    let expected = f32s(&[1, 2, 1, 2, 1], &[0.; 4]);
    check(&node, &[("x", &x), ("s", &sizes)], &expected);
    let linear = to_sizes(&[text("mode", "linear")]);
    let expected = [3.5; 4];
    check_near(&linear, &[("x", &x), ("s", &sizes)], &[1, 2, 1, 2, 1], &expected);
}

#[test]
fn a_region_may_be_reversed_or_a_point() {
    let cropped = |mode: &str| {
        let coordinates = text("coordinate_transformation_mode", "tf_crop_and_resize");
        let outside = float("extrapolation_value", -1.);
        let attributes = [text("mode", mode), coordinates, text("nearest_mode", "floor"), outside];
        with(node("Resize", &["x", "r", "", "s"], &["y"], &[]), &attributes)
    };
    let x = f32s(&[5], &counted(5));
    for (region, size, expected) in [
        ([0., 1.], 3, vec![0., 2., 4.]),
        ([1., 0.], 5, vec![4., 3., 2., 1., 0.]),
        ([0.5, 0.5], 2, vec![2., 2.]),
        ([1.5, -0.5], 5, vec![-1., 4., 2., 0., -1.]),
        ([0.25, 0.75], 1, vec![2.]),
    ] {
        let (region, sizes) = (f32s(&[2], &region), int64(&[1], &[size]));
        let given = [("x", &x), ("r", &region), ("s", &sizes)];
        let shape = [size.unsigned_abs()];
        check(&cropped("nearest"), &given, &f32s(&shape, &expected));
        check_near(&cropped("linear"), &given, &shape, &expected);
    }
}

#[test]
fn empty_dimensions_stay_empty() {
    let x = f32s(&[0, 2], &[]);
    let node = to_sizes(&nearest("half_pixel", "floor"));
    let given = [("x", &x), ("s", &int64(&[2], &[0, 4]))];
    check(&node, &given, &f32s(&[0, 4], &[]));
    let error = refusal(&node, &[("x", &x), ("s", &int64(&[2], &[3, 4]))]);
    assert!(error.contains("X: [0, 2] has no elements to resize"), "{error}");
    let error = refusal(&node, &[("x", &x), ("s", &int64(&[1], &[3]))]);
    assert!(error.contains("accepted: 2 sizes above 0"), "{error}");
}

#[test]
fn proportions_are_kept_by_the_exact_ratio() {
    let kept = |policy: &str| {
        let policy = text("keep_aspect_ratio_policy", policy);
        let mode = text("coordinate_transformation_mode", "asymmetric");
        to_sizes(&[text("mode", "nearest"), text("nearest_mode", "floor"), policy, mode])
            .message(5, ints("axes", &[1, 0]))
    };
    // 7/6 is the smaller ratio: it makes 3.5 rows of 3, which is rounded to 4.
    let (x, sizes) = (f32s(&[3, 6], &counted(18)), int64(&[2], &[7, 12]));
    let columns = [0., 0., 1., 2., 3., 4., 5.];
    let rows = [0., 0., 6., 12.].iter();
    let expected: Vec<f32> =
        rows.flat_map(|row| columns.iter().map(move |column| row + column)).collect();
    let given = [("x", &x), ("s", &sizes)];
    check(&kept("not_larger"), &given, &f32s(&[4, 7], &expected));
}
