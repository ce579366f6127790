//! Devices whose buffers hold a tensor, but no padded or widened copy of it.

use dml_core::host::{HostMemory, interpret};
use dml_core::operators::ConvolutionDesc;
use dml_core::plan::Plan;
use dml_core::{
    AbstractOperator, Capabilities, DataType, MatrixTransform, TensorDesc, TensorFlags, Tuning,
};
use dml_reference::descriptors::{convolution, gemm};

use super::{check_operators, lower_for};
use crate::families::{attention, convolution as convolutions, matmul, quantization};
use crate::{Target, TransferUse};

/// A device with buffers of at most `most` bytes.
fn with_buffers(most: u64) -> Capabilities {
    let mut capabilities = Capabilities::vulkan_minimum();
    capabilities.limits.max_memory_allocation_size = most;
    capabilities
}

fn plan(desc: &AbstractOperator, capabilities: &Capabilities) -> Plan {
    let target = Target { capabilities, tuning: Tuning::new(), transfer: TransferUse::Allowed };
    lower_for(desc.clone(), &target)
}

/// The bytes of the largest piece of the temporary and the persistent resource.
fn largest_piece(plan: &Plan) -> u64 {
    let pieces = plan.temporary_pieces().into_iter().chain(plan.persistent_pieces());
    pieces.map(|it| it.end - it.start).max().unwrap_or(0)
}

/// The outputs on the host, of small numbers in FLOAT32 and in FLOAT16.
fn outputs(plan: &Plan) -> Vec<Vec<u8>> {
    let mut memory = HostMemory::for_plan(plan);
    for buffer in memory.inputs.iter_mut().flatten() {
        let numbers = (0..64u8).map(|it| it.wrapping_mul(7) % 64).cycle();
        for (pair, number) in buffer.bytes.chunks_exact_mut(2).zip(numbers) {
            pair.copy_from_slice(&[number, 0x3c]);
        }
    }
    let capabilities = Capabilities::vulkan_minimum();
    interpret(&plan.init, &mut memory, &capabilities).unwrap();
    interpret(&plan.exec, &mut memory, &capabilities).unwrap();
    memory.outputs.iter().flatten().map(|output| output.bytes.clone()).collect()
}

fn packed(data_type: DataType, sizes: &[u32]) -> TensorDesc {
    TensorDesc::packed(data_type, sizes)
}

/// Convolutions of an image [channels, 40, 40] with margins of one element, and with strides and dilations.
fn convolutions_of(data_type: DataType, channels: u32, groups: u32) -> [ConvolutionDesc; 2] {
    let input = packed(data_type, &[1, channels, 40, 40]);
    let filter = packed(data_type, &[8, channels / groups, 3, 3]);
    [(1, 1, 40), (2, 3, 18)].map(|(stride, dilation, size)| ConvolutionDesc {
        strides: vec![stride; 2],
        dilations: vec![dilation; 2],
        start_padding: vec![1; 2],
        end_padding: vec![1; 2],
        group_count: groups,
        ..convolution([input.clone(), filter.clone(), packed(data_type, &[1, 8, size, size])])
    })
}

/// A product [rows, 64] by [64, 96], of which one factor or both are weights.
fn product(data_type: DataType, trans_b: MatrixTransform, is_owned: bool) -> AbstractOperator {
    let b = match trans_b {
        MatrixTransform::None => [1, 1, 64, 96],
        MatrixTransform::Transpose => [1, 1, 96, 64],
    };
    let flags = if is_owned { TensorFlags::OWNED_BY_DML } else { TensorFlags::NONE };
    let b = TensorDesc { flags, ..packed(data_type, &b) };
    let [a, output] = [64, 96].map(|columns| packed(data_type, &[1, 1, 32, columns]));
    gemm([a, b, output], trans_b).into()
}

#[test]
fn copies_of_a_factor_take_several_buffers() {
    let float = DataType::Float32;
    let images =
        [(4, 1), (8, 8)].map(|(channels, groups)| convolutions_of(float, channels, groups));
    let mut all: Vec<(AbstractOperator, u64)> = vec![];
    for (desc, channels) in
        images.into_iter().zip([4, 8]).flat_map(|(it, of)| it.map(|it| (it, of)))
    {
        all.push((desc.into(), channels * 40 * 40 * 4));
    }
    for trans_b in [MatrixTransform::None, MatrixTransform::Transpose] {
        for is_owned in [false, true] {
            all.push((product(float, trans_b, is_owned), 64 * 96 * 4));
            // The words of all sums, or half of those of the factor.
            all.push((product(DataType::Float16, trans_b, is_owned), 64 * 96 * 2));
        }
    }
    let mut larger = 0;
    for (desc, largest_tensor) in all {
        let (whole, capped) = (
            plan(&desc, &Capabilities::vulkan_minimum()),
            plan(&desc, &with_buffers(largest_tensor)),
        );
        let found = largest_piece(&capped);
        assert!(found <= largest_tensor, "{desc:?}: {found} of {largest_tensor}");
        assert_eq!(outputs(&capped), outputs(&whole), "{desc:?}");
        larger += usize::from(largest_piece(&whole) > largest_tensor);
    }
    assert!(larger >= 8, "{larger}");
}

#[test]
fn products_are_what_the_reference_says_in_pieces() {
    let families =
        [attention::OPERATORS, convolutions::OPERATORS, matmul::OPERATORS, quantization::OPERATORS];
    let devices = [256, 1024, 4096].map(with_buffers);
    let targets = devices.each_ref().map(|capabilities| Target {
        capabilities,
        tuning: Tuning::new(),
        transfer: TransferUse::Allowed,
    });
    check_operators(families.concat(), &targets);
}
