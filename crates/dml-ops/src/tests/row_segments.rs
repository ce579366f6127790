//! Several work groups share each of few long rows, with the bits of other schedules.

use dml_core::operators::{DynamicQuantizeLinearDesc, ReduceDesc};
use dml_core::{
    AbstractOperator, Capabilities, DataType, FeatureLevel, ReduceFunction, TensorDesc, Tuning,
    validate,
};

use super::row_kernels::{card, dispatches, operators, outputs};
use crate::{Target, TransferUse};

/// Checks that a GPU executes an operator in so many dispatches, with the bits of a CPU driver.
fn check(desc: AbstractOperator, data_type: DataType, count: usize) {
    let [least, card] = [Capabilities::vulkan_minimum(), card()];
    let operator = validate(&desc, FeatureLevel::HIGHEST).unwrap();
    let [alone, groups] = [(&least, Tuning::new()), (&card, Tuning::new().with_shared_tiles())]
        .map(|(capabilities, tuning)| {
            let target = Target { capabilities, tuning, transfer: TransferUse::Allowed };
            let plan = crate::lower(&operator, &target).unwrap();
            let outputs = outputs(&plan, data_type, operator.schema().name, capabilities);
            (dispatches(&plan), outputs)
        });
    let input = operator.required_tensor("InputTensor").unwrap();
    let name = format!("{} {data_type} {:?}", operator.schema().name, input.sizes());
    assert!(groups.1 == alone.1, "{name}");
    assert_eq!(groups.0, count, "{name}");
}

#[test]
fn dynamic_quantization_is_two_dispatches() {
    for (count, data_type) in [
        (2, DataType::Uint8),
        (7, DataType::Int8),
        (8_192, DataType::Uint8),
        (8_193, DataType::Int8),
        (50_257, DataType::Uint8),
        (1 << 22, DataType::Uint8),
        // Work groups join states in several turns.
        ((1 << 23) + 5, DataType::Int8),
    ] {
        let tensor = |data_type, count| TensorDesc::packed(data_type, &[1, count]);
        let desc = DynamicQuantizeLinearDesc {
            input_tensor: tensor(DataType::Float32, count),
            output_tensor: tensor(data_type, count),
            output_scale_tensor: tensor(DataType::Float32, 1),
            output_zero_point_tensor: tensor(data_type, 1),
        };
        check(desc.into(), DataType::Float32, 2);
    }
}

#[test]
fn softmax_and_norms_of_few_long_rows_are_a_dispatch_for_each_reduction_and_one_for_the_result() {
    for (rows, length, data_type) in [
        (1, 8_193, DataType::Float32),
        (3, 16_384, DataType::Float16),
        (2, 50_257, DataType::Float32),
        (31, 9_001, DataType::Float16),
    ] {
        let all = operators(data_type, rows, length);
        // Two reductions each, a greatest element or a mean before a sum; squares of FLOAT16 are summed as they are.
        let of_squares = if data_type == DataType::Float16 { 2 } else { 3 };
        for (desc, count) in all.into_iter().zip([3, 3, of_squares, 3]) {
            check(desc, data_type, count);
        }
    }
}

/// A reduction of rows of adjacent elements.
fn reduction(function: ReduceFunction, data_type: DataType, rows: u32, length: u32) -> ReduceDesc {
    ReduceDesc {
        function,
        input_tensor: TensorDesc::packed(data_type, &[rows, length]),
        output_tensor: TensorDesc::packed(data_type, &[rows, 1]),
        axes: vec![1],
    }
}

#[test]
fn reductions_of_few_long_rows_are_a_dispatch_for_each_pass_and_one_for_the_result() {
    use ReduceFunction::{Average, L2, LogSum, LogSumExp, Max, Multiply, Sum};
    let single = [Sum, Average, Multiply, LogSum, Max].map(|function| (function, 2));
    for (rows, length) in [(1, 8_193), (1, 50_257), (4, 65_536), (5, 20_001)] {
        // A greatest element comes before these sums, but for squares of FLOAT16, which are summed as they are.
        for (function, count) in single.into_iter().chain([(L2, 3), (LogSumExp, 3)]) {
            let desc = reduction(function, DataType::Float32, rows, length);
            check(desc.into(), DataType::Float32, count);
        }
        for (function, count) in [(L2, 2), (LogSumExp, 3)] {
            let desc = reduction(function, DataType::Float16, rows, length);
            check(desc.into(), DataType::Float16, count);
        }
    }
}

#[test]
fn norms_of_rows_that_fit_are_one_dispatch() {
    use ReduceFunction::{L2, LogSumExp};
    let operators =
        [(L2, DataType::Float32), (LogSumExp, DataType::Float32), (LogSumExp, DataType::Float16)];
    for (rows, length) in [(1, 20), (3, 129), (67, 1_000), (2, 8_192), (33, 9_001)] {
        for (function, data_type) in operators {
            check(reduction(function, data_type, rows, length).into(), data_type, 1);
        }
    }
}
