//! Constant and ConstantOfShape.

use std::sync::Arc;

use crate::constant::Constant;
use crate::element::ElementType;
use crate::error::Result;
use crate::graph::{ConstantOfShape, Literal, Op};
use crate::onnx::attributes::Attributes;
use crate::tensor::{Tensor, element_count, text};

pub(super) fn constant(it: &Attributes<'_>) -> Result<Box<dyn Op>> {
    let length = |count: usize| vec![count as u64];
    let constant: Constant = if let Some(constant) = it.tensor("value")? {
        constant
    } else if let Some(constant) = it.sparse_tensor("sparse_value")? {
        constant
    } else if let Some(value) = it.int("value_int") {
        Tensor::from_integers(vec![], &[value]).into()
    } else if let Some(values) = it.ints("value_ints") {
        Tensor::from_integers(length(values.len()), &values).into()
    } else if let Some(value) = it.float("value_float") {
        Tensor::new(ElementType::FLOAT32, [], value.to_le_bytes().to_vec())?.into()
    } else if let Some(values) = it.floats("value_floats") {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Tensor::new(ElementType::FLOAT32, length(values.len()), bytes)?.into()
    } else if it.text("value_string").is_some() {
        return Err(it.node.not_supported("string has no counterpart among DirectML's types"));
    } else {
        return Err(it.missing("value"));
    };
    Ok(Box::new(Literal(Arc::new(constant))))
}

pub(super) fn of_shape(it: &Attributes<'_>) -> Result<Box<dyn Op>> {
    let Some(constant) = it.tensor("value")? else {
        return Ok(Box::new(ConstantOfShape { element: ElementType::FLOAT32, bits: 0 }));
    };
    if element_count(&constant.shape) != Some(1) {
        let (given, problem) = (text(&constant.shape), "is the wrong shape");
        return Err(it.node.invalid("attribute value", given, problem, "one element"));
    }
    let tensor = constant.load()?;
    let bits = tensor.bits().next().unwrap_or_default();
    Ok(Box::new(ConstantOfShape { element: tensor.element_type(), bits }))
}
