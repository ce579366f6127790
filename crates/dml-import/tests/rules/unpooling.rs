//! MaxUnpool: its indices count elements of the output.

use crate::common::onnx::{ints, node};
use crate::common::single::{check, refusal};
use crate::common::{f32s, int64};

/// MaxUnpool of windows of 2 x 2 elements.
fn unpool() -> crate::common::onnx::Message {
    let node = node("MaxUnpool", &["x", "i", "s"], &["y"], &[]);
    node.message(5, ints("kernel_shape", &[2, 2])).message(5, ints("strides", &[2, 2]))
}

/// MaxPool's indices count elements of its input, so the maxima are restored to their positions.
#[test]
fn unpooling_numbers_the_elements_of_its_output_shape() {
    // The maxima of two images of 5 x 5 elements that count from 0 on, one for each batch.
    let x = f32s(&[2, 1, 2, 2], &[6., 8., 16., 18., 31., 33., 41., 43.]);
    let indices = [6, 8, 16, 18, 31, 33, 41, 43];
    let i = int64(&[2, 1, 2, 2], &indices);
    let expected: Vec<f32> =
        (0..50).map(|number| if indices.contains(&number) { number as f32 } else { 0. }).collect();
    let given = [("x", &x), ("i", &i), ("s", &int64(&[4], &[2, 1, 5, 5]))];
    check(&unpool(), &given, &f32s(&[2, 1, 5, 5], &expected));
}

/// Follows ONNX Runtime.
#[test]
fn unpooling_to_another_shape_puts_elements_elsewhere() {
    let x = f32s(&[1, 1, 2, 2], &[5., 6., 7., 8.]);
    let i = int64(&[1, 1, 2, 2], &[5, 7, 13, 15]);
    for (rows, columns) in [(5, 5), (3, 7), (2, 8), (3, 5)] {
        let mut expected = vec![0.; rows * columns];
        for (place, value) in [(5, 5.), (7, 6.), (13, 7.), (15, 8.)] {
            // An index beyond the output writes nothing.
            if let Some(element) = expected.get_mut(place) {
                *element = value;
            }
        }
        let [rows, columns] = [rows, columns].map(|size| i64::try_from(size).unwrap());
        let given = [("x", &x), ("i", &i), ("s", &int64(&[4], &[1, 1, rows, columns]))];
        let shape = [1, 1, rows.unsigned_abs(), columns.unsigned_abs()];
        check(&unpool(), &given, &f32s(&shape, &expected));
    }
}

#[test]
fn shapes_that_cannot_have_been_pooled_are_refused() {
    let (x, i) = (f32s(&[1, 1, 2, 2], &[0.; 4]), int64(&[1, 1, 2, 2], &[0; 4]));
    for shape in [[1, 1, 1, 5], [2, 1, 4, 4], [1, 3, 4, 4]] {
        let s = int64(&[4], &shape);
        let error = refusal(&unpool(), &[("x", &x), ("i", &i), ("s", &s)]);
        assert!(error.contains("output_shape") && error.contains("at least 2, 2"), "{error}");
    }
}
