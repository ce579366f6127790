//! Exact values of elements, and the element nearest to a value: an oracle for arithmetic and conversions that
//! shares nothing with kernels, their twins, or the processor's floating-point unit.

use std::cmp::Ordering;

use dml_core::DataType;

/// The value of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// `significand * 2^exponent`, or its negative. Zero has a sign.
    Finite {
        /// Whether the sign bit is set.
        negative: bool,
        /// Any integer; not normalized.
        significand: u128,
        /// The power of two.
        exponent: i32,
    },
    /// An infinity.
    Infinite {
        /// Whether the sign bit is set.
        negative: bool,
    },
    /// Not a number.
    Nan,
}

/// A binary format of IEEE 754.
#[derive(Clone, Copy)]
pub(super) struct Format {
    /// The number of digits of the significand, including the leading one.
    digits: u32,
    /// The number of all bits.
    bits: u32,
}

impl Format {
    /// The format of a float type; `None` for integers.
    pub(super) fn of(data_type: DataType) -> Option<Self> {
        match data_type {
            DataType::Float16 => Some(Self { digits: 11, bits: 16 }),
            DataType::Float32 => Some(Self { digits: 24, bits: 32 }),
            DataType::Float64 => Some(Self { digits: 53, bits: 64 }),
            _ => None,
        }
    }

    fn exponent_bits(&self) -> u32 {
        self.bits - self.digits
    }

    /// The exponent of the last digit of the smallest numbers.
    fn least_exponent(&self) -> i32 {
        let bias = (1_i32 << (self.exponent_bits() - 1)) - 1;
        2 - bias - self.digits.cast_signed()
    }

    /// The bits of positive infinity: all exponent bits.
    pub(super) fn infinity(&self) -> u64 {
        ((1 << self.exponent_bits()) - 1) << (self.digits - 1)
    }

    /// The sign bit.
    pub(super) fn sign(&self) -> u64 {
        1 << (self.bits - 1)
    }

    /// A mask of the fraction bits.
    pub(super) fn fraction(&self) -> u64 {
        (1 << (self.digits - 1)) - 1
    }

    fn decode(&self, bits: u64) -> Number {
        let negative = bits >> (self.bits - 1) & 1 == 1;
        let fraction = u128::from(bits & self.fraction());
        let biased = bits >> (self.digits - 1) & ((1 << self.exponent_bits()) - 1);
        let all_ones = (1 << self.exponent_bits()) - 1;
        match (biased, fraction) {
            (it, 0) if it == all_ones => Number::Infinite { negative },
            (it, _) if it == all_ones => Number::Nan,
            (0, _) => {
                let exponent = self.least_exponent();
                Number::Finite { negative, significand: fraction, exponent }
            }
            _ => {
                let significand = fraction | 1 << (self.digits - 1);
                let offset = i32::try_from(biased - 1).expect("at most 11 bits");
                let exponent = self.least_exponent() + offset;
                Number::Finite { negative, significand, exponent }
            }
        }
    }

    /// Rounds to nearest, ties to even.
    fn encode(&self, number: Number) -> u64 {
        let sign = |negative: bool| u64::from(negative) << (self.bits - 1);
        match number {
            Number::Nan => self.infinity() | 1 << (self.digits - 2),
            Number::Infinite { negative } => sign(negative) | self.infinity(),
            Number::Finite { negative, significand: 0, .. } => sign(negative),
            Number::Finite { negative, significand, exponent } => {
                // The exponent of the last digit that is kept.
                let length = (u128::BITS - significand.leading_zeros()).cast_signed();
                let digits = self.digits.cast_signed();
                let last = (exponent + length - digits).max(self.least_exponent());
                let kept = round_even(significand, last - exponent);
                let biased = u64::try_from(last - self.least_exponent()).expect("not below it");
                // The leading digit adds one to the exponent, and so does a carry into it.
                let bits = (biased << (self.digits - 1)) + kept;
                sign(negative) | bits.min(self.infinity())
            }
        }
    }
}

/// `significand / 2^shift`, rounded to the nearest integer, ties to even.
fn round_even(significand: u128, shift: i32) -> u64 {
    let rounded = match u32::try_from(shift) {
        Err(_) => significand << shift.unsigned_abs(),
        Ok(shift) if shift >= u128::BITS => 0,
        Ok(0) => significand,
        Ok(shift) => {
            let (kept, rest) = (significand >> shift, significand & ((1 << shift) - 1));
            match rest.cmp(&(1 << (shift - 1))) {
                Ordering::Less => kept,
                Ordering::Equal => kept + (kept & 1),
                Ordering::Greater => kept + 1,
            }
        }
    };
    u64::try_from(rounded).expect("as many digits as the format has, and a carry")
}

impl Number {
    /// The value of an element of `data_type` with these bits.
    pub fn decode(data_type: DataType, bits: u64) -> Self {
        if let Some(format) = Format::of(data_type) {
            return format.decode(bits);
        }
        let width = data_type.bits();
        let negative = is_signed(data_type) && bits >> (width - 1) & 1 == 1;
        let magnitude = if negative { (1_u128 << width) - u128::from(bits) } else { bits.into() };
        Self::Finite { negative, significand: magnitude, exponent: 0 }
    }

    /// The bits of the nearest element of `data_type`: floats round to nearest, ties to even, and NaN becomes a
    /// quiet NaN; integers round toward 0 and saturate, and NaN becomes 0.
    pub fn encode(self, data_type: DataType) -> u64 {
        if let Some(format) = Format::of(data_type) {
            return format.encode(self);
        }
        let width = data_type.bits();
        let largest = (u128::MAX >> (128 - width)) >> u32::from(is_signed(data_type));
        let most = |negative: bool| match (negative, is_signed(data_type)) {
            (false, _) => largest,
            (true, true) => largest + 1,
            (true, false) => 0,
        };
        let (negative, magnitude) = match self {
            Self::Nan => (false, 0),
            Self::Infinite { negative } => (negative, most(negative)),
            Self::Finite { negative, significand, exponent } => {
                let integer = match exponent {
                    0.. if significand.leading_zeros() < exponent.unsigned_abs() => u128::MAX,
                    0.. => significand << exponent,
                    -127..=-1 => significand >> exponent.unsigned_abs(),
                    _ => 0,
                };
                (negative, integer.min(most(negative)))
            }
        };
        let magnitude = u64::try_from(magnitude).expect("within the range");
        let bits = if negative { magnitude.wrapping_neg() } else { magnitude };
        bits & (u64::MAX >> (64 - width))
    }
}

/// The nearest number of single precision.
#[expect(clippy::cast_possible_truncation, reason = "this rounds to single precision")]
pub(crate) fn single(value: f64) -> f64 {
    f64::from(value as f32)
}

/// The value of an element in double precision.
pub fn double(data_type: DataType, bits: u64) -> f64 {
    f64::from_bits(Number::decode(data_type, bits).encode(DataType::Float64))
}

/// The element that is nearest to a value.
pub fn encoded(data_type: DataType, value: f64) -> u64 {
    Number::decode(DataType::Float64, value.to_bits()).encode(data_type)
}

/// All patterns of `bits` bits near powers of two, all zeros and all ones.
pub fn around_powers(bits: u32) -> impl Iterator<Item = u64> {
    let around = (0..bits)
        .flat_map(|it| [-2_i64, -1, 0, 1, 2].map(move |by| (1_u64 << it).wrapping_add_signed(by)));
    around.chain([0, u64::MAX]).map(move |it| it & (u64::MAX >> (64 - bits)))
}

/// Flushes a subnormal number of single precision to zero.
pub(crate) fn flush(value: f64) -> f64 {
    if value.abs() < f32::MIN_POSITIVE.into() { value * 0.0 } else { value }
}

fn is_signed(data_type: DataType) -> bool {
    matches!(
        data_type,
        DataType::Int4 | DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_the_nearest_to_itself() {
        for data_type in DataType::ALL {
            for bits in around_powers(data_type.bits()) {
                let number = Number::decode(data_type, bits);
                if number != Number::Nan {
                    assert_eq!(number.encode(data_type), bits, "{data_type} {bits:#x}");
                }
            }
        }
    }

    /// The processor's conversions follow IEEE 754, and Rust's saturate.
    #[test]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "what is compared")]
    fn conversions_of_doubles_are_those_of_the_processor() {
        let mut state = 1_u64;
        let random = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Exponents near those that matter to the other types.
            state >> 12 | (1023 - 80 + (state >> 33) % 160) << 52 | state << 63
        });
        for bits in around_powers(64).chain(random.take(20_000)) {
            let (double, number) = (f64::from_bits(bits), Number::decode(DataType::Float64, bits));
            if !double.is_nan() {
                let single = u64::from((double as f32).to_bits());
                assert_eq!(number.encode(DataType::Float32), single, "{double:e}");
            }
            assert_eq!(number.encode(DataType::Uint64), double as u64, "{double:e}");
            assert_eq!(
                number.encode(DataType::Int64),
                (double as i64).cast_unsigned(),
                "{double:e}"
            );
            assert_eq!(number.encode(DataType::Int8), u64::from((double as i8).cast_unsigned()));
        }
    }

    #[test]
    fn doubles_become_halves_by_one_rounding() {
        let half = |double: f64| {
            Number::decode(DataType::Float64, double.to_bits()).encode(DataType::Float16)
        };
        assert_eq!(half(65_519.999_999_999_99), 0x7bff);
        assert_eq!(half(65520.0), 0x7c00);
        assert_eq!(half(2.0_f64.powi(-25)), 0);
        assert_eq!(half(2.0_f64.powi(-25) * (1.0 + f64::EPSILON)), 1);
        assert_eq!(half(-1.0 - 2.0_f64.powi(-11)), 0xbc00);
    }
}
