//! The tensors of a dispatchable (its bind points), and the names that bindings use for them.

use std::collections::BTreeMap;

use dml_core::graph::ValidatedGraph;
use dml_core::plan::{BindingRequirement, BoundAt};
use dml_core::schema::FieldKind;
use dml_core::{AbstractOperator, DataType, FieldValue, GraphDesc, TensorFlags, TensorLayout};
use serde_json::Value;

use crate::element::ElementType;
use crate::error::Result;
use crate::program::{Destination, Program, Read, Step};
use crate::tensor::byte_count;

use super::json::{Fields, names};

/// The tensors of a dispatchable, in DirectML's binding order.
#[derive(Debug, Default)]
pub(super) struct Points {
    pub(super) inputs: Vec<Point>,
    pub(super) outputs: Vec<Point>,
    /// The names that bindings may use; for an array with the number of its elements.
    keys: BTreeMap<String, Option<usize>>,
}

/// A tensor of a dispatchable.
#[derive(Debug)]
pub(super) struct Point {
    /// Its names; messages show the first.
    names: Vec<Name>,
    /// Whether it is OWNED_BY_DML, and bound at initialization.
    pub(super) is_owned: bool,
    /// Whether every command has to bind it. Tensors that operators require are checked when they are bound.
    pub(super) is_required: bool,
    /// Its type, and the number of bytes that its binding must cover; `None` if unknown.
    pub(super) extent: Option<(DataType, u64)>,
}

/// A field, or an element of an array field.
#[derive(Debug)]
struct Name {
    key: String,
    element: Option<usize>,
}

/// The names of a graph's inputs and outputs, for edges without names.
const INPUTS: &str = "Inputs";
const OUTPUTS: &str = "Outputs";

impl Points {
    /// The tensors of an operator, named by its fields.
    pub(super) fn of_operator(operator: &AbstractOperator) -> Self {
        let points = |kind| {
            let tensors = operator.bindings(kind);
            let point = tensors.map(|(path, tensor)| {
                let name = Name { key: path.field.name.to_owned(), element: path.element };
                let layout = tensor.and_then(|tensor| TensorLayout::new(tensor).ok());
                let owned =
                    |it: &dml_core::TensorDesc| it.flags.contains(TensorFlags::OWNED_BY_DML);
                Point {
                    names: vec![name],
                    is_owned: tensor.is_some_and(owned),
                    is_required: false,
                    extent: layout.map(|layout| (layout.data_type(), layout.binding_size())),
                }
            });
            point.collect()
        };
        let fields = operator.schema().fields.iter().zip(operator.fields());
        let keys = fields.filter_map(|(field, value)| match value {
            FieldValue::Tensor(_) => Some((field.name.to_owned(), None)),
            FieldValue::TensorArray(all) => Some((field.name.to_owned(), Some(all.len()))),
            _ => None,
        });
        Self {
            inputs: points(FieldKind::Input),
            outputs: points(FieldKind::Output),
            keys: keys.collect(),
        }
    }

    /// The inputs and outputs of a graph, named by their edges, or as elements of the arrays `Inputs` and
    /// `Outputs`.
    pub(super) fn of_graph(desc: &GraphDesc, graph: &ValidatedGraph) -> Self {
        let point = |kind, array: &str, index, needs: Option<&BindingRequirement>| {
            let tensor = graph.tensor(kind, index);
            Point {
                names: vec![Name { key: array.to_owned(), element: Some(index) }],
                is_owned: needs.is_some_and(|need| need.bound_at == BoundAt::Initialization),
                is_required: false,
                extent: needs.zip(tensor).map(|(needs, tensor)| (tensor.data_type(), needs.size)),
            }
        };
        let inputs = graph.inputs().iter().enumerate();
        let inputs = inputs.map(|(at, it)| point(FieldKind::Input, INPUTS, at, it.as_ref()));
        let outputs = graph.outputs().iter().enumerate();
        let outputs = outputs.map(|(at, (_, it))| point(FieldKind::Output, OUTPUTS, at, Some(it)));
        let (inputs, outputs): (Vec<_>, Vec<_>) = (inputs.collect(), outputs.collect());
        let keys = [(INPUTS, inputs.len()), (OUTPUTS, outputs.len())];
        let keys = keys.into_iter().map(|(key, count)| (key.to_owned(), Some(count)));
        let mut points = Self { inputs, outputs, keys: keys.collect() };
        for edge in &desc.input_edges {
            name(&mut points.inputs, edge.graph_input_index, &edge.name, &mut points.keys);
        }
        for edge in &desc.output_edges {
            name(&mut points.outputs, edge.graph_output_index, &edge.name, &mut points.keys);
        }
        points
    }

    /// The inputs and outputs of a model, by name.
    pub(super) fn of_model(program: &Program) -> Self {
        let point = |name: &str, element: Option<ElementType>, shape: &[u64]| {
            let bytes = element.and_then(|element| byte_count(element, shape));
            Point {
                names: vec![Name { key: name.to_owned(), element: None }],
                is_owned: false,
                is_required: false,
                extent: element.and_then(ElementType::storage).zip(bytes),
            }
        };
        let inputs = program.inputs.iter().enumerate().map(|(index, input)| Point {
            is_required: program.reads(index),
            ..point(&input.name, input.element, &input.shape)
        });
        let outputs = program.steps.iter().filter_map(|step| match step {
            Step::Read(Read { destination: Destination::Output(name), element, shape, .. }) => {
                Some(point(name, Some(*element), shape))
            }
            _ => None,
        });
        let (inputs, outputs): (Vec<_>, Vec<_>) = (inputs.collect(), outputs.collect());
        let keys = inputs.iter().chain(&outputs).map(|point| (point.name(), None)).collect();
        Self { inputs, outputs, keys }
    }

    /// Checks that bindings name existing tensors only, and have the right number of array elements.
    pub(super) fn check(&self, bindings: &Fields<'_>) -> Result<()> {
        for key in bindings.object.keys() {
            let Some(count) = self.keys.get(key) else {
                let problem = "is bound to no tensor of the operator";
                let accepted = names(self.keys.keys().map(String::as_str));
                return Err(bindings.refused(key, problem, accepted));
            };
            if let (Some(count), Some(json)) = (count, bindings.get(key))
                && json.as_array().map(Vec::len) != Some(*count)
            {
                let problem = "does not bind every tensor of the array";
                return Err(bindings.refused(key, problem, format!("an array of {count}")));
            }
        }
        Ok(())
    }
}

/// Gives an input or an output of a graph a further name. The graph is valid, so the index exists.
fn name(points: &mut [Point], index: u32, name: &str, keys: &mut BTreeMap<String, Option<usize>>) {
    let point = usize::try_from(index).ok().and_then(|index| points.get_mut(index));
    if let Some(point) = point.filter(|_| !name.is_empty() && !keys.contains_key(name)) {
        point.names.insert(0, Name { key: name.to_owned(), element: None });
        keys.insert(name.to_owned(), None);
    }
}

impl Point {
    /// The value bound to the tensor, and its path.
    pub(super) fn find<'a>(&self, bindings: &Fields<'a>) -> Option<(String, &'a Value)> {
        self.names.iter().find_map(|name| {
            let json = bindings.get(&name.key)?;
            match name.element {
                None => Some((bindings.at(&name.key), json)),
                Some(element) => {
                    let json = json.as_array()?.get(element).filter(|json| !json.is_null())?;
                    Some((bindings.at(&format!("{}[{element}]", name.key)), json))
                }
            }
        })
    }

    /// Its first name, for messages.
    pub(super) fn name(&self) -> String {
        self.names.first().map_or_else(String::new, |name| match name.element {
            None => name.key.clone(),
            Some(element) => format!("{}[{element}]", name.key),
        })
    }
}
