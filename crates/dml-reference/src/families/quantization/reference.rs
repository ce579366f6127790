//! References of operators with blocks by the documentation, element by element.

use dml_core::schema::OperatorSchema;
use dml_core::{DataType, Error, Validated};

use super::cases::CaseGenerator;
use crate::Reference;
use crate::number::{Number, double, flush, single};

/// Applied to each intermediate number that a device may flush to zero.
type FlushToZero = fn(f64) -> f64;

/// The result for an element, its scale, and its zero point or bias.
type Formula = fn([f64; 3], FlushToZero) -> f64;

pub(super) fn value_scale([x, scale, bias]: [f64; 3], step: FlushToZero) -> f64 {
    let product = step(single(step(step(x) * step(scale))));
    step(single(step(product + step(bias))))
}

pub(super) fn quantize([x, scale, zero_point]: [f64; 3], _: FlushToZero) -> f64 {
    single(x / scale).round_ties_even() + zero_point
}

pub(super) fn dequantize([x, scale, zero_point]: [f64; 3], step: FlushToZero) -> f64 {
    step(single((x - zero_point) * step(scale)))
}

/// The reference of an operator with blocks.
pub(super) struct OfBlocks {
    /// The operator's schema row.
    pub(super) schema: &'static OperatorSchema,
    pub(super) formula: Formula,
}

impl OfBlocks {
    fn by_elements(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
        step: FlushToZero,
    ) -> Result<Vec<Vec<u64>>, Error> {
        let input = operator.required_tensor("InputTensor")?;
        let output = operator.required_tensor("OutputTensor")?;
        let number = |data_type, of: usize, at: usize| {
            let elements = inputs[of].as_deref().unwrap_or_default();
            double(data_type, elements[at])
        };
        let element = |index: usize| {
            let coordinate = coordinate(output.sizes(), index);
            let x = number(input.data_type(), 0, index);
            let others = match operator.tensor_array("QuantizationTensors") {
                Ok(tensors) => [0, 1].map(|at| {
                    let of_block = |it: &dml_core::TensorLayout| {
                        let block = block(it.sizes(), output.sizes(), &coordinate);
                        number(it.data_type(), at + 1, block)
                    };
                    tensors.get(at).map_or(0.0, of_block)
                }),
                Err(_) => {
                    let bias = operator.float_array("Bias")?;
                    [operator.float("Scale")?, bias[coordinate[1] as usize]].map(f64::from)
                }
            };
            let result = (self.formula)([x, others[0], others[1]], step);
            let result = Number::decode(DataType::Float64, result.to_bits());
            Ok(result.encode(output.data_type()))
        };
        let count = usize::try_from(output.element_count()).unwrap_or(usize::MAX);
        Ok(vec![(0..count).map(element).collect::<Result<_, Error>>()?])
    }
}

/// The coordinate of a row-major index.
fn coordinate(sizes: &[u32], mut index: usize) -> Vec<u32> {
    let mut coordinate = vec![0; sizes.len()];
    for (place, size) in coordinate.iter_mut().zip(sizes).rev() {
        *place = u32::try_from(index % *size as usize).unwrap_or(u32::MAX);
        index /= *size as usize;
    }
    coordinate
}

/// The index of the block that contains a coordinate of a tensor of `sizes`.
fn block(blocks: &[u32], sizes: &[u32], coordinate: &[u32]) -> usize {
    let places = blocks.iter().zip(sizes).zip(coordinate);
    places.fold(0, |index, ((blocks, size), at)| {
        index * *blocks as usize + (at / (size / blocks)) as usize
    })
}

impl Reference for OfBlocks {
    fn schema(&self) -> &'static OperatorSchema {
        self.schema
    }

    fn outputs(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        self.by_elements(operator, inputs, |it| it)
    }

    fn flushed_outputs(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        self.by_elements(operator, inputs, flush)
    }

    fn may_be_subnormal_within(&self, _operator: &Validated) -> bool {
        true
    }

    cases_by!(self, signature: CaseGenerator { schema: self.schema, signature });
}
