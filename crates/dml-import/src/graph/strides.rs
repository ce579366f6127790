//! Strides: the distance between neighbours in each dimension, in elements.

use smallvec::{SmallVec, smallvec};

/// Sizes or strides of dimensions. Those of most values take no allocation.
pub(crate) type Sizes = SmallVec<[u64; 4]>;

/// The strides of packed elements.
pub(crate) fn packed(shape: &[u64]) -> Sizes {
    let mut strides: Sizes = packed_from_last(shape).collect();
    strides.reverse();
    strides
}

/// The position of each element of `shape` in storage, in row-major order.
pub(crate) fn positions(shape: &[u64], strides: &[u64]) -> Vec<usize> {
    let mut all = vec![0usize; usize::from(!shape.contains(&0))];
    for (size, stride) in shape.iter().zip(strides) {
        let along = |base: &usize| {
            let base = *base;
            (0..*size).map(move |at| base + usize::try_from(at * stride).unwrap_or(usize::MAX))
        };
        all = all.iter().flat_map(along).collect();
    }
    all
}

/// Whether elements are contiguous in row-major order.
pub(crate) fn is_packed(shape: &[u64], strides: &[u64]) -> bool {
    let sizes_and_strides = shape.iter().zip(strides).rev();
    let mut dimensions = sizes_and_strides.zip(packed_from_last(shape));
    dimensions.all(|((size, stride), packed)| *size == 1 || *stride == packed)
}

/// Whether these are the strides of [`packed`], also of dimensions of size 1.
pub(crate) fn are_packed(shape: &[u64], strides: &[u64]) -> bool {
    packed_from_last(shape).eq(strides.iter().rev().copied())
}

/// The strides of packed elements, the last one first.
fn packed_from_last(shape: &[u64]) -> impl Iterator<Item = u64> {
    let mut next = 1u64;
    shape.iter().rev().map(move |size| {
        let stride = next;
        next = next.saturating_mul((*size).max(1));
        stride
    })
}

/// The strides of a tensor of shape `from` broadcast to shape `to`: 0 where it is repeated.
pub(crate) fn broadcast_strides(from: &[u64], strides: &[u64], to: &[u64]) -> Sizes {
    let missing = to.len().saturating_sub(from.len());
    let stride = |index: usize| match index.checked_sub(missing) {
        Some(own) if from[own] == to[index] => strides[own],
        _ => 0,
    };
    (0..to.len()).map(stride).collect()
}

/// Merges neighbouring dimensions where that is possible for all operands.
pub(crate) fn coalesced(shape: &[u64], operands: &[Sizes]) -> (Sizes, Vec<Sizes>) {
    let mut sizes = Sizes::new();
    let mut strides: Vec<Sizes> = vec![Sizes::new(); operands.len()];
    for (index, size) in shape.iter().enumerate().filter(|(_, size)| **size != 1) {
        let outer = |all: &Sizes| all.last().copied();
        let joins = !sizes.is_empty()
            && operands
                .iter()
                .zip(&strides)
                .all(|(own, all)| outer(all) == own[index].checked_mul(*size));
        let last = sizes.last_mut().filter(|_| joins);
        match last.and_then(|last| Some((last.checked_mul(*size)?, last))) {
            Some((both, last)) => {
                *last = both;
                for (own, all) in operands.iter().zip(&mut strides) {
                    *all.last_mut().unwrap_or(&mut 0) = own[index];
                }
            }
            None => {
                sizes.push(*size);
                for (own, all) in operands.iter().zip(&mut strides) {
                    all.push(own[index]);
                }
            }
        }
    }
    (sizes, strides)
}

/// The strides that view elements of shape `from` as shape `to`; `None` if that needs a copy.
pub(crate) fn divided(from: &[u64], strides: &[u64], to: &[u64]) -> Option<Sizes> {
    let (sizes, strides) = coalesced(from, &[strides.into()]);
    let mut rest = sizes.iter().zip(&strides[0]).rev();
    let mut result: Sizes = smallvec![0; to.len()];
    // The unused size of the current source dimension, and the stride of its next part.
    let (mut left, mut next) = (1u64, 0u64);
    for (size, stride) in to.iter().zip(&mut result).rev() {
        if *size == 1 {
            continue;
        }
        if left == 1 {
            let (size, stride) = rest.next()?;
            (left, next) = (*size, *stride);
        }
        if left % size != 0 {
            return None;
        }
        (left, *stride) = (left / size, next);
        next = next.saturating_mul(*size);
    }
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_that_lie_one_after_the_other_become_one() {
        let packed_and_row = [smallvec![12, 4, 1], smallvec![0, 4, 1]];
        assert_eq!(
            coalesced(&[2, 3, 4], &packed_and_row),
            (smallvec![2, 12], vec![smallvec![12, 1], smallvec![0, 1]])
        );
        assert_eq!(coalesced(&[1, 1], &[smallvec![1, 1]]), (smallvec![], vec![smallvec![]]));
        assert_eq!(coalesced(&[2, 3], &[smallvec![0, 0]]), (smallvec![6], vec![smallvec![0]]));
    }

    #[test]
    fn a_reshape_of_a_transposed_tensor_divides_dimensions_but_joins_none() {
        // [6, 4] transposed to [4, 6].
        assert_eq!(divided(&[4, 6], &[1, 4], &[2, 2, 6]), Some(smallvec![2, 1, 4]));
        assert_eq!(divided(&[4, 6], &[1, 4], &[4, 1, 3, 2]), Some(smallvec![1, 0, 8, 4]));
        assert_eq!(divided(&[4, 6], &[1, 4], &[24]), None);
        assert_eq!(divided(&[4, 6], &[1, 4], &[8, 3]), None);
        assert_eq!(divided(&[1, 1], &[7, 7], &[1]), Some(smallvec![0]));
    }

    #[test]
    fn the_stride_of_a_single_element_counts_only_where_strides_are_compared() {
        assert_eq!(packed(&[2, 1, 3])[..], [3, 3, 1]);
        assert_eq!(packed(&[2, 0, 3])[..], [3, 3, 1]);
        assert!(packed(&[]).is_empty() && is_packed(&[], &[]) && are_packed(&[], &[]));
        for (strides, same, contiguous) in [
            ([3, 3, 1], true, true),
            ([3, 0, 1], false, true),
            ([3, 3, 2], false, false),
            ([6, 3, 1], false, false),
        ] {
            assert_eq!(are_packed(&[2, 1, 3], &strides), same, "{strides:?}");
            assert_eq!(is_packed(&[2, 1, 3], &strides), contiguous, "{strides:?}");
        }
    }

    #[test]
    fn positions_follow_the_strides() {
        assert_eq!(positions(&[2, 3], &[1, 2]), [0, 2, 4, 1, 3, 5]);
        assert_eq!(positions(&[2, 2], &[0, 1]), [0, 1, 0, 1]);
        assert_eq!(positions(&[], &[]), [0]);
        assert!(positions(&[0, 5], &[5, 1]).is_empty());
    }
}
