//! Benchmarks of matrices with a value in a band of diagonals, and their expected bytes.

use dml::{
    AbstractOperator, DataType, DiagonalMatrix1Desc, DiagonalMatrixDesc, ScalarUnion, TensorDesc,
};

/// Buffers are filled with this byte before an operator writes them: padding must keep it.
pub(crate) const SENTINEL: u8 = 0xA5;

/// Matrices with a value in a band of diagonals, on zeros or on an input.
#[derive(Clone, Debug)]
pub(crate) struct Band {
    /// The data type: of 8, 16, 32 or 64 bits.
    pub(crate) data_type: DataType,
    /// 2 to 4 sizes.
    pub(crate) sizes: Vec<u32>,
    /// Elements from one row to the next; packed if `None`. For two dimensions only.
    pub(crate) row_pitch: Option<u32>,
    /// Whether an input surrounds the band, not zeros.
    pub(crate) has_input: bool,
    /// The first diagonal of the band.
    pub(crate) begin: i32,
    /// The first diagonal above the band.
    pub(crate) end: i32,
    /// The value in the band.
    pub(crate) value: Value,
}

/// A value that every data type can represent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// All bits zero.
    Zero,
    /// The number one.
    One,
}

impl Band {
    /// Packed matrices with ones on the main diagonal.
    pub(crate) fn eye(data_type: DataType, sizes: &[u32]) -> Self {
        Self {
            data_type,
            sizes: sizes.to_vec(),
            row_pitch: None,
            has_input: false,
            begin: 0,
            end: 1,
            value: Value::One,
        }
    }

    /// These matrices with rows that are `pitch` elements apart.
    pub(crate) fn with_row_pitch(self, pitch: u32) -> Self {
        Self { row_pitch: Some(pitch), ..self }
    }

    /// These matrices with ones on another diagonal.
    pub(crate) fn with_offset(self, offset: i32) -> Self {
        Self { begin: offset, end: offset + 1, ..self }
    }

    /// An input, with ones on its main diagonal.
    pub(crate) fn with_input(self) -> Self {
        Self { has_input: true, ..self }
    }

    /// An input whose elements below the main diagonal become zero: ONNX's Trilu, upper.
    pub(crate) fn trilu_upper(self) -> Self {
        Self { has_input: true, begin: i32::MIN, end: 0, value: Value::Zero, ..self }
    }

    /// An input whose elements above the main diagonal become zero: ONNX's Trilu, lower.
    pub(crate) fn trilu_lower(self) -> Self {
        Self { has_input: true, begin: 1, end: i32::MAX, value: Value::Zero, ..self }
    }

    /// The DirectML operator.
    pub(crate) fn operator(&self) -> AbstractOperator {
        if !self.has_input {
            let output_tensor = self.output();
            return DiagonalMatrixDesc { output_tensor, offset: self.begin, value: 1.0 }.into();
        }
        DiagonalMatrix1Desc {
            input_tensor: Some(TensorDesc::packed(self.data_type, &self.sizes)),
            output_tensor: self.output(),
            value_data_type: self.data_type,
            value: ScalarUnion::from_bits(self.value_bits()),
            diagonal_fill_begin: self.begin,
            diagonal_fill_end: self.end,
        }
        .into()
    }

    fn output(&self) -> TensorDesc {
        let packed = TensorDesc::packed(self.data_type, &self.sizes);
        match self.row_pitch {
            Some(pitch) => packed.with_strides(&[pitch, 1]),
            None => packed,
        }
    }

    fn value_bits(&self) -> u64 {
        match (self.value, self.data_type) {
            (Value::Zero, _) => 0,
            (Value::One, DataType::Float16) => 0x3C00,
            (Value::One, DataType::Float32) => 1.0f32.to_bits().into(),
            (Value::One, DataType::Float64) => 1.0f64.to_bits(),
            (Value::One, _) => 1,
        }
    }

    /// Bytes of one element.
    pub(crate) fn element(&self) -> usize {
        self.data_type.bits() as usize / 8
    }

    fn size(&self, from_last: usize) -> usize {
        self.sizes[self.sizes.len() - from_last] as usize
    }

    /// Bytes of all elements without padding, rounded up to a word: the number that a baseline writes.
    pub(crate) fn bytes(&self) -> u64 {
        (self.elements() * self.element() as u64).next_multiple_of(4)
    }

    fn elements(&self) -> u64 {
        self.sizes.iter().map(|size| u64::from(*size)).product()
    }

    /// The input's bytes: each word differs from its neighbours.
    pub(crate) fn input_bytes(&self) -> Vec<u8> {
        let words = usize::try_from(self.bytes() / 4).expect("a benchmark's tensor fits the host");
        (0..words)
            .zip(0u32..)
            .flat_map(|(_, index)| (index.wrapping_mul(0x9E37_79B9) | 1).to_le_bytes())
            .collect()
    }

    /// The bytes of an output buffer of `size` bytes after an execution, up to the last element.
    pub(crate) fn expected(&self, size: u64) -> Vec<u8> {
        let size = usize::try_from(size).expect("a benchmark's buffer fits the host");
        let (element, width, height) = (self.element(), self.size(1), self.size(2));
        let row = width * element;
        let pitch = self.row_pitch.map_or(row, |pitch| pitch as usize * element);
        let rows = usize::try_from(self.elements()).expect("as above") / width;
        let input = if self.has_input { self.input_bytes() } else { Vec::new() };
        let mut bytes = vec![SENTINEL; size];
        for index in 0..rows {
            let at = index * pitch;
            let target = &mut bytes[at..at + row];
            if self.has_input {
                target.copy_from_slice(&input[index * row..(index + 1) * row]);
            } else {
                target.fill(0);
            }
            self.write_band(target, index % height);
        }
        // The bytes after the last element, up to a whole word, may become zeros or stay as they are.
        bytes.truncate((rows - 1) * pitch + row);
        bytes
    }

    /// Writes the value to the columns `x` of row `y` with `begin <= x - y < end`.
    fn write_band(&self, row: &mut [u8], y: usize) {
        let value = self.value_bits().to_le_bytes();
        let width = row.len() / self.element();
        let column = |diagonal: i32| {
            let column = i64::try_from(y).unwrap_or(i64::MAX).saturating_add(diagonal.into());
            usize::try_from(column).unwrap_or(0).min(width)
        };
        for x in column(self.begin)..column(self.end) {
            let at = x * self.element();
            row[at..at + self.element()].copy_from_slice(&value[..self.element()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expected_bytes_are_those_of_the_definition() {
        let eye = Band::eye(DataType::Uint8, &[2, 2, 3]);
        assert_eq!(eye.expected(12), [1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0]);
        let rounded = Band::eye(DataType::Uint8, &[3, 3]);
        assert_eq!(rounded.expected(12), [1, 0, 0, 0, 1, 0, 0, 0, 1]);
        let strided = Band::eye(DataType::Uint8, &[2, 2]).with_row_pitch(3);
        assert_eq!(strided.expected(8), [1, 0, SENTINEL, 0, 1]);
    }

    #[test]
    fn trilu_keeps_one_triangle_of_the_input() {
        let work = Band::eye(DataType::Float32, &[2, 2]);
        let words = |bytes: Vec<u8>| -> Vec<u32> {
            bytes.chunks(4).map(|it| u32::from_le_bytes([it[0], it[1], it[2], it[3]])).collect()
        };
        let input = words(work.input_bytes());
        assert_eq!(
            words(work.clone().trilu_upper().expected(16)),
            [input[0], input[1], 0, input[3]]
        );
        assert_eq!(
            words(work.clone().trilu_lower().expected(16)),
            [input[0], 0, input[2], input[3]]
        );
        let one = 1.0f32.to_bits();
        assert_eq!(words(work.with_input().expected(16)), [one, input[1], input[2], one]);
    }
}
