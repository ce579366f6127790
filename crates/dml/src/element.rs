//! Rust types of tensor elements.

use dml_core::{DataType, TensorLayout};
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

    /// The bits of the element, in the low bits.
    fn element_bits(self) -> u64;
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

            fn element_bits(self) -> u64 {
                <$bits>::from_ne_bytes(self.to_ne_bytes()).into()
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

/// Splits a tensor's bytes into elements, in row-major logical order.
pub(crate) fn elements_into<T: Element>(layout: &TensorLayout, bytes: &[u8], into: &mut [T]) {
    let size = width(layout);
    for (source, element) in sources(layout, bytes).zip(into) {
        let mut bits = [0; 8];
        bits[..size].copy_from_slice(source);
        *element = T::from_element_bits(u64::from_le_bytes(bits));
    }
}

/// Writes elements, given in row-major logical order, to their positions in a tensor's `bytes`.
pub(crate) fn spread<T: Element>(
    layout: &TensorLayout,
    elements: &[T],
    mut bytes: Vec<u8>,
) -> Vec<u8> {
    let size = width(layout);
    for (offset, element) in layout.element_offsets().zip(elements) {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).saturating_mul(size);
        let place = bytes.get_mut(start..start.saturating_add(size));
        if let Some(place) = place {
            place.copy_from_slice(&element.element_bits().to_le_bytes()[..size]);
        }
    }
    bytes
}

/// The elements of a tensor's bytes as packed bytes, in row-major logical order; `None` if memory ran out.
pub(crate) fn pack(layout: &TensorLayout, bytes: Vec<u8>) -> Option<Vec<u8>> {
    if layout.is_packed() {
        return Some(bytes);
    }
    let mut packed = Vec::new();
    let count = usize::try_from(layout.element_count()).ok()?;
    packed.try_reserve_exact(count.checked_mul(width(layout))?).ok()?;
    sources(layout, &bytes).for_each(|source| packed.extend_from_slice(source));
    Some(packed)
}

/// The size of an element in bytes. Callers refuse types of less than 8 bits.
fn width(layout: &TensorLayout) -> usize {
    layout.data_type().bits() as usize / 8
}

fn sources<'a>(layout: &'a TensorLayout, bytes: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let size = width(layout);
    let source = move |offset: u64| {
        let start = usize::try_from(offset).ok()?.checked_mul(size)?;
        bytes.get(start..start.checked_add(size)?)
    };
    layout.element_offsets().map_while(source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dml_core::TensorDesc;

    #[test]
    fn bits_become_values() {
        assert_eq!(f32::from_element_bits(0x3f80_0000), 1.0);
        assert_eq!(f16::from_element_bits(0x3c00), f16::ONE);
        assert_eq!(i8::from_element_bits(0xff), -1);
        assert_eq!(i64::from_element_bits(u64::MAX), -1);
        assert_eq!((-1_i8).element_bits(), 0xff);
        assert_eq!(1.0_f32.element_bits(), 0x3f80_0000);
    }

    #[test]
    fn strided_elements_come_in_logical_order() {
        let desc = TensorDesc::packed(DataType::Uint8, &[2, 2]).with_strides(&[1, 3]);
        let layout = TensorLayout::new(&desc).unwrap();
        let bytes = vec![10, 11, 12, 13, 14];
        let mut elements = [0_u8; 4];
        elements_into(&layout, &bytes, &mut elements);
        assert_eq!(elements, [10, 13, 11, 14]);
        assert_eq!(pack(&layout, bytes), Some(vec![10, 13, 11, 14]));
        assert_eq!(spread(&layout, &elements, vec![0, 0, 7, 0, 0]), [10, 11, 7, 13, 14]);
    }

    #[test]
    fn packed_tensors_are_handed_on() {
        let layout = TensorLayout::new(&TensorDesc::packed(DataType::Int16, &[2])).unwrap();
        let mut elements = [0_i16; 2];
        elements_into(&layout, &[1, 0, 255, 255], &mut elements);
        assert_eq!(elements, [1, -1]);
        assert_eq!(spread(&layout, &elements, vec![9; 4]), [1, 0, 255, 255]);
        assert_eq!(pack(&layout, vec![1, 0, 255, 255]), Some(vec![1, 0, 255, 255]));
    }
}
