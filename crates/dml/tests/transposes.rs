//! Transpositions: tiles in shared memory and the plain kernel give the same bytes on every device, and leave guards
//! and padding unchanged.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::band::pseudo_random;
use common::on_every_device;
use dml::core::operators::ElementWiseIdentityDesc;
use dml::core::{Strategy, Tuning};
use dml::{BufferBinding, DataType, Device, TensorDesc, TensorLayout};
use dml_reference::{Output, Tensor, elements_in};

/// Sizes around the sides of tiles.
const SIZES: [u32; 6] = [1, 31, 32, 33, 64, 100];

/// The offset of tensors in bytes, which is not a valid offset of a descriptor.
const MOVED: u64 = 48;

/// Copies an input to an output of the same sizes, and returns the plan's strategy.
fn check(device: &Device, input: &TensorDesc, output: &TensorDesc) -> Strategy {
    let desc = ElementWiseIdentityDesc {
        input_tensor: input.clone(),
        output_tensor: output.clone(),
        scale_bias: None,
    };
    let operator = device.compile(desc).unwrap();
    let bytes = pseudo_random(operator.input_size(0));
    let layouts = [input, output].map(|it| TensorLayout::new(it).unwrap());
    let elements = elements_in(&layouts[0], &bytes);
    let [_, layout] = layouts;
    let from = Tensor::guarded(16, &bytes);
    let expected =
        Output::exact(Tensor::unwritten(MOVED, operator.output_size(0)), layout, elements);
    let buffer = |bytes: &[u8]| {
        let buffer = device.create_buffer(bytes.len() as u64).unwrap();
        device.vulkan().write_buffer(&buffer, 0, bytes).unwrap();
        buffer
    };
    let (source, destination) = (buffer(&from.before), buffer(&expected.tensor.before));
    let bind = |buffer, tensor: &Tensor| {
        Some(BufferBinding { buffer, offset: tensor.offset, size: tensor.size })
    };
    let (at_input, at_output) = (bind(&source, &from), bind(&destination, &expected.tensor));
    device.execute(&operator, &[at_input], &[at_output]).unwrap();
    let found = device.vulkan().read_buffer(&destination, 0..destination.size()).unwrap();
    let strategy = operator.vulkan().plan().strategy;
    expected.check(&found).unwrap_or_else(|difference| {
        panic!(
            "{}: {strategy} of {input:?} to {output:?}: {difference}",
            device.vulkan().info().name
        )
    });
    strategy
}

/// Tensors that transpose a matrix of `x` columns and `y` rows of the input to the output's rows and columns.
fn tensors(data_type: DataType, [x, y]: [u32; 2]) -> Vec<[TensorDesc; 2]> {
    let packed = |sizes: &[u32]| TensorDesc::packed(data_type, sizes);
    // Rows of whole words for any type.
    let (long_x, long_y) = (x.next_multiple_of(4) + 4, y.next_multiple_of(4) + 8);
    vec![
        [packed(&[x, y]).with_strides(&[1, x]), packed(&[x, y])],
        [
            packed(&[2, 3, x, y]).with_strides(&[3 * x * y, x * y, 1, x]),
            packed(&[2, 3, x, y]).with_strides(&[x * y, 2 * x * y, y, 1]),
        ],
        [
            packed(&[2, x, y]).with_strides(&[long_x * y, 1, long_x]),
            packed(&[2, x, y]).with_strides(&[long_y * x, long_y, 1]),
        ],
        [packed(&[x, 2, y]).with_strides(&[1, x, 2 * x]), packed(&[x, 2, y])],
    ]
}

#[test]
fn tiles_give_the_bytes_of_every_size_and_layout() {
    const TYPES: [DataType; 4] =
        [DataType::Uint8, DataType::Float16, DataType::Float32, DataType::Int64];
    on_every_device(|device| {
        let by = |strategy| device.with_tuning(Tuning::new().with_strategy(strategy));
        let (tiled, one_by_one) = (by(Strategy::TransposeTiles), by(Strategy::Kernel));
        for data_type in TYPES {
            let mut count = 0;
            for [x, y] in SIZES.iter().flat_map(|x| SIZES.map(|y| [*x, y])) {
                for [input, output] in tensors(data_type, [x, y]) {
                    let strategy = check(&tiled, &input, &output);
                    count += u32::from(strategy == Strategy::TransposeTiles);
                    assert_eq!(check(&one_by_one, &input, &output), Strategy::Kernel);
                }
            }
            // Four layouts of 25 matrices; narrow elements only where rows are whole words.
            let is_wide = data_type.bits() >= 32;
            assert!(if is_wide { count >= 100 } else { count > 10 }, "{data_type}: {count}");
        }
    });
}
