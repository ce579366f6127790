//! The coordinates of nonzero elements, one element after the other.

use dml_core::operators::NONZERO_COORDINATES;
use dml_core::schema::OperatorSchema;
use dml_core::{AbstractOperator, Error, TensorLayout, Validated};

use super::cases;
use crate::number::double;
use crate::{BrokenRule, Case, Random, Reference, Signature};

pub(super) struct Nonzero;

impl Reference for Nonzero {
    fn schema(&self) -> &'static OperatorSchema {
        &NONZERO_COORDINATES
    }

    fn outputs(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        let input = operator.required_tensor("InputTensor")?;
        let columns = operator.required_tensor("OutputCoordinatesTensor")?.sizes();
        let columns = columns.last().copied().unwrap_or_default() as usize;
        let (data_type, sizes) = (input.data_type(), input.sizes());
        let elements = inputs.iter().flatten().next().map_or(&[][..], Vec::as_slice);
        let is_zero = |bits: u64| match data_type.integer_range() {
            Some(_) => bits == 0,
            None => double(data_type, bits) == 0.0,
        };
        let mut rows = Vec::new();
        for (index, _) in elements.iter().enumerate().filter(|(_, bits)| !is_zero(**bits)) {
            let mut rest = index as u64;
            let mut row = Vec::new();
            for size in sizes.iter().rev() {
                row.push(rest % u64::from(*size));
                rest /= u64::from(*size);
            }
            row.truncate(columns);
            rows.extend(row.into_iter().rev());
        }
        let count = rows.len() / columns;
        rows.resize(elements.len() * columns, 0);
        Ok(vec![vec![count as u64], rows])
    }

    /// Half of the elements are 0.
    fn input_elements(
        &self,
        random: &mut Random,
        _operator: &Validated,
        _index: usize,
        layout: &TensorLayout,
    ) -> Vec<u64> {
        let mut element = |_| match random.one_in(2) {
            true => 0,
            false => random.input_element(layout.data_type()),
        };
        (0..layout.element_count()).map(&mut element).collect()
    }

    fn may_flush(&self, _operator: &Validated, _index: usize) -> bool {
        false
    }

    fn minimal(&self, signature: &Signature) -> AbstractOperator {
        cases::minimal(signature)
    }

    fn cases(&self, signature: &Signature) -> Vec<Case> {
        cases::cases(signature)
    }

    fn random(&self, random: &mut Random, signature: &Signature) -> Case {
        cases::random(random, signature)
    }

    fn broken_rules(&self, signature: &Signature) -> Vec<BrokenRule> {
        cases::broken_rules(signature)
    }
}
