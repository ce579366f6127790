//! Claims: which nodes of another runtime's graph run, and models from such graphs.

use dml_core::FeatureLevel;
use dml_import::claims::{Claim, claims, may_join};
use dml_import::onnx::{Source, SourceAttribute, SourceNode, SourceTensor, SourceValue};
use dml_import::{ElementType, Inputs, Model, Tensor};

const FLOAT: i32 = 1;
const INT64: i32 = 7;

fn value(name: &str, element: i32, shape: Option<&[Option<u64>]>) -> SourceValue {
    SourceValue { name: name.to_owned(), element, shape: shape.map(<[_]>::to_vec) }
}

/// A node with one output, of which only the type is known.
fn node(operator: &str, inputs: &[&str], output: &str) -> SourceNode {
    SourceNode {
        operator: operator.to_owned(),
        inputs: inputs.iter().map(|input| (*input).to_owned()).collect(),
        outputs: vec![value(output, FLOAT, None)],
        ..SourceNode::default()
    }
}

fn floats(shape: &[u64]) -> SourceTensor {
    let count = usize::try_from(shape.iter().product::<u64>()).expect("a test is small");
    SourceTensor { element: FLOAT, shape: shape.to_vec(), bytes: vec![0; 4 * count].into() }
}

fn integers(values: &[i64]) -> SourceTensor {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let shape = vec![values.len() as u64];
    SourceTensor { element: INT64, shape, bytes: bytes.into() }
}

fn source(inputs: Vec<SourceValue>, nodes: Vec<SourceNode>) -> Source {
    Source { opset: 17, inputs, nodes, ..Source::default() }
}

fn found(source: &Source) -> Vec<Claim> {
    claims(source, FeatureLevel::HIGHEST).expect("the graph as a whole is in order")
}

fn reason(claim: &Claim) -> &str {
    match claim {
        Claim::Refused(reason) => reason,
        runs => panic!("{runs:?}"),
    }
}

#[test]
fn what_comes_after_a_refused_node_is_judged() {
    let nodes = vec![
        node("Relu", &["x"], "a"),
        node("NoSuchOperator", &["a"], "b"),
        node("Sqrt", &["b"], "c"),
    ];
    let all = found(&source(vec![value("x", FLOAT, Some(&[None]))], nodes));
    assert_eq!((&all[0], &all[2]), (&Claim::Device, &Claim::Device));
    assert!(reason(&all[1]).contains("no operator"), "{all:?}");
}

#[test]
fn shape_arithmetic_is_the_hosts() {
    let shape = SourceNode { outputs: vec![value("s", INT64, None)], ..node("Shape", &["x"], "s") };
    let nodes = vec![shape, node("Reshape", &["y", "s"], "z"), node("Relu", &["z"], "w")];
    let inputs = ["x", "y"].map(|name| value(name, FLOAT, Some(&[None, None])));
    let all = found(&source(inputs.to_vec(), nodes));
    assert_eq!(all, [Claim::Host, Claim::Host, Claim::Device]);
}

#[test]
fn a_few_integers_may_decide_a_shape_and_other_values_may_not() {
    let expand = || vec![node("Expand", &["x", "s"], "y")];
    let x = value("x", FLOAT, Some(&[Some(1)]));
    let with = |s: SourceValue| found(&source(vec![x.clone(), s], expand()));
    // A single element broadcast to the shape needs no device.
    assert_eq!(with(value("s", INT64, Some(&[Some(2)]))), [Claim::Host]);
    let open = with(value("s", INT64, Some(&[None])));
    assert!(reason(&open[0]).starts_with("input 1 decides shapes"), "{open:?}");
    let cast = SourceNode {
        attributes: vec![("to".to_owned(), SourceAttribute::Int(i64::from(INT64)))],
        outputs: vec![value("s", INT64, Some(&[Some(1)]))],
        ..node("Cast", &["x"], "s")
    };
    let computed = found(&source(vec![x.clone()], [vec![cast], expand()].concat()));
    assert_eq!(computed[0], Claim::Device);
    assert!(reason(&computed[1]).starts_with("input 1 decides shapes"), "{computed:?}");
}

#[test]
fn a_filter_tells_how_many_channels_an_input_of_unknown_shape_has() {
    let nodes = vec![node("Conv", &["x", "w"], "y")];
    let mut graph = source(vec![value("x", FLOAT, None)], nodes);
    graph.constants = vec![("w".to_owned(), floats(&[5, 7, 3]))];
    assert_eq!(found(&graph), [Claim::Device]);
}

#[test]
fn a_level_that_lacks_the_operator_is_a_reason() {
    let mut graph = source(
        vec![value("x", FLOAT, Some(&[Some(4)]))],
        vec![node("CumSum", &["x", "axis"], "y")],
    );
    graph.constants = vec![("axis".to_owned(), integers(&[0]))];
    assert_eq!(found(&graph), [Claim::Device]);
    let low = claims(&graph, FeatureLevel::V1_0).unwrap();
    assert!(reason(&low[0]).contains("feature level"), "{low:?}");
}

#[test]
fn types_and_attributes_that_are_not_handed_over_are_refused() {
    const STRING: i32 = 8;
    const INT4: i32 = 22;
    for element in [STRING, INT4] {
        let given =
            source(vec![value("x", element, Some(&[None]))], vec![node("Identity", &["x"], "y")]);
        assert!(reason(&found(&given)[0]).contains("is not handed over"));
    }
    let graphs = SourceNode {
        attributes: vec![("then_branch".to_owned(), SourceAttribute::Other)],
        ..node("If", &["c"], "y")
    };
    const BOOL: i32 = 9;
    let all = found(&source(vec![value("c", BOOL, Some(&[]))], vec![graphs]));
    assert!(matches!(all[0], Claim::Refused(_)));
}

#[test]
fn a_graph_that_is_wrong_as_a_whole_is_an_error() {
    let twice = vec![node("Relu", &["x"], "y"), node("Sqrt", &["x"], "y")];
    let x = vec![value("x", FLOAT, Some(&[None]))];
    assert!(claims(&source(x.clone(), twice), FeatureLevel::HIGHEST).is_err());
    let later = Source { opset: 1000, ..source(x, vec![node("Relu", &["x"], "y")]) };
    assert!(claims(&later, FeatureLevel::HIGHEST).unwrap_err().to_string().contains("1000"));
}

#[test]
fn a_model_of_a_source_is_that_of_its_file() {
    let concat = SourceNode {
        attributes: vec![("axis".to_owned(), SourceAttribute::Int(0))],
        outputs: vec![value("y", INT64, None)],
        ..node("Concat", &["x", "k"], "y")
    };
    let mut graph = source(vec![value("x", INT64, None)], vec![concat]);
    graph.constants = vec![("k".to_owned(), integers(&[3, 4]))];
    graph.outputs = vec!["y".to_owned()];
    let model = Model::from_onnx("two", &graph).unwrap();
    let x = Tensor::new(ElementType::INT64, [1], 7i64.to_le_bytes().to_vec()).unwrap();
    let program = model.bind(&Inputs::new().with_tensor("x", x)).unwrap();
    let names: Vec<&str> = program
        .operators()
        .iter()
        .flat_map(|operator| operator.operators())
        .map(|it| it.schema().name)
        .collect();
    assert_eq!(names, ["JOIN"]);
    let error = model.bind(&Inputs::new()).unwrap_err().to_string();
    assert!(error.starts_with("two: input 'x'"), "{error}");
}

/// Open sizes that a constant determines: the sum of a Split's parts, or the longest sequence.
#[test]
fn open_sizes_are_taken_from_the_values_of_constants() {
    let split = SourceNode {
        outputs: vec![value("a", FLOAT, None), value("b", FLOAT, None)],
        ..node("Split", &["x", "parts"], "a")
    };
    let mut graph = source(vec![value("x", FLOAT, Some(&[None, Some(4)]))], vec![split]);
    graph.constants = vec![("parts".to_owned(), integers(&[2, 3]))];
    let all = found(&graph);
    assert!(!matches!(all[0], Claim::Refused(_)), "{all:?}");

    let sums = node("RNN", &["x", "w", "r", "", "lengths"], "y");
    let sums = SourceNode {
        attributes: vec![("hidden_size".to_owned(), SourceAttribute::Int(2))],
        ..sums
    };
    let mut graph = source(vec![value("x", FLOAT, Some(&[None, None, Some(3)]))], vec![sums]);
    let lengths: Vec<u8> = [5i32, 3].iter().flat_map(|it| it.to_le_bytes()).collect();
    let lengths = SourceTensor { element: 6, shape: vec![2], bytes: lengths.into() };
    graph.constants = vec![
        ("w".to_owned(), floats(&[1, 2, 3])),
        ("r".to_owned(), floats(&[1, 2, 2])),
        ("lengths".to_owned(), lengths),
    ];
    assert_eq!(found(&graph), [Claim::Device]);

    let frames = node("STFT", &["signal", "step", "window"], "y");
    let mut graph =
        source(vec![value("signal", FLOAT, Some(&[Some(1), None, Some(1)]))], vec![frames]);
    let step = SourceTensor { shape: vec![], ..integers(&[400]) };
    graph.constants = vec![("step".to_owned(), step), ("window".to_owned(), floats(&[1600]))];
    assert_eq!(found(&graph), [Claim::Device]);
}

#[test]
fn a_node_that_no_size_fits_says_which_were_tried() {
    let split = SourceNode {
        outputs: vec![value("a", FLOAT, None), value("b", FLOAT, None)],
        ..node("Split", &["x", "parts"], "a")
    };
    let mut graph = source(vec![value("x", FLOAT, Some(&[None]))], vec![split]);
    // Negative parts are invalid for any input.
    graph.constants = vec![("parts".to_owned(), integers(&[-2, 3]))];
    let all = found(&graph);
    assert!(reason(&all[0]).contains("sizes that were tried for them (1, "), "{all:?}");
}

/// The number of operators of this node, executed one by one.
fn operators(graph: &Source, index: usize, shapes: &[(&str, &[u64])]) -> usize {
    let node = graph.nodes[index].clone();
    let is_read = |name: &str| node.inputs.iter().any(|input| input == name);
    let values = graph.nodes.iter().flat_map(|node| &node.outputs).chain(&graph.inputs);
    let open = |it: &SourceValue| SourceValue { shape: None, ..it.clone() };
    let alone = Source {
        opset: graph.opset,
        inputs: values.filter(|value| is_read(&value.name)).map(open).collect(),
        constants: graph.constants.iter().filter(|(name, _)| is_read(name)).cloned().collect(),
        outputs: vec![node.outputs[0].name.clone()],
        nodes: vec![node.clone()],
    };
    let given = shapes
        .iter()
        .filter(|(name, _)| is_read(name))
        .fold(Inputs::new(), |all, (name, shape)| all.with_shape(*name, *shape));
    let model = Model::from_onnx("alone", &alone).expect("the node is in order");
    let program = model.bind(&given).expect("the node runs");
    let all = program.operators().iter();
    all.map(|it| {
        assert!(matches!(it.work, dml_import::program::Work::Operator(_)), "{it:?}");
        it.operators().len()
    })
    .sum()
}

/// A device without graphs runs a node as one operator at a time.
#[test]
fn at_a_level_without_graphs_a_node_runs_where_it_is_single_operators() {
    assert!(may_join(FeatureLevel::V2_1) && !may_join(FeatureLevel::V2_0));
    // A value of unknown rank may have 5 dimensions, which level 1_0 does not support.
    let ranked = |operator: &str, inputs: &[&str], output: &str| SourceNode {
        outputs: vec![value(output, FLOAT, Some(&[None, Some(8)]))],
        ..node(operator, inputs, output)
    };
    let nodes = vec![
        ranked("MatMul", &["x", "w"], "a"),
        ranked("Relu", &["a"], "b"),
        ranked("Softmax", &["b"], "c"),
        // Softplus, TANH and a product.
        node("Mish", &["c"], "d"),
        node("NoSuchOperator", &["d"], "e"),
        node("Reshape", &["e", "shape"], "f"),
    ];
    let mut graph =
        Source { opset: 18, ..source(vec![value("x", FLOAT, Some(&[None, Some(8)]))], nodes) };
    graph.constants =
        vec![("w".to_owned(), floats(&[8, 8])), ("shape".to_owned(), integers(&[-1]))];
    for level in [FeatureLevel::V1_0, FeatureLevel::V2_0] {
        let all = claims(&graph, level).unwrap();
        let shapes: [(&str, &[u64]); 4] =
            [("x", &[3, 8]), ("a", &[3, 8]), ("b", &[3, 8]), ("c", &[3, 8])];
        assert_eq!(all[..3], [Claim::Device, Claim::Device, Claim::Device], "{level}");
        for index in 0..3 {
            assert_eq!(operators(&graph, index, &shapes), 1);
        }
        assert_eq!(reason(&all[3]), "it needs feature level 2_1", "{level}");
        assert!(reason(&all[4]).contains("no operator"), "{all:?}");
        assert_eq!(all[5], Claim::Host);
    }
    assert_eq!(claims(&graph, FeatureLevel::V2_1).unwrap()[3], Claim::Device);
}

/// The attention of a decoder, as generators export it: the number of tokens of each row, and their positions,
/// are computed from a mask that each run gives.
#[test]
fn what_follows_from_a_mask_is_the_devices() {
    const INT32: i32 = 6;
    const BOOL: i32 = 9;
    let int = |name: &str, value: i64| (name.to_owned(), SourceAttribute::Int(value));
    let of = |node: SourceNode, element: i32, attributes: Vec<(String, SourceAttribute)>| {
        let outputs =
            node.outputs.into_iter().map(|output| SourceValue { element, ..output }).collect();
        SourceNode { outputs, attributes, ..node }
    };
    let shaped = |name: &str, element, shape: &[Option<u64>]| value(name, element, Some(shape));
    let attention = SourceNode {
        domain: "com.microsoft".to_owned(),
        outputs: ["y", "present_k", "present_v"].map(|it| value(it, FLOAT, None)).into(),
        attributes: vec![int("num_heads", 4), int("kv_num_heads", 2)],
        ..node("GroupQueryAttention", &["q", "k", "v", "past_k", "past_v", "lasts", "total"], "")
    };
    let nodes = vec![
        of(node("ReduceSum", &["mask", "axis"], "sums"), INT64, vec![]),
        of(node("Sub", &["sums", "axis"], "less"), INT64, vec![]),
        of(node("Cast", &["less"], "lasts"), INT32, vec![int("to", INT32.into())]),
        of(node("Shape", &["mask"], "sizes"), INT64, vec![]),
        of(node("Gather", &["sizes", "one"], "length"), INT64, vec![]),
        of(node("Cast", &["length"], "total"), INT32, vec![int("to", INT32.into())]),
        attention,
        of(node("CumSum", &["mask", "one"], "counts"), INT64, vec![]),
        of(node("Sub", &["counts", "one"], "places"), INT64, vec![]),
        of(node("Equal", &["mask", "zero"], "empty"), BOOL, vec![]),
        of(node("Where", &["empty", "one", "places"], "ids"), INT64, vec![]),
        node("Gather", &["table", "ids"], "rows"),
    ];
    let cache = [None, Some(2), None, Some(16)];
    let mut graph = source(
        vec![
            shaped("mask", INT64, &[None, None]),
            shaped("q", FLOAT, &[None, None, Some(64)]),
            shaped("k", FLOAT, &[None, None, Some(32)]),
            shaped("v", FLOAT, &[None, None, Some(32)]),
            shaped("past_k", FLOAT, &cache),
            shaped("past_v", FLOAT, &cache),
        ],
        nodes,
    );
    let scalar = |number: i64| SourceTensor { shape: vec![], ..integers(&[number]) };
    graph.constants = vec![
        ("axis".to_owned(), integers(&[1])),
        ("one".to_owned(), scalar(1)),
        ("zero".to_owned(), scalar(0)),
        ("table".to_owned(), floats(&[32, 8])),
    ];
    let all = found(&graph);
    assert!(all.iter().all(|it| !matches!(it, Claim::Refused(_))), "{all:?}");
    let on_device = [0, 1, 2, 6, 7, 8, 9, 10, 11].map(|index: usize| &all[index]);
    assert_eq!(on_device, [&Claim::Device; 9]);
}
