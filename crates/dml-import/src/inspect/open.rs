//! Infers types, shapes and support before all inputs are given: the graph is evaluated with two guesses for
//! open sizes, and whatever is equal in both is taken to hold for all sizes. If a node is refused with the
//! first guess, further guesses tell whether the sizes are the reason.

mod assumed;

use std::collections::HashMap;

use crate::assemble::{assemble, assemble_questions};
use crate::element::ElementType;
use crate::error::Requirement;
use crate::graph::value::Value;
use crate::graph::{
    Dimension, Evaluation, Extent, Graph, GraphInput, dimension_text, evaluate, evaluate_as_run,
};
use crate::inputs::{Input, Inputs};
use crate::tensor::Tensor;

/// Sizes of the second guess: open dimension `i` (from 1) has size `i * FAR + 1`. Such numbers do not occur in
/// models.
const FAR: u64 = 100_003;

/// Evaluations of a graph with guesses for its open sizes.
pub(super) struct Guesses {
    /// With 1 for every open size and value; most models run with it.
    first: Option<Evaluation>,
    /// With other common sizes, if a node is refused with the first guess.
    others: Vec<Evaluation>,
    /// With distinct sizes, which tell dimensions apart.
    second: Option<Evaluation>,
    /// Names of open dimensions, by their sizes in the first and the second guess.
    symbols: HashMap<[u64; 2], String>,
    /// Whether the types of all inputs are known.
    is_typed: bool,
    requirements: Vec<Option<Requirement>>,
}

impl Guesses {
    pub(super) fn of(graph: &Graph, given: &Inputs) -> Self {
        let mut symbols = Symbols::default();
        let has_values = |it: &GraphInput| matches!(it.given(given), Some(Input::Tensor(_)));
        for (input, found) in
            graph.inputs.iter().filter_map(|input| Some((input, input.given(given)?)))
        {
            symbols.bind(input, found.shape());
        }
        let [mut first, mut second] = [given.clone(), given.clone()];
        for input in
            graph.inputs.iter().filter(|input| !has_values(input) && input.default.is_none())
        {
            let Some(name) = input.names.first() else { continue };
            if let Some(shape) = input.given(given).map(|it| it.shape().to_vec()) {
                first = with(first, input, name, shape.clone(), 1);
                second = with(second, input, name, shape, 3);
                continue;
            }
            // A rank that differs between the guesses stays open in the results.
            let unknown = [Dimension::ANY; 3];
            let shape = input.shape.as_deref().unwrap_or(&unknown);
            let sizes: Vec<[u64; 2]> = shape.iter().map(|it| symbols.sizes(it)).collect();
            let [mut small, far] =
                [0, 1].map(|guess| sizes.iter().map(|size| size[guess]).collect());
            if input.shape.is_none() {
                Vec::truncate(&mut small, 2);
            }
            first = with(first, input, name, small, 1);
            second = with(second, input, name, far, 3);
        }
        let first = evaluate_as_run(graph, &first).ok();
        let second = evaluate(graph, &second, Extent::Shapes).ok();
        let is_open = graph.inputs.iter().any(|input| {
            input.given(given).is_none() && input.default.is_none() && !is_fixed(input)
        });
        let others = match &first {
            Some(first) if is_open && refused(graph, first) > 0 => {
                assumed::evaluations(graph, given)
            }
            _ => vec![],
        };
        let best = first.iter().chain(&others).min_by_key(|guess| refused(graph, guess));
        let requirements = requirements(graph, given, best);
        let typed = |it: &GraphInput| it.element.is_some() || it.given(given).is_some();
        let is_typed = graph.inputs.iter().all(typed);
        Self { first, others, second, symbols: symbols.names, is_typed, requirements }
    }

    /// The evaluation that refuses the fewest nodes, for questions that seldom depend on sizes.
    pub(super) fn best(&self, graph: &Graph) -> Option<&Evaluation> {
        self.all().min_by_key(|guess| refused(graph, guess))
    }

    /// Whether several guesses refuse a value with the same message. Messages that depend on sizes contain
    /// them.
    pub(super) fn agree_to_refuse(&self, value: usize) -> bool {
        let reason =
            |guess: &Evaluation| guess.value(value).check().err().map(|error| error.to_string());
        let first = self.first.as_ref().and_then(reason);
        let is_same = |guess: &Evaluation| reason(guess) == first;
        first.is_some() && !self.others.is_empty() && self.others.iter().all(is_same)
    }

    fn all(&self) -> impl Iterator<Item = &Evaluation> {
        self.first.iter().chain(&self.others)
    }

    fn value(&self, value: usize) -> Option<&Value> {
        self.first.as_ref().map(|first| first.value(value))
    }

    /// The type, if it does not depend on open sizes or types.
    pub(super) fn element(&self, value: usize) -> Option<ElementType> {
        let others = || self.others.iter().find_map(|guess| guess.value(value).element);
        let first = self.value(value)?.element.or_else(others);
        let second = self.second.as_ref().and_then(|it| it.value(value).element);
        // Types do not depend on sizes.
        first.filter(|_| {
            if self.is_typed { second.is_none_or(|it| first == Some(it)) } else { first == second }
        })
    }

    /// The sizes of the dimensions, with names for open ones; `None` if the rank is open.
    pub(super) fn shape(&self, value: usize) -> Option<Vec<String>> {
        let [first, second] = self.both(value)?;
        let (first, second) = (first.shape.as_deref()?, second.shape.as_deref()?);
        if first.len() != second.len() {
            return None;
        }
        let size = |(first, second): (&u64, &u64)| match self.symbols.get(&[*first, *second]) {
            _ if first == second => first.to_string(),
            Some(name) => name.clone(),
            None => dimension_text(&Dimension::ANY),
        };
        Some(first.iter().zip(second).map(size).collect())
    }

    /// For each input of the graph, what a caller has to give.
    pub(super) fn requirements(&self) -> &[Option<Requirement>] {
        &self.requirements
    }

    fn both(&self, value: usize) -> Option<[&Value; 2]> {
        Some([self.first.as_ref()?.value(value), self.second.as_ref()?.value(value)])
    }
}

/// The number of values that an evaluation refuses.
fn refused(graph: &Graph, evaluation: &Evaluation) -> usize {
    let outputs = graph.nodes.iter().flat_map(|node| node.outputs.iter().flatten());
    outputs.filter(|output| evaluation.value(**output).check().is_err()).count()
}

/// Sizes assigned to open dimensions.
#[derive(Default)]
struct Symbols {
    names: HashMap<[u64; 2], String>,
    by_name: HashMap<String, [u64; 2]>,
    count: u64,
}

impl Symbols {
    /// Records the sizes of named dimensions from the shape given for an input.
    fn bind(&mut self, input: &GraphInput, given: &[u64]) {
        for (dimension, size) in input.shape.iter().flatten().zip(given) {
            if let Dimension::Named(name) = dimension {
                self.by_name.insert(name.clone(), [*size; 2]);
            }
        }
    }

    fn sizes(&mut self, dimension: &Dimension) -> [u64; 2] {
        self.count += 1;
        let far = FAR * self.count + 1;
        let sizes = match dimension {
            Dimension::Known(size) => [*size; 2],
            Dimension::Named(name) => *self.by_name.entry(name.clone()).or_insert([1, far]),
            Dimension::Range(first, last) => [1, far].map(|it| it.clamp(*first, *last.max(first))),
        };
        if sizes[1] == far {
            self.names.insert(sizes, dimension_text(dimension));
        }
        sizes
    }
}

/// `inputs` with one more, whose elements are all `number`; only its shape if it has too many elements.
fn with(inputs: Inputs, input: &GraphInput, name: &str, shape: Vec<u64>, number: u64) -> Inputs {
    // If the type is open, the two guesses use different types to find what depends on it.
    let open = if number == 1 { ElementType::FLOAT32 } else { ElementType::INT64 };
    let element = input.element.unwrap_or(open);
    let bits = match element {
        ElementType::Bool => 1,
        _ => crate::convert::convert(number, ElementType::INT64, element),
    };
    match Tensor::filled(element, shape.clone(), bits) {
        Ok(tensor) if element.storage().is_some() => inputs.with_tensor(name, tensor),
        _ => inputs.with_shape(name, shape),
    }
}

/// Whether the model declares all sizes of an input.
fn is_fixed(input: &GraphInput) -> bool {
    let is_known = |dimension: &Dimension| matches!(dimension, Dimension::Known(_));
    input.shape.as_ref().is_some_and(|shape| shape.iter().all(is_known))
}

/// For each input, what a run of the model needs, as far as it is known.
fn requirements(
    graph: &Graph,
    given: &Inputs,
    evaluation: Option<&Evaluation>,
) -> Vec<Option<Requirement>> {
    let program = evaluation.and_then(|evaluation| {
        assemble(graph, evaluation).or_else(|_| assemble_questions(graph, evaluation)).ok()
    });
    let requirement = |(index, input): (usize, &GraphInput)| {
        let found = input.given(given);
        if matches!(found, Some(Input::Tensor(_))) || input.default.is_some() {
            return None;
        }
        if program.as_ref().is_some_and(|program| program.reads(index)) {
            return Some(Requirement::Values);
        }
        if found.is_some() {
            return None;
        }
        (!is_fixed(input)).then_some(Requirement::Shape)
    };
    graph.inputs.iter().enumerate().map(requirement).collect()
}
