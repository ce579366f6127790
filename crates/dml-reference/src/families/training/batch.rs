//! Batch normalization by a batch's moments, and gradients of batch normalization.

use dml_core::operators::{
    BATCH_NORMALIZATION_GRAD, BATCH_NORMALIZATION_TRAINING, BATCH_NORMALIZATION_TRAINING_GRAD,
};
use dml_core::schema::{FieldSchema, OperatorSchema};
use dml_core::{AbstractOperator, Error, FieldValue, TensorLayout, Validated};

use super::cases::{CaseGenerator, Meaning};
use super::given::{ExecutionInputs, sums};
use crate::families::element_wise::{activated, drawn_activation};
use crate::families::rows::{oracles, reference_rows};
use crate::number::single;
use crate::{BrokenRule, Case, Random, SMALL, edges};

/// BATCH_NORMALIZATION_TRAINING.
pub(super) struct Training;

/// The two operators for gradients of the input, the scale and the bias.
pub(super) struct Gradients {
    /// Whether the moments are the batch's, and thus depend on its elements.
    pub(super) in_training: bool,
}

const EPSILONS: [f32; 3] = [1e-5, 0.25, 0.0];

/// Shapes by name: the sizes of full tensors, and the dimensions along rows.
fn shapes(rank: usize) -> Vec<(&'static str, Vec<u32>, Vec<bool>)> {
    let of = |sizes: [u32; 8]| sizes[8 - rank..].to_vec();
    let where_at = |is_along: &dyn Fn(usize) -> bool| (0..rank).map(is_along).collect::<Vec<_>>();
    // The channels' dimension; in one dimension there are no channels.
    let channel = rank.saturating_sub(2);
    let all_but = |at: usize| where_at(&|it| it != at || rank == 1);
    let last = rank - 1;
    let of_rows = |rows: u32, row: u32| of([1, 1, 1, 1, 1, 1, rows, row]);
    vec![
        ("one_element", of([1; 8]), where_at(&|_| true)),
        ("usual", of(SMALL), all_but(channel)),
        ("along_first", of(SMALL), where_at(&|it| it == 0)),
        ("along_last", of(SMALL), where_at(&|it| it == last)),
        ("along_all", of(SMALL), where_at(&|_| true)),
        ("along_some", of(SMALL), where_at(&|it| it % 2 == 0)),
        ("along_none", of(SMALL), where_at(&|_| false)),
        ("rows_3_of_4099", of_rows(3, 4099), where_at(&|it| it == last)),
        ("rows_301_of_2", of_rows(301, 2), where_at(&|it| it == last)),
        ("columns_7_of_131", of_rows(131, 7), where_at(&|it| it != last || rank == 1)),
        ("channels_of_pictures", of([1, 1, 1, 1, 3, 5, 9, 17]), all_but(rank.saturating_sub(3))),
    ]
}

/// The sizes of tensors with one element per row.
fn kept(sizes: &[u32], along: &[bool]) -> Vec<u32> {
    sizes.iter().zip(along).map(|(size, along)| if *along { 1 } else { *size }).collect()
}

/// The operator; the tensors in `of_rows` have one element per row, and those in `left_out` are left out.
fn operator(
    maker: &CaseGenerator<'_>,
    of_rows: &[&str],
    (sizes, along): (&[u32], &[bool]),
    (epsilon, activation, left_out): (f32, Option<AbstractOperator>, Option<&str>),
) -> AbstractOperator {
    let tensor = |field: &FieldSchema| match of_rows.contains(&field.name) {
        _ if left_out == Some(field.name) => None,
        true => Some(kept(sizes, along)),
        false => Some(sizes.to_vec()),
    };
    let activation = FieldValue::OperatorDesc(activation.map(Box::new));
    maker.operator(
        tensor,
        &[("Epsilon", FieldValue::Float(epsilon)), ("FusedActivation", activation)],
    )
}

/// The positions of each row's elements, in row-major order.
struct Rows {
    of_all: Vec<Vec<usize>>,
    count: usize,
}

impl Rows {
    fn of(operator: &Validated, [all, row]: [&str; 2]) -> Result<Self, Error> {
        let (all, row) = (operator.required_tensor(all)?, operator.required_tensor(row)?);
        let along: Vec<bool> = row.sizes().iter().map(|size| *size == 1).collect();
        let count = usize::try_from(all.element_count()).unwrap_or(usize::MAX);
        Ok(Self { of_all: reference_rows(all, &along), count })
    }

    /// For each element, the value of `of` for its row's index and its position.
    fn spread(&self, mut of: impl FnMut(usize, usize) -> f64) -> Vec<f64> {
        let mut values = vec![0.0; self.count];
        for (row, places) in self.of_all.iter().enumerate() {
            for at in places {
                values[*at] = of(row, *at);
            }
        }
        values
    }

    fn each(&self, of: impl FnMut((usize, &Vec<usize>)) -> f64) -> Vec<f64> {
        self.of_all.iter().enumerate().map(of).collect()
    }
}

fn mean(given: &ExecutionInputs<'_>, numbers: impl Iterator<Item = f64>, count: usize) -> f64 {
    oracles::mean(numbers, count, given.step)
}

impl Meaning for Training {
    fn schema(&self) -> &'static OperatorSchema {
        &BATCH_NORMALIZATION_TRAINING
    }

    fn outputs(&self, given: &ExecutionInputs<'_>) -> Result<Vec<Vec<f64>>, Error> {
        let operator = given.operator;
        let rows = Rows::of(operator, ["OutputTensor", "ScaleTensor"])?;
        let epsilon = (given.step)(operator.float("Epsilon")?.into());
        let [x, scale, bias, added] = &given.inputs[..] else {
            return Err(Error::internal(self.schema().name, "has four inputs"));
        };
        let means =
            rows.each(|(_, places)| mean(given, places.iter().map(|at| x[*at]), places.len()));
        let variances = rows.each(|(row, places)| {
            let squares = places.iter().map(|at| {
                let difference = given.rounded(x[*at] - (given.step)(means[row]));
                given.rounded(difference * difference)
            });
            mean(given, squares, places.len())
        });
        let values = rows.spread(|row, at| {
            let deviation = single(given.rounded((given.step)(variances[row]) + epsilon).sqrt());
            let normalized = single(given.rounded(x[at] - (given.step)(means[row])) / deviation);
            let scaled = given.rounded((given.step)(normalized) * scale[row]);
            let mut value = given.rounded(scaled + bias[row]);
            if let Some(added) = added.get(at) {
                value = given.rounded(value + added);
            }
            activated(operator, value, [given.step; 2])
        });
        Ok(vec![values, means, variances])
    }

    fn operators(&self, maker: &CaseGenerator<'_>) -> Vec<(String, AbstractOperator)> {
        let of = |(number, (name, sizes, along)): (usize, (&str, Vec<u32>, Vec<bool>))| {
            let epsilon = EPSILONS[number % EPSILONS.len()];
            let left_out = (number % 2 == 0).then_some("FusedAddTensor");
            let shape = (&sizes[..], &along[..]);
            (name.to_owned(), operator(maker, &OF_ROWS, shape, (epsilon, None, left_out)))
        };
        let mut all: Vec<_> = shapes(maker.rank()).into_iter().enumerate().map(of).collect();
        let mut random = Random::new("activations");
        let (_, sizes, along) = shapes(maker.rank()).swap_remove(1);
        for number in 0..6 {
            let activation = Some(drawn_activation(maker.schema, &mut random));
            let left_out = (number % 2 == 0).then_some("FusedAddTensor");
            let attributes = (EPSILONS[1], activation, left_out);
            let operator = operator(maker, &OF_ROWS, (&sizes, &along), attributes);
            all.push((format!("activation_{number}"), operator));
        }
        all
    }

    fn drawn(&self, maker: &CaseGenerator<'_>, random: &mut Random) -> AbstractOperator {
        let sizes = random.sizes(maker.rank());
        let along: Vec<bool> = sizes.iter().map(|_| random.one_in(2)).collect();
        let epsilon = random.pick(&EPSILONS);
        let left_out = random.one_in(2).then_some("FusedAddTensor");
        let activation = random.one_in(3).then(|| drawn_activation(maker.schema, random));
        operator(maker, &OF_ROWS, (&sizes, &along), (epsilon, activation, left_out))
    }

    fn special(&self, maker: &CaseGenerator<'_>) -> Vec<Case> {
        let (shape, elements) = pairs(maker);
        let shape = (&shape.0[..], &shape.1[..]);
        let attributes = (0.25, None, Some("FusedAddTensor"));
        vec![
            Case::new("values", operator(maker, &OF_ROWS, shape, attributes))
                .with_inputs(vec![elements]),
        ]
    }

    fn broken_rules(&self, maker: &CaseGenerator<'_>) -> Vec<BrokenRule> {
        let of_three = not_repeated(maker, &OF_ROWS);
        vec![maker.broken("rule_sizes_are_not_repeated", of_three, "ScaleTensor.Sizes[0]")]
    }
}

const OF_ROWS: [&str; 4] =
    ["ScaleTensor", "BiasTensor", "OutputMeanTensor", "OutputVarianceTensor"];
const OF_ROWS_OF_GRADIENTS: [&str; 5] = [
    "MeanTensor",
    "VarianceTensor",
    "ScaleTensor",
    "OutputScaleGradientTensor",
    "OutputBiasGradientTensor",
];

/// All pairs of edge elements as rows; in one dimension a single row.
fn pairs(maker: &CaseGenerator<'_>) -> ((Vec<u32>, Vec<bool>), Vec<u64>) {
    let edges = edges(maker.type_of(maker.schema.fields[0].name));
    let count = u32::try_from(edges.len()).unwrap_or(u32::MAX);
    let rank = maker.rank();
    let rows = if rank > 1 { count * count } else { 1 };
    let sizes = maker.last(&[1, 1, 1, 1, 1, 1, rows, 2]).to_vec();
    let along = (0..rank).map(|it| it == rank - 1).collect();
    let all = edges.iter().flat_map(|one| edges.iter().flat_map(|other| [*one, *other]));
    ((sizes, along), all.take(2 * rows as usize).collect())
}

/// The operator with a size of 3 in each tensor of rows, where the others have size 2.
fn not_repeated(maker: &CaseGenerator<'_>, of_rows: &[&str]) -> AbstractOperator {
    let sizes = vec![2; maker.rank()];
    let along = vec![false; maker.rank()];
    let usual = operator(maker, of_rows, (&sizes, &along), (EPSILONS[0], None, None));
    maker.with_tensors(&usual, |field, tensor| {
        if of_rows.contains(&field.name) {
            tensor.sizes[0] = 3;
        }
    })
}

impl Meaning for Gradients {
    fn schema(&self) -> &'static OperatorSchema {
        match self.in_training {
            true => &BATCH_NORMALIZATION_TRAINING_GRAD,
            false => &BATCH_NORMALIZATION_GRAD,
        }
    }

    fn outputs(&self, given: &ExecutionInputs<'_>) -> Result<Vec<Vec<f64>>, Error> {
        let rows = Rows::of(given.operator, ["OutputGradientTensor", "MeanTensor"])?;
        let epsilon = (given.step)(given.operator.float("Epsilon")?.into());
        let [x, gradient, means, variances, scale] = &given.inputs[..] else {
            return Err(Error::internal(self.schema().name, "has five inputs"));
        };
        let round = |value: f64| given.rounded(value);
        let quotient = |a: f64, b: f64| (given.step)(single(a / b));
        let sum = |numbers: &mut dyn Iterator<Item = f64>| round(oracles::sum(numbers));
        let shifted = |row: usize| round(variances[row] + epsilon);
        let deviation = |row: usize| single(shifted(row).sqrt());
        let of_scale = rows.each(|(row, places)| {
            let share = |at: &usize| {
                let product = round(gradient[*at] * round(x[*at] - means[row]));
                quotient(product, deviation(row))
            };
            sum(&mut places.iter().map(share))
        });
        let of_bias = rows.each(|(_, places)| sum(&mut places.iter().map(|at| gradient[*at])));
        if !self.in_training {
            let of_x =
                rows.spread(|row, at| round(gradient[at] * quotient(scale[row], deviation(row))));
            return Ok(vec![of_x, of_scale, of_bias]);
        }
        let count = |row: usize| rows.of_all[row].len();
        let own =
            rows.each(|(_, places)| mean(given, places.iter().map(|at| x[*at]), places.len()));
        let products = rows.each(|(row, places)| {
            let product =
                |at: &usize| round(gradient[*at] * round(x[*at] - (given.step)(own[row])));
            mean(given, places.iter().map(product), places.len())
        });
        let of_x = rows.spread(|row, at| {
            let centered = round(gradient[at] - quotient(of_bias[row], count(row) as f64));
            let product =
                round(round(x[at] - (given.step)(own[row])) * (given.step)(products[row]));
            let difference = round(centered - quotient(product, shifted(row)));
            round(round(scale[row] * quotient(1.0, deviation(row))) * difference)
        });
        Ok(vec![of_x, of_scale, of_bias])
    }

    fn operators(&self, maker: &CaseGenerator<'_>) -> Vec<(String, AbstractOperator)> {
        let of = |(number, (name, sizes, along)): (usize, (&str, Vec<u32>, Vec<bool>))| {
            let shape = (&sizes[..], &along[..]);
            let attributes = (EPSILONS[number % EPSILONS.len()], None, None);
            (name.to_owned(), operator(maker, &OF_ROWS_OF_GRADIENTS, shape, attributes))
        };
        shapes(maker.rank()).into_iter().enumerate().map(of).collect()
    }

    fn drawn(&self, maker: &CaseGenerator<'_>, random: &mut Random) -> AbstractOperator {
        let sizes = random.sizes(maker.rank());
        let along: Vec<bool> = sizes.iter().map(|_| random.one_in(2)).collect();
        let attributes = (random.pick(&EPSILONS), None, None);
        operator(maker, &OF_ROWS_OF_GRADIENTS, (&sizes, &along), attributes)
    }

    fn special(&self, maker: &CaseGenerator<'_>) -> Vec<Case> {
        let (shape, elements) = pairs(maker);
        let shape = (&shape.0[..], &shape.1[..]);
        let of = |name: &'static str| {
            Case::new(name, operator(maker, &OF_ROWS_OF_GRADIENTS, shape, (0.25, None, None)))
        };
        let ones = vec![crate::number::encoded(maker.type_of("MeanTensor"), 1.0); elements.len()];
        vec![
            of("values").with_inputs(vec![elements.clone()]),
            of("values_of_gradients").with_inputs(vec![ones, elements]),
        ]
    }

    /// Variances are not negative.
    fn elements(
        &self,
        random: &mut Random,
        operator: &Validated,
        index: usize,
        layout: &TensorLayout,
    ) -> Vec<u64> {
        const VARIANCE: usize = 3;
        let _ = operator;
        let elements = sums(random, layout);
        let sign = 1 << (layout.data_type().bits() - 1);
        match index {
            VARIANCE => elements.into_iter().map(|bits| bits & !sign).collect(),
            _ => elements,
        }
    }

    fn broken_rules(&self, maker: &CaseGenerator<'_>) -> Vec<BrokenRule> {
        let of_three = not_repeated(maker, &OF_ROWS_OF_GRADIENTS);
        vec![maker.broken("rule_sizes_are_not_repeated", of_three, "MeanTensor.Sizes[0]")]
    }
}
