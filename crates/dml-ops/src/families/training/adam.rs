//! Lowers ADAM_OPTIMIZER: a Map for each output, and one element for the rate that all parameters share.
//!
//! ADAM_OPTIMIZER of FLOAT32 [2, 3]:
//!
//! ```text
//! ADAM_OPTIMIZER
//!   input 0 = InputParametersTensor FLOAT32 [2, 3]
//!   input 1 = InputFirstMomentTensor FLOAT32 [2, 3]
//!   input 2 = InputSecondMomentTensor FLOAT32 [2, 3]
//!   input 3 = GradientTensor FLOAT32 [2, 3]
//!   input 4 = TrainingStepTensor UINT32 [1, 1]
//!   output 0 = OutputParametersTensor FLOAT32 [2, 3]
//!   output 1 = OutputFirstMomentTensor FLOAT32 [2, 3]
//!   output 2 = OutputSecondMomentTensor FLOAT32 [2, 3]
//!   %0 = 1 elements of 32 bits
//!   %0 over [] = map u32_to_f32 scale_bias elu opposite square_root scale_bias elu opposite divide scale_bias (input 4)
//!     8 bytes, 10 operations, 1 invocations
//!   output 1 over [2, 3] = map scale_bias scale_bias add (input 1, input 3)
//!     72 bytes, 18 operations, 6 invocations
//!   output 2 over [2, 3] = map scale_bias scale_bias multiply add (input 2, input 3)
//!     72 bytes, 24 operations, 6 invocations
//!   output 0 over [2, 3] = map square_root scale_bias multiply divide subtract (input 0, output 1, output 2, %0 by [0, 0])
//!     100 bytes, 30 operations, 6 invocations
//! ```
//!
//! The parameters are computed from the moments that are written: 10 elements pass for a parameter, 7 of them are read.
//! The first moments are written first, then the second ones and then the parameters, and each element of an input is
//! read for the last time before an output that may be bound to its bytes is written, or by the Map that writes it.

use dml_core::{DataType, Error, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, Value};
use dml_spirv::functions as f;

use crate::Target;
use crate::ir::space::{IterationSpace, Operand, leading};
use crate::ir::{self, Recorder};
use crate::lowering::conversion::{conversion, narrowed, widened};
use crate::lowering::map_builder::MapBuilder;
use crate::lowering::operands::required;

pub(super) fn step(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let mut recorder = Recorder::new(operator, target);
    let [parameters, first, second, gradient, steps] = required(operator, recorder.inputs()?)?;
    let [output, first_output, second_output] = required(operator, recorder.outputs()?)?;
    let tensor = operator.required_tensor("OutputParametersTensor")?;
    let data_type = tensor.data_type();
    let sizes = leading(tensor.sizes(), 1);
    let mut may_be = |inputs: &[&Operand], output: &Operand| {
        let inputs = inputs.iter().map(|input| (*input).clone()).collect();
        recorder.allow_in_place(&IterationSpace { sizes, inputs, output: output.clone() });
    };
    may_be(&[&first], &first_output);
    may_be(&[&first, &second, &gradient], &second_output);
    may_be(&[&parameters, &first, &second, &gradient], &output);
    let rate = rate(operator, &mut recorder, steps)?;
    let betas = [operator.float("Beta1")?, operator.float("Beta2")?];

    for (moment, output, beta, is_squared) in
        [(first, &first_output, betas[0], false), (second, &second_output, betas[1], true)]
    {
        let mut map = MapBuilder::default();
        let inputs = [moment, gradient.clone()].map(|it| map.input(it));
        let [moment, gradient] = inputs.map(|input| map.apply_all(widened(data_type), input));
        let kept = map.times(moment, beta);
        let mut fresh = map.times(gradient, 1.0 - beta);
        if is_squared {
            fresh = map.apply(&f::MULTIPLY_F32, &[fresh, gradient], &[]);
        }
        let sum = map.apply(&f::ADD_F32, &[kept, fresh], &[]);
        map.apply_all(narrowed(data_type), sum);
        map.record(&mut recorder, sizes, output.clone())?;
    }

    let mut map = MapBuilder::default();
    let inputs = [parameters, first_output, second_output].map(|it| map.input(it));
    let [parameter, first, second] = inputs.map(|input| map.apply_all(widened(data_type), input));
    let rate = map.input(rate);
    let root = map.apply(&f::SQUARE_ROOT_F32, &[second], &[]);
    let divisor = map.computation.scaled(root, 1.0, operator.float("Epsilon")?);
    let scaled = map.apply(&f::MULTIPLY_F32, &[rate, first], &[]);
    let by = map.apply(&f::DIVIDE_F32, &[scaled, divisor], &[]);
    let difference = map.apply(&f::SUBTRACT_F32, &[parameter, by], &[]);
    map.apply_all(narrowed(data_type), difference);
    map.record(&mut recorder, sizes, output)?;
    Ok(recorder.finish())
}

/// Adds the steps that write `learning_rate * sqrt(1 - beta2^step) / (1 - beta1^step)`.
fn rate(
    operator: &Validated,
    recorder: &mut Recorder<'_>,
    steps: Operand,
) -> Result<Operand, Error> {
    let data_type = operator.required_tensor("TrainingStepTensor")?.data_type();
    let mut map = MapBuilder::default();
    let step = map.input(steps);
    let step = map.apply_all(conversion(data_type, DataType::Float32), step);
    let numerator = correction(&mut map, step, operator.float("Beta2")?);
    let numerator = map.apply(&f::SQUARE_ROOT_F32, &[numerator], &[]);
    let denominator = correction(&mut map, step, operator.float("Beta1")?);
    let alpha = map.apply(&f::DIVIDE_F32, &[numerator, denominator], &[]);
    map.times(alpha, operator.float("LearningRate")?);
    let rate = recorder.temporary(ElementWidth::B32, 1);
    map.record(recorder, [1; DIMENSIONS], rate.clone())?;
    Ok(rate)
}

/// Adds `1 - beta^step`, computed as the opposite of `e^x - 1`, which loses no digits where the power is near
/// 1. For a step below 0 the result is negative, and has no square root.
fn correction(map: &mut MapBuilder, step: Value, beta: f32) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "the parameter is in single precision")]
    let logarithm = f64::from(beta).ln() as f32;
    let exponent = map.times(step, logarithm);
    let power = map.apply(&f::ELU_F32, &[exponent], &[1.0_f32.to_bits()]);
    map.apply(&f::OPPOSITE_F32, &[power], &[])
}
