use dml_core::operators::DiagonalMatrix1Desc;
use dml_core::plan::{BoundAt, InPlace, Plan, Slot, Step};
use dml_core::{DataType, Strategy, TensorDesc, TensorFlags, Tuning};
use dml_reference::descriptors;

use crate::TransferUse;
use crate::tests::{kind, kinds, lower_with};

const ALLOWED: TransferUse = TransferUse::Allowed;
const STORAGE_ONLY: TransferUse = TransferUse::StorageOnly;

fn tensor() -> TensorDesc {
    TensorDesc::packed(DataType::Int16, &[3, 4])
}

fn desc(input_tensor: Option<TensorDesc>, band: (i32, i32)) -> DiagonalMatrix1Desc {
    descriptors::band(input_tensor, tensor(), 7, band)
}

fn lower(desc: DiagonalMatrix1Desc, transfer: TransferUse) -> Plan {
    // Nothing is so small that it is written inline.
    lower_with(desc, Tuning::new().with_sizes(0, 0, 1024), transfer)
}

#[test]
fn without_an_input_the_value_is_written_on_zeros() {
    let strategy = |band, transfer| kinds(&lower(desc(None, band), transfer));
    assert_eq!(strategy((1, 2), ALLOWED), ["fill", "diagonal_scatter_b16"]);
    assert_eq!(strategy((0, 2), ALLOWED), ["fill", "diagonal_band_b16"]);
    let (band, fill) = ("diagonal_band_b16", "fill");
    assert_eq!(strategy((1, 0), ALLOWED), [fill, band, band]);
    // What is left of the band within the matrix decides.
    assert_eq!(strategy((i32::MIN, -1), ALLOWED), ["fill", "diagonal_scatter_b16"]);
    assert_eq!(strategy((9, 12), ALLOWED), ["fill"]);
    let fill = "fill_words_b32";
    assert_eq!(strategy((1, 2), STORAGE_ONLY), [fill, "diagonal_scatter_b16"]);
    assert_eq!(strategy((1, 0), STORAGE_ONLY), [fill, band, band]);
    assert_eq!(strategy((9, 12), STORAGE_ONLY), [fill]);
    let padded =
        DiagonalMatrix1Desc { output_tensor: tensor().with_strides(&[5, 1]), ..desc(None, (0, 2)) };
    assert_eq!(kinds(&lower(padded, ALLOWED)), ["diagonal_write_b16"]);
    assert_eq!(lower(desc(None, (0, 2)), ALLOWED).inputs, [None]);
}

#[test]
fn with_an_input_it_is_copied_or_merged() {
    let strategy = |input, band, transfer| kinds(&lower(desc(Some(input), band), transfer));
    assert_eq!(strategy(tensor(), (1, 2), ALLOWED), ["copy", "diagonal_band_b16"]);
    assert_eq!(strategy(tensor(), (1, 1), ALLOWED), ["copy"]);
    assert_eq!(strategy(tensor(), (1, 2), STORAGE_ONLY), ["diagonal_merge_b16"]);
    let transposed = tensor().with_strides(&[1, 3]);
    assert_eq!(strategy(transposed, (1, 2), ALLOWED), ["diagonal_merge_b16"]);
    let broadcast = tensor().with_strides(&[0, 0]);
    assert_eq!(strategy(broadcast, (1, 2), ALLOWED), ["diagonal_merge_b16"]);
}

fn reads(steps: &[Step], slot: Slot) -> bool {
    steps.iter().flat_map(Step::uses).any(|used| used.slot == slot)
}

/// The steps and the strategies for a band of a large tensor.
fn of_large(input: Option<&[u32]>, output: &[u32], band: (i32, i32)) -> Plan {
    let large =
        |strides: &[u32]| TensorDesc::packed(DataType::Int16, &[600, 1000]).with_strides(strides);
    let desc = DiagonalMatrix1Desc { output_tensor: large(output), ..desc(input.map(large), band) };
    lower(desc, ALLOWED)
}

#[test]
fn wide_bands_and_padded_rows_are_copied() {
    let packed = &[1000, 1][..];
    let strategy = |input, output, band| of_large(input, output, band).strategy;
    assert_eq!(strategy(None, packed, (0, 511)), Strategy::FillAndScatter);
    assert_eq!(strategy(None, packed, (0, 512)), Strategy::RowCopies);
    assert_eq!(strategy(Some(packed), packed, (0, 511)), Strategy::CopyAndBand);
    assert_eq!(strategy(Some(packed), packed, (1, i32::MAX)), Strategy::RowCopies);
    assert_eq!(strategy(Some(&[1003, 1]), packed, (0, 1)), Strategy::RowCopies);
    assert_eq!(strategy(Some(packed), &[1003, 1], (0, 1)), Strategy::RowCopies);
    assert_eq!(strategy(Some(&[1, 600]), packed, (0, 1)), Strategy::Kernel);
    assert_eq!(strategy(Some(packed), &[1, 600], (0, 1)), Strategy::Kernel);
}

#[test]
fn what_is_above_a_diagonal_is_two_copies_that_share_no_byte() {
    let plan = of_large(Some(&[1000, 1]), &[1000, 1], (1, i32::MAX));
    let [Step::Copy(kept), Step::Copy(values)] = plan.exec.as_slice() else { panic!("{plan:?}") };
    assert_eq!((kept.source, values.source), (Slot::Input(0), Slot::Constants));
    let [kept, values] = [kept, values].map(|copy| {
        let rows = copy
            .regions
            .iter()
            .map(|region| (region.repeat.count, region.size, region.repeat.growth));
        rows.collect::<Vec<_>>()
    });
    // No row is whole: the last one has 400 columns above the diagonal.
    assert_eq!((kept, values), (vec![(600, 2, 2)], vec![(600, 1998, -2)]));
    let kinds: Vec<_> = plan.in_place[0].own_steps().iter().map(kind).collect();
    assert_eq!(kinds, ["copy"]);
}

#[test]
fn where_the_band_is_everything_the_input_is_bound_and_not_read() {
    for transfer in [ALLOWED, STORAGE_ONLY] {
        let plan = lower(desc(Some(tensor()), (i32::MIN, i32::MAX)), transfer);
        let expected = if transfer == ALLOWED { "fill" } else { "fill_words_b32" };
        assert_eq!(kinds(&plan), [expected]);
        assert!(plan.inputs[0].is_some() && !reads(&plan.exec, Slot::Input(0)));
    }
}

#[test]
fn in_place_only_the_value_is_written() {
    let plan = lower(desc(Some(tensor()), (1, 0)), ALLOWED);
    let [in_place] = &plan.in_place[..] else { panic!("{plan:?}") };
    let kinds: Vec<_> = in_place.own_steps().iter().map(kind).collect();
    assert_eq!(kinds, ["diagonal_band_b16", "diagonal_band_b16"]);
    assert_eq!((in_place.pair(), in_place.is_by_same_steps()), ((0, 0), false));
    let nothing = lower(desc(Some(tensor()), (1, 1)), ALLOWED);
    assert_eq!(nothing.in_place, [InPlace::by_own_steps(0, 0, vec![])]);
    let other_layout = tensor().with_strides(&[5, 1]);
    for without in [None, Some(other_layout), Some(owned())] {
        assert_eq!(lower(desc(without, (0, 1)), ALLOWED).in_place, []);
    }
}

fn owned() -> TensorDesc {
    TensorDesc { flags: TensorFlags::OWNED_BY_DML, ..tensor() }
}

#[test]
fn an_owned_input_is_kept_by_initialization() {
    for transfer in [ALLOWED, STORAGE_ONLY] {
        let plan = lower(desc(Some(owned()), (0, 1)), transfer);
        assert_eq!(plan.inputs[0].as_ref().unwrap().bound_at, BoundAt::Initialization);
        assert_eq!(plan.persistent_size, 24);
        assert!(reads(&plan.init, Slot::Input(0)) && !reads(&plan.exec, Slot::Input(0)));
        assert!(reads(&plan.exec, Slot::Persistent));
    }
    let init = |transfer| lower(desc(Some(owned()), (0, 1)), transfer).init;
    assert_eq!(init(ALLOWED).iter().map(kind).collect::<Vec<_>>(), ["copy"]);
    let copy = "element_wise_0 copy (b32 ragged) b32 ragged";
    assert_eq!(init(STORAGE_ONLY).iter().map(kind).collect::<Vec<_>>(), [copy]);
    let everything = lower(desc(Some(owned()), (i32::MIN, i32::MAX)), ALLOWED);
    assert_eq!((everything.persistent_size, everything.init.len()), (0, 0));
}

#[test]
fn diagonal_matrix_is_the_special_case_of_one_diagonal() {
    for (offset, transfer) in [-1, 0, 3, 4, i32::MIN, i32::MAX - 1]
        .into_iter()
        .flat_map(|offset| [ALLOWED, STORAGE_ONLY].map(|transfer| (offset, transfer)))
    {
        let special = descriptors::diagonal(tensor(), offset, 7.0);
        let special = lower_with(special, Tuning::new().with_sizes(0, 0, 1024), transfer);
        let general = lower(desc(None, (offset, offset + 1)), transfer);
        assert_eq!(special.exec, general.exec, "{offset} {transfer:?}");
    }
}

/// On GPUs each region of a copy takes as long as a kernel takes for megabytes.
#[test]
fn without_regions_to_copy_a_kernel_writes_what_copies_would() {
    let of = |desc, most| {
        let tuning = Tuning::new().with_sizes(0, 4096, 16).with_most_regions(most);
        lower_with(desc, tuning, ALLOWED).strategy
    };
    let floats = |sizes: &[u32]| TensorDesc::packed(DataType::Float32, sizes);
    let on = |input, output_tensor| DiagonalMatrix1Desc {
        output_tensor,
        ..descriptors::band(input, floats(&[8, 8]), 7, (0, 2))
    };
    let batch = || on(None, floats(&[1, 4096, 8, 8]));
    let padded = || on(None, floats(&[8, 8]).with_strides(&[9, 1]));
    let copied = || on(Some(floats(&[8, 8])), floats(&[8, 8]));
    let (many, none) = (1 << 20, 0);
    assert_eq!(
        [of(batch(), many), of(batch(), none)],
        [Strategy::SeedAndCopy, Strategy::FillAndScatter]
    );
    assert_eq!([of(padded(), many), of(padded(), none)], [Strategy::RowCopies, Strategy::Kernel]);
    assert_eq!([of(copied(), many), of(copied(), none)], [Strategy::CopyAndBand, Strategy::Kernel]);
    // A small output is few copies, and no fewer than are allowed.
    let small = lower_with(
        on(None, floats(&[1, 910, 3, 3])),
        Tuning::new().with_most_regions(none),
        ALLOWED,
    );
    assert_eq!(small.strategy, Strategy::FillAndScatter);
    // A kernel would merge narrow elements one by one.
    assert_eq!(of(desc(Some(tensor()), (1, 2)), none), Strategy::CopyAndBand);
    assert_eq!(of(desc(Some(tensor()), (0, 2)), none), Strategy::Kernel);
}
