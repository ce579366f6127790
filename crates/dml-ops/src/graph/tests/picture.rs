//! Pictures of graphs are well-formed DOT, whatever the names of nodes are.

use super::*;

/// The text with `""` for every string, and the strings. Strings and braces must be balanced.
#[track_caller]
fn parsed(dot: &str) -> (String, Vec<String>) {
    let (mut plain, mut strings, mut depth) = (String::new(), vec![], 0);
    let mut characters = dot.chars();
    while let Some(character) = characters.next() {
        plain.push(character);
        match character {
            '{' => depth += 1,
            '}' => {
                depth -= 1;
                assert!(depth >= 0, "{dot}");
            }
            '"' => {
                let mut string = String::new();
                loop {
                    match characters.next().expect("the string ends") {
                        '"' => break,
                        '\\' => string.extend(['\\', characters.next().expect("an escape")]),
                        other => string.push(other),
                    }
                }
                plain.push('"');
                strings.push(string);
            }
            _ => {}
        }
    }
    assert_eq!(depth, 0, "{dot}");
    (plain, strings)
}

fn picture(graph: &ValidatedGraph, options: GraphOptions) -> String {
    let explanation = compiled(graph, options, TransferUse::Allowed).1;
    let dot = explanation.to_dot(graph);
    assert_eq!(dot, compiled(graph, options, TransferUse::Allowed).1.to_dot(graph));
    dot
}

#[test]
fn random_graphs_have_every_node_and_edge_once() {
    for seed in 0..100 {
        let mut random = Random::new(&format!("picture {seed}"));
        let nodes = 1 + random.below(20);
        let graph = valid(&random_graph(&mut random, nodes));
        for options in WAYS {
            let (plain, _) = parsed(&picture(&graph, options));
            let count = |begin: &str| {
                let begins = |line: &&str| line.trim_start().starts_with(begin);
                plain.lines().filter(begins).count()
            };
            for index in 0..graph.nodes().len() {
                assert_eq!(count(&format!("n{index} [")), 1, "{index}: {plain}");
            }
            let sources = graph.nodes().iter().flat_map(|node| node.inputs.iter().flatten());
            let edges = sources.count() + graph.outputs().len();
            assert_eq!(plain.matches(" -> ").count(), edges, "{plain}");
        }
    }
}

#[test]
fn parts_are_boxes_and_what_is_not_executed_is_dashed() {
    let identity = ElementWiseIdentityDesc {
        input_tensor: tensor(),
        output_tensor: tensor(),
        scale_bias: None,
    };
    let mut graph = GraphBuilder::new();
    let (input, _) = (graph.input(), graph.input());
    let constant = graph.constant(vec![0; 1600]);
    let copy = graph.operator(identity.clone(), &[input]);
    let once = graph.operator(sum(), &[copy, constant]);
    let twice = graph.operator(sum(), &[once, input]);
    graph.name(twice, "twice");
    graph.operator(identity, &[twice]);
    graph.output(twice);
    graph.output(twice);
    let dot = picture(&valid(&graph.finish()), GraphOptions::default());
    let expected = r#"digraph {
  label="intermediate results: 5376 bytes, 0 after fusing, 0 planned (at least 0 live at once)"; labelloc=b;
  node [shape=box];
  in0 [label="Inputs[0]", shape=ellipse];
  in1 [label="Inputs[1]", shape=ellipse, style=dashed];
  subgraph cluster_0 {
    label="0: 1 step";
    n2 [label="ELEMENT_WISE_ADD\nNodes[2]"];
    n3 [label="ELEMENT_WISE_ADD\nNodes[3] (twice)"];
  }
  n1 [label="ELEMENT_WISE_IDENTITY\nNodes[1]\nfolded", style=dashed];
  n4 [label="ELEMENT_WISE_IDENTITY\nNodes[4]\nnot needed", style=dashed];
  n0 [label="CONSTANT of 1600 bytes\nNodes[0]", shape=note];
  out0 [label="Outputs[0]", shape=ellipse];
  n3 -> out0 [label="OutputTensor FLOAT32 4x100"];
  out1 [label="Outputs[1]", shape=ellipse];
  n3 -> out1 [label="OutputTensor FLOAT32 4x100\ncopied by 1"];
  in0 -> n1 [label="InputTensor FLOAT32 4x100"];
  n1 -> n2 [label="ATensor FLOAT32 4x100"];
  n0 -> n2 [label="BTensor FLOAT32 4x100"];
  n2 -> n3 [label="ATensor FLOAT32 4x100"];
  in0 -> n3 [label="BTensor FLOAT32 4x100"];
  n3 -> n4 [label="InputTensor FLOAT32 4x100"];
}
"#;
    assert_eq!(dot, expected);
}

#[test]
fn hostile_names_stay_inside_their_strings() {
    let names = [
        ("\"]; } digraph x { evil [label=\"", r#"\"]; } digraph x { evil [label=\""#),
        ("\\", r"\\"),
        ("\\\"", r#"\\\""#),
        ("a\nb\u{1b}[2J\0", "a_b_[2J_"),
        ("\\N \\l", r"\\N \\l"),
        ("&quot;&#10;<b>", "&amp;quot;&amp;#10;<b>"),
    ];
    for (name, shown) in names {
        let mut graph = GraphBuilder::new();
        let input = graph.input();
        let sum = graph.operator(sum(), &[input, input]);
        graph.name(sum, name);
        graph.output(sum);
        let (plain, strings) = parsed(&picture(&valid(&graph.finish()), WAYS[0]));
        assert!(!plain.contains("evil") && plain.matches('}').count() == 2, "{plain}");
        let label = format!("ELEMENT_WISE_ADD\\nNodes[0] ({shown})");
        assert!(strings.contains(&label), "{strings:?}");
    }
}
