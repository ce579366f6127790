//! What the support query says is what validation and lowering do, over the whole space.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use dml_core::capabilities::{Capabilities, Features};
use dml_core::kernel::Feature;
use dml_core::operators::ELEMENT_WISE_ADD;
use dml_core::support::{Support, query, query_tensors};
use dml_core::{Error, FeatureLevel, Tuning, validate};
use dml_ops::reference::Signature;
use dml_ops::{OPERATORS, Operator, Target, TransferUse, lower};

/// A device that offers everything, and one that offers nothing.
fn devices() -> [Capabilities; 2] {
    let least = Capabilities::vulkan_minimum();
    let all = Feature::ALL.into_iter().fold(Features::default(), |all, it| all.with(it, true));
    [Capabilities { features: all, ..least.clone() }, least]
}

/// What happens to the smallest operator of this signature: `Ok` where it is lowered for every
/// kind of buffer, else the refusal.
fn outcome(
    operator: &Operator,
    signature: &Signature,
    level: FeatureLevel,
    offered: &Capabilities,
) -> Result<(), Error> {
    let validated = validate(&operator.reference().minimal(signature), level)?;
    // A device enables no optional feature, whatever it offers.
    let capabilities = &Capabilities { features: Features::default(), ..offered.clone() };
    for transfer in [TransferUse::Allowed, TransferUse::StorageOnly] {
        lower(&validated, &Target { capabilities, tuning: Tuning::new(), transfer })?;
    }
    Ok(())
}

fn space(operator: &Operator) -> Vec<Signature> {
    Signature::all(operator.schema()).collect()
}

/// What the query says of the smallest operator of this signature.
fn ask(
    operator: &Operator,
    signature: &Signature,
    level: FeatureLevel,
    device: &Capabilities,
) -> Support {
    query_tensors(&operator.reference().minimal(signature), level, device)
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
                        assert_eq!(query(schema, data_type, cell.rank, level, &device), answer);
                    }
                    assert_eq!(answer.runs(), outcome.is_ok(), "{place}, but {outcome:?}");
                    answers += 1;
                    let Err(error) = outcome else { continue };
                    // The refusal names the first finding, so it can need less than everything does.
                    let Error::FeatureLevel(refusal) = error else { panic!("{place}: {error}") };
                    match answer {
                        Support::Never => assert!(refusal.needs.is_none_or(|it| it > level)),
                        Support::NeedsLevel(needed) => {
                            assert!(refusal.needs.is_some_and(|it| it <= needed), "{place}");
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

#[test]
fn native_and_emulated_differ_by_what_the_device_offers_alone() {
    let [everything, nothing] = devices();
    for schema in dml_core::operators::OPERATORS {
        for Signature { types, rank } in Signature::all(&ELEMENT_WISE_ADD) {
            let data_type = types[0];
            let ask = |device| query(schema, data_type, rank, FeatureLevel::HIGHEST, device);
            match (ask(&everything), ask(&nothing)) {
                (Support::Native, Support::Native) => assert_eq!(data_type.bits(), 32),
                (Support::Native, Support::Emulated(_)) => assert_ne!(data_type.bits(), 32),
                (one, other) => {
                    assert_eq!(one, other);
                    assert!(!schema.implemented || one == Support::Never, "{}", schema.name);
                }
            }
        }
    }
}
