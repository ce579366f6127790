//! Operators whose sums have one order, whichever way they are run.

use dml::core::{AbstractOperator, Strategy, Tuning};
use dml::{Buffer, BufferBinding, DataType, Device};
use dml_reference::Random;

use super::on_one_device;

/// The bytes of the outputs.
pub(crate) fn run(device: &Device, operator: &AbstractOperator, bytes: &[u8]) -> Vec<Vec<u8>> {
    let operator = device.compile(operator.clone()).unwrap();
    let input = device.create_buffer(bytes.len() as u64).unwrap();
    device.vulkan().write_buffer(&input, 0, bytes).unwrap();
    // Every input has the first of the bytes.
    let sizes = [0, 1, 2].map(|at| operator.output_size(at)).into_iter().filter(|size| *size > 0);
    let zeros = |size: u64| {
        let buffer = device.create_buffer(size).unwrap();
        // Bytes after the last element are unchanged.
        let zeros = vec![0; usize::try_from(size).unwrap()];
        device.vulkan().write_buffer(&buffer, 0, &zeros).unwrap();
        buffer
    };
    let buffers: Vec<Buffer> = sizes.map(zeros).collect();
    let outputs: Vec<_> = buffers.iter().map(|buffer| Some(BufferBinding::whole(buffer))).collect();
    let bound = |size: u64| BufferBinding { size, ..BufferBinding::whole(&input) };
    let mut inputs: Vec<_> = (0..3)
        .map(|at| operator.input_size(at))
        .take_while(|size| *size > 0)
        .map(|size| Some(bound(size)))
        .collect();
    // GEMM has a third tensor, which is left out here.
    inputs.extend((inputs.len() == 2).then_some(None));
    device.execute(&operator, &inputs, &outputs).unwrap();
    let read = |it: &Buffer| device.vulkan().read_buffer(it, 0..it.size()).unwrap();
    buffers.iter().map(read).collect()
}

/// Checks that an invocation for each row and work groups give the same bytes.
pub(crate) fn check(operator: &AbstractOperator, bytes: &[u8], name: &str) {
    let strategies = [Strategy::Kernel, Strategy::RowGroups];
    check_equal(operator, strategies.map(|it| Tuning::new().with_strategy(it)), bytes, name);
}

/// Checks that both tunings give the same bytes, on a device that the name of the case chooses.
pub(crate) fn check_equal(
    operator: &AbstractOperator,
    tunings: [Tuning; 2],
    bytes: &[u8],
    name: &str,
) {
    on_one_device(name.as_bytes(), |device| {
        let [one, other] = tunings.map(|it| run(&device.with_tuning(it), operator, bytes));
        assert!(one == other, "{name}");
    });
}

/// Bits of numbers, of which only a few have the least or the greatest exponent.
pub(crate) fn elements(random: &mut Random, data_type: DataType, count: u32) -> Vec<u8> {
    let element = |random: &mut Random| match data_type {
        DataType::Float32 if !random.one_in(300) => {
            (random.bits() & 0x807f_ffff) | u64::from(126 + random.below(3)) << 23
        }
        DataType::Float16 if !random.one_in(300) => (random.bits() & 0x83ff) | 0x3800,
        _ => random.bits(),
    };
    let bytes = data_type.bits() as usize / 8;
    (0..count).flat_map(|_| element(random).to_le_bytes()[..bytes].to_vec()).collect()
}
