//! Graphs in JSON.

use std::sync::Arc;

use serde_json::Value;

use super::{
    Object, Result, array, given, join, known_keys, missing, number, object, refused, tensor,
};
use crate::error::Error;
use crate::graph::{GraphDesc, InputEdge, IntermediateEdge, NodeDesc, NodeKind, OutputEdge};
use crate::schema::operator::AbstractOperator;
use crate::types::DataType;

const MEMBERS: [&str; 6] =
    ["InputCount", "OutputCount", "Nodes", "InputEdges", "OutputEdges", "IntermediateEdges"];

/// Decodes a graph from DML_GRAPH_DESC's members, checking only the types of these and of the operators'
/// fields.
///
/// ```text
/// { "Nodes": [
///     { "Type": "OPERATOR", "Name": "sum", "Operator": { "Type": "ELEMENT_WISE_ADD", "Desc": {..} } },
///     { "Type": "CONSTANT", "Data": [0, 0, 128, 63] },
///     { "Type": "CONSTANT", "Data": { "DataType": "FLOAT32", "Values": [1, 2.5, "inf"] } } ],
///   "InputEdges": [{ "GraphInputIndex": 0, "ToNodeIndex": 0, "ToNodeInputIndex": 0 }],
///   "OutputEdges": [{ "FromNodeIndex": 0, "FromNodeOutputIndex": 0, "GraphOutputIndex": 0 }],
///   "IntermediateEdges": [
///     { "FromNodeIndex": 1, "FromNodeOutputIndex": 0, "ToNodeIndex": 0, "ToNodeInputIndex": 1,
///       "Name": "a bias" }] }
/// ```
///
/// - If left out, `InputCount` is one more than the largest `GraphInputIndex`, `OutputCount` is the number
///   of `OutputEdges`, and arrays of edges are empty.
/// - `Operator` is in the form of [`operator`](super::operator), and `Name` may be left out everywhere; the
///   `Type` of a node may be called `type`, as for operators.
/// - A constant's data are bytes, or numbers of one type, whose bytes are little-endian.
///
/// # Errors
/// [`Error::Invalid`] if an operator is invalid, else [`Error::InvalidGraph`]. Both name the path, such as
/// `Nodes[3].Operator.InputTensor.Sizes`, the value and the accepted values.
pub fn graph(json: &Value) -> std::result::Result<GraphDesc, Error> {
    graph_with(json, |_| None)
}

/// Like [`graph`], with operators that nodes may refer to by name: `"Operator": "sum"`. `named` gives the operator
/// of a name.
///
/// # Errors
/// As [`graph`], and if `named` does not know a name.
pub fn graph_with(
    json: &Value,
    mut named: impl FnMut(&str) -> Option<AbstractOperator>,
) -> std::result::Result<GraphDesc, Error> {
    let graph = members(json).map_err(Error::InvalidGraph)?;
    let nodes = graph.nodes.iter().enumerate().map(|(index, json)| node(index, json, &mut named));
    Ok(GraphDesc { nodes: nodes.collect::<std::result::Result<_, _>>()?, ..graph.desc })
}

/// A graph whose nodes have not been read.
struct Graph<'a> {
    desc: GraphDesc,
    nodes: &'a [Value],
}

fn members(json: &Value) -> Result<Graph<'_>> {
    let graph = object("", json)?;
    known_keys("", graph, &MEMBERS)?;
    let nodes = required("Nodes", graph, "Nodes")?;
    let nodes =
        nodes.as_array().ok_or_else(|| refused("Nodes", nodes, "is not an array", "an array"))?;
    let input_edges = edges(graph, "InputEdges", input_edge)?;
    let output_edges = edges(graph, "OutputEdges", output_edge)?;
    let highest = input_edges.iter().map(|edge| edge.graph_input_index).max();
    let input_count = highest.map_or(0, |index| index.saturating_add(1));
    let output_count = u32::try_from(output_edges.len()).unwrap_or(u32::MAX);
    let count = |name, otherwise| {
        given(name, graph).map_or(Ok(otherwise), |json| number::integer(name, json))
    };
    let desc = GraphDesc {
        input_count: count("InputCount", input_count)?,
        output_count: count("OutputCount", output_count)?,
        nodes: vec![],
        input_edges,
        output_edges,
        intermediate_edges: edges(graph, "IntermediateEdges", intermediate_edge)?,
    };
    Ok(Graph { desc, nodes })
}

fn node(
    index: usize,
    json: &Value,
    named: &mut impl FnMut(&str) -> Option<AbstractOperator>,
) -> std::result::Result<NodeDesc, Error> {
    let path = format!("Nodes[{index}]");
    let node = Node::read(&path, json).map_err(Error::InvalidGraph)?;
    let at = join(&path, node.member);
    let kind = match node.content.as_str() {
        _ if node.member == DATA => {
            NodeKind::Constant(data(&at, node.content).map_err(Error::InvalidGraph)?)
        }
        Some(name) => NodeKind::Operator(named(name).ok_or_else(|| {
            let problem = "is not an operator's name";
            Error::InvalidGraph(refused(&at, node.content, problem, "an operator"))
        })?),
        None => NodeKind::Operator(inner_operator(path, &at, node.content)?),
    };
    Ok(NodeDesc { name: node.name.into(), kind })
}

/// Decodes the operator of a node.
fn inner_operator(
    node: String,
    path: &str,
    json: &Value,
) -> std::result::Result<AbstractOperator, Error> {
    // The check here names the path, which `operator` does not know.
    object(path, json).map_err(Error::InvalidGraph)?;
    super::operator(json).map_err(|error| match error {
        Error::Invalid { operator, field } => {
            Error::Invalid { operator, field: field.inside(path) }
        }
        error => Error::InNode { node, error: Box::new(error) },
    })
}

/// The members of a node that hold its operator or its constant.
const OPERATOR: &str = "Operator";
const DATA: &str = "Data";

/// A node whose type is known.
struct Node<'a> {
    name: String,
    /// [`OPERATOR`] or [`DATA`].
    member: &'static str,
    /// The value of that member.
    content: &'a Value,
}

impl<'a> Node<'a> {
    fn read(path: &str, json: &'a Value) -> Result<Self> {
        let node = object(path, json)?;
        let key = if node.contains_key("type") { "type" } else { "Type" };
        let (at, node_type) = (join(path, key), node.get(key).unwrap_or(&Value::Null));
        let name = node_type.as_str().map(str::to_ascii_uppercase).unwrap_or_default();
        let member = match name.strip_prefix("DML_GRAPH_NODE_TYPE_").unwrap_or(&name) {
            "OPERATOR" => OPERATOR,
            "CONSTANT" => DATA,
            _ => {
                return Err(refused(&at, node_type, "is not a type of node", "OPERATOR, CONSTANT"));
            }
        };
        known_keys(path, node, &[key, "Name", member])?;
        let content = required(&join(path, member), node, member)?;
        Ok(Self { name: name_of(path, node)?, member, content })
    }
}

/// A constant's bytes.
fn data(path: &str, json: &Value) -> Result<Arc<[u8]>> {
    let Some(numbers) = json.as_object() else {
        return array(path, json, number::integer::<u8>).map(Arc::from);
    };
    known_keys(path, numbers, &["DataType", "Values"])?;
    let [type_path, values_path] = ["DataType", "Values"].map(|name| join(path, name));
    let data_type = required(&type_path, numbers, "DataType")?;
    let data_type: DataType = tensor::data_type(&type_path, data_type)?;
    let values = required(&values_path, numbers, "Values")?;
    let value = |path: &str, json: &Value| number::scalar(path, json, data_type);
    let values = array(&values_path, values, value)?;
    let size = data_type.bits() as usize / 8;
    Ok(values.iter().flat_map(|value| value.to_bytes().into_iter().take(size)).collect())
}

fn edges<T>(graph: &Object, name: &str, edge: impl Fn(&Edge<'_>) -> Result<T>) -> Result<Vec<T>> {
    let Some(json) = given(name, graph) else { return Ok(vec![]) };
    array(name, json, |path, json| edge(&Edge { path, object: object(path, json)? }))
}

/// An edge, with its path.
struct Edge<'a> {
    path: &'a str,
    object: &'a Object,
}

impl Edge<'_> {
    /// The given indices of the edge, and its name.
    fn read<const N: usize>(&self, indices: [&str; N]) -> Result<([u32; N], String)> {
        let known: Vec<&str> = indices.into_iter().chain(["Name"]).collect();
        known_keys(self.path, self.object, &known)?;
        let mut read = [0; N];
        for (index, name) in read.iter_mut().zip(indices) {
            let path = join(self.path, name);
            *index = number::integer(&path, required(&path, self.object, name)?)?;
        }
        Ok((read, name_of(self.path, self.object)?))
    }
}

fn input_edge(edge: &Edge<'_>) -> Result<InputEdge> {
    let ([graph_input_index, to_node_index, to_node_input_index], name) =
        edge.read(["GraphInputIndex", "ToNodeIndex", "ToNodeInputIndex"])?;
    Ok(InputEdge { graph_input_index, to_node_index, to_node_input_index, name })
}

fn output_edge(edge: &Edge<'_>) -> Result<OutputEdge> {
    let ([from_node_index, from_node_output_index, graph_output_index], name) =
        edge.read(["FromNodeIndex", "FromNodeOutputIndex", "GraphOutputIndex"])?;
    Ok(OutputEdge { from_node_index, from_node_output_index, graph_output_index, name })
}

fn intermediate_edge(edge: &Edge<'_>) -> Result<IntermediateEdge> {
    let members = ["FromNodeIndex", "FromNodeOutputIndex", "ToNodeIndex", "ToNodeInputIndex"];
    let ([from_node_index, from_node_output_index, to_node_index, to_node_input_index], name) =
        edge.read(members)?;
    Ok(IntermediateEdge {
        from_node_index,
        from_node_output_index,
        to_node_index,
        to_node_input_index,
        name,
    })
}

fn name_of(path: &str, object: &Object) -> Result<String> {
    let Some(json) = given("Name", object) else { return Ok(String::new()) };
    let name = json
        .as_str()
        .ok_or_else(|| refused(&join(path, "Name"), json, "is not a text", "a text"))?;
    Ok(name.to_owned())
}

fn required<'a>(path: &str, object: &'a Object, name: &str) -> Result<&'a Value> {
    given(name, object).ok_or_else(|| missing(path))
}
