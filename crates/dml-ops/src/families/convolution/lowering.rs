//! Lowers convolutions to Contract nodes.
//!
//! CONVOLUTION of FLOAT32 [1, 2, 3, 3] with a filter [4, 2, 2, 2], a bias and a fused ACTIVATION_RELU:
//!
//! ```text
//! CONVOLUTION
//!   input 0 = InputTensor FLOAT32 [1, 2, 3, 3]
//!   input 1 = FilterTensor FLOAT32 [4, 2, 2, 2]
//!   input 2 = BiasTensor FLOAT32 [1, 4, 1, 1]
//!   output 0 = OutputTensor FLOAT32 [1, 4, 2, 2]
//!   %0 = 16 elements of 32 bits
//!   %0 = contract input 1 by input 0: batches [1], rows 4, columns [1, 2, 2], depths [2, 2, 2]
//!     264 bytes, 256 operations, 16 invocations
//!   output 0 over [4, 2, 2] = map add relu (%0, input 2 by [1, 0, 0])
//!     144 bytes, 32 operations, 16 invocations
//! ```
//!
//! The rows of a Contract are the output channels of a group, its columns the output positions, and its depths the
//! input channels and filter positions. Padding is copied around the input as zeros, which are multiplied like all
//! other elements. A transposed convolution has one Contract for each phase of its strides.

use dml_core::{Error, TensorLayout, Validated};
use dml_spirv::element_wise::DIMENSIONS;

use super::factors::{CHANNEL, Factors};
use super::taps::{Extent, Phase};
use crate::families::products::{Geometry, ProductRecorder, Words};
use crate::ir::space::Operand;
use crate::ir::{Dimension, Numbers, Sums};
use dml_spirv::ElementWidth;

/// The dimensions of batches and of channels; the spatial dimensions follow.
const BATCH: usize = 0;
const PLACES: usize = 2;

/// Whether an optional attribute of the operator is 1; `otherwise` if the operator does not have it.
fn says(operator: &Validated, name: &str, otherwise: bool) -> Result<bool, Error> {
    match operator.schema().has_field(name) {
        true => operator.uint(name).map(|it| it == 1),
        false => Ok(otherwise),
    }
}

/// Whether the convolution is a transposed one.
pub(super) fn is_backward(operator: &Validated) -> Result<bool, Error> {
    says(operator, "Direction", false)
}

/// Whether the filter is mirrored, so that its last element comes first.
pub(super) fn is_reversed(operator: &Validated) -> Result<bool, Error> {
    says(operator, "Mode", true).map(|is_correlation| !is_correlation)
}

/// Convolution: a filter slides over an input.
pub(super) struct Convolution;

/// The state that all phases of a convolution share.
struct Parts<'a> {
    input: Words,
    filter: Words,
    output: &'a Words,
    batches: u32,
    groups: u32,
    /// The numbers of input and output channels in a group.
    channels: [u32; 2],
    /// The filter's strides along input channels, output channels, and groups.
    filter_strides: [i64; 3],
}

impl Geometry for Convolution {
    const FACTORS: [&'static str; 2] = ["InputTensor", "FilterTensor"];

    fn add_up(products: &mut ProductRecorder<'_>, output: &Words) -> Result<(), Error> {
        let operator = products.operator;
        let sizes = |name: &str| operator.required_tensor(name).map(TensorLayout::sizes);
        let [of_input, of_filter, of_output] =
            [sizes("InputTensor")?, sizes("FilterTensor")?, sizes("OutputTensor")?];
        let (is_backward, is_reversed) = (is_backward(operator)?, is_reversed(operator)?);
        let (mut phases, mut margins) = (vec![], vec![[0; 2]; PLACES]);
        for at in PLACES..of_input.len() {
            let all = [of_input[at], of_filter[at], of_output[at]];
            let extent = Extent::of(operator, at - PLACES, all)?;
            let of_dimension = if is_backward { extent.backward() } else { extent.forward() };
            margins.push(extent.margins(&of_dimension));
            phases.push(of_dimension);
        }
        let groups = operator.uint("GroupCount")?;
        let out_channels = of_output[CHANNEL] / groups;
        let Factors { mut input, mut filter, in_channels, numbers } =
            Factors::of(products, &margins, is_backward)?;
        let channels = [in_channels, out_channels];
        for (stride, [before, _]) in input.strides.iter().zip(&margins) {
            input.place.base += i64::from(*before) * stride;
        }
        if is_reversed {
            let places = filter.strides.iter_mut().zip(of_filter).skip(PLACES);
            for (stride, size) in places {
                filter.place.base += i64::from(size - 1) * *stride;
                *stride = -*stride;
            }
        }
        let [first, second] = [filter.strides[0], filter.strides[1]];
        let filter_strides = match is_backward {
            true => [first, second, first * i64::from(channels[0])],
            false => [second, first, first * i64::from(channels[1])],
        };
        let parts = Parts {
            input,
            filter,
            output,
            batches: of_input[BATCH],
            groups,
            channels,
            filter_strides,
        };
        let mut all = vec![];
        for phases in combined(&phases) {
            if phases.iter().any(|phase| phase.outputs[2] == 0) {
                continue;
            }
            match phases.iter().any(|phase| phase.taps[2] == 0) {
                true => parts.zeros(products, &phases)?,
                false => all.push(parts.sums(&phases, numbers.clone())),
            }
        }
        products.recorder.contract(all)
    }
}

/// Every combination of one phase in each dimension.
fn combined(phases: &[Vec<Phase>]) -> Vec<Vec<Phase>> {
    phases.iter().fold(vec![vec![]], |all: Vec<Vec<Phase>>, of_dimension| {
        let with = |some: &Vec<Phase>| {
            let with = |one: &Phase| [some.as_slice(), &[*one]].concat();
            of_dimension.iter().map(with).collect::<Vec<_>>()
        };
        all.iter().flat_map(with).collect()
    })
}

impl Parts<'_> {
    fn sums(&self, phases: &[Phase], numbers: Numbers) -> Sums {
        let mut places = [self.filter.place, self.input.place, self.output.place];
        let [in_channels, out_channels] = self.channels;
        let [of_in, of_out, of_group] = self.filter_strides;
        let (input, output) = (&self.input.strides, &self.output.strides);
        let mut columns =
            vec![Dimension { size: self.batches, strides: [0, input[BATCH], output[BATCH]] }];
        let mut depths = vec![];
        for (at, phase) in (PLACES..).zip(phases) {
            let [first_output, step, count] = phase.outputs;
            let [first_tap, tap_step, taps] = phase.taps;
            let [first_input, by_output, by_tap] = phase.inputs;
            let filter = self.filter.strides[at];
            places[0].base += i64::from(first_tap) * filter;
            places[1].base += first_input * input[at];
            places[2].base += i64::from(first_output) * output[at];
            columns.push(Dimension {
                size: count,
                strides: [0, by_output * input[at], i64::from(step) * output[at]],
            });
            depths.push(Dimension {
                size: taps,
                strides: [i64::from(tap_step) * filter, by_tap * input[at], 0],
            });
        }
        depths.push(Dimension { size: in_channels, strides: [of_in, input[CHANNEL], 0] });
        let by_group = |stride: i64, channels: u32| stride * i64::from(channels);
        let group = Dimension {
            size: self.groups,
            strides: [
                of_group,
                by_group(input[CHANNEL], in_channels),
                by_group(output[CHANNEL], out_channels),
            ],
        };
        let row = Dimension { size: out_channels, strides: [of_out, 0, output[CHANNEL]] };
        let (batches, goes_on, slice_of) = (vec![group], false, None);
        Sums { batches, row, columns, depths, places, numbers, goes_on, slice_of }
    }

    /// Writes zeros to the outputs of phases that have no taps.
    fn zeros(&self, products: &mut ProductRecorder<'_>, phases: &[Phase]) -> Result<(), Error> {
        let [_, out_channels] = self.channels;
        let mut sizes = vec![self.batches, out_channels * self.groups];
        let mut strides = self.output.strides.clone();
        let mut base = self.output.place.base;
        for (at, phase) in (PLACES..).zip(phases) {
            let [first, step, count] = phase.outputs;
            base += i64::from(first) * strides[at];
            strides[at] *= i64::from(step);
            sizes.push(count);
        }
        let (mut all_sizes, mut all_strides) = ([1; DIMENSIONS], [0; DIMENSIONS]);
        all_sizes[DIMENSIONS - sizes.len()..].copy_from_slice(&sizes);
        all_strides[DIMENSIONS - sizes.len()..].copy_from_slice(&strides);
        let words = Operand::at(self.output.place.buffer, ElementWidth::B32, base);
        let output = Operand { strides: all_strides, ..words };
        products.zeros(all_sizes, output)
    }
}
