//! Identity and triangular matrices.

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::device::{Band, no_counterpart};
use crate::graph::dml;
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::{Content, Kind, Storage, Value};
use crate::tensor::text;

/// ONNX's EyeLike: a matrix of the input's shape with ones on the `k`-th diagonal.
#[derive(Debug)]
pub(crate) struct EyeLike {
    /// `None`: the input's type.
    pub(crate) dtype: Option<ElementType>,
    pub(crate) k: i64,
    /// The accepted types of input and output, which depend on the operator's version.
    pub(crate) types: &'static [ElementType],
}

impl Op for EyeLike {
    fn need(&self, _input: usize) -> Need {
        Need::Shape
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
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
        Ok(vec![eye(operands, element, shape.to_vec(), self.k)])
    }
}

/// OpenVINO's Eye: inputs are the number of rows, the number of columns, the diagonal, and the batch
/// dimensions.
#[derive(Debug)]
pub(crate) struct Eye {
    pub(crate) element: ElementType,
}

const INDEX_TYPES: [ElementType; 2] = [ElementType::INT32, ElementType::INT64];

impl Op for Eye {
    fn need(&self, _input: usize) -> Need {
        Need::Host
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
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
        Ok(vec![eye(operands, self.element, shape, k)])
    }
}

fn eye(operands: &NodeInputs<'_>, element: ElementType, shape: Vec<u64>, k: i64) -> Value {
    let begin = i128::from(k);
    let band = Band { begin, end: begin + 1, bits: element.one() };
    write_band(operands, Kind { element, shape: shape.into() }, band, None)
}

/// Writes a band into zero matrices, or over the matrices in `source`.
pub(crate) fn write_band(
    operands: &NodeInputs<'_>,
    kind: Kind,
    band: Band,
    source: Option<Storage>,
) -> Value {
    let outcome = || {
        if kind.is_empty() {
            return Value::empty(kind.clone());
        }
        let has_input = source.is_some();
        let (kept, bits) = (band.clone(), (!has_input).then(|| band.clone()));
        let inputs = if has_input { vec![source] } else { vec![] };
        let build = || dml::band(operands.node, &kind, &kept, has_input);
        let outputs = vec![kind.clone()];
        let (device, owner) = (operands.device, operands.owner);
        Ok(device.add_band(owner, inputs, outputs, bits, build).remove(0))
    };
    outcome().unwrap_or_else(|error| Value::refused_as(kind.clone(), error))
}

/// ONNX's Trilu: the input's elements on the `k`-th diagonal and on one side of it, and zeros elsewhere.
#[derive(Debug)]
pub(crate) struct Trilu {
    pub(crate) upper: bool,
}

impl Op for Trilu {
    fn need(&self, input: usize) -> Need {
        if input == 1 { Need::Host } else { Need::Elements }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let input = operands.value(0, "input")?;
        let kind = input.kind()?;
        if kind.element.storage().is_none() {
            return Err(no_counterpart(operands.node, kind.element));
        }
        if kind.shape.len() < 2 {
            let (given, accepted) = (text(&kind.shape), "two dimensions or more");
            return Err(operands.node.invalid("input", given, "is the wrong shape", accepted));
        }
        let k = match operands.optional(1) {
            None => 0,
            Some(k) => {
                operands.type_is(k.element()?, &[ElementType::INT64], "k")?;
                operands.scalar(1, "k")?
            }
        };
        let k = i128::from(k);
        // The diagonals to clear, and those to keep.
        let (lost, kept) = match self.upper {
            true => ((i128::MIN, k), (k, i128::MAX)),
            false => ((k + 1, i128::MAX), (i128::MIN, k + 1)),
        };
        input.check()?;
        let value = match input.content {
            _ if kind.is_empty() => input.clone(),
            // The kept part of a constant is a band, so there is nothing to read.
            Content::Fill(bits) => {
                write_band(operands, kind, Band { begin: kept.0, end: kept.1, bits }, None)
            }
            _ => {
                let source = operands.materialized(input)?;
                source.check()?;
                let storage = source.view().map(|view| view.storage.clone());
                write_band(operands, kind, Band { begin: lost.0, end: lost.1, bits: 0 }, storage)
            }
        };
        Ok(vec![value])
    }
}
