//! References of training operators, whose cases are derived from a list of operators with packed tensors.

use dml_core::schema::{Comparison, FieldKind, OperatorSchema};
use dml_core::{AbstractOperator, DataType, Error, TensorLayout, Validated};

use super::cases::{CaseGenerator, Meaning};
use super::given::{ExecutionInputs, FlushToZero};
use crate::number::{double, encoded, flush, single};
use crate::{BrokenRule, Case, Random, Reference, Signature};

/// The reference of a training operator.
pub(super) struct Trained(pub(super) &'static dyn Meaning);

impl Trained {
    fn maker<'a>(&self, signature: &'a Signature) -> CaseGenerator<'a> {
        CaseGenerator { schema: self.0.schema(), meaning: self.0, signature }
    }

    fn by_numbers(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
        step: FlushToZero,
    ) -> Result<Vec<Vec<u64>>, Error> {
        let numbers = |((_, tensor), bits): ((_, Option<&TensorLayout>), &Option<Vec<u64>>)| {
            let number = |bits: &u64| {
                double(tensor.map_or(DataType::Float32, TensorLayout::data_type), *bits)
            };
            bits.iter().flatten().map(number).map(step).collect()
        };
        let numbers = operator.tensors(FieldKind::Input).zip(inputs).map(numbers).collect();
        let outputs = self.0.outputs(&ExecutionInputs { operator, inputs: numbers, step })?;
        let of = |((_, tensor), values): ((_, Option<&TensorLayout>), Vec<f64>)| {
            let data_type = tensor.map_or(DataType::Float32, TensorLayout::data_type);
            values.into_iter().map(|value| encoded(data_type, single(value))).collect()
        };
        Ok(operator.tensors(FieldKind::Output).zip(outputs).map(of).collect())
    }
}

impl Reference for Trained {
    fn schema(&self) -> &'static OperatorSchema {
        self.0.schema()
    }

    fn outputs(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        self.by_numbers(operator, inputs, |it| it)
    }

    fn flushed_outputs(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        self.by_numbers(operator, inputs, flush)
    }

    fn may_flush(&self, operator: &Validated, index: usize) -> bool {
        self.0.may_flush(operator, index)
    }

    fn may_be_subnormal_within(&self, _operator: &Validated) -> bool {
        true
    }

    fn comparison(&self, operator: &Validated, data_type: DataType) -> Comparison {
        self.0.comparison(operator, data_type)
    }

    fn input_elements(
        &self,
        random: &mut Random,
        operator: &Validated,
        index: usize,
        layout: &TensorLayout,
    ) -> Vec<u64> {
        self.0.elements(random, operator, index, layout)
    }

    fn minimal(&self, signature: &Signature) -> AbstractOperator {
        self.maker(signature).minimal()
    }

    fn cases(&self, signature: &Signature) -> Vec<Case> {
        self.maker(signature).cases()
    }

    fn random(&self, random: &mut Random, signature: &Signature) -> Case {
        self.maker(signature).random(random)
    }

    fn broken_rules(&self, signature: &Signature) -> Vec<BrokenRule> {
        self.0.broken_rules(&self.maker(signature))
    }
}
