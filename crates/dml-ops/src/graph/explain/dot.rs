//! A drawing of a compiled graph, in Graphviz's language DOT.

use std::collections::{HashMap, HashSet};

use dml_core::graph::{GraphNode, NodeWork, Source, ValidatedGraph};
use dml_core::schema::FieldKind;

use super::Explanation;

impl Explanation {
    /// DOT text of `graph`, which this explains: each part is a box around its nodes, and nodes that are not
    /// executed are dashed. An edge has the name, type and sizes of the tensor that is read.
    ///
    /// Equal graphs give equal text. No name can end a string or the drawing: a character that a terminal or
    /// a viewer could take for a command is shown as `_` or escaped.
    pub fn to_dot(&self, graph: &ValidatedGraph) -> String {
        let mut picture = Picture::new(self, graph);
        picture.lines.push("digraph {".to_owned());
        picture.lines.push(format!("  label={}; labelloc=b;", quoted(&[&self.memory.to_string()])));
        picture.lines.push("  node [shape=box];".to_owned());
        picture.inputs();
        let copies = picture.parts();
        picture.not_executed();
        picture.outputs(&copies);
        picture.edges();
        picture.lines.push("}\n".to_owned());
        picture.lines.join("\n")
    }
}

struct Picture<'a> {
    explanation: &'a Explanation,
    graph: &'a ValidatedGraph,
    /// The nodes that are not drawn yet, by their labels.
    left: HashMap<String, usize>,
    lines: Vec<String>,
}

impl<'a> Picture<'a> {
    fn new(explanation: &'a Explanation, graph: &'a ValidatedGraph) -> Self {
        let labels = graph.nodes().iter().map(GraphNode::label);
        Self { explanation, graph, left: labels.zip(0..).collect(), lines: vec![] }
    }

    fn inputs(&mut self) {
        for (index, input) in self.graph.inputs().iter().enumerate() {
            let style = if input.is_some() { "" } else { ", style=dashed" };
            self.lines
                .push(format!("  in{index} [label=\"Inputs[{index}]\", shape=ellipse{style}];"));
        }
    }

    /// Draws every part except those that only copy a result to a further output of the graph. Their indices
    /// are returned, because other parts draw their nodes.
    fn parts(&mut self) -> Vec<usize> {
        let mut copies = vec![];
        for (index, part) in self.explanation.parts.iter().enumerate() {
            let nodes: Vec<usize> =
                part.nodes.iter().filter_map(|label| self.left.remove(label.as_str())).collect();
            if part.copies_output {
                copies.push(index);
            }
            if nodes.is_empty() {
                continue;
            }
            let label = quoted(&[&format!("{index}: {}", part.steps_text())]);
            self.lines.push(format!("  subgraph cluster_{index} {{"));
            self.lines.push(format!("    label={label};"));
            self.lines.extend(
                nodes.into_iter().map(|node| format!("  {}", drawn(self.graph, node, "", ""))),
            );
            self.lines.push("  }".to_owned());
        }
        copies
    }

    /// Draws constants, and nodes that are not executed.
    fn not_executed(&mut self) {
        for (why, labels) in self.explanation.not_executed() {
            for label in labels {
                let Some(node) = self.left.remove(label.as_str()) else { continue };
                self.lines.push(drawn(self.graph, node, why, ", style=dashed"));
            }
        }
        let mut rest: Vec<usize> = self.left.values().copied().collect();
        rest.sort_unstable();
        self.lines.extend(rest.into_iter().map(|node| drawn(self.graph, node, "", "")));
    }

    /// Draws the outputs and their edges. An output whose value is an earlier output, too, is written by the
    /// next of `copies`, which are in the order of the outputs.
    fn outputs(&mut self, copies: &[usize]) {
        let (mut copies, mut seen) = (copies.iter(), HashSet::new());
        for (index, (source, _)) in self.graph.outputs().iter().enumerate() {
            self.lines.push(format!("  out{index} [label=\"Outputs[{index}]\", shape=ellipse];"));
            let Source::Node { node, output } = *source else { continue };
            let is_copy = !seen.insert(source);
            let copy = if is_copy { copies.next() } else { None };
            let copy = copy.map_or_else(String::new, |part| format!("copied by {part}"));
            let tensor = tensor(&self.graph.nodes()[node], FieldKind::Output, output);
            let label = quoted(&[&tensor, &copy]);
            self.lines.push(format!("  {} -> out{index} [label={label}];", id(*source)));
        }
    }

    fn edges(&mut self) {
        for (index, node) in self.graph.nodes().iter().enumerate() {
            for (input, source) in node.inputs.iter().enumerate() {
                let Some(source) = source else { continue };
                let label = quoted(&[&tensor(node, FieldKind::Input, input)]);
                self.lines.push(format!("  {} -> n{index} [label={label}];", id(*source)));
            }
        }
    }
}

fn drawn(graph: &ValidatedGraph, index: usize, why: &str, style: &str) -> String {
    let node = &graph.nodes()[index];
    let (what, shape) = match &node.work {
        NodeWork::Operator(operator) => (operator.schema().name.to_owned(), ""),
        NodeWork::Constant(bytes) => (format!("CONSTANT of {} bytes", bytes.len()), ", shape=note"),
    };
    let label = quoted(&[&what, &node.label(), why]);
    format!("  n{index} [label={label}{shape}{style}];")
}

fn id(source: Source) -> String {
    match source {
        Source::Input(index) => format!("in{index}"),
        Source::Node { node, .. } => format!("n{node}"),
    }
}

/// Name, type and sizes of a tensor that an operator reads or writes, such as `ATensor FLOAT32 2x3`.
fn tensor(node: &GraphNode, kind: FieldKind, index: usize) -> String {
    let found = node.operator().and_then(|operator| operator.tensors(kind).nth(index));
    let Some((name, Some(tensor))) = found else { return String::new() };
    let sizes: Vec<String> = tensor.sizes().iter().map(ToString::to_string).collect();
    format!("{name} {} {}", tensor.data_type(), sizes.join("x"))
}

/// A string of DOT with the lines that are not empty. No text can end the string.
pub fn quoted(lines: &[&str]) -> String {
    let lines = lines.iter().filter(|line| !line.is_empty());
    let lines: Vec<String> = lines.map(|line| line.chars().map(escaped).collect()).collect();
    // DOT ends a line with a backslash and an n.
    format!("\"{}\"", lines.join("\\n"))
}

/// Escapes characters with a meaning in labels: backslashes, and HTML's entities.
fn escaped(character: char) -> String {
    match character {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        '&' => "&amp;".to_owned(),
        it if it.is_control() => "_".to_owned(),
        it => it.to_string(),
    }
}
