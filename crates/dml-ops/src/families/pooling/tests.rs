//! Which plans come out for which windows.

use dml_core::operators::{AveragePoolingDesc, MaxPooling1Desc};
use dml_core::plan::Plan;
use dml_core::{DataType, TensorDesc, Tuning};

use crate::TransferUse;
use crate::tests::lower_with;

fn tensor(sizes: [u32; 4]) -> TensorDesc {
    TensorDesc::packed(DataType::Float32, &sizes)
}

fn average(input: [u32; 4], window: u32, padding: u32, include_padding: bool) -> Plan {
    let count = |size: u32| size + 2 * padding - window + 1;
    let desc = AveragePoolingDesc {
        input_tensor: tensor(input),
        output_tensor: tensor([input[0], input[1], count(input[2]), count(input[3])]),
        strides: vec![1; 2],
        window_size: vec![window; 2],
        start_padding: vec![padding; 2],
        end_padding: vec![padding; 2],
        include_padding,
    };
    lower_with(desc, Tuning::new(), TransferUse::StorageOnly)
}

#[test]
fn an_average_is_one_dispatch_where_all_windows_have_as_many_elements() {
    for (padding, include_padding) in [(0, false), (0, true), (1, true)] {
        let plan = average([2, 3, 20, 20], 3, padding, include_padding);
        assert_eq!((plan.exec.len(), plan.temporary_size), (1, 0));
    }
    // Sums, how many elements there are in height and in width, and the quotients.
    assert_eq!(average([2, 3, 20, 20], 3, 1, false).exec.len(), 4);
}

#[test]
fn large_windows_are_reduced_in_parts() {
    let plan = average([1, 1, 200, 200], 200, 0, true);
    // The rows of a window, and their states.
    assert_eq!(plan.exec.len(), 2);
}

#[test]
fn indices_are_found_after_the_greatest_elements() {
    let desc = |output_indices_tensor| MaxPooling1Desc {
        input_tensor: tensor([1, 2, 8, 8]),
        output_tensor: tensor([1, 2, 4, 4]),
        output_indices_tensor,
        strides: vec![2; 2],
        window_size: vec![2; 2],
        start_padding: vec![0; 2],
        end_padding: vec![0; 2],
    };
    let steps = |desc| lower_with(desc, Tuning::new(), TransferUse::StorageOnly).exec.len();
    assert_eq!(steps(desc(None)), 1);
    let indices = TensorDesc::packed(DataType::Uint32, &[1, 2, 4, 4]);
    assert_eq!(steps(desc(Some(indices))), 3);
}
