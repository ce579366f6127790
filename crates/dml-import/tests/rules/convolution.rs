//! Transposed convolutions: how padding and the output's shape follow from each other.

use dml_import::Inputs;

use crate::common::f32s;
use crate::common::onnx::{Graph, Message, ints, model, node, value};
use crate::common::single::{check, judged_model, refusal};

/// A transposed convolution of one dimension.
#[derive(Clone, Copy, Debug)]
struct Case {
    taps: usize,
    stride: usize,
    dilation: usize,
    groups: usize,
    auto: &'static str,
    pads: [usize; 2],
    output_shape: Option<usize>,
    output_padding: usize,
}

const INPUT: usize = 3;
const CHANNELS: usize = 2;

impl Case {
    /// The output's size before cropping.
    fn whole(&self) -> usize {
        (INPUT - 1) * self.stride + (self.taps - 1) * self.dilation + 1 + self.output_padding
    }

    /// The elements cropped at the start, and the size that is left, by ONNX's documentation.
    fn extent(&self) -> (usize, usize) {
        let is_same = self.auto.starts_with("SAME");
        let wanted = self.output_shape.or(is_same.then_some(INPUT * self.stride));
        match (wanted, self.auto) {
            (Some(size), auto) => {
                let total = self.whole().saturating_sub(size);
                (if auto == "SAME_UPPER" { total / 2 } else { total - total / 2 }, size)
            }
            (None, "VALID") => (0, self.whole()),
            (None, _) => (self.pads[0], self.whole() - self.pads[0] - self.pads[1]),
        }
    }

    fn filter(&self) -> Vec<f32> {
        (0..CHANNELS * CHANNELS / self.groups * self.taps).map(|it| (it % 7) as f32 - 3.).collect()
    }

    fn expected(&self, x: &[f32]) -> Vec<f32> {
        let (start, size) = self.extent();
        let (filter, of_group) = (self.filter(), CHANNELS / self.groups);
        let mut all = vec![vec![0.; self.whole() + start + size]; CHANNELS];
        for (input, at) in (0..CHANNELS).flat_map(|input| (0..INPUT).map(move |at| (input, at))) {
            for (output, tap) in (0..of_group).flat_map(|it| (0..self.taps).map(move |at| (it, at)))
            {
                let weight = filter[(input * of_group + output) * self.taps + tap];
                let channel = input / of_group * of_group + output;
                let place = at * self.stride + tap * self.dilation;
                all[channel][place] += x[input * INPUT + at] * weight;
            }
        }
        all.iter().flat_map(|channel| channel[start..start + size].to_vec()).collect()
    }

    fn node(&self, filter: &str, output: &str) -> Message {
        let list = |name: &str, values: &[usize]| {
            let values: Vec<i64> =
                values.iter().map(|value| i64::try_from(*value).unwrap()).collect();
            ints(name, &values)
        };
        let groups = i64::try_from(self.groups).unwrap();
        let node = node("ConvTranspose", &["x", filter], &[output], &[("group", groups)])
            .message(5, list("strides", &[self.stride]))
            .message(5, list("dilations", &[self.dilation]))
            .message(5, list("output_padding", &[self.output_padding]));
        let node = match self.auto {
            "NOTSET" => node.message(5, list("pads", &self.pads)),
            auto => {
                node.message(5, Message::default().text(1, "auto_pad").text(4, auto).int(20, 3))
            }
        };
        match self.output_shape {
            Some(size) => node.message(5, list("output_shape", &[size])),
            None => node,
        }
    }
}

/// Compares all of them with the definition, as the nodes of one graph.
fn check_all(cases: &[Case]) {
    let x = [1., -2., 3., 4., 0., -1.];
    let open = [None, None, None];
    let mut graph = Graph { inputs: vec![value("x", 1, &open)], ..Graph::default() };
    let mut inputs = Inputs::new().with_tensor("x", f32s(&[1, CHANNELS as u64, INPUT as u64], &x));
    for (number, case) in cases.iter().enumerate() {
        let (filter, output) = (format!("w{number}"), format!("y{number}"));
        let shape = [CHANNELS, CHANNELS / case.groups, case.taps].map(|size| size as u64);
        inputs = inputs.with_tensor(&filter, f32s(&shape, &case.filter()));
        graph.inputs.push(value(&filter, 1, &open));
        graph.outputs.push(value(&output, 0, &[]));
        graph.nodes.push(case.node(&filter, &output));
    }
    judged_model(model(20, graph), &inputs, |outputs| {
        for (case, found) in cases.iter().zip(outputs) {
            let shape = [1, CHANNELS as u64, case.extent().1 as u64];
            assert_eq!(*found, f32s(&shape, &case.expected(&x)), "{case:?}");
        }
    });
}

#[test]
fn an_output_shape_makes_the_padding_whatever_auto_pad_says() {
    let mut cases = vec![];
    for auto in ["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"] {
        for (taps, stride, dilation) in [(3, 2, 1), (2, 2, 1), (1, 2, 1), (2, 1, 2)] {
            for output_padding in [0, stride.max(dilation) - 1] {
                for output_shape in [None, Some(4), Some(5), Some(6), Some(7)] {
                    let (groups, pads) = (1 + output_padding % 2, [0, 0]);
                    cases.push(Case {
                        taps,
                        stride,
                        dilation,
                        groups,
                        auto,
                        pads,
                        output_shape,
                        output_padding,
                    });
                }
            }
        }
    }
    check_all(&cases);
}

#[test]
fn pads_count_where_neither_auto_pad_nor_an_output_shape_does() {
    let case = Case {
        taps: 3,
        stride: 2,
        dilation: 1,
        groups: 1,
        auto: "NOTSET",
        pads: [1, 0],
        output_shape: None,
        output_padding: 1,
    };
    let grouped = Case { pads: [0, 2], groups: 2, ..case };
    let ignored = Case { pads: [2, 1], output_shape: Some(6), ..case };
    check_all(&[case, grouped, ignored]);
}

/// Ones convolved with ones, so that each element counts the products in its sum.
#[test]
fn an_output_shape_counts_in_two_and_three_dimensions() {
    let valid = Message::default().text(1, "auto_pad").text(4, "VALID").int(20, 3);
    let (x, w) = (f32s(&[1, 1, 3, 3], &[1.; 9]), f32s(&[1, 1, 3, 3], &[1.; 9]));
    let node_of = |rank: usize, shape: &[i64]| {
        node("ConvTranspose", &["x", "w"], &["y"], &[])
            .message(5, valid.clone())
            .message(5, ints("strides", &vec![2; rank]))
            .message(5, ints("output_shape", shape))
    };
    // The first element of 1, 1, 2, 1, 2, 1, 1 is cropped.
    let along = [1., 2., 1., 2., 1., 1.];
    let product = along.iter().flat_map(|row| along.iter().map(move |column| row * column));
    let expected = f32s(&[1, 1, 6, 6], &product.clone().collect::<Vec<f32>>());
    check(&node_of(2, &[6, 6]), &[("x", &x), ("w", &w)], &expected);
    // Batches and channels may come first.
    check(&node_of(2, &[1, 1, 6, 6]), &[("x", &x), ("w", &w)], &expected);
    let (x, w) = (f32s(&[1, 1, 3, 3, 3], &[1.; 27]), f32s(&[1, 1, 3, 3, 3], &[1.; 27]));
    let volume: Vec<f32> =
        along.iter().flat_map(|first| product.clone().map(move |it| first * it)).collect();
    let expected = f32s(&[1, 1, 6, 6, 6], &volume);
    check(&node_of(3, &[6, 6, 6]), &[("x", &x), ("w", &w)], &expected);
}

#[test]
fn attributes_of_the_wrong_length_are_refused_by_name() {
    let (x, w) = (f32s(&[1, 1, 3, 3], &[1.; 9]), f32s(&[1, 1, 3, 3], &[1.; 9]));
    let given = [("x", &x), ("w", &w)];
    for (name, values, message) in [
        ("pads", &[1, 1][..], "attribute pads: 2 is the wrong length; accepted: 4"),
        ("strides", &[2], "attribute strides: 1 is the wrong length; accepted: 2"),
        ("strides", &[2, 0], "attribute strides: 0 is out of range; accepted: 1 to"),
        ("output_shape", &[6], "attribute output_shape: 1 is the wrong length; accepted: 2"),
        ("kernel_shape", &[3, 2], "attribute kernel_shape: [3, 2] is not the filter's"),
        ("pads", &[4, 0, 1, 0], "attribute pads: 5 leave no element; accepted: less than 5"),
    ] {
        let node = node("ConvTranspose", &["x", "w"], &["y"], &[]).message(5, ints(name, values));
        let error = refusal(&node, &given);
        assert!(error.contains(message), "{error}");
    }
    let small = f32s(&[1, 1, 2, 3], &[1.; 6]);
    let error = refusal(&node("Conv", &["x", "w"], &["y"], &[]), &[("x", &small), ("w", &w)]);
    assert!(error.contains("W: 3 is more than the padded input has"), "{error}");
}
