//! Rust types that tensors are read as.

use dml_core::DataType;
use half::f16;

mod sealed {
    pub trait Sealed {}
}

/// A Rust type whose values are the elements of one data type.
pub trait Element: Copy + sealed::Sealed {
    /// The data type.
    const DATA_TYPE: DataType;

    /// The element with these bits, given in the low bits.
    fn from_element_bits(bits: u64) -> Self;
}

macro_rules! element {
    ($($type:ty, $data_type:ident, $bits:ty;)*) => {$(
        impl sealed::Sealed for $type {}

        impl Element for $type {
            const DATA_TYPE: DataType = DataType::$data_type;

            #[allow(
                clippy::cast_possible_truncation,
                clippy::allow_attributes,
                reason = "the upper bits are no part of the element"
            )]
            fn from_element_bits(bits: u64) -> Self {
                Self::from_ne_bytes((bits as $bits).to_ne_bytes())
            }
        }
    )*};
}

element! {
    f32, Float32, u32;
    f16, Float16, u16;
    u32, Uint32, u32;
    u16, Uint16, u16;
    u8, Uint8, u8;
    i32, Int32, u32;
    i16, Int16, u16;
    i8, Int8, u8;
    f64, Float64, u64;
    u64, Uint64, u64;
    i64, Int64, u64;
}

/// Splits a tensor's bytes into elements, as bit patterns in row-major logical order.
pub(crate) fn element_bits(layout: &dml_core::TensorLayout, bytes: &[u8]) -> Vec<u64> {
    let size = layout.data_type().bits() as usize / 8;
    let element = |offset: u64| {
        let start = usize::try_from(offset).ok()?.checked_mul(size)?;
        let mut bits = [0; 8];
        bits[..size].copy_from_slice(bytes.get(start..start + size)?);
        Some(u64::from_le_bytes(bits))
    };
    layout.element_offsets().map_while(element).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dml_core::{TensorDesc, TensorLayout};

    #[test]
    fn bits_become_values() {
        assert_eq!(f32::from_element_bits(0x3f80_0000), 1.0);
        assert_eq!(f16::from_element_bits(0x3c00), f16::ONE);
        assert_eq!(i8::from_element_bits(0xff), -1);
        assert_eq!(i64::from_element_bits(u64::MAX), -1);
    }

    #[test]
    fn strided_elements_come_in_logical_order() {
        let desc = TensorDesc::packed(DataType::Uint8, &[2, 2]).with_strides(&[1, 3]);
        let layout = TensorLayout::new(&desc).unwrap();
        assert_eq!(element_bits(&layout, &[10, 11, 12, 13, 14]), [10, 13, 11, 14]);
    }
}
