//! Tensors that the host writes and reads, and operators that are initialized together.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::on_every_device;
use dml::{
    BufferBinding, CompiledOperator, DataType, Device, ElementWiseAddDesc, Error, Initialization,
    TensorDesc, TensorFlags,
};

#[test]
fn a_tensor_is_written_and_read_in_logical_order() {
    on_every_device(|device| {
        let buffer = device.create_buffer(64).unwrap();
        device.vulkan().write_buffer(&buffer, 0, &[0xEE; 64]).unwrap();
        // Columns of three elements, of which the last one is padding.
        let tensor = TensorDesc::packed(DataType::Int16, &[2, 3]).with_strides(&[1, 3]);
        device.write(&buffer, 16, &tensor, &[1_i16, 2, 3, 4, 5, 6]).unwrap();
        let mut found = [0_i16; 6];
        device.read_into(&buffer, 16, &tensor, &mut found).unwrap();
        assert_eq!(found, [1, 2, 3, 4, 5, 6]);
        assert_eq!(device.read::<i16>(&buffer, 16, &tensor).unwrap(), found);
        let whole = TensorDesc::packed(DataType::Int16, &[10]);
        let gap = i16::from_le_bytes([0xEE; 2]);
        let expected = [gap, 1, 4, gap, 2, 5, gap, 3, 6, gap];
        assert_eq!(device.read::<i16>(&buffer, 14, &whole).unwrap(), expected);
        let packed = TensorDesc::packed(DataType::Float64, &[3]);
        device.write(&buffer, 32, &packed, &[1.5, -2.5, f64::MAX]).unwrap();
        assert_eq!(device.read::<f64>(&buffer, 32, &packed).unwrap(), [1.5, -2.5, f64::MAX]);
    });
}

#[test]
fn what_does_not_fit_the_tensor_is_refused() {
    on_every_device(|device| {
        let buffer = device.create_buffer(64).unwrap();
        let tensor = TensorDesc::packed(DataType::Int32, &[4]);
        let error = device.write(&buffer, 0, &tensor, &[1_i32, 2, 3]).unwrap_err();
        assert_eq!(error.to_string(), "3 elements for a tensor of 4 (accepted: 4)");
        assert!(error.is_invalid());
        let error = device.read_into(&buffer, 0, &tensor, &mut [0_i32; 5]).unwrap_err();
        assert!(matches!(error, Error::ElementCount { given: 5, needed: 4 }), "{error}");
        let error = device.write(&buffer, 0, &tensor, &[1.0_f32; 4]).unwrap_err();
        assert!(matches!(error, Error::ElementType { .. }), "{error}");
        let repeated = tensor.with_strides(&[0]);
        let error = device.write(&buffer, 0, &repeated, &[1_i32; 4]).unwrap_err();
        assert!(matches!(error, Error::Tensor(_)), "{error}");
    });
}

fn tensor() -> TensorDesc {
    TensorDesc::packed(DataType::Float32, &[5])
}

/// An operator that adds to an owned input.
fn add_to_owned(device: &Device) -> CompiledOperator {
    let a_tensor = TensorDesc { flags: TensorFlags::OWNED_BY_DML, ..tensor() };
    let desc = ElementWiseAddDesc { a_tensor, b_tensor: tensor(), output_tensor: tensor() };
    device.compile(desc).unwrap()
}

#[test]
fn operators_are_initialized_together() {
    on_every_device(|device| {
        let [first, second] = [(); 2].map(|()| add_to_owned(device));
        let floats = |values: [f32; 5]| {
            let buffer = device.create_buffer(20).unwrap();
            device.write(&buffer, 0, &tensor(), &values).unwrap();
            buffer
        };
        let whole = BufferBinding::whole;
        let (ones, twos) = (floats([1.0; 5]), floats([2.0; 5]));
        let [ones_bound, twos_bound] = [&ones, &twos].map(|it| [Some(whole(it)), None]);
        let one = Initialization { operator: &first, inputs: &ones_bound };
        let two = Initialization { operator: &second, inputs: &twos_bound };
        let error = device.initialize_all(&[one, two, one]).unwrap_err();
        assert!(error.is_invalid() && error.to_string().contains("twice"), "{error}");
        assert!(!first.is_initialized() && !second.is_initialized());
        device.initialize_all(&[one, two]).unwrap();
        device.initialize_all(&[]).unwrap();
        let (value, sum) = (floats([0.5, 1.5, 2.5, 3.5, 4.5]), floats([0.0; 5]));
        for (operator, expected) in
            [(&first, [1.5, 2.5, 3.5, 4.5, 5.5]), (&second, [2.5, 3.5, 4.5, 5.5, 6.5])]
        {
            device.execute(operator, &[None, Some(whole(&value))], &[Some(whole(&sum))]).unwrap();
            assert_eq!(device.read::<f32>(&sum, 0, &tensor()).unwrap(), expected);
        }
    });
}
