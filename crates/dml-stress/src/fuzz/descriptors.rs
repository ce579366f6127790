//! `descriptors`: any operator with any values in its fields, or any JSON, validated at the highest
//! level and another, and lowered for any device.
//!
//! Nothing is executed, so sizes are not bounded: time and memory must be bounded by the runtime.

use dml::core::operators::OPERATORS;
use dml::core::{Error, json, validate};
use dml::{AbstractOperator, FeatureLevel};
use dml_ops::Target;
use dml_reference::Random;

use crate::plans::{capabilities, hostile, transfer, tuning};

pub(super) fn run(bytes: &[u8]) -> bool {
    let is_json = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    let (operator, mut random) = if is_json {
        let Ok(json) = serde_json::from_slice(bytes) else { return true };
        match json::operator(&json) {
            Ok(operator) => (operator, Random::from_bytes(&[])),
            Err(error) => return is_readable(&error),
        }
    } else {
        let mut random = Random::from_bytes(bytes);
        let Some(operator) = operator(&mut random) else { return true };
        (operator, random)
    };
    for level in [FeatureLevel::HIGHEST, random.pick(&FeatureLevel::ALL)] {
        let operator = match validate(&operator, level) {
            Ok(operator) => operator,
            Err(error) => {
                is_readable(&error);
                continue;
            }
        };
        let capabilities = capabilities(&mut random);
        let (tuning, transfer) = (tuning(&mut random), transfer(&mut random));
        let target = Target { capabilities: &capabilities, tuning, transfer };
        match dml_ops::lower(&operator, &target) {
            Ok(plan) => {
                plan.check(&capabilities).unwrap_or_else(|error| panic!("{error}"));
            }
            Err(Error::DeviceLimit { .. }) => {}
            Err(error) => panic!("refused in the wrong way: {error}"),
        }
    }
    true
}

/// One that is implemented, changed from what is legal or with any values; or any other.
fn operator(random: &mut Random) -> Option<AbstractOperator> {
    match random.below(4) {
        0 => hostile::operator(random.pick(OPERATORS), random),
        1 => hostile::operator(random.pick(&dml_ops::OPERATORS).schema(), random),
        _ => {
            let level = FeatureLevel::HIGHEST;
            let operator = crate::plans::legal(random, level).operator;
            Some(hostile::change(&operator, random))
        }
    }
}

pub(super) fn is_readable(error: &Error) -> bool {
    let text = error.to_string();
    assert!(!matches!(error, Error::Internal { .. }), "{text}");
    assert!(!text.contains('\n'), "{text}");
    true
}
