//! The library as a user calls it, on every device.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{diagonal, execute, on_every_device};
use dml::{
    Buffer, BufferBinding, CompiledOperator, DataType, Device, Element, ExecutionFlags, TensorDesc,
    f16,
};

fn compile(device: &Device, tensor: &TensorDesc, offset: i32, value: f32) -> CompiledOperator {
    device.compile(diagonal(tensor, offset, value)).unwrap()
}

fn eye<T: Element>(device: &Device, sizes: &[u32], offset: i32, value: f32) -> Vec<T> {
    let tensor = TensorDesc::packed(T::DATA_TYPE, sizes);
    let buffer = execute(device, &compile(device, &tensor, offset, value));
    device.read(&buffer, 0, &tensor).unwrap()
}

#[test]
fn every_data_type_is_read_back_as_its_rust_type() {
    on_every_device(|device| {
        assert_eq!(eye::<f32>(device, &[2, 2], 0, -1.5), [-1.5, 0.0, 0.0, -1.5]);
        assert_eq!(eye::<f64>(device, &[1, 2], 1, 0.1), [0.0, f64::from(0.1f32)]);
        assert_eq!(eye::<f16>(device, &[1, 2], 0, 0.5), [f16::from_f32(0.5), f16::ZERO]);
        assert_eq!(eye::<u64>(device, &[2, 1], -1, 1e10), [0, 10_000_000_000]);
        assert_eq!(eye::<i64>(device, &[2, 1], 0, -1e10), [-10_000_000_000, 0]);
        assert_eq!(eye::<u32>(device, &[1, 2], 0, 3e9), [3_000_000_000, 0]);
        assert_eq!(eye::<i32>(device, &[1, 2], 0, -10.6), [-10, 0]);
        assert_eq!(eye::<u16>(device, &[1, 3], 2, 7.0), [0, 0, 7]);
        assert_eq!(eye::<i16>(device, &[1, 3], 1, -7.0), [0, -7, 0]);
        assert_eq!(eye::<u8>(device, &[1, 5], 4, 255.0), [0, 0, 0, 0, 255]);
        assert_eq!(eye::<i8>(device, &[1, 5], 3, -128.0), [0, 0, 0, -128, 0]);
    });
}

#[test]
fn strided_outputs_are_read_in_logical_order() {
    on_every_device(|device| {
        let tensor = TensorDesc::packed(DataType::Int16, &[2, 3]).with_strides(&[1, 3]);
        let buffer = execute(device, &compile(device, &tensor, 1, 5.0));
        let elements: Vec<i16> = device.read(&buffer, 0, &tensor).unwrap();
        assert_eq!(elements, [0, 5, 0, 0, 0, 5]);
    });
}

#[test]
fn several_operators_share_a_buffer_at_any_multiple_of_16() {
    on_every_device(|device| {
        let tensor = TensorDesc::packed(DataType::Uint8, &[3, 3]);
        let buffer = device.create_buffer(1024).unwrap();
        let bind = |offset| Some(BufferBinding { buffer: &buffer, offset, size: 12 });
        let tickets: Vec<_> = (0..4u8)
            .map(|index| {
                let operator = compile(device, &tensor, 0, f32::from(index + 1));
                let offset = u64::from(index) * 16;
                device.submit(&operator, &[], &[bind(offset)]).unwrap()
            })
            .collect();
        for ticket in tickets {
            ticket.wait().unwrap();
            assert!(ticket.is_complete().unwrap());
        }
        for index in 0..4u8 {
            let value = index + 1;
            let found: Vec<u8> = device.read(&buffer, u64::from(index) * 16, &tensor).unwrap();
            assert_eq!(found, [value, 0, 0, 0, value, 0, 0, 0, value]);
        }
    });
}

#[test]
fn one_compiled_operator_is_executed_from_several_threads() {
    on_every_device(|device| {
        let tensor = TensorDesc::packed(DataType::Float32, &[64, 64]);
        let operator = compile(device, &tensor, 3, 2.0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..8 {
                        let buffer = execute(device, &operator);
                        let found: Vec<f32> = device.read(&buffer, 0, &tensor).unwrap();
                        assert_eq!(found.iter().sum::<f32>(), 122.0);
                    }
                });
            }
        });
    });
}

#[test]
fn objects_may_be_dropped_in_any_order_while_in_flight() {
    on_every_device(|device| {
        let device = device.clone();
        let tensor = TensorDesc::packed(DataType::Int32, &[512, 512]);
        let operator = compile(&device, &tensor, 0, 1.0);
        let buffer: Buffer = device.create_buffer(operator.output_size(0)).unwrap();
        let ticket = device.submit(&operator, &[], &[Some(BufferBinding::whole(&buffer))]).unwrap();
        drop(buffer);
        drop(operator);
        drop(device);
        ticket.wait().unwrap();
    });
}

#[test]
fn initialization_is_a_no_op_without_a_persistent_resource() {
    on_every_device(|device| {
        let tensor = TensorDesc::packed(DataType::Int32, &[2, 2]);
        let operator = compile(device, &tensor, 0, 1.0);
        let properties = operator.binding_properties();
        assert_eq!(properties.temporary_resource_size, 0);
        assert_eq!(properties.persistent_resource_size, 0);
        assert!(!operator.needs_initialization());
        device.initialize(&operator, &[]).unwrap();
    });
}

#[test]
fn execution_flags_are_checked() {
    on_every_device(|device| {
        let compile = |flags| {
            let tensor = TensorDesc::packed(DataType::Int32, &[2, 2]);
            device.compile_with(diagonal(&tensor, 0, 1.0), flags)
        };
        assert!(compile(ExecutionFlags::from_bits(7)).is_ok());
        let error = compile(ExecutionFlags::from_bits(8)).unwrap_err();
        assert!(error.is_invalid() && error.to_string().contains("accepted: 0 to 7"), "{error}");
    });
}
