use dml_core::plan::{CopyRegion, Plan, Step};
use dml_core::{Capabilities, DataType, FeatureLevel, Strategy, TensorDesc, Tuning, validate};
use dml_reference::descriptors::diagonal;

use crate::families::diagonal::DIAGONAL_MATRIX;
use crate::tests::{kinds, lower_with};
use crate::{Target, TransferUse};

#[test]
fn the_strategy_follows_layout_usage_and_value() {
    let lower = |tensor: TensorDesc, value, transfer| {
        let plan = lower_with(diagonal(tensor, 0, value), Tuning::new(), transfer);
        (plan.strategy.name(), kinds(&plan))
    };
    let packed = |sizes: &[u32]| TensorDesc::packed(DataType::Int8, sizes);
    let allowed = TransferUse::Allowed;
    assert_eq!(lower(packed(&[3, 3]), 1.0, allowed), ("inline", vec!["update"]));
    assert_eq!(lower(packed(&[9000, 3, 3]), 1.0, allowed), ("seed-and-copy", vec!["copy"]));
    let transposed = packed(&[9000, 3, 3]).with_strides(&[9, 1, 3]);
    assert_eq!(lower(transposed, 1.0, allowed).0, "seed-and-copy");
    let large = || packed(&[2000, 2001]);
    let scatter = vec!["fill", "diagonal_scatter_b8"];
    assert_eq!(lower(large(), 1.0, allowed), ("fill-and-scatter", scatter));
    assert_eq!(lower(large().with_strides(&[1, 2000]), 1.0, allowed).0, "fill-and-scatter");
    assert_eq!(lower(large(), 0.5, allowed), ("fill", vec!["fill"]));
    let padded = large().with_strides(&[2003, 1]);
    assert_eq!(lower(padded, 1.0, allowed), ("row-copies", vec!["copy"]));
    let write = vec!["diagonal_write_b8"];
    let short_rows = packed(&[3, 3]).with_strides(&[4, 1]);
    assert_eq!(lower(short_rows, 1.0, allowed), ("kernel", write.clone()));
    let columns = large().with_strides(&[1, 2003]);
    assert_eq!(lower(columns, 1.0, allowed), ("kernel", write.clone()));
    let storage_only = |tensor| lower(tensor, 1.0, TransferUse::StorageOnly);
    let words = vec!["fill_words_b32", "diagonal_scatter_b8"];
    assert_eq!(storage_only(packed(&[3, 3])), ("kernel", words.clone()));
    assert_eq!(storage_only(large().with_strides(&[1, 2000])), ("kernel", words));
    assert_eq!(storage_only(large().with_strides(&[2003, 1])), ("kernel", write));
    // Negative zero has bits of its own.
    let halves = || TensorDesc::packed(DataType::Float16, &[2000, 2000]);
    assert_eq!(lower(halves(), -0.0, allowed).0, "fill-and-scatter");
    assert_eq!(lower(halves(), 0.0, allowed).0, "fill");
}

#[test]
fn a_strategy_that_cannot_serve_leaves_the_choice_as_it_is() {
    let chosen = |tensor: &TensorDesc, strategy, transfer| {
        let tuning = Tuning::new().with_strategy(strategy);
        lower_with(diagonal(tensor.clone(), 0, 1.0), tuning, transfer).strategy
    };
    let allowed = TransferUse::Allowed;
    let small = TensorDesc::packed(DataType::Int8, &[5, 3, 3]);
    for strategy in Strategy::ALL {
        let can = matches!(
            strategy,
            Strategy::FillAndScatter
                | Strategy::SeedAndCopy
                | Strategy::RowCopies
                | Strategy::Kernel
        );
        let expected = if can { strategy } else { Strategy::Inline };
        assert_eq!(chosen(&small, strategy, allowed), expected);
        assert_eq!(chosen(&small, strategy, TransferUse::StorageOnly), Strategy::Kernel);
    }
    let large = TensorDesc::packed(DataType::Float32, &[257, 257]);
    for strategy in [Strategy::Inline, Strategy::SeedAndCopy] {
        assert_eq!(chosen(&large, strategy, allowed), Strategy::FillAndScatter);
    }
    let padded = TensorDesc::packed(DataType::Int8, &[5, 3, 3]).with_strides(&[12, 4, 1]);
    for strategy in [Strategy::Inline, Strategy::SeedAndCopy, Strategy::FillAndScatter] {
        assert_eq!(chosen(&padded, strategy, allowed), Strategy::Kernel);
    }
    assert_eq!(chosen(&padded, Strategy::RowCopies, allowed), Strategy::RowCopies);
}

fn only_copy(plan: &Plan) -> &[CopyRegion] {
    match plan.exec.as_slice() {
        [Step::Copy(copy)] => &copy.regions,
        steps => panic!("{steps:?}"),
    }
}

#[test]
fn a_seed_is_whole_matrices_and_small_beside_the_output() {
    let plan = |batches| {
        let tensor = TensorDesc::packed(DataType::Float32, &[batches, 3, 3]);
        lower_with(diagonal(tensor, 0, 1.0), Tuning::new(), TransferUse::Allowed)
    };
    let large = plan(1_000_000);
    assert_eq!(large.constants.len(), 1808 * 36);
    let [loops, rest] = only_copy(&large) else { panic!("{large:?}") };
    assert_eq!((loops.repeat.count, loops.size), (553, 1808 * 36));
    assert_eq!((rest.destination_offset, rest.size), (553 * 1808 * 36, 176 * 36));
    assert_eq!(plan(1600).constants.len(), 96 * 36);
}

#[test]
fn padded_rows_take_three_loops_however_many_they_are() {
    let tensor = TensorDesc::packed(DataType::Int16, &[100, 50]).with_strides(&[53, 1]);
    let tuning = Tuning::new().with_strategy(Strategy::RowCopies);
    let plan = lower_with(diagonal(tensor, -30, 1.0), tuning, TransferUse::Allowed);
    // Zeros, the value, zeros; the rows that show it begin at its left and at the matrix's.
    assert_eq!(plan.constants.len(), (50 + 1 + 50) * 2 + 2);
    let loops: Vec<_> = only_copy(&plan)
        .iter()
        .map(|it| (it.repeat.count, it.destination_offset / 106, it.source_offset / 2))
        .collect();
    assert_eq!(loops, [(30, 0, 51), (50, 30, 50), (20, 80, 0)]);
    let strides: Vec<_> = only_copy(&plan).iter().map(|it| it.repeat.source_stride).collect();
    assert_eq!(strides, [0, -2, 0]);
}

#[test]
fn push_constants_fit_and_groups_stay_within_the_limits() {
    let mut capabilities = Capabilities::vulkan_minimum();
    capabilities.limits.max_compute_work_group_count = [3, 2, 1];
    let operator = diagonal(TensorDesc::packed(DataType::Int64, &[2, 3, 50, 50]), 0, 1.0);
    let operator = validate(&operator.into(), FeatureLevel::HIGHEST).unwrap();
    let tuning = Tuning::new().with_local_size(4).with_strategy(Strategy::FillAndScatter);
    let transfer = TransferUse::Allowed;
    let target = Target { capabilities: &capabilities, tuning, transfer };
    let plan = DIAGONAL_MATRIX.lower(&operator, &target).unwrap();
    assert_eq!(plan.exec.len(), 1 + (2usize * 3 * 50).div_ceil(4 * 6));
    assert_eq!(plan.check(&capabilities), Ok(()));
    assert_eq!(plan.operator, DIAGONAL_MATRIX.schema().name);
}
