use crate::operators::{
    DepthToSpaceDesc, PaddingDesc, Slice1Desc, SliceDesc, SpaceToDepthDesc, TileDesc,
};
use crate::schema::operator::AbstractOperator;
use crate::tensor::TensorDesc;
use crate::types::enums::PaddingMode;
use crate::types::{DataType, FeatureLevel};
use crate::validate::validate;

fn tensor(sizes: &[u32]) -> TensorDesc {
    TensorDesc::packed(DataType::Float32, sizes)
}

fn at(operator: impl Into<AbstractOperator>, level: FeatureLevel) -> Result<(), String> {
    validate(&operator.into(), level).map(drop).map_err(|error| error.to_string())
}

fn checked(operator: impl Into<AbstractOperator>) -> Result<(), String> {
    at(operator, FeatureLevel::HIGHEST)
}

#[test]
fn a_slice_is_within_its_input() {
    let slice = |output: &[u32], [offset, size, stride]: [u32; 3]| {
        checked(SliceDesc {
            input_tensor: tensor(&[8]),
            output_tensor: tensor(output),
            offsets: vec![offset],
            sizes: vec![size],
            strides: vec![stride],
        })
    };
    let refused = |message: &str| Err(format!("SLICE: {message}"));
    assert_eq!(slice(&[3], [1, 3, 3]), Ok(()));
    assert_eq!(slice(&[1], [7, 1, u32::MAX]), Ok(()));
    assert_eq!(slice(&[3], [1, 3, 0]), refused("Strides: 0 is too small; accepted: any other"));
    assert_eq!(
        slice(&[2], [1, 3, 1]),
        refused("Sizes[0]: 3 differs from OutputTensor's size; accepted: 2")
    );
    assert_eq!(
        slice(&[3], [2, 3, 3]),
        refused(
            "Offsets[0]: 2 makes the slice end at 8, beyond InputTensor.Sizes[0]; \
             accepted: an end before 8"
        )
    );
    assert_eq!(
        slice(&[1, 1], [0, 1, 1]),
        refused(
            "OutputTensor.DimensionCount: 2 differs from InputTensor.DimensionCount; accepted: 1"
        )
    );
}

#[test]
fn a_window_is_within_its_tensor_and_has_what_is_taken() {
    let slice = |output: u32, offset: u32, size: u32, stride: i32| {
        checked(Slice1Desc {
            input_tensor: tensor(&[8]),
            output_tensor: tensor(&[output]),
            input_window_offsets: vec![offset],
            input_window_sizes: vec![size],
            input_window_strides: vec![stride],
        })
    };
    let refused = |message: &str| Err(format!("SLICE1: {message}"));
    assert_eq!(slice(4, 1, 7, -2), Ok(()));
    assert_eq!(slice(1, 7, 1, i32::MIN), Ok(()));
    assert_eq!(
        slice(5, 1, 7, -2),
        refused("OutputTensor.Sizes[0]: 5 elements are more than the window has; accepted: 1 to 4")
    );
    assert_eq!(
        slice(1, u32::MAX, 7, 1),
        refused(
            "InputWindowOffsets[0]: 4294967295 makes the window end at 4294967302, beyond \
             InputTensor.Sizes[0]; accepted: an end up to 8"
        )
    );
    assert_eq!(slice(1, 0, 0, 1), refused("InputWindowSizes: 0 is too small; accepted: any other"));
}

#[test]
fn margins_add_up_and_modes_have_levels() {
    let padding = |output: u32, padding_mode| PaddingDesc {
        input_tensor: tensor(&[1, 1, 1, 3]),
        output_tensor: tensor(&[1, 1, 1, output]),
        padding_mode,
        padding_value: 0.0,
        start_padding: vec![0, 0, 0, 1],
        end_padding: vec![0, 0, 0, 4],
    };
    assert_eq!(at(padding(8, PaddingMode::Edge), FeatureLevel::V1_0), Ok(()));
    assert_eq!(checked(padding(8, PaddingMode::Wrap)), Ok(()));
    let message = "PADDING: OutputTensor.Sizes[3]: 7 is not InputTensor's size plus both paddings; \
                   accepted: 8";
    assert_eq!(checked(padding(7, PaddingMode::Edge)), Err(message.to_owned()));
    for (mode, below, needs) in [
        (PaddingMode::Symmetric, FeatureLevel::V2_1, "3 needs feature level 3_0"),
        (PaddingMode::Wrap, FeatureLevel::V6_3, "4 needs feature level 6_4"),
    ] {
        let error = at(padding(8, mode), below).unwrap_err();
        assert!(error.starts_with(&format!("PADDING: PaddingMode: {needs}")), "{error}");
    }
}

#[test]
fn repeats_and_blocks_make_the_output() {
    let tile = |output: &[u32], repeats: &[u32]| {
        let (input_tensor, output_tensor) = (tensor(&[2, 3]), tensor(output));
        checked(TileDesc { input_tensor, output_tensor, repeats: repeats.to_vec() })
    };
    assert_eq!(tile(&[2, 6], &[1, 2]), Ok(()));
    let message =
        "TILE: OutputTensor.Sizes[1]: 6 is not InputTensor's size times Repeats; accepted: 9";
    assert_eq!(tile(&[2, 6], &[1, 3]), Err(message.to_owned()));
    let message = "TILE: RepeatsCount: 1 differs from InputTensor.DimensionCount; accepted: 2";
    assert_eq!(tile(&[2, 6], &[1]), Err(message.to_owned()));

    let (space, depth) = (tensor(&[1, 2, 4, 6]), tensor(&[1, 8, 2, 3]));
    let to_depth = |input_tensor: &TensorDesc, output_tensor: &TensorDesc, block_size| {
        let (input_tensor, output_tensor) = (input_tensor.clone(), output_tensor.clone());
        checked(SpaceToDepthDesc { input_tensor, output_tensor, block_size })
    };
    assert_eq!(to_depth(&space, &depth, 2), Ok(()));
    let refused = |message: &str| Err(format!("SPACE_TO_DEPTH: {message}"));
    assert_eq!(
        to_depth(&space, &depth, 4),
        refused(
            "InputTensor.Sizes[3]: 6 is not divisible by the block size; accepted: multiples of 4"
        )
    );
    assert_eq!(
        to_depth(&space, &space, 2),
        refused("OutputTensor.Sizes[1]: 2 does not match InputTensor and BlockSize; accepted: 8")
    );
    assert_eq!(
        to_depth(&space, &depth, 0),
        refused("BlockSize: 0 is too small; accepted: any other")
    );
    let to_space = DepthToSpaceDesc { input_tensor: depth, output_tensor: space, block_size: 2 };
    assert_eq!(checked(to_space), Ok(()));
}
