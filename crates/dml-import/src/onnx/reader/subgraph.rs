//! Operators with graphs as attributes: If, Loop, Scan and SequenceMap.

use crate::error::{NodeName, Result};
use crate::graph::{Along, Body, Branch, Op, Repeat, Scan, SequenceMap, ValueId};

use super::{Reader, body};
use crate::onnx::attributes::{Attributes, Kind};
use crate::onnx::operators;
use crate::onnx::proto::{GraphProto, NodeProto};
use crate::onnx::scope::Scope;

/// A node with graphs as attributes.
pub(super) struct Of<'a> {
    pub(super) proto: &'a NodeProto,
    pub(super) name: &'a NodeName,
    pub(super) inputs: &'a [Option<ValueId>],
    pub(super) scope: &'a Scope<'a>,
}

/// The operation of a node, and its inputs, including those of its graphs.
type Built = Result<(Box<dyn Op>, Vec<Option<ValueId>>)>;

/// Reads a node of one operator.
type Build = fn(&mut Reader<'_>, &Of<'_>) -> Built;

/// The operators with graphs as attributes.
pub(super) const OPERATORS: [(&str, Build); 4] =
    [("If", branches), ("Loop", repeat), ("Scan", scan), ("SequenceMap", sequence_map)];

const IF: [(&str, Kind); 2] = [("then_branch", Kind::Graph), ("else_branch", Kind::Graph)];
const BODY: [(&str, Kind); 1] = [("body", Kind::Graph)];
const SCAN_8: [(&str, Kind); 3] =
    [("body", Kind::Graph), ("num_scan_inputs", Kind::Int), ("directions", Kind::Ints)];
const SCAN_9: [(&str, Kind); 6] = [
    ("body", Kind::Graph),
    ("num_scan_inputs", Kind::Int),
    ("scan_input_axes", Kind::Ints),
    ("scan_input_directions", Kind::Ints),
    ("scan_output_axes", Kind::Ints),
    ("scan_output_directions", Kind::Ints),
];

/// If: the nodes of both subgraphs are inlined into the enclosing graph. The inputs are the condition, and the
/// outputs of both subgraphs.
fn branches(reader: &mut Reader<'_>, of: &Of<'_>) -> Built {
    let Of { proto, name, inputs, scope } = *of;
    let [condition] = inputs else {
        return Err(name.invalid("inputs", inputs.len(), "is the wrong number", "1"));
    };
    let resolved = scope.resolved(proto)?;
    let attributes = Attributes::new(name, &resolved, &IF, reader.folder)?;
    let mut all = vec![*condition];
    for (branch, _) in IF {
        let graph = attributes.graph(branch)?;
        if graph.output.len() != proto.output.len() {
            let path = format!("attribute {branch}");
            let (given, accepted) = (graph.output.len(), proto.output.len().to_string());
            let problem = "is the wrong number of outputs";
            return Err(name.invalid(path, given, problem, accepted));
        }
        let outputs = reader.within(name, |reader| subgraph(reader, &graph, name, scope))?;
        all.extend(outputs.into_iter().map(Some));
    }
    Ok((Box::new(Branch { outputs: proto.output.len() }), all))
}

fn subgraph(
    reader: &mut Reader<'_>,
    proto: &GraphProto,
    name: &NodeName,
    outer: &Scope<'_>,
) -> Result<Vec<ValueId>> {
    let mut scope = Scope::within(outer);
    reader.initializers(proto, &mut scope)?;
    reader.nodes(&proto.node, &mut scope)?;
    let user = name.to_string();
    proto.output.iter().map(|output| scope.output(&output.name, &user)).collect()
}

/// Loop: the first two inputs of the body are the iteration number and the condition, and the first output is
/// the condition.
fn repeat(reader: &mut Reader<'_>, of: &Of<'_>) -> Built {
    let Of { proto, name, inputs, scope } = *of;
    operators::version(name, scope.opset)?;
    let resolved = scope.resolved(proto)?;
    let attributes = Attributes::new(name, &resolved, &BODY, reader.folder)?;
    let graph = attributes.graph("body")?;
    let carried = graph.input.len().checked_sub(2).ok_or_else(|| {
        let accepted = "2 and more: the iteration, the condition, and what is handed on";
        wrong_count(name, "inputs", graph.input.len(), accepted)
    })?;
    let scans = graph.output.len().checked_sub(1 + carried).ok_or_else(|| {
        wrong_count(name, "outputs", graph.output.len(), &format!("{} and more", 1 + carried))
    })?;
    // A node may leave out its last inputs, but the body may not.
    let mut all = inputs.to_vec();
    all.resize(all.len().max(2), None);
    if all.len() != 2 + carried {
        let accepted = format!("{}, as the body has them", 2 + carried);
        return Err(name.invalid("inputs", all.len(), "is the wrong number", accepted));
    }
    let read = body::read(reader, &graph, name, scope)?;
    let condition = all[1].map(|_| 0);
    let body = Body::new(
        read.graph,
        read.entries,
        condition,
        (0..=carried).map(|index| (1 + index, index)),
    )?;
    all.extend(read.around);
    let declared = read.declared.into_iter().skip(1 + carried).take(scans).collect();
    Ok((Box::new(Repeat { body, carried, declared }), all))
}

/// SequenceMap: the body is evaluated for each tensor of the first input.
fn sequence_map(reader: &mut Reader<'_>, of: &Of<'_>) -> Built {
    let Of { proto, name, inputs, scope } = *of;
    let resolved = scope.resolved(proto)?;
    let attributes = Attributes::new(name, &resolved, &BODY, reader.folder)?;
    let graph = attributes.graph("body")?;
    if inputs.is_empty() || inputs.len() != graph.input.len() {
        let accepted = format!("{}, as the body has them", graph.input.len());
        return Err(name.invalid("inputs", inputs.len(), "is the wrong number", accepted));
    }
    let read = body::read(reader, &graph, name, scope)?;
    let body = Body::new(read.graph, read.entries, None, [])?;
    let all = inputs.iter().copied().chain(read.around).collect();
    Ok((Box::new(SequenceMap { body, inputs: inputs.len() }), all))
}

fn scan(reader: &mut Reader<'_>, of: &Of<'_>) -> Built {
    let Of { proto, name, inputs, scope } = *of;
    let opset = operators::version(name, scope.opset)?;
    if opset < 8 {
        return Err(operators::too_early(name, opset, 8));
    }
    let has_batches = opset == 8;
    let known = if has_batches { &SCAN_8[..] } else { &SCAN_9 };
    let resolved = scope.resolved(proto)?;
    let attributes = Attributes::new(name, &resolved, known, reader.folder)?;
    let graph = attributes.graph("body")?;
    let count =
        attributes.int("num_scan_inputs").ok_or_else(|| attributes.missing("num_scan_inputs"))?;
    let slices = usize::try_from(count).ok().filter(|it| (1..=graph.input.len()).contains(it));
    let slices = slices.ok_or_else(|| {
        let accepted = format!("1 to {}, the inputs of the body", graph.input.len());
        name.invalid("attribute num_scan_inputs", count, "is the wrong number", accepted)
    })?;
    let carried = graph.input.len() - slices;
    let scans = graph.output.len().checked_sub(carried).ok_or_else(|| {
        wrong_count(name, "outputs", graph.output.len(), &format!("{carried} and more"))
    })?;
    let given = usize::from(has_batches) + graph.input.len();
    if inputs.len() != given {
        let accepted = format!("{given}, as the body has them");
        return Err(name.invalid("inputs", inputs.len(), "is the wrong number", accepted));
    }
    let [directions, axes] = match has_batches {
        true => ["directions", "scan_input_axes"],
        false => ["scan_input_directions", "scan_input_axes"],
    };
    let of_inputs = along(&attributes, slices, axes, directions)?;
    let of_outputs = along(&attributes, scans, "scan_output_axes", "scan_output_directions")?;
    let read = body::read(reader, &graph, name, scope)?;
    let body = Body::new(read.graph, read.entries, None, (0..carried).map(|index| (index, index)))?;
    let all = inputs.iter().copied().chain(read.around).collect();
    let op = Scan { body, carried, inputs: of_inputs, outputs: of_outputs, has_batches };
    Ok((Box::new(op), all))
}

/// The dimensions and directions of `count` inputs or outputs. By default all use the first dimension, forward.
fn along(
    attributes: &Attributes<'_>,
    count: usize,
    axes: &str,
    directions: &str,
) -> Result<Vec<Along>> {
    let ints = |name: &str| {
        let ints = attributes.ints(name).unwrap_or_else(|| vec![0; count]);
        if ints.len() == count {
            return Ok(ints);
        }
        let (path, accepted) = (format!("attribute {name}"), format!("{count} of them"));
        Err(attributes.node.invalid(path, ints.len(), "is the wrong number", accepted))
    };
    let directions_given = ints(directions)?;
    if let Some(wrong) = directions_given.iter().find(|it| !matches!(it, 0 | 1)) {
        let path = format!("attribute {directions}");
        return Err(attributes.node.invalid(path, wrong, "is not a direction", "0, 1"));
    }
    let along = |(axis, direction)| Along { axis, backward: direction == 1 };
    Ok(ints(axes)?.into_iter().zip(directions_given).map(along).collect())
}

fn wrong_count(name: &NodeName, what: &str, given: usize, accepted: &str) -> crate::Error {
    name.invalid(format!("attribute body: {what}"), given, "is the wrong number", accepted)
}
