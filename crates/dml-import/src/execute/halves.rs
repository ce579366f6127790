//! Divides graphs that need a larger buffer for their temporary or packed tensors than the device has: each half has
//! buffers of its own, and values that the second half reads of the first are in buffers by themselves.

use std::ops::Range;
use std::sync::Arc;

use dml::{CompiledOperator, Device};
use dml_core::TensorLayout;
use dml_core::graph::{GraphDesc, InputEdge, IntermediateEdge, NodeKind, OutputEdge};
use dml_core::schema::FieldKind;

use crate::error::NodeName;
use crate::program::{Binding, BufferPlan, Dispatch, Initial, Operator, Program, Step, Work};

/// A value of the graph: a node, and the index of its output.
type Value = (u32, u32);

/// The source of an input of a half.
#[derive(Clone, Copy, PartialEq)]
enum HalfInput {
    /// An input of the whole graph.
    Whole(u32),
    /// A value of the first half.
    Crossing(Value),
}

/// The purpose of an output of a half.
#[derive(Clone, Copy, PartialEq)]
enum HalfOutput {
    /// An output of the whole graph.
    Whole(u32),
    /// A value that the second half reads.
    Crossing(Value),
}

/// A half of a graph, with the meaning of its inputs and outputs.
struct Half {
    operator: Operator,
    inputs: Vec<HalfInput>,
    outputs: Vec<HalfOutput>,
}

/// Whether each resource of the operator fits one buffer of the device.
pub(super) fn fits(device: &Device, operator: &CompiledOperator) -> bool {
    let plan = operator.vulkan().plan();
    let limits = &device.capabilities().limits;
    let most = limits.max_buffer_size.min(limits.max_memory_allocation_size);
    plan.temporary_size.max(plan.persistent_size) <= most
}

/// Replaces a graph of `program` by two that are executed one after the other. Returns false if that is not possible:
/// the operator is no graph of several operators, or the program states when it is initialized.
pub(super) fn divide(program: &mut Program, operator: usize) -> bool {
    let Operator { work: Work::Graph { desc, nodes }, .. } = &program.operators[operator] else {
        return false;
    };
    let is_initialized =
        |step: &Step| matches!(step, Step::Initialize(step) if step.operator == operator);
    let is_operator = |kind: &NodeKind| matches!(kind, NodeKind::Operator(_));
    let is_divisible = desc.nodes.len() > 1
        && nodes.len() == desc.nodes.len()
        && desc.nodes.iter().all(|node| is_operator(&node.kind))
        && desc.intermediate_edges.iter().all(|edge| edge.from_node_index < edge.to_node_index)
        && !program.steps.iter().any(is_initialized);
    if !is_divisible {
        return false;
    }
    let (desc, nodes) = (Arc::clone(desc), nodes.clone());
    let count = number(desc.nodes.len());
    let middle = middle(&desc);
    let mut crossing: Vec<Value> = Vec::new();
    for edge in desc.intermediate_edges.iter().filter(|it| crosses(it, middle)) {
        let value = (edge.from_node_index, edge.from_node_output_index);
        if !crossing.contains(&value) {
            crossing.push(value);
        }
    }
    let buffers = crossing.iter().map(|value| {
        let size = size(&desc, *value)?;
        program.buffers.push(BufferPlan { size, initial: Initial::Undefined });
        Some(Binding { buffer: program.buffers.len() - 1, offset: 0, size })
    });
    let Some(buffers) = buffers.collect::<Option<Vec<Binding>>>() else { return false };
    let first = half((&desc, &nodes), 0..middle, &crossing);
    let second = half((&desc, &nodes), middle..count, &[]);
    let place = |value: &Value| {
        let at = crossing.iter().position(|it| it == value);
        at.map(|at| buffers[at].clone())
    };
    let other = program.operators.len();
    let steps = std::mem::take(&mut program.steps);
    for step in steps {
        match step {
            Step::Dispatch(whole) if whole.operator == operator => {
                for (half, operator) in [(&first, operator), (&second, other)] {
                    program.steps.push(Step::Dispatch(half.dispatch(operator, &whole, &place)));
                }
            }
            step => program.steps.push(step),
        }
    }
    program.operators[operator] = first.operator;
    program.operators.push(second.operator);
    true
}

impl Half {
    /// The execution of the half in place of that of the `whole` graph.
    fn dispatch(
        &self,
        operator: usize,
        whole: &Dispatch,
        place: &impl Fn(&Value) -> Option<Binding>,
    ) -> Dispatch {
        let bound =
            |all: &[Option<Binding>], index: u32| all.get(index as usize).cloned().flatten();
        let input = |it: &HalfInput| match it {
            HalfInput::Whole(index) => bound(&whole.inputs, *index),
            HalfInput::Crossing(value) => place(value),
        };
        let output = |it: &HalfOutput| match it {
            HalfOutput::Whole(index) => bound(&whole.outputs, *index),
            HalfOutput::Crossing(value) => place(value),
        };
        Dispatch {
            operator,
            inputs: self.inputs.iter().map(input).collect(),
            outputs: self.outputs.iter().map(output).collect(),
            once: whole.once,
        }
    }
}

/// The nodes `of` a graph as a graph, with `crossing` values as further outputs.
fn half((desc, nodes): (&GraphDesc, &[Arc<NodeName>]), of: Range<u32>, crossing: &[Value]) -> Half {
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    let range = of.start as usize..of.end as usize;
    let mut new = GraphDesc { nodes: desc.nodes[range.clone()].to_vec(), ..GraphDesc::default() };
    let mut input = |from: HalfInput, to_node_index: u32, to_node_input_index: u32, name: &str| {
        let at = inputs.iter().position(|it| *it == from).unwrap_or_else(|| {
            inputs.push(from);
            inputs.len() - 1
        });
        let (graph_input_index, name) = (number(at), name.to_owned());
        InputEdge {
            graph_input_index,
            to_node_index: to_node_index - of.start,
            to_node_input_index,
            name,
        }
    };
    for edge in desc.input_edges.iter().filter(|it| of.contains(&it.to_node_index)) {
        let from = HalfInput::Whole(edge.graph_input_index);
        let (node, index) = (edge.to_node_index, edge.to_node_input_index);
        new.input_edges.push(input(from, node, index, &edge.name));
    }
    for edge in desc.intermediate_edges.iter().filter(|it| of.contains(&it.to_node_index)) {
        let value = (edge.from_node_index, edge.from_node_output_index);
        let (node, index) = (edge.to_node_index, edge.to_node_input_index);
        if of.contains(&value.0) {
            new.intermediate_edges.push(IntermediateEdge {
                from_node_index: value.0 - of.start,
                to_node_index: node - of.start,
                ..edge.clone()
            });
        } else {
            new.input_edges.push(input(HalfInput::Crossing(value), node, index, &edge.name));
        }
    }
    let mut output = |purpose: HalfOutput, (node, index): Value| {
        outputs.push(purpose);
        OutputEdge {
            from_node_index: node - of.start,
            from_node_output_index: index,
            graph_output_index: number(outputs.len() - 1),
            name: String::new(),
        }
    };
    for edge in desc.output_edges.iter().filter(|it| of.contains(&it.from_node_index)) {
        let value = (edge.from_node_index, edge.from_node_output_index);
        new.output_edges.push(output(HalfOutput::Whole(edge.graph_output_index), value));
    }
    for value in crossing {
        new.output_edges.push(output(HalfOutput::Crossing(*value), *value));
    }
    (new.input_count, new.output_count) = (number(inputs.len()), number(outputs.len()));
    let nodes = nodes[range].to_vec();
    let node = NodeName::new("graph", format!("{} operators", nodes.len()));
    let work = Work::Graph { desc: Arc::new(new), nodes };
    Half { operator: Operator { node, work }, inputs, outputs }
}

/// The first node of the second half: near the middle, where the fewest values cross.
fn middle(desc: &GraphDesc) -> u32 {
    let count = number(desc.nodes.len());
    let crossings = |at: &u32| desc.intermediate_edges.iter().filter(|it| crosses(it, *at)).count();
    let near = (count / 4).max(1)..=(count - 1).min(count * 3 / 4).max(1);
    near.min_by_key(|at| (crossings(at), at.abs_diff(count / 2))).unwrap_or(1)
}

/// Whether an edge leads from the nodes before `middle` to the others.
fn crosses(edge: &IntermediateEdge, middle: u32) -> bool {
    edge.from_node_index < middle && edge.to_node_index >= middle
}

/// The bytes of a value.
fn size(desc: &GraphDesc, (node, output): Value) -> Option<u64> {
    let NodeKind::Operator(operator) = &desc.nodes.get(node as usize)?.kind else { return None };
    let (_, tensor) = operator.bindings(FieldKind::Output).nth(output as usize)?;
    TensorLayout::new(tensor?).ok().map(|it| it.binding_size())
}

/// Graphs have far less than 2^32 nodes, inputs and outputs.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
