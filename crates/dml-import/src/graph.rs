//! The common representation of ONNX and OpenVINO models: nodes over numbered values.
//!
//! A graph has no inferred shapes. [`mod@evaluate`] visits its nodes when inputs are bound: each infers the
//! types and shapes of its outputs, and then computes them on the host, describes them as views of existing
//! elements, or adds operators for the device ([`device`]).

mod device;
mod dml;
mod evaluate;
mod ops;
mod order;
mod reading;
mod strides;
mod symbols;
pub(crate) mod value;
mod view;

use std::collections::HashMap;
use std::sync::Arc;

use dml_core::KnownOperators;

use crate::constant::Constant;
use crate::element::ElementType;
use crate::error::{Error, NodeName};
use crate::inputs::{Input, Inputs};

pub(crate) use device::{DeviceNode, Owner, level};
pub(crate) use dml::{fill, materialized};
#[cfg(feature = "execute")]
pub(crate) use evaluate::typed;
pub(crate) use evaluate::{Evaluation, Extent, evaluate, evaluate_as_run, evaluate_reading};
pub(crate) use ops::*;
pub(crate) use order::topological;
pub(crate) use reading::{Answers, Key, Question};
pub(crate) use symbols::{dimension_text, fixed};

/// A value's number in its graph.
pub(crate) type ValueId = usize;

/// A model's inputs, nodes and outputs.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(crate) inputs: Vec<GraphInput>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) outputs: Vec<GraphOutput>,
    /// The number of values; they are numbered from 0.
    pub(crate) value_count: usize,
    /// DirectML's operators of programs that were made of it.
    pub(crate) operators: Arc<KnownOperators>,
}

/// An input of the model.
#[derive(Debug)]
pub(crate) struct GraphInput {
    /// The input's names: messages show the first, and callers may use any.
    pub(crate) names: Vec<String>,
    pub(crate) value: ValueId,
    /// `None` if the model does not declare the type.
    pub(crate) element: Option<ElementType>,
    /// `None` if the model does not declare the rank.
    pub(crate) shape: Option<Vec<Dimension>>,
    /// The input's value if the caller gives none.
    pub(crate) default: Option<Arc<Constant>>,
}

impl GraphInput {
    /// The values or the shape given for this input, under any of its names.
    pub(crate) fn given<'a>(&self, inputs: &'a Inputs) -> Option<&'a Input> {
        self.names.iter().find_map(|name| inputs.get(name))
    }
}

impl Graph {
    /// The sizes of named dimensions, from the shapes of the inputs given.
    pub(crate) fn named_sizes(&self, given: &Inputs) -> HashMap<&str, u64> {
        let mut sizes = HashMap::new();
        for input in &self.inputs {
            let shape = input.given(given).map(Input::shape).unwrap_or_default();
            for (dimension, size) in input.shape.iter().flatten().zip(shape) {
                if let Dimension::Named(name) = dimension {
                    sizes.insert(name.as_str(), *size);
                }
            }
        }
        sizes
    }
}

/// The size of a dimension as a model declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Dimension {
    Known(u64),
    /// A symbolic size: all dimensions of this name have one size.
    Named(String),
    /// Any size from the first to the second, both included.
    Range(u64, u64),
}

impl Dimension {
    pub(crate) const ANY: Self = Self::Range(0, u64::MAX);
}

/// An output of the model.
#[derive(Debug)]
pub(crate) struct GraphOutput {
    pub(crate) name: String,
    pub(crate) value: ValueId,
}

/// A node of the graph: one operation.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) name: Arc<NodeName>,
    /// The name as graphs of operators have it.
    pub(crate) label: Arc<str>,
    /// The operator, or the reason why it is not known.
    pub(crate) op: Result<Box<dyn Op>, Error>,
    /// `None` for an optional input that is left out.
    pub(crate) inputs: Vec<Option<ValueId>>,
    /// `None` for an output that is left out.
    pub(crate) outputs: Vec<Option<ValueId>>,
}

impl Node {
    pub(crate) fn new(
        name: NodeName,
        op: Result<Box<dyn Op>, Error>,
        inputs: Vec<Option<ValueId>>,
        outputs: Vec<Option<ValueId>>,
    ) -> Self {
        let label = name.to_string().into();
        Self { name: Arc::new(name), label, op, inputs, outputs }
    }
}
