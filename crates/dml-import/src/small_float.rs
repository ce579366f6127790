//! Floats of 4 and 8 bits: their values, and how numbers are rounded to them.

use std::fmt;

/// A format of floats of at most 8 bits. Tensors carry an element as a byte with its bit pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SmallFloat {
    /// 1 sign, 4 exponent and 3 fraction bits, without infinities.
    E4m3fn,
    /// [`E4m3fn`](Self::E4m3fn) with a bias of 8, without a negative zero, whose pattern is the only NaN.
    E4m3fnuz,
    /// 1 sign, 5 exponent and 2 fraction bits, as binary16 without its last 8 bits.
    E5m2,
    /// [`E5m2`](Self::E5m2) with a bias of 16, without infinities and a negative zero, whose pattern is the only
    /// NaN.
    E5m2fnuz,
    /// Powers of two from 2^-127 to 2^127, without a sign and a zero.
    E8m0,
    /// 4 bits: 1 sign, 2 exponent and 1 fraction bits, without infinities and NaN. Files pack two into a byte.
    E2m1,
}

/// The rounding of a number to a small float.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rounding {
    /// Whether numbers beyond the greatest finite one become that one, instead of infinity or NaN.
    pub(crate) saturates: bool,
    /// The rounding to powers of two, which no other format uses.
    pub(crate) powers: PowerRounding,
}

/// The neighbour that a number between two powers of two becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PowerRounding {
    /// The greater one.
    Up,
    /// The lesser one.
    Down,
    /// The nearer one, and the greater one of both.
    Nearest,
}

impl Default for Rounding {
    /// ONNX's default.
    fn default() -> Self {
        Self { saturates: true, powers: PowerRounding::Up }
    }
}

impl SmallFloat {
    #[cfg(test)]
    const ALL: [Self; 6] =
        [Self::E4m3fn, Self::E4m3fnuz, Self::E5m2, Self::E5m2fnuz, Self::E8m0, Self::E2m1];

    /// NumPy's name.
    fn name(self) -> &'static str {
        match self {
            Self::E4m3fn => "float8e4m3fn",
            Self::E4m3fnuz => "float8e4m3fnuz",
            Self::E5m2 => "float8e5m2",
            Self::E5m2fnuz => "float8e5m2fnuz",
            Self::E8m0 => "float8e8m0",
            Self::E2m1 => "float4e2m1",
        }
    }

    /// The number of bits of a pattern.
    pub(crate) fn bits(self) -> u32 {
        if self == Self::E2m1 { 4 } else { 8 }
    }

    /// The number of fraction bits, and the exponent's bias.
    fn layout(self) -> (u32, i32) {
        match self {
            Self::E4m3fn => (3, 7),
            Self::E4m3fnuz => (3, 8),
            Self::E5m2 => (2, 15),
            Self::E5m2fnuz => (2, 16),
            Self::E8m0 => (0, 127),
            Self::E2m1 => (1, 1),
        }
    }

    /// The pattern of the greatest finite number. Patterns from 0 to it have rising values.
    fn greatest(self) -> u8 {
        match self {
            Self::E4m3fn => 0x7e,
            Self::E4m3fnuz | Self::E5m2fnuz => 0x7f,
            Self::E5m2 => 0x7b,
            Self::E8m0 => 0xfe,
            Self::E2m1 => 7,
        }
    }

    /// The pattern of the sign; 0 if there is none.
    fn sign(self) -> u8 {
        match self {
            Self::E8m0 => 0,
            Self::E2m1 => 8,
            _ => 0x80,
        }
    }

    /// The pattern of NaN. A format without it has a negative zero in its place.
    fn nan(self) -> u8 {
        match self {
            Self::E4m3fn => 0x7f,
            Self::E5m2 => 0x7e,
            Self::E4m3fnuz | Self::E5m2fnuz => 0x80,
            Self::E8m0 => 0xff,
            Self::E2m1 => 8,
        }
    }

    /// Whether the pattern of a negative zero is NaN.
    fn has_no_negative_zero(self) -> bool {
        matches!(self, Self::E4m3fnuz | Self::E5m2fnuz)
    }

    /// The value of a pattern.
    pub(crate) fn value(self, pattern: u8) -> f64 {
        let magnitude = pattern & !self.sign();
        if self.has_no_negative_zero() && pattern == self.nan() {
            return f64::NAN;
        }
        let value = match magnitude {
            finite if finite <= self.greatest() => self.finite(finite),
            0x7c if self == Self::E5m2 => f64::INFINITY,
            _ => return f64::NAN,
        };
        if pattern & self.sign() == 0 { value } else { -value }
    }

    /// The value of a pattern of a positive finite number.
    fn finite(self, pattern: u8) -> f64 {
        let (fraction_bits, bias) = self.layout();
        let (exponent, fraction) = (pattern >> fraction_bits, pattern & ((1 << fraction_bits) - 1));
        let is_normal = exponent > 0 || self == Self::E8m0;
        let whole = if is_normal { (1 << fraction_bits) | fraction } else { fraction };
        let scale = i32::from(exponent) + i32::from(!is_normal) - bias;
        f64::from(whole) * 2f64.powi(scale - fraction_bits.cast_signed())
    }

    /// The pattern of a number, rounded to the nearest one, and to the even pattern between two.
    pub(crate) fn pattern(self, value: f64, rounding: Rounding) -> u8 {
        if value.is_nan() {
            return self.nan();
        }
        let sign = if value.is_sign_negative() { self.sign() } else { 0 };
        let rounded = self.rounded(value.abs(), rounding.powers);
        match rounded {
            Some(0) if self.has_no_negative_zero() => 0,
            Some(pattern) => pattern | sign,
            None if rounding.saturates || self == Self::E2m1 => self.greatest() | sign,
            // Infinity follows the greatest finite number.
            None if self == Self::E5m2 => (self.greatest() + 1) | sign,
            None if self.has_no_negative_zero() => self.nan(),
            None => self.nan() | sign,
        }
    }

    /// The pattern of a positive number; `None` if it is rounded beyond the greatest one.
    fn rounded(self, value: f64, powers: PowerRounding) -> Option<u8> {
        let greatest = self.greatest();
        let Some(below) = (0..=greatest).rev().find(|it| self.finite(*it) <= value) else {
            return Some(0);
        };
        let (lower, step) = match below == greatest {
            // The next pattern would have the same step, or be the next power of two.
            true if self == Self::E8m0 => (self.finite(below), self.finite(below)),
            true => (self.finite(below), self.finite(below) - self.finite(below - 1)),
            false => (self.finite(below), self.finite(below + 1) - self.finite(below)),
        };
        let rest = value - lower;
        let is_up = if self == Self::E8m0 {
            match powers {
                PowerRounding::Up => rest > 0.0,
                PowerRounding::Down => rest >= step,
                PowerRounding::Nearest => rest >= step / 2.0,
            }
        } else {
            rest > step / 2.0 || rest == step / 2.0 && below % 2 == 1
        };
        match is_up {
            false => Some(below),
            true => Some(below + 1).filter(|it| *it <= greatest),
        }
    }
}

impl fmt::Display for SmallFloat {
    /// Writes NumPy's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Patterns by the package ml_dtypes 0.5.
    const SAMPLES: [f64; 10] =
        [0.0, -0.0, f64::NAN, 464.0, 465.0, 248.0, 250.0, 61440.0, 0.25, 2.5];
    const PATTERNS: [(SmallFloat, [u8; 10]); 5] = [
        (SmallFloat::E4m3fn, [0, 0x80, 0x7f, 0x7e, 0x7f, 0x78, 0x78, 0x7f, 0x28, 0x42]),
        (SmallFloat::E4m3fnuz, [0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x30, 0x4a]),
        (SmallFloat::E5m2, [0, 0x80, 0x7e, 0x5f, 0x5f, 0x5c, 0x5c, 0x7c, 0x34, 0x41]),
        (SmallFloat::E5m2fnuz, [0, 0, 0x80, 0x63, 0x63, 0x60, 0x60, 0x80, 0x38, 0x45]),
        (SmallFloat::E2m1, [0, 8, 8, 7, 7, 7, 7, 7, 0, 4]),
    ];

    #[test]
    fn numbers_are_rounded_as_ml_dtypes_rounds_them() {
        let rounding = Rounding { saturates: false, ..Rounding::default() };
        for (format, patterns) in PATTERNS {
            assert_eq!(SAMPLES.map(|it| format.pattern(it, rounding)), patterns, "{format}");
        }
    }

    #[test]
    fn every_finite_pattern_is_that_of_its_value() {
        for format in SmallFloat::ALL {
            for pattern in 0..=u8::MAX >> (8 - format.bits()) {
                let value = format.value(pattern);
                if value.is_nan() {
                    continue;
                }
                let rounding = Rounding { saturates: false, ..Rounding::default() };
                assert_eq!(format.pattern(value, rounding), pattern, "{format} {value}");
            }
        }
    }

    #[test]
    fn numbers_beyond_the_greatest_saturate_if_that_is_asked_for() {
        let saturated = |it: SmallFloat| it.value(it.pattern(-1e30, Rounding::default()));
        let greatest = [-448.0, -240.0, -57344.0, -57344.0];
        assert_eq!([0, 1, 2, 3].map(|at| saturated(SmallFloat::ALL[at])), greatest);
        assert_eq!(saturated(SmallFloat::E2m1), -6.0);
        assert_eq!(SmallFloat::E8m0.pattern(f64::MAX, Rounding::default()), 0xfe);
    }

    #[test]
    fn powers_of_two_are_rounded_as_asked() {
        use PowerRounding::{Down, Nearest, Up};
        let of = |value, powers| {
            let rounding = Rounding { powers, ..Rounding::default() };
            SmallFloat::E8m0.pattern(value, rounding)
        };
        assert_eq!([Up, Down, Nearest].map(|it| of(1.5, it)), [128, 127, 128]);
        assert_eq!([Up, Down, Nearest].map(|it| of(1.4, it)), [128, 127, 127]);
        assert_eq!([Up, Down, Nearest].map(|it| of(1.0, it)), [127; 3]);
        assert_eq!(of(0.0, Up), 0);
    }
}
