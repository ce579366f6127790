//! Tests of products: work of initialization, partial sums, and cooperative matrices.

use dml_core::capabilities::Features;
use dml_core::operators::{ConvolutionDesc, GemmDesc};
use dml_core::plan::{Plan, Slot, Step};
use dml_core::{
    Capabilities, ConvolutionDirection, DataType, MatrixTransform, Strategy, TensorDesc,
    TensorFlags, Tuning,
};
use dml_reference::descriptors;

use crate::tests::{kind, kinds, lower_for, lower_with};
use crate::{Target, TransferUse};

fn gemm(data_type: DataType, [rows, depth, columns]: [u32; 3]) -> GemmDesc {
    let tensor = |sizes: [u32; 2]| TensorDesc::packed(data_type, &[1, 1, sizes[0], sizes[1]]);
    descriptors::gemm(
        [tensor([rows, depth]), tensor([depth, columns]), tensor([rows, columns])],
        MatrixTransform::None,
    )
}

/// A product whose second matrix is transposed, and so has to be rearranged.
fn product(data_type: DataType, flags: TensorFlags) -> Plan {
    let it = gemm(data_type, [32, 24, 36]);
    let b_tensor = TensorDesc { flags, ..TensorDesc::packed(data_type, &[1, 1, 36, 24]) };
    let desc = GemmDesc { b_tensor, trans_b: MatrixTransform::Transpose, ..it };
    lower_with(desc, Tuning::new(), TransferUse::Allowed)
}

fn touches(steps: &[Step], slot: Slot) -> bool {
    steps.iter().flat_map(Step::uses).any(|used| used.slot == slot)
}

#[test]
fn what_is_owned_is_put_in_order_once() {
    for data_type in [DataType::Float32, DataType::Float16] {
        let bound = product(data_type, TensorFlags::NONE);
        let owned = product(data_type, TensorFlags::OWNED_BY_DML);
        assert!(bound.init.is_empty() && bound.persistent_size == 0);
        assert!(touches(&bound.exec, Slot::Input(1)));
        // It is read where it is bound, and only the rearranged copy is kept.
        assert!(touches(&owned.init, Slot::Input(1)) && !touches(&owned.exec, Slot::Input(1)));
        assert!(!owned.init.iter().any(|step| matches!(step, Step::Copy(_))), "{data_type}");
        assert!(touches(&owned.exec, Slot::Persistent));
        assert_eq!(owned.exec.len() + owned.init.len(), bound.exec.len(), "{data_type}");
        assert!(owned.temporary_size < bound.temporary_size);
    }
}

#[test]
fn few_sums_of_many_products_are_added_up_in_parts_whatever_the_device() {
    let products = |sizes, tuning| {
        let plan = lower_with(gemm(DataType::Float32, sizes), tuning, TransferUse::Allowed);
        kinds(&plan).into_iter().filter(|it| it.starts_with("product_")).count()
    };
    for tuning in [Tuning::new(), Tuning::new().with_shared_tiles()] {
        assert_eq!(products([8, 5000, 8], tuning), 4);
        assert_eq!(products([2, 2048, 1000], tuning), 2);
        assert_eq!(products([8, 2000, 8], tuning), 1);
        assert_eq!(products([512, 4096, 512], tuning), 1);
    }
}

#[test]
fn a_matrix_of_halves_stays_packed_where_a_vector_is_multiplied() {
    let sizes = [1, 1024, 512];
    let halves = 2 * 1024 * 512;
    for flags in [TensorFlags::NONE, TensorFlags::OWNED_BY_DML] {
        let b_tensor =
            TensorDesc { flags, ..TensorDesc::packed(DataType::Float16, &[1, 1, 512, 1024]) };
        let trans_b = MatrixTransform::Transpose;
        let desc = GemmDesc { b_tensor, trans_b, ..gemm(DataType::Float16, sizes) };
        let plan = lower_with(desc, Tuning::new(), TransferUse::Allowed);
        let kept = if flags == TensorFlags::NONE { 0 } else { halves };
        assert!(plan.temporary_size < 64 << 10, "{}", plan.describe());
        assert_eq!(plan.persistent_size, kept, "{}", plan.describe());
    }
}

/// A convolution whose window is all of its input, each row of which has so many elements in memory.
fn of_all(row: u32) -> Plan {
    let sizes = [1, 40, 2, 40];
    let tensor = |sizes: &[u32]| TensorDesc::packed(DataType::Float32, sizes);
    let strides = [80 * row, 2 * row, row, 1];
    let desc = descriptors::convolution([
        tensor(&sizes).with_strides(&strides),
        tensor(&sizes),
        tensor(&[1, 1, 1, 1]),
    ]);
    lower_with(desc, Tuning::new(), TransferUse::Allowed)
}

#[test]
fn a_sum_has_the_same_parts_however_its_factors_lie() {
    // 3,200 products in 2 rows: one part each, also where nothing is between the rows.
    for row in [40, 41] {
        let plan = of_all(row);
        let parts = kinds(&plan).into_iter().filter(|it| it.starts_with("product_")).count();
        assert_eq!(parts, 2, "{row}: {}", plan.describe());
    }
}

#[test]
fn cooperative_matrices_are_used_where_they_are_asked_for_and_offered() {
    let mut offering = Capabilities { features: Features::ALL, ..Capabilities::vulkan_minimum() };
    offering.limits.cooperative_matrix_size = [16; 3];
    let least = Capabilities::vulkan_minimum();
    let asked = Tuning::new().with_strategy(Strategy::CooperativeMatrices);
    let strategy = |data_type, tuning, capabilities| {
        let target = Target { capabilities, tuning, transfer: TransferUse::Allowed };
        lower_for(gemm(data_type, [40, 24, 36]), &target).strategy
    };
    let is_used = |data_type, tuning, capabilities| {
        strategy(data_type, tuning, capabilities) == Strategy::CooperativeMatrices
    };
    assert!(is_used(DataType::Float16, asked, &offering));
    assert!(!is_used(DataType::Float32, asked, &offering));
    assert!(!is_used(DataType::Float16, asked, &least));
    assert!(!is_used(DataType::Float16, Tuning::new().with_shared_tiles(), &offering));
}

/// A backward convolution with stride 2: the elements of every second row and column have the same taps, so
/// that there are four products, whose outputs are interleaved.
fn upsampling(size: u32, window: u32) -> Plan {
    let tensor = |sizes: &[u32]| TensorDesc::packed(DataType::Float32, sizes);
    let padding = (window - 2) / 2;
    let desc = ConvolutionDesc {
        direction: ConvolutionDirection::Backward,
        strides: vec![2; 2],
        start_padding: vec![padding; 2],
        end_padding: vec![padding; 2],
        ..descriptors::convolution([
            tensor(&[1, 8, size, size]),
            tensor(&[8, 16, window, window]),
            tensor(&[1, 16, 2 * size, 2 * size]),
        ])
    };
    lower_with(desc, Tuning::new(), TransferUse::Allowed)
}

#[test]
fn interleaved_phases_run_at_the_same_time() {
    for window in [2, 4, 6] {
        let plan = upsampling(8, window);
        let products = plan.exec.iter().filter(|step| kind(step).starts_with("product_"));
        let concurrent = products.map(|step| match step {
            Step::Dispatch(dispatch) => dispatch.is_concurrent,
            _ => false,
        });
        let concurrent: Vec<bool> = concurrent.collect();
        assert_eq!(concurrent, [false, true, true, true], "{window}: {}", plan.describe());
    }
}
