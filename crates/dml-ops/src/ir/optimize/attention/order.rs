//! The dimensions of an attention's members, and their order in the node.

use dml_spirv::attention::{ELEMENT_DIMENSION, KEY_DIMENSION, QUERY_DIMENSION};
use dml_spirv::element_wise::DIMENSIONS;

use super::axes::Axes;

pub(super) const INNER: usize = DIMENSIONS - 1;

/// Dimensions of all members, divided so that each has counterparts.
pub(super) struct Aligned {
    pub(super) rows: Axes,
    pub(super) products: Axes,
    pub(super) found: Axes,
    pub(super) last: Axes,
    /// For each dimension of `rows` those of the others; the last Map has none of keys.
    pub(super) in_products: Vec<usize>,
    pub(super) in_found: Vec<usize>,
    pub(super) in_last: Vec<Option<usize>>,
    pub(super) key: usize,
    pub(super) depth: Option<usize>,
    /// The element's dimension in `found`, and in `last`.
    pub(super) element: Option<[usize; 2]>,
}

/// Which factor of products is which.
pub(super) struct Roles {
    pub(super) query: usize,
    pub(super) key: usize,
    pub(super) value: usize,
}

/// Which dimension of the softmax is which of the node.
pub(super) struct Order {
    /// Batches and heads, outermost first.
    pub(super) outer: Vec<usize>,
    pub(super) query: Option<usize>,
    pub(super) key: usize,
}

impl Order {
    pub(super) fn of(aligned: &Aligned, roles: &Roles) -> Option<Self> {
        let of_key = |at: usize| aligned.products.0[aligned.in_products[at]].strides[roles.key];
        let of_value = |at: usize| aligned.found.0[aligned.in_found[at]].strides[roles.value];
        let others = (0..aligned.rows.0.len()).filter(|at| *at != aligned.key);
        // Queries share keys and values, and so do the heads of a group: the longest dimension gives full tiles.
        let shares_keys = |at: &usize| of_key(*at) == 0 && of_value(*at) == 0;
        let query = others.clone().filter(shares_keys).max_by_key(|at| aligned.rows.0[*at].size);
        let mut outer: Vec<usize> = others.filter(|at| Some(*at) != query).collect();
        // Neighbouring work groups read the same keys.
        outer.sort_by_key(|at| std::cmp::Reverse(of_key(*at).unsigned_abs()));
        (outer.len() <= QUERY_DIMENSION).then_some(Self { outer, query, key: aligned.key })
    }

    pub(super) fn outer_sizes(&self, rows: &Axes) -> [u32; QUERY_DIMENSION] {
        let mut sizes = [1; QUERY_DIMENSION];
        for (size, at) in sizes[QUERY_DIMENSION - self.outer.len()..].iter_mut().zip(&self.outer) {
            *size = rows.0[*at].size;
        }
        sizes
    }

    /// Strides of a factor, with those of keys.
    pub(super) fn strides(
        &self,
        of: impl Fn(usize) -> i64,
        inner: Option<i64>,
    ) -> [i64; DIMENSIONS] {
        let mut strides = self.strides_of_queries(&of, inner.unwrap_or(0));
        strides[KEY_DIMENSION] = of(self.key);
        strides
    }

    /// Strides of an operand that does not go along keys, but for the last dimension.
    pub(super) fn strides_of_queries(
        &self,
        of: impl Fn(usize) -> i64,
        inner: i64,
    ) -> [i64; DIMENSIONS] {
        let mut strides = [0; DIMENSIONS];
        let first = QUERY_DIMENSION - self.outer.len();
        for (stride, at) in strides[first..].iter_mut().zip(&self.outer) {
            *stride = of(*at);
        }
        strides[QUERY_DIMENSION] = self.query.map_or(0, of);
        strides[ELEMENT_DIMENSION] = 0;
        strides[INNER] = inner;
        strides
    }
}
