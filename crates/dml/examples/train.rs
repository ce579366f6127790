//! Trains a small classifier with operators only: forward pass, gradients and Adam are one graph, executed once a step.
//!
//! ```console
//! $ cargo run -p dml --example train
//! step  25  loss 0.9308
//! ...
//! 492 of 512 points are classified rightly
//! ```
//!
//! Parameters, their moments and the number of the step stay on the device: a step reads the values of the step before,
//! and the host reads the loss at times. `cargo xtask example train` computes the same with NumPy.
#![allow(clippy::print_stdout, reason = "an example prints")]

#[path = "train/network.rs"]
mod network;

use std::error::Error;

use dml::{
    Buffer, BufferBinding, CompiledOperator, DataType, Device, DeviceOptions, DeviceSelector,
    FeatureLevel, TensorDesc,
};

use network::{BATCH, CLASSES, FEATURES, PARAMETERS, STATES};

const BATCHES: u32 = 8;
const STEPS: u32 = 250;
/// The number of steps between two printed lines.
const SHOWN: u32 = 25;

fn main() -> Result<(), Box<dyn Error>> {
    run(&DeviceSelector::Best)?.iter().for_each(|line| println!("{line}"));
    Ok(())
}

/// A linear congruential generator, which is easy to repeat in other languages.
struct Random(u64);

impl Random {
    /// A number from -1 to below 1, exact in single precision.
    fn number(&mut self) -> f32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1_u32 << 23) as f32 - 1.0
    }
}

/// Points in a square, and their classes one-hot: near the middle, around that, or farther away.
struct Points {
    features: Vec<f32>,
    classes: Vec<f32>,
}

impl Points {
    fn new(random: &mut Random) -> Self {
        let (mut features, mut classes) = (vec![], vec![]);
        for _ in 0..BATCH * BATCHES {
            let [x, y] = [random.number(), random.number()];
            let distance = f64::from(x) * f64::from(x) + f64::from(y) * f64::from(y);
            let class = usize::from(distance > 0.25) + usize::from(distance > 0.75);
            features.extend([x, y]);
            classes.extend((0..CLASSES as usize).map(|at| if at == class { 1.0 } else { 0.0 }));
        }
        Self { features, classes }
    }
}

/// Trains on the device, and returns the lines to print.
pub(crate) fn run(selector: &DeviceSelector) -> Result<Vec<String>, Box<dyn Error>> {
    let device = Device::open_with(&DeviceOptions {
        // Softmax along given axes needs this level.
        feature_level: FeatureLevel::V5_1,
        selector: selector.clone(),
        ..DeviceOptions::default()
    })?;
    let mut random = Random(1);
    let points = Points::new(&mut random);
    let count = BATCH * BATCHES;
    let features = filled(&device, &[count, FEATURES], &points.features)?;
    let classes = filled(&device, &[count, CLASSES], &points.classes)?;
    // Two buffers for each state: a step reads one and writes the other.
    let mut states = [first_states(&device, &mut random)?, vec![]];
    states[1] =
        states[0].iter().map(|it| device.create_buffer(it.size())).collect::<Result<_, _>>()?;
    let loss = device.create_buffer(16)?;
    let step = device.compile_graph(&network::step())?;
    let mut lines = vec![];
    for number in 1..=STEPS {
        let batch = (number - 1) % BATCHES;
        let [features, classes] =
            [(&features, FEATURES), (&classes, CLASSES)].map(|(buffer, width)| {
                let size = u64::from(4 * BATCH * width);
                BufferBinding { buffer, offset: u64::from(batch) * size, size }
            });
        let [from, to] = &states;
        let inputs = [vec![features, classes], whole(from)].concat();
        let outputs = [whole(std::slice::from_ref(&loss)), whole(to)].concat();
        execute(&device, &step, &inputs, &outputs)?;
        states.swap(0, 1);
        if number % SHOWN == 0 {
            let loss = device.read::<f32>(&loss, 0, &single())?;
            lines.push(format!("step {number:3}  loss {:.4}", loss[0]));
        }
    }
    let right = classified(&device, &features, &states[0][..PARAMETERS.len()], &points)?;
    lines.push(format!("{right} of {count} points are classified rightly"));
    Ok(lines)
}

/// The number of points that the network classifies correctly.
fn classified(
    device: &Device,
    features: &Buffer,
    parameters: &[Buffer],
    points: &Points,
) -> Result<usize, Box<dyn Error>> {
    let count = BATCH * BATCHES;
    let graph = device.compile_graph(&network::classification(count))?;
    let found = device.create_buffer(graph.output_size(0))?;
    let inputs = [whole(std::slice::from_ref(features)), whole(parameters)].concat();
    execute(device, &graph, &inputs, &whole(std::slice::from_ref(&found)))?;
    let found = device.read::<u32>(&found, 0, &TensorDesc::packed(DataType::Uint32, &[count]))?;
    let classes = points.classes.chunks(CLASSES as usize);
    Ok(found
        .iter()
        .zip(classes)
        .filter(|(found, classes)| classes[**found as usize] == 1.0)
        .count())
}

/// The states before the first step: parameters, their moments, and the number of the step.
fn first_states(device: &Device, random: &mut Random) -> Result<Vec<Buffer>, Box<dyn Error>> {
    let mut states = vec![];
    for (rows, columns, range) in PARAMETERS {
        let values: Vec<f32> = (0..rows * columns).map(|_| random.number() * range).collect();
        states.push(filled(device, &[rows, columns], &values)?);
    }
    for (rows, columns, _) in PARAMETERS.into_iter().chain(PARAMETERS) {
        states.push(filled(device, &[rows, columns], &vec![0.0; (rows * columns) as usize])?);
    }
    states.push(filled(device, &[1], &[1.0])?);
    assert_eq!(states.len(), STATES);
    Ok(states)
}

fn single() -> TensorDesc {
    TensorDesc::packed(DataType::Float32, &[1])
}

/// A buffer with these elements.
fn filled(device: &Device, sizes: &[u32], elements: &[f32]) -> Result<Buffer, dml::Error> {
    let buffer = device.create_buffer(4 * elements.len() as u64)?;
    device.write(&buffer, 0, &TensorDesc::packed(DataType::Float32, sizes), elements)?;
    Ok(buffer)
}

fn whole(buffers: &[Buffer]) -> Vec<BufferBinding<'_>> {
    buffers.iter().map(BufferBinding::whole).collect()
}

fn execute(
    device: &Device,
    graph: &CompiledOperator,
    inputs: &[BufferBinding<'_>],
    outputs: &[BufferBinding<'_>],
) -> Result<(), dml::Error> {
    let [inputs, outputs] =
        [inputs, outputs].map(|it| it.iter().copied().map(Some).collect::<Vec<_>>());
    device.execute(graph, &inputs, &outputs)
}
