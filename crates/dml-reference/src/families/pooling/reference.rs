//! References of pooling operators by the documentation, window by window.

use dml_core::schema::OperatorSchema;
use dml_core::{DataType, Error, TensorLayout, Validated};

use super::cases::CaseGenerator;
use super::meaning::Meaning;
use crate::families::rows::factor_of;
use crate::number::{double, encoded, single};
use crate::{Random, Reference, Signature};

/// The reference of a pooling operator.
pub(super) struct OfWindows {
    pub(super) schema: &'static OperatorSchema,
    pub(super) meaning: Meaning,
}

/// The windows along a dimension.
struct Extent {
    at: usize,
    window: u32,
    step: u32,
    dilation: u32,
    start: u32,
}

/// The elements of a window.
struct WindowElements {
    /// The coordinate of the output's element.
    coordinate: Vec<usize>,
    /// The positions of the window's elements in the input.
    places: Vec<usize>,
    /// The number of the window's elements, including padding.
    size: f64,
}

fn extents(operator: &Validated, meaning: Meaning) -> Result<Vec<Extent>, Error> {
    let rank = operator.required_tensor("InputTensor")?.sizes().len();
    if meaning == Meaning::Response {
        let window = operator.uint("LocalSize")?;
        let of = |at| Extent { at, window, step: 1, dilation: 1, start: (window - 1) / 2 };
        let range = if operator.bool("CrossChannel")? { 1..2 } else { 2..rank };
        return Ok(range.map(of).collect());
    }
    let array = |name| operator.uint_array(name);
    let (windows, steps, starts) =
        (array("WindowSize")?, array("Strides")?, array("StartPadding")?);
    let of = |at: usize| Extent {
        at: at + 2,
        window: windows[at],
        step: steps[at],
        dilation: array("Dilations").map_or(1, |it| it[at]),
        start: starts[at],
    };
    Ok((0..rank - 2).map(of).collect())
}

fn coordinates(sizes: &[u32]) -> impl Iterator<Item = Vec<usize>> + '_ {
    let count = sizes.iter().map(|size| *size as usize).product();
    (0..count).map(move |number: usize| {
        let mut rest = number;
        let mut coordinate = vec![0; sizes.len()];
        for (at, size) in coordinate.iter_mut().zip(sizes).rev() {
            *at = rest % *size as usize;
            rest /= *size as usize;
        }
        coordinate
    })
}

fn place(sizes: &[u32], coordinate: &[usize]) -> usize {
    sizes.iter().zip(coordinate).fold(0, |number, (size, at)| number * *size as usize + at)
}

/// The input coordinates of a window in one dimension, without padding.
fn inside(extent: &Extent, output: usize, size: u32) -> impl Iterator<Item = usize> + Clone {
    let (first, start) = (output * extent.step as usize, extent.start as usize);
    let dilation = extent.dilation as usize;
    // Padding may be larger than memory, so it is skipped.
    let before = start.saturating_sub(first).div_ceil(dilation);
    let all = (before..extent.window as usize).map(move |at| first + at * dilation - start);
    all.take_while(move |at| *at < size as usize)
}

/// The windows of all output elements, in row-major order.
fn windows<'a>(
    input: &'a [u32],
    output: &'a [u32],
    extents: &'a [Extent],
) -> impl Iterator<Item = WindowElements> + 'a {
    let size = extents.iter().map(|extent| f64::from(extent.window)).product();
    coordinates(output).map(move |coordinate| {
        let mut all = vec![coordinate.clone()];
        for extent in extents {
            let along = inside(extent, coordinate[extent.at], input[extent.at]);
            let with = |it: &Vec<usize>, at: usize| {
                let mut it = it.clone();
                it[extent.at] = at;
                it
            };
            all = all.iter().flat_map(|it| along.clone().map(move |at| with(it, at))).collect();
        }
        let places = all.iter().map(|it| place(input, it)).collect();
        WindowElements { coordinate, places, size }
    })
}

/// A sum of FLOAT32 numbers, rounded once; the sum of negative zeros is -0.
fn sum(values: impl Iterator<Item = f64>) -> f64 {
    single(values.fold(-0.0, |sum, value| sum + value))
}

/// A sort key for elements: NaN is above all others, and zeros are equal.
fn order(data_type: DataType, bits: u64) -> (i128, f64) {
    match data_type.integer_value(bits) {
        Some(value) => (value, 0.0),
        None if double(data_type, bits).is_nan() => (1, 0.0),
        None => (0, double(data_type, bits)),
    }
}

/// The position of the first greatest element, and its bits, where +0 is preferred to -0.
fn greatest(data_type: DataType, elements: &[(usize, u64)]) -> Option<(usize, u64)> {
    let orders: Vec<(i128, f64)> =
        elements.iter().map(|(_, bits)| order(data_type, *bits)).collect();
    let greatest = orders.iter().copied().reduce(|a, b| if b > a { b } else { a })?;
    let is_negative = |bits: u64| bits >> (data_type.bits() - 1) & 1 == 1;
    let equal = || elements.iter().zip(&orders).filter(|(_, order)| **order == greatest);
    let bits = equal().map(|((_, bits), _)| *bits).min_by_key(|bits| is_negative(*bits))?;
    equal().next().map(|((at, _), _)| (*at, bits))
}

impl OfWindows {
    fn maximum(operator: &Validated, taken: &[WindowElements], bits: &[u64]) -> Vec<Vec<u64>> {
        let data_type = operator.required_tensor("InputTensor").map(TensorLayout::data_type);
        let data_type = data_type.unwrap_or(DataType::Float32);
        let least = match data_type.integer_range() {
            Some((least, _)) => data_type.integer_bits(least),
            None => encoded(data_type, f64::NEG_INFINITY),
        };
        let of = |it: &WindowElements| {
            let elements: Vec<(usize, u64)> = it.places.iter().map(|at| (*at, bits[*at])).collect();
            let none = u64::from(u32::MAX);
            greatest(data_type, &elements).map_or((none, least), |(at, bits)| (at as u64, bits))
        };
        let found: Vec<(u64, u64)> = taken.iter().map(of).collect();
        let mut outputs = vec![found.iter().map(|it| it.1).collect()];
        if operator.tensors(dml_core::schema::FieldKind::Output).count() > 1 {
            outputs.push(found.iter().map(|it| it.0).collect());
        }
        outputs
    }

    /// The result for a window of `size` elements, of which `inside` are in the input.
    fn of_floats(
        &self,
        operator: &Validated,
        inside: &[f64],
        size: f64,
        x: f64,
    ) -> Result<f64, Error> {
        // Padding counts as +0.
        let padding = ((inside.len() as f64) < size).then_some(0.0);
        let window = || inside.iter().copied().chain(padding);
        Ok(match self.meaning {
            Meaning::Norm => {
                let degree = f64::from(operator.uint("P")?);
                let factor = if (2.0..=48.0).contains(&degree) { factor_of(inside) } else { 1.0 };
                let powers = window().map(|window| single((window * factor).abs().powf(degree)));
                single(sum(powers).powf(1.0 / degree)) / factor
            }
            Meaning::Response => {
                let squares = sum(window().map(|window| window.powi(2)));
                let [alpha, beta, bias] =
                    ["Alpha", "Beta", "Bias"].map(|it| operator.float(it).map(f64::from));
                let size = f64::from(operator.uint("LocalSize")?);
                // The divisor is FLOAT32, so a power may overflow or underflow.
                x / single(single(bias? + alpha? / size * squares).powf(beta?))
            }
            _ if operator.bool("IncludePadding")? => sum(window()) / size,
            _ => sum(window()) / inside.len() as f64,
        })
    }

    fn quantized(
        operator: &Validated,
        taken: &[WindowElements],
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<u64>, Error> {
        let data_type = operator.required_tensor("InputTensor")?.data_type();
        let bits = inputs[0].as_deref().unwrap_or_default();
        let includes = operator.bool("IncludePadding")?;
        let of = |it: &WindowElements| {
            let channel = |index: usize, data_type: DataType| {
                let elements = inputs[index].as_deref().unwrap_or(&[0]);
                let at = if elements.len() > 1 { it.coordinate[1] } else { 0 };
                double(data_type, elements[at])
            };
            let zero_point = channel(2, data_type);
            let inside: Vec<f64> =
                it.places.iter().map(|at| double(data_type, bits[*at])).collect();
            let count = if includes { it.size } else { inside.len() as f64 };
            let sum: f64 = inside.iter().map(|it| it - zero_point).sum();
            let average = single(single(sum) / count);
            let real = single(average * channel(1, DataType::Float32));
            let quotient = single(real / channel(3, DataType::Float32)).round_ties_even();
            encoded(data_type, (quotient + channel(4, data_type)).trunc())
        };
        Ok(taken.iter().map(of).collect())
    }
}

impl Reference for OfWindows {
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
        let extents = extents(operator, self.meaning)?;
        let taken: Vec<WindowElements> = windows(input.sizes(), output.sizes(), &extents).collect();
        let data_type = input.data_type();
        match self.meaning {
            Meaning::Maximum => return Ok(Self::maximum(operator, &taken, bits)),
            Meaning::Quantized => return Ok(vec![Self::quantized(operator, &taken, inputs)?]),
            _ => {}
        }
        let of = |it: &WindowElements| {
            let value = |at: usize| double(data_type, bits[at]);
            let inside: Vec<f64> = it.places.iter().map(|at| value(*at)).collect();
            let x = bits.get(place(input.sizes(), &it.coordinate));
            let x = x.filter(|_| self.meaning == Meaning::Response);
            let x = x.map_or(0.0, |bits| double(data_type, *bits));
            Ok(encoded(data_type, self.of_floats(operator, &inside, it.size, x)?))
        };
        Ok(vec![taken.iter().map(of).collect::<Result<_, Error>>()?])
    }

    fn may_flush(&self, _operator: &Validated, _index: usize) -> bool {
        self.meaning != Meaning::Maximum
    }

    fn input_elements(
        &self,
        random: &mut Random,
        _operator: &Validated,
        index: usize,
        layout: &TensorLayout,
    ) -> Vec<u64> {
        let data_type = layout.data_type();
        let is_scale = self.meaning == Meaning::Quantized && matches!(index, 1 | 3);
        let of_sums = !matches!(self.meaning, Meaning::Maximum | Meaning::Quantized);
        let element = |random: &mut Random| {
            let magnitude = f64::from(1 + random.below(4000)) / 1000.0;
            let special = [0.0, -0.0, f64::INFINITY, f64::NAN];
            match random.below(200) {
                _ if is_scale => encoded(data_type, magnitude),
                it @ 0..4 if of_sums => encoded(data_type, special[it as usize]),
                it if of_sums => {
                    encoded(data_type, if it % 3 == 0 { -magnitude } else { magnitude })
                }
                _ => random.input_element(data_type),
            }
        };
        (0..layout.element_count()).map(|_| element(random)).collect()
    }

    fn shares_cases(&self) -> bool {
        true
    }

    cases_by!(self, signature: self.maker(signature));
}

impl OfWindows {
    fn maker<'a>(&self, signature: &'a Signature) -> CaseGenerator<'a> {
        CaseGenerator { schema: self.schema, meaning: self.meaning, signature }
    }
}
