//! GridSample: samples of the input at the coordinates of a grid. Neighbours are gathered, and weighted by
//! DirectML's element-wise operators.

use dml_core::operators::ELEMENT_WISE_ROUND;
use smallvec::smallvec;

use crate::convert::from_float;
use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::arithmetic::{
    ADD, AND, EQUAL, FLOOR, FLOOR_REMAINDER, GREATER, LESS, MAXIMUM, MINIMUM, MULTIPLY, SUBTRACT,
    WHERE,
};
use crate::graph::ops::cast::cast;
use crate::graph::ops::composed::ABSOLUTE;
use crate::graph::ops::concat::join;
use crate::graph::ops::element_wise::apply;
use crate::graph::ops::function::{Function, Types};
use crate::graph::ops::index::gathered_parts;
use crate::graph::ops::packed::count;
use crate::graph::ops::slice::{Walk, walked};
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::value::{Kind, Value};
use crate::tensor::text;

/// Samples of the first input at the coordinates in the second one, which are from -1 to 1, innermost dimension
/// first.
#[derive(Debug)]
pub(crate) struct GridSample {
    pub(crate) sampling: &'static Sampling,
    pub(crate) padding: Padding,
    /// Whether -1 and 1 are the centers of the first and the last element, rather than their outer edges.
    pub(crate) aligns_corners: bool,
}

/// How samples outside of the input are padded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Padding {
    Zeros,
    /// The nearest element.
    Border,
    /// The input mirrored repeatedly.
    Reflection,
}

/// The neighbours that a sample is interpolated from, along each dimension.
#[derive(Debug, PartialEq)]
pub(crate) struct Sampling {
    /// The offset of the first neighbour from the coordinate rounded down.
    first: f64,
    /// The weight of each neighbour: a polynomial of the coordinate's fraction, highest coefficient first. If
    /// empty, coordinates are rounded to the nearest element.
    weights: &'static [&'static [f64]],
    /// The largest number of dimensions that it is defined for.
    dimensions: usize,
}

/// The nearest element; ties go to the even index.
pub(crate) const NEAREST: &Sampling = &Sampling { first: 0.0, weights: &[], dimensions: 3 };
pub(crate) const LINEAR: &Sampling =
    &Sampling { first: 0.0, weights: &[&[-1.0, 1.0], &[1.0, 0.0]], dimensions: 3 };
/// Keys' cubic convolution polynomials with coefficient -0.75.
pub(crate) const CUBIC: &Sampling = &Sampling {
    first: -1.0,
    weights: &[
        &[-0.75, 1.5, -0.75, 0.0],
        &[1.25, -2.25, 0.0, 1.0],
        &[-1.25, 1.5, 0.75, 0.0],
        &[0.75, -0.75, 0.0, 0.0],
    ],
    dimensions: 2,
};

const ROUND: Function = Function::new(Types::Numbers, &ELEMENT_WISE_ROUND);

/// One neighbour of each sample, for all grid points.
#[derive(Clone)]
struct Neighbour {
    /// Its index among the elements of a channel.
    index: Value,
    /// Whether it is inside of the input, if the padding depends on that.
    inside: Option<Value>,
    weight: Option<Value>,
}

impl Op for GridSample {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let (data, grid) = (operands.value(0, "X")?, operands.value(1, "grid")?);
        let (kind, spatial) = self.infer(operands, data, grid)?;
        let element = kind.element;
        if kind.is_empty() {
            return Ok(vec![Value::empty(kind)?]);
        }
        let places = [kind.shape[0], count(&kind.shape[2..])];
        let dimensions = spatial.len() as u64;
        let grid = cast(operands, grid, ElementType::FLOAT32)?;
        let grid = operands.reshaped(&grid, &[places[0], places[1], dimensions])?;
        let (mut neighbours, mut stride) = (vec![], 1.0);
        for (at, size) in (0_u64..).zip(spatial.iter().rev()) {
            let walk =
                [Walk::whole(places[0]), Walk::whole(places[1]), Walk::forwards(dimensions, at, 1)];
            let along = Axis { size: *size as f64, sample: self, operands };
            let along = along.neighbours(walked(operands, &grid, &walk)?, stride)?;
            neighbours = Neighbour::pairs(operands, neighbours, along)?;
            stride *= *size as f64;
        }
        let data = self.channels_last(operands, data, element)?;
        let mut sum: Option<Value> = None;
        for neighbour in neighbours {
            let part = neighbour.gathered(operands, &data, stride)?;
            sum = Some(match sum {
                Some(sum) => apply(operands, ADD, &[sum, part])?,
                None => part,
            });
        }
        let sum = sum.unwrap_or(data).transposed(&[0, 2, 1]);
        Ok(vec![cast(operands, &operands.reshaped(&sum, &kind.shape)?, element)?])
    }
}

impl GridSample {
    /// The output's type and shape, and the sizes of the sampled dimensions.
    fn infer(
        &self,
        operands: &NodeInputs<'_>,
        data: &Value,
        grid: &Value,
    ) -> Result<(Kind, Vec<u64>)> {
        let (Kind { element, shape }, given) = (data.kind()?, grid.shape()?);
        if !self.sampling.weights.is_empty() {
            operands.type_is(element, &[ElementType::FLOAT32, ElementType::FLOAT16], "X")?;
        }
        operands.type_is(grid.element()?, &[ElementType::FLOAT32, ElementType::FLOAT16], "grid")?;
        let dimensions = shape.len().saturating_sub(2);
        if !(1..=self.sampling.dimensions).contains(&dimensions) {
            let most = self.sampling.dimensions;
            let reason = format!("{dimensions} dimensions are not sampled so, but 1 to {most}");
            return Err(operands.node.not_supported(reason));
        }
        let fits = given.len() == shape.len()
            && given.first() == shape.first()
            && given.last() == Some(&(dimensions as u64));
        if !fits {
            let accepted =
                format!("[{}, .., {dimensions}] of {} dimensions", shape[0], shape.len());
            return Err(operands.node.invalid("grid", text(given), "is the wrong shape", accepted));
        }
        let output = [&shape[..2], &given[1..=dimensions]].concat();
        let spatial = shape[2..].to_vec();
        // Element indices are 32-bit integers; one more index stands for elements outside.
        let is_counted = count(&spatial) < u64::from(u32::MAX / 2);
        if !output.contains(&0) && (spatial.contains(&0) || !is_counted) {
            let (problem, accepted) = ("is the wrong number of elements", "1 to 2147483646");
            return Err(operands.node.invalid("X", text(&spatial), problem, accepted));
        }
        Ok((Kind { element, shape: output.into() }, spatial))
    }

    /// The data with one row of all channels per element, followed by a row of zeros if the padding needs one.
    fn channels_last(
        &self,
        operands: &NodeInputs<'_>,
        data: &Value,
        element: ElementType,
    ) -> Result<Value> {
        let shape = data.shape()?;
        let rows = operands.reshaped(data, &[shape[0], shape[1], count(&shape[2..])])?;
        let rows = rows.transposed(&[0, 2, 1]);
        let element = if self.sampling.weights.is_empty() { element } else { ElementType::FLOAT32 };
        let rows = cast(operands, &rows, element)?;
        if self.padding != Padding::Zeros {
            return operands.materialized(&rows);
        }
        let zeros = Value::fill(Kind { element, shape: smallvec![shape[0], 1, shape[1]] }, 0);
        join(operands, &[&rows, &zeros], 1, "X")
    }
}

/// A sampled dimension of the input.
struct Axis<'a> {
    size: f64,
    sample: &'a GridSample,
    operands: &'a NodeInputs<'a>,
}

impl Axis<'_> {
    fn with(&self, function: Function, value: &Value, number: f64) -> Result<Value> {
        with(self.operands, function, value, number)
    }

    /// The neighbours of each sample along this dimension, in which adjacent elements are `stride` apart.
    fn neighbours(&self, given: Value, stride: f64) -> Result<Vec<Neighbour>> {
        let GridSample { sampling, padding, .. } = self.sample;
        let place = self.padded(&self.place(&given)?)?;
        if sampling.weights.is_empty() {
            return Ok(vec![self.neighbour(&place, None, stride)?]);
        }
        let lower = apply(self.operands, FLOOR, std::slice::from_ref(&place))?;
        let rest = apply(self.operands, SUBTRACT, &[place, lower.clone()])?;
        let mut all = vec![];
        for (at, polynomial) in sampling.weights.iter().enumerate() {
            let index = self.with(ADD, &lower, sampling.first + at as f64)?;
            let index =
                if *padding == Padding::Reflection { self.reflected(&index)? } else { index };
            all.push(self.neighbour(&index, Some(self.weight(&rest, polynomial)?), stride)?);
        }
        Ok(all)
    }

    /// Element positions of coordinates from -1 to 1.
    fn place(&self, given: &Value) -> Result<Value> {
        let moved = self.with(ADD, given, 1.0)?;
        let place = match self.sample.aligns_corners {
            true => self.with(MULTIPLY, &self.with(MULTIPLY, &moved, 0.5)?, self.size - 1.0)?,
            false => {
                let twice = self.with(ADD, &self.with(MULTIPLY, &moved, self.size)?, -1.0)?;
                self.with(MULTIPLY, &twice, 0.5)?
            }
        };
        match self.sample.sampling.weights {
            [] => apply(self.operands, ROUND, &[place]),
            _ => Ok(place),
        }
    }

    /// The ends of the input: the centers of its first and last element, or their outer edges.
    fn ends(&self) -> [f64; 2] {
        if self.sample.aligns_corners { [0.0, self.size - 1.0] } else { [-0.5, self.size - 0.5] }
    }

    /// Positions with padding applied: those outside of the input are mapped to positions inside.
    fn padded(&self, place: &Value) -> Result<Value> {
        let [first, last] = self.ends();
        match self.sample.padding {
            Padding::Zeros => Ok(place.clone()),
            Padding::Reflection => self.reflected(place),
            // Positions between the last element's center and its edge are unchanged.
            Padding::Border => {
                let inner = self.clamped(place)?;
                let below = self.with(LESS, place, first)?;
                let above = self.with(GREATER, place, last)?;
                let place = apply(self.operands, WHERE, &[below, inner.clone(), place.clone()])?;
                apply(self.operands, WHERE, &[above, inner, place])
            }
        }
    }

    fn reflected(&self, place: &Value) -> Result<Value> {
        let [first, last] = self.ends();
        let length = last - first;
        if length == 0.0 {
            return Ok(Value::fill(place.kind()?, 0));
        }
        let along = self.with(FLOOR_REMAINDER, &self.with(ADD, place, -first)?, 2.0 * length)?;
        let back = apply(self.operands, ABSOLUTE, &[self.with(ADD, &along, -length)?])?;
        self.with(ADD, &self.with(MULTIPLY, &back, -1.0)?, last)
    }

    fn clamped(&self, place: &Value) -> Result<Value> {
        self.with(MAXIMUM, &self.with(MINIMUM, place, self.size - 1.0)?, 0.0)
    }

    fn neighbour(&self, place: &Value, weight: Option<Value>, stride: f64) -> Result<Neighbour> {
        let clamped = self.clamped(place)?;
        let inside = match self.sample.padding {
            Padding::Zeros => Some(apply(self.operands, EQUAL, &[clamped.clone(), place.clone()])?),
            _ => None,
        };
        let index = cast(self.operands, &clamped, ElementType::INT32)?;
        Ok(Neighbour { index: self.with(MULTIPLY, &index, stride)?, inside, weight })
    }

    fn weight(&self, rest: &Value, polynomial: &[f64]) -> Result<Value> {
        let Some((highest, lower)) = polynomial.split_first() else { return Ok(rest.clone()) };
        let mut value: Option<Value> = None;
        for coefficient in lower {
            let product = match value {
                None => self.with(MULTIPLY, rest, *highest)?,
                Some(value) => apply(self.operands, MULTIPLY, &[value, rest.clone()])?,
            };
            value = Some(self.with(ADD, &product, *coefficient)?);
        }
        Ok(value.unwrap_or_else(|| rest.clone()))
    }
}

impl Neighbour {
    /// The neighbours in two dimensions: one of `first` combined with one of `second`.
    fn pairs(operands: &NodeInputs<'_>, first: Vec<Self>, second: Vec<Self>) -> Result<Vec<Self>> {
        if first.is_empty() {
            return Ok(second);
        }
        let both = |function, a: Option<&Value>, b: Option<&Value>| {
            let values = a.zip(b).map(|(a, b)| [a.clone(), b.clone()]);
            values.map(|values| apply(operands, function, &values)).transpose()
        };
        let pairs = second.iter().flat_map(|b| first.iter().map(move |a| (a, b)));
        let pair = |(a, b): (&Self, &Self)| {
            Ok(Self {
                index: apply(operands, ADD, &[a.index.clone(), b.index.clone()])?,
                inside: both(AND, a.inside.as_ref(), b.inside.as_ref())?,
                weight: both(MULTIPLY, a.weight.as_ref(), b.weight.as_ref())?,
            })
        };
        pairs.map(pair).collect()
    }

    /// This neighbour's elements in all channels of every sample, for channels of `count` elements.
    fn gathered(&self, operands: &NodeInputs<'_>, data: &Value, count: f64) -> Result<Value> {
        let index = match &self.inside {
            None => self.index.clone(),
            Some(inside) => {
                let zeros = number(self.index.element()?, count);
                apply(operands, WHERE, &[inside.clone(), self.index.clone(), zeros])?
            }
        };
        let part = gathered_parts(operands, data, &index)?;
        match &self.weight {
            None => Ok(part),
            Some(weight) => apply(operands, MULTIPLY, &[part, weight.clone()]),
        }
    }
}

fn number(element: ElementType, number: f64) -> Value {
    Value::scalar(element, from_float(number, element))
}

fn with(operands: &NodeInputs<'_>, function: Function, value: &Value, other: f64) -> Result<Value> {
    apply(operands, function, &[value.clone(), number(value.element()?, other)])
}
