//! DxDispatch graphs.

use super::*;

/// `x -> 2 x + 10`.
fn scaled() -> Value {
    let desc = json!({
        "InputTensor": tensor(&[4]), "OutputTensor": tensor(&[4]),
        "ScaleBias": { "Scale": 2, "Bias": 10 }
    });
    json!({ "type": "DML_OPERATOR_ELEMENT_WISE_IDENTITY", "desc": desc })
}

/// `relu(2 x + 10 + y)`, built from a named operator and an operator that is defined within its node; field
/// names in lower and upper case.
fn graph(names: [&str; 3]) -> Value {
    let t = || tensor(&[4]);
    let relu = json!({ "Type": "ACTIVATION_RELU", "InputTensor": t(), "OutputTensor": t() });
    json!({
        "type": "DML_GRAPH_DESC",
        "desc": {
            "InputCount": 2,
            "OutputCount": 1,
            "Nodes": [
                { "type": "DML_GRAPH_NODE_TYPE_OPERATOR", "Operator": "scaled" },
                { "type": "DML_GRAPH_NODE_TYPE_OPERATOR", "Operator": "sum" },
                { "Type": "OPERATOR", "Name": "the end", "Operator": relu }
            ],
            "InputEdges": [
                { "GraphInputIndex": 0, "ToNodeIndex": 0, "ToNodeInputIndex": 0, "Name": names[0] },
                { "GraphInputIndex": 1, "ToNodeIndex": 1, "ToNodeInputIndex": 1, "Name": names[1] }
            ],
            "OutputEdges": [
                { "FromNodeIndex": 2, "FromNodeOutputIndex": 0, "GraphOutputIndex": 0,
                  "Name": names[2] }
            ],
            "IntermediateEdges": [
                { "FromNodeIndex": 0, "FromNodeOutputIndex": 0, "ToNodeIndex": 1,
                  "ToNodeInputIndex": 0 },
                { "FromNodeIndex": 1, "FromNodeOutputIndex": 0, "ToNodeIndex": 2,
                  "ToNodeInputIndex": 0 }
            ]
        }
    })
}

fn graph_model(names: [&str; 3], bindings: Value) -> Model {
    let sum = sum(tensor(&[4]), tensor(&[4]), tensor(&[4]));
    model(
        json!({ "x": floats(&[4.0, -2.0, 3.0, -5.0]), "y": floats(&[0.5, -7.0, 1.0, -1.0]),
                "out": zeros(4) }),
        json!({ "scaled": scaled(), "sum": sum, "graph": graph(names) }),
        &[dispatch("graph", bindings), print("out")],
    )
}

const GRAPH_RESULT: &[f32] = &[18.5, 0.0, 17.0, 0.0];

#[test]
fn a_graph_of_named_operators_is_one_dispatch() {
    let model = graph_model(["", "", ""], json!({ "Inputs": ["x", "y"], "Outputs": ["out"] }));
    let program = bind(&model);
    let dispatches = program.steps().iter().filter(|step| matches!(step, Step::Dispatch(_)));
    // Operators that only nodes name are compiled as parts of the graph.
    assert_eq!((program.operators().len(), dispatches.count()), (1, 1));
    let operator = &program.operators()[0];
    assert_eq!(
        (operator.node.to_string(), operator.operators().len()),
        ("GRAPH 'graph'".into(), 3)
    );
    let Work::Graph { nodes, .. } = &operator.work else { panic!("{operator:?}") };
    let nodes: Vec<String> = nodes.iter().map(ToString::to_string).collect();
    let expected =
        ["ELEMENT_WISE_IDENTITY 'scaled'", "ELEMENT_WISE_ADD 'sum'", "ACTIVATION_RELU 'the end'"];
    assert_eq!(nodes, expected);
    check(&model, &[GRAPH_RESULT]);
}

#[test]
fn a_graph_is_bound_by_the_names_of_its_edges_too() {
    let names = ["first", "second", "result"];
    let bindings = json!({ "first": "x", "second": ["y"], "result": { "name": "out" } });
    check(&graph_model(names, bindings), &[GRAPH_RESULT]);
    let mixed = json!({ "first": "x", "Inputs": [null, "y"], "Outputs": ["out"] });
    check(&graph_model(["first", "", "result"], mixed), &[GRAPH_RESULT]);
}

#[test]
fn a_graph_that_is_wrong_is_refused_with_its_place() {
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut graph = graph(["", "", ""]);
        change(&mut graph);
        let sum = sum(tensor(&[4]), tensor(&[4]), tensor(&[4]));
        let dispatchables = json!({
            "scaled": scaled(), "sum": sum, "graph": graph, "other": { "type": "hlsl" }
        });
        let bindings = json!({ "Inputs": ["x", "x"], "Outputs": ["x"] });
        let commands = [dispatch("graph", bindings)];
        refusal(&model(json!({ "x": zeros(4) }), dispatchables, &commands))
    };
    let named =
        |name: &'static str| move |it: &mut Value| it["desc"]["Nodes"][0]["Operator"] = json!(name);
    for (message, change) in [
        (
            "Nodes[0].Operator: \"nothing\" is not an operator's name",
            &named("nothing") as &dyn Fn(&mut _),
        ),
        ("Nodes[0].Operator: \"graph\" is not an operator's name", &named("graph")),
        ("hlsl 'other': not supported: it is not a DirectML operator", &named("other")),
        ("desc: null is missing", &|it| it["desc"] = Value::Null),
        ("fuse: true is given for an unknown field", &|it| it["fuse"] = json!(true)),
        ("InputCount: 4294967295 is too many", &|it| it["desc"]["InputCount"] = json!(u32::MAX)),
        ("IntermediateEdges[0].ToNodeIndex: 7 ", &|it| {
            it["desc"]["IntermediateEdges"][0]["ToNodeIndex"] = json!(7);
        }),
        ("Nodes[1] (sum)", &|it| it["desc"]["InputEdges"][1]["ToNodeInputIndex"] = json!(0)),
        ("GRAPH 'graph': ", &|it| it["desc"]["Nodes"] = json!([])),
        ("\"FAST\" is not an execution flag; accepted: NONE, ", &|it| {
            it["executionFlags"] = json!("FAST");
        }),
    ] {
        let error = refused(change);
        assert!(error.contains(message), "{message}: {error}");
    }
    let wrong = |bindings| refusal(&graph_model(["a", "", ""], bindings));
    let error = wrong(json!({ "b": "x" }));
    assert!(error.contains("bindings.b: \"x\" is bound to no tensor"), "{error}");
    assert!(error.contains("accepted: Inputs, Outputs, a"), "{error}");
    let error = wrong(json!({ "Inputs": ["x"] }));
    assert!(error.contains("accepted: an array of 2"), "{error}");
}

/// A graph whose nodes copy a large operator takes memory in proportion to the copies, which are limited.
#[test]
fn nodes_that_name_large_operators_are_limited() {
    let many = vec![tensor(&[1]); 5000];
    let desc = json!({ "InputCount": 5000, "InputTensors": many, "OutputTensor": tensor(&[5000]),
                       "Axis": 0 });
    let nodes = vec![json!({ "type": "OPERATOR", "Operator": "join" }); 5000];
    let dispatchables = json!({
        "join": { "type": "JOIN", "desc": desc },
        "graph": { "type": "DML_GRAPH_DESC", "desc": { "Nodes": nodes } }
    });
    let commands = [dispatch("graph", json!({}))];
    let error = refusal(&model(json!({}), dispatchables, &commands));
    assert!(error.contains("the operators that nodes of graphs name are too large"), "{error}");
}

/// Each of many graphs declares many inputs in a few bytes.
#[test]
fn inputs_of_all_graphs_are_limited() {
    let graph = json!({ "type": "DML_GRAPH_DESC", "desc": { "Nodes": [], "InputCount": 65_536 } });
    let graphs = (0..100).map(|index| (format!("g{index:02}"), graph.clone())).collect();
    let run = |name| {
        let commands = [dispatch(name, json!({}))];
        let program = model(json!({}), Value::Object(Clone::clone(&graphs)), &commands);
        program.bind(&Inputs::new()).map(|_| ()).map_err(|error| error.to_string())
    };
    // The input limit is checked before other errors.
    let error = run("g00").unwrap_err();
    assert!(error.contains("OutputEdges: an empty list is not an output"), "{error}");
    let error = run("g99").unwrap_err();
    assert!(error.contains("InputCount: 65536 is too many; accepted: up to 1048576"), "{error}");
}

#[test]
fn a_graph_keeps_what_is_bound_to_it() {
    let sum = sum(tensor(&[2]), owned(&[2]), tensor(&[2]));
    let edge =
        |input| json!({ "GraphInputIndex": input, "ToNodeIndex": 0, "ToNodeInputIndex": input });
    let graph = json!({
        "type": "DML_GRAPH_DESC",
        "desc": {
            "Nodes": [{ "type": "OPERATOR", "Operator": "sum" }],
            "InputEdges": [edge(0), edge(1)],
            "OutputEdges": [{ "FromNodeIndex": 0, "FromNodeOutputIndex": 0, "GraphOutputIndex": 0 }]
        },
        "bindings": { "Inputs": [null, "weights"] }
    });
    let run = dispatch("graph", json!({ "Inputs": ["a", null], "Outputs": ["out"] }));
    let again = dispatch("graph", json!({ "Inputs": ["out", null], "Outputs": ["a"] }));
    let model = model(
        json!({ "a": floats(&[1.0, 2.0]), "weights": floats(&[10.0, 20.0]), "out": zeros(2) }),
        json!({ "sum": sum, "graph": graph }),
        &[run, again, print("a")],
    );
    check(&model, &[&[21.0, 42.0]]);
}

#[test]
fn a_graph_is_inspected_as_one_operator() {
    let model = graph_model(["", "", ""], json!({ "Inputs": ["x", "y"], "Outputs": ["out"] }));
    let report = model.inspect(&Inputs::new()).unwrap();
    let nodes: Vec<String> = report.nodes.iter().map(|node| node.node.to_string()).collect();
    assert_eq!(
        nodes,
        ["GRAPH 'graph'", "ELEMENT_WISE_IDENTITY 'scaled'", "ELEMENT_WISE_ADD 'sum'"]
    );
    // The level of one-dimensional tensors, which is higher than that of graphs.
    let level = dml::FeatureLevel::V3_0;
    assert_eq!(report.nodes[0].support, NodeSupport::Operator { operator: "GRAPH", level });
}
