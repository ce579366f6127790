//! Which plans come out for which tensors.

use dml_core::operators::{
    FoldDesc, JoinDesc, PaddingDesc, SliceDesc, SplitDesc, TileDesc, UnfoldDesc,
};
use dml_core::plan::{CopyRegion, Plan, Repeat, Slot, Step};
use dml_core::{
    AbstractOperator, Capabilities, DataType, Error, FeatureLevel, PaddingMode, Strategy,
    TensorDesc, Tuning, validate,
};

use super::padding;
use super::part::Walk;
use crate::tests::{kinds, lower_with};
use crate::{Target, TransferUse};

fn tensor(sizes: &[u32]) -> TensorDesc {
    TensorDesc::packed(DataType::Float32, sizes)
}

#[test]
fn a_part_is_a_dispatch_with_its_input_and_the_output() {
    let desc = JoinDesc {
        input_tensors: vec![tensor(&[2, 3]), tensor(&[2, 5]), tensor(&[2, 1])],
        output_tensor: tensor(&[2, 9]),
        axis: 1,
    };
    let plan = lower_with(desc, Tuning::new(), TransferUse::Allowed);
    let fields: Vec<_> =
        plan.inputs.iter().flatten().map(|input| input.field.to_string()).collect();
    assert_eq!(fields, ["InputTensors[0]", "InputTensors[1]", "InputTensors[2]"]);
    assert_eq!((plan.exec.len(), plan.outputs.len()), (3, 1));
    for (step, index) in plan.exec.iter().zip(0..) {
        let Step::Dispatch(dispatch) = step else { panic!("{step:?}") };
        let slots: Vec<Slot> = dispatch.windows.iter().map(|window| window.slot).collect();
        assert!(
            slots.contains(&Slot::Input(index)) && slots.contains(&Slot::Output(0)),
            "{slots:?}"
        );
    }
}

#[test]
fn an_output_for_each_part() {
    let desc = SplitDesc {
        input_tensor: tensor(&[4, 3]),
        output_tensors: vec![tensor(&[1, 3]), tensor(&[3, 3])],
        axis: 0,
    };
    let plan = lower_with(desc, Tuning::new(), TransferUse::StorageOnly);
    let fields: Vec<_> =
        plan.outputs.iter().flatten().map(|output| output.field.to_string()).collect();
    assert_eq!(fields, ["OutputTensors[0]", "OutputTensors[1]"]);
    assert!(plan.is_dispatch_only());
}

fn lower(desc: impl Into<AbstractOperator>) -> Plan {
    lower_with(desc, Tuning::new(), TransferUse::Allowed)
}

fn padded(input: &[u32], mode: PaddingMode, [start, end]: [u32; 2]) -> PaddingDesc {
    let output: Vec<u32> = input.iter().map(|size| size + start + end).collect();
    PaddingDesc {
        input_tensor: tensor(input),
        output_tensor: tensor(&output),
        padding_mode: mode,
        padding_value: 0.0,
        start_padding: vec![start; input.len()],
        end_padding: vec![end; input.len()],
    }
}

#[test]
fn a_slice_is_one_dispatch() {
    let [offsets, sizes, strides] = [vec![1, 0], vec![2, 3], vec![2, 3]];
    let (input_tensor, output_tensor) = (tensor(&[4, 9]), tensor(&[2, 3]));
    let plan = lower(SliceDesc { input_tensor, output_tensor, offsets, sizes, strides });
    assert_eq!(plan.exec.len(), 1);
}

#[test]
fn margins_of_a_value_are_two_slabs_for_each_dimension() {
    assert_eq!(lower(padded(&[3, 4, 5], PaddingMode::Constant, [1, 2])).exec.len(), 7);
    assert_eq!(lower(padded(&[3, 4, 5], PaddingMode::Constant, [0, 2])).exec.len(), 4);
    assert_eq!(lower(padded(&[3, 4], PaddingMode::Edge, [1, 2])).exec.len(), 9);
}

#[test]
fn whole_periods_are_one_run() {
    let operator = validate(
        &padded(&[4], PaddingMode::Reflection, [0, 1_000_000]).into(),
        FeatureLevel::HIGHEST,
    );
    let parts = padding::padding(&operator.unwrap(), 0).unwrap();
    // 0 1 2 3, and 2 1 between them; 1,000,004 are 166,667 periods of 6 and the first two of one more.
    let walk = |count, input, output| Walk { count, input, output };
    let found: Vec<_> = parts.iter().map(|part| (part.output, part.walks.clone())).collect();
    assert_eq!(
        found,
        [
            (0, vec![walk(166_667, 0, 6), walk(4, 1, 1)]),
            (1_000_002, vec![walk(2, 1, 1)]),
            (4, vec![walk(166_667, 0, 6), walk(2, -1, 1)]),
        ]
    );
}

#[test]
fn more_dimensions_than_a_kernel_has_are_several_dispatches() {
    let tiled = |count: usize| {
        let (input, repeats) = (vec![2; count], vec![3; count]);
        let (input_tensor, output_tensor) = (tensor(&input), tensor(&vec![6; count]));
        lower(TileDesc { input_tensor, output_tensor, repeats }).exec.len()
    };
    // Each dimension is two; the shortest ones are left out.
    assert_eq!([2, 4, 5, 6].map(tiled), [1, 1, 4, 16]);
}

#[test]
fn more_parts_than_a_plan_takes_are_refused() {
    let operator = padded(&[2; 8], PaddingMode::Symmetric, [5, 4]);
    let operator = validate(&operator.into(), FeatureLevel::HIGHEST).unwrap();
    let capabilities = &Capabilities::vulkan_minimum();
    let (tuning, transfer) = (Tuning::new(), TransferUse::StorageOnly);
    let refused = crate::lower(&operator, &Target { capabilities, tuning, transfer });
    assert!(matches!(refused, Err(Error::DeviceLimit { unit: "dispatches", .. })), "{refused:?}");
}

#[test]
fn taps_of_windows_are_read_from_tables_and_neither_divide_nor_take_rests() {
    let (windows, ones, padding) = (vec![3, 3], vec![1, 1], vec![1, 1]);
    let (image, columns) = (tensor(&[1, 2, 112, 112]), tensor(&[1, 18, 112 * 112]));
    let unfold = UnfoldDesc {
        input_tensor: image.clone(),
        output_tensor: columns.clone(),
        window_sizes: windows.clone(),
        strides: ones.clone(),
        dilations: ones.clone(),
        start_padding: padding.clone(),
        end_padding: padding.clone(),
    };
    let fold = FoldDesc {
        input_tensor: columns,
        output_tensor: image,
        window_sizes: windows,
        strides: ones.clone(),
        dilations: ones,
        start_padding: padding.clone(),
        end_padding: padding,
    };
    for plan in [lower(unfold), lower(fold)] {
        let names = kinds(&plan);
        let divides = |it: &&str| it.contains("windows.tap") || it.contains("pair_of");
        assert!(!names.iter().any(divides), "{names:?}");
        assert!(names.iter().all(|it| it.contains("joined")), "{names:?}");
    }
}

/// The second to fifth of six rows of `width` and 8 elements more.
fn rows(width: u32, tuning: Tuning, transfer: TransferUse) -> Plan {
    let [offsets, sizes, strides] = [vec![1, 3], vec![4, width], vec![1, 1]];
    let (input_tensor, output_tensor) = (tensor(&[6, width + 8]), tensor(&[4, width]));
    let desc = SliceDesc { input_tensor, output_tensor, offsets, sizes, strides };
    lower_with(desc, tuning, transfer)
}

#[test]
fn long_rows_are_a_loop_of_regions() {
    let plan = rows(128, Tuning::new(), TransferUse::Allowed);
    let [Step::Copy(copy)] = &plan.exec[..] else { panic!("{:?}", plan.exec) };
    let repeat =
        Repeat { count: 4, source_stride: 136 * 4, destination_stride: 128 * 4, growth: 0 };
    let region = CopyRegion::once((136 + 3) * 4, 0, 128 * 4);
    assert_eq!(copy.regions, [CopyRegion { repeat, ..region }]);
    assert_eq!((copy.source, copy.destination), (Slot::Input(0), Slot::Output(0)));
    assert_eq!(plan.strategy, Strategy::RowCopies);
}

#[test]
fn rows_are_copied_where_that_is_preferred_or_worth_it() {
    let strategy = |width, tuning, transfer| rows(width, tuning, transfer).strategy;
    let usual = |width, tuning| strategy(width, tuning, TransferUse::Allowed);
    let (tuning, forced) = (Tuning::new(), |strategy| Tuning::new().with_strategy(strategy));
    assert_eq!(usual(127, tuning), Strategy::Kernel);
    assert_eq!(usual(127, forced(Strategy::RowCopies)), Strategy::RowCopies);
    assert_eq!(usual(128, forced(Strategy::Kernel)), Strategy::Kernel);
    assert_eq!(usual(128, tuning.with_most_regions(4)), Strategy::RowCopies);
    assert_eq!(usual(128, tuning.with_most_regions(3)), Strategy::Kernel);
    assert_eq!(strategy(128, tuning, TransferUse::StorageOnly), Strategy::Kernel);
}
