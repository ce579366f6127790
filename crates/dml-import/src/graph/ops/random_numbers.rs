//! RandomNormal, RandomUniform and Bernoulli by RANDOM_GENERATOR.
//!
//! The generator's key follows from the attribute `seed`, or from the node's name without one; its counter begins
//! with the number of the node's earlier uses, so that each iteration of a loop has numbers of its own. Every run of
//! a program draws the same numbers on every device. They are not those of another runtime.

use dml_core::operators::{ELEMENT_WISE_COS, ELEMENT_WISE_SQRT, RandomGeneratorDesc};
use dml_core::{DataType, RandomGeneratorType};

use crate::convert::from_float;
use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::arithmetic::{ADD, LESS, LOG, MULTIPLY};
use crate::graph::ops::bits::BitShift;
use crate::graph::ops::cast::cast;
use crate::graph::ops::element_wise::apply;
use crate::graph::ops::function::{Function, Types};
use crate::graph::ops::packed::{Use, count, write};
use crate::graph::ops::split::parts;
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::{Kind, Value};
use crate::tensor::Tensor;

const SINGLE: ElementType = ElementType::FLOAT32;
const WORD: ElementType = ElementType::Dml(DataType::Uint32);
const SQUARE_ROOT: Function = Function::new(Types::Floats, &ELEMENT_WISE_SQRT);
const COSINE: Function = Function::new(Types::Floats, &ELEMENT_WISE_COS);
/// The bits of a word that become a number from 0 to 1, as many as FLOAT32 has.
const DIGITS: u32 = 24;

/// A distribution of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Distribution {
    /// Multiples of 2^-24 from 0 up to but not including 1, each as likely, scaled to this range.
    Uniform { low: f32, high: f32 },
    /// Normal numbers by the method of Box and Muller, with at most 5.8 standard deviations.
    Normal { mean: f32, scale: f32 },
}

/// The numbers of one node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    pub(crate) seed: Option<f32>,
}

/// Random numbers: RandomNormal, RandomUniform and their Like forms.
#[derive(Debug)]
pub(crate) struct RandomNumbers {
    pub(crate) distribution: Distribution,
    /// `None` for the input's shape.
    pub(crate) shape: Option<Vec<i64>>,
    /// `None` for the input's type.
    pub(crate) element: Option<ElementType>,
    pub(crate) source: Source,
}

impl Op for RandomNumbers {
    fn need(&self, _input: usize) -> Need {
        Need::Shape
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let element = match self.element {
            Some(element) => element,
            None => operands.value(0, "input")?.element()?,
        };
        let is_float = ElementType::FLOATS.contains(&element) || element == ElementType::Bfloat16;
        if !is_float {
            let accepted = "float16, float32, float64, bfloat16";
            return Err(operands.node.invalid(
                "attribute dtype",
                element,
                "is not a float",
                accepted,
            ));
        }
        let shape = match &self.shape {
            Some(shape) => {
                let size = |size: &i64| operands.size(*size, "attribute shape");
                shape.iter().map(size).collect::<Result<_>>()?
            }
            None => operands.shape(0, "input")?.to_vec(),
        };
        let numbers = self.distribution.drawn(operands, &shape, self.source)?;
        cast(operands, &numbers, element).map(|it| vec![it])
    }
}

/// 1 with the probability that the input has, and 0 otherwise.
#[derive(Debug)]
pub(crate) struct Bernoulli {
    /// `None` for the input's type.
    pub(crate) element: Option<ElementType>,
    pub(crate) source: Source,
}

impl Op for Bernoulli {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let input = operands.value(0, "input")?;
        let probability = cast(operands, input, SINGLE)?;
        let uniform = Distribution::Uniform { low: 0.0, high: 1.0 };
        let numbers = uniform.drawn(operands, input.shape()?, self.source)?;
        let is_one = apply(operands, LESS, &[numbers, probability])?;
        let element = self.element.map_or_else(|| input.element(), Ok)?;
        cast(operands, &is_one, element).map(|it| vec![it])
    }
}

impl Distribution {
    /// Numbers of this distribution in FLOAT32.
    fn drawn(self, operands: &NodeInputs<'_>, shape: &[u64], source: Source) -> Result<Value> {
        if shape.contains(&0) {
            return Ok(Value::host(Tensor::new(SINGLE, shape, vec![])?));
        }
        let of = |function, values: [Value; 2]| apply(operands, function, &values);
        let (numbers, factor, offset) = match self {
            Self::Uniform { low, high } => {
                let numbers = source.fractions(operands, &[count(shape)])?;
                (numbers, f64::from(high) - f64::from(low), low)
            }
            Self::Normal { mean, scale } => {
                let both = source.fractions(operands, &[2, count(shape)])?;
                (normal(operands, &both)?, f64::from(scale), mean)
            }
        };
        let numbers = operands.reshaped(&numbers, shape)?;
        let scaled = of(MULTIPLY, [numbers, number(factor)])?;
        of(ADD, [scaled, number(offset.into())])
    }
}

/// Normal numbers by two rows of fractions: `sqrt(-2 ln(1 - a)) cos(2 pi b)`.
fn normal(operands: &NodeInputs<'_>, both: &Value) -> Result<Value> {
    let of = |function, a: Value, b: Value| apply(operands, function, &[a, b]);
    let [a, b] = <[Value; 2]>::try_from(parts(operands, both, 0, &[1, 1])?)
        .map_err(|_| operands.node.not_supported("two rows are needed"))?;
    let positive = of(ADD, of(MULTIPLY, a, number(-1.0))?, number(1.0))?;
    let logarithm = apply(operands, LOG, &[positive])?;
    let radius = apply(operands, SQUARE_ROOT, &[of(MULTIPLY, logarithm, number(-2.0))?])?;
    let angle = of(MULTIPLY, b, number(std::f64::consts::TAU))?;
    of(MULTIPLY, radius, apply(operands, COSINE, &[angle])?)
}

impl Source {
    /// Multiples of 2^-24 from 0 up to but not including 1.
    fn fractions(self, operands: &NodeInputs<'_>, shape: &[u64]) -> Result<Value> {
        let state = Value::host(Tensor::of_bits(WORD, [6], self.state(operands))?);
        let kind = Kind { element: WORD, shape: shape.into() };
        let inputs = [(&state, &[6][..])];
        let words =
            write(operands, Use::Computed, &inputs, kind, shape, |mut inputs, output_tensor| {
                let r#type = RandomGeneratorType::Philox4x3210;
                let input_state_tensor = inputs.remove(0);
                RandomGeneratorDesc {
                    input_state_tensor,
                    output_tensor,
                    output_state_tensor: None,
                    r#type,
                }
                .into()
            })?;
        let unused = Value::scalar(WORD, (32 - DIGITS).into());
        let whole = BitShift::Right.moved(operands, &words, &unused)?;
        let whole = cast(operands, &whole, SINGLE)?;
        apply(operands, MULTIPLY, &[whole, number(2f64.powi(-DIGITS.cast_signed()))])
    }

    /// The generator's counter, lowest word first, and its key.
    fn state(self, operands: &NodeInputs<'_>) -> [u64; 6] {
        let uses = operands.device.draws_of(&operands.owner.name);
        let key = match self.seed {
            Some(seed) => seed.to_bits().into(),
            None => hash(&operands.node.to_string()),
        };
        [0, 0, uses & u64::from(u32::MAX), 0, key & u64::from(u32::MAX), key >> 32]
    }
}

/// The 64-bit hash FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn number(value: f64) -> Value {
    Value::scalar(SINGLE, from_float(value, SINGLE))
}
