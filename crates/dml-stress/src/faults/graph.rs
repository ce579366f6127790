//! A graph that is asked of a device: with an input that is kept, one that is bound, a constant, an
//! intermediate result, and two outputs.

use dml::{
    ActivationReluDesc, BufferBinding, DataType, Device, ElementWiseAddDesc, GraphBuilder,
    GraphDesc, JoinDesc, TensorDesc, TensorFlags,
};

use super::answer::{Answer, Trouble};

const LENGTH: u32 = 20;

fn tensor(length: u32) -> TensorDesc {
    TensorDesc::packed(DataType::Float32, &[length])
}

fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

/// `sum = kept + bound`, and `relu(sum, constant)`, one after the other.
fn graph() -> GraphDesc {
    let owned = TensorDesc { flags: TensorFlags::OWNED_BY_DML, ..tensor(LENGTH) };
    let mut graph = GraphBuilder::new();
    let [kept, bound] = [graph.input(), graph.input()];
    let constant = graph.constant(floats(vec![-1.0; LENGTH as usize]));
    let (b_tensor, output_tensor) = (tensor(LENGTH), tensor(LENGTH));
    let sum = ElementWiseAddDesc { a_tensor: owned, b_tensor, output_tensor };
    let sum = graph.operator(sum, &[kept, bound]);
    let input_tensors = vec![tensor(LENGTH), tensor(LENGTH)];
    let join = JoinDesc { input_tensors, output_tensor: tensor(2 * LENGTH), axis: 0 };
    let join = graph.operator(join, &[sum, constant]);
    let (input_tensor, output_tensor) = (tensor(2 * LENGTH), tensor(2 * LENGTH));
    let relu = graph.operator(ActivationReluDesc { input_tensor, output_tensor }, &[join]);
    graph.output(sum);
    graph.output(relu);
    graph.finish()
}

/// Compiles, initializes and executes it, and compares both outputs.
pub(super) fn execute(device: &Device) -> Answer {
    let graph = device.compile_graph(&graph())?;
    let buffer = |size| device.create_buffer(size);
    let [kept, bound] = [buffer(graph.input_size(0))?, buffer(graph.input_size(1))?];
    device.vulkan().write_buffer(&kept, 0, &floats(vec![-3.0; LENGTH as usize]))?;
    let numbers = (0..LENGTH).map(|it| f32::from(u8::try_from(it).unwrap_or(u8::MAX)));
    device.vulkan().write_buffer(&bound, 0, &floats(numbers.clone()))?;
    device.initialize(&graph, &[Some(BufferBinding::whole(&kept)), None])?;
    drop(kept);
    let outputs = [buffer(graph.output_size(0))?, buffer(graph.output_size(1))?];
    let bindings = [0, 1].map(|at| Some(BufferBinding::whole(&outputs[at])));
    device.execute(&graph, &[None, Some(BufferBinding::whole(&bound))], &bindings)?;
    let sum: Vec<f32> = numbers.map(|number| number - 3.0).collect();
    let zeros = vec![0.0; LENGTH as usize];
    let relu = sum.iter().map(|it| it.max(0.0)).chain(zeros).collect();
    for (output, (length, expected)) in outputs.iter().zip([(LENGTH, sum), (2 * LENGTH, relu)]) {
        let found = device.read::<f32>(output, 0, &tensor(length))?;
        if found != expected {
            return Err(Trouble::Wrong(format!("a graph: wrong bytes: {found:?}")));
        }
    }
    Ok(())
}
