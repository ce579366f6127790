//! Constants, broadcast values, and identities.

use std::sync::Arc;

use crate::constant::Constant;
use crate::convert::convert;
use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::broadcast::broadcast;
use crate::graph::ops::{Demand, Need, NodeInputs, Op};
use crate::graph::value::{Content, Kind, Storage, Value, View};
use crate::tensor::{element_count, text};

/// A tensor of the model.
#[derive(Debug)]
pub(crate) struct Literal(pub(crate) Arc<Constant>);

impl Op for Literal {
    fn evaluate(&self, _operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let (element, shape) = (self.0.element, self.0.shape.clone());
        Ok(vec![Value::stored(
            Kind { element, shape: shape.into() },
            Storage::Constant(Arc::clone(&self.0)),
        )])
    }
}

/// Returns the input.
#[derive(Debug)]
pub(crate) struct Identity;

impl Op for Identity {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        Ok(vec![operands.passed(0, "input")?.clone()])
    }
}

/// The element of an optional value, which must have one.
#[derive(Debug)]
pub(crate) struct ElementOf;

impl Op for ElementOf {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        Ok(vec![operands.value(0, "input")?.clone()])
    }
}

/// Whether an optional value has an element: whether the input is given.
#[derive(Debug)]
pub(crate) struct HasElement;

impl Op for HasElement {
    fn need(&self, _input: usize) -> Need {
        Need::Shape
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let has = operands.optional(0).is_some();
        Ok(vec![Value::scalar(ElementType::Bool, has.into())])
    }
}

/// Dropout, which keeps everything: training with a nonzero ratio is not supported. The second output is the mask
/// of kept elements.
#[derive(Debug)]
pub(crate) struct Dropout {
    /// The type of the mask; `None`: the input's type.
    pub(crate) mask: Option<ElementType>,
}

impl Op for Dropout {
    fn need(&self, input: usize) -> Need {
        if input == 0 { Need::Elements } else { Need::Host }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        if operands.optional(2).is_some()
            && operands.scalar(2, "training_mode")? != 0
            && !is_zero(operands)?
        {
            let reason = "it is for training, whose results are random";
            return Err(operands.node.not_supported(reason));
        }
        let data = operands.value(0, "data")?;
        let Kind { element, shape } = data.kind()?;
        let mask = self.mask.unwrap_or(element);
        let kept = Value::fill(Kind { element: mask, shape }, mask.one());
        Ok(vec![data.clone(), kept])
    }
}

/// Whether the ratio is given and 0.
fn is_zero(operands: &NodeInputs<'_>) -> Result<bool> {
    let Some(ratio) = operands.optional(1) else { return Ok(false) };
    let element = ratio.element()?;
    let ratio = operands.read(ratio)?;
    Ok(ratio.bits().all(|bits| convert(bits, element, ElementType::Bool) == 0))
}

/// A tensor of one repeated element, in the shape that the input holds.
#[derive(Debug)]
pub(crate) struct ConstantOfShape {
    pub(crate) element: ElementType,
    pub(crate) bits: u64,
}

impl Op for ConstantOfShape {
    fn need(&self, _input: usize) -> Need {
        Need::Host
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let shape = operands.sizes(0, "input")?;
        Ok(vec![Value::fill(Kind { element: self.element, shape: shape.into() }, self.bits)])
    }
}

/// The elements broadcast to the shape in the second input.
#[derive(Debug)]
pub(crate) struct Broadcast {
    /// Whether a dimension of the data may be larger than that of the given shape, of size 1.
    pub(crate) bidirectional: bool,
}

impl Op for Broadcast {
    fn need(&self, input: usize) -> Need {
        if input == 1 { Need::Host } else { Need::Elements }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let data = operands.value(0, "data")?;
        let (from, wanted) = (data.shape()?, operands.sizes(1, "shape")?);
        let both =
            broadcast(from, &wanted).filter(|it| self.bidirectional || it.as_slice() == wanted);
        let Some(shape) = both else {
            let problem = "is not a shape that the data broadcast to";
            return Err(operands.node.invalid("shape", text(&wanted), problem, text(from)));
        };
        // A single known element is written instead of read.
        let is_known = |view: &View| {
            matches!(view.storage, Storage::Tensor(_) | Storage::Constant(_))
                || operands.demand != Demand::None
        };
        if element_count(from) == Some(1)
            && let Content::Stored(view) = &data.content
            && is_known(view)
            && !view.storage.is_on_device()
        {
            let bits = operands.read(data)?.bits().next().unwrap_or(0);
            return Ok(vec![Value::fill(Kind { element: data.element()?, shape }, bits)]);
        }
        Ok(vec![data.broadcast(&shape)])
    }
}
