//! LinearAttention, CausalConvWithState and TensorScatter.

use super::common::onnx::{node, text};
use super::common::single::{check_of, refusal_of};
use super::common::{f32s, int64};
use dml_import::Tensor;

/// Sizes of an attention of one batch.
struct Attention {
    steps: usize,
    heads: usize,
    group: usize,
    key: usize,
    value: usize,
}

impl Attention {
    /// The results and the state after all steps of the rule gated_delta, from its definition.
    fn expected(&self, [q, k, v, state, decay, beta]: [&[f32]; 6]) -> (Vec<f32>, Vec<f32>) {
        let Self { steps, heads, group, key, value } = *self;
        let mut state: Vec<f64> = state.iter().map(|it| f64::from(*it)).collect();
        let mut results = vec![];
        for t in 0..steps {
            for h in 0..heads {
                let state = &mut state[h * key * value..][..key * value];
                let k = &k[(t * heads + h) * key..][..key];
                state.iter_mut().for_each(|it| *it *= f64::from(decay[t * heads + h]).exp());
                for column in 0..value {
                    let known: f64 =
                        (0..key).map(|d| state[d * value + column] * f64::from(k[d])).sum();
                    let given = f64::from(v[(t * heads + h) * value + column]);
                    let change = f64::from(beta[t * heads + h]) * (given - known);
                    (0..key).for_each(|d| state[d * value + column] += f64::from(k[d]) * change);
                }
                for g in 0..group {
                    let q = &q[((t * heads + h) * group + g) * key..][..key];
                    for column in 0..value {
                        let sum: f64 =
                            (0..key).map(|d| state[d * value + column] * f64::from(q[d])).sum();
                        results.push((sum / (key as f64).sqrt()) as f32);
                    }
                }
            }
        }
        (results, state.into_iter().map(|it| it as f32).collect())
    }
}

#[test]
fn linear_attention_updates_its_state_at_each_step() {
    let sizes = Attention { steps: 3, heads: 2, group: 2, key: 3, value: 2 };
    let Attention { steps, heads, group, key, value } = sizes;
    let tensor = |width: usize, seed| {
        let values = super::samples(steps * width, seed);
        (f32s(&[1, steps as u64, width as u64], &values), values)
    };
    let (q, of_q) = tensor(heads * group * key, 1);
    let (k, of_k) = tensor(heads * key, 2);
    let (v, of_v) = tensor(heads * value, 3);
    let (decay, of_decay) = tensor(heads, 4);
    let (beta, of_beta) = tensor(heads, 5);
    let of_state = super::samples(heads * key * value, 6);
    let state = f32s(&[1, heads as u64, key as u64, value as u64], &of_state);
    let expected = sizes.expected([&of_q, &of_k, &of_v, &of_state, &of_decay, &of_beta]);
    let heads = [("q_num_heads", (heads * group) as i64), ("kv_num_heads", heads as i64)];
    let names = ["q", "k", "v", "s", "d", "b"];
    let node = node("LinearAttention", &names, &["y", "state"], &heads);
    let given = [("q", &q), ("k", &k), ("v", &v), ("s", &state), ("d", &decay), ("b", &beta)];
    super::judged_of(27, &node, &given, &["y", "state"], |found: &[Tensor]| {
        super::assert_near(&super::numbers(&found[0]), &expected.0);
        super::assert_near(&super::numbers(&found[1]), &expected.1);
    });
}

#[test]
fn linear_attention_names_what_its_rule_does_not_read() {
    let x = f32s(&[1, 1, 2], &[1.0, 2.0]);
    let given = [("q", &x), ("k", &x), ("v", &x), ("d", &x)];
    let node = |rule: &str, inputs: &[&str], heads: i64| {
        let heads = [("q_num_heads", heads), ("kv_num_heads", heads)];
        node("LinearAttention", inputs, &["y"], &heads).message(5, text("update_rule", rule))
    };
    for (node, message) in [
        (node("linear", &["q", "k", "v", "", "d"], 1), "decay: a value is not read by"),
        (node("gated", &["q", "k", "v"], 1), "decay: nothing is given; accepted: a value"),
        (node("linear", &["q", "k", "v"], 3), "query: [1, 1, 2] is the wrong shape"),
        (node("other", &["q", "k", "v"], 1), "attribute update_rule: \"other\" is unknown"),
    ] {
        let error = refusal_of(27, &node, &given);
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn a_causal_convolution_continues_the_run_before() {
    let (x, w) = (
        f32s(&[1, 2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        f32s(&[2, 1, 2], &[1.0, 10.0, 2.0, 0.5]),
    );
    let (bias, past) = (f32s(&[2], &[0.5, -0.5]), f32s(&[1, 2, 1], &[7.0, 8.0]));
    let node = node("CausalConvWithState", &["x", "w", "b", "p"], &["y", "state"], &[]);
    let given = [("x", &x), ("w", &w), ("b", &bias), ("p", &past)];
    super::judged_of(27, &node, &given, &["y", "state"], |found: &[Tensor]| {
        let expected = f32s(&[1, 2, 3], &[17.5, 21.5, 32.5, 17.5, 10.0, 12.5]);
        assert_eq!(found, [expected, f32s(&[1, 2, 1], &[3.0, 6.0])]);
    });
    let short = f32s(&[1, 2, 2], &[0.0; 4]);
    let error = refusal_of(27, &node, &[("x", &x), ("w", &w), ("b", &bias), ("p", &short)]);
    assert!(error.contains("past_state: [1, 2, 2] is the wrong shape; accepted: [1, 2, 1]"));
}

#[test]
fn a_cache_is_written_from_an_index_for_each_batch() {
    let cache = f32s(&[2, 4, 1], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    let update = f32s(&[2, 2, 1], &[-1.0, -2.0, -3.0, -4.0]);
    let node = node("TensorScatter", &["c", "u", "i"], &["y"], &[]);
    let [first, second, zero] = [[1, 0], [3, 5], [0, 0]].map(|it| int64(&[2], &it));
    let given = |at| [("c", &cache), ("u", &update), ("i", at)];
    let expected = f32s(&[2, 4, 1], &[1.0, -1.0, -2.0, 4.0, -3.0, -4.0, 7.0, 8.0]);
    check_of(24, &node, &given(&first), &expected);
    let circular = node.clone().message(5, text("mode", "circular"));
    let expected = f32s(&[2, 4, 1], &[-2.0, 2.0, 3.0, -1.0, 5.0, -3.0, -4.0, 8.0]);
    check_of(24, &circular, &given(&second), &expected);
    let error = refusal_of(24, &node, &[("c", &update), ("u", &cache), ("i", &zero)]);
    assert!(error.contains("update: [2, 4, 1] is the wrong shape"), "{error}");
}
