//! A scalar whose type another field of the descriptor states.

use half::f16;

use super::DataType;

/// DML_SCALAR_UNION: 8 bytes. The scalar is in the first bytes; the others are 0.
///
/// A FLOAT16 scalar is the half's bit pattern, as DirectML's own tools write it; the union has no
/// member for it. The bytes are little-endian, as on every machine that DirectML runs on.
///
/// ```
/// use dml_core::ScalarUnion;
///
/// assert_eq!(ScalarUnion::from(-2i8).to_bits(), 0xfe);
/// assert_eq!(ScalarUnion::from(1.0f32).to_bits(), 0x3f80_0000);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ScalarUnion([u8; 8]);

impl ScalarUnion {
    /// The union with these bytes.
    pub const fn from_bytes(bytes: [u8; 8]) -> Self {
        Self(bytes)
    }

    /// The bytes, in the order of DirectML's member `Bytes`.
    pub const fn to_bytes(self) -> [u8; 8] {
        self.0
    }

    /// The union with a scalar's bits in the low bits of `bits`.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits.to_le_bytes())
    }

    /// All 64 bits, with the scalar's in the low ones.
    pub const fn to_bits(self) -> u64 {
        u64::from_le_bytes(self.0)
    }

    /// The bits of an element of `data_type`, with zeros above. Further bits of the union are ignored.
    pub const fn element_bits(self, data_type: DataType) -> u64 {
        self.to_bits() & (u64::MAX >> (64 - data_type.bits()))
    }
}

macro_rules! from_scalar {
    ($($scalar:ty),*) => {$(
        impl From<$scalar> for ScalarUnion {
            fn from(scalar: $scalar) -> Self {
                let mut bytes = [0; 8];
                let scalar = scalar.to_le_bytes();
                bytes[..scalar.len()].copy_from_slice(&scalar);
                Self(bytes)
            }
        }
    )*};
}

from_scalar!(u8, u16, u32, u64, i8, i16, i32, i64, f16, f32, f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scalar_takes_the_first_bytes_and_the_rest_is_zero() {
        assert_eq!(ScalarUnion::from(-1i16).to_bytes(), [0xff, 0xff, 0, 0, 0, 0, 0, 0]);
        assert_eq!(ScalarUnion::from(0x0102_0304u32).to_bytes(), [4, 3, 2, 1, 0, 0, 0, 0]);
        assert_eq!(ScalarUnion::from(i64::MIN).to_bits(), 1 << 63);
        assert_eq!(ScalarUnion::from(u64::MAX).to_bits(), u64::MAX);
    }

    #[test]
    fn floats_keep_their_bits() {
        assert_eq!(ScalarUnion::from(f16::from_f32(1.0)).to_bits(), 0x3c00);
        assert_eq!(ScalarUnion::from(-0.0f32).to_bits(), 0x8000_0000);
        assert_eq!(ScalarUnion::from(-0.0f64).to_bits(), 1 << 63);
        let nan = f32::from_bits(0x7fa0_0001);
        assert_eq!(ScalarUnion::from(nan).to_bits(), 0x7fa0_0001);
    }

    #[test]
    fn bits_and_bytes_round_trip() {
        let scalar = ScalarUnion::from_bits(0x0807_0605_0403_0201);
        assert_eq!(scalar.to_bytes(), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(ScalarUnion::from_bytes(scalar.to_bytes()), scalar);
    }
}
