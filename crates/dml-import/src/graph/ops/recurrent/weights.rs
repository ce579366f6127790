//! The weights of one direction of a recurrent network.

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::arithmetic::MULTIPLY;
use crate::graph::ops::cast::cast;
use crate::graph::ops::dynamic::DynamicQuantize;
use crate::graph::ops::element_wise::apply;
use crate::graph::ops::product::{MatrixProduct, multiplied};
use crate::graph::ops::recurrent::{Recurrent, of_direction};
use crate::graph::ops::split::parts;
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::value::Value;
use crate::tensor::text;

/// The right factor of products, `[depth, columns]`.
pub(super) struct Weights {
    values: Value,
    /// `None` if the weights are floats.
    quantization: Option<Quantization>,
}

/// The scale and the zero point of integer weights, for all or for each column.
struct Quantization {
    scale: Value,
    zero_point: Value,
}

impl Weights {
    /// The product of rows and the weights. For quantized weights, all rows are quantized together, by their
    /// least and greatest element.
    pub(super) fn multiply(&self, operands: &NodeInputs<'_>, rows: &Value) -> Result<Value> {
        let Some(Quantization { scale, zero_point }) = &self.quantization else {
            return multiplied(operands, rows, &self.values);
        };
        let only = NodeInputs { values: vec![Some(rows)], ..*operands };
        let quantized = DynamicQuantize.evaluate(&only)?;
        let [row_codes, row_scale, row_zero] = quantized.as_slice() else {
            return Err(operands.node.not_supported("rows are not quantized"));
        };
        let values = vec![Some(row_codes), Some(&self.values), Some(row_zero), Some(zero_point)];
        let sums = MatrixProduct::INTEGER.evaluate(&NodeInputs { values, ..*operands })?.remove(0);
        let scale = apply(operands, MULTIPLY, &[row_scale.clone(), scale.clone()])?;
        apply(operands, MULTIPLY, &[cast(operands, &sums, ElementType::FLOAT32)?, scale])
    }

    /// Splits float weights into the first columns and the others.
    pub(super) fn split(self, operands: &NodeInputs<'_>, lengths: [u64; 2]) -> Result<Vec<Self>> {
        let parts = parts(operands, &self.values, 1, &lengths)?;
        Ok(parts.into_iter().map(|values| Self { values, quantization: None }).collect())
    }
}

impl Recurrent {
    /// The weights of a direction. Float weights are stored transposed: a row for each column of the product.
    pub(super) fn weights(
        &self,
        operands: &NodeInputs<'_>,
        (index, name): (usize, &str),
        [directions, depth, width]: [u64; 3],
        direction: usize,
    ) -> Result<Weights> {
        let shape = match self.is_quantized {
            false => [directions, width, depth],
            true => [directions, depth, width],
        };
        let missing = || operands.node.invalid(name, "nothing", "is given", "weights");
        let given = self.given(operands, index, name, &shape)?.ok_or_else(missing)?;
        let own = of_direction(operands, &given, direction)?;
        if !self.is_quantized {
            let own = cast(operands, &own, ElementType::FLOAT32)?;
            return Ok(Weights { values: own.transposed(&[1, 0]), quantization: None });
        }
        let parameter = |at: usize, part: &str| -> Result<Value> {
            let path = format!("{name}_{part}");
            let value = operands.value(at, &path)?;
            let given = value.shape()?;
            let (of_all, of_columns) = ([directions], [directions, width]);
            if given != of_all && given != of_columns {
                let accepted = format!("{} or {}", text(&of_all), text(&of_columns));
                let problem = "is the wrong shape";
                return Err(operands.node.invalid(path, text(given), problem, accepted));
            }
            of_direction(operands, value, direction)
        };
        // Scale and zero point of W and then of R follow the eight inputs of an LSTM.
        let first = 6 + 2 * index;
        let (scale, zero_point) = (parameter(first, "scale")?, parameter(first + 1, "zero_point")?);
        Ok(Weights { values: own, quantization: Some(Quantization { scale, zero_point }) })
    }
}
