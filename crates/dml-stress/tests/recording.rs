//! Recording compiled element-wise operators allocates nothing, in place as well.
#![allow(clippy::unwrap_used, reason = "a failure is what a test reports")]
#![allow(unsafe_code, reason = "a counting allocator")]

mod common;
#[path = "../../dml-vk/tests/common/counting.rs"]
mod counting;

use common::{OFFSET, buffer, each_device, part};
use counting::allocations;
use dml::vk::{BindingTable, Bindings, Buffer, Recorder};
use dml::{
    AbstractOperator, CapabilityCap, CastDesc, DataType, Device, DeviceOptions, ElementWiseAddDesc,
    TensorDesc,
};

/// Elements of every tensor: in a single row they take two dispatches, whole quads and the rest.
const SIZES: [u32; 2] = [59, 71];
const ELEMENTS: usize = 59 * 71;

fn add(data_type: DataType, b_strides: [u32; 2]) -> AbstractOperator {
    let whole = TensorDesc::packed(data_type, &SIZES);
    let b_tensor = whole.clone().with_strides(&b_strides);
    ElementWiseAddDesc { a_tensor: whole.clone(), b_tensor, output_tensor: whole }.into()
}

fn cast(from: DataType, to: DataType) -> AbstractOperator {
    let [input_tensor, output_tensor] = [from, to].map(|it| TensorDesc::packed(it, &SIZES));
    CastDesc { input_tensor, output_tensor }.into()
}

/// The tables of an operator with these inputs, one for each output.
fn tables(
    device: &Device,
    operator: AbstractOperator,
    inputs: &[&Buffer],
    outputs: &[&Buffer],
) -> Vec<BindingTable> {
    let compiled = device.compile(operator).unwrap();
    let bind = |inputs: &[&Buffer], output: &Buffer| {
        let inputs: Vec<_> = inputs.iter().map(|it| part(it)).collect();
        let bindings =
            Bindings { inputs: &inputs, outputs: &[part(output)], ..Bindings::default() };
        BindingTable::new(compiled.vulkan(), &bindings).unwrap()
    };
    outputs.iter().map(|output| bind(inputs, output)).collect()
}

#[test]
fn recording_element_wise_operators_allocates_nothing() {
    each_device(|vulkan| {
        let options = DeviceOptions { cap: Some(CapabilityCap::NONE), ..DeviceOptions::default() };
        let device = Device::from_vulkan(vulkan.clone(), &options).unwrap();
        let floats = |value: f32| buffer(vulkan, &value.to_le_bytes().repeat(ELEMENTS));
        let [a, b, c] = [1.0, 2.0, 4.0].map(floats);
        let (whole, repeated) = ([71, 1], [0, 1]);
        let other = buffer(vulkan, &vec![0; 4 * ELEMENTS]);
        // Sums apart, in place of either input and of both, of a repeated row, of bytes, and casts.
        let all = [
            tables(&device, add(DataType::Float32, whole), &[&a, &b], &[&c, &a, &b]),
            tables(&device, add(DataType::Float32, whole), &[&c, &c], &[&c]),
            tables(&device, add(DataType::Float32, repeated), &[&a, &b], &[&other, &a]),
            tables(&device, add(DataType::Int8, whole), &[&other, &other], &[&other]),
            tables(&device, cast(DataType::Float32, DataType::Float16), &[&c], &[&other]),
            tables(&device, cast(DataType::Float16, DataType::Int8), &[&other], &[&b]),
        ]
        .concat();
        let mut recorder = Recorder::new(vulkan).unwrap();
        recorder.reserve(all.len()).unwrap();
        let before = allocations();
        for table in &all {
            recorder.dispatch(table).unwrap();
            // The next one reads or writes the same buffers.
            recorder.barrier_all();
        }
        assert_eq!(allocations(), before, "recording allocates");
        vulkan.submit(recorder.finish().unwrap()).unwrap().wait().unwrap();
        // 1 + 2, doubled in place.
        let found = vulkan.read_buffer(&c, OFFSET..c.size()).unwrap();
        assert_eq!(found, 6.0_f32.to_le_bytes().repeat(ELEMENTS));
    });
}
