//! Exact arithmetic of fractions, for expected values.

use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Sub};

/// A fraction in lowest terms with a positive denominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fraction {
    numerator: i128,
    denominator: i128,
}

impl Fraction {
    pub(crate) fn new(numerator: i128, denominator: i128) -> Self {
        let (mut a, mut b) = (numerator.abs(), denominator.abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let divisor = a * denominator.signum();
        Self { numerator: numerator / divisor, denominator: denominator / divisor }
    }

    /// The value of a positive normal number below 2^24.
    pub(crate) fn of_float(float: f32) -> Self {
        let (exponent, mantissa) = (float.to_bits() >> 23, float.to_bits() & 0x7f_ffff);
        Self::new((mantissa | 0x80_0000).into(), 1 << (150 - exponent))
    }

    pub(crate) fn floor(self) -> i128 {
        self.numerator.div_euclid(self.denominator)
    }

    pub(crate) fn ceil(self) -> i128 {
        -(-self.numerator).div_euclid(self.denominator)
    }

    #[expect(clippy::cast_possible_truncation, reason = "rounded to the nearest float")]
    pub(crate) fn to_float(self) -> f32 {
        (self.numerator as f64 / self.denominator as f64) as f32
    }
}

impl From<i128> for Fraction {
    fn from(integer: i128) -> Self {
        Self::new(integer, 1)
    }
}

impl Add for Fraction {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let numerator = self.numerator * other.denominator + other.numerator * self.denominator;
        Self::new(numerator, self.denominator * other.denominator)
    }
}

impl Sub for Fraction {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + Self::new(-other.numerator, other.denominator)
    }
}

impl Mul for Fraction {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self::new(self.numerator * other.numerator, self.denominator * other.denominator)
    }
}

impl Div for Fraction {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        Self::new(self.numerator * other.denominator, self.denominator * other.numerator)
    }
}

impl PartialOrd for Fraction {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let [a, b] = [self.numerator * other.denominator, other.numerator * self.denominator];
        Some(a.cmp(&b))
    }
}
