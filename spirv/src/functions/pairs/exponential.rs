//! The twin of `kernels/include/exponential.glsl`.

use super::{Pair, exact_sum, ordered_sum, polynomial, power_of_two};

const LN_2_HIGH: f32 = 0.693_115_23;
const LN_2_LOW: f32 = 3.194_618_3e-5;

impl Pair {
    /// `[r, q, k]`, where `e^self = 2^k * (1 + r + q)`.
    fn reduced_exponential(self) -> [f32; 3] {
        let scale = power_of_two((self.exponent as i32).clamp(-60, 9));
        let [high, low] = [self.high * scale, self.low * scale];
        let k = (high * std::f32::consts::LOG2_E + 12_582_912.0) - 12_582_912.0;
        let [r, lost] = exact_sum(high - k * LN_2_HIGH, low - k * LN_2_LOW);
        let p = polynomial(
            r,
            &[1.989_103e-4, 1.393_368_6e-3, 8.333_310_5e-3, 0.041_666_463, 0.166_666_67, 0.5],
        );
        [r, r * r * p + (lost + r * lost), k]
    }

    pub(in crate::functions) fn exponential(self) -> Self {
        let [r, q, k] = self.reduced_exponential();
        let [sum, lost] = ordered_sum(1.0, r);
        Self::new(ordered_sum(sum, lost + q), k)
    }

    /// e^self - 1.
    pub(in crate::functions) fn exponential_less_1(self) -> Self {
        let [r, q, k] = self.reduced_exponential();
        match k {
            _ if self.exponent < -30.0 => self,
            0.0 => Self::new(ordered_sum(r, q), 0.0),
            _ => self.exponential().plus(Self::ONE.opposite()),
        }
    }

    /// ln(self) of a positive number.
    pub(in crate::functions) fn logarithm(self) -> Self {
        let k = self.high.to_bits().wrapping_sub(0x3f35_04f3).cast_signed() >> 23;
        let scale = power_of_two(-k);
        let [less_1, less_1_low] = exact_sum(self.high * scale - 1.0, self.low * scale);
        let [more_1, lost] = exact_sum(2.0, less_1);
        let s = Self::constant(less_1, less_1_low).over(Self::constant(more_1, lost + less_1_low));
        let square = s.times(s);
        let r = polynomial(square.high, &[0.191_213_3, 0.222_047_3, 0.285_715_3, 0.4]);
        let [inner, lost] = ordered_sum(0.666_666_7, square.high * r);
        let cubic = square.times(Self::constant(inner, lost - 1.986_821_6e-8));
        let [outer, lost] = ordered_sum(2.0, cubic.high);
        let of_m = s.times(Self::constant(outer, lost + cubic.low));
        let exponent = k as f32 + self.exponent;
        let [sum, lost] = exact_sum(exponent * LN_2_HIGH, of_m.high);
        Self::new(ordered_sum(sum, lost + (exponent * LN_2_LOW + of_m.low)), 0.0).normalized()
    }
}
