//! The reference of TOP_K and TOP_K1: the greatest or least elements of rows, by sorting.

use std::cmp::Ordering;

use dml_core::schema::OperatorSchema;

use dml_core::{AbstractOperator, AxisDirection, DataType, Error, Validated};

use super::cases::CaseGenerator;
use crate::number::double;
use crate::{BrokenRule, Case, Random, Reference, Signature};

/// The reference of TOP_K and TOP_K1.
pub(super) struct TopK {
    pub(super) schema: &'static OperatorSchema,
}

/// A sort key: NaN is above all others, and zeros are equal.
fn ordered(data_type: DataType, bits: u64) -> (bool, f64, i128) {
    if let Some((least, _)) = data_type.integer_range() {
        let sign = 64 - data_type.bits();
        let integer = match least {
            0 => bits.into(),
            _ => i128::from(bits.cast_signed() << sign >> sign),
        };
        return (false, 0.0, integer);
    }
    let value = double(data_type, bits);
    if value.is_nan() { (true, 0.0, 0) } else { (false, value, 0) }
}

fn compare(data_type: DataType, a: u64, b: u64) -> Ordering {
    let pair = (ordered(data_type, a), ordered(data_type, b));
    pair.0.partial_cmp(&pair.1).unwrap_or(Ordering::Equal)
}

impl Reference for TopK {
    fn schema(&self) -> &'static OperatorSchema {
        self.schema
    }

    fn outputs(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        let tensor = operator.required_tensor("InputTensor")?;
        let (axis, count) = (operator.uint("Axis")? as usize, operator.uint("K")? as usize);
        let has_direction = self.schema.has_field("AxisDirection");
        let least = AxisDirection::Increasing.dml_value();
        let wants_least = has_direction && operator.uint("AxisDirection")? == least;
        let product = |sizes: &[u32]| sizes.iter().map(|size| *size as usize).product::<usize>();
        let sizes = tensor.sizes();
        let (size, after) = (sizes[axis] as usize, product(&sizes[axis + 1..]));
        let elements = inputs.iter().flatten().next().map_or(&[][..], Vec::as_slice);
        let mut values = vec![0; product(sizes) / size * count];
        let mut indices = values.clone();
        for row in 0..product(sizes) / size {
            let (outer, inner) = (row / after, row % after);
            let element = |at: &usize| elements[(outer * size + at) * after + inner];
            let mut order: Vec<usize> = (0..size).collect();
            // A stable sort keeps equal elements in order.
            order.sort_by(|a, b| {
                let order = compare(tensor.data_type(), element(a), element(b));
                if wants_least { order } else { order.reverse() }
            });
            for (place, at) in order.iter().take(count).enumerate() {
                let place = (outer * count + place) * after + inner;
                (values[place], indices[place]) = (element(at), *at as u64);
            }
        }
        Ok(vec![values, indices])
    }

    fn may_flush(&self, _operator: &Validated, _index: usize) -> bool {
        false
    }

    fn minimal(&self, signature: &Signature) -> AbstractOperator {
        CaseGenerator { schema: self.schema, signature }.minimal()
    }

    fn cases(&self, signature: &Signature) -> Vec<Case> {
        CaseGenerator { schema: self.schema, signature }.cases()
    }

    fn shares_cases(&self) -> bool {
        true
    }

    fn random(&self, random: &mut Random, signature: &Signature) -> Case {
        CaseGenerator { schema: self.schema, signature }.random(random)
    }

    fn broken_rules(&self, signature: &Signature) -> Vec<BrokenRule> {
        CaseGenerator { schema: self.schema, signature }.broken_rules()
    }
}
