//! Arithmetic sequences as initial values, which take no host memory until they are written.

use dml_core::DataType;

use crate::convert::{float, from_float};
use crate::element::ElementType;

/// `count` elements, each the sum of the one before and `delta`, in the type's own arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// The type of the elements.
    pub data_type: DataType,
    /// The number of elements.
    pub count: u64,
    /// The bits of the first element.
    pub first: u64,
    /// The bits of the difference between neighbouring elements.
    pub delta: u64,
}

impl Sequence {
    /// Bytes of all elements, without padding.
    pub fn size(&self) -> u64 {
        self.count.saturating_mul(u64::from(self.data_type.bits() / 8))
    }

    /// The bits of all elements, in order.
    pub fn elements(&self) -> impl Iterator<Item = u64> + use<> {
        let Self { data_type, count, first, delta } = *self;
        let mut next = first;
        (0..count).map(move |_| {
            let element = next;
            next = sum(element, delta, data_type);
            element
        })
    }

    /// All elements, as packed little-endian bytes of at most `limit` bytes at a time.
    pub fn chunks(&self, limit: usize) -> impl Iterator<Item = Vec<u8>> + use<> {
        let width = self.data_type.bits() as usize / 8;
        let mut elements = self.elements();
        std::iter::from_fn(move || {
            let chunk: Vec<u8> = elements
                .by_ref()
                .take((limit / width.max(1)).max(1))
                .flat_map(|bits| bits.to_le_bytes().into_iter().take(width))
                .collect();
            (!chunk.is_empty()).then_some(chunk)
        })
    }
}

fn sum(a: u64, b: u64, data_type: DataType) -> u64 {
    let element = ElementType::Dml(data_type);
    if element.is_integer() {
        // Elements wrap around: writing them drops the upper bits.
        return a.wrapping_add(b);
    }
    // Rounding to 64 and then to 32 bits equals rounding once: binary64 has more than twice binary32's digits.
    from_float(float(a, element) + float(b, element), element)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_element_is_the_sum_of_the_one_before_and_the_difference() {
        let sequence = Sequence { data_type: DataType::Int8, count: 3, first: 127, delta: 1 };
        let bytes: Vec<u8> = sequence.chunks(2).flatten().collect();
        assert_eq!(bytes, [127, 128, 129]);
        let delta = u64::from(0.5f32.to_bits());
        let sequence = Sequence { data_type: DataType::Float32, count: 2, first: 0, delta };
        assert_eq!(sequence.elements().collect::<Vec<u64>>(), [0, delta]);
        assert_eq!(sequence.chunks(1).count(), 2);
    }
}
