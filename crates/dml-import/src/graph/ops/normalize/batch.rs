//! Batch normalization by given moments, and in training by those of the batch.

use dml_core::operators::{BatchNormalizationDesc, BatchNormalizationTrainingDesc};
use smallvec::smallvec;

use super::{channels, of_channels, write};
use crate::convert::from_float;
use crate::error::Result;
use crate::graph::ops::arithmetic::{ADD, MULTIPLY};
use crate::graph::ops::cast::cast;
use crate::graph::ops::element_wise::apply;
use crate::graph::ops::packed::{self, Use, count};
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::value::{Kind, Value};

/// Elements minus a given mean, divided by a given standard deviation, for each channel.
#[derive(Debug)]
pub(crate) struct BatchNormalize {
    pub(crate) epsilon: f32,
}

impl Op for BatchNormalize {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let input = operands.value(0, "X")?;
        let (sizes, element) = (channels(operands, input.shape()?)?, input.element()?);
        let of_scales = [1, sizes[1], 1];
        let mut others = vec![];
        // In the order of DirectML's operator.
        for (at, name) in [(3, "input_mean"), (4, "input_var"), (1, "scale"), (2, "B")] {
            let given = (operands.value(at, name)?, name);
            others.push(of_channels(operands, given, sizes[1], element)?);
        }
        let mut values = vec![(input, &sizes[..])];
        values.extend(others.iter().map(|value| (value, &of_scales[..])));
        let epsilon = self.epsilon;
        let result = write(operands, &values, |inputs, output_tensor| {
            let mut inputs = inputs.into_iter();
            let mut next = || inputs.next().expect("five inputs");
            BatchNormalizationDesc {
                input_tensor: next(),
                mean_tensor: next(),
                variance_tensor: next(),
                scale_tensor: next(),
                bias_tensor: next(),
                output_tensor,
                spatial: true,
                epsilon,
                fused_activation: None,
            }
            .into()
        });
        Ok(vec![result?])
    }
}

/// Elements minus the mean of their channel in the batch, divided by its standard deviation; and running means
/// and variances, updated by those of the batch.
#[derive(Debug)]
pub(crate) struct BatchTraining {
    pub(crate) epsilon: f32,
    /// The weight of the given running means and variances.
    pub(crate) momentum: f32,
    /// The number of outputs.
    pub(crate) outputs: usize,
}

impl BatchTraining {
    /// A running mean or variance, updated by that of the batch.
    fn moved(
        &self,
        operands: &NodeInputs<'_>,
        given: (&Value, &str),
        batch: &Value,
    ) -> Result<Value> {
        let element = given.0.element()?;
        let given = of_channels(operands, given, count(batch.shape()?), element)?;
        let of = |function, values: &[Value]| apply(operands, function, values);
        let part = |value: Value, factor: f32| {
            let factor = Value::scalar(element, from_float(factor.into(), element));
            of(MULTIPLY, &[value, factor])
        };
        let batch = part(cast(operands, batch, element)?, 1.0 - self.momentum)?;
        of(ADD, &[part(given, self.momentum)?, batch])
    }
}

impl Op for BatchTraining {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let input = operands.value(0, "X")?;
        let (sizes, element) = (channels(operands, input.shape()?)?, input.element()?);
        let of_scales = [1, sizes[1], 1];
        let mut others = vec![];
        for (at, name) in [(1, "scale"), (2, "B")] {
            let given = (operands.value(at, name)?, name);
            others.push(of_channels(operands, given, sizes[1], element)?);
        }
        let mut values = vec![(input, &sizes[..])];
        values.extend(others.iter().map(|value| (value, &of_scales[..])));
        let moment = || Kind { element, shape: smallvec![sizes[1]] };
        let outputs = vec![
            (input.kind()?, &sizes[..]),
            (moment(), &of_scales[..]),
            (moment(), &of_scales[..]),
        ];
        let epsilon = self.epsilon;
        let results =
            packed::write_all(operands, Use::Computed, &values, outputs, |inputs, outputs| {
                let (mut inputs, mut outputs) = (inputs.into_iter(), outputs.into_iter());
                let mut input = || inputs.next().expect("three inputs");
                let mut output = || outputs.next().expect("three outputs");
                BatchNormalizationTrainingDesc {
                    input_tensor: input(),
                    scale_tensor: input(),
                    bias_tensor: input(),
                    fused_add_tensor: None,
                    output_tensor: output(),
                    output_mean_tensor: output(),
                    output_variance_tensor: output(),
                    epsilon,
                    fused_activation: None,
                }
                .into()
            });
        let mut results = results?;
        for (at, name) in [(1, "input_mean"), (2, "input_var")] {
            if self.outputs > at {
                let given = (operands.value(at + 2, name)?, name);
                results[at] = self.moved(operands, given, &results[at])?;
            }
        }
        results.truncate(self.outputs.max(1));
        Ok(results)
    }
}
