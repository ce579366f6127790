//! Lowers ROI_ALIGN_GRAD: the gradients of the elements that samples were taken of, and those of the regions.
//!
//! ROI_ALIGN_GRAD of FLOAT32 [1, 1, 2, 2], the gradients of one region's cells, to [1, 1, 4, 4], with the nearest elements:
//!
//! ```text
//! ROI_ALIGN_GRAD
//!   input 1 = InputGradientTensor FLOAT32 [1, 1, 2, 2]
//!   input 2 = ROITensor FLOAT32 [1, 4]
//!   input 3 = BatchIndicesTensor UINT32 [1]
//!   output 0 = OutputGradientTensor FLOAT32 [1, 1, 4, 4]
//!   %0 = 4 elements of 32 bits
//!   %0 over [2, 1, 1, 1, 2, 1] = map scale_bias scale_bias subtract divide_by round_up f32_to_u32 clip_u32 u32_to_f32 u32_to_f32 u32_to_f32 multiply add scale_bias divide scale_bias multiply add scale_bias clip equals clip scale_bias round_down f32_to_u32 nearest_u32 nearest_u32 joined opposite bit_not bit_or (input 2+1 by [0, 0, 0, 0, 0, 0], input 2+3 by [0, 0, 0, 0, 0, 0], numbers by [1, 0, 0, 0, 0, 0], numbers by [0, 0, 0, 0, 1, 0], input 3 by [0, 0, 0, 0, 0, 0])
//!     28 bytes, 120 operations, 4 invocations
//!   %1 = 4 elements of 32 bits
//!   %1 over [2, 1, 1, 1, 2] = map scale_bias scale_bias subtract divide_by round_up f32_to_u32 clip_u32 u32_to_f32 u32_to_f32 u32_to_f32 multiply add scale_bias divide scale_bias multiply add scale_bias clip equals clip scale_bias round_down f32_to_u32 nearest_u32 opposite bit_not bit_or (input 2 by [0, 0, 0, 0, 0], input 2+2 by [0, 0, 0, 0, 0], numbers by [1, 0, 0, 0, 0], numbers by [0, 0, 0, 0, 1])
//!     24 bytes, 112 operations, 4 invocations
//!   %2 = 1 elements of 64 bits
//!   %2 over [] = map scale_bias scale_bias subtract divide_by round_up f32_to_u32 clip_u32 pair (input 2+1, input 2+3, numbers+1)
//!     16 bytes, 8 operations, 1 invocations
//!   %3 = 8 elements of 32 bits
//!   %3 by [1, 0, 2, 0, 0, 0] over [2, 1, 4, 1, 2, 1] = reduce grids sum_high sum_rest of_both of equals u32_to_f32 high_words u32_to_f32 divide (%0 by [2, 0, 0, 0, 1, 0], %2 by [0, 0, 0, 0, 0, 0], numbers by [0, 0, 4, 0, 0, 0])
//!     56 bytes, 96 operations, 8 invocations
//!   %4 = 1 elements of 64 bits
//!   %4 over [] = map scale_bias scale_bias subtract divide_by round_up f32_to_u32 clip_u32 pair (input 2, input 2+2, numbers+1)
//!     16 bytes, 8 operations, 1 invocations
//!   %5 = 8 elements of 32 bits
//!   %5 by [1, 2, 0, 0, 0] over [2, 4, 1, 1, 2] = reduce grids sum_high sum_rest of_both of equals u32_to_f32 low_words u32_to_f32 divide (%1 by [2, 0, 0, 0, 1], %4 by [0, 0, 0, 0, 0], numbers by [0, 1, 0, 0, 0])
//!     56 bytes, 96 operations, 8 invocations
//!   %6 = 8 elements of 32 bits
//!   %6 by [1, 0, 2, 0, 0, 0] over [2, 2, 4, 1, 1, 1] = reduce sum_high sum_rest of_both of bit_xor interpolated (input 1 by [2, 1, 0, 0, 0, 0], %5 by [0, 1, 2, 0, 0, 0])
//!     80 bytes, 48 operations, 8 invocations
//!   output 0 by [4, 1, 0, 0, 0, 0] over [4, 4, 1, 2, 1, 1] = reduce sum_high sum_rest of_both of bit_xor interpolated, then scale_bias (%6 by [0, 2, 2, 1, 0, 0], %3 by [2, 0, 2, 1, 0, 0])
//!     128 bytes, 96 operations, 16 invocations
//! ```
//!
//! **Averages.** The weight of an element in a cell is that of its row times that of its column, so a table along each
//! axis has the share of every element in every cell of every region: the sum over the samples of a cell alone. The
//! gradients are added up along the cells across first, and then along the cells down of all regions. An element takes
//! one step for each row of cells of each region, however many samples, columns and cells across there are: for `R`
//! regions of `I` by `J` cells, `R * I * J` steps for each column of the elements and `R * I` for each element. What lies
//! between both sums is made for some channels at a time (`gradient/shares.rs`).
//!
//! **Maxima.** Weights differ between channels then. The greatest sample of each cell is found first, the first of
//! several (`gradient/greatest.rs`), and an element takes one step for each cell of each region.
//!
//! **Regions.** A corner moves samples, each by its share of the way to the other corner, and the slope of the elements
//! there says what becomes of the sample: a sum over the samples of all cells, as ROI_ALIGN has it
//! (`gradient/slopes.rs`).
//!
//! Everything is computed in single precision. Nothing is written by two invocations, so that the order of additions
//! follows from sizes alone.

mod greatest;
mod shares;
mod slopes;

use dml_core::{DataType, Error, TensorLayout, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, Value};
use dml_spirv::functions as f;

use super::align::Sampling;
use super::space::{CHANNEL, GRID, PARTS, Regions, Tensors, along, coordinates};
use crate::Target;
use crate::ir::space::{Displacement, Operand, leading};
use crate::ir::{self, Recorder};
use crate::lowering::conversion::widened;
use crate::lowering::map_builder::MapBuilder;
use crate::lowering::operands::required;

const INPUT: &str = "InputTensor";
const OF_CELLS: &str = "InputGradientTensor";
const OF_ELEMENTS: &str = "OutputGradientTensor";

/// The gradients of regions, and of the elements that regions are taken from.
struct Gradient<'a> {
    sampling: Sampling,
    regions: Regions<'a>,
    /// Sizes of the elements' tensor: batches, channels, height and width.
    elements: [u32; 4],
    /// Pairs of each element and the next one in its row, those of all channels at coordinate 0; batches are
    /// adjacent.
    pairs: Option<Operand>,
    /// The samples' places along the height and along the width: offsets among the pairs, and, where samples are
    /// interpolated, the weights of neighbours in the high words.
    places: [Operand; 2],
    /// The number of each cell's greatest sample, for maxima; `None` for averages.
    chosen: Option<Operand>,
}

pub(super) fn gradients(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let sampling = Sampling::new(operator)?;
    let mut recorder = Recorder::new(operator, target);
    let mut inputs = recorder.inputs()?;
    let input = if inputs.len() > 3 { inputs.remove(0) } else { None };
    let [of_cells, numbers, batches] = required(operator, inputs)?;
    let mut outputs = recorder.outputs()?.into_iter();
    let [of_elements, of_regions] = [outputs.next().flatten(), outputs.next().flatten()];
    let known = match operator.tensor(INPUT)? {
        Some(tensor) => tensor,
        None => operator.required_tensor(OF_ELEMENTS)?,
    };
    let elements = [0, 1, 2, 3].map(|at| known.sizes()[at]);
    let layout = [elements, strides_of_pairs(elements)];
    let is_sampled = !sampling.is_average || (sampling.is_linear && of_regions.is_some());
    let pairs = match input.filter(|_| is_sampled) {
        Some(input) => Some(pairs(&mut recorder, input, known, layout)?),
        None => None,
    };
    let cells = operator.required_tensor(OF_CELLS)?;
    let [y, x] = ["SpatialScaleY", "SpatialScaleX"].map(|it| operator.float(it));
    let tensors = Tensors { layout, numbers, batches: Some(batches), of_cells };
    let mut regions = Regions::of(operator, recorder, cells, tensors, (0, [y?, x?]));
    let [y, x] = regions.axes;
    let places = [sampling.table(&mut regions, &y)?, sampling.table(&mut regions, &x)?];
    let mut gradient = Gradient { sampling, regions, elements, pairs, places, chosen: None };
    gradient.choose()?;
    if let Some(output) = of_elements {
        gradient.write_elements(output)?;
    }
    if let Some(output) = of_regions {
        gradient.write_regions(output)?;
    }
    Ok(gradient.regions.recorder.finish())
}

/// The strides of pairs: batches, channels, height and width. A tensor has less than 2^32 elements.
fn strides_of_pairs([batches, _, height, width]: [u32; 4]) -> [u32; 4] {
    [height * width, batches * height * width, width, 1]
}

/// Adds the steps that write pairs of each element and the next one in its row; the last one is paired with itself.
fn pairs(
    recorder: &mut Recorder<'_>,
    input: Operand,
    tensor: &TensorLayout,
    [sizes, strides]: [[u32; 4]; 2],
) -> Result<Operand, Error> {
    const LAST: usize = DIMENSIONS - 1;
    let mut map = MapBuilder::default();
    let element = map.input(input.clone());
    let next = map.input(coordinates(1, LAST));
    let [width, stride] = [sizes[3], tensor.strides()[3]];
    let by = map.apply(&f::NEAREST_U32, &[next], &[width, stride]);
    let reach = u64::from(width - 1) * u64::from(stride);
    let mut neighbour = Operand { displacement: Some(Displacement::new(by, reach)), ..input };
    neighbour.strides[LAST] = 0;
    let neighbour = map.input(neighbour);
    let [element, neighbour] =
        [element, neighbour].map(|it| map.apply_all(widened(tensor.data_type()), it));
    map.apply(&f::PAIR, &[element, neighbour], &[]);
    let count = sizes.iter().map(|size| u64::from(*size)).product();
    let place = recorder.temporary(ElementWidth::B64, count);
    let output = Operand { strides: leading(&strides, 0).map(i64::from), ..place.clone() };
    map.record(recorder, leading(&sizes, 1), output)?;
    Ok(Operand { strides: along(CHANNEL, strides[1].into()), ..place })
}

/// The pairs of elements around a sample: in the row before it, and in the row after it.
struct Around {
    rows: [[Value; 2]; 2],
    /// The offset of the first pair; nowhere for a sample that is outside.
    offset: Value,
}

impl Gradient<'_> {
    /// Adds the elements around a sample, from its offsets along both axes. `below` is the weight of the
    /// second row, which is not read where this is 0.
    fn around(
        &self,
        map: &mut MapBuilder,
        [y, x]: [Value; 2],
        below: Option<Value>,
    ) -> Result<Around, Error> {
        let name = self.regions.operator.schema().name;
        let pairs = self.pairs.clone().ok_or_else(|| Error::internal(name, "needs its input"))?;
        let [batches, _, height, width] = self.elements.map(u64::from);
        let most = batches * height * width - 1;
        let above = match below {
            Some(below) => map.apply(&f::UPPER_NEIGHBOUR, &[y, below], &[self.elements[3]]),
            None => y,
        };
        let offsets = [y, above].map(|row| map.apply(&f::JOINED, &[row, x], &[]));
        let count = if below.is_some() { 2 } else { 1 };
        let mut rows = offsets[..count].iter().map(|offset| {
            let displacement = Some(Displacement::new(*offset, most));
            let pair = map.input(Operand { displacement, ..pairs.clone() });
            [&f::LOW_WORDS, &f::HIGH_WORDS].map(|half| map.apply(half, &[pair], &[]))
        });
        let first = rows.next().unwrap_or([y; 2]);
        Ok(Around { rows: [first, rows.next().unwrap_or(first)], offset: offsets[0] })
    }

    /// Adds a share: `value * weight`, but 0 where the weight is 0, whatever the value is.
    fn share(map: &mut MapBuilder, value: Value, weight: Value) -> Value {
        let zero = map.computation.zero(weight);
        map.apply(&f::INTERPOLATED_F32, &[zero, value, weight], &[])
    }

    /// Adds the offset of a place, and, where samples are interpolated, the word beside it.
    fn halves(&self, map: &mut MapBuilder, place: Value) -> (Value, Option<Value>) {
        if !self.sampling.is_linear {
            return (place, None);
        }
        let [offset, number] =
            [&f::LOW_WORDS, &f::HIGH_WORDS].map(|half| map.apply(half, &[place], &[]));
        (offset, Some(number))
    }

    /// Adds the gradient of a cell, as FLOAT32.
    fn of_cell(&self, map: &mut MapBuilder) -> Value {
        let gradient = map.input(self.regions.of_cells.clone());
        map.apply_all(widened(self.regions.data_type), gradient)
    }

    /// The sizes of a space with one element for each cell of each channel, and with the samples of a cell as
    /// its grid.
    fn sizes_of_samples(&self) -> [u32; DIMENSIONS] {
        let mut sizes = self.regions.sizes;
        sizes[GRID..].fill(if self.chosen.is_some() { 1 } else { self.sampling.most });
        sizes
    }

    fn data_type(&self) -> DataType {
        self.regions.data_type
    }
}
