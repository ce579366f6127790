//! Pseudo-random elements and numbers.

use dml_core::DataType;

use super::Random;
use crate::number::{Format, encoded};

/// Values at which conversions and roundings change: halves, the ends of integer types and of FLOAT16, the last
/// digits of significands, and the smallest numbers.
pub(crate) const EDGES: [f64; 27] = [
    0.0,
    0.499_999_970_197_677_6,
    0.5,
    1.0,
    1.5,
    2.5,
    127.5,
    128.0,
    255.5,
    256.0,
    2049.0,
    32_767.5,
    32_768.0,
    65_504.0,
    65_519.996_093_75,
    65_520.0,
    65_535.5,
    65_536.0,
    16_777_217.0,
    2_147_483_648.0,
    4_294_967_296.0,
    9_223_372_036_854_775_808.0,
    18_446_744_073_709_551_616.0,
    f32::MAX as f64,
    f32::MIN_POSITIVE as f64,
    5.960_464_477_539_063e-8,
    2.980_232_238_769_531_3e-8,
];

impl Random {
    /// The bits of a random element: arbitrary, or likely to reveal errors.
    pub fn element(&mut self, data_type: DataType) -> u64 {
        let sign = 1 << (data_type.bits() - 1);
        match self.below(8) {
            0 => 0,
            1 => u64::MAX,
            // The least signed integer, or a negative zero.
            2 => sign,
            3 => sign - 1,
            4 => self.nan(data_type),
            5 => 0x0102_0304_0102_0304,
            _ => self.bits(),
        }
    }

    /// The bits of a random input element: arbitrary, of ordinary size, or likely to reveal errors, such as
    /// infinities, NaNs and subnormals.
    pub fn input_element(&mut self, data_type: DataType) -> u64 {
        match self.below(4) {
            0 => self.edge(data_type),
            1 => {
                let wide = f64::from_bits(self.bits() >> 12 | 0x3ff << 52) - 1.5;
                nearest(wide * self.pick(&[4.0, 300.0, 70_000.0]), data_type)
            }
            _ => self.bits() >> (64 - data_type.bits()),
        }
    }

    fn edge(&mut self, data_type: DataType) -> u64 {
        let format = Format::of(data_type);
        match (self.below(8), format) {
            (0, Some(_)) => self.nan(data_type),
            (1, Some(format)) => self.bits() & format.sign() | format.infinity(),
            (2, Some(format)) => self.bits() & (format.sign() | format.fraction()),
            (choice, _) => {
                let value = self.pick(&EDGES);
                nearest(if choice % 2 == 0 { value } else { -value }, data_type)
            }
        }
    }

    /// A NaN with a payload, quiet or signalling; for other types, arbitrary bits.
    fn nan(&mut self, data_type: DataType) -> u64 {
        let sign = self.bits() & 1 << (data_type.bits() - 1);
        let (exponent, mantissa) = match data_type {
            DataType::Float16 => (0x7c00, 0x3ff),
            DataType::Float64 => (0x7ff << 52, (1 << 52) - 1),
            _ => (0x7f80_0000, 0x7f_ffff),
        };
        sign | exponent | (self.bits() & mantissa).max(1)
    }

    /// A random number in single precision: arbitrary bits, or a value whose conversion is likely to reveal
    /// errors.
    pub fn float(&mut self) -> f32 {
        let edges = [
            0.0,
            -0.0,
            1.0,
            -0.999_999_94,
            127.5,
            -128.5,
            255.99,
            65_519.996,
            65_520.0,
            -32_768.5,
            2_147_483_648.0,
            -2_147_483_648.0,
            4_294_967_296.0,
            9_223_372_036_854_775_808.0,
            18_446_744_073_709_551_616.0,
            f32::MAX,
            f32::MIN_POSITIVE,
            5.960_464_5e-8,
            f32::INFINITY,
            f32::NEG_INFINITY,
        ];
        match self.below(4) {
            0 => self.pick(&edges),
            1 => {
                let bits = self.nan(DataType::Float32);
                f32::from_bits(u32::try_from(bits).unwrap_or(u32::MAX))
            }
            2 => f32::from_bits(self.word()),
            _ => {
                let wide = f32::from_bits(self.word() >> 9 | 0x3f80_0000) - 1.5;
                wide * self.pick(&[4.0, 300.0, 70_000.0, 1e10, 1e20])
            }
        }
    }
}

/// The bits of the element that is nearest to a number.
fn nearest(value: f64, data_type: DataType) -> u64 {
    encoded(data_type, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_the_payloads_of_nans() {
        let mut random = Random::new("nans");
        let is_nan = |bits: u64| f32::from_bits((bits & 0xffff_ffff) as u32).is_nan();
        assert!((0..100).all(|_| is_nan(random.nan(DataType::Float32))));
        let half = |bits: u64| half::f16::from_bits((bits & 0xffff) as u16).is_nan();
        assert!((0..100).all(|_| half(random.nan(DataType::Float16))));
    }

    #[test]
    fn inputs_have_numbers_of_every_kind() {
        let mut random = Random::new("inputs");
        let types = [DataType::Float16, DataType::Float32, DataType::Float64];
        for data_type in types {
            let format = Format::of(data_type).unwrap();
            let mut found = || random.input_element(data_type);
            let elements: Vec<u64> = (0..4000).map(|_| found()).collect();
            let count =
                |is: &dyn Fn(u64) -> bool| elements.iter().filter(|element| is(**element)).count();
            let magnitude = |bits: u64| bits & !format.sign();
            let kinds = [
                ("zero", count(&|it| it == 0)),
                ("negative zero", count(&|it| it == format.sign())),
                ("infinity", count(&|it| magnitude(it) == format.infinity())),
                ("NaN", count(&|it| magnitude(it) > format.infinity())),
                ("subnormal", count(&|it| (1..=format.fraction()).contains(&magnitude(it)))),
                ("half", count(&|it| magnitude(it) == nearest(2.5, data_type))),
                (
                    "ordinary",
                    count(&|it| {
                        (nearest(0.1, data_type)..nearest(1000.0, data_type))
                            .contains(&magnitude(it))
                    }),
                ),
            ];
            let least = |kind: &str| if kind == "ordinary" { 800 } else { 4 };
            for (kind, count) in kinds {
                assert!(count > least(kind), "{data_type}: {kind}: {count}");
            }
        }
        let bytes: Vec<u64> = (0..4000).map(|_| random.input_element(DataType::Int8)).collect();
        assert!(
            (0..=0xff).all(|byte| bytes.contains(&byte)) && bytes.iter().all(|byte| *byte < 256)
        );
    }
}
