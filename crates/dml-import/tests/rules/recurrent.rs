//! Recurrent networks: batch-first layout, clipping, and lengths of sequences.

use dml_import::{Inputs, Model, Tensor};

use crate::common::f32s;
use crate::common::onnx::{Graph, Message, model, node, number, value};
use crate::common::single::judged_model;

const STEPS: usize = 3;
const BATCHES: usize = 2;
const ELEMENTS: usize = 2;
const HIDDEN: usize = 2;
const HIDDEN_SIZE: i64 = 2;

#[derive(Clone, Copy, PartialEq)]
enum Cell {
    Rnn,
    Gru { linear_before_reset: bool },
    Lstm,
}

/// A network, and its layout and direction.
#[derive(Clone, Copy)]
struct Network {
    cell: Cell,
    direction: &'static str,
    clip: Option<f32>,
    lengths: Option<[i32; BATCHES]>,
    is_batch_first: bool,
}

const NETWORK: Network = Network {
    cell: Cell::Rnn,
    direction: "forward",
    clip: None,
    lengths: None,
    is_batch_first: false,
};

/// Pseudo-random numbers that depend on `seed`.
fn numbers(count: usize, seed: usize, scale: f64) -> Vec<f64> {
    (0..count).map(|at| (((at * 37 + seed * 17 + 11) % 23) as f64 / 11.0 - 1.0) * scale).collect()
}

impl Network {
    fn operator(self) -> &'static str {
        match self.cell {
            Cell::Rnn => "RNN",
            Cell::Gru { .. } => "GRU",
            Cell::Lstm => "LSTM",
        }
    }

    fn gates(self) -> usize {
        match self.cell {
            Cell::Rnn => 1,
            Cell::Gru { .. } => 3,
            Cell::Lstm => 4,
        }
    }

    fn directions(self) -> usize {
        if self.direction == "bidirectional" { 2 } else { 1 }
    }

    fn outputs(self) -> &'static [&'static str] {
        if self.cell == Cell::Lstm { &["y", "h", "c"] } else { &["y", "h"] }
    }

    /// A node whose first activation is a sigmoid that is steeper than usual.
    fn node(self) -> Message {
        let mut inputs = vec!["x", "w", "r", "b", "", "initial_h"];
        if self.lengths.is_some() {
            inputs[4] = "lengths";
        }
        if self.cell == Cell::Lstm {
            inputs.push("initial_c");
        }
        let hidden = ("hidden_size", HIDDEN_SIZE);
        let mut ints = vec![hidden, ("layout", self.is_batch_first.into())];
        if let Cell::Gru { linear_before_reset } = self.cell {
            ints.push(("linear_before_reset", linear_before_reset.into()));
        }
        let node = node(self.operator(), &inputs, self.outputs(), &ints);
        let direction = Message::default().text(1, "direction").text(4, self.direction).int(20, 3);
        let mut node = node.message(5, direction);
        if let Some(clip) = self.clip {
            node = node.message(5, Message::default().text(1, "clip").float(2, clip).int(20, 1));
        }
        let names: &[&str] = match self.cell {
            Cell::Rnn => return node,
            Cell::Gru { .. } => &["HardSigmoid", "Tanh"],
            Cell::Lstm => &["HardSigmoid", "Tanh", "Tanh"],
        };
        let all = names.repeat(self.directions());
        let functions = Message::default().text(1, "activations").int(20, 8);
        let functions = all.iter().fold(functions, |it, name| it.text(9, name));
        let values = |name: &str, value: f32| {
            let list = Message::default().text(1, name).int(20, 6);
            (0..self.directions()).fold(list, |it, _| it.float(7, value))
        };
        let node = node.message(5, functions);
        node.message(5, values("activation_alpha", 0.3)).message(5, values("activation_beta", 0.4))
    }

    /// States by directions, batches and elements.
    fn state(self, seed: usize) -> Vec<f64> {
        numbers(self.directions() * BATCHES * HIDDEN, seed, 0.9)
    }

    #[expect(clippy::cast_possible_truncation, reason = "rounded to what is given")]
    fn inputs(self) -> Vec<(&'static str, Tensor)> {
        let (directions, width) = (self.directions(), self.gates() * HIDDEN);
        let tensor = |shape: &[usize], numbers: &[f64]| {
            let shape: Vec<u64> = shape.iter().map(|it| *it as u64).collect();
            f32s(&shape, &numbers.iter().map(|number| *number as f32).collect::<Vec<f32>>())
        };
        let made = |shape: &[usize], seed, scale| {
            tensor(shape, &numbers(shape.iter().product(), seed, scale))
        };
        let swapped = |shape: [usize; 3], numbers: &[f64]| {
            let [one, other, rest] = shape;
            let row = |at: usize| &numbers[(at % one * other + at / one) * rest..][..rest];
            match self.is_batch_first {
                false => tensor(&shape, numbers),
                true => tensor(
                    &[other, one, rest],
                    &(0..one * other).flat_map(row).copied().collect::<Vec<f64>>(),
                ),
            }
        };
        let x = numbers(STEPS * BATCHES * ELEMENTS, 1, 2.0);
        let states = [directions, BATCHES, HIDDEN];
        let mut inputs = vec![
            ("x", swapped([STEPS, BATCHES, ELEMENTS], &x)),
            ("w", made(&[directions, width, ELEMENTS], 2, 1.0)),
            ("r", made(&[directions, width, HIDDEN], 3, 1.0)),
            ("b", made(&[directions, 2 * width], 4, 0.5)),
            ("initial_h", swapped(states, &self.state(5))),
        ];
        if self.cell == Cell::Lstm {
            inputs.push(("initial_c", swapped(states, &self.state(6))));
        }
        if let Some(lengths) = self.lengths {
            let bytes = lengths.iter().flat_map(|length| length.to_le_bytes()).collect::<Vec<u8>>();
            let element = crate::common::element("int32");
            inputs.push(("lengths", Tensor::new(element, [BATCHES as u64], bytes).unwrap()));
        }
        inputs
    }

    /// The results by ONNX's definition: all states by steps, directions and batches, and the last states of
    /// each kind.
    fn expected(self) -> Vec<Vec<f64>> {
        let (directions, width) = (self.directions(), self.gates() * HIDDEN);
        let mut y = vec![0.0; STEPS * directions * BATCHES * HIDDEN];
        let mut last = [self.state(5), self.state(6)];
        for direction in 0..directions {
            for batch in 0..BATCHES {
                let own = (direction * BATCHES + batch) * HIDDEN;
                let length =
                    self.lengths.map_or(STEPS, |length| usize::try_from(length[batch]).unwrap());
                for at in 0..length {
                    let is_backward = self.direction == "reverse" || direction == 1;
                    let step = if is_backward { length - 1 - at } else { at };
                    let [h, c] = [0, 1].map(|kind| last[kind][own..own + HIDDEN].to_vec());
                    let (h, c) =
                        self.step((step * BATCHES + batch) * ELEMENTS, direction * width, &h, &c);
                    last[0][own..own + HIDDEN].copy_from_slice(&h);
                    last[1][own..own + HIDDEN].copy_from_slice(&c);
                    let place = ((step * directions + direction) * BATCHES + batch) * HIDDEN;
                    y[place..place + HIDDEN].copy_from_slice(&h);
                }
            }
        }
        let [h, c] = last;
        let mut all = vec![y, h, c];
        all.truncate(self.outputs().len());
        if self.is_batch_first {
            let swapped = |all: &[f64]| {
                let row = |at: usize| {
                    &all[(at % directions * BATCHES + at / directions) * HIDDEN..][..HIDDEN]
                };
                (0..directions * BATCHES).flat_map(row).copied().collect::<Vec<f64>>()
            };
            let by_step = |it: usize| {
                let (batch, step) = (it / STEPS, it % STEPS);
                let row = |direction| {
                    all[0][((step * directions + direction) * BATCHES + batch) * HIDDEN..][..HIDDEN]
                        .to_vec()
                };
                (0..directions).flat_map(row).collect::<Vec<f64>>()
            };
            let y = (0..BATCHES * STEPS).flat_map(by_step).collect();
            let states: Vec<Vec<f64>> = all[1..].iter().map(|it| swapped(it)).collect();
            all = [vec![y], states].concat();
        }
        all
    }

    /// A step from the input at `from`, with the weights of the rows from `first` on.
    fn step(self, from: usize, first: usize, h: &[f64], c: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (directions, width) = (self.directions(), self.gates() * HIDDEN);
        let x = numbers(STEPS * BATCHES * ELEMENTS, 1, 2.0);
        let w = numbers(directions * width * ELEMENTS, 2, 1.0);
        let r = numbers(directions * width * HIDDEN, 3, 1.0);
        let b = numbers(directions * 2 * width, 4, 0.5);
        let of_x = |row: usize| {
            let sum: f64 =
                (0..ELEMENTS).map(|at| x[from + at] * w[(first + row) * ELEMENTS + at]).sum();
            sum + b[2 * first + row]
        };
        let of_h = |row: usize, h: &[f64]| {
            let sum: f64 = (0..HIDDEN).map(|at| h[at] * r[(first + row) * HIDDEN + at]).sum();
            sum + b[2 * first + width + row]
        };
        let limit = |it: f64| self.clip.map_or(it, |clip| it.clamp(-f64::from(clip), clip.into()));
        let gate = |it: f64| (0.3 * limit(it) + 0.4).clamp(0.0, 1.0);
        let both = |row: usize| of_x(row) + of_h(row, h);
        match self.cell {
            Cell::Rnn => ((0..HIDDEN).map(|at| limit(both(at)).tanh()).collect(), c.to_vec()),
            Cell::Gru { linear_before_reset } => {
                let reset: Vec<f64> = (0..HIDDEN).map(|at| gate(both(HIDDEN + at))).collect();
                let faded: Vec<f64> = reset.iter().zip(h).map(|(r, h)| r * h).collect();
                let next = |at: usize| {
                    let row = 2 * HIDDEN + at;
                    let remembered = match linear_before_reset {
                        true => reset[at] * of_h(row, h),
                        false => of_h(row, &faded),
                    };
                    let update = gate(both(at));
                    (1.0 - update) * limit(of_x(row) + remembered).tanh() + update * h[at]
                };
                ((0..HIDDEN).map(next).collect(), c.to_vec())
            }
            Cell::Lstm => {
                let of = |gate: usize, at: usize| both(gate * HIDDEN + at);
                let cell =
                    |at: usize| gate(of(2, at)) * c[at] + gate(of(0, at)) * limit(of(3, at)).tanh();
                let cells: Vec<f64> = (0..HIDDEN).map(cell).collect();
                let state = |at: usize| gate(of(1, at)) * limit(cells[at]).tanh();
                ((0..HIDDEN).map(state).collect(), cells)
            }
        }
    }

    fn model(self, inputs: &[(&str, Tensor)]) -> Vec<u8> {
        let open = |(name, tensor): &(&str, Tensor)| {
            value(name, number(tensor.element_type()), &vec![None; tensor.shape().len()])
        };
        let graph = Graph {
            nodes: vec![self.node()],
            inputs: inputs.iter().map(open).collect(),
            outputs: self.outputs().iter().map(|name| value(name, 0, &[])).collect(),
            ..Graph::default()
        };
        model(14, graph)
    }

    fn check(self) {
        let inputs = self.inputs();
        let add =
            |all: Inputs, (name, tensor): &(&str, Tensor)| all.with_tensor(*name, tensor.clone());
        let given = inputs.iter().fold(Inputs::new(), add);
        judged_model(self.model(&inputs), &given, |found| {
            for (found, expected) in found.iter().zip(self.expected()) {
                let floats = found.bytes().chunks_exact(4);
                let floats: Vec<f32> =
                    floats.map(|float| f32::from_le_bytes(float.try_into().unwrap())).collect();
                assert_eq!(floats.len(), expected.len());
                let pairs = floats.iter().zip(&expected);
                let is_near = pairs.map(|(a, b)| (f64::from(*a) - b).abs() <= 3e-6);
                assert!(
                    is_near.min().unwrap(),
                    "{} {}: {floats:?} for {expected:?}",
                    self.operator(),
                    self.direction
                );
            }
        });
    }
}

const CELLS: [Cell; 4] = [
    Cell::Rnn,
    Cell::Gru { linear_before_reset: false },
    Cell::Gru { linear_before_reset: true },
    Cell::Lstm,
];

#[test]
fn batches_come_first_in_every_input_and_output() {
    for cell in CELLS {
        for direction in ["forward", "reverse", "bidirectional"] {
            for lengths in [None, Some([1, 3])] {
                Network { cell, direction, lengths, is_batch_first: true, ..NETWORK }.check();
            }
        }
    }
}

#[test]
fn what_functions_see_is_limited_in_every_operator() {
    for cell in CELLS {
        for direction in ["forward", "reverse", "bidirectional"] {
            for lengths in [None, Some([2, 3]), Some([3, 0])] {
                Network { cell, direction, clip: Some(0.6), lengths, ..NETWORK }.check();
            }
        }
        Network {
            cell,
            clip: Some(0.6),
            is_batch_first: true,
            direction: "bidirectional",
            ..NETWORK
        }
        .check();
    }
}

#[test]
fn sequences_end_where_their_lengths_say() {
    for cell in CELLS {
        for direction in ["forward", "reverse", "bidirectional"] {
            Network { cell, direction, lengths: Some([0, 2]), ..NETWORK }.check();
        }
    }
}

#[test]
fn states_of_another_shape_are_refused() {
    let network = Network { is_batch_first: true, direction: "bidirectional", ..NETWORK };
    let mut inputs = network.inputs();
    inputs[4].1 = f32s(&[1, 2, 2], &[0.0; 4]);
    let add = |all: Inputs, (name, tensor): &(&str, Tensor)| all.with_tensor(*name, tensor.clone());
    let given = inputs.iter().fold(Inputs::new(), add);
    let model = Model::from_bytes(network.model(&inputs)).unwrap();
    let error = model.bind(&given).unwrap_err().to_string();
    let expected = "initial_h: [1, 2, 2] is the wrong shape; accepted: [2, 2, 2]";
    assert!(error.contains(expected), "{error}");
}
