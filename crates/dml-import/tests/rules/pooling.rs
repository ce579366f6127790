//! Pooling and Col2Im: the number of windows and their elements.

use dml_import::{Inputs, Tensor};

use crate::common::onnx::{Graph, Message, ints, model, node, value};
use crate::common::single::{check, check_near, judged_model, refusal};
use crate::common::{f32s, int64};

/// The windows along the only dimension of an image.
#[derive(Clone, Copy, Debug)]
struct Case {
    size: i64,
    kernel: i64,
    stride: i64,
    dilation: i64,
    pads: [i64; 2],
    is_ceil: bool,
}

/// An element of a window: in the image, in the padding, or beyond both.
#[derive(Clone, Copy, PartialEq)]
enum WindowElement {
    Image(f32),
    Padding,
    Beyond,
}

impl Case {
    fn all(is_ceil: bool) -> Vec<Self> {
        let mut all = vec![];
        for size in [1, 2, 3, 5, 7] {
            for (kernel, stride) in [1, 2, 3].iter().flat_map(|it| [1, 2, 3].map(|by| (*it, by))) {
                for (dilation, pads) in [1, 2]
                    .iter()
                    .flat_map(|by| [[0, 0], [1, 0], [0, 1], [1, 1]].map(|it| (*by, it)))
                {
                    if pads.iter().all(|margin| *margin < kernel) {
                        all.push(Self { size, kernel, stride, dilation, pads, is_ceil });
                    }
                }
            }
        }
        all
    }

    /// The elements of each window over an image of 1, 2, 3, ..; `None` if the number of windows were negative.
    fn windows(self) -> Option<Vec<Vec<WindowElement>>> {
        let [before, after] = self.pads;
        let room = self.size + before + after - ((self.kernel - 1) * self.dilation + 1);
        let mut steps = room.div_euclid(self.stride);
        if self.is_ceil && room.rem_euclid(self.stride) > 0 {
            steps += 1;
            // The last window must begin in the image or in the padding before it.
            if steps * self.stride >= self.size + before {
                steps -= 1;
            }
        }
        let place = |at: i64| match at {
            at if (0..self.size).contains(&at) => WindowElement::Image((at + 1) as f32),
            at if (-before..self.size + after).contains(&at) => WindowElement::Padding,
            _ => WindowElement::Beyond,
        };
        let window = |step: i64| {
            (0..self.kernel)
                .map(move |tap| place(step * self.stride - before + tap * self.dilation))
        };
        (steps >= -1).then(|| (0..=steps).map(|step| window(step).collect()).collect())
    }

    fn node(self, op: &str, output: &str, more: &[(&str, i64)]) -> Message {
        let ceil = ("ceil_mode", i64::from(self.is_ceil));
        node(op, &[&format!("x{}", self.size)], &[output], &[more, &[ceil]].concat())
            .message(5, ints("kernel_shape", &[self.kernel]))
            .message(5, ints("strides", &[self.stride]))
            .message(5, ints("dilations", &[self.dilation]))
            .message(5, ints("pads", &self.pads))
    }
}

/// Compares a pooling with a function of each window's elements, which is `None` where the result is
/// unspecified.
fn every_window(op: &str, more: &[(&str, i64)], pooled: impl Fn(&[WindowElement]) -> Option<f32>) {
    for is_ceil in [false, true] {
        let (mut graph, mut inputs) = (Graph::default(), Inputs::new());
        for size in [1_i64, 2, 3, 5, 7] {
            let image: Vec<f32> = (1..=size).map(|number| number as f32).collect();
            let name = format!("x{size}");
            graph.inputs.push(value(&name, 1, &[None, None, None]));
            inputs = inputs.with_tensor(name, f32s(&[1, 1, size.unsigned_abs()], &image));
        }
        let possible = |case: &Case| case.windows().is_some();
        let cases: Vec<Case> = Case::all(is_ceil).into_iter().filter(possible).collect();
        for (number, case) in cases.iter().enumerate() {
            let output = format!("y{number}");
            graph.nodes.push(case.node(op, &output, more));
            graph.outputs.push(value(&output, 0, &[]));
        }
        judged_model(model(20, graph), &inputs, |outputs| {
            for (case, found) in cases.iter().zip(outputs) {
                let windows = case.windows().unwrap();
                assert_eq!(found.shape(), [1, 1, windows.len() as u64], "{op} {case:?}");
                for (places, found) in windows.iter().zip(floats(found)) {
                    let Some(expected) = pooled(places) else { continue };
                    assert!((found - expected).abs() < 1e-5, "{op} {more:?} {case:?}: {found}");
                }
            }
        });
    }
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    let bytes = tensor.bytes().chunks_exact(4);
    bytes.map(|byte| f32::from_le_bytes(byte.try_into().unwrap())).collect()
}

fn inside(places: &[WindowElement]) -> Vec<f32> {
    let image =
        |place: &WindowElement| if let WindowElement::Image(it) = place { Some(*it) } else { None };
    places.iter().filter_map(image).collect()
}

#[test]
fn a_mean_that_counts_padding_counts_no_place_beyond_it() {
    every_window("AveragePool", &[("count_include_pad", 1)], |places| {
        let count = places.iter().filter(|place| **place != WindowElement::Beyond).count();
        (count > 0).then(|| inside(places).iter().sum::<f32>() / count as f32)
    });
}

#[test]
fn a_mean_without_padding_counts_the_image_alone() {
    every_window("AveragePool", &[], |places| {
        let image = inside(places);
        (!image.is_empty()).then(|| image.iter().sum::<f32>() / image.len() as f32)
    });
}

#[test]
fn maxima_and_norms_are_of_the_image_alone() {
    every_window("MaxPool", &[], |places| inside(places).into_iter().reduce(f32::max));
    every_window("LpPool", &[("p", 1)], |places| Some(inside(places).iter().sum()));
}

/// Windows extend beyond the padding by one row and two columns.
#[test]
fn a_mean_that_counts_padding_is_that_of_an_image_too() {
    let x = f32s(&[1, 1, 2, 3], &[1., 2., 3., 4., 5., 6.]);
    let pool = node("AveragePool", &["x"], &["y"], &[("ceil_mode", 1), ("count_include_pad", 1)])
        .message(5, ints("kernel_shape", &[2, 3]))
        .message(5, ints("strides", &[2, 3]))
        .message(5, ints("pads", &[1, 1, 0, 0]));
    // Windows of 2 x 3, 2 x 1, 1 x 3 and 1 x 1 elements.
    let expected = [3. / 6., 3. / 2., 9. / 3., 6.];
    check_near(&pool, &[("x", &x)], &[1, 1, 2, 2], &expected);
}

#[test]
fn automatic_padding_leaves_no_window_beyond_it() {
    let x = f32s(&[1, 1, 5], &[1., 2., 3., 4., 5.]);
    let pool = |auto: &str, include: i64| {
        node("AveragePool", &["x"], &["y"], &[("ceil_mode", 1), ("count_include_pad", include)])
            .message(5, Message::default().text(1, "auto_pad").text(4, auto).int(20, 3))
            .message(5, ints("kernel_shape", &[2]))
            .message(5, ints("strides", &[2]))
    };
    // The padding is after the last element, or before the first.
    for (auto, include, expected) in [
        ("SAME_UPPER", 1, [1.5, 3.5, 2.5]),
        ("SAME_UPPER", 0, [1.5, 3.5, 5.]),
        ("SAME_LOWER", 1, [0.5, 2.5, 4.5]),
        ("VALID", 1, [1.5, 3.5, 5.]),
        ("VALID", 0, [1.5, 3.5, 5.]),
    ] {
        check_near(&pool(auto, include), &[("x", &x)], &[1, 1, 3], &expected);
    }
}

#[test]
fn a_kernel_larger_than_the_image_has_no_window_or_is_refused() {
    let pool = |kernel: i64| {
        node("MaxPool", &["x"], &["y"], &[]).message(5, ints("kernel_shape", &[kernel]))
    };
    let x = f32s(&[1, 2, 3], &[0.; 6]);
    check(&pool(4), &[("x", &x)], &f32s(&[1, 2, 0], &[]));
    let error = refusal(&pool(5), &[("x", &x)]);
    assert!(error.contains("attribute kernel_shape: 5 does not fit"), "{error}");
}

/// Columns of 1, 2, 3, .. summed to an image element by element, by the definition.
fn columns(image: &[i64], block: &[i64], strides: &[i64], dilations: &[i64], pads: &[i64]) {
    let rank = image.len();
    let count = |at: usize| {
        let reach = (block[at] - 1) * dilations[at] + 1;
        (image[at] + pads[at] + pads[rank + at] - reach) / strides[at] + 1
    };
    let counts: Vec<i64> = (0..rank).map(count).collect();
    let product = |sizes: &[i64]| usize::try_from(sizes.iter().product::<i64>()).unwrap();
    let place = |number: usize, sizes: &[i64]| {
        let mut rest = i64::try_from(number).unwrap();
        let digits = sizes.iter().rev().map(|size| {
            let digit = rest % size;
            rest /= size;
            digit
        });
        let mut digits: Vec<i64> = digits.collect();
        digits.reverse();
        digits
    };
    let (area, windows, channels) = (product(block), product(&counts), 2);
    let mut expected = vec![0.0; channels * product(image)];
    let mut given = vec![];
    for row in 0..channels * area {
        for window in 0..windows {
            let value = (given.len() + 1) as f32;
            given.push(value);
            let (tap, at) = (place(row % area, block), place(window, &counts));
            let along =
                |axis: usize| at[axis] * strides[axis] + tap[axis] * dilations[axis] - pads[axis];
            let all: Vec<i64> = (0..rank).map(along).collect();
            if all.iter().zip(image).all(|(at, size)| (0..*size).contains(at)) {
                let number = all.iter().zip(image).fold(0, |sum, (at, size)| sum * size + at);
                let start = row / area * product(image);
                expected[start + usize::try_from(number).unwrap()] += value;
            }
        }
    }
    let sizes = |sizes: &[i64]| int64(&[sizes.len() as u64], sizes);
    let x = f32s(&[1, (channels * area) as u64, windows as u64], &given);
    let node = node("Col2Im", &["x", "i", "b"], &["y"], &[])
        .message(5, ints("strides", strides))
        .message(5, ints("dilations", dilations))
        .message(5, ints("pads", pads));
    let shape = image.iter().map(|size| size.unsigned_abs());
    let shape: Vec<u64> = [1, channels as u64].into_iter().chain(shape).collect();
    let given = [("x", &x), ("i", &sizes(image)), ("b", &sizes(block))];
    check(&node, &given, &f32s(&shape, &expected));
}

#[test]
fn columns_become_an_image_of_one_and_more_dimensions() {
    columns(&[5], &[2], &[1], &[1], &[0, 0]);
    columns(&[5], &[2], &[2], &[2], &[1, 1]);
    columns(&[1], &[1], &[1], &[1], &[0, 0]);
    columns(&[4, 5], &[2, 3], &[2, 1], &[1, 1], &[0, 1, 0, 0]);
    columns(&[3, 2, 4], &[2, 1, 2], &[1, 1, 2], &[1, 1, 1], &[0, 0, 0, 0, 0, 0]);
    columns(&[2, 2, 2, 3], &[1, 2, 1, 2], &[1; 4], &[1; 4], &[0; 8]);
}

#[test]
fn images_of_no_or_too_many_dimensions_are_refused_by_the_name_of_the_input() {
    let x = f32s(&[1, 1, 1], &[1.]);
    let node = node("Col2Im", &["x", "i", "b"], &["y"], &[]);
    for sizes in [int64(&[0], &[]), int64(&[7], &[1; 7])] {
        let error = refusal(&node, &[("x", &x), ("i", &sizes), ("b", &sizes)]);
        assert!(error.contains("image_shape") && error.contains("1 to 6 sizes"), "{error}");
    }
}
