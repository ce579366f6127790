//! Inputs that are sequences or optional values: a graph's inputs are tensors, so their forms are told before inputs
//! are bound.

use crate::error::{Error, NodeName, Result};
use crate::graph::{Graph, GraphInput, Node, Op, OptionalOf, SequenceOf, ValueId};
use crate::program::tensor_name;

/// The form of an input that is a sequence of tensors or an optional value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputForm {
    /// A tensor under the input's own name: an optional value that has one.
    Tensor,
    /// A sequence of so many tensors.
    Sequence(usize),
    /// An optional value without an element.
    Absent,
}

/// Gives the input `name` this form.
pub(super) fn set_form(graph: &mut Graph, name: &str, form: InputForm) -> Result<()> {
    let is_named = |it: &GraphInput| it.names.iter().any(|it| it == name);
    let Some(at) = graph.inputs.iter().position(is_named) else {
        let names = graph.inputs.iter().filter_map(|input| input.names.first());
        return Err(Error::unknown_input(name, names.map(String::as_str)));
    };
    let (op, tensors): (Box<dyn Op>, usize) = match form {
        InputForm::Tensor => {
            (graph.inputs[at].element, graph.inputs[at].shape) = (None, None);
            return Ok(());
        }
        InputForm::Sequence(length) => (Box::new(SequenceOf), length),
        InputForm::Absent => (Box::new(OptionalOf), 0),
    };
    let sequence = graph.inputs.remove(at).value;
    let mut inputs: Vec<Option<ValueId>> = Vec::with_capacity(tensors);
    for tensor in 0..tensors {
        let value = graph.value_count;
        graph.value_count += 1;
        inputs.push(Some(value));
        let names = vec![tensor_name(name, tensor)];
        let input = GraphInput { names, value, element: None, shape: None, default: None };
        graph.inputs.insert(at + tensor, input);
    }
    let node = NodeName::new("Input", name);
    graph.nodes.push(Node::new(node, Ok(op), inputs, vec![Some(sequence)]));
    Ok(())
}
