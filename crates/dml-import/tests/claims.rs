//! Which nodes of a graph are run for a runtime that keeps the others, and a model from such a graph.

use dml_core::FeatureLevel;
use dml_import::claims::{Claim, claims};
use dml_import::onnx::{Source, SourceAttribute, SourceNode, SourceTensor, SourceValue};
use dml_import::{ElementType, Inputs, Model, Tensor};

const FLOAT: i32 = 1;
const INT64: i32 = 7;

fn value(name: &str, element: i32, shape: Option<&[Option<u64>]>) -> SourceValue {
    SourceValue { name: name.to_owned(), element, shape: shape.map(<[_]>::to_vec) }
}

/// A node of one output, of which nothing but the type is known.
fn node(operator: &str, inputs: &[&str], output: &str) -> SourceNode {
    SourceNode {
        operator: operator.to_owned(),
        inputs: inputs.iter().map(|it| (*it).to_owned()).collect(),
        outputs: vec![value(output, FLOAT, None)],
        ..SourceNode::default()
    }
}

fn floats(shape: &[u64]) -> SourceTensor {
    let count = usize::try_from(shape.iter().product::<u64>()).expect("a test is small");
    SourceTensor { element: FLOAT, shape: shape.to_vec(), bytes: vec![0; 4 * count].into() }
}

fn integers(values: &[i64]) -> SourceTensor {
    let bytes: Vec<u8> = values.iter().flat_map(|it| it.to_le_bytes()).collect();
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
    // The elements are one, seen often.
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
        .flat_map(|it| it.operators())
        .map(|it| it.schema().name)
        .collect();
    assert_eq!(names, ["JOIN"]);
    let error = model.bind(&Inputs::new()).unwrap_err().to_string();
    assert!(error.starts_with("two: input 'x'"), "{error}");
}
