//! Graphs that have been checked.

use std::sync::Arc;

use super::label::Label;
use crate::plan::BindingRequirement;
use crate::schema::FieldKind;
use crate::schema::validated::Validated;
use crate::tensor::TensorLayout;

/// A graph that a feature level accepts. There is no other way to make one than
/// [`crate::validate_graph()`].
#[derive(Clone, Debug, PartialEq)]
pub struct ValidatedGraph {
    pub(super) nodes: Vec<GraphNode>,
    pub(super) order: Vec<usize>,
    pub(super) inputs: Vec<Option<BindingRequirement>>,
    pub(super) outputs: Vec<(Source, BindingRequirement)>,
}

/// A node, and the sources of its inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphNode {
    /// Its number in the graph's description.
    pub index: usize,
    /// Its name; may be empty.
    pub name: Arc<str>,
    /// Its operator or constant.
    pub work: NodeWork,
    /// The source of each input binding; `None` for an optional tensor that is left out.
    pub inputs: Vec<Option<Source>>,
}

/// The operator that a node executes, or its constant.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeWork {
    /// The node executes an operator.
    Operator(Arc<Validated>),
    /// The node has these bytes as its only output.
    Constant(Arc<[u8]>),
}

/// The source of a node's input or of an output of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// An input of the graph.
    Input(usize),
    /// An output of a node.
    Node {
        /// The index of the node.
        node: usize,
        /// The index of its output, in its binding order.
        output: usize,
    },
}

impl ValidatedGraph {
    /// The nodes, in the order of the graph's description.
    pub fn nodes(&self) -> &[GraphNode] {
        &self.nodes
    }

    /// The nodes' indices in an order in which they can be executed.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// The binding requirement of each input of the graph; `None` if no node reads the input.
    pub fn inputs(&self) -> &[Option<BindingRequirement>] {
        &self.inputs
    }

    /// The tensor of an input or an output of the graph; an input has the tensor of the first node that reads it.
    /// `None` if there is no such input or output, or no node reads the input.
    pub fn tensor(&self, kind: FieldKind, index: usize) -> Option<&TensorLayout> {
        if kind == FieldKind::Output {
            let (Source::Node { node, output }, _) = *self.outputs.get(index)? else { return None };
            return self.nodes[node].tensor(kind, output);
        }
        let reads = |node: &&GraphNode| node.inputs.contains(&Some(Source::Input(index)));
        let node = self.nodes.iter().find(reads)?;
        let input = node.inputs.iter().position(|input| *input == Some(Source::Input(index)))?;
        node.tensor(kind, input)
    }

    /// The source and the binding requirement of each output of the graph.
    pub fn outputs(&self) -> &[(Source, BindingRequirement)] {
        &self.outputs
    }
}

/// A node as messages have it.
pub(super) fn node_label(index: usize, name: &str) -> String {
    Label { array: "Nodes", index, name }.to_string()
}

impl GraphNode {
    /// As messages have it: `Nodes[3]`, with its name after it where it has one.
    pub fn label(&self) -> String {
        node_label(self.index, &self.name)
    }

    /// The operator; `None` of a constant.
    pub fn operator(&self) -> Option<&Validated> {
        match &self.work {
            NodeWork::Operator(operator) => Some(operator),
            NodeWork::Constant(_) => None,
        }
    }

    /// The tensor of an input or output binding; `None` if it is left out, and for a constant.
    pub fn tensor(&self, kind: FieldKind, index: usize) -> Option<&TensorLayout> {
        self.operator()?.tensors(kind).nth(index)?.1
    }
}
