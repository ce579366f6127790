//! Builds a graph from the layers and edges of a file.

use std::collections::HashMap;
use std::path::Path;

use roxmltree::Node as Element;

use crate::error::{Error, Result, shortened};
use crate::graph::{Graph, GraphInput, GraphOutput, Node, Op, ValueId};

use super::layer::{Layer, child, split_names};
use super::operators::{names, row_of};
use super::weights::Weights;

/// The only supported version of the format.
const VERSION: &str = "11";

/// The graph of the element `<net version="11">`.
pub(super) fn graph(net: Element<'_, '_>, path: Option<&Path>) -> Result<Graph> {
    if !net.has_tag_name("net") {
        let name = shortened(net.tag_name().name());
        return Err(Error::malformed(format!("<{name}> is not OpenVINO IR; accepted: <net>")));
    }
    let version = net.attribute("version").unwrap_or_default();
    if version != VERSION {
        let version = shortened(version);
        let problem = format!("IR version '{version}' is not read; accepted: {VERSION}");
        return Err(Error::Malformed(problem));
    }
    let layers = child(net, "layers").into_iter().flat_map(|it| it.children());
    let layers = layers.filter(|it| it.has_tag_name("layer")).map(Layer::read);
    let mut reader = Reader::new(layers.collect::<Result<_>>()?);
    reader.edges(net)?;
    let mut weights = Weights::of(path);
    for index in 0..reader.layers.len() {
        reader.layer(index, &mut weights)?;
    }
    if reader.graph.outputs.is_empty() {
        return Err(Error::malformed("the model has no layer of type Result"));
    }
    Ok(reader.graph)
}

struct Reader {
    layers: Vec<Layer>,
    graph: Graph,
    /// Values by the indices of the layer and of its output port.
    values: Vec<Vec<ValueId>>,
    /// For each input, by the indices of layer and port, the connected output.
    sources: HashMap<(usize, usize), (usize, usize)>,
}

impl Reader {
    fn new(layers: Vec<Layer>) -> Self {
        let mut graph = Graph::default();
        let values = layers.iter().map(|layer| {
            let first = graph.value_count;
            graph.value_count += layer.outputs.len();
            (first..graph.value_count).collect()
        });
        let values = values.collect();
        Self { layers, graph, values, sources: HashMap::new() }
    }

    fn edges(&mut self, net: Element<'_, '_>) -> Result<()> {
        let mut ids = HashMap::new();
        for (index, layer) in self.layers.iter().enumerate() {
            if ids.insert(layer.id.clone(), index).is_some() {
                let id = shortened(&layer.id);
                return Err(Error::malformed(format!("two layers have the id {id}")));
            }
        }
        let edges = child(net, "edges").into_iter().flat_map(|it| it.children());
        for edge in edges.filter(|it| it.has_tag_name("edge")) {
            let text = |name: &str| edge.attribute(name).unwrap_or_default().to_owned();
            let wrong = |name: &str| {
                let line = edge.document().text_pos_at(edge.range().start).row;
                let value = shortened(&text(name));
                Error::malformed(format!("line {line}: edge: {name} '{value}' is not there"))
            };
            let layer = |name: &str| ids.get(&text(name)).copied().ok_or_else(|| wrong(name));
            let (from, to) = (layer("from-layer")?, layer("to-layer")?);
            let (from_port, to_port) = (text("from-port"), text("to-port"));
            let output = self.layers[from].outputs.iter().position(|output| output.id == from_port);
            let input = self.layers[to].inputs.iter().position(|input| *input == to_port);
            let output = output.ok_or_else(|| wrong("from-port"))?;
            let input = input.ok_or_else(|| wrong("to-port"))?;
            if self.sources.insert((to, input), (from, output)).is_some() {
                let node = &self.layers[to].node;
                return Err(Error::malformed(format!("{node}: two edges end at one input")));
            }
        }
        Ok(())
    }

    fn layer(&mut self, index: usize, weights: &mut Weights) -> Result<()> {
        let layer = &mut self.layers[index];
        match layer.node.operator.to_ascii_lowercase().as_str() {
            "parameter" => return self.parameter(index),
            "result" => return self.result(index),
            // A constant of an unsupported type is accepted as long as nothing reads it.
            "const" => layer.constant = Some(weights.constant(layer)?),
            _ => {}
        }
        let layer = &self.layers[index];
        let inputs: Result<Vec<Option<ValueId>>> =
            (0..layer.inputs.len()).map(|input| self.source(index, input).map(Some)).collect();
        let op = op(layer);
        let (name, outputs) = (layer.node.clone(), self.values[index].iter().map(|it| Some(*it)));
        let outputs = outputs.collect();
        self.graph.nodes.push(Node::new(name, op, inputs?, outputs));
        Ok(())
    }

    fn source(&self, layer: usize, input: usize) -> Result<ValueId> {
        let (from, output) = self.sources.get(&(layer, input)).copied().ok_or_else(|| {
            let node = &self.layers[layer].node;
            Error::malformed(format!("{node}: no edge ends at input {input}"))
        })?;
        Ok(self.values[from][output])
    }

    fn parameter(&mut self, index: usize) -> Result<()> {
        let layer = &self.layers[index];
        let (element, shape) = (Some(layer.element("element_type")?), layer.shape()?);
        let [value] = self.values[index].as_slice() else {
            let count = layer.outputs.len();
            return Err(layer.node.invalid("outputs", count, "is the wrong number", "1"));
        };
        let mut names = layer.outputs[0].names.clone();
        names.push(layer.node.name.clone());
        let value = *value;
        self.graph.inputs.push(GraphInput { names, value, element, shape, default: None });
        Ok(())
    }

    /// An output has the name that its Result gives it, or else the name of the tensor or its layer.
    fn result(&mut self, index: usize) -> Result<()> {
        let value = self.source(index, 0)?;
        let (from, output) = self.sources[&(index, 0)];
        let source = &self.layers[from];
        let named = self.layers[index].output_names.as_deref().map(split_names);
        let tensor_names = source.outputs[output].names.clone();
        let mut names = named.into_iter().flatten().chain(tensor_names);
        let name = names.next().unwrap_or_else(|| source.node.name.clone());
        self.graph.outputs.push(GraphOutput { name, value });
        Ok(())
    }
}

/// The operation of a layer. Types are case-insensitive, as in OpenVINO.
fn op(layer: &Layer) -> Result<Box<dyn Op>> {
    let Some(opset) = layer.opset() else {
        let version = shortened(&layer.version);
        return Err(layer.node.not_supported(format!("no operator of '{version}' is run")));
    };
    let row = row_of(&layer.node.operator, opset).map_err(|since| match since {
        Some(since) => {
            let accepted = format!("opset{since} and later");
            layer.node.invalid("version", format!("opset{opset}"), "is too early", accepted)
        }
        None => layer.node.not_supported(format!(
            "the OpenVINO reader does not read this type of layer; it reads: {}",
            names()
        )),
    })?;
    let inputs = layer.inputs.len();
    if !row.inputs.contains(&inputs) {
        let accepted = format!("{} to {}", row.inputs.start(), row.inputs.end());
        return Err(layer.node.invalid("inputs", inputs, "is the wrong number", accepted));
    }
    row.op(layer)
}
