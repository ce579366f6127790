//! Cases of the operators' references, executed between guards and compared byte by byte.

use dml::{Buffer, BufferBinding, Device};
use dml_reference::{Case, Memory, MemoryAfter, Tensor};

/// Executes `case`, which has no owned inputs, and panics if a byte of any buffer differs from the
/// reference.
pub(crate) fn check(device: &Device, case: &Case) {
    let name = format!("{}: {}", device.vulkan().info().name, case.name);
    let compiled = device.compile(case.operator.clone()).expect(&name);
    let operator = compiled.operator().expect(&name);
    let reference = dml_reference::find(operator.schema().operator_type).expect(&name);
    let memory = Memory::new(reference, operator, case).expect(&name);
    let output = memory.outputs[0].as_ref().map(|it| buffer(device, &it.tensor)).expect(&name);
    let inputs: Vec<(Buffer, &Tensor)> = memory
        .inputs
        .iter()
        .flatten()
        .map(|input| match input.output {
            Some(0) => (output.0.clone(), &input.tensor),
            Some(other) => panic!("{name}: only output 0 is bound, not {other}"),
            None => buffer(device, &input.tensor),
        })
        .collect();
    let bound: Vec<_> = inputs.iter().map(binding).map(Some).collect();
    device.execute(&compiled, &bound, &[Some(binding(&output))]).expect(&name);
    let read = |buffer: &Buffer| device.vulkan().read_buffer(buffer, 0..buffer.size()).unwrap();
    let after = MemoryAfter {
        inputs: inputs.iter().map(|(buffer, _)| Some(read(buffer))).collect(),
        outputs: vec![Some(read(&output.0))],
    };
    memory.check(&after).unwrap_or_else(|difference| panic!("{name}: {difference}"));
}

fn buffer<'a>(device: &Device, tensor: &'a Tensor) -> (Buffer, &'a Tensor) {
    let buffer = device.create_buffer(tensor.before.len() as u64).unwrap();
    device.vulkan().write_buffer(&buffer, 0, &tensor.before).unwrap();
    (buffer, tensor)
}

fn binding<'a>((buffer, tensor): &'a (Buffer, &Tensor)) -> BufferBinding<'a> {
    BufferBinding { buffer, offset: tensor.offset, size: tensor.size }
}
