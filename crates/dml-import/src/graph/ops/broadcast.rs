//! Broadcasting of shapes.

use crate::graph::strides::Sizes;

/// The common shape by NumPy's rule: dimensions are aligned at the last one, and those of size 1 are repeated.
pub(crate) fn broadcast(a: &[u64], b: &[u64]) -> Option<Sizes> {
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

/// The index of the element of a tensor of shape `from` that is at `index` when broadcast to `shape`.
pub(crate) fn source(mut index: usize, shape: &[u64], from: &[u64]) -> usize {
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
    use smallvec::smallvec;

    #[test]
    fn dimensions_of_size_1_are_repeated() {
        assert_eq!(broadcast(&[2, 1], &[3]), Some(smallvec![2, 3]));
        assert_eq!(broadcast(&[], &[3]), Some(smallvec![3]));
        assert_eq!(broadcast(&[2], &[3]), None);
        let sources: Vec<usize> = (0..6).map(|index| source(index, &[2, 3], &[2, 1])).collect();
        assert_eq!(sources, [0, 0, 0, 1, 1, 1]);
        let sources: Vec<usize> = (0..6).map(|index| source(index, &[2, 3], &[3])).collect();
        assert_eq!(sources, [0, 1, 2, 0, 1, 2]);
    }
}
