//! Products of 8-bit integers by dot products, and of halves by fused multiplications: the same bits as one product
//! after the other.

use dml_core::capabilities::{Feature, Limit};
use dml_core::operators::{
    CONVOLUTION_INTEGER, MATRIX_MULTIPLY_INTEGER, MATRIX_MULTIPLY_INTEGER_TO_FLOAT,
    MatrixMultiplyIntegerDesc, QUANTIZED_LINEAR_CONVOLUTION, QUANTIZED_LINEAR_MATRIX_MULTIPLY,
};
use dml_core::plan::{Plan, Slot};
use dml_core::{
    Capabilities, DataType, MatrixTransform, Strategy, TensorDesc, TensorFlags, Tuning,
};
use dml_reference::descriptors::gemm;

use super::{OPERATORS, check_operators, kinds, lower_for, with_window};
use crate::{Target, TransferUse};

/// A device with these capabilities and dot products, and work groups that are large enough for every tile.
fn with_dot_products(mut capabilities: Capabilities) -> Capabilities {
    capabilities.features = capabilities.features.with(Feature::ShaderIntegerDotProduct, true);
    for limit in [Limit::MaxComputeWorkGroupInvocations, Limit::MaxComputeWorkGroupSizeX] {
        capabilities.limits = capabilities.limits.with(limit, 256);
    }
    capabilities
}

#[test]
fn integers_are_what_the_reference_says_with_every_tile_and_in_boxes() {
    let products = [
        &MATRIX_MULTIPLY_INTEGER,
        &MATRIX_MULTIPLY_INTEGER_TO_FLOAT,
        &QUANTIZED_LINEAR_MATRIX_MULTIPLY,
        &CONVOLUTION_INTEGER,
        &QUANTIZED_LINEAR_CONVOLUTION,
    ];
    let operators: Vec<_> =
        OPERATORS.iter().copied().filter(|it| products.contains(&it.schema())).collect();
    assert_eq!(operators.len(), products.len());
    let large = with_dot_products(Capabilities::vulkan_minimum());
    let windows = [with_window(64, 16), with_window(268, 256)].map(with_dot_products);
    let tiles = [
        Strategy::RegisterTiles,
        Strategy::SharedTiles32,
        Strategy::SharedTiles64,
        Strategy::SharedTiles128,
    ];
    let tuning = |strategy| Tuning::new().with_strategy(strategy);
    let tiled = tiles.map(|strategy| (&large, tuning(strategy)));
    let in_boxes =
        windows.each_ref().map(|it| (it, tuning(Strategy::RegisterTiles).with_local_size(8)));
    let targets: Vec<Target<'_>> = tiled
        .into_iter()
        .chain(in_boxes)
        .map(|(capabilities, tuning)| {
            let transfer = TransferUse::Allowed;
            Target { capabilities, tuning, transfer }
        })
        .collect();
    check_operators(operators, &targets);
}

/// A product of [64, depth] by [depth, 96], whose second matrix is a weight.
fn product(depth: u32, capabilities: &Capabilities, tuning: Tuning) -> Plan {
    let tensor =
        |data_type, sizes: [u32; 2]| TensorDesc::packed(data_type, &[1, 1, sizes[0], sizes[1]]);
    let weight = tensor(DataType::Int8, [depth, 96]);
    let desc = MatrixMultiplyIntegerDesc {
        a_tensor: tensor(DataType::Uint8, [64, depth]),
        a_zero_point_tensor: Some(tensor(DataType::Uint8, [1, 1])),
        b_tensor: TensorDesc { flags: TensorFlags::OWNED_BY_DML, ..weight },
        b_zero_point_tensor: None,
        output_tensor: tensor(DataType::Int32, [64, 96]),
    };
    lower_for(desc, &Target { capabilities, tuning, transfer: TransferUse::Allowed })
}

#[test]
fn bytes_stay_packed_where_the_device_has_dot_products() {
    let has = with_dot_products(Capabilities::vulkan_minimum());
    let has_none = Capabilities::vulkan_minimum();
    let is_by_bytes = |plan: &Plan| kinds(plan).iter().any(|it| it.contains("bytes u8 i8"));
    let of_registers = Tuning::new().with_strategy(Strategy::RegisterTiles);
    assert!(!is_by_bytes(&product(256, &has, Tuning::new())), "a CPU driver");
    for tuning in [of_registers, Tuning::new().with_shared_tiles()] {
        let plan = product(256, &has, tuning);
        assert!(is_by_bytes(&plan), "{}", plan.describe());
        // Weights of a byte each; the first factor is copied once, as words of four.
        assert_eq!(plan.persistent_size, 256 * 96 + 12, "{}", plan.describe());
        assert!(plan.temporary_size <= 64 * 256 + 256, "{}", plan.describe());
        assert_eq!(plan.exec.len(), 2, "{}", plan.describe());
        for plan in
            [product(256, &has_none, tuning), product(256, &has, tuning.without_native_types())]
        {
            assert!(!is_by_bytes(&plan), "{}", plan.describe());
            assert!(plan.persistent_size >= 4 * 256 * 96);
        }
    }
}

/// Products of halves are exact, so that tiles for GPUs fuse them with their sums; those of floats are rounded first.
#[test]
fn only_products_of_halves_are_fused() {
    let large = with_dot_products(Capabilities::vulkan_minimum());
    let fused = |data_type, tuning| {
        let tensor = || TensorDesc::packed(data_type, &[1, 1, 64, 64]);
        let desc = gemm([tensor(), tensor(), tensor()], MatrixTransform::None);
        let target = Target { capabilities: &large, tuning, transfer: TransferUse::Allowed };
        let plan = lower_for(desc, &target);
        let products = kinds(&plan).into_iter().filter(|it| it.starts_with("product_"));
        products.map(|product| product.contains("f16")).collect::<Vec<_>>()
    };
    let gpu = Tuning::new().with_shared_tiles();
    assert_eq!(fused(DataType::Float16, gpu), [true]);
    assert_eq!(fused(DataType::Float32, gpu), [false]);
    assert_eq!(fused(DataType::Float16, Tuning::new()), [false]);
}

#[test]
fn a_depth_of_no_whole_words_is_filled_up_with_the_zero_point() {
    let has = with_dot_products(Capabilities::vulkan_minimum());
    let plan = product(254, &has, Tuning::new().with_shared_tiles());
    let uses = |step: &dml_core::plan::Step, input| {
        step.uses().iter().any(|used| used.slot == Slot::Input(input))
    };
    let zero_points = plan.exec.iter().filter(|step| uses(step, 1)).count();
    // The copy that fills up, and the product.
    assert_eq!(zero_points, 2, "{}", plan.describe());
}
