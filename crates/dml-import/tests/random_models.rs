//! Random models must give the same results as their nodes run one by one.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::device::on_every_device;
use common::onnx::{Graph, Message, initializer, ints, model, node, value};
use common::{host, tensors};
use dml_import::{ElementType, Inputs, Model, Tensor};
use dml_reference::Random;

const INT32: i64 = 6;
const BOOL: i64 = 9;

fn number(tensor: &Tensor) -> i64 {
    common::onnx::number(tensor.element_type())
}

fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap()
}

/// A graph input of any shape.
fn input(name: &str, number: i64) -> Message {
    let tensor = Message::default().int(1, number);
    Message::default().text(1, name).message(2, Message::default().message(1, tensor))
}

/// A growing model: its nodes, and each value as computed by its node alone.
struct Growing<'a> {
    random: &'a mut Random,
    nodes: Vec<Message>,
    initializers: Vec<Message>,
    inputs: Vec<(String, Tensor)>,
    values: Vec<(String, Tensor)>,
}

impl Growing<'_> {
    fn int32(&mut self, shape: &[u64]) -> Tensor {
        let count: u64 = shape.iter().product();
        let bytes: Vec<u8> = (0..count)
            .flat_map(|_| (i32::try_from(self.random.below(19)).unwrap() - 9).to_le_bytes())
            .collect();
        Tensor::new(ElementType::INT32, shape, bytes).unwrap()
    }

    fn add_input(&mut self, shape: &[u64]) {
        let (name, tensor) = (format!("x{}", self.inputs.len()), self.int32(shape));
        self.inputs.push((name.clone(), tensor.clone()));
        self.values.push((name, tensor));
    }

    fn integers(&mut self, values: &[i64]) -> String {
        let name = format!("i{}", self.initializers.len());
        let length = signed(values.len());
        self.initializers.push(initializer(&name, &[length], values));
        name
    }

    /// A value of this type and shape, most often a new one.
    fn like(&mut self, number: i64, shape: &[u64]) -> Option<String> {
        let fits = |(_, tensor): &&(String, Tensor)| {
            self::number(tensor) == number && tensor.shape() == shape
        };
        let all: Vec<String> =
            self.values.iter().filter(fits).map(|value| value.0.clone()).collect();
        (!all.is_empty()).then(|| self.random.pick(&all))
    }

    /// Adds a node with `outputs` outputs, and computes them by running it alone.
    fn push(&mut self, op: &str, inputs: &[&str], outputs: usize, attributes: &[Message]) {
        let first = self.values.len();
        let names: Vec<String> = (0..outputs).map(|it| format!("v{}", first + it)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let added = node(op, inputs, &names, &[]);
        let added = attributes.iter().fold(added, |it, attribute| it.message(5, attribute.clone()));
        let mut given = Inputs::new();
        let mut declared = Vec::new();
        for name in inputs {
            if let Some((_, tensor)) = self.values.iter().find(|(it, _)| it == name)
                && given.get(name).is_none()
            {
                given = given.with_tensor(*name, tensor.clone());
                declared.push(input(name, number(tensor)));
            }
        }
        let alone = Graph {
            nodes: vec![added.clone()],
            initializers: self.initializers.clone(),
            inputs: declared,
            outputs: names.iter().map(|name| value(name, INT32, &[])).collect(),
        };
        let program = Model::from_bytes(model(18, alone)).unwrap().bind(&given).unwrap();
        for (name, tensor) in names.iter().zip(tensors(&host::run(&program))) {
            self.values.push(((*name).to_owned(), tensor));
        }
        self.nodes.push(added);
    }

    fn grow(&mut self) {
        let (x, tensor) = self.random.pick(&self.values);
        let (number, shape) = (number(&tensor), tensor.shape().to_vec());
        let other = self.like(number, &shape).unwrap();
        let axis = self.random.pick(&(0..shape.len()).collect::<Vec<usize>>());
        let int =
            |name: &str, value: i64| Message::default().text(1, name).int(3, value).int(20, 2);
        match self.random.below(12) {
            0 if number == INT32 => self.push("Add", &[&x, &other], 1, &[]),
            1 if number == INT32 => self.push("Div", &[&x, &other], 1, &[]),
            2 if number == INT32 => self.push("Less", &[&x, &other], 1, &[]),
            3 if number == INT32 => self.push("Relu", &[&x], 1, &[]),
            4 => {
                let to = if number == BOOL { INT32 } else { BOOL };
                self.push("Cast", &[&x], 1, &[int("to", to)]);
            }
            5 => {
                if let Some(condition) = self.like(BOOL, &shape) {
                    self.push("Where", &[&condition, &x, &other], 1, &[]);
                }
            }
            6 => {
                let mut order: Vec<i64> = (0..signed(shape.len())).collect();
                let turn = self.random.pick(&(0..shape.len()).collect::<Vec<usize>>());
                order.rotate_left(turn);
                self.push("Transpose", &[&x], 1, &[ints("perm", &order)]);
            }
            7 => {
                let (a, b) = (shape[..axis].iter().product(), shape[axis..].iter().product());
                let two: [u64; 2] = [a, b];
                let wanted = two.map(|two| i64::try_from(two).unwrap());
                let wanted = self.integers(&wanted);
                self.push("Reshape", &[&x, &wanted], 1, &[]);
            }
            8 => {
                let mut wanted: Vec<i64> = shape.iter().map(|it| it.cast_signed()).collect();
                if wanted.iter().product::<i64>() < 60 {
                    wanted.insert(0, 2);
                }
                let wanted = self.integers(&wanted);
                self.push("Expand", &[&x, &wanted], 1, &[]);
            }
            9 if shape.iter().product::<u64>() < 60 => {
                self.push("Concat", &[&x, &other], 1, &[int("axis", signed(axis))]);
            }
            10 if shape[axis] > 1 => {
                let lengths = self.integers(&[1, shape[axis].cast_signed() - 1]);
                self.push("Split", &[&x, &lengths], 2, &[int("axis", signed(axis))]);
            }
            11 if shape.len() > 1 => {
                let upper = i64::from(self.random.below(2));
                self.push("Trilu", &[&x], 1, &[int("upper", upper)]);
            }
            _ => {
                let axes = self.integers(&[signed(axis)]);
                self.push("Unsqueeze", &[&x, &axes], 1, &[]);
            }
        }
    }
}

#[test]
fn random_models_give_what_their_nodes_give_one_by_one() {
    let mut models = Vec::new();
    for seed in 0..60 {
        let mut random = Random::new(&format!("model {seed}"));
        let (nodes, initializers, inputs, values) = (vec![], vec![], vec![], vec![]);
        let mut growing = Growing { random: &mut random, nodes, initializers, inputs, values };
        growing.add_input(&[2, 3]);
        growing.add_input(&[2, 3]);
        growing.add_input(&[3, 1, 2]);
        (0..25).for_each(|_| growing.grow());
        let Growing { nodes, initializers, inputs, values, .. } = growing;
        let every: Vec<(String, Tensor)> = values
            .into_iter()
            .rev()
            .enumerate()
            .filter(|(at, _)| at % 3 == 0)
            .map(|it| it.1)
            .collect();
        let given = inputs
            .iter()
            .fold(Inputs::new(), |it, (name, tensor)| it.with_tensor(name, tensor.clone()));
        let graph = Graph {
            nodes,
            initializers,
            inputs: inputs.iter().map(|(name, tensor)| input(name, number(tensor))).collect(),
            outputs: every.iter().map(|(name, tensor)| value(name, number(tensor), &[])).collect(),
        };
        let program = Model::from_bytes(model(18, graph)).unwrap().bind(&given).unwrap();
        let expected: Vec<Tensor> = every.into_iter().map(|it| it.1).collect();
        assert_eq!(tensors(&host::run(&program)), expected, "model {seed}");
        models.push((program, expected));
    }
    on_every_device(|device| {
        for (seed, (program, expected)) in models.iter().enumerate() {
            assert_eq!(tensors(&common::run(device, program)), *expected, "model {seed}");
        }
    });
}
