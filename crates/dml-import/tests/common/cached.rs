//! Attention over caches of one size, and what its steps are given.

use dml_import::{ElementType, Input, Inputs, Tensor};

use super::onnx::{Graph, Message, model, node, number, value};
use super::{f32s, int64};

/// The operators that write the new steps into the caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    GroupQueryAttention,
    /// With `past_sequence_length`.
    MultiHeadAttention,
    /// Attention reads the caches after it.
    TensorScatter,
}

/// GroupQueryAttention with caches, of which `total` places are in use after the step.
pub(crate) fn decoder() -> Vec<u8> {
    Writer::GroupQueryAttention.decoder()
}

/// The inputs of a step with `count` tokens but for the caches.
pub(crate) fn step(count: u64, total: u8) -> Inputs {
    Writer::GroupQueryAttention.step(count, total)
}

/// A cache with so many places.
pub(crate) fn cache(places: u64, seed: u8) -> Tensor {
    Writer::GroupQueryAttention.cache(places, seed)
}

impl Writer {
    /// A model of attention with two caches of any number of places.
    pub(crate) fn decoder(self) -> Vec<u8> {
        let all = ["y", "present_k", "present_v"];
        let microsoft = |op: &str, inputs: &[&str], heads: &[(&str, i64)]| {
            vec![node(op, inputs, &all, heads).text(7, "com.microsoft")]
        };
        let scatter = |past, new, present| {
            node("TensorScatter", &[past, new, "before"], &[present], &[("axis", 2)])
        };
        let nodes = match self {
            Self::GroupQueryAttention => microsoft(
                "GroupQueryAttention",
                &["q", "k", "v", "past_k", "past_v", "lasts", "total"],
                &[("num_heads", 4), ("kv_num_heads", 2)],
            ),
            Self::MultiHeadAttention => microsoft(
                "MultiHeadAttention",
                &["q", "k", "v", "", "", "", "past_k", "past_v", "before"],
                &[("num_heads", 4), ("unidirectional", 1)],
            ),
            Self::TensorScatter => {
                let inputs = ["q", "present_k", "present_v", "", "", "", "valid"];
                let heads = [("q_num_heads", 4), ("kv_num_heads", 2), ("is_causal", 1)];
                vec![
                    scatter("past_k", "k", "present_k"),
                    scatter("past_v", "v", "present_v"),
                    node("Attention", &inputs, &["y"], &heads),
                ]
            }
        };
        let given = self.step(1, 1);
        let given = ["past_k", "past_v"]
            .iter()
            .fold(given, |it, name| it.with_tensor(*name, self.cache(1, 0)));
        let open = |shape: &[u64]| shape.iter().map(|_| None).collect::<Vec<_>>();
        let inputs = given.iter().map(|(name, it)| match it {
            Input::Tensor(tensor) => value(name, number(tensor.element_type()), &open(it.shape())),
            Input::Shape(shape) => panic!("{shape:?}"),
        });
        let inputs = inputs.collect();
        let outputs = all.map(|it| value(it, 1, &[])).into();
        let graph = Graph { nodes, inputs, outputs, ..Graph::default() };
        let opset = Message::default().text(1, "com.microsoft").int(2, 1);
        Message(model(24, graph)).message(8, opset).0
    }

    /// The heads of keys and values.
    fn heads(self) -> u64 {
        if self == Self::MultiHeadAttention { 4 } else { 2 }
    }

    /// The inputs of a step with `count` tokens but for the caches, of which `total` places are in use after it.
    pub(crate) fn step(self, count: u64, total: u8) -> Inputs {
        let before = i64::from(total) - i64::try_from(count).unwrap();
        let new = match self {
            Self::TensorScatter => vec![1, self.heads(), count, 4],
            _ => vec![1, count, 4 * self.heads()],
        };
        let inputs = Inputs::new()
            .with_tensor("q", numbers(&[1, count, 16], total))
            .with_tensor("k", numbers(&new, total + 1))
            .with_tensor("v", numbers(&new, total + 2));
        match self {
            Self::GroupQueryAttention => inputs
                .with_tensor("lasts", int32(&[1], i64::from(total) - 1))
                .with_tensor("total", int32(&[], total.into())),
            Self::MultiHeadAttention => inputs.with_tensor("before", int32(&[1], before)),
            Self::TensorScatter => inputs
                .with_tensor("before", int64(&[1], &[before]))
                .with_tensor("valid", int64(&[1], &[total.into()])),
        }
    }

    /// A cache with so many places.
    pub(crate) fn cache(self, places: u64, seed: u8) -> Tensor {
        numbers(&[1, self.heads(), places, 4], seed)
    }
}

pub(crate) fn int32(shape: &[u64], number: i64) -> Tensor {
    let bytes = i32::try_from(number).unwrap().to_le_bytes().to_vec();
    Tensor::new(ElementType::Dml(dml::DataType::Int32), shape, bytes).unwrap()
}

pub(crate) fn numbers(shape: &[u64], seed: u8) -> Tensor {
    let count: u64 = shape.iter().product();
    let number = |it: u64| f32::from(u8::try_from((it * 7 + u64::from(seed)) % 23).unwrap()) / 8.0;
    f32s(shape, &(0..count).map(number).collect::<Vec<f32>>())
}
