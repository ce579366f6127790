//! References must be able to fail: an operator that gives zeros, the mean of its results, or the results of
//! swapped operands, is found by its cases.

use std::collections::{BTreeMap, BTreeSet};

use dml_core::schema::{Comparison, OperatorSchema};
use dml_core::{
    AbstractOperator, Capabilities, DataType, Error, FeatureLevel, TensorLayout, Tuning, Validated,
    validate,
};
use dml_reference::number::{double, encoded};
use dml_reference::{Case, Memory, Random, Reference, Signature, run_on_host};

use super::{reference, signatures};
use crate::{OPERATORS, Operator, Target, TransferUse};

/// A wrong result that stands for the right one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fake {
    Zeros,
    Mean,
    /// The result with the first two inputs swapped.
    Swapped,
}

const FAKES: [Fake; 3] = [Fake::Zeros, Fake::Mean, Fake::Swapped];

/// A reference that expects a wrong result.
struct Wrong<'a> {
    right: &'a dyn Reference,
    fake: Fake,
}

impl Wrong<'_> {
    fn of(&self, operator: &Validated, answer: Vec<Vec<u64>>) -> Vec<Vec<u64>> {
        let outputs = operator.tensors(dml_core::schema::FieldKind::Output);
        let types = outputs.map(|(_, layout)| layout.map(TensorLayout::data_type));
        let change = |(elements, data_type): (Vec<u64>, Option<DataType>)| match self.fake {
            Fake::Swapped => elements,
            Fake::Zeros => vec![0; elements.len()],
            Fake::Mean => {
                vec![data_type.map_or(0, |data_type| mean(&elements, data_type)); elements.len()]
            }
        };
        answer.into_iter().zip(types).map(change).collect()
    }

    fn inputs(&self, inputs: &[Option<Vec<u64>>]) -> Vec<Option<Vec<u64>>> {
        let mut inputs = inputs.to_vec();
        if self.fake == Fake::Swapped {
            inputs.swap(0, 1);
        }
        inputs
    }
}

/// The mean of the elements that are not NaN.
fn mean(elements: &[u64], data_type: DataType) -> u64 {
    let float = |bits: &u64| double(data_type, *bits);
    let numbers: Vec<f64> = elements.iter().map(float).filter(|it| it.is_finite()).collect();
    #[expect(clippy::cast_precision_loss, reason = "tensors of cases are small")]
    let mean = numbers.iter().sum::<f64>() / numbers.len().max(1) as f64;
    encoded(data_type, mean)
}

impl Reference for Wrong<'_> {
    fn schema(&self) -> &'static OperatorSchema {
        self.right.schema()
    }

    fn outputs(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        Ok(self.of(operator, self.right.outputs(operator, &self.inputs(inputs))?))
    }

    fn flushed_outputs(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        Ok(self.of(operator, self.right.flushed_outputs(operator, &self.inputs(inputs))?))
    }

    fn may_flush(&self, operator: &Validated, index: usize) -> bool {
        self.right.may_flush(operator, index)
    }

    fn may_be_subnormal_within(&self, operator: &Validated) -> bool {
        self.right.may_be_subnormal_within(operator)
    }

    fn input_elements(
        &self,
        random: &mut Random,
        operator: &Validated,
        index: usize,
        layout: &TensorLayout,
    ) -> Vec<u64> {
        self.right.input_elements(random, operator, index, layout)
    }

    fn minimal(&self, signature: &Signature) -> AbstractOperator {
        self.right.minimal(signature)
    }

    fn cases(&self, signature: &Signature) -> Vec<Case> {
        self.right.cases(signature)
    }

    fn random(&self, random: &mut Random, signature: &Signature) -> Case {
        self.right.random(random, signature)
    }

    fn comparison(&self, operator: &Validated, data_type: DataType) -> Comparison {
        self.right.comparison(operator, data_type)
    }
}

/// Whether the operator's results differ from the wrong reference's.
fn is_found(operator: &Operator, case: &Case, fake: Fake) -> bool {
    let capabilities = &Capabilities::vulkan_minimum();
    let target = Target { capabilities, tuning: Tuning::new(), transfer: TransferUse::Allowed };
    let validated = validate(&case.operator, FeatureLevel::HIGHEST).unwrap();
    let case = Case { documented: None, ..case.clone() };
    let wrong = Wrong { right: reference(operator), fake };
    let memory = Memory::new(&wrong, &validated, &case).unwrap();
    let plan = operator.lower(&validated, &target).unwrap();
    memory.check(&run_on_host(&plan, &case.aliases(), &memory, capabilities).unwrap()).is_err()
}

/// Whether a case can tell them apart: swapped operands must have one type and size, and both be present.
fn can_tell(case: &Case, fake: Fake) -> bool {
    let validated = validate(&case.operator, FeatureLevel::HIGHEST).unwrap();
    let mut inputs = validated.tensors(dml_core::schema::FieldKind::Input).map(|(_, it)| it);
    let mut next = || inputs.next().flatten().map(|it| (it.data_type(), it.sizes().to_vec()));
    fake != Fake::Swapped
        || (case.in_place.is_empty() && next().is_some_and(|it| next() == Some(it)))
}

/// Operators for which the order of the first two inputs does not matter.
const COMMUTATIVE: [&str; 14] = [
    "ELEMENT_WISE_ADD",
    "ELEMENT_WISE_ADD1",
    "ELEMENT_WISE_BIT_AND",
    "ELEMENT_WISE_BIT_OR",
    "ELEMENT_WISE_BIT_XOR",
    "ELEMENT_WISE_DIFFERENCE_SQUARE",
    "ELEMENT_WISE_LOGICAL_AND",
    "ELEMENT_WISE_LOGICAL_EQUALS",
    "ELEMENT_WISE_LOGICAL_OR",
    "ELEMENT_WISE_LOGICAL_XOR",
    "ELEMENT_WISE_MAX",
    "ELEMENT_WISE_MEAN",
    "ELEMENT_WISE_MIN",
    "ELEMENT_WISE_MULTIPLY",
];

#[test]
fn zeros_the_mean_and_swapped_operands_are_found() {
    let mut missed = BTreeMap::<Fake, BTreeSet<&str>>::new();
    for operator in OPERATORS.iter().copied() {
        let mut left: BTreeSet<Fake> = FAKES.into();
        let mut applicable = BTreeSet::new();
        for case in signatures(operator).flat_map(|it| reference(operator).chosen_cases(&it)) {
            let fakes: Vec<Fake> = left.iter().copied().filter(|it| can_tell(&case, *it)).collect();
            applicable.extend(fakes.iter().copied());
            left.retain(|it| !fakes.contains(it) || !is_found(operator, &case, *it));
            if left.is_empty() {
                break;
            }
        }
        for fake in left.intersection(&applicable) {
            missed.entry(*fake).or_default().insert(operator.schema().name);
        }
    }
    assert_eq!(missed, BTreeMap::from([(Fake::Swapped, COMMUTATIVE.into())]));
}
