//! What the inputs of a case hold.

use dml_core::TensorLayout;

use super::{Case, Random};

/// The bytes that the `index`-th input of a case holds: TotalTensorSizeInBytes, rounded up to a
/// multiple of 4. The elements are those that the case gives; everything else, padding included, is
/// pseudo-random, and depends on the case's name and `index` alone.
pub fn input_bytes(case: &Case, index: usize, layout: &TensorLayout) -> Vec<u8> {
    let mut random = Random::new(&format!("{}/{index}", case.name));
    let words = usize::try_from(layout.total_size().div_ceil(4)).unwrap_or(usize::MAX);
    let mut bytes: Vec<u8> = (0..words).flat_map(|_| random.word().to_le_bytes()).collect();
    if let Some(elements) = case.inputs.get(index) {
        let size = element_size(layout);
        for (start, element) in element_starts(layout).zip(elements) {
            bytes[start..start + size].copy_from_slice(&element.to_le_bytes()[..size]);
        }
    }
    bytes
}

/// The elements of a tensor in `bytes`, as bit patterns in row-major logical order.
pub fn elements_in(layout: &TensorLayout, bytes: &[u8]) -> Vec<u64> {
    let size = element_size(layout);
    let element = |start: usize| {
        bytes[start..start + size].iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
    };
    element_starts(layout).map(element).collect()
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
    use dml_core::{DataType, TensorDesc};

    fn case(name: &'static str, tensor: &TensorDesc) -> Case {
        Case::new(name, crate::families::fill::cases::desc(tensor.clone(), 0))
    }

    #[test]
    fn bytes_depend_on_the_name_and_the_index_alone() {
        let desc = TensorDesc::packed(DataType::Uint8, &[5]).with_total_size(9);
        let layout = TensorLayout::new(&desc).unwrap();
        let bytes = |name, index| input_bytes(&case(name, &desc), index, &layout);
        assert_eq!(bytes("a", 0).len(), 12);
        assert_eq!(bytes("a", 0), bytes("a", 0));
        assert_ne!(bytes("a", 0), bytes("a", 1));
        assert_ne!(bytes("a", 0), bytes("b", 0));
    }

    #[test]
    fn given_elements_lie_where_the_layout_puts_them() {
        let desc = TensorDesc::packed(DataType::Int16, &[2, 2]).with_strides(&[1, 3]);
        let layout = TensorLayout::new(&desc).unwrap();
        let case = case("a", &desc).with_inputs(vec![vec![0x0102, 3, 4, 0xffff]]);
        let bytes = input_bytes(&case, 0, &layout);
        assert_eq!((&bytes[..4], &bytes[6..10]), (&[2, 1, 4, 0][..], &[3, 0, 0xff, 0xff][..]));
        assert_eq!(elements_in(&layout, &bytes), case.inputs[0]);
    }

    #[test]
    fn elements_that_share_an_address_are_equal() {
        let desc = TensorDesc::packed(DataType::Uint32, &[3, 2]).with_strides(&[0, 1]);
        let layout = TensorLayout::new(&desc).unwrap();
        let elements = elements_in(&layout, &input_bytes(&case("a", &desc), 0, &layout));
        assert_eq!(elements[..2], elements[4..]);
        assert_ne!(elements[0], elements[1]);
    }
}
