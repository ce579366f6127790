//! Sums over products of tensors whose dimensions have names: reductions, products of matrices, and views.

use dml_core::ReduceFunction;

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::Operands;
use crate::graph::ops::arithmetic::MULTIPLY;
use crate::graph::ops::element_wise::ElementWise;
use crate::graph::ops::packed::count;
use crate::graph::ops::product::multiplied;
use crate::graph::ops::reduce::reduced;
use crate::graph::value::Value;

/// A value with a name for each of its dimensions, all different.
pub(super) struct Labelled<L> {
    value: Value,
    names: Vec<L>,
}

impl<L: Copy + PartialEq> Labelled<L> {
    /// A value with a name for each dimension. One that is there twice is a diagonal.
    pub(super) fn new(value: &Value, names: &[L]) -> Result<Self> {
        let mut unique: Vec<L> = vec![];
        for name in names {
            if !unique.contains(name) {
                unique.push(*name);
            }
        }
        Ok(Self { value: seen(value, names, &unique)?, names: unique })
    }

    /// With these dimensions, of which those that it has not are of size 1.
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

    /// Its sums along the dimensions that are not kept.
    pub(super) fn summed(
        self,
        operands: &Operands<'_>,
        is_kept: impl Fn(L) -> bool,
    ) -> Result<Self> {
        let names: Vec<L> = self.names.iter().copied().filter(|it| is_kept(*it)).collect();
        let is_reduced: Vec<bool> = self.names.iter().map(|it| !is_kept(*it)).collect();
        let sizes = self.value.shape()?.iter().zip(&is_reduced);
        let value = match sizes.into_iter().any(|(size, is_reduced)| *is_reduced && *size != 1) {
            true => reduced(operands, &self.value, &is_reduced, ReduceFunction::Sum)?,
            false => self.value,
        };
        Ok(Self { value: seen(&value, &self.names, &names)?, names })
    }

    /// The product with another one, summed along the dimensions that are not kept.
    pub(super) fn times(
        self,
        operands: &Operands<'_>,
        other: Self,
        is_kept: impl Fn(L) -> bool,
    ) -> Result<Self> {
        let is_common = |name: L| self.names.contains(&name) && other.names.contains(&name);
        let of = |own: &Self, wants: &dyn Fn(L) -> bool| -> Vec<L> {
            own.names.iter().copied().filter(|it| wants(*it)).collect()
        };
        let depths = of(&self, &|it| is_common(it) && !is_kept(it));
        let mut all = self.names.clone();
        all.extend(of(&other, &|it| !is_common(it)));
        let is_real = [ElementType::FLOAT32, ElementType::FLOAT16].contains(&self.value.element()?);
        // What is repeated is no matrix.
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

    /// The product of batches of matrices, with `depths` for what is summed.
    fn matrices(&self, operands: &Operands<'_>, other: &Self, depths: &[L]) -> Result<Self> {
        let is_common = |it: &&L| other.names.contains(it);
        let own: Vec<L> = self.names.iter().copied().filter(|it| !depths.contains(it)).collect();
        let (batches, rows): (Vec<L>, Vec<L>) = own.iter().partition(|it| is_common(it));
        let columns = other.names.iter().filter(|it| !self.names.contains(it));
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

/// The value with other dimensions; those that it has not are of size 1. What it has twice is a diagonal.
fn seen<L: PartialEq>(value: &Value, own: &[L], wanted: &[L]) -> Result<Value> {
    let (sizes, strides) = (value.shape()?, value.strides());
    let (mut shape, mut steps) = (Vec::new(), Vec::new());
    for name in wanted {
        let axes = || own.iter().enumerate().filter(|(_, it)| *it == name).map(|(axis, _)| axis);
        shape.push(axes().next().map_or(1, |axis| sizes[axis]));
        steps.push(axes().map(|axis| strides[axis]).fold(0, u64::saturating_add));
    }
    Ok(value.seen(shape, steps))
}
