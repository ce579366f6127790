//! Comparison of an element with the reference's.

use dml_core::DataType;
use dml_core::schema::Comparison;

use super::number::{Format, double, encoded};

impl Format {
    /// The bits without the sign; as integers they have the order of the magnitudes.
    fn magnitude(self, bits: u64) -> u64 {
        bits & (self.sign() - 1)
    }

    fn is_nan(self, bits: u64) -> bool {
        self.magnitude(bits) > self.infinity()
    }

    /// An integer with the order of the values, where both zeros are 0.
    fn order(self, bits: u64) -> i128 {
        let magnitude = i128::from(self.magnitude(bits));
        if bits & self.sign() == 0 { magnitude } else { -magnitude }
    }
}

/// A FLOAT32 subnormal becomes the zero of its sign; any other element is unchanged.
pub(super) fn flushed(data_type: DataType, bits: u64) -> u64 {
    match Format::of(data_type) {
        Some(format) if is_subnormal(data_type, bits) => bits & format.sign(),
        _ => bits,
    }
}

/// Whether the element is a FLOAT32 subnormal, which Vulkan lets a device flush to zero.
pub(super) fn is_subnormal(data_type: DataType, bits: u64) -> bool {
    data_type == DataType::Float32 && (1..0x80_0000).contains(&(bits & 0x7fff_ffff))
}

/// The element in a canonical form for comparing devices: a zero of its sign for a FLOAT32 subnormal, and one
/// bit pattern for all NaNs.
pub(crate) fn canonical(data_type: DataType, bits: u64) -> u64 {
    match Format::of(data_type) {
        Some(format) if format.is_nan(bits) => format.infinity() | 1,
        _ => flushed(data_type, bits),
    }
}

/// The distance of two elements in units in the last place; `None` for integers, if only one is a NaN, and
/// between zeros of different signs.
pub(super) fn ulp(data_type: DataType, one: u64, other: u64) -> Option<u128> {
    let format = Format::of(data_type)?;
    match (format.is_nan(one), format.is_nan(other)) {
        (true, true) => return Some(0),
        (false, false) => {}
        _ => return None,
    }
    let distance = format.order(one).abs_diff(format.order(other));
    (distance > 0 || one == other).then_some(distance)
}

/// The distance in units in the last place from `found` to the reference's element, or to the zero that it may
/// be flushed to, whichever is closer; `None` as for [`ulp`].
pub(super) fn distance(data_type: DataType, expected: u64, found: u64) -> Option<u128> {
    let allowed = [expected, flushed(data_type, expected)];
    allowed.into_iter().filter_map(|expected| ulp(data_type, expected, found)).min()
}

/// The number nearest to `found` that differs from `expected` by at most `error`; `expected` if either is not
/// finite.
pub(super) fn moved(data_type: DataType, expected: u64, found: u64, error: f64) -> u64 {
    let [from, to] = [expected, found].map(|bits| double(data_type, bits));
    match from.is_finite() && to.is_finite() {
        true => encoded(data_type, to.clamp(from - error, from + error)),
        false => expected,
    }
}

/// Whether `comparison` accepts `found` where the reference has `expected`. Without a bound all bits must be
/// equal. A bound on integers counts units of the FLOAT32 that they were truncated from.
pub fn accepts(comparison: Comparison, data_type: DataType, expected: u64, found: u64) -> bool {
    let Comparison::Ulp(bound) = comparison else { return found == expected };
    let distance = distance(data_type, expected, found)
        .or_else(|| distance_of_truncated(data_type, expected, found));
    found == expected || distance.is_some_and(|distance| distance <= bound.into())
}

/// The distance of two integers in units in the last place of FLOAT32, rounded up; `None` for floats.
fn distance_of_truncated(data_type: DataType, one: u64, other: u64) -> Option<u128> {
    let [one, other] = [data_type.integer_value(one)?, data_type.integer_value(other)?];
    let greater = one.unsigned_abs().max(other.unsigned_abs());
    let digits = u128::BITS - greater.leading_zeros();
    Some(one.abs_diff(other).div_ceil(1 << digits.saturating_sub(24)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use DataType::{Float16, Float32, Float64, Int32};

    const EXACT: Comparison = Comparison::Ulp(0);

    fn bits(value: f32) -> u64 {
        value.to_bits().into()
    }

    #[test]
    fn numbers_differ_by_units_in_the_last_place_across_zero_and_to_infinity() {
        let one = bits(1.0);
        assert_eq!(ulp(Float32, one, one + 3), Some(3));
        assert_eq!(ulp(Float32, one + 3, one), Some(3));
        assert_eq!(ulp(Float32, 1, 0x8000_0001), Some(2));
        assert_eq!(ulp(Float32, bits(f32::MAX), bits(f32::INFINITY)), Some(1));
        assert_eq!(ulp(Float16, 0x3c00, 0x3bff), Some(1));
        assert_eq!(ulp(Float64, 1 << 63 | 7, 7), Some(14));
        assert_eq!(ulp(Int32, 1, 2), None);
    }

    #[test]
    fn one_unit_is_accepted_where_one_is_allowed_alone() {
        for (data_type, one) in [(Float16, 0x3c00), (Float32, bits(1.0)), (Float64, 0x3ff << 52)] {
            for off in [one - 1, one + 1] {
                assert!(!accepts(EXACT, data_type, one, off), "{data_type}");
                assert!(accepts(Comparison::Ulp(1), data_type, one, off), "{data_type}");
            }
            assert!(!accepts(Comparison::Ulp(1), data_type, one, one + 2), "{data_type}");
        }
    }

    #[test]
    fn integers_have_every_bit_but_where_a_bound_was_given_to_what_they_were_truncated_from() {
        assert!(!accepts(EXACT, Int32, 1, 2));
        assert!(!accepts(Comparison::Ulp(1), Int32, 1, 3));
        assert!(accepts(Comparison::Ulp(1), Int32, 1, 2));
        assert!(accepts(Comparison::Ulp(1), Int32, (1 << 26) + 4, (1 << 26) + 12));
        assert!(!accepts(Comparison::Ulp(1), Int32, (1 << 26) + 4, (1 << 26) + 13));
    }

    #[test]
    fn any_nan_is_any_nan_and_nothing_else() {
        let infinity = bits(f32::INFINITY);
        assert!(accepts(EXACT, Float32, 0x7fc0_0000, 0xff80_0001));
        assert!(!accepts(Comparison::BitExact, Float32, 0x7fc0_0000, 0xff80_0001));
        for number in [0, bits(1.0), infinity] {
            assert!(!accepts(Comparison::Ulp(u32::MAX), Float32, number, 0x7f80_0001));
            assert!(!accepts(Comparison::Ulp(u32::MAX), Float32, 0x7f80_0001, number));
        }
    }

    #[test]
    fn zeros_have_the_same_sign() {
        for allowed in [0, 1, 100] {
            assert!(!accepts(Comparison::Ulp(allowed), Float32, 0, 1 << 31));
            assert!(!accepts(Comparison::Ulp(allowed), Float16, 1 << 15, 0));
        }
    }

    #[test]
    fn a_subnormal_of_float32_may_be_a_zero_of_its_sign() {
        let (least, most) = (0x8000_0001, 0x807f_ffff);
        for subnormal in [least, most] {
            assert!(accepts(EXACT, Float32, subnormal, 1 << 31));
            assert!(!accepts(EXACT, Float32, subnormal, 0), "{subnormal:#x}");
            assert!(!accepts(EXACT, Float32, 1 << 31, subnormal), "a zero is no subnormal");
        }
        assert!(!accepts(EXACT, Float32, most + 1, 1 << 31), "it is normal");
        assert!(!accepts(EXACT, Float16, 1, 0));
        assert!(!accepts(EXACT, Float64, 1, 0));
        assert!(!accepts(Comparison::BitExact, Float32, least, 1 << 31));
    }
}
