//! Lowers batch normalization by the moments of the batch, and the gradients of batch normalization.
//!
//! BATCH_NORMALIZATION_TRAINING of FLOAT32 [2, 3] with a scale for each of the 3 columns:
//!
//! ```text
//! BATCH_NORMALIZATION_TRAINING
//!   input 0 = InputTensor FLOAT32 [2, 3]
//!   input 1 = ScaleTensor FLOAT32 [1, 3]
//!   input 2 = BiasTensor FLOAT32 [1, 3]
//!   output 0 = OutputTensor FLOAT32 [2, 3]
//!   output 1 = OutputMeanTensor FLOAT32 [1, 3]
//!   output 2 = OutputVarianceTensor FLOAT32 [1, 3]
//!   %0 = 3 elements of 32 bits
//!   rows
//!     output 1 by [0, 1] over [2, 3] = reduce windows sum_high sum_rest of_both of same, then divide_by (input 0)
//!     output 2 by [0, 1] over [2, 3] = reduce windows sum_high sum_rest of_both of subtract multiply, then divide_by (input 0, output 1 by [0, 1])
//!     %0 over [3] = map scale_bias square_root (output 2)
//!     output 0 over [2, 3] = map subtract divide multiply add (input 0, output 1 by [0, 1], %0 by [0, 1], input 1 by [0, 1], input 2 by [0, 1])
//!     96 bytes, 54 operations, 6 invocations
//! ```
//!
//! A row has all elements that share a scale: it goes along the dimensions in which the scale has a size of
//! 1. Everything is computed in FLOAT32, and each step is rounded.

use dml_core::{DataType, Error, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::Value;
use dml_spirv::functions as f;
use dml_spirv::reduce::SUM_F32;

use crate::Target;
use crate::families::element_wise::activated;
use crate::ir::space::{Operand, leading};
use crate::ir::{self, Recorder};
use crate::lowering::conversion::{narrowed, widened};
use crate::lowering::map_builder::MapBuilder;
use crate::lowering::operands::required;
use crate::lowering::rows::Sizes;

/// The recorder of a batch normalization, with the sizes of its tensors.
struct Batch<'a> {
    recorder: Recorder<'a>,
    /// The sizes of tensors with all elements.
    sizes: Sizes,
    /// The sizes of tensors with one element for each row.
    rows: Sizes,
    data_type: DataType,
}

/// An operand and the data type of its elements.
#[derive(Clone)]
struct Typed(Operand, DataType);

impl<'a> Batch<'a> {
    /// The batch of an operator. The first field names a tensor with all elements, and the second one a
    /// tensor with an element for each row.
    fn new(
        operator: &'a Validated,
        target: &'a Target<'a>,
        [all, row]: [&str; 2],
    ) -> Result<Self, Error> {
        let (all, row) = (operator.required_tensor(all)?, operator.required_tensor(row)?);
        Ok(Self {
            recorder: Recorder::new(operator, target),
            sizes: leading(all.sizes(), 1),
            rows: leading(row.sizes(), 1),
            data_type: all.data_type(),
        })
    }

    /// The number of elements of a row, as a divisor in FLOAT32.
    fn length(&self) -> f32 {
        let along = self.sizes.iter().zip(&self.rows).filter(|(_, row)| **row == 1);
        along.map(|(size, _)| u64::from(*size)).product::<u64>() as f32
    }

    /// A tensor with all elements.
    fn of_elements(&self, operand: Operand) -> Typed {
        Typed(operand, self.data_type)
    }

    /// A tensor with an element for each row, repeated along the row.
    fn of_rows(&self, operand: Operand) -> Typed {
        Typed(operand.repeated(&self.rows), self.data_type)
    }

    /// A FLOAT32 temporary with an element for each row.
    fn temporary(&mut self) -> Typed {
        Typed(self.recorder.packed_temporary(ElementWidth::B32, &self.rows), DataType::Float32)
    }

    /// Adds a Map that writes the result of `compute` in a space of these sizes.
    fn map<const N: usize>(
        &mut self,
        sizes: Sizes,
        inputs: [&Typed; N],
        output: &Typed,
        compute: impl FnOnce(&mut MapBuilder, [Value; N]) -> Value,
    ) -> Result<(), Error> {
        let (mut map, values) = loaded(inputs);
        let value = compute(&mut map, values);
        map.apply_all(narrowed(output.1), value);
        map.record(&mut self.recorder, sizes, output.0.clone())
    }

    /// Adds a Map that computes a FLOAT32 number for each row from other numbers of the rows.
    fn row<const N: usize>(
        &mut self,
        inputs: [&Typed; N],
        compute: impl FnOnce(&mut MapBuilder, [Value; N]) -> Value,
    ) -> Result<Typed, Error> {
        let output = self.temporary();
        self.map(self.rows, inputs, &output, compute)?;
        Ok(output)
    }

    /// Adds a Reduce that sums the results of `compute` along each row, and divides by `divisor` if there is one.
    fn sum<const N: usize>(
        &mut self,
        inputs: [&Typed; N],
        output: &Typed,
        divisor: Option<f32>,
        compute: impl FnOnce(&mut MapBuilder, [Value; N]) -> Value,
    ) -> Result<(), Error> {
        let (mut map, values) = loaded(inputs);
        let value = compute(&mut map, values);
        let to = (self.sizes, output.0.clone().repeated(&self.rows));
        let (space, reduction) = map.reduced(value, &SUM_F32, to, |map, mut result| {
            if let Some(divisor) = divisor {
                result = map.apply(&f::DIVIDE_BY_F32, &[result], &[divisor.to_bits()]);
            }
            map.apply_all(narrowed(output.1), result);
        });
        // Rows of several dimensions, such as channels of images, are read in place: one dimension after the
        // other, in an order that depends on their sizes alone.
        self.recorder.reduce_windows(space, reduction)
    }

    /// Adds the mean of the results of `compute` along each row, written to `output`.
    fn mean<const N: usize>(
        &mut self,
        inputs: [&Typed; N],
        output: Typed,
        compute: impl FnOnce(&mut MapBuilder, [Value; N]) -> Value,
    ) -> Result<Typed, Error> {
        let length = self.length();
        self.sum(inputs, &output, Some(length), compute)?;
        Ok(output)
    }

    /// A buffer for numbers that are also an output: the output where that is FLOAT32, else a temporary.
    fn place_of(&mut self, output: &Operand) -> Typed {
        match self.data_type {
            DataType::Float32 => self.of_rows(output.clone()),
            _ => self.temporary(),
        }
    }

    /// Writes an output from the numbers of [`Self::place_of`], unless they were written there.
    fn write_rows(&mut self, number: &Typed, output: Operand) -> Result<(), Error> {
        if number.1 == self.data_type {
            return Ok(());
        }
        let output = self.of_rows(output);
        self.map(self.rows, [number], &output, |_, [number]| number)
    }
}

/// A Map that begins by converting its inputs' elements to FLOAT32.
fn loaded<const N: usize>(inputs: [&Typed; N]) -> (MapBuilder, [Value; N]) {
    let mut map = MapBuilder::default();
    let values = inputs.map(|Typed(operand, _)| map.input(operand.clone()));
    let mut types = inputs.iter().map(|Typed(_, data_type)| *data_type);
    let values = values.map(|value| {
        let data_type = types.next().unwrap_or(DataType::Float32);
        map.apply_all(widened(data_type), value)
    });
    (map, values)
}

fn plus(map: &mut MapBuilder, a: Value, b: Value) -> Value {
    map.apply(&f::ADD_F32, &[a, b], &[])
}

fn less(map: &mut MapBuilder, a: Value, b: Value) -> Value {
    map.apply(&f::SUBTRACT_F32, &[a, b], &[])
}

fn times(map: &mut MapBuilder, a: Value, b: Value) -> Value {
    map.apply(&f::MULTIPLY_F32, &[a, b], &[])
}

fn over(map: &mut MapBuilder, a: Value, b: Value) -> Value {
    map.apply(&f::DIVIDE_F32, &[a, b], &[])
}

fn root(map: &mut MapBuilder, a: Value) -> Value {
    map.apply(&f::SQUARE_ROOT_F32, &[a], &[])
}

/// BATCH_NORMALIZATION_TRAINING: `activation(scale * ((x - mean) / sqrt(variance + epsilon)) + bias + fused add)`.
pub(super) fn normalize(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let mut batch = Batch::new(operator, target, ["OutputTensor", "ScaleTensor"])?;
    let mut inputs = batch.recorder.inputs()?;
    let added = inputs.pop().flatten().map(|it| batch.of_elements(it));
    let [x, scale, bias] = required(operator, inputs)?;
    let [output, output_mean, output_variance] = required(operator, batch.recorder.outputs()?)?;
    let (x, output) = (batch.of_elements(x), batch.of_elements(output));
    let [scale, bias] = [scale, bias].map(|it| batch.of_rows(it));
    let epsilon = operator.float("Epsilon")?;

    let place = batch.place_of(&output_mean);
    let mean = batch.mean([&x], place, |_, [x]| x)?;
    let place = batch.place_of(&output_variance);
    let variance = batch.mean([&x, &mean], place, |map, [x, mean]| {
        let difference = less(map, x, mean);
        times(map, difference, difference)
    })?;
    let deviation = batch.row([&variance], |map, [variance]| {
        let sum = map.computation.scaled(variance, 1.0, epsilon);
        root(map, sum)
    })?;
    let (mut map, [x, of_mean, deviation, scale, bias]) =
        loaded([&x, &mean, &deviation, &scale, &bias]);
    let difference = less(&mut map, x, of_mean);
    let normalized = over(&mut map, difference, deviation);
    let scaled = times(&mut map, normalized, scale);
    let mut value = plus(&mut map, scaled, bias);
    if let Some(Typed(added, data_type)) = added {
        let added = map.input(added);
        let added = map.apply_all(widened(data_type), added);
        value = plus(&mut map, value, added);
    }
    let value = activated(operator, &mut map.computation, value)?;
    map.apply_all(narrowed(output.1), value);
    map.record(&mut batch.recorder, batch.sizes, output.0)?;
    batch.write_rows(&mean, output_mean)?;
    batch.write_rows(&variance, output_variance)?;
    Ok(batch.recorder.finish())
}

/// The tensors of an operator that computes the gradients of the input, the scale and the bias.
struct Gradients {
    x: Typed,
    gradient: Typed,
    mean: Typed,
    variance: Typed,
    scale: Typed,
    of_x: Typed,
    of_scale: Typed,
    of_bias: Operand,
    epsilon: f32,
}

impl Gradients {
    fn of(operator: &Validated, batch: &Batch<'_>) -> Result<Self, Error> {
        let [x, gradient, mean, variance, scale] = required(operator, batch.recorder.inputs()?)?;
        let [of_x, of_scale, of_bias] = required(operator, batch.recorder.outputs()?)?;
        Ok(Self {
            x: batch.of_elements(x),
            gradient: batch.of_elements(gradient),
            mean: batch.of_rows(mean),
            variance: batch.of_rows(variance),
            scale: batch.of_rows(scale),
            of_x: batch.of_elements(of_x),
            of_scale: batch.of_rows(of_scale),
            of_bias,
            epsilon: operator.float("Epsilon")?,
        })
    }

    /// Writes the gradient of the scale: `sum(gradient * (x - mean) / deviation)`.
    fn write_of_scale(&self, batch: &mut Batch<'_>, deviation: &Typed) -> Result<(), Error> {
        let inputs = [&self.gradient, &self.x, &self.mean, deviation];
        batch.sum(inputs, &self.of_scale, None, |map, [gradient, x, mean, deviation]| {
            let difference = less(map, x, mean);
            let product = times(map, gradient, difference);
            over(map, product, deviation)
        })
    }

    /// The sum of the gradients of each row, which is the gradient of the bias.
    fn sum(&self, batch: &mut Batch<'_>) -> Result<Typed, Error> {
        let output = batch.place_of(&self.of_bias);
        batch.sum([&self.gradient], &output, None, |_, [gradient]| gradient)?;
        Ok(output)
    }
}

const LIKE: [&str; 2] = ["OutputGradientTensor", "MeanTensor"];

/// Lowers BATCH_NORMALIZATION_GRAD: the mean and the variance are constants.
pub(super) fn gradient(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let mut batch = Batch::new(operator, target, LIKE)?;
    let of = Gradients::of(operator, &batch)?;
    let epsilon = of.epsilon;
    let deviation = batch.row([&of.variance], |map, [variance]| {
        let sum = map.computation.scaled(variance, 1.0, epsilon);
        root(map, sum)
    })?;
    let sum = of.sum(&mut batch)?;
    of.write_of_scale(&mut batch, &deviation)?;
    let factor = batch
        .row([&of.scale, &deviation], |map, [scale, deviation]| over(map, scale, deviation))?;
    let sizes = batch.sizes;
    batch.map(sizes, [&of.gradient, &factor], &of.of_x, |map, [gradient, factor]| {
        times(map, gradient, factor)
    })?;
    batch.write_rows(&sum, of.of_bias)?;
    Ok(batch.recorder.finish())
}

/// Lowers BATCH_NORMALIZATION_TRAINING_GRAD: the mean and the variance of each row depend on every element of
/// the row.
pub(super) fn gradient_in_training(
    operator: &Validated,
    target: &Target<'_>,
) -> Result<ir::Program, Error> {
    let mut batch = Batch::new(operator, target, LIKE)?;
    let of = Gradients::of(operator, &batch)?;
    let (epsilon, length) = (of.epsilon, batch.length());
    let shifted = batch
        .row([&of.variance], |map, [variance]| map.computation.scaled(variance, 1.0, epsilon))?;
    let deviation = batch.row([&shifted], |map, [shifted]| root(map, shifted))?;
    let sum = of.sum(&mut batch)?;
    let mean_of_gradients = batch
        .row([&sum], |map, [sum]| map.apply(&f::DIVIDE_BY_F32, &[sum], &[length.to_bits()]))?;
    let place = batch.temporary();
    let mean = batch.mean([&of.x], place, |_, [x]| x)?;
    let place = batch.temporary();
    let mean_of_products =
        batch.mean([&of.gradient, &of.x, &mean], place, |map, [gradient, x, mean]| {
            let difference = less(map, x, mean);
            times(map, gradient, difference)
        })?;
    of.write_of_scale(&mut batch, &deviation)?;
    let factor = batch.row([&of.scale, &deviation], |map, [scale, deviation]| {
        let reciprocal = map.apply(&f::RECIPROCAL_F32, &[deviation], &[]);
        times(map, scale, reciprocal)
    })?;
    let sizes = batch.sizes;
    let inputs =
        [&of.gradient, &mean_of_gradients, &of.x, &mean, &mean_of_products, &shifted, &factor];
    batch.map(
        sizes,
        inputs,
        &of.of_x,
        |map, [gradient, mean, x, mean_of_x, products, shifted, factor]| {
            let centered = less(map, x, mean_of_x);
            let product = times(map, centered, products);
            let by_variance = over(map, product, shifted);
            let gradient = less(map, gradient, mean);
            let difference = less(map, gradient, by_variance);
            times(map, factor, difference)
        },
    )?;
    batch.write_rows(&sum, of.of_bias)?;
    Ok(batch.recorder.finish())
}
