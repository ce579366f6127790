use super::*;

fn layout(sizes: &[u32], strides: Option<&[u32]>) -> Result<TensorLayout, InvalidField> {
    let desc = TensorDesc::packed(DataType::Float32, sizes);
    TensorLayout::new(&match strides {
        Some(strides) => desc.with_strides(strides),
        None => desc,
    })
}

#[track_caller]
fn refused(result: Result<TensorLayout, InvalidField>, message: &str) {
    assert_eq!(result.unwrap_err().to_string(), message);
}

#[test]
fn packed_tensors_have_row_major_strides() {
    let layout = layout(&[2, 3, 4], None).unwrap();
    assert_eq!(layout.strides(), [12, 4, 1]);
    assert_eq!((layout.element_count(), layout.span()), (24, 24));
    assert_eq!((layout.minimum_size(), layout.total_size(), layout.alignment()), (96, 96, 16));
    assert!(layout.is_dense());
}

#[test]
fn strided_tensors_span_from_the_first_to_the_last_element() {
    let layout = layout(&[3, 3], Some(&[5, 1])).unwrap();
    assert_eq!((layout.element_count(), layout.span()), (9, 13));
    assert!(!layout.is_dense());
    assert_eq!(layout.element_offsets().collect::<Vec<_>>(), [0, 1, 2, 5, 6, 7, 10, 11, 12]);
}

#[test]
fn packed_is_row_major_without_gaps() {
    assert!(layout(&[2, 3], None).unwrap().is_packed());
    assert!(layout(&[2, 1, 3], Some(&[3, 77, 1])).unwrap().is_packed());
    assert!(!layout(&[2, 3], Some(&[4, 1])).unwrap().is_packed());
    assert!(!layout(&[2, 3], Some(&[1, 2])).unwrap().is_packed());
}

#[test]
fn byte_counts_are_rounded_up_to_words() {
    let size = |data_type, sizes: &[u32]| {
        TensorLayout::new(&TensorDesc::packed(data_type, sizes)).unwrap().minimum_size()
    };
    assert_eq!(size(DataType::Uint8, &[5]), 8);
    assert_eq!(size(DataType::Float16, &[3]), 8);
    assert_eq!(size(DataType::Uint4, &[9]), 8);
    assert_eq!(size(DataType::Int4, &[8]), 4);
    assert_eq!(size(DataType::Int64, &[1]), 8);
}

#[test]
fn dimension_counts_are_1_to_8() {
    assert!(layout(&[1; 8], None).is_ok());
    refused(layout(&[], None), "DimensionCount: 0 is out of range; accepted: 1 to 8");
    refused(layout(&[1; 9], None), "DimensionCount: 9 is out of range; accepted: 1 to 8");
}

#[test]
fn sizes_of_0_are_refused_with_their_index() {
    refused(
        layout(&[3, 0, 3], None),
        "Sizes[1]: 0 is not a size (tensors cannot be empty); accepted: 1 to 4294967295",
    );
}

#[test]
fn the_largest_tensor_has_2_to_the_32_minus_1_elements() {
    let largest = layout(&[65535, 65537], None).unwrap();
    assert_eq!(largest.element_count(), MAX_ELEMENT_COUNT);
    assert_eq!(largest.total_size(), 17_179_869_180);
    refused(
        layout(&[65536, 65536], None),
        "Sizes: [65536, 65536] has too many elements; accepted: at most 4294967295 elements",
    );
    // A product that passes 2^64 wraps nowhere.
    assert!(layout(&[u32::MAX; 8], None).is_err());
}

#[test]
fn strides_match_sizes_in_number() {
    refused(
        layout(&[3, 3], Some(&[1])),
        "Strides: [1] has 1 entries; accepted: 2 entries, as many as Sizes has",
    );
}

#[test]
fn a_span_beyond_32_bits_is_refused() {
    let strides = [u32::MAX - 1, 1];
    assert_eq!(layout(&[2, 1], Some(&strides)).unwrap().span(), MAX_ELEMENT_COUNT);
    assert!(layout(&[2, 2], Some(&strides)).is_err());
    assert!(layout(&[u32::MAX, 1], Some(&[u32::MAX, 1])).is_err());
    // Strides of dimensions of size 1 are never used.
    assert_eq!(layout(&[1, 3], Some(&[u32::MAX, 1])).unwrap().span(), 3);
}

#[test]
fn stride_0_is_legal_until_the_tensor_is_an_output() {
    let broadcast = layout(&[2, 3], Some(&[0, 1])).unwrap();
    assert_eq!(broadcast.span(), 3);
    assert_eq!(
        broadcast.check_disjoint().unwrap_err().to_string(),
        "Strides: [0, 1] with Sizes [2, 3] let elements of an output share an address; \
         accepted: strides that keep all elements apart, such as [3, 1]"
    );
}

#[test]
fn the_total_size_may_be_larger_but_not_smaller() {
    let desc = TensorDesc::packed(DataType::Uint8, &[5]);
    let total = |bytes| TensorLayout::new(&desc.clone().with_total_size(bytes));
    assert_eq!(total(9).unwrap().total_size(), 9);
    refused(
        total(7),
        "TotalTensorSizeInBytes: 7 is too small for the tensor; accepted: at least 8",
    );
    refused(
        total(u64::MAX),
        "TotalTensorSizeInBytes: 18446744073709551615 is too large; accepted: at least 8",
    );
}

#[test]
fn a_guaranteed_alignment_is_a_power_of_two_and_holds_an_element() {
    let aligned = |data_type, alignment| {
        let mut desc = TensorDesc::packed(data_type, &[4]);
        desc.guaranteed_base_offset_alignment = alignment;
        TensorLayout::new(&desc)
    };
    assert_eq!(aligned(DataType::Float32, 64).unwrap().alignment(), 64);
    assert_eq!(aligned(DataType::Float32, 4).unwrap().alignment(), 16);
    assert_eq!(aligned(DataType::Int8, 0).unwrap().alignment(), 16);
    refused(
        aligned(DataType::Float64, 4),
        "GuaranteedBaseOffsetAlignment: 4 is not a usable alignment; accepted: 0, or a power of two \
         of at least 8, the size of an element",
    );
    assert!(aligned(DataType::Float32, 48).is_err());
}

#[test]
fn unknown_flags_are_refused() {
    let mut desc = TensorDesc::packed(DataType::Int8, &[1]);
    desc.flags = TensorFlags::from_bits(2);
    refused(
        TensorLayout::new(&desc),
        "Flags: 0x2 has unknown bits; accepted: 0 (NONE) or 1 (OWNED_BY_DML)",
    );
}
