//! Random values for inputs that a caller does not give.

use std::collections::HashMap;

use dml_core::DataType;

use crate::convert::convert;
use crate::element::ElementType;
use crate::error::{Error, Requirement, Result};
use crate::graph::{Dimension, Graph, GraphInput};
use crate::inputs::{Input, Inputs};
use crate::limits;
use crate::tensor::{Tensor, byte_count, text};

/// `given`, with random values for all other inputs of the graph that have no default.
pub(crate) fn fill(graph: &Graph, given: &Inputs, seed: u64) -> Result<Inputs> {
    let sizes = graph.named_sizes(given);
    let mut all = given.clone();
    for input in graph.inputs.iter().filter(|input| input.default.is_none()) {
        let Some(name) = input.names.first() else { continue };
        let shape = match input.given(given) {
            Some(Input::Tensor(_)) => continue,
            Some(Input::Shape(shape)) => shape.clone(),
            None => {
                declared(input, &sizes).ok_or_else(|| Error::missing(name, Requirement::Shape))?
            }
        };
        let element = input.element.unwrap_or(ElementType::FLOAT32);
        let tensor = tensor(element, shape, Generator::new(seed, name));
        // The caller may have given the input under another of its names.
        let given_name = input.names.iter().find(|name| given.get(name).is_some());
        all = all.with_tensor(given_name.unwrap_or(name), tensor.map_err(|it| it.in_input(name))?);
    }
    Ok(all)
}

/// The declared shape, with named dimensions as other inputs determine them; `None` if a size is open.
fn declared(input: &GraphInput, sizes: &HashMap<&str, u64>) -> Option<Vec<u64>> {
    let size = |dimension: &Dimension| match dimension {
        Dimension::Known(size) => Some(*size),
        Dimension::Named(name) => sizes.get(name.as_str()).copied(),
        Dimension::Range(first, last) => (first == last).then_some(*first),
    };
    input.shape.as_ref()?.iter().map(size).collect()
}

/// A tensor of random values: floats from -1 to 1, integers and truth values that are 0 or 1.
fn tensor(element: ElementType, shape: Vec<u64>, mut numbers: Generator) -> Result<Tensor> {
    let size = byte_count(element, &shape).filter(|bytes| *bytes <= limits::TENSOR_BYTES);
    let bytes = size.and_then(|bytes| usize::try_from(bytes).ok()).ok_or_else(|| {
        let shape = text(&shape);
        Error::malformed(format!("{element} {shape} cannot be filled with random values"))
    })?;
    let width = usize::try_from(element.size().unwrap_or(1)).unwrap_or(1).clamp(1, 8);
    let mut all = Vec::new();
    all.try_reserve_exact(bytes).map_err(|_| {
        Error::Unreadable(format!("out of host memory for {bytes} bytes of random values"))
    })?;
    let is_integer = element == ElementType::Bool || element.is_integer();
    while all.len() < bytes {
        let number = numbers.next();
        let bits = match is_integer {
            true => number >> 63,
            false => {
                let float = ElementType::Dml(DataType::Float32);
                convert(u64::from(unit(number).to_bits()), float, element)
            }
        };
        all.extend_from_slice(&bits.to_le_bytes()[..width]);
    }
    Tensor::new(element, shape, all)
}

/// A float from -1 (included) to 1 (excluded), from the upper 24 bits of a number.
fn unit(number: u64) -> f32 {
    // A float represents 24 bits exactly.
    let bits = u32::try_from(number >> 40).unwrap_or(0);
    bits as f32 * (2.0 / 16_777_216.0) - 1.0
}

/// SplitMix64: a counter whose bits are mixed.
struct Generator(u64);

impl Generator {
    /// Starts from the seed and the FNV-1a hash of the input's name.
    fn new(seed: u64, name: &str) -> Self {
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(mix(seed) ^ hash)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }
}

fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(element: ElementType, seed: u64, name: &str) -> Tensor {
        tensor(element, vec![1000], Generator::new(seed, name)).unwrap()
    }

    fn floats(tensor: &Tensor) -> Vec<f32> {
        let bits = |it: &[u8]| f32::from_le_bytes([it[0], it[1], it[2], it[3]]);
        tensor.bytes().chunks_exact(4).map(bits).collect()
    }

    #[test]
    fn values_depend_on_the_seed_and_the_name_alone() {
        let x = drawn(ElementType::FLOAT32, 0, "x");
        assert_eq!(x, drawn(ElementType::FLOAT32, 0, "x"));
        assert_ne!(x, drawn(ElementType::FLOAT32, 1, "x"));
        assert_ne!(x, drawn(ElementType::FLOAT32, 0, "y"));
    }

    #[test]
    fn floats_are_spread_from_minus_1_to_1() {
        let values = floats(&drawn(ElementType::FLOAT32, 7, "x"));
        assert!(values.iter().all(|value| (-1.0..1.0).contains(value)));
        let mean = values.iter().sum::<f32>() / 1000.0;
        let square = values.iter().map(|value| value * value).sum::<f32>() / 1000.0;
        assert!(mean.abs() < 0.1 && (square - 1.0 / 3.0).abs() < 0.05, "{mean} {square}");
        // The FLOAT16 values are the FLOAT32 ones, rounded.
        let half = drawn(ElementType::Dml(DataType::Float16), 7, "x");
        let first = half::f16::from_le_bytes([half.bytes()[0], half.bytes()[1]]);
        assert!((first.to_f32() - values[0]).abs() < 1e-3);
    }

    #[test]
    fn integers_and_truth_values_are_0_or_1() {
        for element in [ElementType::INT64, ElementType::Bool, ElementType::Uint4] {
            let values = drawn(element, 0, "x");
            let ones = values.bits().filter(|bits| *bits == 1).count();
            let zeros = values.bits().filter(|bits| *bits == 0).count();
            assert!(ones + zeros == 1000 && ones > 400 && zeros > 400, "{element}: {ones}");
        }
    }
}
