//! Linked kernels are freed with the operators and pipelines that use them. Alone in its process, where nobody else
//! uses the kernels.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test tells, and may panic")]

mod common;

use std::sync::{Arc, Weak};

use common::on_every_device;
use dml::core::kernel::{KernelModule, Shared};
use dml::core::plan::Step;
use dml::{CastDesc, CompiledOperator, DataType, Device, TensorDesc};

/// The most bytes of kernels without a user that are kept.
const MOST_KEPT: usize = 1 << 20;

const TYPES: [DataType; 11] = [
    DataType::Float64,
    DataType::Float32,
    DataType::Float16,
    DataType::Int64,
    DataType::Int32,
    DataType::Int16,
    DataType::Int8,
    DataType::Uint64,
    DataType::Uint32,
    DataType::Uint16,
    DataType::Uint8,
];

/// A cast from each type to each other, of elements in a row, apart, and repeated.
fn compile_all(device: &Device) -> Vec<CompiledOperator> {
    let pairs = TYPES.into_iter().flat_map(|from| TYPES.map(|to| [from, to]));
    let cast = |[from, to]: [DataType; 2], strides: &[u32]| CastDesc {
        input_tensor: TensorDesc::packed(from, &[16, 16]).with_strides(strides),
        output_tensor: TensorDesc::packed(to, &[16, 16]),
    };
    let of_pair = |pair| [[16, 1], [1, 16], [0, 1]].map(|strides| cast(pair, &strides));
    let descs = pairs.filter(|[from, to]| from != to).flat_map(of_pair);
    descs.map(|desc| device.compile(desc).unwrap()).collect()
}

/// The linked kernels of an operator's plan.
fn linked(operator: &CompiledOperator) -> Vec<Weak<KernelModule>> {
    let kernel = |step: &Step| match step {
        Step::Dispatch(dispatch) => match &dispatch.kernel.variant {
            Shared::Counted(kernel) => Some(Arc::downgrade(kernel)),
            Shared::Static(_) => None,
        },
        _ => None,
    };
    operator.vulkan().plan().steps().filter_map(kernel).collect()
}

/// The bytes of the kernels that are alive, each counted once.
fn live_bytes(kernels: &[Weak<KernelModule>]) -> usize {
    let live = kernels.iter().filter_map(Weak::upgrade);
    let bytes: std::collections::HashMap<u128, usize> =
        live.map(|kernel| (kernel.identity(), kernel.spirv.len())).collect();
    bytes.into_values().sum()
}

#[test]
fn linked_kernels_are_freed_with_operators_and_pipelines() {
    on_every_device(|device| {
        let operators = compile_all(device);
        let kernels: Vec<_> = operators.iter().flat_map(linked).collect();
        let all = live_bytes(&kernels);
        drop(operators);
        // Pipelines are kept for later operators, with their kernels.
        assert_eq!(live_bytes(&kernels), all);
        device.vulkan().trim();
        let kept = live_bytes(&kernels);
        println!("{all} bytes of kernels, {kept} of them kept");
        assert!(all > MOST_KEPT * 3 / 2 && kept <= MOST_KEPT, "{kept} of {all} bytes are alive");
    });
}
