use crate::operators::{ActivationSoftmax1Desc, ActivationSoftmaxDesc, JoinDesc, SplitDesc};
use crate::schema::operator::AbstractOperator;
use crate::tensor::TensorDesc;
use crate::types::{DataType, FeatureLevel};
use crate::validate::validate;

fn tensors(sizes: &[&[u32]]) -> Vec<TensorDesc> {
    sizes.iter().map(|sizes| TensorDesc::packed(DataType::Float32, sizes)).collect()
}

fn checked(operator: impl Into<AbstractOperator>) -> Result<(), String> {
    let checked = validate(&operator.into(), FeatureLevel::HIGHEST);
    checked.map(drop).map_err(|error| error.to_string())
}

#[test]
fn parts_have_the_sizes_of_the_whole_and_add_up_along_the_axis() {
    let join = |parts: &[&[u32]], whole: &[u32], axis| {
        let output_tensor = tensors(&[whole]).remove(0);
        checked(JoinDesc { input_tensors: tensors(parts), output_tensor, axis })
    };
    assert_eq!(join(&[&[2, 3], &[2, 1]], &[2, 4], 1), Ok(()));
    assert_eq!(join(&[&[4]], &[4], 0), Ok(()));
    for (parts, whole, axis, message) in [
        (
            &[&[2, 3][..]][..],
            &[2, 3][..],
            2,
            "Axis: 2 is not a dimension of OutputTensor; accepted: 0 to 1",
        ),
        (
            &[&[2, 3], &[1, 2, 1]],
            &[2, 4],
            1,
            "InputTensors[1].DimensionCount: 3 differs from OutputTensor.DimensionCount; accepted: 2",
        ),
        (
            &[&[2, 3], &[3, 1]],
            &[2, 4],
            1,
            "InputTensors[1].Sizes[0]: 3 differs from OutputTensor.Sizes[0]; accepted: 2",
        ),
        (
            &[&[2, 3], &[2, 2]],
            &[2, 4],
            1,
            "OutputTensor.Sizes[1]: 4 is not the sum of the sizes of the parts; accepted: 5",
        ),
    ] {
        assert_eq!(join(parts, whole, axis), Err(format!("JOIN: {message}")));
    }
}

#[test]
fn axes_are_dimensions_and_stand_once() {
    let softmax = |sizes: &[u32], axes: &[u32]| {
        let [input_tensor, output_tensor] = [sizes; 2].map(|it| tensors(&[it]).remove(0));
        checked(ActivationSoftmax1Desc { input_tensor, output_tensor, axes: axes.to_vec() })
    };
    assert_eq!(softmax(&[2, 3, 4], &[2, 0]), Ok(()));
    assert_eq!(softmax(&[2, 3, 4], &[]), Ok(()));
    let refused = |message: &str| Err(format!("ACTIVATION_SOFTMAX1: {message}"));
    let beyond = "Axes[1]: 3 is not a dimension of InputTensor; accepted: each of 0 to 2 once";
    assert_eq!(softmax(&[2, 3, 4], &[0, 3]), refused(beyond));
    let twice = "Axes[1]: 1 is listed twice; accepted: each of 0 to 2 once";
    assert_eq!(softmax(&[2, 3, 4], &[1, 1]), refused(twice));
}

#[test]
fn rows_without_axes_are_in_two_dimensions() {
    let softmax = |sizes: &[u32]| {
        let [input_tensor, output_tensor] = [sizes; 2].map(|it| tensors(&[it]).remove(0));
        checked(ActivationSoftmaxDesc { input_tensor, output_tensor })
    };
    assert_eq!(softmax(&[1, 1, 2, 3]), Ok(()));
    assert_eq!(softmax(&[7]), Ok(()));
    let message = "InputTensor.Sizes[1]: 2 is before the last two dimensions, where all sizes must be 1; accepted: 1";
    assert_eq!(softmax(&[1, 2, 3, 4]), Err(format!("ACTIVATION_SOFTMAX: {message}")));
}

#[test]
fn sizes_that_add_up_to_more_than_32_bits_are_no_whole() {
    let input_tensor = tensors(&[&[1 << 31]]).remove(0);
    let output_tensors = tensors(&[&[1 << 31], &[1 << 31], &[1 << 31]]);
    let message = checked(SplitDesc { input_tensor, output_tensors, axis: 0 }).unwrap_err();
    assert!(message.ends_with("sizes of the parts; accepted: 6442450944"), "{message}");
}
