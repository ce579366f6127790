//! Tensor contractions over named dimensions, by reductions, matrix products and views.

use dml_core::ReduceFunction;

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::NodeInputs;
use crate::graph::ops::arithmetic::MULTIPLY;
use crate::graph::ops::element_wise::ElementWise;
use crate::graph::ops::packed::count;
use crate::graph::ops::product::multiplied;
use crate::graph::ops::reduce::reduced;
use crate::graph::value::Value;

/// A value with a distinct name for each of its dimensions.
pub(super) struct Labelled<L> {
    value: Value,
    names: Vec<L>,
}

impl<L: Copy + PartialEq> Labelled<L> {
    /// A value with these names for its dimensions. A repeated name takes a diagonal.
    pub(super) fn new(value: &Value, names: &[L]) -> Result<Self> {
        let mut unique: Vec<L> = vec![];
        for name in names {
            if !unique.contains(name) {
                unique.push(*name);
            }
        }
        Ok(Self { value: seen(value, names, &unique)?, names: unique })
    }

    /// A view with these dimensions; those that the value lacks have size 1.
    pub(super) fn seen(&self, names: &[L]) -> Result<Value> {
        seen(&self.value, &self.names, names)
    }

    fn size(&self, name: L) -> Result<u64> {
        let at = self.names.iter().position(|it| *it == name);
        Ok(at.map_or(1, |at| self.value.shape().map_or(1, |shape| shape[at])))
    }

    fn sizes(&self, names: &[L]) -> Result<Vec<u64>> {
        names.iter().map(|name| self.size(*name)).collect()
    }

    /// Sums along the dimensions that are not kept.
    pub(super) fn summed(
        self,
        operands: &NodeInputs<'_>,
        is_kept: impl Fn(L) -> bool,
    ) -> Result<Self> {
        let names: Vec<L> = self.names.iter().copied().filter(|name| is_kept(*name)).collect();
        let is_reduced: Vec<bool> = self.names.iter().map(|name| !is_kept(*name)).collect();
        let sizes = self.value.shape()?.iter().zip(&is_reduced);
        let value = match sizes.into_iter().any(|(size, is_reduced)| *is_reduced && *size != 1) {
            true => reduced(operands, &self.value, &is_reduced, ReduceFunction::Sum)?,
            false => self.value,
        };
        Ok(Self { value: seen(&value, &self.names, &names)?, names })
    }

    /// The product with another value, summed along the dimensions that are not kept.
    pub(super) fn times(
        self,
        operands: &NodeInputs<'_>,
        other: Self,
        is_kept: impl Fn(L) -> bool,
    ) -> Result<Self> {
        let is_common = |name: L| self.names.contains(&name) && other.names.contains(&name);
        let of = |own: &Self, wants: &dyn Fn(L) -> bool| -> Vec<L> {
            own.names.iter().copied().filter(|name| wants(*name)).collect()
        };
        let depths = of(&self, &|it| is_common(it) && !is_kept(it));
        let mut all = self.names.clone();
        all.extend(of(&other, &|it| !is_common(it)));
        let is_real = [ElementType::FLOAT32, ElementType::FLOAT16].contains(&self.value.element()?);
        // A matrix product needs all summed sizes to be equal, without broadcasting.
        let fit = self.sizes(&depths)? == other.sizes(&depths)?;
        if depths.is_empty() || !is_real || !fit {
            let factors = [self.seen(&all)?, other.seen(&all)?];
            let value = ElementWise::new(MULTIPLY).apply(operands, &factors)?;
            return Self { value, names: all }.summed(operands, is_kept);
        }
        let first = self.summed(operands, |it| is_kept(it) || depths.contains(&it))?;
        let other = other.summed(operands, |it| is_kept(it) || depths.contains(&it))?;
        first.matrices(operands, &other, &depths)
    }

    /// A batched matrix product that sums along `depths`.
    fn matrices(&self, operands: &NodeInputs<'_>, other: &Self, depths: &[L]) -> Result<Self> {
        let is_common = |it: &&L| other.names.contains(it);
        let own: Vec<L> =
            self.names.iter().copied().filter(|name| !depths.contains(name)).collect();
        let (batches, rows): (Vec<L>, Vec<L>) = own.iter().partition(|it| is_common(it));
        let columns = other.names.iter().filter(|name| !self.names.contains(name));
        let columns: Vec<L> = columns.copied().collect();
        let matrix = |factor: &Self, parts: [&[L]; 2]| {
            let seen = factor.seen(&[&batches, parts[0], parts[1]].concat())?;
            let flat = |names: &[L]| factor.sizes(names).map(|sizes| count(&sizes));
            let shape = [factor.sizes(&batches)?, vec![flat(parts[0])?, flat(parts[1])?]];
            operands.reshaped(&seen, &shape.concat())
        };
        let (a, b) = (matrix(self, [&rows, depths])?, matrix(other, [depths, &columns])?);
        let product = multiplied(operands, &a, &b)?;
        let shape = product.shape()?;
        let sizes = [&shape[..batches.len()], &self.sizes(&rows)?, &other.sizes(&columns)?];
        let value = operands.reshaped(&product, &sizes.concat())?;
        Ok(Self { value, names: [batches.clone(), rows, columns].concat() })
    }
}

/// A view with other dimensions; those that the value lacks have size 1. A repeated dimension takes a diagonal.
fn seen<L: PartialEq>(value: &Value, own: &[L], wanted: &[L]) -> Result<Value> {
    let (sizes, strides) = (value.shape()?, value.strides());
    let (mut shape, mut steps) = (Vec::new(), Vec::new());
    for name in wanted {
        let axes = || own.iter().enumerate().filter(|(_, it)| *it == name).map(|(axis, _)| axis);
        shape.push(axes().next().map_or(1, |axis| sizes[axis]));
        steps.push(axes().map(|axis| strides[axis]).fold(0, u64::saturating_add));
    }
    Ok(value.seen(shape.into(), steps.into()))
}
