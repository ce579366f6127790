//! The picture of a model, in Graphviz's language DOT.

use std::collections::HashMap;

use dml::ops::graph::quoted;
use dml_import::{NodeSupport, Report, ValueReport};

use super::{kind, support_text};

/// DOT text: a box for each node, coloured by how it is run, and an edge with type and shape for each of its
/// inputs. Values that no node computes are the model's inputs.
pub(super) fn dot(report: &Report) -> String {
    let mut lines = vec!["digraph {".to_owned(), "  node [shape=box, style=filled];".to_owned()];
    let mut sources: HashMap<usize, (String, &ValueReport)> = HashMap::new();
    for (index, input) in report.inputs.iter().enumerate() {
        let value = &input.value;
        let label = quoted(&[&value.name, &kind(value)]);
        lines.push(format!("  in{index} [label={label}, shape=ellipse, fillcolor=white];"));
        sources.extend(value.number.map(|number| (number, (format!("in{index}"), value))));
    }
    for (index, node) in report.nodes.iter().enumerate() {
        let label = quoted(&[&node.node.to_string(), &support_text(&node.support)]);
        lines.push(format!("  n{index} [label={label}, fillcolor={}];", color(&node.support)));
        for output in &node.outputs {
            sources.extend(output.number.map(|number| (number, (format!("n{index}"), output))));
        }
    }
    let edge = |number: &usize, target: String| {
        let (source, value) = sources.get(number)?;
        Some(format!("  {source} -> {target} [label={}];", quoted(&[&kind(value)])))
    };
    for (index, node) in report.nodes.iter().enumerate() {
        lines.extend(node.inputs.iter().filter_map(|number| edge(number, format!("n{index}"))));
    }
    for (index, output) in report.outputs.iter().enumerate() {
        let label = quoted(&[&output.name]);
        lines.push(format!("  out{index} [label={label}, shape=ellipse, fillcolor=white];"));
        lines.extend(output.number.and_then(|number| edge(&number, format!("out{index}"))));
    }
    lines.push("}\n".to_owned());
    lines.join("\n")
}

fn color(support: &NodeSupport) -> &'static str {
    match support {
        NodeSupport::Operator { .. } | NodeSupport::Operators { .. } => "palegreen",
        NodeSupport::Host | NodeSupport::AfterReading(_) => "lightyellow",
        NodeSupport::Open => "orange",
        NodeSupport::Alias => "gray90",
        NodeSupport::Unsupported(_) | NodeSupport::Blocked(_) => "salmon",
    }
}
