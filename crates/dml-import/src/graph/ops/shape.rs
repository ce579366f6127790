//! Shapes of values, and reshapes.

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::Value;
use crate::tensor::{Tensor, element_count, text};

/// The sizes of the input's dimensions from `start` up to `end`.
#[derive(Debug)]
pub(crate) struct ShapeOf {
    pub(crate) element: ElementType,
    pub(crate) start: i64,
    pub(crate) end: Option<i64>,
}

impl Op for ShapeOf {
    fn need(&self, _input: usize) -> Need {
        Need::Shape
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let shape = operands.shape(0, "data")?;
        let at = |index: i64| {
            let rank = i64::try_from(shape.len()).unwrap_or(i64::MAX);
            let index = if index < 0 { index.saturating_add(rank) } else { index };
            usize::try_from(index.clamp(0, rank)).unwrap_or(shape.len())
        };
        let (start, end) = (at(self.start), self.end.map_or(shape.len(), at));
        let sizes = shape.get(start..end).unwrap_or_default();
        let integer = |size: &u64| {
            i64::try_from(*size)
                .map_err(|_| operands.node.invalid("data", size, "is too large a size", "63 bits"))
        };
        let sizes = sizes.iter().map(integer).collect::<Result<Vec<i64>>>()?;
        let shape = vec![sizes.len() as u64];
        let tensor = Tensor::from_integers(shape.clone(), &sizes).converted(self.element)?;
        Ok(vec![Value::host(tensor)])
    }
}

/// The number of the input's elements.
#[derive(Debug)]
pub(crate) struct Size;

impl Op for Size {
    fn need(&self, _input: usize) -> Need {
        Need::Shape
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let shape = operands.shape(0, "data")?;
        let count = element_count(shape).and_then(|count| i64::try_from(count).ok());
        let count = count.ok_or_else(|| {
            operands.node.invalid("data", text(shape), "has too many elements", "63 bits")
        })?;
        Ok(vec![Value::host(Tensor::from_integers(vec![], &[count]))])
    }
}

/// The input reshaped to two dimensions: those before `axis`, and the others.
#[derive(Debug)]
pub(crate) struct Flatten {
    pub(crate) axis: i64,
}

impl Op for Flatten {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let data = operands.value(0, "input")?;
        let shape = data.shape()?;
        // The axis may be the rank: all dimensions are before it.
        let axis = match self.axis {
            axis if axis < 0 => operands.axis(axis, shape.len(), "attribute axis")?,
            axis => operands.axis(axis, shape.len() + 1, "attribute axis")?,
        };
        let count = |part: &[u64]| {
            element_count(part).ok_or_else(|| {
                operands.node.invalid("input", text(shape), "has too many elements", "64 bits")
            })
        };
        let flat = [count(&shape[..axis])?, count(&shape[axis..])?];
        operands.reshaped(data, &flat).map(|it| vec![it])
    }
}

/// The meaning of a size of 0 in the shape given to Reshape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Zero {
    /// The input's size of that dimension.
    Copied,
    /// A size of 0.
    Kept,
}

/// The input in another shape, where -1 is the size that remains.
#[derive(Debug)]
pub(crate) struct Reshape {
    pub(crate) zero: Zero,
    /// `None`: the second input holds the shape.
    pub(crate) shape: Option<Vec<i64>>,
}

impl Op for Reshape {
    fn need(&self, input: usize) -> Need {
        if input == 1 { Need::Host } else { Need::Elements }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let data = operands.value(0, "data")?;
        let from = data.shape()?;
        let wanted = match &self.shape {
            Some(shape) => shape.clone(),
            None => operands.vector(1, "shape")?,
        };
        let refused = |problem| {
            let given = crate::error::shortened(&format!("{wanted:?}"));
            operands.node.invalid(
                "shape",
                given,
                problem,
                format!("the elements of {}", text(from)),
            )
        };
        let mut shape = Vec::with_capacity(wanted.len());
        let mut open = None;
        for (index, size) in wanted.iter().enumerate() {
            shape.push(match (size, self.zero) {
                (-1, _) if open.is_none() => {
                    open = Some(index);
                    1
                }
                (0, Zero::Copied) => *from.get(index).ok_or_else(|| refused("has a 0 too many"))?,
                (size, _) => u64::try_from(*size).map_err(|_| refused("has an invalid size"))?,
            });
        }
        let count = element_count(from);
        if let (Some(open), Some(count)) = (open, count) {
            let others = element_count(&shape).filter(|others| *others > 0);
            let rest = others.filter(|others| count % others == 0).map(|others| count / others);
            shape[open] = rest.ok_or_else(|| refused("does not divide"))?;
        }
        if count.is_none() || element_count(&shape) != count {
            return Err(refused("has another number of elements"));
        }
        operands.reshaped(data, &shape).map(|it| vec![it])
    }
}

/// The input with dimensions of size 1 inserted.
#[derive(Debug)]
pub(crate) struct Unsqueeze {
    /// `None`: the second input holds the axes.
    pub(crate) axes: Option<Vec<i64>>,
}

impl Op for Unsqueeze {
    fn need(&self, input: usize) -> Need {
        if input == 1 { Need::Host } else { Need::Elements }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let data = operands.value(0, "data")?;
        let mut rest = data.shape()?.iter();
        let axes = match &self.axes {
            Some(axes) => axes.clone(),
            None => operands.vector(1, "axes")?,
        };
        let rank = rest.len() + axes.len();
        let new = marked(operands, &axes, rank)?;
        let size = |is_new: &bool| if *is_new { Some(1) } else { rest.next().copied() };
        let shape: Vec<u64> = new.iter().filter_map(size).collect();
        operands.reshaped(data, &shape).map(|it| vec![it])
    }
}

/// The input with dimensions of size 1 removed.
#[derive(Debug)]
pub(crate) struct Squeeze {
    /// `None`: the second input holds the axes; without that, all dimensions of size 1 are removed.
    pub(crate) axes: Option<Vec<i64>>,
}

impl Op for Squeeze {
    fn need(&self, input: usize) -> Need {
        if input == 1 { Need::Host } else { Need::Elements }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let data = operands.value(0, "data")?;
        let shape = data.shape()?;
        let axes = match &self.axes {
            None if operands.optional(1).is_some() => Some(operands.vector(1, "axes")?),
            axes => axes.clone(),
        };
        let gone = match axes {
            Some(axes) => marked(operands, &axes, shape.len())?,
            None => shape.iter().map(|size| *size == 1).collect(),
        };
        let mut kept = Vec::new();
        for (size, gone) in shape.iter().zip(gone) {
            match (gone, size) {
                (true, 1) => {}
                (true, _) => {
                    let problem = "cannot lose a dimension of another size";
                    return Err(operands.node.invalid("data", text(shape), problem, "size 1"));
                }
                (false, size) => kept.push(*size),
            }
        }
        operands.reshaped(data, &kept).map(|it| vec![it])
    }
}

/// For each of `rank` dimensions, whether `axes` has it; each may occur once.
fn marked(operands: &NodeInputs<'_>, axes: &[i64], rank: usize) -> Result<Vec<bool>> {
    let mut marked = vec![false; rank];
    for axis in axes {
        let index = operands.axis(*axis, rank, "axes")?;
        if std::mem::replace(&mut marked[index], true) {
            return Err(operands.node.invalid("axes", axis, "is named twice", "each once"));
        }
    }
    Ok(marked)
}
