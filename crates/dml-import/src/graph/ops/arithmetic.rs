//! Integer arithmetic, as models do it with shapes.

use crate::convert::integer;
use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::index::value;
use crate::graph::ops::{Op, Operands};
use crate::graph::value::Value;
use crate::tensor::{Tensor, host_elements, text};

/// An operation on two integers each. The result has their type; what it cannot hold is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    /// Rounds toward zero.
    Divide,
    /// Rounds down.
    FloorDivide,
    /// Has the sign of the first operand.
    Remainder,
    /// Has the sign of the second operand.
    FloorRemainder,
    Minimum,
    Maximum,
}

impl Arithmetic {
    fn apply(self, a: i128, b: i128) -> Option<i128> {
        match self {
            Self::Add => a.checked_add(b),
            Self::Subtract => a.checked_sub(b),
            Self::Multiply => a.checked_mul(b),
            Self::Divide => a.checked_div(b),
            Self::FloorDivide => {
                let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
                Some(if rest != 0 && (rest < 0) != (b < 0) { quotient - 1 } else { quotient })
            }
            Self::Remainder => a.checked_rem(b),
            Self::FloorRemainder => {
                let rest = a.checked_rem(b)?;
                Some(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest })
            }
            Self::Minimum => Some(a.min(b)),
            Self::Maximum => Some(a.max(b)),
        }
    }
}

impl Op for Arithmetic {
    fn evaluate(&self, operands: &Operands<'_>) -> Result<Value> {
        let mut all = Vec::new();
        for index in 0..operands.values.len() {
            all.push(integers(operands, index)?);
        }
        let mut all = all.into_iter();
        let Some(mut result) = all.next() else {
            return Err(operands.node.invalid("inputs", 0, "is the wrong number", "two"));
        };
        for other in all {
            result = combined(operands, *self, &result, &other)?;
        }
        Ok(value(result))
    }
}

/// An operation on one integer each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Negate,
    Absolute,
}

impl Op for Unary {
    fn evaluate(&self, operands: &Operands<'_>) -> Result<Value> {
        let input = integers(operands, 0)?;
        let element = input.element_type();
        let apply = |bits| match self {
            Self::Negate => -integer(bits, element),
            Self::Absolute => integer(bits, element).abs(),
        };
        let results: Vec<i128> = input.bits().map(apply).collect();
        Ok(value(packed(operands, element, input.shape().to_vec(), &results)?))
    }
}

fn integers(operands: &Operands<'_>, index: usize) -> Result<Tensor> {
    let operand = operands.value(index, "inputs")?;
    let element = operand.element()?;
    if !element.is_integer() || element == ElementType::Bool {
        let reason = format!("arithmetic is done on integers of shapes only, not on {element}");
        return Err(operands.node.not_supported(reason));
    }
    host_elements(operand.shape()?)?;
    operands.read(operand)
}

fn combined(
    operands: &Operands<'_>,
    operation: Arithmetic,
    a: &Tensor,
    b: &Tensor,
) -> Result<Tensor> {
    let element = a.element_type();
    let shape = broadcast(a.shape(), b.shape());
    let Some(shape) = shape.filter(|_| element == b.element_type()) else {
        let given = format!("{} {}", b.element_type(), text(b.shape()));
        let accepted = format!("{element} {}", text(a.shape()));
        return Err(operands.node.invalid("inputs", given, "does not fit", accepted));
    };
    let count = host_elements(&shape)?;
    let (left, right): (Vec<u64>, Vec<u64>) = (a.bits().collect(), b.bits().collect());
    let mut results = Vec::with_capacity(count);
    for index in 0..count {
        let at = |from: &Tensor| source(index, &shape, from.shape());
        let (x, y) = (integer(left[at(a)], element), integer(right[at(b)], element));
        let result = operation.apply(x, y);
        results.push(result.ok_or_else(|| {
            operands.node.invalid("inputs", format!("{x}, {y}"), "has no result", "other values")
        })?);
    }
    packed(operands, element, shape, &results)
}

fn packed(
    operands: &Operands<'_>,
    element: ElementType,
    shape: Vec<u64>,
    results: &[i128],
) -> Result<Tensor> {
    let mut bytes = Vec::new();
    let size = usize::try_from(element.size().unwrap_or(8)).unwrap_or(8);
    for result in results {
        let low = result.to_le_bytes();
        let mut bits = [0; 8];
        bits[..size].copy_from_slice(&low[..size]);
        if integer(u64::from_le_bytes(bits), element) != *result {
            return Err(operands.node.invalid(
                "output",
                result,
                "is out of range",
                element.to_string(),
            ));
        }
        bytes.extend_from_slice(&low[..size]);
    }
    Tensor::new(element, shape, bytes)
}

/// NumPy's rule: dimensions are aligned at the last one, and those of size 1 are repeated.
fn broadcast(a: &[u64], b: &[u64]) -> Option<Vec<u64>> {
    let rank = a.len().max(b.len());
    let size = |shape: &[u64], index: usize| {
        (index + shape.len()).checked_sub(rank).map_or(1, |index| shape[index])
    };
    let both = |index| match (size(a, index), size(b, index)) {
        (x, y) if x == y => Some(x),
        (1, y) => Some(y),
        (x, 1) => Some(x),
        _ => None,
    };
    (0..rank).map(both).collect()
}

/// Which element of a tensor of `from` stands at `index` of one of `shape`.
fn source(mut index: usize, shape: &[u64], from: &[u64]) -> usize {
    let (mut at, mut stride) = (0, 1);
    for (dimension, size) in shape.iter().enumerate().rev() {
        let size = usize::try_from(*size).unwrap_or(1).max(1);
        let own = (dimension + from.len()).checked_sub(shape.len()).map_or(1, |own| from[own]);
        if own != 1 {
            at += index % size * stride;
            stride *= size;
        }
        index /= size;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_rounds_as_its_name_says() {
        use Arithmetic::{Divide, FloorDivide, FloorRemainder, Remainder};
        assert_eq!(Divide.apply(-7, 2), Some(-3));
        assert_eq!(FloorDivide.apply(-7, 2), Some(-4));
        assert_eq!(FloorDivide.apply(7, -2), Some(-4));
        assert_eq!(FloorDivide.apply(6, -2), Some(-3));
        assert_eq!(Remainder.apply(-7, 2), Some(-1));
        assert_eq!(FloorRemainder.apply(-7, 2), Some(1));
        assert_eq!(Divide.apply(1, 0), None);
    }

    #[test]
    fn dimensions_of_size_1_are_repeated() {
        assert_eq!(broadcast(&[2, 1], &[3]), Some(vec![2, 3]));
        assert_eq!(broadcast(&[], &[3]), Some(vec![3]));
        assert_eq!(broadcast(&[2], &[3]), None);
        let sources: Vec<usize> = (0..6).map(|index| source(index, &[2, 3], &[2, 1])).collect();
        assert_eq!(sources, [0, 0, 0, 1, 1, 1]);
        let sources: Vec<usize> = (0..6).map(|index| source(index, &[2, 3], &[3])).collect();
        assert_eq!(sources, [0, 1, 2, 0, 1, 2]);
    }
}
