//! The rows of the tables of operators.

use std::ops::RangeInclusive;

use dml_core::{FieldValue, ReduceFunction};

use crate::error::{Result, shortened};
use crate::graph::{ElementWise, Function, Op, Reduce};

use super::layer::Layer;

/// One version of an operator.
pub(super) struct OperatorVersion {
    pub(super) name: &'static str,
    /// The opset that introduces this version of the operator.
    pub(super) since: u32,
    pub(super) inputs: RangeInclusive<usize>,
    pub(super) build: Build,
}

/// How a row makes an operation of a layer.
pub(super) enum Build {
    /// From the layer's attributes.
    From(fn(&Layer) -> Result<Box<dyn Op>>),
    /// An element-wise operation with NumPy's broadcasting rule.
    ElementWise(Function, &'static [Parameter]),
    /// A reduction.
    Reduce(ReduceFunction),
}

impl OperatorVersion {
    /// The operation of a layer.
    pub(super) fn op(&self, layer: &Layer) -> Result<Box<dyn Op>> {
        match &self.build {
            Build::From(build) => build(layer),
            Build::ElementWise(function, parameters) => element_wise(layer, *function, parameters),
            Build::Reduce(function) => Ok(Box::new(Reduce {
                function: *function,
                axes: None,
                keeps_dimensions: layer.flag("keep_dims", false),
                is_none_of_none: true,
            })),
        }
    }
}

pub(super) const fn row(
    name: &'static str,
    since: u32,
    inputs: RangeInclusive<usize>,
    build: fn(&Layer) -> Result<Box<dyn Op>>,
) -> OperatorVersion {
    OperatorVersion { name, since, inputs, build: Build::From(build) }
}

/// A FLOAT attribute of DirectML's operator.
pub(super) enum Parameter {
    /// The value of this attribute of the layer.
    Attribute(&'static str),
    /// A fixed value.
    Fixed(f32),
}

/// An element-wise operation with NumPy's broadcasting rule.
pub(super) fn element_wise(
    layer: &Layer,
    function: Function,
    parameters: &[Parameter],
) -> Result<Box<dyn Op>> {
    // The other broadcasting rules are from models older than opsets.
    if let Some(other) =
        layer.attribute("auto_broadcast").filter(|it| !matches!(*it, "numpy" | "none"))
    {
        let reason = format!("its auto_broadcast is {}", shortened(other));
        return Err(layer.node.not_supported(reason));
    }
    let value = |parameter: &Parameter| {
        Ok(FieldValue::Float(match parameter {
            Parameter::Attribute(name) => layer.number(name)?,
            Parameter::Fixed(value) => *value,
        }))
    };
    let attributes = parameters.iter().map(value).collect::<Result<Vec<FieldValue>>>()?;
    Ok(Box::new(ElementWise { attributes, ..ElementWise::new(function) }))
}
