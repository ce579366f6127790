//! Builds a model of ONNX.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use dml::DataType;
use dml_import::ElementType;
use dml_import::onnx::proto::{
    AttributeProto, DimensionProto, GraphProto, NodeProto, TensorProto, TensorShapeProto,
    TensorTypeProto, TypeProto, ValueInfoProto,
};
use serde_json::Value;

use super::attribute;
use super::json::{self, Number, Operator, names};

/// The type and shape of a value, as far as the test states them.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) element: ElementType,
    pub(super) shape: Vec<u64>,
}

/// The model so far.
#[derive(Default)]
pub(super) struct Builder {
    pub(super) graph: GraphProto,
    pub(super) known: BTreeMap<String, Known>,
    count: usize,
}

/// An operation with its arguments.
pub(super) struct Call<'a> {
    pub(super) operator: &'a Operator,
    pub(super) builder: &'a mut Builder,
}

pub(super) fn value(name: &str, known: Option<&Known>) -> anyhow::Result<ValueInfoProto> {
    let kind = |known: &Known| {
        let size = |size: &u64| {
            let dim_value = Some((*size).try_into()?);
            anyhow::Ok(DimensionProto { dim_value, ..DimensionProto::default() })
        };
        let dim = known.shape.iter().map(size).collect::<anyhow::Result<Vec<_>>>()?;
        let shape = Some(TensorShapeProto { dim });
        let tensor_type = Some(TensorTypeProto { elem_type: number(known.element)?, shape });
        anyhow::Ok(TypeProto { tensor_type, ..TypeProto::default() })
    };
    Ok(ValueInfoProto { name: name.to_owned(), r#type: known.map(kind).transpose()? })
}

/// The number of a type in TensorProto.DataType.
pub(super) fn number(element: ElementType) -> anyhow::Result<i32> {
    Ok(match element {
        ElementType::Dml(DataType::Float32) => 1,
        ElementType::Dml(DataType::Uint8) => 2,
        ElementType::Dml(DataType::Int8) => 3,
        ElementType::Dml(DataType::Int32) => 6,
        ElementType::Dml(DataType::Int64) => 7,
        ElementType::Bool => 9,
        ElementType::Dml(DataType::Float16) => 10,
        ElementType::Dml(DataType::Uint32) => 12,
        ElementType::Dml(DataType::Uint64) => 13,
        ElementType::Uint4 => 21,
        ElementType::Int4 => 22,
        other => anyhow::bail!("{other} is not a type of WebNN"),
    })
}

impl Builder {
    pub(super) fn node_to(
        &mut self,
        op_type: &str,
        input: &[String],
        attribute: Vec<AttributeProto>,
        output: Vec<String>,
    ) {
        let (op_type, input) = (op_type.to_owned(), input.to_vec());
        let node = NodeProto { input, output, op_type, attribute, ..NodeProto::default() };
        self.graph.node.push(node);
    }

    /// A name that no test uses.
    fn fresh(&mut self) -> String {
        self.count += 1;
        format!("#{}", self.count)
    }

    /// The outputs of a new node.
    pub(super) fn nodes(
        &mut self,
        op_type: &str,
        input: &[String],
        attribute: Vec<AttributeProto>,
        outputs: usize,
    ) -> Vec<String> {
        let outputs: Vec<String> = (0..outputs).map(|_| self.fresh()).collect();
        self.node_to(op_type, input, attribute, outputs.clone());
        outputs
    }

    /// The output of a new node.
    pub(super) fn node(
        &mut self,
        op_type: &str,
        input: &[String],
        attribute: Vec<AttributeProto>,
    ) -> String {
        let output = self.fresh();
        self.node_to(op_type, input, attribute, vec![output.clone()]);
        output
    }

    pub(super) fn cast(&mut self, input: &str, element: ElementType) -> anyhow::Result<String> {
        let to = attribute::int("to", number(element)?.into());
        Ok(self.node("Cast", &[input.to_owned()], vec![to]))
    }

    /// A constant.
    pub(super) fn constant(
        &mut self,
        element: ElementType,
        shape: &[u64],
        numbers: &[Number],
    ) -> anyhow::Result<String> {
        ensure!(
            !matches!(element, ElementType::Int4 | ElementType::Uint4),
            "constants of {element} are not written"
        );
        let (name, tensor) = (self.fresh(), json::tensor(element, shape, numbers)?);
        let dims = shape.iter().map(|it| i64::try_from(*it)).collect::<Result<_, _>>()?;
        self.graph.initializer.push(TensorProto {
            dims,
            data_type: number(element)?,
            name: name.clone(),
            raw_data: Some(tensor.bytes().to_vec().into()),
            ..TensorProto::default()
        });
        Ok(name)
    }

    /// A constant of one dimension.
    pub(super) fn integers(&mut self, values: &[i64]) -> anyhow::Result<String> {
        let numbers: Vec<Number> =
            values.iter().map(|value| Number::Integer((*value).into())).collect();
        self.constant(ElementType::INT64, &[values.len() as u64], &numbers)
    }
}

impl Call<'_> {
    /// The operand that an argument names; `None` if the argument is missing.
    pub(super) fn operand(&self, name: &str) -> anyhow::Result<Option<String>> {
        let found = self.operator.argument(name).map(names).transpose()?;
        found.map(|it| it.into_iter().next().with_context(|| name.to_owned())).transpose()
    }

    /// The operand of a required argument.
    pub(super) fn required(&self, name: &str) -> anyhow::Result<String> {
        self.operand(name)?.with_context(|| format!("argument {name}: it is missing"))
    }

    /// The type and shape of an operand of the graph.
    pub(super) fn known(&self, name: &str) -> anyhow::Result<Known> {
        let operand = self.required(name)?;
        let known = self.builder.known.get(&operand).cloned();
        known.with_context(|| format!("'{operand}' is not an operand of the graph"))
    }

    pub(super) fn number(&self, name: &str) -> anyhow::Result<Option<Number>> {
        self.operator.argument(name).map(Number::of).transpose().with_context(|| name.to_owned())
    }

    pub(super) fn integer(&self, name: &str) -> anyhow::Result<Option<i64>> {
        self.operator.argument(name).map(|it| integer(it, name)).transpose()
    }

    /// A list of integers.
    pub(super) fn list(&self, name: &str) -> anyhow::Result<Option<Vec<i64>>> {
        let Some(value) = self.operator.argument(name) else { return Ok(None) };
        let all = value.as_array().with_context(|| format!("{name}: {value} is not a list"))?;
        all.iter().map(|it| integer(it, name)).collect::<anyhow::Result<_>>().map(Some)
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.operator.argument(name).and_then(Value::as_bool).unwrap_or(false)
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.operator.argument(name).and_then(Value::as_str)
    }
}

fn integer(value: &Value, name: &str) -> anyhow::Result<i64> {
    match Number::of(value).with_context(|| name.to_owned())? {
        Number::Integer(value) => Ok(value.try_into()?),
        Number::Float(value) => anyhow::bail!("{name}: {value} is not an integer"),
    }
}
