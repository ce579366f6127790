//! Builds a graph from an ONNX model, with the nodes of subgraphs and functions inlined.

mod body;
mod function;
mod subgraph;

use std::collections::HashMap;
use std::sync::Arc;

use crate::element::ElementType;
use crate::error::{Error, NodeName, Result, shortened};
use crate::files::Folder;
use crate::graph::{Dimension, Graph, GraphInput, GraphOutput, Literal, Node, Op, ValueId};
use crate::limits;

use super::attributes::Attributes;
use super::proto::{DimensionProto, GraphProto, ModelProto, NodeProto, ValueInfoProto};
use super::scope::Scope;
use super::sparse::Initializer;
use super::{contrib, operators, sparse, tensor};

/// The graph of a model.
pub(super) fn graph(model: &ModelProto, folder: Option<&Folder>) -> Result<Graph> {
    let proto = model.graph.as_ref();
    let proto = proto.ok_or_else(|| Error::malformed("is not an ONNX model: it has no graph"))?;
    let graph = Graph::default();
    let mut reader = Reader { model, folder, graph, depth: 0, count: 0, entries: 0, expanded: 0 };
    let mut scope = Scope::new(function::opsets(&model.opset_import)?);
    reader.inputs(proto, &mut scope)?;
    reader.nodes(&proto.node, &mut scope)?;
    for output in &proto.output {
        let value = scope.output(&output.name, "the graph's output")?;
        reader.graph.outputs.push(GraphOutput { name: output.name.clone(), value });
    }
    if reader.graph.outputs.is_empty() {
        return Err(Error::malformed("the graph has no outputs"));
    }
    Ok(reader.graph)
}

/// Builds a graph.
struct Reader<'a> {
    model: &'a ModelProto,
    folder: Option<&'a Folder>,
    graph: Graph,
    /// The number of enclosing subgraphs and functions.
    depth: usize,
    /// The number of nodes, including those in bodies of loops.
    count: usize,
    /// The number of entries in list attributes.
    entries: usize,
    /// The number of nodes from functions, counted at each call.
    expanded: usize,
}

impl Reader<'_> {
    /// Adds a new value, which `scope` calls `name`.
    fn define(&mut self, name: &str, scope: &mut Scope<'_>) -> Result<ValueId> {
        let value = self.graph.value_count;
        self.graph.value_count += 1;
        scope.insert(name, Some(value))?;
        Ok(value)
    }

    /// Adds inputs and initializers. An initializer with an input's name is the input's default.
    fn inputs(&mut self, proto: &GraphProto, scope: &mut Scope<'_>) -> Result<()> {
        let initializers = sparse::initializers(proto);
        let mut constants = HashMap::new();
        for (index, initializer) in initializers.iter().enumerate() {
            if constants.insert(initializer.name(), index).is_some() {
                let name = shortened(initializer.name());
                return Err(Error::malformed(format!("initializer '{name}' is defined twice")));
            }
        }
        let mut is_default = vec![false; initializers.len()];
        for info in &proto.input {
            let value = self.define(&info.name, scope)?;
            let (element, shape) = declared(info)?;
            let default = match constants.get(info.name.as_str()) {
                None => None,
                Some(index) => {
                    is_default[*index] = true;
                    Some(Arc::new(initializers[*index].constant(self.folder)?))
                }
            };
            let names = vec![info.name.clone()];
            self.graph.inputs.push(GraphInput { names, value, element, shape, default });
        }
        let rest = initializers.iter().zip(is_default).filter(|(_, is_default)| !is_default);
        rest.map(|(initializer, _)| initializer).try_for_each(|it| self.initializer(*it, scope))
    }

    /// Adds the initializers of a subgraph.
    fn initializers(&mut self, proto: &GraphProto, scope: &mut Scope<'_>) -> Result<()> {
        sparse::initializers(proto).into_iter().try_for_each(|it| self.initializer(it, scope))
    }

    /// Adds an initializer that is not an input.
    fn initializer(&mut self, initializer: Initializer<'_>, scope: &mut Scope<'_>) -> Result<()> {
        let constant = initializer.constant(self.folder)?;
        let value = self.define(initializer.name(), scope)?;
        let name = NodeName::new("Initializer", initializer.name());
        let op: Box<dyn Op> = Box::new(Literal(Arc::new(constant)));
        self.push(Node::new(name, Ok(op), vec![], vec![Some(value)]))
    }

    fn push(&mut self, node: Node) -> Result<()> {
        if self.count >= limits::NODES {
            let problem = format!("has more than {} nodes", limits::NODES);
            return Err(Error::Malformed(problem));
        }
        self.count += 1;
        self.graph.nodes.push(node);
        Ok(())
    }

    /// Reads the content of node `name`, one nesting level deeper.
    fn within<T>(
        &mut self,
        name: &NodeName,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        if self.depth >= limits::SUBGRAPHS {
            let reason =
                format!("functions and subgraphs are nested deeper than {}", limits::SUBGRAPHS);
            return Err(name.not_supported(reason));
        }
        self.depth += 1;
        let found = read(self);
        self.depth -= 1;
        found
    }

    /// Counts the nodes of a called function against their limit.
    fn expand(&mut self, nodes: usize) -> Result<()> {
        self.expanded = self.expanded.saturating_add(nodes + 1);
        if self.expanded > limits::NODES {
            let problem = format!("its functions are more than {} nodes", limits::NODES);
            return Err(Error::Malformed(problem));
        }
        Ok(())
    }

    /// Adds the nodes of a graph or function, which may use outputs of later nodes.
    fn nodes(&mut self, nodes: &[NodeProto], scope: &mut Scope<'_>) -> Result<()> {
        for node in nodes {
            for output in node.output.iter().filter(|name| !name.is_empty()) {
                self.define(output, scope)?;
            }
        }
        nodes.iter().try_for_each(|node| self.node(node, scope))
    }

    fn node(&mut self, proto: &NodeProto, scope: &Scope<'_>) -> Result<()> {
        self.entries +=
            proto.attribute.iter().map(|it| it.ints.len() + it.floats.len()).sum::<usize>();
        let name = scope.name_of(proto);
        let user = name.to_string();
        let input =
            |input: &String| if input.is_empty() { Ok(None) } else { scope.find(input, &user) };
        let mut inputs = proto.input.iter().map(input).collect::<Result<Vec<Option<ValueId>>>>()?;
        // An empty name at the end is an input that is left out.
        while inputs.last() == Some(&None) {
            inputs.pop();
        }
        let outputs: Vec<Option<ValueId>> = proto.output.iter().map(|it| scope.own(it)).collect();
        // Definitions do not see the model's functions.
        let called = function::called(self.model, proto).filter(|_| scope.caller().is_none());
        if let Some(called) = called {
            let body = function::inline(self, called, proto, &name, &inputs, scope.attributes());
            return self.inlined(name, body, outputs);
        }
        if let Some(definition) = contrib::called(proto, scope.caller().is_some()) {
            let around = (outputs.as_slice(), scope);
            let body = function::defined(self, definition, proto, &name, &inputs, around);
            return self.inlined(name, body, outputs);
        }
        let with_graphs = subgraph::OPERATORS.iter().find(|(it, _)| *it == proto.op_type);
        if let Some((_, build)) = with_graphs.filter(|_| operators::is_default(&proto.domain)) {
            let of = subgraph::Of { proto, name: &name, inputs: &inputs, scope };
            let (op, inputs) = match build(self, &of) {
                Ok((op, inputs)) => (Ok(op), inputs),
                Err(error) => (Err(error), inputs),
            };
            return self.push(Node::new(name, op, inputs, outputs));
        }
        let op = self.op(&name, proto, inputs.len(), scope);
        self.push(Node::new(name, op, inputs, outputs))
    }

    /// Binds the values of inlined nodes to the outputs of the node that they replace.
    fn inlined(
        &mut self,
        name: NodeName,
        body: Result<Vec<ValueId>>,
        outputs: Vec<Option<ValueId>>,
    ) -> Result<()> {
        match body {
            Ok(values) => {
                let asked = outputs.into_iter().zip(values).filter(|(output, _)| output.is_some());
                for (output, value) in asked {
                    let op: Box<dyn Op> = Box::new(crate::graph::Identity);
                    let (inputs, outputs) = (vec![Some(value)], vec![output]);
                    self.push(Node::new(name.clone(), Ok(op), inputs, outputs))?;
                }
                Ok(())
            }
            // Exceeding the total limit is not an error of a single node.
            Err(error) if self.expanded > limits::NODES => Err(error),
            Err(error) => self.push(Node::new(name, Err(error), vec![], outputs)),
        }
    }

    fn op(
        &self,
        name: &NodeName,
        proto: &NodeProto,
        inputs: usize,
        scope: &Scope<'_>,
    ) -> Result<Box<dyn Op>> {
        let row = operators::row_of(name, proto, scope)?;
        if !row.inputs.contains(&inputs) {
            let accepted = operators::counts(&row.inputs);
            return Err(name.invalid("inputs", inputs, "is the wrong number", accepted));
        }
        if !row.outputs.contains(&proto.output.len()) {
            let (given, accepted) = (proto.output.len(), operators::counts(&row.outputs));
            return Err(name.invalid("outputs", given, "is the wrong number", accepted));
        }
        let resolved = scope.resolved(proto)?;
        row.check_versions(name, &resolved)?;
        let attributes = Attributes::new(name, &resolved, row.attributes, self.folder)?;
        row.op(&attributes)
    }
}

/// The type and shape that the model declares for a value.
fn declared(info: &ValueInfoProto) -> Result<(Option<ElementType>, Option<Vec<Dimension>>)> {
    let Some(kind) = info.r#type.as_ref().filter(|it| it.optional_type.is_none()) else {
        return Ok((None, None));
    };
    let Some(tensor) = &kind.tensor_type else {
        return Ok((Some(ElementType::Other("no tensor")), None));
    };
    let shape = tensor.shape.as_ref().map(|shape| shape.dim.as_slice());
    if shape.is_some_and(|shape| shape.len() > limits::RANK) {
        let name = shortened(&info.name);
        let problem = format!("'{name}' has more than {} dimensions", limits::RANK);
        return Err(Error::Malformed(problem));
    }
    let shape = shape.map(|shape| shape.iter().map(dimension).collect());
    Ok((tensor::element(tensor.elem_type.into()), shape))
}

fn dimension(proto: &DimensionProto) -> Dimension {
    match (proto.dim_value, &proto.dim_param) {
        // Some exporters write -1 for an open dimension.
        (Some(size), _) => u64::try_from(size).map_or(Dimension::ANY, Dimension::Known),
        // Other exporters name every open dimension `?`.
        (None, Some(name)) if !name.is_empty() && name != "?" => Dimension::Named(name.clone()),
        _ => Dimension::ANY,
    }
}
