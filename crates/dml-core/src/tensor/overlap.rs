//! Whether any two elements of a strided tensor share an address.

/// The most elements that are enumerated.
const ENUMERATION_LIMIT: u64 = 1 << 20;

/// The answer for one layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overlap {
    /// No two elements share an address.
    Disjoint,
    /// Two elements share an address.
    Overlapping,
    /// The search for shared addresses is too costly.
    Unknown,
}

/// Tells whether elements overlap, for a tensor whose span fits 32 bits.
///
/// First every dimension whose stride exceeds the span of all smaller ones is removed, because it cannot
/// cause an overlap. Two remaining dimensions are decided exactly, more by enumeration.
pub(crate) fn overlap(sizes: &[u32], strides: &[u32]) -> Overlap {
    let mut dimensions: Vec<(u64, u64)> = strides
        .iter()
        .zip(sizes)
        .filter(|(_, size)| **size > 1)
        .map(|(stride, size)| (u64::from(*stride), u64::from(*size)))
        .collect();
    dimensions.sort_unstable();
    if dimensions.first().is_some_and(|(stride, _)| *stride == 0) {
        return Overlap::Overlapping;
    }
    while let Some((largest, _)) = dimensions.last().copied() {
        let inner = &dimensions[..dimensions.len() - 1];
        let inner_span: u64 = inner.iter().map(|(stride, size)| (size - 1) * stride).sum();
        if largest <= inner_span {
            break;
        }
        dimensions.pop();
    }
    match dimensions.as_slice() {
        [] => Overlap::Disjoint,
        [a, b] => two_dimensions(*a, *b),
        more => enumerate(more),
    }
}

/// `i * a = j * b` has its first solution at `i = b / gcd`, `j = a / gcd`: both must be reachable.
fn two_dimensions((a, a_size): (u64, u64), (b, b_size): (u64, u64)) -> Overlap {
    let divisor = greatest_common_divisor(a, b);
    if b / divisor < a_size && a / divisor < b_size {
        Overlap::Overlapping
    } else {
        Overlap::Disjoint
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn enumerate(dimensions: &[(u64, u64)]) -> Overlap {
    let count: u64 = dimensions.iter().map(|(_, size)| size).product();
    if count > ENUMERATION_LIMIT {
        return Overlap::Unknown;
    }
    let mut addresses = vec![0u64];
    for (stride, size) in dimensions {
        addresses = addresses
            .iter()
            .flat_map(|base| (0..*size).map(move |index| base + index * stride))
            .collect();
    }
    addresses.sort_unstable();
    if addresses.windows(2).any(|pair| pair[0] == pair[1]) {
        Overlap::Overlapping
    } else {
        Overlap::Disjoint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brute_force(sizes: &[u32], strides: &[u32]) -> Overlap {
        let mut seen = std::collections::HashSet::new();
        let mut coordinates = vec![vec![]];
        for size in sizes {
            coordinates = coordinates
                .into_iter()
                .flat_map(|outer: Vec<u32>| {
                    (0..*size).map(move |index| [outer.as_slice(), &[index]].concat())
                })
                .collect();
        }
        let unique = coordinates
            .iter()
            .all(|at| seen.insert(at.iter().zip(strides).map(|(i, s)| i * s).sum::<u32>()));
        if unique { Overlap::Disjoint } else { Overlap::Overlapping }
    }

    #[test]
    fn agrees_with_brute_force_on_all_small_layouts() {
        for sizes in [[2, 3], [3, 3], [4, 2], [1, 5], [5, 1]] {
            for strides in (0..8).flat_map(|a| (0..8).map(move |b| [a, b])) {
                let expected = brute_force(&sizes, &strides);
                assert_eq!(overlap(&sizes, &strides), expected, "{sizes:?} {strides:?}");
            }
        }
        for sizes in [[2, 2, 2], [2, 3, 2], [3, 1, 3], [2, 3, 4]] {
            for index in 0..1000 {
                let strides = [index % 10, index / 10 % 10, index / 100];
                let expected = brute_force(&sizes, &strides);
                assert_eq!(overlap(&sizes, &strides), expected, "{sizes:?} {strides:?}");
            }
        }
    }

    #[test]
    fn interleaved_but_disjoint_is_accepted() {
        // Sorted spans alone would refuse this one.
        assert_eq!(overlap(&[2, 3], &[3, 2]), Overlap::Disjoint);
    }

    #[test]
    fn strides_of_size_one_dimensions_do_not_matter() {
        assert_eq!(overlap(&[1, 3], &[0, 1]), Overlap::Disjoint);
        assert_eq!(overlap(&[2, 3], &[0, 1]), Overlap::Overlapping);
    }

    #[test]
    fn what_is_too_costly_is_unknown() {
        let sizes = [1 << 8, 1 << 8, 1 << 8];
        assert_eq!(overlap(&sizes, &[301, 307, 311]), Overlap::Unknown);
        // Large but ordered layouts need no enumeration.
        assert_eq!(overlap(&sizes, &[1 << 16, 1 << 8, 1]), Overlap::Disjoint);
    }
}
