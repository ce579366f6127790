//! Scatter operators with several updates of one element.

use dml_import::Tensor;

use crate::common::onnx::{Message, node, text};
use crate::common::single::{check, check_of};
use crate::common::{f32s, int64};

fn reducing(op: &str, reduction: &str) -> Message {
    node(op, &["x", "i", "u"], &["y"], &[]).message(5, text("reduction", reduction))
}

/// `data` after sequential updates at `places`.
fn reduced(data: &[f32], places: &[i64], updates: &[f32], reduction: &str) -> Vec<f32> {
    let mut all = data.to_vec();
    for (place, update) in places.iter().zip(updates) {
        let element = &mut all[usize::try_from(*place).unwrap()];
        *element = match reduction {
            "add" => *element + update,
            "mul" => *element * update,
            "min" => element.min(*update),
            _ => element.max(*update),
        };
    }
    all
}

/// Updates of 3 elements by turns: 200 of the first, 65 of the second, and 3 of the last.
fn places() -> Vec<i64> {
    let count = |at: usize| usize::from(at < 200) + usize::from(at < 65) + usize::from(at < 3);
    let order = [0, 1, 2];
    (0..200).flat_map(|at| order[..count(at)].to_vec()).collect()
}

#[test]
fn an_element_may_be_updated_any_number_of_times() {
    let places = places();
    let count = places.len() as u64;
    assert_eq!(count, 268);
    for reduction in ["add", "mul", "min", "max"] {
        let updates = (0..places.len()).map(|at| match reduction {
            // Products of signs and sums of integers are exact in any order.
            "mul" => {
                if at % 7 == 0 {
                    -1.0
                } else {
                    1.0
                }
            }
            _ => (at * 37 % 101) as f32 - 50.0,
        });
        let updates: Vec<f32> = updates.collect();
        let data = [1.0, -2.0, 3.0];
        let expected = f32s(&[3], &reduced(&data, &places, &updates, reduction));
        let x = f32s(&[3], &data);
        let u = f32s(&[count], &updates);
        let i = int64(&[count], &places);
        check(
            &reducing("ScatterElements", reduction),
            &[("x", &x), ("i", &i), ("u", &u)],
            &expected,
        );
        let i = int64(&[count, 1], &places);
        check(&reducing("ScatterND", reduction), &[("x", &x), ("i", &i), ("u", &u)], &expected);
    }
}

#[test]
fn parts_may_be_updated_any_number_of_times() {
    // 70 updates of the second row of integers, by an index counted from the end.
    let updates: Vec<i64> = (0..140).collect();
    let (x, u) = (int64(&[2, 2], &[5, 6, 7, 8]), int64(&[70, 2], &updates));
    let i = int64(&[70, 1], &[-1; 70]);
    let sum = |first: i64| (0..70).map(|at| first + 2 * at).sum::<i64>();
    let expected = int64(&[2, 2], &[5, 6, 7 + sum(0), 8 + sum(1)]);
    let inputs = [("x", &x), ("i", &i), ("u", &u)];
    check(&reducing("ScatterND", "add"), &inputs, &expected);
    check_of(18, &reducing("ScatterND", "max"), &inputs, &int64(&[2, 2], &[5, 6, 138, 139]));
}

#[test]
fn an_odd_number_of_updates_and_a_single_one_count_once() {
    for count in [1_u64, 2, 3, 5, 64, 65, 127] {
        let times = usize::try_from(count).unwrap();
        let (x, u) = (int64(&[1], &[100]), int64(&[count], &vec![1; times]));
        let i: Tensor = int64(&[count], &vec![0; times]);
        let expected = int64(&[1], &[100 + i64::try_from(count).unwrap()]);
        let inputs = [("x", &x), ("i", &i), ("u", &u)];
        check(&reducing("ScatterElements", "add"), &inputs, &expected);
    }
}
