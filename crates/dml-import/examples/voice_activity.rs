//! Finds speech in a minute of audio with Silero's voice activity detector, whose state stays on the device.
//!
//! `cargo xtask example voice_activity` fetches the model, runs this, and compares with ONNX Runtime.
//!
//! ```text
//! voice_activity MODEL.onnx [FOLDER]
//! ```
//!
//! The audio and the probabilities are written to the folder as .npy files, if one is given.
#![allow(clippy::print_stdout, reason = "a command line program prints")]

#[path = "voice_activity/audio.rs"]
mod audio;

use std::error::Error;
use std::fs::File;
use std::path::Path;

use dml::{Device, FeatureLevel};
use dml_import::{DeviceTensor, ElementType, Inputs, IoBinding, Model, Session, Tensor, npy};

/// The model takes 32 ms of audio, preceded by the last 4 ms before them.
const CHUNK: usize = 512;
const CONTEXT: usize = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let model = arguments.next().ok_or("usage: voice_activity MODEL.onnx [FOLDER]")?;
    let audio = audio::minute();
    let probabilities = probabilities(Model::read(model)?, &audio)?;
    for (start, end) in speech(&probabilities) {
        println!("speech from {start:5.2} s to {end:5.2} s");
    }
    if let Some(folder) = arguments.next() {
        for (name, values) in [("audio.npy", &audio), ("probabilities.npy", &probabilities)] {
            let mut file = File::create(Path::new(&folder).join(name))?;
            npy::write(&mut file, &floats(&[values.len() as u64], values)?)?;
        }
    }
    Ok(())
}

/// The probability of speech in each chunk.
fn probabilities(model: Model, audio: &[f32]) -> Result<Vec<f32>, Box<dyn Error>> {
    let device = Device::open(FeatureLevel::HIGHEST)?;
    let session = Session::new(&device, model);
    let silence = DeviceTensor::new(&device, &floats(&[2, 1, 128], &[0.0; 256])?)?;
    // Each run reads the state that the last one wrote; it never leaves the device.
    let mut binding = IoBinding::new().with_state("stateN", "state", silence);
    let rate = i64::from(audio::RATE).to_le_bytes().to_vec();
    let rate = Tensor::new(ElementType::INT64, [], rate)?;
    let heard = [&[0.0; CONTEXT], audio].concat();
    let mut probabilities = Vec::new();
    for samples in heard.windows(CONTEXT + CHUNK).step_by(CHUNK) {
        let inputs = Inputs::new()
            .with_tensor("input", floats(&[1, samples.len() as u64], samples)?)
            .with_tensor("sr", rate.clone());
        let outputs = session.run_bound(&mut binding, &inputs)?;
        probabilities.push(f32::from_le_bytes(outputs[0].tensor.bytes().try_into()?));
    }
    println!("{} chunks on {}", probabilities.len(), device.vulkan().physical().info().name);
    Ok(probabilities)
}

/// Where speech begins and ends, in seconds: it begins above one probability, and ends below a lower one.
fn speech(probabilities: &[f32]) -> Vec<(f32, f32)> {
    const BEGINS: f32 = 0.5;
    const ENDS: f32 = 0.35;
    let mut all: Vec<(f32, f32)> = Vec::new();
    let (mut time, mut is_speech) = (0.0, false);
    for probability in probabilities {
        let was_speech = is_speech;
        is_speech = *probability >= if was_speech { ENDS } else { BEGINS };
        if is_speech && !was_speech {
            all.push((time, time));
        }
        time += CHUNK as f32 / f32::from(audio::RATE);
        if is_speech && let Some((_, end)) = all.last_mut() {
            *end = time;
        }
    }
    all
}

fn floats(shape: &[u64], values: &[f32]) -> dml_import::Result<Tensor> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    Tensor::new(ElementType::FLOAT32, shape, bytes)
}
