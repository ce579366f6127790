//! Operators of com.microsoft, compared with ONNX Runtime 1.32.0 on the CPU, or with NumPy by the operator's
//! definition where ONNX Runtime has no kernel. The cases are in `tests/data/contrib`.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::cell::RefCell;

use common::device::on_one_device;
use common::onnx::{Graph, Message, number, value};
use common::{element, tensors};
use dml::FeatureLevel;
use dml_import::claims::{Claim, claims};
use dml_import::onnx::{Source, SourceAttribute, SourceNode, SourceTensor, SourceValue};
use dml_import::{ElementType, Inputs, Model, Tensor};

const TEXTS: [&str; 5] = [
    include_str!("data/contrib/activations.txt"),
    include_str!("data/contrib/attention.txt"),
    include_str!("data/contrib/experts.txt"),
    include_str!("data/contrib/quantized.txt"),
    include_str!("data/contrib/recurrent.txt"),
];

const REFUSED: &str = include_str!("data/contrib/refused.txt");

/// A model of one node.
struct Case {
    name: &'static str,
    domain: &'static str,
    operator: &'static str,
    attributes: Vec<Attribute>,
    /// For each input, whether it is a constant, and its value; `None` if it is left out.
    inputs: Vec<Option<(bool, Tensor)>>,
    outputs: Vec<Option<Tensor>>,
    /// A part of the message, if the node is refused.
    refused: Option<&'static str>,
}

/// An attribute `name:kind=value`.
type Attribute = (&'static str, &'static str, &'static str);

fn cases() -> impl Iterator<Item = Case> {
    TEXTS.into_iter().flat_map(|text| text.split("\n\n")).map(case)
}

fn case(text: &'static str) -> Case {
    let mut lines = text.lines();
    let mut words = lines.next().unwrap().split(' ');
    let name = words.next().unwrap();
    let (domain, operator) = words.next().unwrap().rsplit_once('.').unwrap();
    let attribute = |it: &'static str| {
        let (name, rest) = it.split_once(':').unwrap();
        let (kind, value) = rest.split_once('=').unwrap();
        (name, kind, value)
    };
    let attributes = words.map(attribute).collect();
    let (mut inputs, mut outputs, mut refused) = (vec![], vec![], None);
    for line in lines.map(str::trim) {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        match kind {
            "none" => inputs.push(None),
            "input" => inputs.push(Some((false, tensor(rest)))),
            "constant" => inputs.push(Some((true, tensor(rest)))),
            "output" => outputs.push(Some(tensor(rest))),
            "refused" => refused = Some(rest.trim_end()),
            "unasked" => outputs.push(None),
            other => panic!("{other}"),
        }
    }
    Case { name, domain, operator, attributes, inputs, outputs, refused }
}

/// Parses `type shape = numbers`; a shape may have open sizes, and `~` stands for generated numbers.
fn tensor(text: &str) -> Tensor {
    let mut words = text.split(' ');
    let element = element(words.next().unwrap());
    let shape = words.next().unwrap().split('x').filter(|it| *it != "-");
    let shape: Vec<u64> = shape.map(|shape| shape.parse().unwrap()).collect();
    let count: u64 = shape.iter().product();
    let is_made = words.next() == Some("~");
    let rest: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let numbers: Vec<f32> = match (is_made, rest.as_slice()) {
        (false, all) => all.iter().map(|it| it.parse().unwrap_or(f32::NAN)).collect(),
        (true, ["f", scale, kind]) => {
            let (scale, kind): (f32, u64) = (scale.parse().unwrap(), kind.parse().unwrap());
            let whole = |it| ((it * 37 + kind * 17 + 11) % 23) as f32 - 11.0;
            (0..count).map(|it| whole(it) / 8.0 * scale).collect()
        }
        (true, ["b", kind]) => {
            let kind: u64 = kind.parse().unwrap();
            let first = if element.to_string() == "int8" { -128.0 } else { 0.0 };
            (0..count).map(|it| ((it * 53 + kind * 29 + 7) % 256) as f32 + first).collect()
        }
        other => panic!("{other:?}"),
    };
    let size = usize::try_from(element.size().unwrap()).unwrap();
    let bytes = numbers.into_iter().flat_map(|number| match element {
        ElementType::FLOAT32 => number.to_le_bytes().to_vec(),
        #[expect(clippy::cast_possible_truncation, reason = "they are whole and small")]
        _ => (number as i64).to_le_bytes()[..size].to_vec(),
    });
    Tensor::new(element, shape, bytes.collect::<Vec<u8>>()).unwrap()
}

fn names(prefix: &str, are_there: impl Iterator<Item = bool>) -> Vec<String> {
    are_there
        .enumerate()
        .map(|(at, is)| if is { format!("{prefix}{at}") } else { String::new() })
        .collect()
}

impl Case {
    fn attribute((name, kind, value): &Attribute) -> Message {
        let message = Message::default().text(1, name);
        let floats = |it: Message, field: u64| {
            let each = |it: Message, value: &str| it.float(field, value.parse().unwrap());
            value.split(',').fold(it, each)
        };
        match *kind {
            "int" => message.int(3, value.parse().unwrap()).int(20, 2),
            "float" => floats(message, 2).int(20, 1),
            "text" => message.text(4, value).int(20, 3),
            "ints" => common::onnx::ints(
                name,
                &value.split(',').map(|it| it.parse().unwrap()).collect::<Vec<i64>>(),
            ),
            "floats" => floats(message, 7).int(20, 6),
            other => panic!("{other}"),
        }
    }

    fn model(&self) -> Vec<u8> {
        let of = |domain: &str, version| Message::default().text(1, domain).int(2, version);
        let model = Message::default().message(7, self.graph());
        model.message(8, of("", 21)).message(8, of("com.microsoft", 1)).0
    }

    fn graph(&self) -> Message {
        let inputs = names("i", self.inputs.iter().map(Option::is_some));
        let outputs = names("o", self.outputs.iter().map(Option::is_some));
        let inputs_of: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let outputs_of: Vec<&str> = outputs.iter().map(String::as_str).collect();
        let node = common::onnx::node(self.operator, &inputs_of, &outputs_of, &[]);
        let node = self.attributes.iter().fold(node, |it, one| it.message(5, Self::attribute(one)));
        let mut graph = Graph {
            nodes: vec![node.text(3, self.name).text(7, self.domain)],
            outputs: outputs
                .iter()
                .filter(|output| !output.is_empty())
                .map(|output| value(output, 1, &[]))
                .collect(),
            ..Graph::default()
        };
        for (name, input) in inputs.iter().zip(&self.inputs) {
            let Some((is_constant, tensor)) = input else { continue };
            let number = number(tensor.element_type());
            let shape: Vec<i64> =
                tensor.shape().iter().map(|it| i64::try_from(*it).unwrap()).collect();
            if *is_constant {
                let dims = shape.iter().fold(Message::default(), |it, size| it.int(1, *size));
                graph.initializers.push(dims.int(2, number).text(8, name).bytes(9, tensor.bytes()));
            } else {
                let shape: Vec<Option<i64>> = shape.into_iter().map(Some).collect();
                graph.inputs.push(value(name, number, &shape));
            }
        }
        graph.message()
    }

    /// The case as a graph that another reader holds.
    fn source(&self) -> Source {
        let input_names = names("i", self.inputs.iter().map(Option::is_some));
        let output_names = names("o", self.outputs.iter().map(Option::is_some));
        let number = |it: &Tensor| i32::try_from(number(it.element_type())).unwrap();
        let value = |(name, tensor): (&String, &Tensor)| SourceValue {
            name: name.clone(),
            element: number(tensor),
            shape: Some(tensor.shape().iter().copied().map(Some).collect()),
        };
        let outputs = output_names.iter().zip(&self.outputs);
        let outputs = outputs.map(|(name, tensor)| match tensor {
            Some(tensor) => value((name, tensor)),
            None => SourceValue::default(),
        });
        let node = SourceNode {
            domain: self.domain.to_owned(),
            operator: self.operator.to_owned(),
            attributes: self.attributes.iter().map(source_attribute).collect(),
            inputs: input_names.clone(),
            outputs: outputs.collect(),
            ..SourceNode::default()
        };
        let mut source = Source { opset: 21, nodes: vec![node], ..Source::default() };
        for (name, input) in input_names.iter().zip(&self.inputs) {
            match input {
                None => {}
                Some((false, tensor)) => source.inputs.push(value((name, tensor))),
                Some((true, tensor)) => {
                    let (shape, bytes) = (tensor.shape().to_vec(), tensor.bytes().to_vec().into());
                    let tensor = SourceTensor { element: number(tensor), shape, bytes };
                    source.constants.push((name.clone(), tensor));
                }
            }
        }
        source
    }

    fn given(&self) -> Inputs {
        let inputs = self.inputs.iter().enumerate();
        let given = inputs.filter_map(|(at, it)| Some((at, it.as_ref().filter(|it| !it.0)?)));
        given.fold(Inputs::new(), |it, (at, (_, tensor))| {
            it.with_tensor(format!("i{at}"), tensor.clone())
        })
    }

    /// A description of the first difference from the expected outputs, if any.
    fn check(&self, found: Result<Vec<Tensor>, String>) -> Option<String> {
        let wrong = |what: String| Some(format!("{}: {what}", self.name));
        let found = match found {
            Ok(found) => found,
            Err(error) => return wrong(error),
        };
        let expected: Vec<&Tensor> = self.outputs.iter().flatten().collect();
        assert_eq!(found.len(), expected.len(), "{}", self.name);
        for (found, expected) in found.iter().zip(expected) {
            if found.shape() != expected.shape() || found.element_type() != expected.element_type()
            {
                let kind = |it: &Tensor| format!("{} {:?}", it.element_type(), it.shape());
                return wrong(format!("{} is not {}", kind(found), kind(expected)));
            }
            let (found, expected) = (numbers(found), numbers(expected));
            // Requantized results may be rounded differently.
            let least = if self.operator.starts_with("QLinear") { 1.0 } else { 1e-4 };
            // An expected NaN means any value.
            let is_near =
                |(a, b): (&f64, &f64)| b.is_nan() || (a - b).abs() <= least + 1e-3 * b.abs();
            if !found.iter().zip(&expected).all(is_near) {
                return wrong(format!("{found:?} is not {expected:?}"));
            }
        }
        None
    }
}

fn source_attribute((name, kind, value): &Attribute) -> (String, SourceAttribute) {
    let floats = || value.split(',').map(|it| it.parse().unwrap()).collect::<Vec<f32>>();
    let ints = || value.split(',').map(|it| it.parse().unwrap()).collect::<Vec<i64>>();
    let attribute = match *kind {
        "int" => SourceAttribute::Int(ints()[0]),
        "float" => SourceAttribute::Float(floats()[0]),
        "ints" => SourceAttribute::Ints(ints()),
        "floats" => SourceAttribute::Floats(floats()),
        _ => SourceAttribute::Text(value.as_bytes().to_vec().into()),
    };
    ((*name).to_owned(), attribute)
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    let size = usize::try_from(tensor.element_type().size().unwrap()).unwrap();
    let name = tensor.element_type().to_string();
    let number = |it: &[u8]| {
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(it);
        let bits = i64::from_le_bytes(bytes);
        let unused = 64 - 8 * size;
        match name.as_str() {
            "float32" => f64::from(f32::from_le_bytes([it[0], it[1], it[2], it[3]])),
            _ if name.starts_with('u') => bits as f64,
            _ => (bits << unused >> unused) as f64,
        }
    };
    tensor.bytes().chunks(size).map(number).collect()
}

#[test]
fn operators_of_com_microsoft_give_what_onnx_runtime_gives() {
    let bind = |case: &Case| Model::from_bytes(case.model()).and_then(|it| it.bind(&case.given()));
    let wrong = RefCell::new(vec![]);
    for case in cases() {
        // The cases of an operator share kernels.
        on_one_device(case.operator.as_bytes(), |device| {
            let outputs = bind(&case).and_then(|it| it.compile(device)?.run(&Inputs::new()));
            let outputs = outputs.map(|output| tensors(&output)).map_err(|error| error.to_string());
            wrong.borrow_mut().extend(case.check(outputs));
        });
    }
    let wrong: Vec<String> = wrong.into_inner();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// In decoding, only the weights of the chosen experts are read; of many tokens every expert is computed.
#[test]
fn weights_of_experts_are_gathered_for_few_tokens_alone() {
    let gathered = |name: &str| {
        let case = cases().find(|case| case.name == name).unwrap();
        let program = Model::from_bytes(case.model()).and_then(|it| it.bind(&case.given()));
        let program = program.unwrap();
        let operators = program.operators().iter().flat_map(|operator| operator.operators());
        operators.filter(|operator| operator.schema().name == "GATHER").count()
    };
    // Two matrices and two biases.
    assert_eq!(gathered("experts_few"), 4);
    assert_eq!(gathered("experts_swiglu"), 0);
    // Scales too.
    assert_eq!(gathered("nibble_experts_few"), 6);
    assert_eq!(gathered("nibble_experts"), 0);
}

#[test]
fn another_runtime_hears_that_these_operators_run() {
    for case in cases() {
        let found = claims(&case.source(), FeatureLevel::HIGHEST).unwrap();
        assert!(matches!(found[..], [Claim::Device | Claim::Host]), "{}: {found:?}", case.name);
    }
    let gelu = case("n com.microsoft.Gelu\n  input float32 1 = 0\n  output float32 1 = 0");
    let mut one = gelu.source();
    let unknown = SourceNode { operator: "NoSuchOperator".to_owned(), ..one.nodes[0].clone() };
    let outputs = vec![SourceValue { name: "other".to_owned(), ..one.nodes[0].outputs[0].clone() }];
    one.nodes.insert(0, SourceNode { outputs, ..unknown });
    let found = claims(&one, FeatureLevel::HIGHEST).unwrap();
    assert!(matches!(&found[..], [Claim::Refused(_), Claim::Device]), "{found:?}");
}

#[test]
fn what_is_not_run_is_refused_with_the_node_and_the_reason() {
    for case in REFUSED.split("\n\n").map(case) {
        let bound = Model::from_bytes(case.model()).and_then(|it| it.bind(&case.given()));
        let error = bound.err().unwrap_or_else(|| panic!("{} runs", case.operator)).to_string();
        assert!(error.contains(case.refused.unwrap()), "{error}");
    }
}

#[test]
fn version_1_of_the_domain_is_known() {
    let case = case("n com.microsoft.Gelu\n  input float32 1 = 0\n  output float32 1 = 0");
    let refused = |versions: &[(&str, i64)], message: &str| {
        let import = |it: Message, (domain, version): &(&str, i64)| {
            it.message(8, Message::default().text(1, domain).int(2, *version))
        };
        let bytes = versions.iter().fold(Message::default().message(7, case.graph()), import).0;
        let bound = Model::from_bytes(bytes).and_then(|it| it.bind(&case.given()));
        let error = bound.unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    };
    refused(
        &[("", 21), ("com.microsoft", 2)],
        "opset_import: com.microsoft 2 is not known; accepted: 1",
    );
    refused(&[("", 21)], "opset_import: nothing is said of com.microsoft; accepted: 1");
}
