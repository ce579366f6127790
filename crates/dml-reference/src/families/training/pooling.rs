//! Gradients of pooling: each window distributes its gradient to its elements.

use dml_core::operators::{AVERAGE_POOLING_GRAD, MAX_POOLING_GRAD};
use dml_core::schema::{FieldSchema, OperatorSchema};
use dml_core::{AbstractOperator, Error, FieldValue, TensorLayout, Validated};

use super::cases::{CaseGenerator, Meaning};
use super::given::{ExecutionInputs, sums};
use crate::families::pooling::cases::shape::{ONE, SHAPES, Shape, USUAL};
use crate::number::encoded;
use crate::{BrokenRule, Case, Random, edges};

pub(super) struct Average;
pub(super) struct Maximum;

const GRADIENTS: &str = "InputGradientTensor";

/// The number of dimensions with windows, up to three.
fn dimensions(rank: usize) -> usize {
    rank.saturating_sub(2).min(3)
}

/// The number of windows in each dimension.
fn windows(shape: &Shape, rank: usize) -> Vec<u32> {
    let mut sizes = shape.input;
    for at in 3 - dimensions(rank)..3 {
        let size = &mut sizes[5 + at];
        // Operators that break a rule need some size, too.
        let padded = (*size + shape.start[at]).saturating_add(shape.end[at]);
        let reach = shape.window[at].saturating_sub(1) * shape.dilation[at] + 1;
        *size = padded.saturating_sub(reach) / shape.step[at].max(1) + 1;
    }
    sizes[8 - rank..].to_vec()
}

fn operator(maker: &CaseGenerator<'_>, shape: &Shape, include_padding: bool) -> AbstractOperator {
    let rank = maker.rank();
    let mut shape = *shape;
    if !maker.schema.has_field("Dilations") {
        shape.dilation = [1; 3];
    }
    let sizes = |field: &FieldSchema| {
        Some(match field.name {
            GRADIENTS => windows(&shape, rank),
            _ => maker.last(&shape.input).to_vec(),
        })
    };
    let last = |values: [u32; 3]| FieldValue::UintArray(values[3 - dimensions(rank)..].to_vec());
    let count = u32::try_from(dimensions(rank)).unwrap_or(0);
    maker.operator(
        sizes,
        &[
            ("DimensionCount", FieldValue::Uint(count)),
            ("Strides", last(shape.step)),
            ("WindowSize", last(shape.window)),
            ("StartPadding", last(shape.start)),
            ("EndPadding", last(shape.end)),
            ("Dilations", last(shape.dilation)),
            ("IncludePadding", FieldValue::Bool(include_padding)),
        ],
    )
}

/// Dilated windows, some of which extend beyond the tensor on both sides.
fn dilated() -> [(&'static str, Shape); 3] {
    let apart = Shape { dilation: [2, 2, 3], window: [2, 3, 2], ..USUAL };
    let around = Shape { window: [2; 3], dilation: [4, 6, 7], end: [1, 2, 1], ..USUAL };
    let far = Shape {
        input: [1, 1, 1, 1, 2, 1, 40, 50],
        window: [1, 2, 2],
        dilation: [1, 30, 40],
        start: [0; 3],
        end: [0; 3],
        ..USUAL
    };
    [
        ("dilated", Shape { start: [1, 2, 3], end: [1, 2, 2], ..apart }),
        ("dilated_around_all", around),
        ("dilated_far", far),
    ]
}

/// Elements after the last window, and rows with very many elements.
const MORE: [(&str, Shape); 2] = [
    (
        "elements_left",
        Shape {
            input: [1, 1, 1, 1, 2, 4, 8, 9],
            window: [2; 3],
            step: [3; 3],
            start: [0; 3],
            end: [0; 3],
            ..USUAL
        },
    ),
    (
        "long_rows",
        Shape {
            input: [1, 1, 1, 1, 2, 1, 2, 1500],
            window: [1, 2, 9],
            step: [1, 1, 2],
            start: [0, 1, 4],
            end: [0, 1, 4],
            ..USUAL
        },
    ),
];

fn drawn_shape(maker: &CaseGenerator<'_>, random: &mut Random) -> Shape {
    let mut shape = ONE;
    let rank = maker.rank();
    shape.input[8 - rank..].copy_from_slice(&random.sizes(rank));
    let is_dilated = maker.schema.has_field("Dilations");
    for at in 3 - dimensions(rank)..3 {
        let size = shape.input[5 + at].min(4);
        shape.window[at] = 1 + random.below(size);
        shape.step[at] = 1 + random.below(3);
        shape.dilation[at] = if is_dilated { 1 + random.below(2) } else { 1 };
        // A window must fit.
        let spare = (shape.window[at] - 1) * (shape.dilation[at] - 1);
        shape.start[at] = spare + random.below(3);
        shape.end[at] = random.below(3);
    }
    shape
}

/// Visits each window with the index of its gradient and the positions of its elements, in row-major order.
fn each_window(
    operator: &Validated,
    elements: &[u32],
    windows: &[u32],
    mut visit: impl FnMut(usize, &[usize]),
) -> Result<(), Error> {
    let array = |name| operator.uint_array(name);
    let (size, steps, start) = (array("WindowSize")?, array("Strides")?, array("StartPadding")?);
    let dilations = array("Dilations").ok();
    let product = |sizes: &[u32]| sizes.iter().map(|size| *size as usize).product::<usize>();
    for number in 0..product(windows) {
        let (mut rest, mut window) = (number, vec![0; windows.len()]);
        for (at, size) in window.iter_mut().zip(windows).rev() {
            (*at, rest) = (rest % *size as usize, rest / *size as usize);
        }
        let mut places = vec![window[0] * elements[1] as usize + window[1]];
        for (at, length) in elements.iter().enumerate().skip(2) {
            let along = at - 2;
            let dilation = dilations.map_or(1, |dilation| dilation[along] as usize);
            let coordinate = |element: u32| {
                let position = window[at] * steps[along] as usize + element as usize * dilation;
                let coordinate = position.checked_sub(start[along] as usize)?;
                (coordinate < *length as usize).then_some(coordinate)
            };
            let inside: Vec<usize> = (0..size[along]).filter_map(coordinate).collect();
            let of = |place: &usize| {
                inside.iter().map(move |it| place * *length as usize + it).collect::<Vec<_>>()
            };
            places = places.iter().flat_map(of).collect();
        }
        visit(number, &places);
    }
    Ok(())
}

fn broken_rules(maker: &CaseGenerator<'_>) -> Vec<BrokenRule> {
    let rank = maker.rank();
    let last = dimensions(rank).saturating_sub(1);
    // The gradients have the sizes of the unchanged shape.
    let of = |name: &'static str, change: &dyn Fn(&mut Shape), field: &str| {
        let mut changed = USUAL;
        change(&mut changed);
        let operator = maker.with_tensors(&operator(maker, &changed, true), |field, tensor| {
            if field.name == GRADIENTS {
                tensor.sizes = windows(&USUAL, rank);
            }
        });
        maker.broken(name, operator, format!("{field}[{last}]"))
    };
    let more = maker.with_tensors(&operator(maker, &USUAL, true), |field, tensor| {
        if field.name == GRADIENTS {
            tensor.sizes[rank - 1] += 1;
        }
    });
    let mut rules = vec![
        of("rule_window_of_0", &|it| it.window[2] = 0, "WindowSize"),
        of("rule_step_of_0", &|it| it.step[2] = 0, "Strides"),
        of("rule_window_beyond_all", &|it| it.window[2] = 9, "WindowSize"),
        of("rule_padded_size_beyond_32_bits", &|it| it.end[2] = u32::MAX, "EndPadding"),
        maker.broken(
            "rule_more_windows_than_there_are",
            more,
            format!("{GRADIENTS}.Sizes[{}]", rank - 1),
        ),
    ];
    if maker.schema.has_field("Dilations") {
        rules.push(of("rule_dilation_of_0", &|it| it.dilation[2] = 0, "Dilations"));
    }
    rules
}

/// A case with matrices that the documentation prints.
fn documented(
    maker: &CaseGenerator<'_>,
    operator: AbstractOperator,
    inputs: &[&[f64]],
    output: &[f64],
) -> Vec<Case> {
    let data_type = maker.type_of("OutputGradientTensor");
    if data_type != dml_core::DataType::Float32 || maker.rank() != 4 {
        return vec![];
    }
    let bits =
        |values: &[f64]| values.iter().map(|value| encoded(data_type, *value)).collect::<Vec<_>>();
    let inputs = inputs.iter().map(|input| bits(input)).collect();
    vec![Case::new("documented", operator).with_inputs(inputs).documented(vec![bits(output)])]
}

/// The documentation's example: windows of 2 by 2 elements in 3 by 3.
const SHOWN: Shape = Shape { input: [1, 1, 1, 1, 1, 1, 3, 3], window: [1, 2, 2], ..ONE };

impl Meaning for Average {
    fn schema(&self) -> &'static OperatorSchema {
        &AVERAGE_POOLING_GRAD
    }

    fn outputs(&self, given: &ExecutionInputs<'_>) -> Result<Vec<Vec<f64>>, Error> {
        let operator = given.operator;
        let [windows, elements] =
            [GRADIENTS, "OutputGradientTensor"].map(|it| operator.required_tensor(it));
        let (windows, elements) = (windows?, elements?);
        let size: f64 =
            operator.uint_array("WindowSize")?.iter().map(|it| f64::from(*it)).product();
        let count = usize::try_from(elements.element_count()).unwrap_or(usize::MAX);
        let mut counts = vec![];
        each_window(operator, elements.sizes(), windows.sizes(), |_, places| {
            counts.push(places.len() as f64);
        })?;
        let is_constant =
            operator.bool("IncludePadding")? || counts.iter().all(|count| *count == size);
        let mut output = vec![0.0; count];
        each_window(operator, elements.sizes(), windows.sizes(), |window, places| {
            let gradient = given.inputs[0][window];
            let share = match is_constant {
                true => gradient,
                false => (given.step)(crate::number::single(gradient / counts[window])),
            };
            places.iter().for_each(|at| output[*at] += share);
        })?;
        if is_constant {
            output.iter_mut().for_each(|sum| *sum = given.rounded(*sum) / size);
        }
        Ok(vec![output])
    }

    fn operators(&self, maker: &CaseGenerator<'_>) -> Vec<(String, AbstractOperator)> {
        let shapes = || SHAPES.iter().chain(&MORE);
        let of = |include_padding: bool, prefix: &'static str| {
            shapes().map(move |(name, shape)| {
                (format!("{prefix}{name}"), operator(maker, shape, include_padding))
            })
        };
        of(true, "shape_").chain(of(false, "without_padding_")).collect()
    }

    fn drawn(&self, maker: &CaseGenerator<'_>, random: &mut Random) -> AbstractOperator {
        let shape = drawn_shape(maker, random);
        operator(maker, &shape, random.one_in(2))
    }

    fn special(&self, maker: &CaseGenerator<'_>) -> Vec<Case> {
        let edges = edges(maker.type_of(GRADIENTS));
        let mut input = [1; 8];
        input[7] = u32::try_from(edges.len()).unwrap_or(u32::MAX);
        let values = operator(maker, &Shape { input, ..ONE }, true);
        let mut cases = vec![Case::new("values", values).with_inputs(vec![edges])];
        cases.extend(documented(
            maker,
            operator(maker, &SHOWN, false),
            &[&[1.0, 2.0, 3.0, 4.0]],
            &[0.25, 0.75, 0.5, 1.0, 2.5, 1.5, 0.75, 1.75, 1.0],
        ));
        cases
    }

    fn broken_rules(&self, maker: &CaseGenerator<'_>) -> Vec<BrokenRule> {
        broken_rules(maker)
    }
}

impl Meaning for Maximum {
    fn schema(&self) -> &'static OperatorSchema {
        &MAX_POOLING_GRAD
    }

    fn outputs(&self, given: &ExecutionInputs<'_>) -> Result<Vec<Vec<f64>>, Error> {
        let operator = given.operator;
        let [windows, elements] = [GRADIENTS, "InputTensor"].map(|it| operator.required_tensor(it));
        let (windows, elements) = (windows?, elements?);
        let (x, gradients) = (&given.inputs[0], &given.inputs[1]);
        let mut output = vec![0.0; x.len()];
        // A NaN is above all numbers.
        let is_greater = |a: f64, b: f64| a > b || (a.is_nan() && !b.is_nan());
        each_window(operator, elements.sizes(), windows.sizes(), |window, places| {
            let chosen = places
                .iter()
                .copied()
                .reduce(|first, at| if is_greater(x[at], x[first]) { at } else { first });
            if let Some(at) = chosen {
                output[at] += gradients[window];
            }
        })?;
        Ok(vec![output])
    }

    fn operators(&self, maker: &CaseGenerator<'_>) -> Vec<(String, AbstractOperator)> {
        let shapes = SHAPES.iter().chain(&MORE).copied().chain(dilated());
        shapes
            .map(|(name, shape)| (format!("shape_{name}"), operator(maker, &shape, true)))
            .collect()
    }

    fn drawn(&self, maker: &CaseGenerator<'_>, random: &mut Random) -> AbstractOperator {
        let shape = drawn_shape(maker, random);
        operator(maker, &shape, true)
    }

    /// Windows of all pairs of edge elements.
    fn special(&self, maker: &CaseGenerator<'_>) -> Vec<Case> {
        let edges = edges(maker.type_of("InputTensor"));
        let pairs: Vec<u64> =
            edges.iter().flat_map(|a| edges.iter().flat_map(|b| [*a, *b])).collect();
        let mut input = [1; 8];
        input[7] = u32::try_from(pairs.len()).unwrap_or(u32::MAX);
        let of_pairs = Shape { input, window: [1, 1, 2], step: [1, 1, 2], ..ONE };
        let mut cases =
            vec![Case::new("values", operator(maker, &of_pairs, true)).with_inputs(vec![pairs])];
        cases.extend(documented(
            maker,
            operator(maker, &SHOWN, true),
            &[&[1.0, 2.0, 3.0, 2.0, 4.0, 2.0, 5.0, 6.0, 7.0], &[1.0, 2.0, 4.0, 5.0]],
            &[0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 4.0, 5.0],
        ));
        cases
    }

    /// Elements that are often equal, or arbitrary ones.
    fn elements(
        &self,
        random: &mut Random,
        _operator: &Validated,
        index: usize,
        layout: &TensorLayout,
    ) -> Vec<u64> {
        if index > 0 {
            return sums(random, layout);
        }
        let data_type = layout.data_type();
        let are_few = random.one_in(2);
        let mut element = || match are_few {
            true => encoded(data_type, f64::from(random.below(5)) - 2.0),
            false => random.input_element(data_type),
        };
        (0..layout.element_count()).map(|_| element()).collect()
    }

    /// The input's elements are compared by their bits, so they are not flushed.
    fn may_flush(&self, _operator: &Validated, index: usize) -> bool {
        index > 0
    }

    fn broken_rules(&self, maker: &CaseGenerator<'_>) -> Vec<BrokenRule> {
        broken_rules(maker)
    }
}
