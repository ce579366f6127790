//! The gradients of ROI_ALIGN: each cell distributes its gradient to its samples.

mod cases;

use dml_core::operators::ROI_ALIGN_GRAD;
use dml_core::schema::OperatorSchema;
use dml_core::{AbstractOperator, Error, InterpolationMode, TensorLayout, Validated};

use super::cases::{CaseGenerator, Meaning};
use super::given::ExecutionInputs;
use crate::families::roi::reference::{Extent, SamplePosition, is_average};
use crate::{BrokenRule, Case, Random};

pub(super) struct Regions;

const INPUT: &str = "InputTensor";
const OF_CELLS: &str = "InputGradientTensor";
const OF_ELEMENTS: &str = "OutputGradientTensor";
const OF_REGIONS: &str = "OutputROIGradientTensor";

/// The sampling positions along the height and along the width.
type Sample = [SamplePosition; 2];

/// The elements along a dimension that a sample is interpolated from, and their weights.
fn made_of(place: &SamplePosition) -> impl Iterator<Item = (usize, f64)> + use<> {
    let both = [(place.below, 1.0 - place.weight), (place.above, place.weight)];
    both.into_iter().filter(|(_, weight)| *weight != 0.0)
}

/// The element of an input plane at a row and a column.
type Element<'a> = dyn Fn(usize, usize) -> f64 + 'a;

/// A sample as ROI_ALIGN computes it, with each step in single precision.
#[expect(
    clippy::cast_possible_truncation,
    reason = "floats of at most 32 bits, and their rounding"
)]
fn value(element: &Element<'_>, [y, x]: &Sample) -> f32 {
    let between = |a: f32, b: f32, weight: f32| match weight {
        0.0 => a,
        _ => a * (1.0 - weight) + b * weight,
    };
    let row =
        |y: usize| between(element(y, x.below) as f32, element(y, x.above) as f32, x.weight as f32);
    between(row(y.below), row(y.above), y.weight as f32)
}

/// The first greatest sample, or the first NaN.
fn greatest(samples: Vec<Sample>, element: &Element<'_>) -> Option<Sample> {
    let is_greater = |a: f32, b: f32| (a.is_nan() && !b.is_nan()) || a > b;
    let valued = samples.into_iter().map(|sample| (value(element, &sample), sample));
    let greatest = valued.reduce(|first, it| if is_greater(it.0, first.0) { it } else { first });
    greatest.map(|(_, sample)| sample)
}

/// The derivative of a sample by its position along the height (`is_down`) or the width.
fn slope(element: &Element<'_>, [y, x]: &Sample, is_down: bool) -> f64 {
    let (along, other) = if is_down { (y, x) } else { (x, y) };
    if along.weight == 0.0 {
        return 0.0;
    }
    let at = |along, other| if is_down { element(along, other) } else { element(other, along) };
    made_of(other)
        .map(|(other, weight)| weight * (at(along.above, other) - at(along.below, other)))
        .sum()
}

/// The samples of all cells of a region, along the height for each row of cells, and along the width for each
/// column.
struct Cells {
    samples: [Vec<Vec<Option<SamplePosition>>>; 2],
}

impl Cells {
    /// The samples of a region with these corners, in a plane of `sizes`.
    fn new(operator: &Validated, corners: [f32; 4], sizes: [u32; 2]) -> Result<Self, Error> {
        let cells = operator.required_tensor(OF_CELLS)?.sizes();
        let scales = scales(operator)?;
        let samples = [0, 1].map(|at| {
            let extent = Extent {
                size: sizes[at],
                cells: cells[2 + at],
                first: corners[1 - at] * scales[at],
                last: corners[3 - at] * scales[at],
            };
            (0..extent.cells)
                .map(|cell| extent.samples(operator, cell))
                .collect::<Result<Vec<_>, Error>>()
        });
        let [rows, columns] = samples;
        Ok(Self { samples: [rows?, columns?] })
    }

    /// The samples of a cell that receive its gradient, and the divisor of the gradient.
    fn counted(
        &self,
        operator: &Validated,
        cell: [usize; 2],
        element: &Element<'_>,
    ) -> (Vec<Sample>, f64) {
        let (down, across) = (&self.samples[0][cell[0]], &self.samples[1][cell[1]]);
        let all = down.iter().flat_map(|y| across.iter().map(move |x| Some([(*y)?, (*x)?])));
        let inside: Vec<Sample> = all.flatten().collect();
        match is_average(operator) {
            true => (inside, (down.len() * across.len()) as f64),
            false => (greatest(inside, element).into_iter().collect(), 1.0),
        }
    }
}

/// The scales of corners along the height and along the width.
fn scales(operator: &Validated) -> Result<[f32; 2], Error> {
    Ok([operator.float("SpatialScaleY")?, operator.float("SpatialScaleX")?])
}

/// Distributes a share of a gradient to the elements of a plane that a sample is interpolated from.
fn hand_back(plane: &mut [f64], width: usize, sample: &Sample, share: f64) {
    for (y, of_row) in made_of(&sample[0]) {
        for (x, of_column) in made_of(&sample[1]) {
            plane[y * width + x] += share * of_row * of_column;
        }
    }
}

/// Distributes a share of a gradient to the numbers of a region, x and y of each corner, whose changes move a
/// sample. Scales are applied at the end.
fn move_corners(numbers: &mut [f64], element: &Element<'_>, sample: &Sample, share: f64) {
    for (number, sum) in numbers.iter_mut().enumerate() {
        let at = 1 - number % 2;
        let place = &sample[at];
        let part = if number < 2 { 1.0 - place.part } else { place.part };
        if part != 0.0 && place.weight != 0.0 {
            *sum += share * slope(element, sample, at == 0) * part;
        }
    }
}

impl Meaning for Regions {
    fn schema(&self) -> &'static OperatorSchema {
        &ROI_ALIGN_GRAD
    }

    fn outputs(&self, given: &ExecutionInputs<'_>) -> Result<Vec<Vec<f64>>, Error> {
        let operator = given.operator;
        let [image, gradients, numbers, batches] =
            [0, 1, 2, 3].map(|at| given.inputs[at].as_slice());
        let [of_elements, of_regions] = [OF_ELEMENTS, OF_REGIONS].map(|it| operator.tensor(it));
        let (of_elements, of_regions) = (of_elements?, of_regions?);
        let sizes =
            operator.tensor(INPUT)?.or(of_elements).map_or(&[1; 4][..], TensorLayout::sizes);
        let (channels, plane) = (sizes[1] as usize, sizes[2] as usize * sizes[3] as usize);
        let width = sizes[3] as usize;
        let count = |it: Option<&TensorLayout>| {
            it.map_or(0, |it| usize::try_from(it.element_count()).unwrap_or(usize::MAX))
        };
        let mut elements = vec![0.0; count(of_elements)];
        let mut regions = vec![0.0; count(of_regions)];
        let (cells, scales) = (operator.required_tensor(OF_CELLS)?.sizes(), scales(operator)?);
        let [down, across] = [2, 3].map(|at| cells[at] as usize);
        let mut gradients = gradients.iter();
        for region in 0..cells[0] as usize {
            #[expect(clippy::cast_possible_truncation, reason = "floats of at most 32 bits")]
            let corners = [0, 1, 2, 3].map(|at| numbers[region * 4 + at] as f32);
            let samples = Cells::new(operator, corners, [sizes[2], sizes[3]])?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is an index without a sign, and limited"
            )]
            let batch = batches[region].min(f64::from(sizes[0] - 1)) as usize;
            for channel in 0..channels {
                let first = (batch * channels + channel) * plane;
                let element = |y: usize, x: usize| image[first + y * width + x];
                let all = (0..down).flat_map(|row| (0..across).map(move |column| [row, column]));
                for (cell, gradient) in all.zip(gradients.by_ref()) {
                    let (counted, shares) = samples.counted(operator, cell, &element);
                    for sample in &counted {
                        if of_elements.is_some() {
                            let plane = &mut elements[first..first + plane];
                            hand_back(plane, width, sample, gradient / shares);
                        }
                        if of_regions.is_some() && is_linear(operator) {
                            let numbers = &mut regions[region * 4..][..4];
                            move_corners(numbers, &element, sample, gradient / shares);
                        }
                    }
                }
            }
        }
        if is_linear(operator) {
            for (number, sum) in regions.iter_mut().enumerate() {
                // Adding +0 turns -0 to +0.
                *sum = *sum * f64::from(scales[1 - number % 2]) + 0.0;
            }
        }
        Ok(vec![elements, regions])
    }

    fn operators(&self, maker: &CaseGenerator<'_>) -> Vec<(String, AbstractOperator)> {
        cases::operators(maker)
    }

    fn drawn(&self, maker: &CaseGenerator<'_>, random: &mut Random) -> AbstractOperator {
        cases::drawn(maker, random)
    }

    fn special(&self, maker: &CaseGenerator<'_>) -> Vec<Case> {
        cases::special(maker)
    }

    fn elements(
        &self,
        random: &mut Random,
        operator: &Validated,
        index: usize,
        layout: &TensorLayout,
    ) -> Vec<u64> {
        cases::elements(random, operator, index, layout)
    }

    fn broken_rules(&self, maker: &CaseGenerator<'_>) -> Vec<BrokenRule> {
        cases::broken_rules(maker)
    }
}

fn is_linear(operator: &Validated) -> bool {
    operator.uint("InterpolationMode").ok() == Some(InterpolationMode::Linear.dml_value())
}
