//! Operators that read whole rows: reductions compared with reads, and softmax compared with a graph.

use dml::core::operators::{
    ActivationSoftmaxDesc, ElementWiseAddDesc, ElementWiseDivideDesc, ElementWiseExpDesc,
    ElementWiseSubtractDesc, ReduceDesc,
};
use dml::{DataType, GraphBuilder, ReduceFunction, TensorDesc};

use crate::case::{Baseline, Case, Other};
use crate::meaning;
use crate::operation::{Operation, mixed};

/// The groups of cases that are compared with each other.
pub(super) fn groups() -> Vec<Vec<Case>> {
    let [narrow, wide] = [
        ["softmax/f32/16384x64", "softmax/f32/16384x64/powers_kept"],
        ["softmax/f32/4096x1024", "softmax/f32/4096x1024/powers_kept"],
    ];
    vec![reductions(), softmaxes(narrow, [16_384, 64]), softmaxes(wide, [4096, 1024])]
}

fn matrix(data_type: DataType, height: u32, width: u32) -> TensorDesc {
    TensorDesc::packed(data_type, &[1, 1, height, width])
}

const SIZE: u32 = 4096;

/// Sums beside two other ways to read as many bytes: with only a comparison for each element, and in one
/// element-wise kernel, which reads seven bytes of eight and writes one.
fn reductions() -> Vec<Case> {
    const READ: &str = "reduce/read/least_of_256";
    const READ_AND_WRITTEN: &str = "reduce/read/seven_and_one";
    let case = |id: &str, work: Operation, target: Option<f64>| {
        let one = Case::new(id, work, Baseline::CopyOfInput, None);
        let peers = ["iree:reduce_rows", "ncnn:reduce_rows", "torch:reduce_rows"].map(Other::told);
        let peers = if id.ends_with("/rows") { peers.to_vec() } else { vec![] };
        let read = target.map(|target| Other::at_most(target, READ));
        let told = target.map(|_| Other::told(READ_AND_WRITTEN));
        Case { beside: read.into_iter().chain(told).collect(), peers, ..one }
    };
    vec![
        case("reduce/sum_f32/4096x4096/rows", sum(3), Some(1.5)),
        case("reduce/sum_f32/4096x4096/columns", sum(2), Some(2.0)),
        case(READ, least(), None),
        case(READ_AND_WRITTEN, sum_of_seven(), None),
    ]
}

/// REDUCE along an axis, with exact sums.
fn sum(axis: u32) -> Operation {
    let [height, width] = if axis == 3 { [SIZE, 1] } else { [1, SIZE] };
    let desc = ReduceDesc {
        function: ReduceFunction::Sum,
        input_tensor: matrix(DataType::Float32, SIZE, SIZE),
        output_tensor: matrix(DataType::Float32, height, width),
        axes: vec![axis],
    };
    Operation::new(desc, move |inputs| {
        let rows = inputs[0].chunks(SIZE as usize);
        if axis == 3 {
            return rows.map(|row| row.iter().sum()).collect();
        }
        let add = |sums: Vec<f32>, row: &[f32]| sums.iter().zip(row).map(|(a, b)| a + b).collect();
        rows.fold(vec![0.0; SIZE as usize], add)
    })
}

/// The minimum of each 256 whole numbers.
fn least() -> Operation {
    const WIDTH: u32 = 256;
    let height = SIZE / WIDTH * SIZE;
    let desc = ReduceDesc {
        function: ReduceFunction::Min,
        input_tensor: matrix(DataType::Uint32, height, WIDTH),
        output_tensor: matrix(DataType::Uint32, height, 1),
        axes: vec![3],
    };
    let least = |row: &[f32]| row.iter().copied().fold(f32::MAX, f32::min);
    Operation::new(desc, move |inputs| inputs[0].chunks(WIDTH as usize).map(least).collect())
        .with_input(0, |at| u16::try_from(mixed(at, 0) % 60_000).map_or(0.0, f32::from))
}

/// The sum of seven tensors, in one kernel.
fn sum_of_seven() -> Operation {
    let tensor = || matrix(DataType::Float32, SIZE / 8, SIZE);
    let mut graph = GraphBuilder::new();
    let all = [(); 7].map(|()| graph.input());
    let mut sum = all[0];
    for input in &all[1..] {
        let (a_tensor, b_tensor, output_tensor) = (tensor(), tensor(), tensor());
        let desc = ElementWiseAddDesc { a_tensor, b_tensor, output_tensor };
        sum = graph.operator(desc, &[sum, *input]);
    }
    graph.output(sum);
    let inputs = all.map(|_| tensor());
    Operation::of_graph((graph.finish(), true), &inputs, &tensor(), |inputs| {
        (0..inputs[0].len()).map(|at| inputs.iter().map(|input| input[at]).sum()).collect()
    })
}

/// Softmax, and a graph that keeps the exponentials in memory: computed once, added up, and divided.
fn softmaxes([id, other]: [&'static str; 2], sizes: [u32; 2]) -> Vec<Case> {
    const TOLERANCE: f32 = 1e-6;
    let case = |id, work: Operation| Case::new(id, work.within(TOLERANCE), Baseline::Copy, None);
    let peers = ["iree:softmax", "ncnn:softmax", "torch:softmax"].map(Other::told).to_vec();
    vec![
        Case { beside: vec![Other::at_most(1.3, other)], peers, ..case(id, softmax(sizes)) },
        case(other, powers_kept(sizes)),
    ]
}

fn softmax([height, width]: [u32; 2]) -> Operation {
    let tensor = || matrix(DataType::Float32, height, width);
    let (input_tensor, output_tensor) = (tensor(), tensor());
    let desc = ActivationSoftmaxDesc { input_tensor, output_tensor };
    Operation::new(desc, move |inputs| meaning::softmax(&inputs[0], width as usize))
}

fn powers_kept([height, width]: [u32; 2]) -> Operation {
    let tensor = || matrix(DataType::Float32, height, width);
    let of_row = || matrix(DataType::Float32, height, 1);
    let repeated = || tensor().with_strides(&[0, 0, 1, 0]);
    let reduce = |function| ReduceDesc {
        function,
        input_tensor: tensor(),
        output_tensor: of_row(),
        axes: vec![3],
    };
    let mut graph = GraphBuilder::new();
    let input = graph.input();
    let most = graph.operator(reduce(ReduceFunction::Max), &[input]);
    let (a_tensor, b_tensor, output_tensor) = (tensor(), repeated(), tensor());
    let below = ElementWiseSubtractDesc { a_tensor, b_tensor, output_tensor };
    let below = graph.operator(below, &[input, most]);
    let (input_tensor, output_tensor) = (tensor(), tensor());
    let power = ElementWiseExpDesc { input_tensor, output_tensor, scale_bias: None };
    let power = graph.operator(power, &[below]);
    let sum = graph.operator(reduce(ReduceFunction::Sum), &[power]);
    let (a_tensor, b_tensor, output_tensor) = (tensor(), repeated(), tensor());
    let share = ElementWiseDivideDesc { a_tensor, b_tensor, output_tensor };
    let share = graph.operator(share, &[power, sum]);
    graph.output(share);
    let of = move |inputs: &[Vec<f32>]| meaning::softmax(&inputs[0], width as usize);
    Operation::of_graph((graph.finish(), true), &[tensor()], &tensor(), of)
}
