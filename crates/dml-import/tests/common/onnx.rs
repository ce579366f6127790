//! Writes ONNX models, field by field.

use dml_import::{Inputs, Model, Program};

/// A message under construction.
#[derive(Clone, Default)]
pub(crate) struct Message(pub(crate) Vec<u8>);

impl Message {
    fn varint(mut self, mut value: u64) -> Self {
        while value > 0x7f {
            self.0.push(0x80 | u8::try_from(value & 0x7f).unwrap());
            value >>= 7;
        }
        self.0.push(u8::try_from(value).unwrap());
        self
    }

    pub(crate) fn int(self, field: u64, value: i64) -> Self {
        self.varint(field << 3).varint(value.cast_unsigned())
    }

    pub(crate) fn bytes(self, field: u64, bytes: &[u8]) -> Self {
        let mut message = self.varint(field << 3 | 2).varint(bytes.len() as u64);
        message.0.extend_from_slice(bytes);
        message
    }

    pub(crate) fn float(self, field: u64, value: f32) -> Self {
        let mut message = self.varint(field << 3 | 5);
        message.0.extend_from_slice(&value.to_le_bytes());
        message
    }

    pub(crate) fn text(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    pub(crate) fn message(self, field: u64, message: Message) -> Self {
        self.bytes(field, &message.0)
    }
}

/// ONNX's number of a type.
pub(crate) fn number(element: dml_import::ElementType) -> i64 {
    const NAMES: [&str; 26] = [
        "float32",
        "uint8",
        "int8",
        "uint16",
        "int16",
        "int32",
        "int64",
        "string",
        "bool",
        "float16",
        "float64",
        "uint32",
        "uint64",
        "complex64",
        "complex128",
        "bfloat16",
        "float8e4m3fn",
        "float8e4m3fnuz",
        "float8e5m2",
        "float8e5m2fnuz",
        "uint4",
        "int4",
        "float4e2m1",
        "float8e8m0",
        "uint2",
        "int2",
    ];
    let name = element.to_string();
    let index = NAMES.iter().position(|it| *it == name).unwrap();
    i64::try_from(index).unwrap() + 1
}

/// A graph's input or output, in which `None` is an open dimension.
pub(crate) fn value(name: &str, number: i64, shape: &[Option<i64>]) -> Message {
    let dims = shape.iter().fold(Message::default(), |message, size| {
        let dim = size.map_or(Message::default(), |size| Message::default().int(1, size));
        message.message(1, dim)
    });
    let tensor = Message::default().int(1, number).message(2, dims);
    Message::default().text(1, name).message(2, Message::default().message(1, tensor))
}

/// A node with integer attributes.
pub(crate) fn node(op: &str, inputs: &[&str], outputs: &[&str], ints: &[(&str, i64)]) -> Message {
    let node = inputs.iter().fold(Message::default(), |it, name| it.text(1, name));
    let node = outputs.iter().fold(node, |it, name| it.text(2, name));
    ints.iter().fold(node.text(4, op), |it, (name, value)| {
        let attribute = Message::default().text(1, name).int(3, *value).int(20, 2);
        it.message(5, attribute)
    })
}

/// A tensor of 64-bit integers, as an initializer.
pub(crate) fn initializer(name: &str, shape: &[i64], values: &[i64]) -> Message {
    let tensor = shape.iter().fold(Message::default(), |it, size| it.int(1, *size));
    let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    tensor.int(2, 7).text(8, name).bytes(9, &raw)
}

/// A list of integers as an attribute.
pub(crate) fn ints(name: &str, values: &[i64]) -> Message {
    let attribute = Message::default().text(1, name).int(20, 7);
    values.iter().fold(attribute, |it, value| it.int(8, *value))
}

/// A float as an attribute.
pub(crate) fn float(name: &str, value: f32) -> Message {
    Message::default().text(1, name).float(2, value).int(20, 1)
}

/// A text as an attribute.
pub(crate) fn text(name: &str, value: &str) -> Message {
    Message::default().text(1, name).text(4, value).int(20, 3)
}

/// A reference to an attribute of the function that a node is in.
pub(crate) fn reference(name: &str, to: &str, kind: i64) -> Message {
    Message::default().text(1, name).text(21, to).int(20, kind)
}

/// A tensor of 32-bit floats, as an initializer.
pub(crate) fn floats(name: &str, shape: &[i64], values: &[f32]) -> Message {
    let tensor = shape.iter().fold(Message::default(), |it, size| it.int(1, *size));
    let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    tensor.int(2, 1).text(8, name).bytes(9, &raw)
}

/// The parts of a graph.
#[derive(Clone, Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Message>,
    pub(crate) initializers: Vec<Message>,
    pub(crate) inputs: Vec<Message>,
    pub(crate) outputs: Vec<Message>,
}

impl Graph {
    /// The graph as a GraphProto.
    pub(crate) fn message(self) -> Message {
        let mut message = Message::default();
        for (field, parts) in
            [(1, self.nodes), (5, self.initializers), (11, self.inputs), (12, self.outputs)]
        {
            message = parts.into_iter().fold(message, |it, part| it.message(field, part));
        }
        message
    }
}

/// A node with a body.
pub(crate) fn repeated(
    op: &str,
    inputs: &[&str],
    outputs: &[&str],
    body: Graph,
    more: &[Message],
) -> Message {
    let body = Message::default().text(1, "body").message(6, body.message()).int(20, 5);
    let node = node(op, inputs, outputs, &[]).message(5, body);
    more.iter().fold(node, |it, attribute| it.message(5, attribute.clone()))
}

/// A model of one graph.
pub(crate) fn model(opset: i64, graph: Graph) -> Vec<u8> {
    model_with(opset, graph, vec![])
}

/// A graph of opset 16 with its inputs, or what is wrong with it.
pub(crate) fn bind(graph: Graph, inputs: &Inputs) -> Result<Program, String> {
    let model = Model::from_bytes(model(16, graph)).map_err(|error| error.to_string())?;
    model.bind(inputs).map_err(|error| error.to_string())
}

/// A model of a graph and functions.
pub(crate) fn model_with(opset: i64, graph: Graph, functions: Vec<Message>) -> Vec<u8> {
    let opset = Message::default().int(2, opset);
    let model = Message::default().int(1, 8).message(7, graph.message()).message(8, opset);
    functions.into_iter().fold(model, |it, function| it.message(25, function)).0
}

/// The outputs of a graph with one, `y`.
pub(crate) fn outputs() -> Vec<Message> {
    vec![value("y", 1, &[])]
}

/// Two nodes that use each other's outputs, before an EyeLike.
pub(crate) fn circle() -> Vec<u8> {
    let nodes = vec![
        node("Identity", &["b"], &["a"], &[]),
        node("Identity", &["a"], &["b"], &[]),
        node("EyeLike", &["a"], &["y"], &[]),
    ];
    model(13, Graph { nodes, outputs: outputs(), ..Graph::default() })
}

/// EyeLike of an initializer that declares 2^63 - 1 elements and has 8 bytes.
pub(crate) fn vast_initializer() -> Vec<u8> {
    let nodes = vec![node("EyeLike", &["s"], &["y"], &[])];
    let initializers = vec![initializer("s", &[i64::MAX, 1], &[1])];
    model(13, Graph { nodes, initializers, outputs: outputs(), ..Graph::default() })
}

/// `op` of a ConstantOfShape of `sizes`.
pub(crate) fn of_shape(sizes: &[i64], op: &str) -> Vec<u8> {
    let rank = i64::try_from(sizes.len()).unwrap();
    let nodes = vec![node("ConstantOfShape", &["s"], &["c"], &[]), node(op, &["c"], &["y"], &[])];
    let initializers = vec![initializer("s", &[rank], sizes)];
    model(14, Graph { nodes, initializers, outputs: outputs(), ..Graph::default() })
}

/// One EyeLike between an input and an output.
pub(crate) fn eye_like(
    opset: i64,
    input: dml_import::ElementType,
    shape: &[Option<i64>],
    attributes: &[(&str, i64)],
) -> Vec<u8> {
    let nodes = vec![node("EyeLike", &["x"], &["y"], attributes)];
    let inputs = vec![value("x", number(input), shape)];
    let outputs = vec![value("y", 1, shape)];
    model(opset, Graph { nodes, inputs, outputs, ..Graph::default() })
}
