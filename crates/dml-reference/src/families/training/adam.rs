//! ADAM_OPTIMIZER: parameters and moments after a training step.

use dml_core::operators::ADAM_OPTIMIZER;
use dml_core::schema::{FieldSchema, OperatorSchema};
use dml_core::{AbstractOperator, Error, FieldValue, TensorLayout, Validated};

use super::cases::{CaseGenerator, Meaning};
use super::given::ExecutionInputs;
use crate::number::{encoded, single};
use crate::{BrokenRule, Case, Random, SMALL, edges, shapes};

pub(super) struct Adam;

/// `LearningRate`, `Beta1`, `Beta2`, `Epsilon`.
type Factors = [f32; 4];

const NAMES: [&str; 4] = ["LearningRate", "Beta1", "Beta2", "Epsilon"];
const USUAL: Factors = [0.01, 0.9, 0.999, 1e-8];
const FACTORS: [(&str, Factors); 5] = [
    ("large_rate", [0.5, 0.9, 0.999, 1e-3]),
    ("no_memory", [0.125, 0.0, 0.0, 0.5]),
    ("long_memory", [0.01, 0.999_99, 0.999_999, 1e-8]),
    ("without_epsilon", [0.01, 0.5, 0.25, 0.0]),
    ("no_rate", [0.0, 0.9, 0.999, 1e-8]),
];

const STEP: &str = "TrainingStepTensor";

impl Adam {
    fn of(maker: &CaseGenerator<'_>, sizes: &[u32], factors: Factors) -> AbstractOperator {
        let sizes = |field: &FieldSchema| {
            Some(if field.name == STEP { vec![1; sizes.len()] } else { sizes.to_vec() })
        };
        let factor = |(name, value)| (name, FieldValue::Float(value));
        let attributes: Vec<_> = NAMES.into_iter().zip(factors).map(factor).collect();
        maker.operator(sizes, &attributes)
    }
}

/// `1 - beta^step`.
fn correction(beta: f64, step: f64) -> f64 {
    // ln(beta) * step is near 0 for most steps, so `1 - beta^step` would cancel.
    let exponent = beta.ln() * step;
    if exponent.is_nan() { 1.0 - beta.powf(step) } else { -exponent.exp_m1() }
}

impl Meaning for Adam {
    fn schema(&self) -> &'static OperatorSchema {
        &ADAM_OPTIMIZER
    }

    fn outputs(&self, given: &ExecutionInputs<'_>) -> Result<Vec<Vec<f64>>, Error> {
        let operator = given.operator;
        let [rate, beta1, beta2, epsilon] = NAMES.map(|it| operator.float(it).map(f64::from));
        let (rate, beta1, beta2, epsilon) = (rate?, beta1?, beta2?, epsilon?);
        let data_type = operator.required_tensor("OutputParametersTensor")?.data_type();
        let [parameters, first, second, gradients, steps] = &given.inputs[..] else {
            return Err(Error::internal(ADAM_OPTIMIZER.name, "has five inputs"));
        };
        let round = |value: f64| given.rounded(value);
        let training_step = single(steps[0]);
        let [fresh1, fresh2] = [beta1, beta2].map(|beta| single(1.0 - beta));
        let numerator = single(correction(beta2, training_step).sqrt());
        let alpha = single(numerator / single(correction(beta1, training_step)));
        let rate = round(rate * alpha);
        let mut outputs = vec![vec![]; 3];
        for (at, x) in parameters.iter().enumerate() {
            let gradient = gradients[at];
            let m = round(round(beta1 * first[at]) + round(fresh1 * gradient));
            let squared = round(round(fresh2 * gradient) * gradient);
            let v = round(round(beta2 * second[at]) + squared);
            // The updated moments, as they are stored.
            let [m, v] = [m, v].map(|it| (given.step)(ExecutionInputs::stored(data_type, it)));
            let divisor = round(single(v.sqrt()) + (given.step)(epsilon));
            let by = (given.step)(single(round(rate * m) / divisor));
            for (output, value) in outputs.iter_mut().zip([x - by, m, v]) {
                output.push(value);
            }
        }
        Ok(outputs)
    }

    fn operators(&self, maker: &CaseGenerator<'_>) -> Vec<(String, AbstractOperator)> {
        let of = |sizes: &[u32], factors| Self::of(maker, maker.last(sizes), factors);
        let mut all = vec![
            ("one_element".to_owned(), of(&[1; 8], USUAL)),
            ("usual".to_owned(), of(&SMALL, USUAL)),
        ];
        let shapes = shapes(maker.rank()).into_iter();
        all.extend(shapes.map(|(name, sizes)| (name.to_owned(), of(&sizes, USUAL))));
        let factors = FACTORS.into_iter();
        all.extend(factors.map(|(name, it)| (format!("factors_{name}"), of(&SMALL, it))));
        all
    }

    fn drawn(&self, maker: &CaseGenerator<'_>, random: &mut Random) -> AbstractOperator {
        let sizes = random.sizes(maker.rank());
        let factors = if random.one_in(2) { USUAL } else { random.pick(&FACTORS).1 };
        Self::of(maker, &sizes, factors)
    }

    /// Edge values of parameters, and of steps.
    fn special(&self, maker: &CaseGenerator<'_>) -> Vec<Case> {
        let edges = edges(maker.type_of("InputParametersTensor"));
        let count = u32::try_from(edges.len()).unwrap_or(u32::MAX);
        let mut sizes = [1; 8];
        sizes[7] = count;
        let of = |name: &'static str| Case::new(name, Self::of(maker, maker.last(&sizes), USUAL));
        let ones = || vec![encoded(maker.type_of("GradientTensor"), 1.0); edges.len()];
        let at = |name, step: f64| {
            let step = vec![encoded(maker.type_of(STEP), step)];
            of(name).with_inputs(vec![edges.clone(), ones(), ones(), ones(), step])
        };
        vec![
            at("step_0", 0.0),
            at("step_1", 1.0),
            at("step_2047", 2047.0),
            of("values_of_first_moments").with_inputs(vec![ones(), edges.clone()]),
            of("values_of_second_moments").with_inputs(vec![ones(), ones(), edges.clone()]),
            of("values_of_gradients").with_inputs(vec![ones(), ones(), ones(), edges.clone()]),
        ]
    }

    fn in_place(&self) -> &'static [&'static [(u32, u32)]] {
        &[&[(0, 0), (1, 1), (2, 2)], &[(3, 0)], &[(1, 2)], &[(1, 0), (3, 2)], &[(1, 1)], &[(2, 2)]]
    }

    fn elements(
        &self,
        random: &mut Random,
        _operator: &Validated,
        index: usize,
        layout: &TensorLayout,
    ) -> Vec<u64> {
        let mut element = || {
            let unit = f64::from(random.word()) / f64::from(u32::MAX);
            let sign = if random.one_in(2) { -1.0 } else { 1.0 };
            match index {
                0 => sign * (1.0 + 3.0 * unit),
                // Moments of mixed signs would cancel.
                1 | 3 => sign * (0.125 + unit),
                2 => 0.5 + unit,
                _ => f64::from(1 + random.below(5000)),
            }
        };
        let data_type = layout.data_type();
        (0..layout.element_count()).map(|_| encoded(data_type, element())).collect()
    }

    fn broken_rules(&self, maker: &CaseGenerator<'_>) -> Vec<BrokenRule> {
        let sizes = vec![2; maker.rank()];
        let with = |at: usize, value: f32| {
            let mut factors = USUAL;
            factors[at] = value;
            Self::of(maker, &sizes, factors)
        };
        let usual = Self::of(maker, &sizes, USUAL);
        let steps = maker.with_tensors(&usual, |field, tensor| {
            if field.name == STEP {
                tensor.sizes[0] = 2;
            }
        });
        vec![
            maker.broken("rule_beta_of_1", with(1, 1.0), "Beta1"),
            maker.broken("rule_beta_below_0", with(2, -0.5), "Beta2"),
            maker.broken("rule_beta_is_no_number", with(2, f32::NAN), "Beta2"),
            maker.broken("rule_several_steps", steps, format!("{STEP}.Sizes[0]")),
        ]
    }
}
