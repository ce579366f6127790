//! The twin of `kernels/include/pairs.glsl`: the same operations on the same numbers in the same order.

mod exponential;

pub(super) const INFINITY: u32 = 0x7f80_0000;
pub(super) const NAN: u32 = 0x7fc0_0000;
pub(super) const SIGN: u32 = 0x8000_0000;

/// A number of about 46 bits of precision and any exponent: `(high + low) * 2^exponent`.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    pub(super) high: f32,
    pub(super) low: f32,
    pub(super) exponent: f32,
}

pub(super) fn magnitude(a: u32) -> u32 {
    a & !SIGN
}

/// Whether a product is NaN: a factor is, or 0 is multiplied by infinity.
pub(super) fn is_undefined_product(a: u32, b: u32) -> bool {
    let [less, greater] = [magnitude(a).min(magnitude(b)), magnitude(a).max(magnitude(b))];
    greater > INFINITY || (greater == INFINITY && less == 0)
}

/// 2^n for an integer from -126 to 127.
pub(super) fn power_of_two(n: i32) -> f32 {
    f32::from_bits(((n + 127) << 23) as u32)
}

/// The rounded sum `a + b` and its rounding error.
pub(super) fn exact_sum(a: f32, b: f32) -> [f32; 2] {
    let sum = a + b;
    let second = sum - a;
    [sum, (a - (sum - second)) + (b - second)]
}

/// As [`exact_sum`], if `|a|` is not less than `|b|`.
pub(super) fn ordered_sum(a: f32, b: f32) -> [f32; 2] {
    let sum = a + b;
    [sum, b - (sum - a)]
}

/// The upper 12 of the 24 bits of the significand.
fn upper(a: f32) -> f32 {
    f32::from_bits(a.to_bits() & 0xffff_f000)
}

/// The rounded product `a * b` and its rounding error.
pub(super) fn exact_product(a: f32, b: f32) -> [f32; 2] {
    let product = a * b;
    let high = [upper(a), upper(b)];
    let low = [a - high[0], b - high[1]];
    let rest = ((high[0] * high[1] - product) + high[0] * low[1]) + low[0] * high[1];
    [product, rest + low[0] * low[1]]
}

/// 1 / b, to about the last place.
pub(super) fn reciprocal(b: f32) -> f32 {
    let first = f32::from_bits(0x7ef1_27ea_u32.wrapping_sub(b.to_bits()));
    let second = first * (2.0 - b * first);
    let third = second * (2.0 - b * second);
    third * (2.0 - b * third)
}

/// A polynomial of `x` by Horner's scheme, the last coefficient first.
pub(super) fn polynomial(x: f32, coefficients: &[f32]) -> f32 {
    coefficients
        .iter()
        .copied()
        .reduce(|sum, coefficient| sum * x + coefficient)
        .unwrap_or_default()
}

/// `result`, or NaN if `has_none`.
pub(super) fn unless(has_none: bool, result: u32) -> u32 {
    if has_none { NAN } else { result }
}

impl Pair {
    pub(super) const ONE: Self = Self::constant(1.0, 0.0);

    /// A constant near 1, without an exponent.
    pub(super) const fn constant(high: f32, low: f32) -> Self {
        Self { high, low, exponent: 0.0 }
    }

    pub(super) fn new([high, low]: [f32; 2], exponent: f32) -> Self {
        Self { high, low, exponent }
    }

    /// The pair of a number in single precision; 0 is far below all others and infinity far above.
    pub(super) fn of(a: u32) -> Self {
        let bits = magnitude(a);
        let is_subnormal = bits < 0x0080_0000;
        let normal = if is_subnormal { (bits as f32).to_bits() } else { bits };
        let exponent = (normal >> 23) as i32 - if is_subnormal { 149 } else { 0 } - 127;
        let beyond = match bits {
            0 => -8192,
            INFINITY.. => 8192,
            _ => 0,
        };
        let high = f32::from_bits((a & SIGN) | (normal & 0x007f_ffff) | 0x3f80_0000);
        Self::new([high, 0.0], (exponent + beyond) as f32)
    }

    /// The nearest number in single precision.
    pub(super) fn rounded(self) -> u32 {
        let bits = (self.high + self.low).to_bits();
        let normal = magnitude(bits);
        let exponent = (normal >> 23) as i32 + self.exponent as i32;
        let significand = (normal & 0x007f_ffff) | 0x0080_0000;
        let lacking = (1 - exponent).clamp(1, 25);
        let kept = significand >> lacking;
        let half_way = 1 << (lacking - 1);
        let rest = significand - (kept << lacking);
        let result = match exponent {
            _ if normal == 0 => 0,
            ..=0 => kept + u32::from(rest + (kept & 1) > half_way),
            1..=254 => (exponent as u32) << 23 | (normal & 0x007f_ffff),
            _ => INFINITY,
        };
        result | (bits & SIGN)
    }

    /// The pair with its high part scaled to at least 1 and below 2, unless it is 0.
    pub(super) fn normalized(self) -> Self {
        let exponent = (magnitude(self.high.to_bits()) >> 23) as i32 - 127;
        let scale = power_of_two(-exponent);
        Self::new([self.high * scale, self.low * scale], self.exponent + exponent as f32)
    }

    /// High and low part without an exponent, which is clamped to the range from -60 to 60.
    pub(super) fn parts(self) -> [f32; 2] {
        let scale = power_of_two((self.exponent as i32).clamp(-60, 60));
        [self.high * scale, self.low * scale]
    }

    pub(super) fn opposite(self) -> Self {
        Self { high: -self.high, low: -self.low, ..self }
    }

    /// The pair times 2^by.
    pub(super) fn scaled(self, by: f32) -> Self {
        Self { exponent: self.exponent + by, ..self }
    }

    pub(super) fn plus(self, b: Self) -> Self {
        let exponent = self.exponent.max(b.exponent);
        let [a_scale, b_scale] =
            [self, b].map(|it| power_of_two(((it.exponent - exponent) as i32).max(-60)));
        let [first, second] =
            [[self.high * a_scale, self.low * a_scale], [b.high * b_scale, b.low * b_scale]];
        let [sum, rest] = exact_sum(first[0], second[0]);
        Self::new(ordered_sum(sum, rest + (first[1] + second[1])), exponent)
    }

    pub(super) fn times(self, b: Self) -> Self {
        let [product, rest] = exact_product(self.high, b.high);
        let low = rest + (self.high * b.low + self.low * b.high);
        Self::new(ordered_sum(product, low), self.exponent + b.exponent)
    }

    pub(super) fn over(self, b: Self) -> Self {
        let inverse = reciprocal(b.high);
        let quotient = self.high * inverse;
        let [product, lost] = exact_product(quotient, b.high);
        let rest = ((self.high - product) - lost) + (self.low - quotient * b.low);
        Self::new(ordered_sum(quotient, rest * inverse), self.exponent - b.exponent)
    }
    /// The square root of a pair that is not negative.
    pub(super) fn square_root(self) -> Self {
        let exponent = self.exponent as i32;
        let scale = if exponent & 1 == 0 { 1.0 } else { 2.0 };
        let [high, low] = [self.high * scale, self.low * scale];
        let estimate = f32::from_bits(0x5f37_5a86_u32.wrapping_sub(high.to_bits() >> 1));
        let newton = |it: f32, _| it * (1.5 - high * 0.5 * it * it);
        let inverse = (0..3).fold(estimate, newton);
        let root = high * inverse;
        let [square, lost] = exact_product(root, root);
        let rest = ((high - square) - lost) + low;
        Self::new(ordered_sum(root, rest * inverse * 0.5), (exponent >> 1) as f32)
    }
}
