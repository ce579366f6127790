//! If: the nodes of both subgraphs become nodes of the graph around them.

use crate::error::{NodeName, Result};
use crate::graph::{Branch, ValueId};
use crate::limits;

use super::Reader;
use crate::onnx::attributes::{Attributes, Kind};
use crate::onnx::proto::{GraphProto, NodeProto};
use crate::onnx::scope::Scope;

const ATTRIBUTES: [(&str, Kind); 2] = [("then_branch", Kind::Graph), ("else_branch", Kind::Graph)];

/// What chooses between the subgraphs, and its inputs: the condition, and the outputs of both.
pub(super) fn branches(
    reader: &mut Reader<'_>,
    proto: &NodeProto,
    name: &NodeName,
    inputs: &[Option<ValueId>],
    scope: &Scope<'_>,
) -> Result<(Branch, Vec<Option<ValueId>>)> {
    if reader.depth >= limits::SUBGRAPHS {
        let reason =
            format!("functions and subgraphs are nested deeper than {}", limits::SUBGRAPHS);
        return Err(name.not_supported(reason));
    }
    let [condition] = inputs else {
        return Err(name.invalid("inputs", inputs.len(), "is the wrong number", "1"));
    };
    let resolved = scope.resolved(proto)?;
    let attributes = Attributes::new(name, &resolved, &ATTRIBUTES, reader.folder)?;
    let mut all = vec![*condition];
    for (branch, _) in ATTRIBUTES {
        let graph = attributes.graph(branch)?;
        if graph.output.len() != proto.output.len() {
            let path = format!("attribute {branch}");
            let (given, accepted) = (graph.output.len(), proto.output.len().to_string());
            let problem = "is the wrong number of outputs";
            return Err(name.invalid(path, given, problem, accepted));
        }
        reader.depth += 1;
        let outputs = subgraph(reader, &graph, name, scope);
        reader.depth -= 1;
        all.extend(outputs?.into_iter().map(Some));
    }
    Ok((Branch { outputs: proto.output.len() }, all))
}

fn subgraph(
    reader: &mut Reader<'_>,
    proto: &GraphProto,
    name: &NodeName,
    outer: &Scope<'_>,
) -> Result<Vec<ValueId>> {
    let mut scope = Scope::within(outer);
    for tensor in &proto.initializer {
        reader.initializer(tensor, &mut scope)?;
    }
    reader.nodes(&proto.node, &mut scope)?;
    let user = name.to_string();
    proto.output.iter().map(|output| scope.output(&output.name, &user)).collect()
}
