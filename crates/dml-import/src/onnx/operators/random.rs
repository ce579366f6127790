//! Operators that draw random numbers, and their attributes.

use super::build::{self, Built};
use super::{OperatorVersion, row};
use crate::element::ElementType;
use crate::error::Result;
use crate::graph::{Bernoulli, Distribution, RandomNumbers, Source};
use crate::onnx::attributes::{Attributes, Kind};

const TYPE: (&str, Kind) = ("dtype", Kind::Int);
const SEED: (&str, Kind) = ("seed", Kind::Float);
const SHAPE: (&str, Kind) = ("shape", Kind::Ints);
const UNIFORM: [(&str, Kind); 2] = [("low", Kind::Float), ("high", Kind::Float)];
const NORMAL: [(&str, Kind); 2] = [("mean", Kind::Float), ("scale", Kind::Float)];

/// All versions of these operators.
pub(super) static ROWS: &[OperatorVersion] = &[
    row("RandomUniform", 1, &[UNIFORM[0], UNIFORM[1], TYPE, SEED, SHAPE], 0..=0, |it| {
        of_shape(it, uniform(it))
    }),
    row("RandomNormal", 1, &[NORMAL[0], NORMAL[1], TYPE, SEED, SHAPE], 0..=0, |it| {
        of_shape(it, normal(it))
    }),
    row("RandomUniformLike", 1, &[UNIFORM[0], UNIFORM[1], TYPE, SEED], 1..=1, |it| {
        like(it, uniform(it))
    }),
    row("RandomNormalLike", 1, &[NORMAL[0], NORMAL[1], TYPE, SEED], 1..=1, |it| {
        like(it, normal(it))
    }),
    row("Bernoulli", 15, &[TYPE, SEED], 1..=1, |it| {
        Ok(Box::new(Bernoulli { element: element(it)?, source: source(it) }))
    }),
];

fn uniform(it: &Attributes<'_>) -> Distribution {
    let [low, high] = [it.float("low").unwrap_or(0.0), it.float("high").unwrap_or(1.0)];
    Distribution::Uniform { low, high }
}

fn normal(it: &Attributes<'_>) -> Distribution {
    let [mean, scale] = [it.float("mean").unwrap_or(0.0), it.float("scale").unwrap_or(1.0)];
    Distribution::Normal { mean, scale }
}

fn source(it: &Attributes<'_>) -> Source {
    Source { seed: it.float("seed") }
}

fn element(it: &Attributes<'_>) -> Result<Option<ElementType>> {
    it.int("dtype").map(|number| build::element(it, "dtype", number)).transpose()
}

fn of_shape(it: &Attributes<'_>, distribution: Distribution) -> Built {
    let shape = Some(it.ints("shape").ok_or_else(|| it.missing("shape"))?);
    let element = Some(element(it)?.unwrap_or(ElementType::FLOAT32));
    Ok(Box::new(RandomNumbers { distribution, shape, element, source: source(it) }))
}

fn like(it: &Attributes<'_>, distribution: Distribution) -> Built {
    let element = element(it)?;
    Ok(Box::new(RandomNumbers { distribution, shape: None, element, source: source(it) }))
}
