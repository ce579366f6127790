//! The contents of a case's inputs.

use std::borrow::Cow;
use std::ops::Range;

use dml_core::{DataType, TensorLayout, Validated};

use super::{Case, Random, Reference};

/// The bytes of the `index`-th input of a case: TotalTensorSizeInBytes, rounded up to a multiple of 4. The
/// elements are those that the case gives, otherwise those that the reference draws; padding is pseudo-random.
/// The bytes depend only on the case's name and `index`.
pub(super) fn input_bytes(
    reference: &dyn Reference,
    operator: &Validated,
    case: &Case,
    index: usize,
    layout: &TensorLayout,
) -> Vec<u8> {
    let name = format!("{}/{index}", case.name);
    let mut random = Random::new(&name);
    let words = usize::try_from(layout.total_size().div_ceil(4)).unwrap_or(usize::MAX);
    let words: Vec<[u8; 4]> = (0..words).map(|_| random.word().to_le_bytes()).collect();
    let mut bytes = words.into_flattened();
    let elements: Cow<'_, [u64]> = match case.inputs.get(index) {
        Some(elements) => elements.into(),
        None => {
            let mut random = Random::new(&format!("{name}/elements"));
            reference.input_elements(&mut random, operator, index, layout).into()
        }
    };
    for (place, element) in layout.element_offsets().zip(elements.iter()) {
        set_element(layout.data_type(), &mut bytes, place, *element);
    }
    bytes
}

/// The elements of a tensor in `bytes`, as bit patterns in row-major logical order; elements beyond the end of
/// `bytes` are zeros.
pub fn elements_in(layout: &TensorLayout, bytes: &[u8]) -> Vec<u64> {
    let element = |place| element(layout.data_type(), bytes, place).unwrap_or_default();
    layout.element_offsets().map(element).collect()
}

/// The bits of the element `place` elements into `tensor`; `None` beyond its end. Of two 4-bit elements in a
/// byte, the first is the low half.
pub fn element(data_type: DataType, tensor: &[u8], place: u64) -> Option<u64> {
    let (bytes, shift) = bytes_of(data_type, place);
    let bits = tensor.get(bytes)?.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
    Some(bits >> shift & mask(data_type))
}

/// Sets the bits of that element; the other half of a byte is unchanged.
///
/// # Panics
/// The element is beyond the end of `tensor`.
pub(super) fn set_element(data_type: DataType, tensor: &mut [u8], place: u64, bits: u64) {
    let (bytes, shift) = bytes_of(data_type, place);
    let masks = (mask(data_type) << shift).to_le_bytes();
    let new = (bits << shift).to_le_bytes();
    for (byte, (mask, new)) in tensor[bytes].iter_mut().zip(masks.into_iter().zip(new)) {
        *byte = *byte & !mask | new & mask;
    }
}

/// A mask of the bits of an element.
pub(super) fn mask(data_type: DataType) -> u64 {
    u64::MAX >> (64 - data_type.bits())
}

/// The bytes of a tensor that contain an element, and the element's first bit in them.
fn bytes_of(data_type: DataType, place: u64) -> (Range<usize>, u64) {
    let width = u64::from(data_type.bits());
    let start = usize::try_from(place * width / 8).unwrap_or(usize::MAX);
    let end = start.saturating_add(data_type.bits().div_ceil(8) as usize);
    (start..end, place * width % 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signature;
    use crate::families::diagonal::cases::band;
    use dml_core::operators::DIAGONAL_MATRIX1;
    use dml_core::schema::OperatorSchema;
    use dml_core::{AbstractOperator, DataType, Error, FeatureLevel, TensorDesc, validate};

    /// A reference whose input takes indices below 10.
    struct OfIndices;

    impl Reference for OfIndices {
        fn schema(&self) -> &'static OperatorSchema {
            &DIAGONAL_MATRIX1
        }

        fn outputs(
            &self,
            _operator: &Validated,
            _inputs: &[Option<Vec<u64>>],
        ) -> Result<Vec<Vec<u64>>, Error> {
            Ok(vec![])
        }

        fn minimal(&self, signature: &Signature) -> AbstractOperator {
            let tensor = TensorDesc::packed(signature.data_type(), &vec![1; signature.rank]);
            band(Some(tensor.clone()), tensor, 0, (0, 1)).into()
        }

        fn cases(&self, _signature: &Signature) -> Vec<Case> {
            vec![]
        }

        fn random(&self, _random: &mut Random, signature: &Signature) -> Case {
            Case::new("random", self.minimal(signature))
        }

        fn input_elements(
            &self,
            random: &mut Random,
            _operator: &Validated,
            _index: usize,
            layout: &TensorLayout,
        ) -> Vec<u64> {
            (0..layout.element_count()).map(|_| random.below(10).into()).collect()
        }
    }

    /// The bytes of the `index`-th input with this descriptor, drawn by `reference`.
    fn drawn(
        reference: &dyn Reference,
        name: &'static str,
        index: usize,
        desc: &TensorDesc,
        inputs: Vec<Vec<u64>>,
    ) -> Vec<u8> {
        let minimal = OfIndices.minimal(&Signature::of(DataType::Int8, 4));
        let operator = validate(&minimal, FeatureLevel::HIGHEST).unwrap();
        let case = Case::new(name, minimal).with_inputs(inputs);
        let layout = TensorLayout::new(desc).unwrap();
        input_bytes(reference, &operator, &case, index, &layout)
    }

    fn bytes(name: &'static str, index: usize, desc: &TensorDesc) -> Vec<u8> {
        let any = crate::REFERENCES[0];
        drawn(any, name, index, desc, vec![])
    }

    #[test]
    fn bytes_depend_on_the_name_and_the_index_alone() {
        let desc = TensorDesc::packed(DataType::Uint8, &[5]).with_total_size(9);
        let bytes = |name, index| bytes(name, index, &desc);
        assert_eq!(bytes("a", 0).len(), 12);
        assert_eq!(bytes("a", 0), bytes("a", 0));
        for part in [0..5, 5..12] {
            assert_ne!(bytes("a", 0)[part.clone()], bytes("a", 1)[part.clone()]);
            assert_ne!(bytes("a", 0)[part.clone()], bytes("b", 0)[part]);
        }
    }

    #[test]
    fn given_elements_lie_where_the_layout_puts_them() {
        let desc = TensorDesc::packed(DataType::Int16, &[2, 2]).with_strides(&[1, 3]);
        let elements = vec![0x0102, 3, 4, 0xffff];
        let bytes = drawn(&OfIndices, "a", 0, &desc, vec![elements.clone()]);
        assert_eq!((&bytes[..4], &bytes[6..10]), (&[2, 1, 4, 0][..], &[3, 0, 0xff, 0xff][..]));
        assert_eq!(elements_in(&TensorLayout::new(&desc).unwrap(), &bytes), elements);
    }

    #[test]
    fn elements_that_share_an_address_are_equal() {
        let desc = TensorDesc::packed(DataType::Uint32, &[3, 2]).with_strides(&[0, 1]);
        let elements = elements_in(&TensorLayout::new(&desc).unwrap(), &bytes("a", 0, &desc));
        assert_eq!(elements[..2], elements[4..]);
        assert_ne!(elements[0], elements[1]);
    }

    #[test]
    fn elements_are_those_that_the_operator_takes_and_padding_is_anything() {
        let desc = TensorDesc::packed(DataType::Uint32, &[40]).with_strides(&[2]);
        let bytes = drawn(&OfIndices, "a", 0, &desc, vec![]);
        let elements = elements_in(&TensorLayout::new(&desc).unwrap(), &bytes);
        assert!(elements.iter().all(|element| *element < 10), "{elements:?}");
        assert!((0..10).all(|index| elements.contains(&index)), "{elements:?}");
        let padding = bytes.chunks(4).skip(1).step_by(2);
        assert!(padding.filter(|word| word[3] != 0).count() > 30);
    }

    #[test]
    fn two_elements_of_4_bits_share_a_byte_the_first_in_the_low_half() {
        for data_type in [DataType::Uint4, DataType::Int4] {
            let desc = TensorDesc::packed(data_type, &[3]);
            let layout = TensorLayout::new(&desc).unwrap();
            assert_eq!(elements_in(&layout, &[0x21, 0xf3, 0xff, 0xff]), [1, 2, 3]);
            let other = drawn(&OfIndices, "a", 0, &desc, vec![vec![]]);
            let bytes = drawn(&OfIndices, "a", 0, &desc, vec![vec![0xa, 0x3b, 0xc]]);
            assert_eq!((bytes.len(), bytes[0], bytes[1] & 0xf), (4, 0xba, 0xc));
            assert_eq!((bytes[1] >> 4, &bytes[2..]), (other[1] >> 4, &other[2..]), "padding");
            let strided = TensorLayout::new(&desc.with_strides(&[3])).unwrap();
            assert_eq!(elements_in(&strided, &[0x41, 0x23, 0x98, 0xd6]), [1, 2, 6]);
            assert_eq!(element(data_type, &[0x21], 2), None);
        }
    }
}
