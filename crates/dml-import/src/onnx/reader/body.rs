//! The body of a loop: a separate graph, whose values are numbered from 0.

use std::collections::HashMap;

use crate::error::{NodeName, Result};
use crate::graph::value::Kind;
use crate::graph::{Graph, GraphInput, GraphOutput, Node, ValueId, fixed};

use super::{Reader, declared};
use crate::onnx::proto::GraphProto;
use crate::onnx::scope::Scope;

/// A loop's body.
pub(super) struct Read {
    /// The graph, whose last inputs are the values of enclosing graphs.
    pub(super) graph: Graph,
    /// The number of entries in its list attributes.
    pub(super) entries: usize,
    /// The values of enclosing graphs that it uses.
    pub(super) around: Vec<Option<ValueId>>,
    /// The declared types and shapes of its outputs.
    pub(super) declared: Vec<Option<Kind>>,
}

/// Reads the body of node `name`.
pub(super) fn read(
    reader: &mut Reader<'_>,
    proto: &GraphProto,
    name: &NodeName,
    outer: &Scope<'_>,
) -> Result<Read> {
    // Values of enclosing graphs have smaller numbers than those defined within.
    let first = reader.graph.value_count;
    let entries = reader.entries;
    let nodes = std::mem::take(&mut reader.graph.nodes);
    let inner = reader.within(name, |reader| values(reader, proto, name, outer));
    let own = std::mem::replace(&mut reader.graph.nodes, nodes);
    let count = reader.graph.value_count - first;
    reader.graph.value_count = first;
    let (inputs, outputs) = inner?;
    let mut numbers = Numbers { first, count, around: vec![], known: HashMap::new() };
    let renumbered = own.into_iter().map(|node| numbers.node(node)).collect();
    let mut graph = Graph { nodes: renumbered, ..Graph::default() };
    for (info, value) in proto.input.iter().zip(inputs) {
        let (element, _) = declared(info)?;
        graph.inputs.push(input(info.name.clone(), numbers.of(value), element));
    }
    for (info, value) in proto.output.iter().zip(outputs) {
        let value = numbers.of(value);
        graph.outputs.push(GraphOutput { name: info.name.clone(), value });
    }
    let own = graph.inputs.len();
    for index in 0..numbers.around.len() {
        graph.inputs.push(input(String::new(), count + index, None));
    }
    graph.value_count = count + graph.inputs.len() - own;
    let kind = |info| {
        let (element, shape) = declared(info)?;
        let shape = shape.as_deref().and_then(fixed);
        Ok(element.zip(shape).map(|(element, shape)| Kind { element, shape: shape.into() }))
    };
    let declared = proto.output.iter().map(kind).collect::<Result<_>>()?;
    let around = numbers.around.into_iter().map(Some).collect();
    Ok(Read { graph, entries: reader.entries - entries, around, declared })
}

fn input(name: String, value: ValueId, element: Option<crate::ElementType>) -> GraphInput {
    GraphInput { names: vec![name], value, element, shape: None, default: None }
}

/// Reads the nodes; returns the values of inputs and outputs.
fn values(
    reader: &mut Reader<'_>,
    proto: &GraphProto,
    name: &NodeName,
    outer: &Scope<'_>,
) -> Result<(Vec<ValueId>, Vec<ValueId>)> {
    let mut scope = Scope::within(outer);
    let define = |info: &crate::onnx::proto::ValueInfoProto| reader.define(&info.name, &mut scope);
    let inputs = proto.input.iter().map(define).collect::<Result<Vec<ValueId>>>()?;
    reader.initializers(proto, &mut scope)?;
    reader.nodes(&proto.node, &mut scope)?;
    let user = name.to_string();
    let outputs = proto.output.iter().map(|output| scope.output(&output.name, &user));
    Ok((inputs, outputs.collect::<Result<_>>()?))
}

/// Renumbers the body's values: its own come first, followed by outer values in the order of their use.
struct Numbers {
    first: ValueId,
    count: usize,
    around: Vec<ValueId>,
    known: HashMap<ValueId, ValueId>,
}

impl Numbers {
    fn of(&mut self, value: ValueId) -> ValueId {
        if let Some(own) = value.checked_sub(self.first) {
            return own;
        }
        *self.known.entry(value).or_insert_with(|| {
            self.around.push(value);
            self.count + self.around.len() - 1
        })
    }

    fn node(&mut self, node: Node) -> Node {
        let mut all = |values: Vec<Option<ValueId>>| {
            values.into_iter().map(|it| it.map(|it| self.of(it))).collect()
        };
        Node { inputs: all(node.inputs), outputs: all(node.outputs), ..node }
    }
}
