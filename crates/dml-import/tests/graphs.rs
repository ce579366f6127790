//! Models of several operators, run as one graph, on the host and on every device.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::device::on_every_device;
use common::onnx::{Graph, Message, floats, initializer, ints, model, node, value};
use common::{element, int64, run_on_both};
use dml::Device;
use dml_import::{ElementType, Inputs, Model, NodeSupport, Program, Tensor};

fn f32s(shape: &[u64], values: &[f32]) -> Tensor {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    Tensor::new(ElementType::FLOAT32, shape, bytes).unwrap()
}

fn counting(shape: &[u64]) -> Tensor {
    let count: u64 = shape.iter().product();
    f32s(shape, &(0..count).map(|it| it as f32 - 3.0).collect::<Vec<f32>>())
}

fn values(tensor: &Tensor) -> Vec<f32> {
    let (chunks, _) = tensor.bytes().as_chunks::<4>();
    chunks.iter().map(|chunk| f32::from_le_bytes(*chunk)).collect()
}

/// A model of one type, with inputs x and z of any shape and output y.
fn of_nodes(opset: i64, number: i64, nodes: Vec<Message>, initializers: Vec<Message>) -> Model {
    let input = |name| {
        let tensor = Message::default().int(1, number);
        Message::default().text(1, name).message(2, Message::default().message(1, tensor))
    };
    let (inputs, outputs) = (vec![input("x"), input("z")], vec![value("y", number, &[])]);
    let graph = Graph { nodes, initializers, inputs, outputs };
    Model::from_bytes(model(opset, graph)).unwrap()
}

/// The only output, which must be equal on the host and on the device.
fn run(device: &Device, model: &Model, inputs: &Inputs) -> Tensor {
    let [host, device] = run_on_both(device, model, inputs).unwrap();
    assert_eq!(host[0].tensor, device[0].tensor);
    host[0].tensor.clone()
}

/// The DirectML operators of a program.
fn operators(program: &Program) -> Vec<&'static str> {
    let all = program.operators().iter().flat_map(|operator| operator.operators());
    all.map(|it| it.schema().name).collect()
}

#[test]
fn other_dimensions_of_the_same_elements_need_no_operator() {
    let nodes = vec![
        node("Transpose", &["x"], &["t"], &[]),
        node("Unsqueeze", &["t", "first"], &["u"], &[]),
        node("Expand", &["u", "shape"], &["e"], &[]),
        node("Add", &["e", "z"], &["s"], &[]),
        node("Reshape", &["s", "flat"], &["y"], &[]),
    ];
    let initializers = vec![
        initializer("first", &[1], &[0]),
        initializer("shape", &[3], &[2, 3, 2]),
        initializer("flat", &[2], &[4, -1]),
    ];
    let model = of_nodes(13, 1, nodes, initializers);
    let inputs =
        Inputs::new().with_tensor("x", counting(&[2, 3])).with_tensor("z", f32s(&[1], &[10.0]));
    assert_eq!(operators(&model.bind(&inputs).unwrap()), ["ELEMENT_WISE_ADD"]);
    on_every_device(|device| {
        let y = run(device, &model, &inputs);
        let transposed = [7.0, 10.0, 8.0, 11.0, 9.0, 12.0];
        assert_eq!((y.shape(), values(&y)), (&[4, 3][..], [transposed; 2].concat()));
    });
    let report = model.inspect(&inputs).unwrap();
    let aliases: Vec<&str> = report
        .nodes
        .iter()
        .filter(|node| node.support == NodeSupport::Alias)
        .map(|node| node.node.operator.as_str())
        .collect();
    assert_eq!(aliases, ["Transpose", "Unsqueeze", "Expand", "Reshape"]);
}

#[test]
fn what_strides_cannot_say_is_copied_once() {
    let nodes = vec![
        node("Transpose", &["x"], &["t"], &[]),
        node("Reshape", &["t", "flat"], &["r"], &[]),
        node("Relu", &["r"], &["y"], &[]),
    ];
    let model = of_nodes(13, 1, nodes, vec![initializer("flat", &[1], &[-1])]);
    let inputs = Inputs::new().with_tensor("x", counting(&[2, 3])).with_shape("z", []);
    let program = model.bind(&inputs).unwrap();
    assert_eq!(operators(&program), ["ELEMENT_WISE_IDENTITY", "ACTIVATION_RELU"]);
    on_every_device(|device| {
        assert_eq!(values(&run(device, &model, &inputs)), [0.0, 0.0, 0.0, 1.0, 0.0, 2.0]);
    });
}

#[test]
fn parts_are_divided_and_joined_along_any_dimension() {
    let split =
        Message::default().text(1, "x").text(2, "a").text(2, "b").text(2, "").text(4, "Split");
    let nodes = vec![
        split
            .message(5, ints("split", &[1, 2, 1]))
            .message(5, Message::default().text(1, "axis").int(3, 1).int(20, 2)),
        node("Concat", &["b", "empty", "a", "z"], &["y"], &[("axis", -1)]),
    ];
    let empty = floats("empty", &[2, 0], &[]);
    let model = of_nodes(11, 1, nodes, vec![empty]);
    let inputs = Inputs::new()
        .with_tensor("x", counting(&[2, 4]))
        .with_tensor("z", f32s(&[2, 1], &[8.0, 9.0]));
    assert_eq!(operators(&model.bind(&inputs).unwrap()), ["SPLIT", "JOIN"]);
    on_every_device(|device| {
        let y = run(device, &model, &inputs);
        assert_eq!(y.shape(), [2, 4]);
        assert_eq!(values(&y), [-2.0, -1.0, -3.0, 8.0, 2.0, 3.0, 1.0, 9.0]);
    });
}

#[test]
fn dimensions_beyond_eight_are_joined_or_refused() {
    let add = |op: &str| of_nodes(13, 1, vec![node(op, &["x", "z"], &["y"], &[])], vec![]);
    let shape = [2, 1, 2, 1, 2, 1, 1, 2, 1, 2];
    let inputs =
        Inputs::new().with_tensor("x", counting(&shape)).with_tensor("z", counting(&shape));
    on_every_device(|device| {
        let y = run(device, &add("Add"), &inputs);
        let doubled: Vec<f32> = values(&counting(&shape)).iter().map(|it| it * 2.0).collect();
        assert_eq!((y.shape(), values(&y)), (&shape[..], doubled));
    });
    // No two neighbouring dimensions can be merged for both operands.
    let wide = [2; 10];
    let mask = [2, 1, 2, 1, 2, 1, 2, 1, 2, 1];
    let inputs = Inputs::new().with_shape("x", wide).with_shape("z", mask);
    let error = add("Add").bind(&inputs).unwrap_err().to_string();
    assert!(
        error.contains("10 dimensions are too many for DirectML; accepted: up to 8"),
        "{error}"
    );
}

#[test]
fn scalars_and_empty_tensors_have_their_shapes() {
    let model = of_nodes(13, 1, vec![node("Div", &["x", "z"], &["y"], &[])], vec![]);
    let scalars =
        Inputs::new().with_tensor("x", f32s(&[], &[3.0])).with_tensor("z", f32s(&[], &[2.0]));
    on_every_device(|device| {
        let y = run(device, &model, &scalars);
        assert_eq!((y.shape(), values(&y)), (&[][..], vec![1.5]));
    });
    let empty = Inputs::new().with_shape("x", [2, 0, 3]).with_shape("z", [2, 1, 1]);
    let program = model.bind(&empty).unwrap();
    assert!(!program.needs_device());
    assert_eq!(program.run_on_host(&Inputs::new()).unwrap()[0].tensor.shape(), [2, 0, 3]);
}

/// Conversions to truth values on a device must equal the host's for every type.
#[test]
fn everything_but_0_is_true_on_a_device_as_on_the_host() {
    on_every_device(|device| {
        for name in ["float16", "float32", "int8", "int16", "int32", "int64", "uint8", "uint64"] {
            let width = usize::try_from(element(name).size().unwrap()).unwrap();
            // 0, 1, the highest bit alone, all bits, and a NaN or some other integer.
            let patterns: [u64; 5] = match name {
                "float16" => [0, 1, 0x8000, 0xffff, 0x7c01],
                "float32" => [0, 1, 0x8000_0000, 0xffff_ffff, 0x7f80_0001],
                _ => [0, 1, 1 << (8 * width - 1), u64::MAX, 12],
            };
            let is_float = name.starts_with("float");
            let expected = [0, 1, u8::from(!is_float), 1, 1];
            let bytes: Vec<u8> = patterns
                .iter()
                .flat_map(|pattern| pattern.to_le_bytes().into_iter().take(width))
                .collect();
            let x = Tensor::new(element(name), [5], bytes).unwrap();
            let number = common::onnx::number(element(name));
            let nodes = vec![node("Cast", &["x"], &["y"], &[("to", 9)])];
            let model = of_nodes(13, number, nodes, vec![]);
            let inputs = Inputs::new().with_tensor("x", x.clone()).with_shape("z", []);
            assert_eq!(operators(&model.bind(&inputs).unwrap()).len(), 4, "{name}");
            assert_eq!(run(device, &model, &inputs).bytes(), expected, "{name}");
        }
    });
}

#[test]
fn element_wise_functions_are_those_of_onnx() {
    let x = [-1.5, -0.0, 2.0, f32::NAN];
    let unary = |op: &str| (op.to_owned(), vec!["x".to_owned()]);
    let binary = |op: &str| (op.to_owned(), vec!["x".to_owned(), "z".to_owned()]);
    on_every_device(|device| {
        let result = |(op, names): (String, Vec<String>), number| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let nodes = vec![
                node(&op, &names, &["r"], &[]),
                node("Cast", &["r"], &["y"], &[("to", number)]),
            ];
            let model = of_nodes(13, 1, nodes, vec![]);
            let inputs =
                Inputs::new().with_tensor("x", f32s(&[4], &x)).with_tensor("z", f32s(&[], &[2.0]));
            run(device, &model, &inputs)
        };
        let relu = values(&result(unary("Relu"), 1));
        assert_eq!(relu[..3], [0.0, 0.0, 2.0]);
        assert!(relu[3].is_nan());
        assert_eq!(values(&result(binary("Add"), 1))[..3], [0.5, 2.0, 4.0]);
        assert_eq!(values(&result(binary("Sum"), 1))[..3], [0.5, 2.0, 4.0]);
        assert_eq!(values(&result(binary("Div"), 1))[..3], [-0.75, -0.0, 1.0]);
        assert_eq!(result(binary("Less"), 2).bytes(), [1, 1, 0, 0]);
    });
}

#[test]
fn clip_takes_bounds_that_the_host_knows() {
    let graph = |nodes| of_nodes(13, 6, nodes, vec![]);
    let int32 = |values: &[i32]| {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Tensor::new(ElementType::INT32, [values.len() as u64], bytes).unwrap()
    };
    let scalar =
        |value: i32| Tensor::new(ElementType::INT32, [], value.to_le_bytes().to_vec()).unwrap();
    let below = graph(vec![node("Clip", &["x", "", "z"], &["y"], &[])]);
    let inputs =
        Inputs::new().with_tensor("x", int32(&[i32::MIN, -1, 5, 7])).with_tensor("z", scalar(5));
    on_every_device(|device| {
        let y = run(device, &below, &inputs);
        assert_eq!(y, int32(&[i32::MIN, -1, 5, 5]));
    });
    let program = below.bind(&inputs).unwrap();
    assert_eq!(operators(&program), ["ELEMENT_WISE_CLIP1"]);
    let fixed: Vec<bool> = program.inputs().iter().map(|input| input.fixed).collect();
    assert_eq!(fixed, [false, true]);
    let of_device = graph(vec![
        node("Add", &["z", "z"], &["m"], &[]),
        node("Clip", &["x", "", "m"], &["y"], &[]),
    ]);
    // The host knows the values that the bound is computed from.
    assert_eq!(operators(&of_device.bind(&inputs).unwrap()), ["ELEMENT_WISE_CLIP1"]);
}

#[test]
fn small_constants_are_computed_on_the_host_and_large_ones_by_a_device() {
    let nodes = vec![
        node("ConstantOfShape", &["shape"], &["c"], &[]),
        node("Concat", &["c", "w"], &["d"], &[("axis", 0)]),
        node("Add", &["d", "d"], &["y"], &[]),
    ];
    let bind = |size: i64| {
        let initializers = vec![initializer("shape", &[1], &[size]), floats("w", &[1], &[1.0])];
        let model = of_nodes(13, 1, nodes.clone(), initializers);
        model.bind(&Inputs::new().with_shape("x", []).with_shape("z", [])).unwrap()
    };
    assert_eq!(operators(&bind(4)), Vec::<&str>::new());
    assert_eq!(operators(&bind(1 << 20)), ["FILL_VALUE_CONSTANT", "JOIN", "ELEMENT_WISE_ADD"]);
}

#[test]
fn all_nodes_that_do_not_run_are_listed() {
    let nodes = vec![
        node("Conv3", &["x"], &["a"], &[]),
        node("Relu", &["x"], &["b"], &[]),
        node("Loop", &["b"], &["c"], &[]),
        node("Sin3", &["b"], &["d"], &[]),
        node("Sum", &["b", "c", "d", "a"], &["y"], &[]),
    ];
    let model = of_nodes(13, 1, nodes, vec![]);
    let report = model.inspect(&Inputs::new()).unwrap();
    let refused = |it: &&dml_import::NodeReport| matches!(it.support, NodeSupport::Unsupported(_));
    let refused: Vec<&str> =
        report.nodes.iter().filter(refused).map(|node| node.node.operator.as_str()).collect();
    assert_eq!(refused, ["Conv3", "Loop", "Sin3"]);
    let NodeSupport::Blocked(other) = &report.nodes[4].support else {
        panic!("{:?}", report.nodes[4])
    };
    assert_eq!(other.operator, "Loop");
}

#[test]
fn indices_that_a_device_computes_are_refused_with_its_name() {
    let nodes = vec![node("Trilu", &["x"], &["t"], &[]), node("Reshape", &["z", "t"], &["y"], &[])];
    let model = of_nodes(14, 7, nodes, vec![]);
    let inputs =
        Inputs::new().with_tensor("x", int64(&[1, 2], &[1, 1])).with_tensor("z", int64(&[1], &[1]));
    let error = model.bind(&inputs).unwrap_err().to_string();
    assert!(error.contains("Reshape 'y'"), "{error}");
}

/// OpenVINO's reader builds a single graph for these operations, too.
#[test]
fn layers_of_openvino_are_one_graph_too() {
    let layer = |id: u32, kind: &str, data: &str, inputs: u32| {
        let ports: String = (0..inputs).map(|it| format!("<port id=\"{it}\"/>")).collect();
        format!(
            "<layer id=\"{id}\" name=\"n{id}\" type=\"{kind}\" version=\"opset1\">{data}\
             <input>{ports}</input><output><port id=\"9\"/></output></layer>"
        )
    };
    let edge = |from: u32, to: u32, port: u32| {
        format!(
            "<edge from-layer=\"{from}\" from-port=\"9\" to-layer=\"{to}\" to-port=\"{port}\"/>"
        )
    };
    let parameter = "<data element_type=\"f32\" shape=\"?,?\"/>";
    let layers = [
        layer(0, "Parameter", parameter, 0),
        layer(1, "Parameter", parameter, 0),
        layer(2, "Add", "<data auto_broadcast=\"numpy\"/>", 2),
        layer(3, "ReLU", "", 1),
        layer(4, "Less", "", 2),
        layer(5, "Select", "", 3),
        layer(6, "Concat", "<data axis=\"1\"/>", 2),
        layer(7, "Convert", "<data destination_type=\"i32\"/>", 1),
        layer(8, "Result", "", 1),
    ];
    let edges = [
        edge(0, 2, 0),
        edge(1, 2, 1),
        edge(2, 3, 0),
        edge(0, 4, 0),
        edge(1, 4, 1),
        edge(4, 5, 0),
        edge(0, 5, 1),
        edge(3, 5, 2),
        edge(5, 6, 0),
        edge(0, 6, 1),
        edge(6, 7, 0),
        edge(7, 8, 0),
    ];
    let xml = format!(
        "<net name=\"n\" version=\"11\"><layers>{}</layers><edges>{}</edges></net>",
        layers.concat(),
        edges.concat()
    );
    let model = Model::from_bytes(xml).unwrap();
    let inputs = Inputs::new()
        .with_tensor("n0", f32s(&[1, 3], &[-4.0, 2.0, 5.5]))
        .with_tensor("n1", f32s(&[1, 1], &[1.0]));
    on_every_device(|device| {
        let y = run(device, &model, &inputs);
        assert_eq!(y.shape(), [1, 6]);
        let integers: Vec<i32> =
            y.bytes().as_chunks::<4>().0.iter().map(|it| i32::from_le_bytes(*it)).collect();
        assert_eq!(integers, [-4, 3, 6, -4, 2, 5]);
    });
}
