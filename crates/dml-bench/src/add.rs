//! Sums of 2 tensors, and the bytes that they must leave.

use dml::core::operators::ElementWiseAddDesc;
use dml::{AbstractOperator, DataType, TensorDesc, f16};

/// ELEMENT_WISE_ADD of small whole numbers: their sums are exact in every type that is measured.
#[derive(Clone, Debug)]
pub(crate) struct Add {
    /// FLOAT32, FLOAT16 or INT8.
    pub(crate) data_type: DataType,
    /// Of the first operand and the output.
    pub(crate) sizes: Vec<u32>,
    /// The second operand has one element for each index of dimension 1; else as many as the first.
    pub(crate) per_channel: bool,
}

/// Values are from -30 to 30.
const VALUES: u64 = 61;

impl Add {
    /// Of two packed tensors.
    pub(crate) fn packed(data_type: DataType, sizes: &[u32]) -> Self {
        Self { data_type, sizes: sizes.to_vec(), per_channel: false }
    }

    /// Of a packed tensor of 4 dimensions, and a broadcast one that has an element for each channel.
    pub(crate) fn per_channel(data_type: DataType, sizes: &[u32; 4]) -> Self {
        Self { data_type, sizes: sizes.to_vec(), per_channel: true }
    }

    /// As an operator of DirectML.
    pub(crate) fn operator(&self) -> AbstractOperator {
        let packed = TensorDesc::packed(self.data_type, &self.sizes);
        let broadcast = || packed.clone().with_strides(&[0, 1, 0, 0]);
        ElementWiseAddDesc {
            a_tensor: packed.clone(),
            b_tensor: if self.per_channel { broadcast() } else { packed.clone() },
            output_tensor: packed,
        }
        .into()
    }

    /// Bytes of the output, up to a whole word.
    pub(crate) fn bytes(&self) -> u64 {
        (self.elements() * u64::from(self.data_type.bits()) / 8).next_multiple_of(4)
    }

    fn elements(&self) -> u64 {
        self.sizes.iter().map(|size| u64::from(*size)).product()
    }

    /// The bytes of both operands.
    pub(crate) fn inputs(&self) -> Vec<Vec<u8>> {
        let count = self.elements();
        let b_count = if self.per_channel { self.sizes[1].into() } else { count };
        vec![self.encode((0..count).map(a_value)), self.encode((0..b_count).map(b_value))]
    }

    /// The bytes of the output up to its last element.
    pub(crate) fn expected(&self) -> Vec<u8> {
        let plane: u64 = self.sizes.iter().skip(2).map(|size| u64::from(*size)).product();
        let b = |index: u64| {
            let channel = || index / plane % u64::from(self.sizes[1]);
            b_value(if self.per_channel { channel() } else { index })
        };
        self.encode((0..self.elements()).map(|index| a_value(index) + b(index)))
    }

    /// Whole numbers of the data type.
    fn encode(&self, values: impl Iterator<Item = i8>) -> Vec<u8> {
        let size = self.data_type.bits() as usize / 8;
        let bits = |value: i8| match self.data_type {
            DataType::Float32 => f32::from(value).to_bits().to_le_bytes(),
            DataType::Float16 => u32::from(f16::from(value).to_bits()).to_le_bytes(),
            _ => u32::from(value.cast_unsigned()).to_le_bytes(),
        };
        values.flat_map(|value| bits(value).into_iter().take(size)).collect()
    }
}

fn a_value(index: u64) -> i8 {
    value(index, 0x9E37_79B9)
}

fn b_value(index: u64) -> i8 {
    value(index, 0x85EB_CA6B)
}

/// Neighbours differ, and so do rows.
fn value(index: u64, factor: u64) -> i8 {
    let mixed = index.wrapping_mul(factor) >> 16;
    i8::try_from(mixed % VALUES).expect("at most 60") - 30
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(bytes: &[u8]) -> Vec<f32> {
        bytes.chunks(4).map(|it| f32::from_le_bytes([it[0], it[1], it[2], it[3]])).collect()
    }

    #[test]
    fn the_expected_sums_are_those_of_the_operands() {
        let work = Add::packed(DataType::Float32, &[3, 5]);
        let [a, b] = [&work.inputs()[0], &work.inputs()[1]].map(|bytes| floats(bytes));
        let sums: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
        assert_eq!(floats(&work.expected()), sums);
        assert!(sums.iter().any(|sum| *sum != sums[0]));
    }

    #[test]
    fn a_channel_has_one_summand() {
        let work = Add::per_channel(DataType::Float32, &[2, 3, 2, 1]);
        let [a, b] = [&work.inputs()[0], &work.inputs()[1]].map(|bytes| floats(bytes));
        assert_eq!((a.len(), b.len()), (12, 3));
        let summands = [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2].map(|channel: usize| b[channel]);
        let sums: Vec<f32> = a.iter().zip(summands).map(|(a, b)| a + b).collect();
        assert_eq!(floats(&work.expected()), sums);
    }

    #[test]
    fn numbers_are_encoded_in_each_type() {
        let encode = |data_type| Add::packed(data_type, &[1]).encode([-1, 60].into_iter());
        assert_eq!(encode(DataType::Int8), [0xFF, 60]);
        assert_eq!(encode(DataType::Float16), [0x00, 0xBC, 0x80, 0x53]);
        assert_eq!(encode(DataType::Float32), [0, 0, 0x80, 0xBF, 0, 0, 0x70, 0x42]);
    }
}
