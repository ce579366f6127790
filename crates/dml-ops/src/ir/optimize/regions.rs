//! Whether two views of a buffer are disjoint: as ranges of elements, or as boxes. An element's number in mixed radix has a
//! digit for each stride, and a view has all elements whose digits are in ranges.

use std::ops::RangeInclusive;

use dml_spirv::element_wise::DIMENSIONS;

use crate::ir::space::{Operand, extent};

/// The sizes of a space.
pub(super) type Sizes = [u32; DIMENSIONS];

/// Strides, ascending from 1 on, each a multiple of the one before.
struct Radix(Vec<i64>);

impl Radix {
    /// The radix of the strides of these views; `None` if there is none.
    fn of(views: [(&Operand, &Sizes); 2]) -> Option<Self> {
        let mut strides = vec![1];
        strides
            .extend(views.into_iter().flat_map(|(view, sizes)| used(view, sizes)).map(|it| it.1));
        strides.sort_unstable();
        strides.dedup();
        let is_nested = strides[0] > 0 && strides.windows(2).all(|pair| pair[1] % pair[0] == 0);
        is_nested.then_some(Self(strides))
    }

    /// The range of each digit; `None` if a sum of coordinates carries to the next digit.
    fn ranges(&self, view: &Operand, sizes: &Sizes) -> Option<Vec<RangeInclusive<i64>>> {
        let mut rest = view.base;
        let mut digits = vec![0; self.0.len()];
        for (digit, stride) in digits.iter_mut().zip(&self.0).rev() {
            *digit = rest.div_euclid(*stride);
            rest = rest.rem_euclid(*stride);
        }
        let extents = self.0.iter().map(|stride| {
            let along = used(view, sizes).filter(|(_, it)| it == stride);
            along.map(|(size, _)| i64::from(size) - 1).sum::<i64>()
        });
        let ranges: Vec<_> =
            digits.iter().zip(extents).map(|(digit, it)| *digit..=digit + it).collect();
        let nexts = self.0.windows(2).map(|pair| pair[1] / pair[0]);
        let has_no_carry = ranges.iter().zip(nexts).all(|(range, next)| *range.end() < next);
        has_no_carry.then_some(ranges)
    }
}

/// The sizes and strides of the dimensions along which a view has other elements.
fn used<'a>(view: &'a Operand, sizes: &'a Sizes) -> impl Iterator<Item = (u32, i64)> + 'a {
    let dimensions = sizes.iter().copied().zip(view.strides);
    dimensions.filter(|(size, stride)| *size > 1 && *stride != 0)
}

/// Whether two views of one buffer certainly have no element in common.
pub(super) fn are_disjoint(one: (&Operand, &Sizes), other: (&Operand, &Sizes)) -> bool {
    let is_plain = one.0.is_plain() && other.0.is_plain() && one.0.width == other.0.width;
    let [whole, whole_other] =
        [one, other].map(|(view, sizes)| extent(view.base, used(view, sizes)));
    let boxes_are_apart = || {
        let radix = Radix::of([one, other])?;
        let ranges = radix.ranges(one.0, one.1)?.into_iter().zip(radix.ranges(other.0, other.1)?);
        Some(ranges.into_iter().any(|(one, other)| are_apart(&one, &other)))
    };
    is_plain && (are_apart(&whole, &whole_other) || boxes_are_apart().unwrap_or(false))
}

fn are_apart(one: &RangeInclusive<i64>, other: &RangeInclusive<i64>) -> bool {
    one.end() < other.start() || other.end() < one.start()
}

#[cfg(test)]
mod tests {
    use dml_spirv::ElementWidth;

    use super::*;
    use crate::ir::Buffer;

    /// A view, and the sizes of its space.
    fn view(base: i64, dimensions: &[(u32, i64)]) -> (Operand, Sizes) {
        let (mut sizes, mut strides) = ([1; DIMENSIONS], [0; DIMENSIONS]);
        for (at, (size, stride)) in dimensions.iter().enumerate() {
            (sizes[at], strides[at]) = (*size, *stride);
        }
        let operand = Operand::at(Buffer::Local(0), ElementWidth::B32, base);
        (Operand { strides, ..operand }, sizes)
    }

    fn elements((operand, sizes): &(Operand, Sizes)) -> Vec<i64> {
        let mut all = vec![operand.base];
        for (size, stride) in sizes.iter().zip(operand.strides) {
            let along = |it: i64| (0..i64::from(*size)).map(move |at| it + at * stride);
            all = all.into_iter().flat_map(along).collect();
        }
        all
    }

    #[test]
    fn what_is_called_disjoint_has_no_common_element() {
        let mut found = 0;
        let strides = [0, 1, 2, 4, 6, 12];
        for number in 0..4000_u32 {
            let pick = |by: u32, among: u32| number.wrapping_mul(2_654_435_761) / by % among;
            let stride = |by| strides[pick(by, 6) as usize];
            let one = view(
                pick(7, 9).into(),
                &[(1 + pick(11, 3), stride(13)), (1 + pick(17, 4), stride(19))],
            );
            let other = view(
                pick(23, 9).into(),
                &[(1 + pick(29, 3), stride(31)), (1 + pick(37, 4), stride(41))],
            );
            if are_disjoint((&one.0, &one.1), (&other.0, &other.1)) {
                let others = elements(&other);
                assert!(!elements(&one).iter().any(|it| others.contains(it)), "{one:?} {other:?}");
                found += 1;
            }
        }
        assert!(found > 100, "{found}");
    }

    #[test]
    fn halves_of_rows_are_disjoint() {
        let [low, high] = [0, 32].map(|base| view(base, &[(9, 64), (32, 1)]));
        assert!(are_disjoint((&low.0, &low.1), (&high.0, &high.1)));
        let wide = view(0, &[(9, 64), (33, 1)]);
        assert!(!are_disjoint((&wide.0, &wide.1), (&high.0, &high.1)));
    }
}
