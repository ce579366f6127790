//! Defects in the checks of bindings, and in the binding itself.

use dml::core::operators::DiagonalMatrix1Desc;
use dml::core::plan::{Plan, Slot};
use dml::core::{Error as LoweringError, ScalarUnion, Validated};
use dml::{AbstractOperator, DataType, FeatureLevel, TensorDesc};
use dml_conformance::cases::{BadBinding, Case, Expectation};
use dml_conformance::execute::{Executable, Executor, Runtime};
use dml_reference::{Case as CornerCase, Memory, MemoryAfter};

use crate::{check_found, findings, on_a_device};

const KINDS: [BadBinding; 4] =
    [BadBinding::TooSmall, BadBinding::Unaligned, BadBinding::OutOfBuffer, BadBinding::Missing];

/// Replaces the binding that the runner asks for.
type Change = fn(Option<(Slot, BadBinding)>) -> Option<(Slot, BadBinding)>;

/// A device that binds another way.
struct Rebound<'a>(&'a dyn Executor, Change);

impl Executor for Rebound<'_> {
    fn compile(
        &self,
        operator: &AbstractOperator,
        level: FeatureLevel,
    ) -> dml::Result<Box<dyn Executable + '_>> {
        Ok(Box::new(ReboundOperator(self.0.compile(operator, level)?, self.1)))
    }
}

struct ReboundOperator<'a>(Box<dyn Executable + 'a>, Change);

impl Executable for ReboundOperator<'_> {
    fn operator(&self) -> &Validated {
        self.0.operator()
    }

    fn plan(&self, corner: &CornerCase) -> Result<Plan, LoweringError> {
        self.0.plan(corner)
    }

    fn execute(&self, corner: &CornerCase, memory: &Memory) -> Result<MemoryAfter, String> {
        self.0.execute(corner, memory)
    }

    fn bind(&self, wrong: Option<(Slot, BadBinding)>) -> Option<dml::Result<()>> {
        self.0.bind((self.1)(wrong))
    }
}

/// Cases of an operator with an input and an output, with each kind of wrong binding.
fn cases() -> Vec<Case> {
    let tensor = || TensorDesc::packed(DataType::Int16, &[1, 1, 2, 3]);
    let operator = DiagonalMatrix1Desc {
        input_tensor: Some(tensor()),
        output_tensor: tensor(),
        value_data_type: DataType::Int16,
        value: ScalarUnion::from_bits(7),
        diagonal_fill_begin: 0,
        diagonal_fill_end: 1,
    };
    let case = |bad: BadBinding| Case {
        id: format!("5_1/diagonal_matrix1/int16/rank4/{bad:?}").parse().unwrap(),
        level: FeatureLevel::V5_1,
        operator: operator.clone().into(),
        expectation: Expectation::InvalidBinding(bad),
    };
    KINDS.map(case).to_vec()
}

fn check(change: Change, words: &str) {
    let cases = cases();
    on_a_device(&Runtime, |name, executor| {
        let rebound = Rebound(executor, change);
        assert_eq!(findings(&cases, &rebound).len(), KINDS.len(), "{name}: each kind finds it");
        check_found(name, &cases, &rebound, words);
    });
}

#[test]
fn bindings_of_inputs_and_outputs_are_refused() {
    on_a_device(&Runtime, |name, executor| {
        assert_eq!(findings(&cases(), executor), [""; 0], "{name}");
    });
}

#[test]
fn an_output_s_binding_that_is_not_checked_is_found() {
    let words = "Output(0) with a wrong binding (Missing): bound and executed";
    check(|wrong| wrong.filter(|(slot, _)| *slot != Slot::Output(0)), words);
}

#[test]
fn an_input_s_binding_that_is_not_checked_is_found() {
    let words = "Input(0) with a wrong binding (Unaligned): bound and executed";
    check(|wrong| wrong.filter(|(slot, _)| *slot != Slot::Input(0)), words);
}

/// Otherwise a case would pass whose input was never bound, whatever the defect of its output.
#[test]
fn a_refusal_for_another_reason_is_found() {
    let unbound: Change = |wrong| wrong.or(Some((Slot::Input(0), BadBinding::Missing)));
    check(unbound, "right bindings are refused");
}
