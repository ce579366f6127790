//! Scores from the products of queries and keys: a scale, biases of positions, masks.

use dml_core::{DataType, Error, MultiheadAttentionMaskType as MaskType};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::Value;
use dml_spirv::functions as f;

use super::factors::{ELEMENTS, STEPS, by_batches, lengths, numbers_of, of_strides};
use super::sizes::Sizes;
use crate::families::products::ProductRecorder;
use crate::ir::space::{Operand, leading};
use crate::lowering::conversion::conversion;
use crate::lowering::map_builder::MapBuilder;

/// The scale, bias and mask of scores, by batches, heads, keys and queries.
pub(super) struct Scores {
    scale: f32,
    /// The value that is added to the score of a masked key.
    filter: f32,
    biases: Option<(Operand, DataType)>,
    mask: Option<Mask>,
    /// Whether a query sees a key at all, where the lengths of earlier sequences say that.
    seen: Option<Operand>,
}

/// Which keys are masked.
enum Mask {
    /// Where this is 0.
    Zeros(Operand),
    /// From these numbers on, and before the second ones.
    Bounds(Operand, Option<Operand>),
}

impl Scores {
    pub(super) fn of(products: &ProductRecorder<'_>, sizes: &Sizes) -> Result<Self, Error> {
        let transposed = |(operand, data_type): (Operand, DataType)| {
            let [.., batches, heads, queries, keys] = operand.strides;
            (Operand { strides: of_strides([batches, heads, keys, queries]), ..operand }, data_type)
        };
        let mask = products.input("MaskTensor")?.map(|mask| match sizes.mask {
            MaskType::Boolean => Mask::Zeros(transposed(mask).0),
            MaskType::KeySequenceEndStart => {
                let (ends, _) = mask;
                let base = ends.base + ends.strides[STEPS];
                let starts = Operand { base, ..ends.clone() };
                Mask::Bounds(by_batches(ends), Some(by_batches(starts)))
            }
            _ => Mask::Bounds(by_batches(mask.0), None),
        });
        Ok(Self {
            scale: products.operator.float("Scale")?,
            filter: products.operator.float("MaskFilterValue")?,
            biases: products.input("RelativePositionBiasTensor")?.map(transposed),
            mask,
            seen: None,
        })
    }

    /// Writes which keys the queries from a number on see, where lengths say that, into a place for keys and queries.
    pub(super) fn write_seen(
        &mut self,
        products: &mut ProductRecorder<'_>,
        sizes: &Sizes,
        [first_query, queries]: [u32; 2],
        rows: u32,
    ) -> Result<(), Error> {
        let Some(lengths) = lengths(products)? else { return Ok(()) };
        let keys = [sizes.batches, sizes.keys(), rows];
        let seen = match self.seen.take() {
            Some(seen) => seen,
            None => {
                let count = keys.iter().map(|size| u64::from(*size)).product();
                let seen = products.recorder.temporary(ElementWidth::B32, count);
                let row = i64::from(rows);
                let strides = of_strides([i64::from(sizes.keys()) * row, 0, row, 1]);
                Operand { strides, ..seen }
            }
        };
        let later = Operand { base: i64::from(first_query) + 1, ..numbers_of(ELEMENTS) };
        let parts = [(0, sizes.past, lengths), (sizes.past, sizes.new, later)];
        for (first, count, end) in parts.into_iter().filter(|(_, count, _)| *count > 0) {
            let mut map = MapBuilder::default();
            let (key, end) = (map.input(numbers_of(STEPS)), map.input(end));
            map.apply(&f::LESS_THAN_I32, &[key, end], &[]);
            let base = seen.base + i64::from(first) * seen.strides[STEPS];
            let part = leading(&[sizes.batches, 1, count, queries], 1);
            map.record(&mut products.recorder, part, Operand { base, ..seen.clone() })?;
        }
        self.seen = Some(seen);
        Ok(())
    }

    /// The score that a product becomes, for queries from a number on.
    pub(super) fn score(&self, map: &mut MapBuilder, product: Value, first_query: u32) -> Value {
        let from = |operand: &Operand| {
            let base = operand.base + i64::from(first_query) * operand.strides[ELEMENTS];
            Operand { base, ..operand.clone() }
        };
        // What is added changes no product.
        let parameters = [self.scale, -0.0].map(f32::to_bits);
        let mut score = map.apply(&f::SCALE_BIAS_F32, &[product], &parameters);
        if let Some((biases, data_type)) = &self.biases {
            let bias = map.input(from(biases));
            let bias = map.apply_all(conversion(*data_type, DataType::Float32), bias);
            score = map.apply(&f::ADD_F32, &[score, bias], &[]);
        }
        if let Some(mask) = &self.mask {
            let masked =
                map.apply(&f::SCALE_BIAS_F32, &[score], &[1.0, self.filter].map(f32::to_bits));
            score = match mask {
                Mask::Zeros(mask) => {
                    let mask = map.input(from(mask));
                    map.apply(&f::CHOOSE_WORD, &[mask, score, masked], &[])
                }
                Mask::Bounds(ends, starts) => {
                    let key = map.input(numbers_of(STEPS));
                    let mut before = |bounds: &Operand| {
                        let bound = map.input(bounds.clone());
                        map.apply(&f::LESS_THAN_I32, &[key, bound], &[])
                    };
                    let (is_before_end, is_before_start) =
                        (before(ends), starts.as_ref().map(before));
                    let score = map.apply(&f::CHOOSE_WORD, &[is_before_end, score, masked], &[]);
                    match is_before_start {
                        Some(it) => map.apply(&f::CHOOSE_WORD, &[it, masked, score], &[]),
                        None => score,
                    }
                }
            };
        }
        if let Some(seen) = &self.seen {
            let seen = map.input(seen.clone());
            // Not after it, and not before it.
            let infinities = [f32::NEG_INFINITY.to_bits(); 2];
            let nothing = map.apply(&f::CLIP_F32, &[seen], &infinities);
            score = map.apply(&f::CHOOSE_WORD, &[seen, score, nothing], &[]);
        }
        score
    }
}
