//! Makes a graph from operators and the values that flow between them.

use std::sync::Arc;

use super::{GraphDesc, InputEdge, IntermediateEdge, NodeDesc, NodeKind, OutputEdge};
use crate::schema::FieldKind;
use crate::schema::operator::AbstractOperator;

/// A value that a node can read: an input of the graph, or an output of another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GraphValue(Origin);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Origin {
    Input(u32),
    Node { node: u32, output: u32 },
}

/// Makes a [`GraphDesc`] node by node. Mistakes are found when the graph is validated.
///
/// ```
/// use dml_core::graph::GraphBuilder;
/// use dml_core::operators::{ActivationReluDesc, ElementWiseAddDesc};
/// use dml_core::{DataType, FeatureLevel, TensorDesc, validate_graph};
///
/// let tensor = TensorDesc::packed(DataType::Float32, &[2, 3]);
/// let mut graph = GraphBuilder::new();
/// let [a, b] = [graph.input(), graph.input()];
/// let sum = ElementWiseAddDesc {
///     a_tensor: tensor.clone(),
///     b_tensor: tensor.clone(),
///     output_tensor: tensor.clone(),
/// };
/// let sum = graph.operator(sum, &[a, b]);
/// let relu = ActivationReluDesc { input_tensor: tensor.clone(), output_tensor: tensor };
/// let relu = graph.operator(relu, &[sum]);
/// graph.output(relu);
/// assert!(validate_graph(&graph.finish(), FeatureLevel::HIGHEST).is_ok());
/// ```
#[derive(Clone, Debug, Default)]
pub struct GraphBuilder {
    desc: GraphDesc,
}

impl GraphBuilder {
    /// An empty graph.
    pub fn new() -> Self {
        Self::default()
    }

    /// The graph's next input.
    pub fn input(&mut self) -> GraphValue {
        self.desc.input_count += 1;
        GraphValue(Origin::Input(self.desc.input_count - 1))
    }

    /// A constant: bytes that are known when the graph is built.
    pub fn constant(&mut self, bytes: impl Into<Arc<[u8]>>) -> GraphValue {
        self.node(NodeKind::Constant(bytes.into()), 0)
    }

    /// Adds an operator and gives its first output. `inputs` has a value for each input tensor that the
    /// operator does not leave out, in its binding order.
    pub fn operator(
        &mut self,
        operator: impl Into<AbstractOperator>,
        inputs: &[GraphValue],
    ) -> GraphValue {
        let operator = operator.into();
        let bindings = operator.bindings(FieldKind::Input).zip(0..);
        let given = bindings.filter(|((_, tensor), _)| tensor.is_some()).map(|(_, at)| at);
        let node = u32::try_from(self.desc.nodes.len()).unwrap_or(u32::MAX);
        // Surplus inputs get indices that validation refuses.
        let beyond = operator.bindings(FieldKind::Input).count();
        let beyond = u32::try_from(beyond).unwrap_or(u32::MAX)..;
        for (value, input) in inputs.iter().zip(given.chain(beyond)) {
            self.read(*value, node, input);
        }
        self.node(NodeKind::Operator(operator), 0)
    }

    /// Another output of the operator that gave `value`, by its index in the binding order.
    ///
    /// # Panics
    /// `value` is an input of the graph, which has no other outputs.
    pub fn output_of(&self, value: GraphValue, output: u32) -> GraphValue {
        match value.0 {
            Origin::Node { node, .. } => GraphValue(Origin::Node { node, output }),
            Origin::Input(input) => panic!("input {input} is what no operator gives"),
        }
    }

    /// Whether `value` is an output of an operator: only such a value can be an output of the graph.
    pub fn is_written(&self, value: GraphValue) -> bool {
        let Origin::Node { node, .. } = value.0 else { return false };
        matches!(self.desc.nodes[node as usize].kind, NodeKind::Operator(_))
    }

    /// Names the node that gave `value`, for messages.
    pub fn name(&mut self, value: GraphValue, name: impl Into<Arc<str>>) {
        if let Origin::Node { node, .. } = value.0 {
            self.desc.nodes[node as usize].name = name.into();
        }
    }

    /// Makes `value` the graph's next output. An input gives an output without an edge, which validation
    /// refuses: only an output of a node can be an output of the graph.
    pub fn output(&mut self, value: GraphValue) {
        self.desc.output_count += 1;
        if let Origin::Node { node, output } = value.0 {
            self.desc.output_edges.push(OutputEdge {
                from_node_index: node,
                from_node_output_index: output,
                graph_output_index: self.desc.output_count - 1,
                name: String::new(),
            });
        }
    }

    /// The graph.
    pub fn finish(self) -> GraphDesc {
        self.desc
    }

    fn node(&mut self, kind: NodeKind, output: u32) -> GraphValue {
        self.desc.nodes.push(NodeDesc { name: Arc::default(), kind });
        let node = u32::try_from(self.desc.nodes.len() - 1).unwrap_or(u32::MAX);
        GraphValue(Origin::Node { node, output })
    }

    fn read(&mut self, value: GraphValue, node: u32, input: u32) {
        match value.0 {
            Origin::Input(index) => self.desc.input_edges.push(InputEdge {
                graph_input_index: index,
                to_node_index: node,
                to_node_input_index: input,
                name: String::new(),
            }),
            Origin::Node { node: from, output } => {
                self.desc.intermediate_edges.push(IntermediateEdge {
                    from_node_index: from,
                    from_node_output_index: output,
                    to_node_index: node,
                    to_node_input_index: input,
                    name: String::new(),
                });
            }
        }
    }
}
