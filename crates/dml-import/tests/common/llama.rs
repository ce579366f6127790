//! A decoder as exporters write it, with a cache that grows from run to run.

use dml_import::{Inputs, Tensor};

use super::onnx::{Graph, Message, floats, initializer, ints, model, node, value};
use super::{f32s, int64};

const HIDDEN: i64 = 32;
const HEADS: i64 = 4;
const GROUPS: i64 = 2;
const HEAD: i64 = 8;
const INNER: i64 = 48;
const WORDS: i64 = 64;

/// The sizes of a decoder that its users choose.
#[derive(Clone, Copy)]
pub(crate) struct Llama {
    pub(crate) layers: usize,
    /// The most tokens of a sequence.
    pub(crate) positions: i64,
}

/// 437 nodes.
const SIX_LAYERS: Llama = Llama { layers: 6, positions: 64 };

/// Numbers between -0.5 and 0.5 that look like no pattern.
fn numbers(count: i64, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12_345);
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from(u16::try_from(state >> 20).unwrap()) / 4096.0 - 0.5
    };
    (0..count).map(next).collect()
}

#[derive(Default)]
struct Writer {
    nodes: Vec<Message>,
    initializers: Vec<Message>,
    count: usize,
}

impl Writer {
    fn node(&mut self, op: &str, inputs: &[&str], attributes: &[(&str, i64)]) -> String {
        self.with(op, inputs, attributes, &[])
    }

    fn with(
        &mut self,
        op: &str,
        inputs: &[&str],
        attributes: &[(&str, i64)],
        more: &[Message],
    ) -> String {
        self.count += 1;
        let name = format!("{op}_{}", self.count);
        let node = node(op, inputs, &[&name], attributes);
        self.nodes.push(more.iter().fold(node, |it, more| it.message(5, more.clone())));
        name
    }

    fn weight(&mut self, shape: &[i64]) -> String {
        self.count += 1;
        let name = format!("weight_{}", self.count);
        let values = numbers(shape.iter().product(), u32::try_from(self.count).unwrap());
        self.initializers.push(floats(&name, shape, &values));
        name
    }

    fn normalized(&mut self, x: &str) -> String {
        let weight = self.weight(&[HIDDEN]);
        let squares = self.node("Pow", &[x, "two"], &[]);
        let mean = self.with("ReduceMean", &[&squares], &[("keepdims", 1)], &[ints("axes", &[-1])]);
        let sum = self.node("Add", &[&mean, "epsilon"], &[]);
        let root = self.node("Sqrt", &[&sum], &[]);
        let inverse = self.node("Div", &["one", &root], &[]);
        let scaled = self.node("Mul", &[x, &inverse], &[]);
        self.node("Mul", &[&scaled, &weight], &[])
    }

    /// A projection, by heads.
    fn heads(&mut self, x: &str, heads: i64) -> String {
        let weight = self.weight(&[HIDDEN, heads * HEAD]);
        let all = self.node("MatMul", &[x, &weight], &[]);
        let shape = format!("heads_{heads}");
        let parts = self.node("Reshape", &[&all, &shape], &[]);
        self.with("Transpose", &[&parts], &[], &[ints("perm", &[0, 2, 1, 3])])
    }

    fn turned(&mut self, x: &str, [cos, sin]: [&str; 2]) -> String {
        let first = self.node("Slice", &[x, "zero", "half", "three"], &[]);
        let second = self.node("Slice", &[x, "half", "end", "three"], &[]);
        let negative = self.node("Neg", &[&second], &[]);
        let swapped = self.node("Concat", &[&negative, &first], &[("axis", -1)]);
        let a = self.node("Mul", &[x, cos], &[]);
        let b = self.node("Mul", &[&swapped, sin], &[]);
        self.node("Add", &[&a, &b], &[])
    }

    /// Keys or values, repeated for each head of a group.
    fn repeated(&mut self, x: &str) -> String {
        let batch = self.node("Unsqueeze", &[x, "axis_2"], &[]);
        let sizes = self.node("Shape", &[x], &[]);
        let length = self.node("Gather", &[&sizes, "index_2"], &[]);
        let length = self.node("Unsqueeze", &[&length, "zero"], &[]);
        let shape =
            self.node("Concat", &["unit", "groups", "repeats", &length, "head"], &[("axis", 0)]);
        let many = self.node("Expand", &[&batch, &shape], &[]);
        self.node("Reshape", &[&many, "all_heads"], &[])
    }

    fn layer(&mut self, x: &str, index: usize, angles: [&str; 2], mask: &str) -> String {
        let normal = self.normalized(x);
        let q = self.heads(&normal, HEADS);
        let k = self.heads(&normal, GROUPS);
        let v = self.heads(&normal, GROUPS);
        let q = self.turned(&q, angles);
        let k = self.turned(&k, angles);
        let [past_k, past_v, all_k, all_v] =
            ["past_k", "past_v", "present_k", "present_v"].map(|it| format!("{it}_{index}"));
        self.nodes.push(node("Concat", &[&past_k, &k], &[&all_k], &[("axis", 2)]));
        self.nodes.push(node("Concat", &[&past_v, &v], &[&all_v], &[("axis", 2)]));
        let k = self.repeated(&all_k);
        let v = self.repeated(&all_v);
        let k = self.with("Transpose", &[&k], &[], &[ints("perm", &[0, 1, 3, 2])]);
        let scores = self.node("MatMul", &[&q, &k], &[]);
        let scores = self.node("Mul", &[&scores, "scale"], &[]);
        let scores = self.node("Add", &[&scores, mask], &[]);
        let shares = self.node("Softmax", &[&scores], &[("axis", -1)]);
        let found = self.node("MatMul", &[&shares, &v], &[]);
        let found = self.with("Transpose", &[&found], &[], &[ints("perm", &[0, 2, 1, 3])]);
        let found = self.node("Reshape", &[&found, "hidden"], &[]);
        let weight = self.weight(&[HEADS * HEAD, HIDDEN]);
        let found = self.node("MatMul", &[&found, &weight], &[]);
        let x = self.node("Add", &[x, &found], &[]);
        let normal = self.normalized(&x);
        let [gate, up] = [(); 2].map(|()| self.weight(&[HIDDEN, INNER]));
        let gate = self.node("MatMul", &[&normal, &gate], &[]);
        let up = self.node("MatMul", &[&normal, &up], &[]);
        let sigmoid = self.node("Sigmoid", &[&gate], &[]);
        let gate = self.node("Mul", &[&gate, &sigmoid], &[]);
        let wide = self.node("Mul", &[&gate, &up], &[]);
        let down = self.weight(&[INNER, HIDDEN]);
        let narrow = self.node("MatMul", &[&wide, &down], &[]);
        self.node("Add", &[&x, &narrow], &[])
    }

    /// The words, the angles of their places and what each may see, and then the layers.
    fn all(&mut self, size: Llama) {
        let table = self.weight(&[WORDS, HIDDEN]);
        let mut x = self.node("Gather", &[&table, "input_ids"], &[]);
        let angles = [(); 2].map(|()| {
            let table = self.weight(&[size.positions, HEAD]);
            let angles = self.node("Gather", &[&table, "position_ids"], &[]);
            self.node("Unsqueeze", &[&angles, "one_axis"], &[])
        });
        let seen = self.node("Cast", &["attention_mask"], &[("to", 1)]);
        let hidden = self.node("Sub", &["one", &seen], &[]);
        let far = self.node("Mul", &[&hidden, "far"], &[]);
        let mask = self.node("Unsqueeze", &[&far, "one_two"], &[]);
        for index in 0..size.layers {
            x = self.layer(&x, index, [&angles[0], &angles[1]], &mask);
        }
        let x = self.normalized(&x);
        let head = self.weight(&[HIDDEN, WORDS]);
        self.nodes.push(node("MatMul", &[&x, &head], &["logits"], &[]));
    }
}

impl Llama {
    /// The model.
    pub(crate) fn model(self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.all(self);
        self.with_interface(writer)
    }

    /// Inputs for these tokens after `past` others, but for the caches.
    pub(crate) fn tokens(self, past: u64, tokens: &[i64]) -> Inputs {
        let count = u64::try_from(tokens.len()).unwrap();
        let total = past + count;
        let positions: Vec<i64> = (past..total).map(|it| it.try_into().unwrap()).collect();
        let mask = vec![1; usize::try_from(total).unwrap()];
        Inputs::new()
            .with_tensor("input_ids", int64(&[1, count], tokens))
            .with_tensor("position_ids", int64(&[1, count], &positions))
            .with_tensor("attention_mask", int64(&[1, total], &mask))
    }

    /// One word after a cache of so many.
    pub(crate) fn step(self, past: u64) -> Inputs {
        let place = i64::try_from(past).unwrap();
        let inputs = self.tokens(past, &[place * 5 % WORDS]);
        let cache =
            |seed| -> Tensor { f32s(&[1, 2, past, 8], &numbers(GROUPS * place * HEAD, seed)) };
        (0..self.layers).zip(1..).fold(inputs, |it, (index, seed)| {
            let it = it.with_tensor(format!("past_k_{index}"), cache(seed));
            it.with_tensor(format!("past_v_{index}"), cache(seed + 100))
        })
    }

    /// The caches, as names of inputs and outputs.
    pub(crate) fn caches(self) -> impl Iterator<Item = [String; 2]> {
        let of = |index| {
            ["k", "v"].map(|part| ["past", "present"].map(|it| format!("{it}_{part}_{index}")))
        };
        (0..self.layers).flat_map(of)
    }

    fn with_interface(self, writer: Writer) -> Vec<u8> {
        let Writer { nodes, mut initializers, .. } = writer;
        let scalars =
            [("two", 2.0), ("one", 1.0), ("epsilon", 1e-5), ("scale", 0.35), ("far", -1e4)];
        initializers.extend(scalars.map(|(name, number)| floats(name, &[], &[number])));
        for (name, numbers) in [
            ("zero", &[0][..]),
            ("half", &[HEAD / 2]),
            ("end", &[HEAD]),
            ("three", &[3]),
            ("axis_2", &[2]),
            ("one_axis", &[1]),
            ("one_two", &[1, 2]),
            ("unit", &[1]),
            ("groups", &[GROUPS]),
            ("repeats", &[HEADS / GROUPS]),
            ("head", &[HEAD]),
            ("all_heads", &[1, HEADS, -1, HEAD]),
            ("heads_4", &[0, 0, HEADS, HEAD]),
            ("heads_2", &[0, 0, GROUPS, HEAD]),
            ("hidden", &[0, 0, HIDDEN]),
        ] {
            let count = i64::try_from(numbers.len()).unwrap();
            initializers.push(initializer(name, &[count], numbers));
        }
        initializers.push(initializer("index_2", &[], &[2]));
        let mut inputs = ["input_ids", "position_ids", "attention_mask"]
            .map(|it| value(it, 7, &[Some(1), None]))
            .to_vec();
        let mut outputs = vec![value("logits", 1, &[])];
        for [past, present] in self.caches() {
            inputs.push(value(&past, 1, &[Some(1), Some(GROUPS), None, Some(HEAD)]));
            outputs.push(value(&present, 1, &[]));
        }
        model(13, Graph { nodes, initializers, inputs, outputs })
    }
}

/// A decoder of six layers.
pub(crate) fn llama() -> Vec<u8> {
    SIX_LAYERS.model()
}

/// One word after a cache of so many, for the decoder of six layers.
pub(crate) fn step(past: u64) -> Inputs {
    SIX_LAYERS.step(past)
}
