//! Reductions, as models do them with shapes: on the host.

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::function::Scalar;
use crate::graph::ops::operands::{Operator, Place};
use crate::graph::ops::{Need, Op, Operands};
use crate::graph::strides::{packed, positions};
use crate::graph::value::Value;
use crate::tensor::{Tensor, element_count, host_elements};

/// What becomes of two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    Sum,
    Product,
    Minimum,
    Maximum,
}

/// One element of all that have the same place in the other dimensions.
#[derive(Debug)]
pub(crate) struct Reduce {
    pub(crate) reduction: Reduction,
    /// `None`: the second input holds them; without it, all dimensions.
    pub(crate) axes: Option<Vec<i64>>,
    pub(crate) keeps_dimensions: bool,
    /// Whether no axes stand for no reduction.
    pub(crate) is_none_of_none: bool,
}

impl Op for Reduce {
    fn need(&self, input: usize) -> Need {
        if input == 1 { Need::Host } else { Need::Elements }
    }

    fn evaluate(&self, operands: &Operands<'_>) -> Result<Vec<Value>> {
        let data = operands.value(0, "data")?;
        let (element, shape) = (data.element()?, data.shape()?);
        let axes = match &self.axes {
            None if operands.optional(1).is_some() => operands.vector(1, "axes")?,
            axes => axes.clone().unwrap_or_default(),
        };
        if axes.is_empty() && self.is_none_of_none {
            return Ok(vec![data.clone()]);
        }
        let mut is_reduced = vec![axes.is_empty(); shape.len()];
        for axis in &axes {
            is_reduced[operands.axis(*axis, shape.len(), "axes")?] = true;
        }
        let is_integer = element.is_integer() && element != ElementType::Bool;
        let only = Operands { values: vec![Some(data)], ..*operands };
        let operator = if is_integer { Operator::Replaceable } else { Operator::Absent };
        if !is_integer || only.place(element_count(shape), operator) != Place::Host {
            data.check()?;
            let reason = "it is computed for integers of shapes only";
            return Err(operands.node.not_supported(reason));
        }
        let tensor = operands.read(data)?;
        Ok(vec![Value::host(self.reduced(&tensor, &is_reduced)?)])
    }
}

impl Reduce {
    fn reduced(&self, tensor: &Tensor, is_reduced: &[bool]) -> Result<Tensor> {
        let (element, shape) = (tensor.element_type(), tensor.shape());
        let kept: Vec<u64> =
            shape.iter().zip(is_reduced).map(|(size, it)| if *it { 1 } else { *size }).collect();
        let strides: Vec<u64> = packed(&kept)
            .into_iter()
            .zip(is_reduced)
            .map(|(stride, it)| if *it { 0 } else { stride })
            .collect();
        let mut results = vec![None; host_elements(&kept)?];
        host_elements(shape)?;
        let at = positions(shape, &strides);
        for (bits, at) in tensor.bits().zip(at) {
            let Scalar::Integer(value) = Scalar::new(bits, element) else { continue };
            results[at] = Some(results[at].map_or(value, |before| self.both(before, value)));
        }
        let of_none = i128::from(self.reduction == Reduction::Product);
        let width = usize::try_from(element.size().unwrap_or(0)).unwrap_or(0);
        let bytes = results.into_iter().flat_map(|it| {
            let bits = Scalar::Integer(it.unwrap_or(of_none)).bits(element);
            bits.to_le_bytes().into_iter().take(width)
        });
        let bytes: Vec<u8> = bytes.collect();
        let shape = match self.keeps_dimensions {
            true => kept,
            false => {
                let rest = shape.iter().zip(is_reduced).filter(|(_, it)| !**it);
                rest.map(|(size, _)| *size).collect()
            }
        };
        Tensor::new(element, shape, bytes)
    }

    fn both(&self, a: i128, b: i128) -> i128 {
        match self.reduction {
            Reduction::Sum => a.wrapping_add(b),
            Reduction::Product => a.wrapping_mul(b),
            Reduction::Minimum => a.min(b),
            Reduction::Maximum => a.max(b),
        }
    }
}
