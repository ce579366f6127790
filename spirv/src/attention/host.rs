//! `kernels/attention.comp` on the host.

use dml_core::host::{HostDispatch, HostError};

use super::{
    Attention, ELEMENT_DIMENSION, GREATEST, KEY_DIMENSION, OUTER_DIMENSIONS, QUERIES,
    QUERY_DIMENSION, SUM,
};
use crate::element_wise::{Access, OUTPUT, Operands, PushConstants, QUAD, Space, low_word};
use crate::reduce::{GREATEST_F32, Joined, SUM_F32};
use crate::rows::{Formula, Source};
use crate::twins::dispatch::for_each_group_below;

/// Coordinates of the outer dimensions: batches and heads, a query, a key, and none of elements.
type Coordinate = [u32; OUTER_DIMENSIONS];

/// Runs the kernel for every work group of a dispatch.
pub(super) fn run(kernel: &Attention, dispatch: &mut HostDispatch<'_>) -> Result<(), HostError> {
    let space = Space::of(OUTER_DIMENSIONS, |index| dispatch.uniform_word(index));
    let push = PushConstants::of(dispatch);
    let queries = space.outer_size(QUERY_DIMENSION);
    let tiles = queries.div_ceil(QUERIES);
    for_each_group_below(dispatch, push.first_group, push.count, |dispatch, group| {
        let mut head = [0; OUTER_DIMENSIONS];
        let mut rest = group / tiles;
        for at in (1..QUERY_DIMENSION).rev() {
            head[at] = rest % space.outer_size(at);
            rest /= space.outer_size(at);
        }
        head[0] = rest;
        let first = group % tiles * QUERIES;
        for query in first..queries.min(first + QUERIES) {
            head[QUERY_DIMENSION] = query;
            let mut query = Query { kernel, space: &space, at: head, values: [0; 2] };
            query.run(dispatch)?;
        }
        Ok(())
    })
}

/// A query while it is answered.
struct Query<'a> {
    kernel: &'a Attention,
    space: &'a Space,
    at: Coordinate,
    /// Its greatest score, and the sum of its weights.
    values: [u64; 2],
}

impl Query<'_> {
    fn run(&mut self, dispatch: &mut HostDispatch<'_>) -> Result<(), HostError> {
        let keys = self.space.outer_size(KEY_DIMENSION);
        let mut greatest = Joined::of_values(&GREATEST_F32);
        let mut products = vec![];
        for key in 0..keys {
            let product = self.product(dispatch, key)?;
            products.push(product);
            greatest.add(key, self.value(dispatch, &self.kernel.score, product, key)?);
        }
        self.values[GREATEST] = greatest.result();
        let mut sum = Joined::of_values(&SUM_F32);
        let mut weights = vec![];
        for (key, product) in (0..).zip(products) {
            let weight = self.value(dispatch, &self.kernel.weight, product, key)?;
            sum.add(key, weight);
            weights.push(weight);
        }
        self.values[SUM] = sum.result();
        if let Some(share) = &self.kernel.share {
            for (key, weight) in (0..).zip(&mut weights) {
                *weight = self.value(dispatch, share, *weight, key)?;
            }
        }
        let elements = self.space.outer_size(ELEMENT_DIMENSION);
        for first in (0..elements).step_by(QUAD as usize) {
            self.write(dispatch, &weights, first..elements.min(first + QUAD))?;
        }
        Ok(())
    }

    /// The product of the query and a key.
    fn product(&self, dispatch: &mut HostDispatch<'_>, key: u32) -> Result<u64, HostError> {
        let mut product = 0.0;
        for depth in 0..self.space.inner() {
            let [query, key] =
                [(0, 0), (1, key)].map(|(operand, key)| self.factor(dispatch, operand, key, depth));
            product += query? * key?;
        }
        Ok(product.to_bits().into())
    }

    /// An element of a query, of a key, or of a value.
    fn factor(
        &self,
        dispatch: &mut HostDispatch<'_>,
        operand: usize,
        key: u32,
        x: u32,
    ) -> Result<f32, HostError> {
        let mut at = self.at;
        at[KEY_DIMENSION] = key;
        let load = |source| match source {
            Source::Operand(input) => self.load(dispatch, &at, input, x),
            Source::Row(_) | Source::Kept => Ok(0),
        };
        let value = self.kernel.factors[operand].value(load, |index| self.space.parameter(index));
        Ok(f32::from_bits(low_word(value?)))
    }

    /// The value of a formula for a key or an element, where `kept` was computed before.
    fn value(
        &self,
        dispatch: &mut HostDispatch<'_>,
        formula: &Formula,
        kept: u64,
        x: u32,
    ) -> Result<u64, HostError> {
        let load = |source| match source {
            Source::Operand(input) => self.load(dispatch, &self.at, input, x),
            Source::Row(number) => Ok(self.values[number]),
            Source::Kept => Ok(kept),
        };
        formula.value(load, |index| self.space.parameter(index))
    }

    fn load(
        &self,
        dispatch: &mut HostDispatch<'_>,
        at: &Coordinate,
        input: usize,
        x: u32,
    ) -> Result<u64, HostError> {
        self.operands().load(dispatch, self.space, at, (input, 0), (x - x % QUAD, x % QUAD))
    }

    fn operands(&self) -> Operands<'_> {
        Operands { inputs: &self.kernel.inputs, output: self.kernel.output }
    }

    /// Writes a quad of elements.
    fn write(
        &self,
        dispatch: &mut HostDispatch<'_>,
        weights: &[u64],
        elements: std::ops::Range<u32>,
    ) -> Result<(), HostError> {
        let mut quad = vec![];
        for element in elements.clone() {
            let mut found = 0.0;
            for (key, weight) in (0..).zip(weights) {
                found +=
                    f32::from_bits(low_word(*weight)) * self.factor(dispatch, 2, key, element)?;
            }
            let found: f32 = found;
            quad.push(self.value(
                dispatch,
                &self.kernel.result,
                found.to_bits().into(),
                element,
            )?);
        }
        let output = self.kernel.output;
        let place = |x| self.space.element(OUTPUT, &self.at, x);
        if output.access == Access::Whole && output.width.bits() < 32 {
            return self.operands().store_whole(dispatch, place(elements.start), &quad);
        }
        for (value, x) in quad.into_iter().zip(elements) {
            self.operands().store(dispatch, place(x), value)?;
        }
        Ok(())
    }
}
