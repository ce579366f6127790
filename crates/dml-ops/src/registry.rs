//! Which operators are implemented.

use std::sync::LazyLock;

use dml_core::capabilities::Features;
use dml_core::plan::Plan;
use dml_core::{AbstractOperator, Capabilities, Error, FeatureLevel, Tuning, Validated, validate};

use crate::families::{
    attention, blocks, copy, diagonal, element_wise, fill, index, nonzero, products, random,
    recurrent, regions, resample, rows, sorting, windows,
};
use crate::{Operator, Target, TransferUse};

/// Every implemented operator, by ascending operator number.
pub static OPERATORS: LazyLock<Vec<&'static Operator>> = LazyLock::new(|| {
    let families = [
        attention::OPERATORS,
        blocks::OPERATORS,
        copy::OPERATORS,
        diagonal::OPERATORS,
        element_wise::OPERATORS,
        fill::OPERATORS,
        index::OPERATORS,
        nonzero::OPERATORS,
        products::OPERATORS,
        random::OPERATORS,
        recurrent::OPERATORS,
        regions::OPERATORS,
        resample::OPERATORS,
        rows::OPERATORS,
        sorting::OPERATORS,
        windows::OPERATORS,
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

/// Lowers any operator.
///
/// # Errors
/// [`Error::NotImplemented`], and what [`Operator::lower`] gives.
pub fn lower(operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
    let schema = operator.schema();
    match find(schema.operator_type) {
        Some(implementation) => implementation.lower(operator, target),
        None => Err(Error::NotImplemented {
            operator: schema.name,
            implemented: OPERATORS.iter().map(|o| o.schema().name).collect::<Vec<_>>().join(", "),
        }),
    }
}

/// The preferred plan of an operator and, where that has transfers, the one for buffers of storage
/// usage alone. `lower` makes a plan for buffers of either kind, such as [`lower`] does.
///
/// # Errors
/// What `lower` gives. That the device cannot carry what only buffers of storage usage need is none:
/// they are rare, and binding them refuses it.
pub fn lower_both(
    has_transfers: bool,
    mut lower: impl FnMut(TransferUse) -> Result<Plan, Error>,
) -> Result<(Plan, Option<Plan>), Error> {
    let preferred = if has_transfers { TransferUse::Allowed } else { TransferUse::StorageOnly };
    let plan = lower(preferred)?;
    if plan.is_dispatch_only() {
        return Ok((plan, None));
    }
    match lower(TransferUse::StorageOnly) {
        Ok(storage_only) => Ok((plan, Some(storage_only))),
        Err(Error::DeviceLimit { .. }) => Ok((plan, None)),
        Err(error) => Err(error),
    }
}

/// The optional features that the kernels use which are selected for `operator` at `level`, on a device
/// that has `capabilities`. None where it does not run.
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
    use dml_core::plan::{Fill, Slot, Step};
    use dml_core::{DataType, TensorDesc};

    use super::*;
    use crate::families::diagonal::cases::diagonal;
    use crate::tests::lower_with;

    /// A plan with a transfer where those are allowed, else what `storage_only` gives.
    fn both(storage_only: Result<Plan, Error>) -> Result<(Plan, Option<Plan>), Error> {
        lower_both(true, |transfer| match transfer {
            TransferUse::Allowed => Ok(plan(true)),
            TransferUse::StorageOnly => storage_only.clone(),
        })
    }

    fn plan(has_transfer: bool) -> Plan {
        let output_tensor = TensorDesc::packed(DataType::Int32, &[2, 2]);
        let desc = diagonal(output_tensor, 0, 1.0);
        let mut plan = lower_with(desc, Tuning::default(), TransferUse::StorageOnly);
        if has_transfer {
            plan.exec.push(Step::Fill(Fill { slot: Slot::Output(0), range: 0..4, pattern: 0 }));
        }
        plan
    }

    #[test]
    fn only_what_the_device_cannot_carry_leaves_the_second_plan_out() {
        let operator = "TEST";
        assert_eq!(both(Ok(plan(false))), Ok((plan(true), Some(plan(false)))));
        let limit = Error::DeviceLimit {
            operator,
            field: "OutputTensor",
            needed: 2,
            unit: "bytes",
            limit: "maxStorageBufferRange",
            available: 1,
        };
        assert_eq!(both(Err(limit)), Ok((plan(true), None)));
        let internal = Error::Internal { operator, problem: "of storage usage alone".to_owned() };
        assert_eq!(both(Err(internal.clone())), Err(internal));
    }

    #[test]
    fn a_plan_of_dispatches_needs_no_second_one() {
        for has_transfers in [true, false] {
            let lowered = std::cell::Cell::new(0);
            let both = lower_both(has_transfers, |_| {
                lowered.set(lowered.get() + 1);
                Ok(plan(false))
            });
            assert_eq!((both, lowered.get()), (Ok((plan(false), None)), 1));
        }
    }

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
