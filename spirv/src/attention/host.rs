//! `kernels/attention.comp` on the host.

use dml_core::host::{HostDispatch, HostError};

use super::{
    Attention, ELEMENT_DIMENSION, GREATEST, KEY_DIMENSION, OUTER_DIMENSIONS, QUERIES,
    QUERY_DIMENSION, SUM,
};
use crate::element_wise::{
    ElementFormula, Formula, KernelOperands, PushConstants, Row, Source, low_word,
};
use crate::product::Arithmetic;
use crate::reduce::{GREATEST_F32, SUM_F32};
use crate::twins::dispatch::for_each_group_below;

/// Runs the kernel for every work group of a dispatch.
pub(super) fn run(kernel: &Attention, dispatch: &mut HostDispatch<'_>) -> Result<(), HostError> {
    let operands = KernelOperands::of(&kernel.inputs, kernel.output, OUTER_DIMENSIONS, dispatch);
    let space = &operands.space;
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
        (first..queries.min(first + QUERIES)).try_for_each(|query| {
            head[QUERY_DIMENSION] = query;
            kernel.answer(&mut Row::at(&operands, dispatch, head))
        })
    })
}

impl Attention {
    /// Computes the output of a query.
    fn answer(&self, query: &mut Row<'_, '_>) -> Result<(), HostError> {
        let (keys, elements) = (query.size(KEY_DIMENSION), query.size(ELEMENT_DIMENSION));
        let kept = Formula { sources: vec![Source::Kept], program: ElementFormula::default() };
        let products: Result<_, _> = (0..keys).map(|key| self.product(query, key)).collect();
        query.kept = products?;
        let greatest = query.reduce(&GREATEST_F32, &self.score, keys)?;
        query.values.push(greatest);
        if let Some(epilogue) = &self.greatest_epilogue {
            query.values[GREATEST] = query.value(epilogue, 0)?;
        }
        query.keep(&self.weight, 0..keys)?;
        let sum = query.reduce(&SUM_F32, &kept, keys)?;
        query.values.push(sum);
        if let Some(epilogue) = &self.sum_epilogue {
            query.values[SUM] = query.value(epilogue, 0)?;
        }
        if let Some(share) = &self.share {
            query.keep(share, 0..keys)?;
        }
        let sums: Result<_, _> = (0..elements).map(|at| self.weighted(query, at)).collect();
        query.kept = sums?;
        query.map(&self.result, None, 0..elements)
    }

    /// The product of the query and a key.
    fn product(&self, query: &mut Row<'_, '_>, key: u32) -> Result<u64, HostError> {
        let [of_query, of_key, _] = &self.factors;
        let mut sum = 0;
        for depth in 0..query.len() {
            let factors = [factor(query, of_query, 0, depth)?, factor(query, of_key, key, depth)?];
            sum = Arithmetic::Floats.with_product(sum, factors, [0; 2]);
        }
        Ok(sum.into())
    }

    /// The sum of an element of all values, each times its key's weight.
    fn weighted(&self, query: &mut Row<'_, '_>, element: u32) -> Result<u64, HostError> {
        let mut sum = 0;
        for key in 0..query.size(KEY_DIMENSION) {
            let weight = low_word(query.kept[key as usize]);
            let factors = [weight, factor(query, &self.factors[2], key, element)?];
            sum = Arithmetic::Floats.with_product(sum, factors, [0; 2]);
        }
        Ok(sum.into())
    }
}

/// An element of a query, of a key, or of a value.
fn factor(query: &mut Row<'_, '_>, formula: &Formula, key: u32, at: u32) -> Result<u32, HostError> {
    query.coordinate[KEY_DIMENSION] = key;
    let value = query.value(formula, at);
    query.coordinate[KEY_DIMENSION] = 0;
    value.map(low_word)
}
