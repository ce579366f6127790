//! What the inputs of a case hold.

use std::borrow::Cow;

use dml_core::{TensorLayout, Validated};

use super::{Case, Random, Reference};

/// The bytes that the `index`-th input of a case holds: TotalTensorSizeInBytes, rounded up to a
/// multiple of 4. The elements are those that the case gives, otherwise those that the reference draws;
/// everything else is pseudo-random. All of that depends on the case's name and `index` alone.
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
    let mut bytes: Vec<u8> = (0..words).flat_map(|_| random.word().to_le_bytes()).collect();
    let elements: Cow<'_, [u64]> = match case.inputs.get(index) {
        Some(elements) => elements.into(),
        None => {
            let mut random = Random::new(&format!("{name}/elements"));
            reference.input_elements(&mut random, operator, index, layout).into()
        }
    };
    let size = element_size(layout);
    for (start, element) in element_starts(layout).zip(elements.iter()) {
        bytes[start..start + size].copy_from_slice(&element.to_le_bytes()[..size]);
    }
    bytes
}

/// The elements of a tensor in `bytes`, as bit patterns in row-major logical order.
pub fn elements_in(layout: &TensorLayout, bytes: &[u8]) -> Vec<u64> {
    let size = element_size(layout);
    element_starts(layout).map(|start| bits(&bytes[start..start + size])).collect()
}

/// The bits of one element.
pub(super) fn bits(element: &[u8]) -> u64 {
    element.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

fn element_size(layout: &TensorLayout) -> usize {
    layout.data_type().bits() as usize / 8
}

fn element_starts(layout: &TensorLayout) -> impl Iterator<Item = usize> + '_ {
    let size = element_size(layout);
    layout.element_offsets().map(move |offset| usize::try_from(offset).unwrap_or(usize::MAX) * size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::diagonal::cases::band;
    use crate::reference::Signature;
    use dml_core::{AbstractOperator, DataType, Error, FeatureLevel, TensorDesc, validate};

    /// Takes indices below 10 as its input.
    struct OfIndices;

    impl Reference for OfIndices {
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

    /// The bytes of the `index`-th input with this description, drawn by `reference`.
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
        let any = crate::OPERATORS[0].reference();
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
}
