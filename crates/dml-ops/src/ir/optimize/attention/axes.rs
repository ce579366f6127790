//! Dimensions of different nodes that go through the same coordinates.

use dml_spirv::element_wise::DIMENSIONS;

use crate::ir::Sums;
use crate::ir::space::Operand;

/// A dimension of a node, of more than one coordinate, with the stride of each operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    pub(super) size: u32,
    pub(super) strides: Vec<i64>,
}

/// The dimensions of a node.
#[derive(Clone, Debug)]
pub(super) struct Axes(pub(super) Vec<Axis>);

impl Axes {
    /// The dimensions of a space, with the strides of these operands.
    pub(super) fn of_space(sizes: &[u32; DIMENSIONS], operands: &[&Operand]) -> Self {
        let strides = |at: usize| operands.iter().map(|operand| operand.strides[at]).collect();
        let axes = sizes.iter().enumerate().filter(|(_, size)| **size > 1);
        Self(axes.map(|(at, size)| Axis { size: *size, strides: strides(at) }).collect())
    }

    /// The dimensions of products, with the strides of rows, columns and sums.
    pub(super) fn of_sums(sums: &Sums) -> Self {
        let axes = sums.dimensions().filter(|dimension| dimension.size > 1);
        Self(axes.map(|axis| Axis { size: axis.size, strides: axis.strides.into() }).collect())
    }

    /// Divides each dimension where one of `other` begins inside of it, as the strides of one operand of each tell.
    pub(super) fn divide(&mut self, operand: usize, other: &Self, other_operand: usize) {
        let mut at = 0;
        while let Some(axis) = self.0.get(at) {
            let stride = axis.strides[operand];
            let part = |of: &Axis| {
                let part = of.strides[other_operand].checked_div(stride)?;
                let part = u32::try_from(part).ok()?;
                let is_whole = i64::from(part) * stride == of.strides[other_operand];
                let divides = part > 1 && part < axis.size && axis.size.is_multiple_of(part);
                (is_whole && divides).then_some(part)
            };
            match other.0.iter().find_map(part) {
                Some(part) => {
                    let outer =
                        axis.strides.iter().map(|stride| stride * i64::from(part)).collect();
                    let outer = Axis { size: axis.size / part, strides: outer };
                    self.0[at].size = part;
                    self.0.insert(at, outer);
                }
                None => at += 1,
            }
        }
    }

    /// For each dimension along which an operand goes the one of `other` with that size and stride; `None` where one has
    /// none.
    pub(super) fn counterparts(
        &self,
        operand: usize,
        other: &Self,
        other_operand: usize,
    ) -> Option<Vec<Option<usize>>> {
        let counterpart = |axis: &Axis| {
            let (size, stride) = (axis.size, axis.strides[operand]);
            let is_same = |it: &Axis| (it.size, it.strides[other_operand]) == (size, stride);
            match stride {
                0 => Some(None),
                _ => other.0.iter().position(is_same).map(Some),
            }
        };
        self.0.iter().map(counterpart).collect()
    }

    /// The one dimension along which an operand stands still; `None` where there are several.
    pub(super) fn without(&self, operand: usize) -> Option<Option<usize>> {
        let mut axes = self.0.iter().enumerate().filter(|(_, it)| it.strides[operand] == 0);
        let first = axes.next().map(|(at, _)| at);
        axes.next().is_none().then_some(first)
    }
}
