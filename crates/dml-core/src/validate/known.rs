//! Operators that were validated before.

use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::validate;
use crate::Recent;
use crate::error::Error;
use crate::schema::operator::{AbstractOperator, FieldValue};
use crate::schema::validated::Validated;
use crate::tensor::TensorDesc;
use crate::types::FeatureLevel;

/// How many operators are kept at least, if there are more.
const CAPACITY: usize = 1024;

/// Validates each distinct operator once: graphs of one model have most of them in common, whatever their shapes are.
///
/// It keeps those that were used last, and none that was refused.
#[derive(Debug)]
pub struct KnownOperators(Mutex<Known>);

#[derive(Debug)]
struct Known {
    operators: Recent<Box<[u32]>, Arc<Validated>>,
    /// The key of the operator that is looked for.
    key: Vec<u32>,
}

impl Default for KnownOperators {
    fn default() -> Self {
        Self(Mutex::new(Known { operators: Recent::new(CAPACITY), key: Vec::new() }))
    }
}

impl KnownOperators {
    /// As [`validate`]; equal operators are one.
    ///
    /// # Errors
    /// As [`validate`].
    pub fn validate(
        &self,
        operator: &AbstractOperator,
        level: FeatureLevel,
    ) -> Result<Arc<Validated>, Error> {
        if let Some(known) = self.known().get(operator, level) {
            return Ok(known);
        }
        let validated = Arc::new(validate(operator, level)?);
        let mut known = self.known();
        // Another thread may have validated it meanwhile.
        if let Some(known) = known.get(operator, level) {
            return Ok(known);
        }
        let key = known.key.as_slice().into();
        known.operators.insert(key, Arc::clone(&validated));
        Ok(validated)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn get(&mut self, operator: &AbstractOperator, level: FeatureLevel) -> Option<Arc<Validated>> {
        self.key.clear();
        self.key.push(level.dml_value());
        push_operator(&mut self.key, operator);
        self.operators.get(self.key.as_slice())
    }
}

/// Adds words that tell an operator from all others. Floats are told apart by their bits.
fn push_operator(key: &mut Vec<u32>, operator: &AbstractOperator) {
    push_long(key, ptr::from_ref(operator.schema()).addr() as u64);
    for value in operator.fields() {
        push_value(key, value);
    }
}

/// The schema tells the type of each value.
fn push_value(key: &mut Vec<u32>, value: &FieldValue) {
    match value {
        FieldValue::Tensor(tensor) => push_all(key, tensor.as_slice(), push_tensor),
        FieldValue::TensorArray(tensors) => push_all(key, tensors, push_tensor),
        FieldValue::OperatorDesc(operator) => {
            push_all(key, operator.as_slice(), |key, it| push_operator(key, it));
        }
        FieldValue::OperatorDescArray(operators) => push_all(key, operators, push_operator),
        FieldValue::Uint(number) => key.push(*number),
        FieldValue::Uint64(number) => push_long(key, *number),
        FieldValue::Int(number) => key.push(number.cast_unsigned()),
        FieldValue::Float(number) => key.push(number.to_bits()),
        FieldValue::UintArray(numbers) => push_all(key, numbers, |key, it| key.push(*it)),
        FieldValue::IntArray(numbers) => {
            push_all(key, numbers, |key, it| key.push(it.cast_unsigned()));
        }
        FieldValue::FloatArray(numbers) => push_all(key, numbers, |key, it| key.push(it.to_bits())),
        FieldValue::ScaleBias(numbers) => {
            push_all(key, numbers.as_slice(), |key, it| key.extend(it.map(f32::to_bits)));
        }
        FieldValue::Size2d(size) => key.extend(size),
        FieldValue::ScalarUnion(scalar) => push_long(key, u64::from_le_bytes(scalar.to_bytes())),
        FieldValue::Bool(truth) => key.push((*truth).into()),
    }
}

fn push_tensor(key: &mut Vec<u32>, tensor: &TensorDesc) {
    key.extend([tensor.data_type.dml_value(), tensor.flags.bits()]);
    push_all(key, &tensor.sizes, |key, it| key.push(*it));
    let strides = tensor.strides.as_ref();
    key.push(strides.is_some().into());
    push_all(key, strides.map_or(&[], Vec::as_slice), |key, it| key.push(*it));
    let bytes = tensor.total_tensor_size_in_bytes;
    push_all(key, bytes.as_slice(), |key, it| push_long(key, *it));
    key.push(tensor.guaranteed_base_offset_alignment);
}

/// How many there are, and each of them. No array has more elements than 32 bits count.
fn push_all<T>(key: &mut Vec<u32>, values: &[T], push: impl Fn(&mut Vec<u32>, &T)) {
    push_long(key, values.len() as u64);
    values.iter().for_each(|value| push(key, value));
}

#[expect(clippy::cast_possible_truncation, reason = "each word has half of the bits")]
fn push_long(key: &mut Vec<u32>, number: u64) {
    key.extend([number as u32, (number >> 32) as u32]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::{ActivationLeakyReluDesc, ElementWiseIdentityDesc};
    use crate::types::DataType;

    fn leaky(sizes: &[u32], alpha: f32) -> AbstractOperator {
        let tensor = TensorDesc::packed(DataType::Float32, sizes);
        ActivationLeakyReluDesc { input_tensor: tensor.clone(), output_tensor: tensor, alpha }
            .into()
    }

    #[test]
    fn equal_operators_are_one_and_others_are_not() {
        let known = KnownOperators::default();
        let level = FeatureLevel::HIGHEST;
        let of = |operator: &AbstractOperator, level| known.validate(operator, level).unwrap();
        let first = of(&leaky(&[2, 3], 0.0), level);
        assert!(Arc::ptr_eq(&first, &of(&leaky(&[2, 3], 0.0), level)));
        for other in [leaky(&[2, 3], -0.0), leaky(&[3, 2], 0.0), leaky(&[2, 3, 1], 0.0)] {
            let found = of(&other, level);
            assert!(!Arc::ptr_eq(&first, &found));
            assert_eq!(format!("{:?}", found.operator()), format!("{other:?}"));
        }
        let tensor = TensorDesc::packed(DataType::Float32, &[2, 3]);
        let strided = tensor.clone().with_strides(&[3, 1]);
        let identity = |input_tensor| {
            let output_tensor = tensor.clone();
            ElementWiseIdentityDesc { input_tensor, output_tensor, scale_bias: None }.into()
        };
        let packed = of(&identity(tensor.clone()), level);
        assert!(!Arc::ptr_eq(&packed, &of(&identity(strided), level)));
        let below = of(&leaky(&[2, 3], 0.0), FeatureLevel::V3_0);
        assert_eq!([first.level(), below.level()], [level, FeatureLevel::V3_0]);
        let refused = leaky(&[0], 0.0);
        for _ in 0..2 {
            assert_eq!(known.validate(&refused, level).err(), validate(&refused, level).err());
        }
    }
}
