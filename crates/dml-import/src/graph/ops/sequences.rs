//! OneHot and ReverseSequence.

use dml_core::DataType;
use dml_core::operators::{OneHotDesc, ReverseSubsequencesDesc};

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::cast::cast;
use crate::graph::ops::packed::{Use, around, count, dimension, write};
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::{Kind, Value};
use crate::tensor::text;

/// One-hot encoding: the second element of the third input where the coordinate in the new dimension equals the
/// first input's index, and its first element elsewhere. The second input is the new dimension's size.
#[derive(Debug)]
pub(crate) struct OneHot {
    pub(crate) axis: i64,
}

/// The types of DirectML's indices.
const INDICES: [ElementType; 4] = [
    ElementType::INT64,
    ElementType::INT32,
    ElementType::Dml(DataType::Uint64),
    ElementType::Dml(DataType::Uint32),
];

impl Op for OneHot {
    fn need(&self, input: usize) -> Need {
        if input == 1 { Need::Host } else { Need::Elements }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let (indices, values) = (operands.value(0, "indices")?, operands.value(2, "values")?);
        let depth = operands.tensor(1, "depth")?.converted(ElementType::INT64)?.integers();
        let depth = match depth.as_deref() {
            Some([depth]) => operands.size(*depth, "depth")?,
            _ => {
                let given = text(operands.shape(1, "depth")?);
                return Err(operands.node.invalid(
                    "depth",
                    given,
                    "is the wrong shape",
                    "one element",
                ));
            }
        };
        if values.shape()? != [2] {
            let given = text(values.shape()?);
            return Err(operands.node.invalid("values", given, "is the wrong shape", "[2]"));
        }
        let indices = match INDICES.contains(&indices.element()?) {
            true => indices.clone(),
            false => cast(operands, indices, ElementType::INT64)?,
        };
        let mut shape = indices.shape()?.to_vec();
        let axis = operands.axis(self.axis, shape.len() + 1, "attribute axis")?;
        shape.insert(axis, depth);
        let seen = around(&shape, axis);
        let [outer, _, inner] = seen;
        let inputs = [(&indices, &[outer, 1, inner][..]), (values, &[2][..])];
        let kind = Kind { element: values.element()?, shape: shape.into() };
        let output = write(operands, Use::Moved, &inputs, kind, &seen, |mut it, output_tensor| {
            let [indices_tensor, values_tensor] = [it.remove(0), it.remove(0)];
            let axis = dimension(1, 3);
            OneHotDesc { indices_tensor, values_tensor, output_tensor, axis }.into()
        });
        output.map(|output| vec![output])
    }
}

/// The first elements of each sequence in reverse order, as many as the second input has for it.
#[derive(Debug)]
pub(crate) struct ReverseSequence {
    pub(crate) batch_axis: i64,
    pub(crate) time_axis: i64,
}

impl Op for ReverseSequence {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let (data, lengths) = (operands.value(0, "input")?, operands.value(1, "sequence_lens")?);
        operands.type_is(lengths.element()?, &[ElementType::INT64], "sequence_lens")?;
        let kind = data.kind()?;
        let (batch, time) = match (self.batch_axis, self.time_axis) {
            (0, 1) if kind.shape.len() > 1 => (0, 1),
            (1, 0) if kind.shape.len() > 1 => (1, 0),
            (batch, time) => {
                let given = format!("{batch} and {time} of {}", text(&kind.shape));
                let path = "attributes batch_axis and time_axis";
                let accepted = "0 and 1 in any order, of two dimensions and more";
                return Err(operands.node.invalid(path, given, "are not such axes", accepted));
            }
        };
        let batches = kind.shape[batch];
        if lengths.shape()? != [batches] {
            let (given, accepted) = (text(lengths.shape()?), text(&[batches]));
            return Err(operands.node.invalid(
                "sequence_lens",
                given,
                "is the wrong shape",
                accepted,
            ));
        }
        let unsigned = ElementType::Dml(DataType::Uint64);
        let lengths = Value { element: Some(unsigned), ..lengths.clone() };
        let seen = [kind.shape[0], kind.shape[1], count(&kind.shape[2..])];
        let inputs = [(data, &seen[..]), (&lengths, &[batches][..])];
        let axis = dimension(time, 3);
        let output = write(operands, Use::Moved, &inputs, kind, &seen, |mut it, output_tensor| {
            let [input_tensor, mut sequence_lengths_tensor] = [it.remove(0), it.remove(0)];
            // All sequences of a batch share a length.
            sequence_lengths_tensor.sizes.clone_from(&input_tensor.sizes);
            sequence_lengths_tensor.sizes[axis as usize] = 1;
            let mut strides = [0; 4];
            strides[dimension(batch, 3) as usize] = 1;
            let sequence_lengths_tensor = sequence_lengths_tensor.with_strides(&strides);
            ReverseSubsequencesDesc { input_tensor, sequence_lengths_tensor, output_tensor, axis }
                .into()
        });
        output.map(|output| vec![output])
    }
}
