//! References of resampling by the documentation, element by element.

use dml_core::schema::{Comparison, OperatorSchema};
use dml_core::{AxisDirection, DataType, Error, InterpolationMode, TensorLayout, Validated};

use super::cases::CaseGenerator;
use crate::number::{double, encoded};
use crate::{Random, Reference};

/// The reference of a resampling operator.
pub(super) struct Resampled {
    pub(super) schema: &'static OperatorSchema,
}

fn is_linear(operator: &Validated) -> Result<bool, Error> {
    Ok(operator.uint("InterpolationMode")? == InterpolationMode::Linear.dml_value())
}

fn scale(operator: &Validated, at: usize) -> Result<f32, Error> {
    let Ok([width, height]) = operator.size_2d("ScaleSize") else {
        return Ok(operator.float_array("Scales")?[at]);
    };
    Ok(match operator.required_tensor("InputTensor")?.sizes().len() - at {
        1 => width as f32,
        2 => height as f32,
        _ => 1.0,
    })
}

/// The coordinate in the input, with every step in single precision.
fn coordinate(operator: &Validated, at: usize, number: usize) -> Result<f32, Error> {
    let offset = |name, default: f32| operator.float_array(name).map_or(default, |it| it[at]);
    let (input, output) = (offset("InputPixelOffsets", 0.5), offset("OutputPixelOffsets", -0.5));
    Ok((number as f32 - output) / scale(operator, at)? - input)
}

/// The elements along a dimension that contribute, with their weights.
fn shares(operator: &Validated, at: usize, number: usize) -> Result<Vec<(usize, f64)>, Error> {
    let last = operator.required_tensor("InputTensor")?.sizes()[at] - 1;
    let x = coordinate(operator, at, number)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is clamped to coordinates"
    )]
    let nearest = |x: f32| x.clamp(0.0, last as f32) as usize;
    if is_linear(operator)? {
        let within = x.clamp(0.0, last as f32);
        let scale = scale(operator, at)?;
        if operator.bool("Antialiased").unwrap_or(false) && scale < 1.0 {
            return Ok(smoothed(within, scale, last));
        }
        let weight = f64::from(within.fract());
        return Ok(vec![
            (nearest(within.floor()), 1.0 - weight),
            (nearest(within.floor() + 1.0), weight),
        ]);
    }
    let whole = match operator.uint("RoundingDirection") {
        Ok(it) if it == AxisDirection::Increasing.dml_value() => x.ceil(),
        Ok(_) => x.floor(),
        Err(_) => (x + 0.5).floor(),
    };
    Ok(vec![(nearest(whole), 1.0)])
}

/// All elements closer than the distance between output elements, with weights that fall linearly.
fn smoothed(center: f32, scale: f32, last: u32) -> Vec<(usize, f64)> {
    let weight = |at: u32| {
        let distance = (f64::from(at) - f64::from(center)).abs();
        (at as usize, (1.0 - distance * f64::from(scale)).max(0.0))
    };
    let all: Vec<(usize, f64)> = (0..=last).map(weight).filter(|it| it.1 > 0.0).collect();
    let sum: f64 = all.iter().map(|it| it.1).sum();
    all.into_iter().map(|(at, weight)| (at, weight / sum)).collect()
}

impl Reference for Resampled {
    fn schema(&self) -> &'static OperatorSchema {
        self.schema
    }

    fn outputs(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        let [input, output] =
            ["InputTensor", "OutputTensor"].map(|it| operator.required_tensor(it));
        let (input, output) = (input?, output?);
        let bits = inputs[0].as_deref().unwrap_or_default();
        let element = |number: u64| {
            let mut rest = usize::try_from(number).unwrap_or(0);
            // Positions in the input and their weights, innermost dimension first.
            let mut taken = vec![(0, 1.0)];
            let mut stride = 1;
            for at in (0..output.sizes().len()).rev() {
                let size = output.sizes()[at] as usize;
                let shares = shares(operator, at, rest % size)?;
                rest /= size;
                let all = taken.iter().flat_map(|(place, weight)| {
                    let (place, weight) = (*place, *weight);
                    shares.iter().map(move |(at, share)| (place + at * stride, weight * share))
                });
                taken = all.filter(|(_, weight)| *weight != 0.0).collect();
                stride *= input.sizes()[at] as usize;
            }
            Ok(mean(input.data_type(), bits, &taken))
        };
        Ok(vec![(0..output.element_count()).map(element).collect::<Result<_, Error>>()?])
    }

    fn may_flush(&self, operator: &Validated, _index: usize) -> bool {
        is_linear(operator).unwrap_or(false)
    }

    fn comparison(&self, operator: &Validated, data_type: DataType) -> Comparison {
        match is_linear(operator) {
            Ok(true) => operator.schema().comparison(data_type),
            _ => Comparison::BitExact,
        }
    }

    /// Positive numbers for weighted means, so that few digits are lost.
    fn input_elements(
        &self,
        random: &mut Random,
        operator: &Validated,
        _index: usize,
        layout: &TensorLayout,
    ) -> Vec<u64> {
        let data_type = layout.data_type();
        let is_mean = is_linear(operator).unwrap_or(false) && data_type.integer_range().is_none();
        let mut element = || match is_mean {
            true => encoded(data_type, f64::from(1 + random.below(4000)) / 1000.0),
            false => random.input_element(data_type),
        };
        (0..layout.element_count()).map(|_| element()).collect()
    }

    cases_by!(self, signature: CaseGenerator { schema: self.schema, signature });
}

/// The weighted mean of elements; integers are rounded to nearest, ties to even.
fn mean(data_type: DataType, bits: &[u64], taken: &[(usize, f64)]) -> u64 {
    if let [(place, _)] = taken {
        return bits[*place];
    }
    let value = |place: usize| double(data_type, bits[place]);
    let mean: f64 = taken.iter().map(|(place, weight)| weight * value(*place)).sum();
    match data_type.integer_range() {
        Some(_) => encoded(data_type, mean.round_ties_even()),
        None => encoded(data_type, mean),
    }
}
