//! Which plans come out for which windows.

use dml_core::operators::{
    AveragePoolingDesc, AveragePoolingGradDesc, LocalResponseNormalizationGradDesc, LpPoolingDesc,
    MaxPooling1Desc, MaxPooling2Desc, MaxPoolingGradDesc,
};
use dml_core::plan::Plan;
use dml_core::{DataType, TensorDesc, Tuning};

use crate::tests::{kinds, lower_for, lower_with, with_window};
use crate::{Target, TransferUse};

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
    // Sums, and the quotients: tables say how many elements there are in height and in width.
    assert_eq!(average([2, 3, 20, 20], 3, 1, false).exec.len(), 2);
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

/// Windows of 3 elements with as many dilated, of up to three dimensions, with padding before the first one.
fn greatest(input: &[u32], dilations: &[u32], has_indices: bool) -> MaxPooling2Desc {
    let output: Vec<u32> =
        input[2..].iter().zip(dilations).map(|(size, by)| size + 1 - 2 * by).collect();
    let tensor = |data_type| TensorDesc::packed(data_type, &[&input[..2], &output].concat());
    let ones = vec![1; dilations.len()];
    MaxPooling2Desc {
        input_tensor: TensorDesc::packed(DataType::Float32, input),
        output_tensor: tensor(DataType::Float32),
        output_indices_tensor: has_indices.then(|| tensor(DataType::Uint64)),
        strides: ones.clone(),
        window_size: vec![3; dilations.len()],
        end_padding: vec![0; dilations.len()],
        start_padding: ones,
        dilations: dilations.to_vec(),
    }
}

/// The names of a plan's kernels, which have those of the functions.
fn names(plan: &Plan) -> String {
    kinds(plan).join("; ")
}

/// Functions that divide or multiply for each tap.
const COMPUTED: [&str; 3] = ["windows.tap", "window_at", "divide "];

fn assert_tabulated(plan: &Plan) {
    let names = names(plan);
    assert!(COMPUTED.iter().all(|it| !names.contains(it)), "{names}");
}

#[test]
fn taps_are_read_from_tables() {
    let desc = LpPoolingDesc {
        input_tensor: tensor([1, 2, 8, 8]),
        output_tensor: tensor([1, 2, 8, 8]),
        strides: vec![1; 2],
        window_size: vec![3; 2],
        start_padding: vec![1; 2],
        end_padding: vec![1; 2],
        p: 3,
    };
    let plan = |desc| lower_with(desc, Tuning::new(), TransferUse::StorageOnly);
    let norms = lower_with(desc, Tuning::new(), TransferUse::StorageOnly);
    for (plan, is_padded) in [
        (average([2, 3, 20, 20], 3, 0, true), false),
        (average([2, 3, 20, 20], 3, 1, true), true),
        (plan(greatest(&[2, 3, 20, 20], &[1, 1], false)), true),
        (plan(greatest(&[2, 3, 20, 20], &[2, 3], true)), true),
        (plan(greatest(&[2, 3, 9, 20, 20], &[1, 2, 1], true)), true),
    ] {
        assert_tabulated(&plan);
        assert_eq!(names(&plan).contains("inside_offset"), is_padded, "{}", names(&plan));
    }
    assert!(!names(&norms).contains("windows.tap"), "{}", names(&norms));
}

#[test]
fn windows_that_read_the_same_table_share_it() {
    let plan = lower_with(
        greatest(&[1, 1, 80, 80], &[20, 20], true),
        Tuning::new(),
        TransferUse::StorageOnly,
    );
    // The greatest elements, which of them are first, and where they are.
    assert_eq!(plan.exec.len(), 3);
    let offsets = [0, 1, 2].map(|y| [0, 1, 2].map(|x| 20 * (80 * y + x)));
    let table: Vec<u8> = offsets.concat().into_iter().flat_map(u32::to_le_bytes).collect();
    let found = plan.constants.windows(table.len()).filter(|it| *it == table).count();
    assert_eq!(found, 1);
}

#[test]
fn taps_are_computed_where_tables_would_be_large() {
    // More elements than a table has.
    let large = average([1, 1, 70, 70], 66, 1, true);
    assert!(names(&large).contains("windows.tap"), "{}", names(&large));
    // 25 taps and the slack, which a descriptor shows in parts, but not for the numbers of some of them.
    let capabilities = &with_window(96, 16);
    let (tuning, transfer) = (Tuning::new(), TransferUse::StorageOnly);
    let target = Target { capabilities, tuning, transfer };
    let desc = MaxPooling1Desc {
        input_tensor: tensor([1, 1, 4, 4]),
        output_tensor: tensor([1, 1, 2, 2]),
        output_indices_tensor: Some(TensorDesc::packed(DataType::Uint32, &[1, 1, 2, 2])),
        strides: vec![1; 2],
        window_size: vec![5; 2],
        start_padding: vec![1; 2],
        end_padding: vec![1; 2],
    };
    let names = names(&lower_for(desc, &target));
    let (before, last) = names.rsplit_once("; ").unwrap();
    assert!(last.contains("windows.tap") && !before.contains("windows.tap"), "{names}");
}

#[test]
fn windows_in_more_than_a_descriptor_shows_are_few_dispatches() {
    // 192 MB, of which descriptors show 128 MiB.
    let desc = greatest(&[1, 1, 3, 4000, 4000], &[1; 3], false);
    let plan = lower_with(desc, Tuning::new(), TransferUse::StorageOnly);
    assert!(plan.exec.len() <= 32, "{}", plan.exec.len());
}

#[test]
fn gradients_are_few_dispatches_that_read_tables() {
    let [pictures, windows] = [[2, 3, 20, 20], [2, 3, 10, 10]].map(|sizes| move || tensor(sizes));
    let (twos, zeros) = (vec![2; 2], vec![0; 2]);
    let average = AveragePoolingGradDesc {
        input_gradient_tensor: windows(),
        output_gradient_tensor: pictures(),
        strides: twos.clone(),
        window_size: twos.clone(),
        start_padding: zeros.clone(),
        end_padding: zeros.clone(),
        include_padding: false,
    };
    let maximum = MaxPoolingGradDesc {
        input_tensor: pictures(),
        input_gradient_tensor: windows(),
        output_gradient_tensor: pictures(),
        strides: twos.clone(),
        window_size: twos,
        start_padding: zeros.clone(),
        end_padding: zeros,
        dilations: vec![1; 2],
    };
    let response = LocalResponseNormalizationGradDesc {
        input_tensor: pictures(),
        input_gradient_tensor: pictures(),
        output_gradient_tensor: pictures(),
        cross_channel: true,
        local_size: 5,
        alpha: 1e-4,
        beta: 0.75,
        bias: 1.0,
    };
    let plan = |desc| lower_with(desc, Tuning::new(), TransferUse::StorageOnly);
    let average = plan(dml_core::AbstractOperator::from(average));
    assert_eq!(average.exec.len(), 1);
    assert!(!names(&average).contains("pair_of_candidate"), "{}", names(&average));
    // The greatest elements, which of them are first, where they are, and the sums.
    let maximum = plan(maximum.into());
    assert_eq!(maximum.exec.len(), 4);
    assert!(!names(&maximum).contains("pair_of_candidate"), "{}", names(&maximum));
    // The sums of squares, the shares, their sums, and the gradients.
    assert_eq!(plan(response.into()).exec.len(), 4);
}

/// One channel that descriptors show in parts.
#[test]
fn gradients_of_more_windows_than_a_descriptor_shows_are_few_dispatches() {
    let desc = AveragePoolingGradDesc {
        input_gradient_tensor: TensorDesc::packed(DataType::Float32, &[1, 1, 3, 4000, 4000]),
        output_gradient_tensor: TensorDesc::packed(DataType::Float32, &[1, 1, 3, 4000, 4000]),
        strides: vec![1; 3],
        window_size: vec![3; 3],
        start_padding: vec![1; 3],
        end_padding: vec![1; 3],
        include_padding: true,
    };
    let plan = lower_with(desc, Tuning::new(), TransferUse::StorageOnly);
    assert!(plan.exec.len() <= 32, "{}", plan.exec.len());
}
