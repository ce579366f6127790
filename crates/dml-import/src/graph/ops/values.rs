//! Constants, conversions, and values handed on.

use std::sync::Arc;

use crate::constant::Constant;
use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::{Op, Operands};
use crate::graph::value::{Content, Value};
use crate::tensor::{element_count, text};

/// A tensor of the model.
#[derive(Debug)]
pub(crate) struct Literal(pub(crate) Arc<Constant>);

impl Op for Literal {
    fn evaluate(&self, _operands: &Operands<'_>) -> Result<Value> {
        let constant = Arc::clone(&self.0);
        let (element, shape) = (constant.element, constant.shape.clone());
        Ok(Value::new(element, shape, Content::Constant(constant)))
    }
}

/// The input.
#[derive(Debug)]
pub(crate) struct Identity;

impl Op for Identity {
    fn evaluate(&self, operands: &Operands<'_>) -> Result<Value> {
        Ok(operands.value(0, "input")?.clone())
    }
}

/// The input as another type.
#[derive(Debug)]
pub(crate) struct Cast {
    pub(crate) to: ElementType,
}

impl Op for Cast {
    fn evaluate(&self, operands: &Operands<'_>) -> Result<Value> {
        let input = operands.value(0, "input")?;
        for element in [input.element()?, self.to] {
            if element.storage().is_none() {
                let reason = format!("{element} has no counterpart among DirectML's types");
                return Err(operands.node.not_supported(reason));
            }
        }
        input.cast(self.to)
    }
}

/// The same element in the shape that the input holds.
#[derive(Debug)]
pub(crate) struct ConstantOfShape {
    pub(crate) element: ElementType,
    pub(crate) bits: u64,
}

impl Op for ConstantOfShape {
    fn evaluate(&self, operands: &Operands<'_>) -> Result<Value> {
        let shape = operands.sizes(0, "input")?;
        Ok(Value::new(self.element, shape, Content::Fill(self.bits)))
    }
}

/// One element in the shape that it and the second input, a shape, broadcast to.
#[derive(Debug)]
pub(crate) struct Broadcast {
    /// Whether a dimension of the data may be larger than that of the shape given.
    pub(crate) bidirectional: bool,
}

impl Op for Broadcast {
    fn evaluate(&self, operands: &Operands<'_>) -> Result<Value> {
        let data = operands.value(0, "data")?;
        let (from, mut shape) = (data.shape()?, operands.sizes(1, "shape")?);
        if element_count(from) != Some(1) {
            let reason = format!("only one element is broadcast, not {}", text(from));
            return Err(operands.node.not_supported(reason));
        }
        if from.len() > shape.len() {
            if !self.bidirectional {
                let problem = "has fewer dimensions than the data";
                return Err(operands.node.invalid("shape", text(&shape), problem, text(from)));
            }
            let missing = from.len() - shape.len();
            shape.splice(0..0, std::iter::repeat_n(1, missing));
        }
        let element = data.element()?;
        let bits = match data.content {
            Content::Fill(bits) => bits,
            _ => operands.read(data)?.bits().next().unwrap_or(0),
        };
        Ok(Value::new(element, shape, Content::Fill(bits)))
    }
}
