//! The gradient of local response normalization.

use dml_core::operators::LOCAL_RESPONSE_NORMALIZATION_GRAD;
use dml_core::schema::OperatorSchema;
use dml_core::{AbstractOperator, Error, FieldValue, TensorLayout, Validated};

use super::cases::{CaseGenerator, Meaning};
use super::given::ExecutionInputs;
use crate::number::{encoded, single};
use crate::{BrokenRule, Case, Random, edges};

pub(super) struct Response;

/// Batches, channels, height and width.
const SIZES: [u32; 8] = [1, 1, 1, 1, 2, 5, 4, 6];

/// `CrossChannel` and `LocalSize`, and `Alpha`, `Beta` and `Bias`.
type Attributes = (bool, u32, [f32; 3]);

const USUAL: Attributes = (true, 3, [0.5, 0.75, 1.0]);
const LISTED: [(&str, Attributes); 11] = [
    ("channels_of_1", (true, 1, [0.5, 0.75, 1.0])),
    ("channels_of_2", (true, 2, [0.5, 0.75, 1.0])),
    ("channels_of_4", (true, 4, [0.25, 0.5, 2.0])),
    ("channels_of_9", (true, 9, [0.5, 0.75, 1.0])),
    ("plane_of_3", (false, 3, [0.5, 0.75, 1.0])),
    ("plane_of_4", (false, 4, [-0.125, 0.75, 4.0])),
    ("plane_of_11", (false, 11, [0.5, 0.75, 1.0])),
    ("factors_usual", (true, 5, [0.0001, 0.75, 1.0])),
    ("factors_no_exponent", (true, 3, [0.5, 0.0, 1.0])),
    ("factors_no_sum", (false, 3, [0.0, 1.0, 2.0])),
    ("factors_below_0", (true, 3, [-0.25, 2.0, 3.0])),
];

fn operator(maker: &CaseGenerator<'_>, sizes: &[u32], attributes: Attributes) -> AbstractOperator {
    let (cross_channel, local_size, [alpha, beta, bias]) = attributes;
    maker.operator(
        |_| Some(sizes.to_vec()),
        &[
            ("CrossChannel", FieldValue::Bool(cross_channel)),
            ("LocalSize", FieldValue::Uint(local_size)),
            ("Alpha", FieldValue::Float(alpha)),
            ("Beta", FieldValue::Float(beta)),
            ("Bias", FieldValue::Float(bias)),
        ],
    )
}

/// For each element, the positions of the elements in its window.
fn windows(operator: &Validated) -> Result<Vec<Vec<usize>>, Error> {
    let sizes = operator.required_tensor("InputTensor")?.sizes();
    let size = operator.uint("LocalSize")? as usize;
    let along = if operator.bool("CrossChannel")? { 1..2 } else { 2..4 };
    let count: usize = sizes.iter().map(|size| *size as usize).product();
    let of = |number: usize| {
        let (mut rest, mut coordinate) = (number, [0; 4]);
        for (at, size) in coordinate.iter_mut().zip(sizes).rev() {
            (*at, rest) = (rest % *size as usize, rest / *size as usize);
        }
        let mut places = vec![0];
        for (at, length) in sizes.iter().enumerate() {
            let length = *length as usize;
            let range = match along.contains(&at) {
                true => {
                    let first = coordinate[at].saturating_sub((size - 1) / 2);
                    first..(coordinate[at] + size / 2 + 1).min(length)
                }
                false => coordinate[at]..coordinate[at] + 1,
            };
            places = places
                .iter()
                .flat_map(|place| range.clone().map(move |it| place * length + it))
                .collect();
        }
        places
    };
    Ok((0..count).map(of).collect())
}

impl Meaning for Response {
    fn schema(&self) -> &'static OperatorSchema {
        &LOCAL_RESPONSE_NORMALIZATION_GRAD
    }

    fn outputs(&self, given: &ExecutionInputs<'_>) -> Result<Vec<Vec<f64>>, Error> {
        let operator = given.operator;
        let [alpha, beta, bias] =
            ["Alpha", "Beta", "Bias"].map(|it| operator.float(it).map(f64::from));
        let (alpha, beta, bias) = (alpha?, beta?, bias?);
        let size = f64::from(operator.uint("LocalSize")?);
        let (x, dy) = (&given.inputs[0], &given.inputs[1]);
        let round = |value: f64| given.rounded(value);
        let quotient = |a: f64, b: f64| (given.step)(single(a / b));
        let windows = windows(operator)?;
        let base = |window: &Vec<usize>| {
            let squares: f64 = window.iter().map(|at| round(x[*at] * x[*at])).sum();
            round(round(single(alpha / size) * round(squares)) + bias)
        };
        let bases: Vec<f64> = windows.iter().map(base).collect();
        let power = |at: usize| (given.step)(single(bases[at].powf(beta)));
        let mut shares = vec![0.0; x.len()];
        for (at, window) in windows.iter().enumerate() {
            let share = quotient(round(dy[at] * x[at]), round(power(at) * bases[at]));
            window.iter().for_each(|it| shares[*it] += share);
        }
        let factor = single(2.0 * alpha * beta / size);
        let of = |at: usize| {
            let of_neighbours = round(round(x[at] * factor) * round(shares[at]));
            quotient(dy[at], power(at)) - of_neighbours
        };
        Ok(vec![(0..x.len()).map(of).collect()])
    }

    fn operators(&self, maker: &CaseGenerator<'_>) -> Vec<(String, AbstractOperator)> {
        let of = |sizes: &[u32], attributes| operator(maker, maker.last(sizes), attributes);
        let mut all = vec![
            ("shape_one_element".to_owned(), of(&[1; 8], USUAL)),
            ("shape_usual".to_owned(), of(&SIZES, USUAL)),
            ("shape_many_channels".to_owned(), of(&[1, 1, 1, 1, 1, 60, 1, 2], (true, 60, USUAL.2))),
            (
                "shape_large_windows".to_owned(),
                of(&[1, 1, 1, 1, 1, 2, 19, 40], (false, 16, USUAL.2)),
            ),
        ];
        all.extend(LISTED.map(|(name, attributes)| (name.to_owned(), of(&SIZES, attributes))));
        all
    }

    fn drawn(&self, maker: &CaseGenerator<'_>, random: &mut Random) -> AbstractOperator {
        let sizes = random.sizes(maker.rank());
        let factors = random.pick(&LISTED).1.2;
        operator(maker, &sizes, (random.one_in(2), 1 + random.below(6), factors))
    }

    fn special(&self, maker: &CaseGenerator<'_>) -> Vec<Case> {
        let edges = edges(maker.type_of("InputTensor"));
        let mut sizes = [1; 8];
        sizes[7] = u32::try_from(edges.len()).unwrap_or(u32::MAX);
        let of = |name: &'static str| {
            Case::new(name, operator(maker, maker.last(&sizes), (true, 1, USUAL.2)))
        };
        let halves = vec![encoded(maker.type_of("InputTensor"), 0.5); edges.len()];
        vec![
            of("values").with_inputs(vec![edges.clone(), halves.clone()]),
            of("values_of_gradients").with_inputs(vec![halves, edges]),
        ]
    }

    /// Small positive numbers, so that the neighbours' contributions are smaller than the element's own.
    fn elements(
        &self,
        random: &mut Random,
        _operator: &Validated,
        _index: usize,
        layout: &TensorLayout,
    ) -> Vec<u64> {
        let mut element = || 0.03125 + 0.125 * f64::from(random.word()) / f64::from(u32::MAX);
        let count = layout.element_count();
        (0..count).map(|_| encoded(layout.data_type(), element())).collect()
    }

    fn broken_rules(&self, maker: &CaseGenerator<'_>) -> Vec<BrokenRule> {
        let none = operator(maker, maker.last(&SIZES), (true, 0, USUAL.2));
        vec![maker.broken("rule_window_of_0", none, "LocalSize")]
    }
}
