//! The support query agrees with validation and lowering, over all signatures.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use dml_core::capabilities::{Capabilities, Features};
use dml_core::support::{Emulation, Support, query, query_tensors};
use dml_core::{AbstractOperator, Error, FeatureLevel, Tuning, validate};
use dml_ops::{OPERATORS, Operator, Target, TransferUse, lower, used_features};
use dml_reference::Signature;

/// A device with every feature enabled, and one without any feature that a kernel could use.
fn devices() -> [Capabilities; 2] {
    let least = Capabilities::vulkan_minimum();
    [Capabilities { features: Features::ALL, ..least.clone() }, least]
}

/// The smallest operator of this signature.
fn minimal(operator: &Operator, signature: &Signature) -> AbstractOperator {
    dml_reference::find(operator.schema().operator_type).unwrap().minimal(signature)
}

/// The result for the smallest operator of a signature: `Ok` if it is lowered for every kind of buffer, else
/// the error.
fn outcome(
    operator: &Operator,
    signature: &Signature,
    level: FeatureLevel,
    capabilities: &Capabilities,
) -> Result<(), Error> {
    let validated = validate(&minimal(operator, signature), level)?;
    for transfer in [TransferUse::Allowed, TransferUse::StorageOnly] {
        lower(&validated, &Target { capabilities, tuning: Tuning::new(), transfer })?;
    }
    Ok(())
}

fn space(operator: &Operator) -> Vec<Signature> {
    Signature::all(operator.schema()).collect()
}

/// The answer of the query for the smallest operator of a signature.
fn ask(
    operator: &Operator,
    signature: &Signature,
    level: FeatureLevel,
    device: &Capabilities,
) -> Support {
    let operator = minimal(operator, signature);
    query_tensors(&operator, level, used_features(&operator, level, device))
}

#[test]
fn the_query_says_what_compiling_does() {
    let mut answers = 0;
    for operator in OPERATORS.iter().copied() {
        for level in FeatureLevel::ALL {
            for cell in space(operator) {
                for device in devices() {
                    let schema = operator.schema();
                    let answer = ask(operator, &cell, level, &device);
                    let outcome = outcome(operator, &cell, level, &device);
                    let place = format!("{} {cell:?} at {level}: {answer}", schema.name);
                    if let [data_type] = *cell.types {
                        // All tensors are alike, and so the best of their answers is any of them.
                        let smallest = minimal(operator, &cell);
                        let used = used_features(&smallest, level, &device);
                        assert_eq!(query(schema, data_type, cell.rank, level, used), answer);
                    }
                    assert_eq!(answer.runs(), outcome.is_ok(), "{place}, but {outcome:?}");
                    answers += 1;
                    let Err(error) = outcome else { continue };
                    // The error names the first problem, so it can ask for less than everything would need.
                    let Error::FeatureLevel(refusal) = error else { panic!("{place}: {error}") };
                    match answer {
                        Support::Never => assert!(refusal.needs.is_none_or(|need| need > level)),
                        Support::NeedsLevel(needed) => {
                            assert!(refusal.needs.is_some_and(|need| need <= needed), "{place}");
                        }
                        other => panic!("{place}: {other}"),
                    }
                }
            }
        }
    }
    let cells: usize = OPERATORS.iter().map(|operator| space(operator).len()).sum();
    assert_eq!(answers, cells * 15 * 2);
}

#[test]
fn the_level_that_is_needed_is_the_lowest_that_accepts() {
    let device = Capabilities::vulkan_minimum();
    for operator in OPERATORS.iter().copied() {
        for cell in space(operator) {
            let ask = |level| ask(operator, &cell, level, &device);
            let accepts = |level| outcome(operator, &cell, level, &device).is_ok();
            let lowest = FeatureLevel::ALL.into_iter().find(|level| accepts(*level));
            for level in FeatureLevel::ALL {
                let place = format!("{} {cell:?} at {level}", operator.schema().name);
                match lowest {
                    None => assert_eq!(ask(level), Support::Never, "{place}"),
                    Some(lowest) if level < lowest => {
                        assert_eq!(ask(level), Support::NeedsLevel(lowest), "{place}");
                    }
                    Some(_) => assert!(ask(level).runs(), "{place}"),
                }
            }
        }
    }
}

/// Types of 32 bits are every device's own; others are where a kernel uses a feature, which a device without
/// features has none of.
#[test]
fn native_is_what_the_selected_kernels_have_of_the_hardware() {
    for device in devices() {
        for operator in OPERATORS.iter().copied() {
            for cell in space(operator) {
                let answer = ask(operator, &cell, FeatureLevel::HIGHEST, &device);
                let widths: Vec<u32> =
                    cell.types.iter().map(|data_type| data_type.bits()).collect();
                let place = format!("{} {cell:?}: {answer}", operator.schema().name);
                match answer {
                    Support::Native if device.features == Features::ALL => {}
                    Support::Native => assert!(widths.iter().all(|width| *width == 32), "{place}"),
                    Support::Emulated(Emulation::TwoWords) => {
                        assert!(widths.contains(&64), "{place}");
                    }
                    Support::Emulated(_) => {
                        assert!(widths.iter().any(|width| *width < 32), "{place}");
                    }
                    _ => assert!(!answer.runs(), "{place}"),
                }
            }
        }
    }
}
