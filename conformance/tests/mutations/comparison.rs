//! Results that are near the expected ones, for operators whose comparison allows an error.

use dml::core::operators::FillValueConstantDesc;
use dml::core::plan::Plan;
use dml::core::schema::{Comparison, OperatorSchema};
use dml::core::{DataTypeSet, Error, FieldValue, ScalarUnion, Validated, validate};
use dml::{AbstractOperator, DataType, FeatureLevel, TensorDesc};
use dml_conformance::agreement::compare;
use dml_conformance::cases::{Case, Expectation, listing};
use dml_conformance::execute::{Details, Lowering};
use dml_conformance::outcomes::Outcomes;
use dml_conformance::results::{Agreement, LargestError, ResultCode};
use dml_conformance::runner::run_in_process;
use dml_conformance::target::{Devices, Opening, Profiles, Survey, Target};
use dml_ops::Target as LoweringTarget;
use dml_reference::Case as CornerCase;

use crate::plans::with_other_fields;
use crate::{findings, interpreter, on_a_device};

/// FILL_VALUE_CONSTANT as if it allowed an error, with another value.
struct Filled {
    allowed: u32,
    filled: u64,
}

impl Lowering for Filled {
    fn validate(
        &self,
        operator: &AbstractOperator,
        level: FeatureLevel,
    ) -> Result<Validated, Error> {
        let comparisons = Vec::leak(vec![(DataTypeSet::ALL, Comparison::Ulp(self.allowed))]);
        let schema = OperatorSchema { comparisons, varied: None, ..*operator.schema() };
        // A schema that lives as long as the program, as all schemas do.
        let schema: &'static OperatorSchema = Box::leak(Box::new(schema));
        validate(&AbstractOperator::new(schema, operator.fields().to_vec())?, level)
    }

    fn lower(&self, operator: &Validated, target: &LoweringTarget<'_>) -> Result<Plan, Error> {
        with_other_fields(operator, target, |_, value| match value {
            FieldValue::ScalarUnion(_) => {
                FieldValue::ScalarUnion(ScalarUnion::from_bits(self.filled))
            }
            other => other,
        })
    }
}

/// A case that fills a tensor with `value`.
fn filling(data_type: DataType, value: u64) -> Case {
    let operator = FillValueConstantDesc {
        output_tensor: TensorDesc::packed(data_type, &[2, 3, 1, 5]),
        value_data_type: data_type,
        value: ScalarUnion::from_bits(value),
    };
    Case {
        id: "6_4/fill_value_constant/float32/rank4/value".parse().unwrap(),
        level: FeatureLevel::HIGHEST,
        operator: operator.clone().into(),
        expectation: Expectation::Outputs(Box::new(CornerCase::new("value", operator))),
    }
}

/// The finding on a tensor of `value` that is filled with `filled`, with this allowed error.
fn said(data_type: DataType, value: u64, filled: u64, allowed: u32) -> Option<String> {
    let (cases, lowering) = ([filling(data_type, value)], Filled { allowed, filled });
    let found = findings(&cases, &interpreter(&lowering));
    on_a_device(&lowering, |name, executor| {
        assert_eq!(findings(&cases, executor), found, "{name}");
    });
    found.into_iter().next()
}

const ONE: u64 = 0x3f80_0000;
const NAN: u64 = 0x7fc0_0000;

#[test]
fn a_result_that_is_one_unit_off_is_found_where_none_is_allowed() {
    let found = said(DataType::Float32, ONE, ONE + 1, 0).unwrap();
    let words = "element [0, 0, 0, 0]: expected 1.0 (0x3f800000), found 1.0000001 (0x3f800001); \
                 1 ULP apart, 0 allowed";
    assert!(found.ends_with(words), "{found}");
    assert_eq!(said(DataType::Float32, ONE, ONE + 1, 1), None);
    let found = said(DataType::Float32, ONE, ONE + 2, 1).unwrap();
    assert!(found.ends_with("2 ULP apart, 1 allowed"), "{found}");
    assert!(said(DataType::Float16, 0x3c00, 0x3bff, 0).is_some());
    assert!(said(DataType::Int32, 7, 8, 0).is_some());
    assert!(said(DataType::Int32, 7, 9, 1).is_some(), "more than what it is truncated from");
}

#[test]
fn a_number_for_a_nan_and_a_nan_for_a_number_are_found() {
    assert!(said(DataType::Float32, NAN, ONE, u32::MAX).is_some());
    assert!(said(DataType::Float32, ONE, NAN, u32::MAX).is_some());
    assert_eq!(said(DataType::Float32, NAN, NAN | 1 << 31 | 5, 0), None);
}

#[test]
fn the_wrong_zero_is_found_and_a_zero_for_a_subnormal_is_none() {
    assert!(said(DataType::Float32, 0, 1 << 31, 1).is_some());
    assert_eq!(said(DataType::Float32, 1 << 31 | 9, 1 << 31, 0), None);
    assert!(said(DataType::Float32, 1 << 31 | 9, 0, 0).is_some());
    assert!(said(DataType::Float16, 9, 0, 0).is_some());
}

/// The largest errors that are recorded for a tensor of `value` that is filled with `filled`.
fn errors(data_type: DataType, value: u64, filled: u64) -> Vec<LargestError> {
    let (devices, profiles) = (Devices::Interpreter, Profiles::AsIs);
    let targets = Survey { devices, profiles, opening: Opening::default() }.targets().unwrap();
    let lowering = Filled { allowed: 3, filled };
    let cases = listing(&[filling(data_type, value)]);
    let run = run_in_process(&targets[0], &cases, Some(&lowering), Details::Failures, |_| ());
    run.unwrap().target().errors.clone()
}

#[test]
fn the_largest_error_is_recorded_whether_it_is_allowed_or_not() {
    let recorded = |ulp| LargestError {
        operator: "FILL_VALUE_CONSTANT".to_owned(),
        data_type: "FLOAT32".to_owned(),
        allowed: 3,
        ulp,
        cases: 1,
    };
    for (value, filled, ulp) in [
        (ONE, ONE, Some(0)),
        (ONE, ONE + 2, Some(2)),
        (ONE, ONE + 4, Some(4)),
        (1 << 31 | 9, 1 << 31, Some(0)),
        (NAN, NAN | 5, Some(0)),
        (NAN, ONE, None),
    ] {
        let found = errors(DataType::Float32, value, filled);
        assert_eq!(found, [recorded(ulp)], "{value:#x} {filled:#x}");
    }
    assert_eq!(errors(DataType::Int32, 7, 7), []);
}

/// The comparison of one device that fills with the first value and another with the second, if 1 unit in the
/// last place is allowed.
fn compared(value: u64, filled: [u64; 2]) -> (Agreement, [Outcomes; 2]) {
    let (devices, profiles) = (Devices::All, Profiles::AsIs);
    let opening = Opening { robust_access: Some(true), ..Opening::default() };
    let targets = Survey { devices, profiles, opening }.targets();
    let targets = targets.expect("a Vulkan device; run `cargo xtask test`");
    // A single device is compared with itself.
    let both = [targets.first().unwrap(), targets.last().unwrap()];
    let cases = listing(&[filling(DataType::Float32, value)]);
    let run = |target: &Target, filled| {
        let lowering = Filled { allowed: 1, filled };
        run_in_process(target, &cases, Some(&lowering), Details::Failures, |_| ()).unwrap()
    };
    let mut runs = [run(both[0], filled[0]), run(both[1], filled[1])];
    assert!(runs.iter().all(|run| run.problem(0).is_none()));
    (compare(&mut runs).unwrap(), runs)
}

#[test]
fn devices_that_differ_are_found_though_each_is_near_enough() {
    let (agreement, runs) = compared(ONE, [ONE, ONE + 1]);
    assert_eq!(agreement, Agreement { compared: 1, agreed: 0 });
    let titles = runs.each_ref().map(|run| run.target().title());
    for (this, other) in [(0, 1), (1, 0)] {
        let case = runs[this].result(0);
        let words =
            format!("the results of {} differ from those of {}", titles[this], titles[other]);
        assert_eq!(case.result, ResultCode::Fail);
        assert!(case.detail.as_ref().unwrap().starts_with(&words), "{:?}", case.detail);
    }
}

#[test]
fn devices_may_differ_in_nans_and_subnormals() {
    let agreed = Agreement { compared: 1, agreed: 1 };
    for (value, filled) in [(ONE, [ONE, ONE]), (NAN, [NAN, NAN | 5]), (9, [0, 9])] {
        let (agreement, runs) = compared(value, filled);
        assert_eq!(agreement, agreed, "{value:#x}");
        assert!(runs.iter().all(|run| run.problem(0).is_none()));
    }
}
