//! The largest errors of results that need not be exact.

use dml_core::DataType;
use dml_core::schema::Comparison;

use super::compare::distance;
use super::guarded::Output;
use super::number::Format;

/// The largest error of an output's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaximumError {
    /// The elements' type, which is a floating-point type.
    pub data_type: DataType,
    /// The allowed error, in units in the last place.
    pub allowed: u32,
    /// The largest distance from the nearest allowed element, in units in the last place; 0 if a subnormal was
    /// flushed. `None` if a distance is undefined: only one is NaN, or a zero has the wrong sign.
    pub ulp: Option<u64>,
}

impl MaximumError {
    /// Includes another distance; an undefined distance makes the maximum undefined.
    pub fn merge(&mut self, ulp: Option<u64>) {
        self.ulp = self.ulp.zip(ulp).map(|(one, other)| one.max(other));
    }
}

impl Output {
    /// The largest error of the elements in the buffer `after` execution; `None` if elements must be exact, as
    /// integers are, or if the buffer ends before an element.
    pub(super) fn maximum_error(&self, after: &[u8]) -> Option<MaximumError> {
        let Comparison::Ulp(allowed) = self.comparison else { return None };
        let data_type = self.layout.data_type();
        Format::of(data_type)?;
        let mut error = MaximumError { data_type, allowed, ulp: Some(0) };
        for (index, place) in self.layout.element_offsets().enumerate() {
            let found = self.element(after, place)?;
            let distances =
                self.nearest(index, found).filter_map(|it| distance(data_type, it, found));
            // The distances of 64-bit floats fit 64 bits: the infinities are 2 * 0x7ff0 << 48 apart.
            let nearest = distances.min().and_then(|it| u64::try_from(it).ok());
            error.merge(nearest);
        }
        Some(error)
    }
}

#[cfg(test)]
mod tests {
    use dml_core::{TensorDesc, TensorLayout};

    use super::super::Tensor;
    use super::*;

    /// The maximum error of FLOAT32 elements that must be `expected`, with 5 ULP allowed.
    fn maximum_error(expected: &[u64], found: &[u32], flushed: Option<Vec<u64>>) -> Option<u64> {
        let count = u32::try_from(found.len()).unwrap();
        let layout = TensorLayout::new(&TensorDesc::packed(DataType::Float32, &[count])).unwrap();
        let tensor = Tensor::unwritten(0, u64::from(count) * 4);
        let comparison = Comparison::Ulp(5);
        let exact = Output::exact(tensor, layout, expected.to_vec());
        let output = Output { flushed, comparison, ..exact };
        let mut after = output.tensor.before.clone();
        for (bytes, found) in after[256..].chunks_mut(4).zip(found) {
            bytes.copy_from_slice(&found.to_le_bytes());
        }
        let error = output.maximum_error(&after).unwrap();
        assert_eq!((error.data_type, error.allowed), (DataType::Float32, 5));
        error.ulp
    }

    #[test]
    fn the_maximum_error_is_that_to_the_nearest_element_that_is_allowed() {
        let (one, nan) = (1.0_f32.to_bits(), 0x7fc0_0000_u32);
        let ones = [one.into(); 3];
        assert_eq!(maximum_error(&ones, &[one, one + 2, one - 1], None), Some(2));
        assert_eq!(
            maximum_error(&ones, &[one + 9, one + 2, one], None),
            Some(9),
            "beyond the bound"
        );
        assert_eq!(maximum_error(&[nan.into(), 7 << 24], &[0xff80_0001, 7 << 24], None), Some(0));
        assert_eq!(maximum_error(&[0x8000_0009], &[1 << 31], None), Some(0), "flushed");
        let other = Some(vec![u64::from(one) + 8]);
        assert_eq!(maximum_error(&[one.into()], &[one + 5], other), Some(3));
        assert_eq!(maximum_error(&[one.into(), one.into()], &[nan, one + 1], None), None);
        assert_eq!(maximum_error(&[0], &[1 << 31], None), None, "the other zero");
    }

    #[test]
    fn elements_that_must_have_every_bit_have_no_maximum_error() {
        for (data_type, comparison) in
            [(DataType::Int32, Comparison::Ulp(1)), (DataType::Float32, Comparison::BitExact)]
        {
            let layout = TensorLayout::new(&TensorDesc::packed(data_type, &[1])).unwrap();
            let output = Output::exact(Tensor::unwritten(0, 4), layout, vec![0]);
            let output = Output { comparison, ..output };
            assert_eq!(output.maximum_error(&output.tensor.before), None, "{data_type}");
        }
    }
}
