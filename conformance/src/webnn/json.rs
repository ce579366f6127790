//! The form of the files.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail, ensure};
use dml::DataType;
use dml_import::{ElementType, Tensor};
use half::f16;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A file of tests.
#[derive(Debug, Deserialize)]
pub(super) struct File {
    pub(super) tests: Vec<Test>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Test {
    pub(super) name: String,
    pub(super) graph: Graph,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Graph {
    #[serde(default)]
    pub(super) inputs: BTreeMap<String, JsonOperand>,
    pub(super) operators: Vec<Operator>,
    pub(super) expected_outputs: BTreeMap<String, JsonOperand>,
}

/// An operation; its arguments stand in objects of one entry each.
#[derive(Debug, Deserialize)]
pub(super) struct Operator {
    pub(super) name: String,
    #[serde(default)]
    arguments: Vec<Map<String, Value>>,
    outputs: Value,
}

#[derive(Debug, Deserialize)]
pub(super) struct JsonOperand {
    data: Value,
    pub(super) descriptor: Descriptor,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Descriptor {
    data_type: String,
    pub(super) shape: Vec<u64>,
}

impl Operator {
    /// The value of an argument or of an option; nothing stands for none.
    pub(super) fn argument(&self, name: &str) -> Option<&Value> {
        let find = |name: &str| self.arguments.iter().find_map(|argument| argument.get(name));
        let option = || find("options").and_then(|it| it.get(name));
        find(name).or_else(option).filter(|it| !it.is_null())
    }

    /// The names of what it gives.
    pub(super) fn outputs(&self) -> anyhow::Result<Vec<String>> {
        names(&self.outputs).context("outputs")
    }
}

/// A name, or several.
pub(super) fn names(value: &Value) -> anyhow::Result<Vec<String>> {
    let name = |it: &Value| it.as_str().map(str::to_owned);
    match value {
        Value::Array(all) => all.iter().map(name).collect::<Option<_>>(),
        one => name(one).map(|it| vec![it]),
    }
    .with_context(|| format!("{value} is not a name"))
}

impl Descriptor {
    pub(super) fn element(&self) -> anyhow::Result<ElementType> {
        element(&self.data_type)
    }
}

/// The type of a name.
pub(super) fn element(name: &str) -> anyhow::Result<ElementType> {
    Ok(ElementType::Dml(match name {
        "float32" => DataType::Float32,
        "float16" => DataType::Float16,
        "int64" => DataType::Int64,
        "uint64" => DataType::Uint64,
        "int32" => DataType::Int32,
        "uint32" => DataType::Uint32,
        "int8" => DataType::Int8,
        "uint8" => DataType::Uint8,
        "int4" => return Ok(ElementType::Int4),
        "uint4" => return Ok(ElementType::Uint4),
        _ => bail!("'{name}' is not a data type of WebNN"),
    }))
}

/// A number in JSON, or in a string: `Infinity`, `NaN`, or an integer with `n` after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Integer(i128),
    Float(f64),
}

impl Number {
    pub(super) fn of(value: &Value) -> anyhow::Result<Self> {
        let integer = || value.as_i64().map(i128::from).or(value.as_u64().map(i128::from));
        let number = match value {
            Value::String(text) => {
                let digits = text.strip_suffix('n').unwrap_or(text);
                let integer = digits.parse().map(Self::Integer);
                integer.or_else(|_| text.parse().map(Self::Float)).ok()
            }
            Value::Bool(flag) => Some(Self::Integer((*flag).into())),
            other => integer().map(Self::Integer).or(other.as_f64().map(Self::Float)),
        };
        number.with_context(|| format!("{value} is not a number"))
    }

    #[expect(clippy::cast_precision_loss, reason = "as JavaScript does it")]
    pub(super) fn float(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    /// The bytes of an element, rounded to nearest.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rounds, and the low bytes are the element's"
    )]
    fn bytes(self, element: ElementType) -> anyhow::Result<Vec<u8>> {
        Ok(match (element, self) {
            (ElementType::Dml(DataType::Float32), _) => {
                (self.float() as f32).to_le_bytes().to_vec()
            }
            (ElementType::Dml(DataType::Float16), _) => {
                f16::from_f64(self.float()).to_le_bytes().to_vec()
            }
            (_, Self::Integer(value)) => {
                let range = element.storage().and_then(DataType::integer_range);
                let fits = range.is_some_and(|(least, most)| (least..=most).contains(&value));
                ensure!(fits, "{value} is not a value of {element}");
                let size = element.size().and_then(|size| usize::try_from(size).ok());
                value.to_le_bytes()[..size.unwrap_or(0).min(16)].to_vec()
            }
            (_, Self::Float(value)) if value.fract() == 0.0 => {
                Self::Integer(value as i128).bytes(element)?
            }
            (_, Self::Float(value)) => bail!("{value} is not a value of {element}"),
        })
    }
}

/// How many elements a tensor of a test has.
fn count(shape: &[u64]) -> anyhow::Result<usize> {
    const MOST: u64 = 1 << 26;
    let count = shape.iter().try_fold(1u64, |all, it| all.checked_mul(*it));
    let count =
        count.filter(|count| *count <= MOST).with_context(|| format!("{shape:?} is too large"))?;
    Ok(usize::try_from(count)?)
}

/// A tensor of these numbers.
pub(super) fn tensor(
    element: ElementType,
    shape: &[u64],
    numbers: &[Number],
) -> anyhow::Result<Tensor> {
    ensure!(numbers.len() == count(shape)?, "{} numbers do not fill {shape:?}", numbers.len());
    let bytes =
        numbers.iter().map(|number| number.bytes(element)).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(Tensor::new(element, shape, bytes.concat())?)
}

impl JsonOperand {
    pub(super) fn tensor(&self) -> anyhow::Result<Tensor> {
        let (element, shape) = (self.descriptor.element()?, &self.descriptor.shape);
        match &self.data {
            Value::Array(all) => {
                let numbers = all.iter().map(Number::of).collect::<anyhow::Result<Vec<_>>>()?;
                tensor(element, shape, &numbers)
            }
            every => {
                let bytes = Number::of(every)?.bytes(element)?.repeat(count(shape)?);
                Ok(Tensor::new(element, shape.as_slice(), bytes)?)
            }
        }
    }
}
