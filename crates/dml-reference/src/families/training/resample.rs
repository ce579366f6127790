//! Gradients of resampling: each element distributes its gradient to the elements that it is interpolated from.

use dml_core::operators::{RESAMPLE_GRAD, RESAMPLE_GRAD1};
use dml_core::schema::{Comparison, FieldSchema, OperatorSchema};
use dml_core::{
    AbstractOperator, AxisDirection, DataType, Error, FieldValue, InterpolationMode, TensorLayout,
    Validated,
};

use super::cases::{CaseGenerator, Meaning};
use super::given::{ExecutionInputs, sums};
use crate::families::resample::cases::{LARGER, PIXELS, SHAPES, Shape, drawn};
use crate::number::encoded;
use crate::{BrokenRule, Case, Random, edges};

/// RESAMPLE_GRAD, or with a rounding direction RESAMPLE_GRAD1.
pub(super) struct Resampling {
    pub(super) has_direction: bool,
}

const GRADIENTS: &str = "InputGradientTensor";

/// Whether to interpolate linearly, and whether to round down.
type Mode = (bool, bool);

fn operator(
    maker: &CaseGenerator<'_>,
    shape: &Shape,
    (is_linear, is_decreasing): Mode,
) -> AbstractOperator {
    let rank = maker.rank();
    let used = rank.min(4);
    let of = |sizes: &[u32; 4]| {
        let mut all = vec![1; rank - used];
        all.extend(&sizes[4 - used..]);
        all
    };
    let mut scales = vec![1.0; rank - used];
    scales.extend(&shape.scales[4 - used..]);
    let direction =
        if is_decreasing { AxisDirection::Decreasing } else { AxisDirection::Increasing };
    maker.operator(
        |field: &FieldSchema| {
            Some(of(if field.name == GRADIENTS { &shape.output } else { &shape.input }))
        },
        &[
            ("InterpolationMode", FieldValue::Uint(is_linear.into())),
            ("RoundingDirection", FieldValue::Uint(direction.dml_value())),
            ("DimensionCount", FieldValue::Uint(u32::try_from(rank).unwrap_or(0))),
            ("Scales", FieldValue::FloatArray(scales)),
            ("InputPixelOffsets", FieldValue::FloatArray(vec![shape.input_offset; rank])),
            ("OutputPixelOffsets", FieldValue::FloatArray(vec![shape.output_offset; rank])),
        ],
    )
}

/// The elements along a dimension that one is interpolated from, and their weights. Coordinates are in single
/// precision.
fn made_of(
    operator: &Validated,
    at: usize,
    size: u32,
    number: usize,
) -> Result<Vec<(usize, f64)>, Error> {
    let of = |name| operator.float_array(name).map(|it| it[at]);
    let offset = of("OutputPixelOffsets")?;
    let x = (number as f32 - offset) / of("Scales")? - of("InputPixelOffsets")?;
    let last = (size - 1) as f32;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is clamped to coordinates"
    )]
    let element = |x: f32| x.clamp(0.0, last) as usize;
    if is_linear(operator) {
        let within = x.clamp(0.0, last);
        let weight = f64::from(within.fract());
        let below = within.floor();
        return Ok(vec![(element(below), 1.0 - weight), (element(below + 1.0), weight)]);
    }
    let whole = match operator.uint("RoundingDirection") {
        Ok(direction) if direction == AxisDirection::Increasing.dml_value() => x.ceil(),
        Ok(_) => x.floor(),
        Err(_) => (x + 0.5).floor(),
    };
    Ok(vec![(element(whole), 1.0)])
}

fn is_linear(operator: &Validated) -> bool {
    operator.uint("InterpolationMode").ok() == Some(InterpolationMode::Linear.dml_value())
}

impl Meaning for Resampling {
    fn schema(&self) -> &'static OperatorSchema {
        if self.has_direction { &RESAMPLE_GRAD1 } else { &RESAMPLE_GRAD }
    }

    fn outputs(&self, given: &ExecutionInputs<'_>) -> Result<Vec<Vec<f64>>, Error> {
        let operator = given.operator;
        let [from, to] = [GRADIENTS, "OutputGradientTensor"].map(|it| operator.required_tensor(it));
        let (from, to) = (from?.sizes(), to?);
        let count = usize::try_from(to.element_count()).unwrap_or(usize::MAX);
        let mut output = vec![0.0; count];
        for (number, gradient) in given.inputs[0].iter().enumerate() {
            let mut rest = number;
            // Innermost dimension first.
            let (mut places, mut stride) = (vec![(0, 1.0)], 1);
            for at in (0..from.len()).rev() {
                let along = made_of(operator, at, to.sizes()[at], rest % from[at] as usize)?;
                rest /= from[at] as usize;
                let all = places.iter().flat_map(|(place, weight)| {
                    let (place, weight): (usize, f64) = (*place, *weight);
                    along.iter().map(move |(at, share)| (place + at * stride, weight * share))
                });
                places = all.filter(|(_, weight)| *weight != 0.0).collect();
                stride *= to.sizes()[at] as usize;
            }
            for (place, weight) in places {
                output[place] += gradient * weight;
            }
        }
        Ok(vec![output])
    }

    fn operators(&self, maker: &CaseGenerator<'_>) -> Vec<(String, AbstractOperator)> {
        let modes: &[(&str, Mode)] = match self.has_direction {
            true => &[
                ("linear", (true, false)),
                ("increasing", (false, false)),
                ("decreasing", (false, true)),
            ],
            false => &[("linear", (true, false)), ("nearest", (false, false))],
        };
        let first = [("one_element", PIXELS), ("larger", LARGER)];
        let rest = SHAPES.into_iter().filter(|(name, _)| !first.iter().any(|it| it.0 == *name));
        let more = [
            (
                "long_row",
                Shape {
                    input: [1, 1, 1, 4500],
                    output: [1, 1, 1, 3000],
                    scales: [1.0, 1.0, 1.0, 0.667],
                    ..PIXELS
                },
            ),
            ("far_offsets", Shape { input_offset: 3.25, output_offset: 2.5, ..LARGER }),
            (
                "at_the_edges",
                Shape {
                    output: [1, 2, 13, 37],
                    scales: [1.0, 1.0, 0.75, 0.6],
                    input_offset: -2.0,
                    ..LARGER
                },
            ),
        ];
        let shapes: Vec<_> = first.into_iter().chain(rest).chain(more).collect();
        let of = |(mode_name, mode): &(&str, Mode)| {
            let mode = *mode;
            let name = (*mode_name).to_owned();
            shapes
                .iter()
                .map(move |(shape_name, shape)| {
                    (format!("{name}_{shape_name}"), operator(maker, shape, mode))
                })
                .collect::<Vec<_>>()
        };
        modes.iter().flat_map(of).collect()
    }

    fn drawn(&self, maker: &CaseGenerator<'_>, random: &mut Random) -> AbstractOperator {
        let input = random.sizes(maker.rank());
        let (mut shape, output) = drawn(random, &input);
        let used = input.len().min(4);
        shape.input[4 - used..].copy_from_slice(&input[input.len() - used..]);
        shape.output[4 - used..].copy_from_slice(&output[output.len() - used..]);
        operator(maker, &shape, (random.one_in(2), random.one_in(2)))
    }

    fn special(&self, maker: &CaseGenerator<'_>) -> Vec<Case> {
        let edges = edges(maker.type_of(GRADIENTS));
        let count = u32::try_from(edges.len()).unwrap_or(u32::MAX);
        let mut shape = PIXELS;
        (shape.input[3], shape.output[3]) = (2 * count, count);
        shape.scales[3] = 0.5;
        let nearest = operator(maker, &shape, (false, true));
        vec![Case::new("values", nearest).with_inputs(vec![edges])]
    }

    /// Positive numbers for weighted sums, so that few digits are lost.
    fn elements(
        &self,
        random: &mut Random,
        operator: &Validated,
        _index: usize,
        layout: &TensorLayout,
    ) -> Vec<u64> {
        if !is_linear(operator) {
            return sums(random, layout);
        }
        let mut element = || f64::from(1 + random.below(4000)) / 1000.0;
        let count = layout.element_count();
        (0..count).map(|_| encoded(layout.data_type(), element())).collect()
    }

    fn comparison(&self, operator: &Validated, data_type: DataType) -> Comparison {
        match is_linear(operator) {
            true => operator.schema().comparison(data_type),
            false => Comparison::Ulp(2),
        }
    }

    fn broken_rules(&self, maker: &CaseGenerator<'_>) -> Vec<BrokenRule> {
        let last = maker.rank() - 1;
        let scaled = |name, scale: f32| {
            let mut shape = LARGER;
            shape.scales[3] = scale;
            maker.broken(name, operator(maker, &shape, (false, false)), format!("Scales[{last}]"))
        };
        let far = Shape { input_offset: f32::NAN, ..LARGER };
        vec![
            scaled("rule_scale_of_0", 0.0),
            scaled("rule_scale_below_0", -1.0),
            scaled("rule_scale_is_infinite", f32::INFINITY),
            maker.broken(
                "rule_offset_is_no_number",
                operator(maker, &far, (false, false)),
                "InputPixelOffsets[0]",
            ),
        ]
    }
}
