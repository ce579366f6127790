//! How many steps operators of training have.

use dml_core::operators::{
    AdamOptimizerDesc, BatchNormalizationGradDesc, BatchNormalizationTrainingDesc,
    BatchNormalizationTrainingGradDesc,
};
use dml_core::plan::InPlace;
use dml_core::{AbstractOperator, DataType, TensorDesc, Tuning};

use crate::TransferUse;
use crate::tests::lower_with;

const PICTURES: [u32; 4] = [8, 16, 12, 12];
const CHANNELS: [u32; 4] = [1, 16, 1, 1];

fn tensor(sizes: &[u32]) -> TensorDesc {
    TensorDesc::packed(DataType::Float32, sizes)
}

#[test]
fn an_optimizer_is_a_map_for_each_output_and_one_for_the_rate() {
    let parameters = || tensor(&[1000]);
    let desc = AdamOptimizerDesc {
        input_parameters_tensor: parameters(),
        input_first_moment_tensor: parameters(),
        input_second_moment_tensor: parameters(),
        gradient_tensor: parameters(),
        training_step_tensor: TensorDesc::packed(DataType::Uint32, &[1]),
        output_parameters_tensor: parameters(),
        output_first_moment_tensor: parameters(),
        output_second_moment_tensor: parameters(),
        learning_rate: 0.01,
        beta1: 0.9,
        beta2: 0.999,
        epsilon: 1e-8,
    };
    let plan = lower_with(desc, Tuning::new(), TransferUse::StorageOnly);
    assert_eq!((plan.exec.len(), plan.temporary_size), (4, 4));
    // Each input is read for the last time before the output is written, or where it is.
    let mut pairs: Vec<_> = plan.in_place.iter().map(InPlace::pair).collect();
    pairs.sort_unstable();
    assert_eq!(pairs, [(0, 0), (1, 0), (1, 1), (1, 2), (2, 0), (2, 2), (3, 0), (3, 2)]);
}

/// Rows and columns are read by a dispatch for each reduction, channels of pictures by one for each of their dimensions.
#[test]
fn batches_are_normalized_without_a_copy() {
    for (all, row, expected) in [
        (&[16, 100][..], &[16, 1][..], [4, 5, 9]),
        (&[100, 16], &[1, 16], [4, 5, 9]),
        (&PICTURES, &CHANNELS, [8, 9, 17]),
    ] {
        let (all, row) = (|| tensor(all), || tensor(row));
        let normalization = BatchNormalizationTrainingDesc {
            input_tensor: all(),
            scale_tensor: row(),
            bias_tensor: row(),
            fused_add_tensor: None,
            output_tensor: all(),
            output_mean_tensor: row(),
            output_variance_tensor: row(),
            epsilon: 1e-5,
            fused_activation: None,
        };
        let gradient = BatchNormalizationGradDesc {
            input_tensor: all(),
            input_gradient_tensor: all(),
            mean_tensor: row(),
            variance_tensor: row(),
            scale_tensor: row(),
            output_gradient_tensor: all(),
            output_scale_gradient_tensor: row(),
            output_bias_gradient_tensor: row(),
            epsilon: 1e-5,
        };
        let in_training = BatchNormalizationTrainingGradDesc {
            input_tensor: all(),
            input_gradient_tensor: all(),
            mean_tensor: row(),
            variance_tensor: row(),
            scale_tensor: row(),
            output_gradient_tensor: all(),
            output_scale_gradient_tensor: row(),
            output_bias_gradient_tensor: row(),
            epsilon: 1e-5,
        };
        let operators: [AbstractOperator; 3] =
            [normalization.into(), gradient.into(), in_training.into()];
        let plans =
            operators.map(|operator| lower_with(operator, Tuning::new(), TransferUse::StorageOnly));
        assert_eq!(plans.each_ref().map(|it| it.exec.len()), expected);
        // Numbers for each row, and for each part of one, but no copy of a tensor.
        let bytes: u32 = 4 * all().sizes.iter().product::<u32>();
        assert!(plans.iter().all(|plan| plan.temporary_size < u64::from(bytes)), "{expected:?}");
    }
}
