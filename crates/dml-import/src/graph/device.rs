//! The device's part of an evaluation: DirectML operators, in the order in which they are added.

use std::cell::{Cell, Ref, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use dml_core::operators::RANDOM_GENERATOR;
use dml_core::schema::FieldKind;
use dml_core::{AbstractOperator, FeatureLevel, KnownOperators, validate};

use crate::element::ElementType;
use crate::error::{Error, NodeName, Result};
use crate::graph::Node;
use crate::graph::reading::{Answers, Question, QuestionCount, Reading};
use crate::graph::value::{Kind, Storage, Value};
use crate::limits;
use crate::tensor::Tensor;

/// Matrices with `bits` where `begin <= x - y < end`, and 0 elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct Band {
    pub(crate) begin: i128,
    pub(crate) end: i128,
    pub(crate) bits: u64,
}

/// A DirectML operator with its inputs and outputs.
#[derive(Debug)]
pub(crate) struct DeviceNode {
    /// The node of the model that the operator belongs to.
    pub(crate) name: Arc<NodeName>,
    /// The name in graphs of operators.
    pub(crate) label: Arc<str>,
    /// Its number; `None` where it belongs to an output of the graph.
    pub(crate) origin: Option<usize>,
    pub(crate) operator: AbstractOperator,
    /// The inputs in the operator's binding order; `None` where one is left out.
    pub(crate) inputs: Vec<Option<Storage>>,
    /// The types and shapes of the outputs, in binding order.
    pub(crate) outputs: Vec<Kind>,
    /// The output's content, if it is a band of one value.
    pub(crate) band: Option<Band>,
}

impl DeviceNode {
    /// Whether the operator draws random numbers.
    fn draws(&self) -> bool {
        self.operator.schema().name == RANDOM_GENERATOR.name
    }
}

/// A moment of an evaluation: the number of operators, and the questions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    nodes: usize,
    asked: QuestionCount,
}

/// The device operators that an evaluation adds.
#[derive(Debug)]
pub(crate) struct DeviceNodes {
    nodes: RefCell<Vec<DeviceNode>>,
    /// Whether only types and shapes are needed; then sizes may exceed any device's limits.
    shapes_only: bool,
    /// Whether the device selects values by a condition that it computes.
    selects: Cell<bool>,
    /// The values that the host reads back; `None` if it may not read any.
    reading: Option<Reading>,
    /// Operators of earlier evaluations.
    known: Arc<KnownOperators>,
    /// For each node of the model the number of its operators RANDOM_GENERATOR.
    draws: RefCell<HashMap<Arc<NodeName>, u64>>,
}

/// The model's node that operators are added for; `index` is `None` for an output of the graph.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    pub(crate) name: Arc<NodeName>,
    /// The name as graphs of operators have it.
    pub(crate) label: Arc<str>,
    pub(crate) index: Option<usize>,
}

impl Owner {
    pub(crate) fn of(node: &Node, index: Option<usize>) -> Self {
        Self { name: Arc::clone(&node.name), label: Arc::clone(&node.label), index }
    }

    /// A computation that is no node of the model.
    pub(crate) fn outside(name: Arc<NodeName>) -> Self {
        let label = name.to_string().into();
        Self { name, label, index: None }
    }
}

impl DeviceNodes {
    pub(crate) fn new(known: &Arc<KnownOperators>) -> Self {
        Self {
            nodes: RefCell::default(),
            shapes_only: false,
            selects: Cell::default(),
            reading: None,
            known: Arc::clone(known),
            draws: RefCell::default(),
        }
    }

    /// The nodes of an evaluation that asks only for types and shapes.
    pub(crate) fn shapes() -> Self {
        Self { shapes_only: true, ..Self::new(&Arc::default()) }
    }

    /// The nodes of an evaluation that asks for values.
    pub(crate) fn reading(answers: Answers, known: &Arc<KnownOperators>) -> Self {
        Self { reading: Some(Reading::new(answers)), ..Self::new(known) }
    }

    /// Whether the host may read device values.
    pub(crate) fn is_read(&self) -> bool {
        self.reading.is_some()
    }

    /// The values that the host has asked for.
    pub(crate) fn questions(&self) -> Vec<Question> {
        self.reading.as_ref().map_or_else(Vec::new, |it| it.questions().clone())
    }

    /// How many values the host has asked for.
    pub(crate) fn question_count(&self) -> usize {
        self.reading.as_ref().map_or(0, |reading| reading.questions().len())
    }

    /// The elements of a device's value, which `owner` has to know, as far as there is an answer.
    pub(crate) fn answer(
        &self,
        owner: &Owner,
        value: &Value,
        guess: Option<Tensor>,
    ) -> Option<Tensor> {
        let is_asked = value.view().is_some_and(|view| view.storage.is_on_device());
        self.reading.as_ref().filter(|_| is_asked)?.ask((&owner.name, owner.index), value, guess)
    }

    /// Whether the device selects values by a condition that it computes.
    pub(crate) fn selects(&self) -> bool {
        self.selects.get()
    }

    /// Records that the device selects values by a condition.
    pub(crate) fn select(&self) {
        self.selects.set(true);
    }

    pub(crate) fn all(&self) -> Ref<'_, Vec<DeviceNode>> {
        self.nodes.borrow()
    }

    /// The number of operators and of questions that the evaluation has added so far.
    pub(crate) fn mark(&self) -> Mark {
        let asked = self.reading.as_ref().map_or(QuestionCount::default(), Reading::asked);
        Mark { nodes: self.nodes.borrow().len(), asked }
    }

    /// Whether a question has no answer that was asked since `mark`.
    pub(crate) fn waits_since(&self, mark: Mark) -> bool {
        self.reading.as_ref().is_some_and(|reading| reading.waits_since(mark.asked))
    }

    /// Removes the operators and the questions that were added since `mark`, to which no value refers.
    pub(crate) fn truncate(&self, mark: Mark) {
        let mut draws = self.draws.borrow_mut();
        for node in self.nodes.borrow_mut().drain(mark.nodes..).filter(DeviceNode::draws) {
            if let Some(count) = draws.get_mut(&node.name) {
                *count -= 1;
            }
        }
        if let Some(reading) = &self.reading {
            reading.forget_since(mark.asked);
        }
    }

    /// How many times a node of the model has drawn random numbers so far.
    pub(crate) fn draws_of(&self, name: &NodeName) -> u64 {
        self.draws.borrow().get(name).copied().unwrap_or_default()
    }

    /// Adds the operator that `build` makes. It reads `inputs`, and writes packed values of the kinds
    /// `outputs`. If the operator is refused, the returned values carry the error.
    pub(crate) fn add(
        &self,
        owner: &Owner,
        inputs: Vec<Option<Storage>>,
        outputs: Vec<Kind>,
        build: impl FnOnce() -> Result<AbstractOperator>,
    ) -> Vec<Value> {
        self.add_band(owner, inputs, outputs, None, build)
    }

    /// Adds an operator like [`add`](Self::add), whose output is a band if `band` is given.
    pub(crate) fn add_band(
        &self,
        owner: &Owner,
        inputs: Vec<Option<Storage>>,
        outputs: Vec<Kind>,
        band: Option<Band>,
        build: impl FnOnce() -> Result<AbstractOperator>,
    ) -> Vec<Value> {
        let node = self.nodes.borrow().len();
        if !self.shapes_only {
            match self.checked(owner, node, (&inputs, &outputs), build) {
                Ok(operator) => {
                    let (name, label) = (Arc::clone(&owner.name), Arc::clone(&owner.label));
                    let origin = owner.index;
                    let mut inputs = inputs;
                    // Optional inputs at the end may be left out.
                    inputs.resize(operator.bindings(FieldKind::Input).count(), None);
                    let outputs = outputs.clone();
                    let node = DeviceNode { name, label, origin, operator, inputs, outputs, band };
                    if node.draws() {
                        *self.draws.borrow_mut().entry(Arc::clone(&node.name)).or_default() += 1;
                    }
                    self.nodes.borrow_mut().push(node);
                }
                Err(error) => {
                    let refused = |kind| Value::refused_as(kind, error.clone());
                    return outputs.into_iter().map(refused).collect();
                }
            }
        }
        let stored = |(output, kind)| Value::stored(kind, Storage::Device { node, output });
        outputs.into_iter().enumerate().map(stored).collect()
    }

    fn checked(
        &self,
        owner: &Owner,
        count: usize,
        (inputs, outputs): (&[Option<Storage>], &[Kind]),
        build: impl FnOnce() -> Result<AbstractOperator>,
    ) -> Result<AbstractOperator> {
        if count >= limits::DEVICE_NODES {
            let problem = format!("needs more than {} operators", limits::DEVICE_NODES);
            return Err(Error::Malformed(problem));
        }
        let operator = build()?;
        match self.known.validate(&operator, FeatureLevel::HIGHEST) {
            // Equal operators are one.
            Ok(known) => Ok(known.operator().clone()),
            Err(error) => {
                let inputs = inputs.iter().flatten().filter_map(|input| self.element(input));
                let mut elements = outputs.iter().map(|output| output.element).chain(inputs);
                let carried = elements.find_map(|element| carried(&owner.name, element, &error));
                let refused = || {
                    let (node, error) = ((*owner.name).clone(), Box::new(error));
                    Error::Operator { node, error }
                };
                Err(carried.unwrap_or_else(refused))
            }
        }
    }

    /// The type of the elements in `storage`, if it is known.
    fn element(&self, storage: &Storage) -> Option<ElementType> {
        match storage {
            Storage::Tensor(tensor) => Some(tensor.element_type()),
            Storage::Constant(constant) => Some(constant.element),
            Storage::Input(input) => input.tensor.as_ref().map(Tensor::element_type),
            Storage::Device { node, output } => {
                Some(self.nodes.borrow().get(*node)?.outputs.get(*output)?.element)
            }
        }
    }

    /// The band that `storage` holds, if its content is known to be one.
    pub(crate) fn band(&self, storage: &Storage) -> Option<Band> {
        let Storage::Device { node, output: 0 } = storage else { return None };
        self.nodes.borrow().get(*node)?.band.clone()
    }

    /// The name of the node that writes a value, for messages.
    pub(crate) fn writer(&self, node: usize) -> String {
        self.nodes.borrow().get(node).map_or("an operator".to_owned(), |it| it.name.to_string())
    }
}

/// The lowest feature level that accepts `operator`.
pub(crate) fn level(operator: &AbstractOperator) -> Option<FeatureLevel> {
    FeatureLevel::ALL.into_iter().find(|level| validate(operator, *level).is_ok())
}

/// Rewords the error of an operator that does not support the type that carries `element`, naming the model's
/// type; `None` if the error is about something else.
fn carried(node: &NodeName, element: ElementType, error: &dml_core::Error) -> Option<Error> {
    let dml_core::Error::FeatureLevel(refusal) = error else { return None };
    let (_, given) = refusal.field.as_ref()?;
    let storage = element.storage().filter(|storage| ElementType::Dml(*storage) != element)?;
    if given != storage.name() {
        return None;
    }
    let allowed = refusal.allowed.as_deref().unwrap_or_default().to_ascii_lowercase();
    let accepted =
        if allowed.is_empty() { String::new() } else { format!("; accepted: {allowed}") };
    let operator = refusal.operator;
    let reason = format!("DirectML's {operator} does not support {element}{accepted}");
    Some(node.not_supported(reason))
}

/// The error of an element type without a DirectML counterpart.
pub(crate) fn no_counterpart(node: &NodeName, element: ElementType) -> Error {
    node.not_supported(format!("{element} has no counterpart among DirectML's types"))
}

#[cfg(test)]
mod tests {
    use dml_core::operators::RandomGeneratorDesc;
    use dml_core::{DataType, RandomGeneratorType, TensorDesc};
    use smallvec::smallvec;

    use super::*;

    /// Adds an operator that draws numbers.
    fn draw(nodes: &DeviceNodes, owner: &Owner) {
        let tensor = |count| TensorDesc::packed(DataType::Uint32, &[1, 1, 1, count]);
        let kind = Kind { element: ElementType::Dml(DataType::Uint32), shape: smallvec![4] };
        let written = nodes.add(owner, vec![], vec![kind], || {
            let desc = RandomGeneratorDesc {
                input_state_tensor: tensor(6),
                output_tensor: tensor(4),
                output_state_tensor: None,
                r#type: RandomGeneratorType::Philox4x3210,
            };
            Ok(desc.into())
        });
        assert!(written[0].check().is_ok());
    }

    #[test]
    fn draws_are_counted_for_each_node_and_forgotten_with_the_operators() {
        let nodes = DeviceNodes::new(&Arc::default());
        let owner = |name: &str| Owner::outside(Arc::new(NodeName::new("RandomUniform", name)));
        let (one, other) = (owner("one"), owner("other"));
        let counts = || [&one, &other].map(|it| nodes.draws_of(&it.name));
        for _ in 0..3 {
            draw(&nodes, &one);
        }
        draw(&nodes, &other);
        assert_eq!(counts(), [3, 1]);
        let mark = nodes.mark();
        draw(&nodes, &one);
        draw(&nodes, &other);
        nodes.truncate(mark);
        assert_eq!(counts(), [3, 1]);
        draw(&nodes, &one);
        assert_eq!(counts(), [4, 1]);
    }
}
