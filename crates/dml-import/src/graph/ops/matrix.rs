//! The operators that a device executes.

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::{Op, Operands};
use crate::graph::value::{Band, Content, Value};
use crate::tensor::text;

/// ONNX's EyeLike: a matrix of the input's shape with ones on the `k`-th diagonal.
#[derive(Debug)]
pub(crate) struct EyeLike {
    /// `None`: the input's type.
    pub(crate) dtype: Option<ElementType>,
    pub(crate) k: i64,
    /// Of input and output, by the version of the operator.
    pub(crate) types: &'static [ElementType],
}

impl Op for EyeLike {
    fn evaluate(&self, operands: &Operands<'_>) -> Result<Value> {
        let input = operands.value(0, "input")?;
        if let Some(element) = input.element {
            operands.type_is(element, self.types, "input")?;
        }
        let element = match self.dtype {
            Some(element) => {
                operands.type_is(element, self.types, "attribute dtype")?;
                element
            }
            None => input.element()?,
        };
        let shape = input.shape()?;
        if shape.len() != 2 {
            let problem = "is the wrong shape";
            return Err(operands.node.invalid("input", text(shape), problem, "two dimensions"));
        }
        eye(operands, element, shape.to_vec(), self.k)
    }
}

/// OpenVINO's Eye: inputs are the number of rows, of columns, the diagonal, and the batch dimensions.
#[derive(Debug)]
pub(crate) struct Eye {
    pub(crate) element: ElementType,
}

const INDEX_TYPES: [ElementType; 2] = [ElementType::INT32, ElementType::INT64];

impl Op for Eye {
    fn evaluate(&self, operands: &Operands<'_>) -> Result<Value> {
        for (index, name) in ["num_rows", "num_columns", "diagonal_index", "batch_shape"]
            .into_iter()
            .enumerate()
            .take(operands.values.len())
        {
            operands.type_is(operands.value(index, name)?.element()?, &INDEX_TYPES, name)?;
        }
        let rows = operands.size(operands.scalar(0, "num_rows")?, "num_rows")?;
        let columns = operands.size(operands.scalar(1, "num_columns")?, "num_columns")?;
        let k = operands.scalar(2, "diagonal_index")?;
        let mut shape = Vec::new();
        if operands.values.len() > 3 {
            let given = operands.shape(3, "batch_shape")?;
            if given.len() != 1 {
                let problem = "is the wrong shape";
                let node = operands.node;
                return Err(node.invalid("batch_shape", text(given), problem, "one dimension"));
            }
            shape = operands.sizes(3, "batch_shape")?;
        }
        shape.extend([rows, columns]);
        eye(operands, self.element, shape, k)
    }
}

fn eye(operands: &Operands<'_>, element: ElementType, shape: Vec<u64>, k: i64) -> Result<Value> {
    let (begin, node) = (i128::from(k), operands.node.clone());
    let bits = element.one();
    Value::band(element, Band { node, shape, begin, end: begin + 1, bits, source: None })
}

/// ONNX's Trilu: the input's elements on one side of the `k`-th diagonal and on it, zeros elsewhere.
#[derive(Debug)]
pub(crate) struct Trilu {
    pub(crate) upper: bool,
}

impl Op for Trilu {
    fn evaluate(&self, operands: &Operands<'_>) -> Result<Value> {
        let input = operands.value(0, "input")?;
        let (element, shape) = (input.element()?, input.shape()?.to_vec());
        if element.storage().is_none() {
            let reason = format!("{element} has no counterpart among DirectML's types");
            return Err(operands.node.not_supported(reason));
        }
        if shape.len() < 2 {
            let accepted = "two dimensions or more";
            return Err(operands.node.invalid(
                "input",
                text(&shape),
                "is the wrong shape",
                accepted,
            ));
        }
        let k = match operands.optional(1) {
            None => 0,
            Some(k) => {
                operands.type_is(k.element()?, &[ElementType::INT64], "k")?;
                operands.scalar(1, "k")?
            }
        };
        let node = operands.node.clone();
        let (begin, end) = match self.upper {
            true => (i128::MIN, i128::from(k)),
            false => (i128::from(k) + 1, i128::MAX),
        };
        let band = match input.content {
            // What is kept of a constant is a band of it: there is nothing to read.
            Content::Fill(bits) => {
                let (begin, end) = match self.upper {
                    true => (end, i128::MAX),
                    false => (i128::MIN, begin),
                };
                Band { node, shape, begin, end, bits, source: None }
            }
            Content::Refused(ref error) => return Err(crate::Error::clone(error)),
            _ => Band { node, shape, begin, end, bits: 0, source: Some(input.clone()) },
        };
        Value::band(element, band)
    }
}
