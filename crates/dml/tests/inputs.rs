//! Operators with an input, as a user of the library executes them: apart, in place, and with an
//! input that the runtime owns.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::on_every_device;
use dml::{
    Buffer, BufferBinding, CompiledOperator, DataType, Device, DiagonalMatrix1Desc, Error, HResult,
    TensorDesc, TensorFlags,
};

fn tensor() -> TensorDesc {
    TensorDesc::packed(DataType::Int32, &[3, 3])
}

fn owned() -> TensorDesc {
    TensorDesc { flags: TensorFlags::OWNED_BY_DML, ..tensor() }
}

/// Zeros above the diagonal of `input`, or of zeros.
fn lower_triangle(device: &Device, input: Option<TensorDesc>) -> CompiledOperator {
    let desc = DiagonalMatrix1Desc {
        input_tensor: input,
        output_tensor: tensor(),
        value_data_type: DataType::Int32,
        value: 0i32.into(),
        diagonal_fill_begin: 1,
        diagonal_fill_end: i32::MAX,
    };
    device.compile(desc).unwrap()
}

fn buffer(device: &Device, elements: [i32; 9]) -> Buffer {
    let buffer = device.create_buffer(64).unwrap();
    let bytes: Vec<u8> = elements.iter().flat_map(|element| element.to_le_bytes()).collect();
    device.vulkan().write_buffer(&buffer, 0, &bytes).unwrap();
    buffer
}

fn bind(buffer: &Buffer) -> Option<BufferBinding<'_>> {
    Some(BufferBinding { buffer, offset: 0, size: 36 })
}

fn read(device: &Device, buffer: &Buffer) -> Vec<i32> {
    device.read(buffer, 0, &tensor()).unwrap()
}

const INPUT: [i32; 9] = [1, 2, 3, 4, 5, 6, 7, 8, 9];
const LOWER: [i32; 9] = [1, 0, 0, 4, 5, 0, 7, 8, 9];

#[test]
fn the_input_is_kept_outside_of_the_band() {
    on_every_device(|device| {
        let operator = lower_triangle(device, Some(tensor()));
        assert_eq!((operator.input_size(0), operator.input_size(1)), (36, 0));
        let (input, output) = (buffer(device, INPUT), buffer(device, [-1; 9]));
        device.execute(&operator, &[bind(&input)], &[bind(&output)]).unwrap();
        assert_eq!(read(device, &output), LOWER);
        assert_eq!(read(device, &input), INPUT);
    });
}

#[test]
fn in_place_the_input_becomes_the_output() {
    on_every_device(|device| {
        let operator = lower_triangle(device, Some(tensor()));
        let both = buffer(device, INPUT);
        device.execute(&operator, &[bind(&both)], &[bind(&both)]).unwrap();
        assert_eq!(read(device, &both), LOWER);
        let shifted = Some(BufferBinding { buffer: &both, offset: 16, size: 36 });
        let error = device.execute(&operator, &[bind(&both)], &[shifted]).unwrap_err();
        assert!(error.is_invalid(), "{error}");
        assert!(error.to_string().contains("or exactly that of InputTensor"), "{error}");
    });
}

#[test]
fn an_input_that_is_left_out_is_bound_to_nothing() {
    on_every_device(|device| {
        let operator = lower_triangle(device, None);
        let output = buffer(device, INPUT);
        device.execute(&operator, &[None], &[bind(&output)]).unwrap();
        assert_eq!(read(device, &output), [0; 9]);
        for inputs in [&[][..], &[bind(&buffer(device, INPUT))]] {
            let error = device.execute(&operator, inputs, &[bind(&output)]).unwrap_err();
            assert!(error.is_invalid(), "{error}");
        }
    });
}

#[test]
fn an_input_is_missed_also_where_the_value_is_everywhere() {
    on_every_device(|device| {
        let desc = DiagonalMatrix1Desc {
            input_tensor: Some(tensor()),
            output_tensor: tensor(),
            value_data_type: DataType::Int32,
            value: 5i32.into(),
            diagonal_fill_begin: i32::MIN,
            diagonal_fill_end: i32::MAX,
        };
        let operator = device.compile(desc).unwrap();
        let (input, output) = (buffer(device, INPUT), buffer(device, [-1; 9]));
        let error = device.execute(&operator, &[None], &[bind(&output)]).unwrap_err();
        let start = "DIAGONAL_MATRIX1: InputTensor: nothing is bound";
        assert!(error.to_string().starts_with(start), "{error}");
        device.execute(&operator, &[bind(&input)], &[bind(&output)]).unwrap();
        assert_eq!(read(device, &output), [5; 9]);
    });
}

#[test]
fn an_owned_input_is_bound_once_and_may_go_then() {
    on_every_device(|device| {
        let operator = lower_triangle(device, Some(owned()));
        assert_eq!(operator.binding_properties().persistent_resource_size, 36);
        let output = buffer(device, [-1; 9]);
        let input = buffer(device, INPUT);
        device.initialize(&operator, &[bind(&input)]).unwrap();
        device.vulkan().write_buffer(&input, 0, &[0xff; 36]).unwrap();
        drop(input);
        for _ in 0..2 {
            device.execute(&operator, &[None], &[bind(&output)]).unwrap();
            assert_eq!(read(device, &output), LOWER);
        }
        // Initializing again replaces what was kept.
        let other = buffer(device, [3; 9]);
        device.initialize(&operator, &[bind(&other)]).unwrap();
        device.execute(&operator, &[None], &[bind(&output)]).unwrap();
        assert_eq!(read(device, &output), [3, 0, 0, 3, 3, 0, 3, 3, 3]);
    });
}

#[test]
fn a_refused_initialization_leaves_nothing_behind() {
    on_every_device(|device| {
        let other = Device::on_with(device.vulkan().physical(), &common::options()).unwrap();
        let operator = lower_triangle(device, Some(owned()));
        let [input, output] = [INPUT, [-1; 9]].map(|elements| buffer(device, elements));
        let foreign = buffer(&other, INPUT);
        let before = [device, &other].map(|it| it.vulkan().memory_report());
        for bound in [&foreign, &input] {
            let error = other.initialize(&operator, &[bind(bound)]).unwrap_err();
            assert!(matches!(error, Error::OtherDevice { operator: "DIAGONAL_MATRIX1" }));
            let text = "DIAGONAL_MATRIX1: compiled for another device (accepted: operators of this \
                        device)";
            assert_eq!((error.to_string().as_str(), error.is_invalid()), (text, true));
        }
        device.initialize(&operator, &[bind(&foreign)]).unwrap_err();
        device.initialize(&operator, &[]).unwrap_err();
        assert_eq!([device, &other].map(|it| it.vulkan().memory_report()), before);

        device.initialize(&operator, &[bind(&input)]).unwrap();
        let error = other.execute(&operator, &[None], &[bind(&output)]).unwrap_err();
        assert!(matches!(error, Error::OtherDevice { .. }), "{error}");
        device.execute(&operator, &[None], &[bind(&output)]).unwrap();
        assert_eq!(read(device, &output), LOWER);
    });
}

#[test]
fn executing_before_initializing_is_refused() {
    on_every_device(|device| {
        let operator = lower_triangle(device, Some(owned()));
        assert!(operator.needs_initialization() && !operator.is_initialized());
        let (input, output) = (buffer(device, INPUT), buffer(device, [-1; 9]));
        let error = device.execute(&operator, &[None], &[bind(&output)]).unwrap_err();
        assert!(matches!(error, Error::NotInitialized { operator: "DIAGONAL_MATRIX1" }));
        assert_eq!(error.hresult(), HResult::E_INVALIDARG);
        assert_eq!(read(device, &output), [-1; 9]);

        // A wrong initialization is none.
        let error = device.initialize(&operator, &[None]).unwrap_err();
        assert!(error.to_string().contains("InputTensor: nothing is bound"), "{error}");
        assert!(!operator.is_initialized());
        let clone = operator.clone();
        device.initialize(&clone, &[bind(&input)]).unwrap();
        assert!(operator.is_initialized());
        let error = device.execute(&operator, &[bind(&input)], &[bind(&output)]).unwrap_err();
        assert!(error.to_string().contains("InputTensor: a buffer is bound"), "{error}");
        device.execute(&operator, &[None], &[bind(&output)]).unwrap();
        assert_eq!(read(device, &output), LOWER);
    });
}

#[test]
fn other_inputs_are_not_bound_at_initialization() {
    on_every_device(|device| {
        let operator = lower_triangle(device, Some(tensor()));
        let input = buffer(device, INPUT);
        let error = device.initialize(&operator, &[bind(&input)]).unwrap_err();
        assert!(error.to_string().contains("not OWNED_BY_DML"), "{error}");
        device.initialize(&operator, &[None]).unwrap();
        device.initialize(&operator, &[]).unwrap();
    });
}
