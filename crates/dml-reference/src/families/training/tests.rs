//! Tests gradients as slopes: a gradient must equal the slope of a weighted sum of the forward operator's
//! results, found by differences of its reference.

mod batch;
mod regions;
mod resample;
mod windows;

use dml_core::schema::FieldKind;
use dml_core::{AbstractOperator, DataType, FeatureLevel, TensorDesc, validate};

use crate::Random;
use crate::number::{double, encoded};

fn packed(sizes: &[u32]) -> TensorDesc {
    TensorDesc::packed(DataType::Float32, sizes)
}

/// Random numbers from `least` to `least + 1` for the elements of a tensor.
fn numbers(name: &str, sizes: &[u32], least: f64) -> Vec<f64> {
    let mut random = Random::new(name);
    let count: u32 = sizes.iter().product();
    (0..count).map(|_| least + f64::from(random.below(1 << 20)) / f64::from(1 << 20)).collect()
}

/// The outputs for these elements of FLOAT32 inputs, where those of an input that is left out are empty.
fn outputs(operator: &AbstractOperator, inputs: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let operator = validate(operator, FeatureLevel::HIGHEST).unwrap();
    let types =
        operator.tensors(FieldKind::Input).map(|(_, it)| it.map(dml_core::TensorLayout::data_type));
    let bits = |(values, data_type): (&Vec<f64>, Option<DataType>)| {
        data_type.map(|data_type| values.iter().map(|value| encoded(data_type, *value)).collect())
    };
    let inputs: Vec<Option<Vec<u64>>> = inputs.iter().zip(types).map(bits).collect();
    let reference = crate::find(operator.schema().operator_type).unwrap();
    let outputs = reference.outputs(&operator, &inputs).unwrap();
    let value = |bits: &u64| double(DataType::Float32, *bits);
    outputs.iter().map(|output| output.iter().map(value).collect()).collect()
}

/// The slope of the sum of the first output's elements times `weights`, in the direction of each element of an
/// input.
fn slopes(
    operator: &AbstractOperator,
    inputs: &[Vec<f64>],
    input: usize,
    weights: &[f64],
) -> Vec<f64> {
    // The outputs are rounded to single precision; the step is chosen so that rounding and curvature cause
    // similar errors.
    const STEP: f64 = 1.0 / 256.0;
    let sum = |at: usize, by: f64| {
        let mut moved = inputs.to_vec();
        moved[input][at] += by;
        let outputs = outputs(operator, &moved);
        outputs[0].iter().zip(weights).map(|(value, weight)| value * weight).sum::<f64>()
    };
    (0..inputs[input].len()).map(|at| (sum(at, STEP) - sum(at, -STEP)) / (2.0 * STEP)).collect()
}

fn assert_near(what: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let greatest = expected.iter().fold(0.0_f64, |greatest, it| greatest.max(it.abs()));
    assert!(greatest > 0.01, "{what} is 0 everywhere: {expected:?}");
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).abs();
        assert!(error < 2e-3 * greatest, "{what} {at}: {found}, not {expected}");
    }
}
