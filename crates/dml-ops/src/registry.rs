//! The registry of implemented operators.

use std::sync::LazyLock;

use dml_core::capabilities::Features;
use dml_core::plan::Plan;
use dml_core::{AbstractOperator, Capabilities, Error, FeatureLevel, Tuning, Validated, validate};

use crate::families::{
    attention, convolution, data_movement, diagonal, element_wise, fill, gather_scatter, matmul,
    nonzero, normalization, pooling, quantization, random, recurrent, reduce, resample, roi,
    softmax, sort, training,
};
use crate::{Operator, Target, TransferUse};

/// Every implemented operator, in ascending order of operator numbers.
pub static OPERATORS: LazyLock<Vec<&'static Operator>> = LazyLock::new(|| {
    let families = [
        attention::OPERATORS,
        convolution::OPERATORS,
        data_movement::OPERATORS,
        diagonal::OPERATORS,
        element_wise::OPERATORS,
        fill::OPERATORS,
        gather_scatter::OPERATORS,
        matmul::OPERATORS,
        nonzero::OPERATORS,
        normalization::OPERATORS,
        pooling::OPERATORS,
        quantization::OPERATORS,
        random::OPERATORS,
        recurrent::OPERATORS,
        reduce::OPERATORS,
        resample::OPERATORS,
        roi::OPERATORS,
        softmax::OPERATORS,
        sort::OPERATORS,
        training::OPERATORS,
    ];
    let mut all = families.concat();
    all.sort_by_key(|operator| operator.schema().operator_type);
    all
});

/// The implementation of the operator with DirectML's number `operator_type`.
pub fn find(operator_type: u32) -> Option<&'static Operator> {
    let mut operators = OPERATORS.iter().copied();
    operators.find(|operator| operator.schema().operator_type == operator_type)
}

/// Lowers a validated operator.
///
/// # Errors
/// [`Error::NotImplemented`], and the errors of [`Operator::lower`].
pub fn lower(operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
    implementation(operator)?.lower(operator, target)
}

/// The implementation of a validated operator.
///
/// # Errors
/// [`Error::NotImplemented`] if the operator has none.
pub fn implementation(operator: &Validated) -> Result<&'static Operator, Error> {
    let schema = operator.schema();
    find(schema.operator_type).ok_or_else(|| Error::NotImplemented {
        operator: schema.name,
        implemented: OPERATORS.iter().map(|o| o.schema().name).collect::<Vec<_>>().join(", "),
    })
}

/// The optional features of the kernels that are selected for `operator` at `level`, on a device with
/// `capabilities`. `None` where the operator does not run.
pub fn used_features(
    operator: &AbstractOperator,
    level: FeatureLevel,
    capabilities: &Capabilities,
) -> Features {
    let Ok(validated) = validate(operator, level) else { return Features::NONE };
    let plan = |transfer| {
        lower(&validated, &Target { capabilities, tuning: Tuning::default(), transfer }).ok()
    };
    let plans = [TransferUse::Allowed, TransferUse::StorageOnly].into_iter().filter_map(plan);
    plans.fold(Features::NONE, |used, plan| used.or(plan.required_features()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_schema_calls_implemented_is_and_the_other_way_round() {
        let schemas = dml_core::operators::OPERATORS.iter();
        let rows: Vec<u32> = schemas
            .filter(|schema| schema.implemented)
            .map(|schema| schema.operator_type)
            .collect();
        let implemented: Vec<u32> =
            OPERATORS.iter().map(|operator| operator.schema().operator_type).collect();
        assert_eq!(rows, implemented);
        assert!(rows.is_sorted());
    }
}
