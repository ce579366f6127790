//! Tells the types of files with Magika's model, which reads the first and the last bytes of each.
//!
//! `cargo xtask example file_types` fetches the model, runs this on the files of the repository, and compares
//! with Magika's own results.
//!
//! ```text
//! file_types FOLDER FILE...
//! ```
//!
//! The folder has the model and its configuration, as Magika's package has them.
#![allow(clippy::print_stdout, reason = "a command line program prints")]

#[path = "file_types/features.rs"]
mod features;

use std::error::Error;
use std::path::Path;

use dml::{Device, FeatureLevel};
use dml_import::{ElementType, Inputs, Model, Session, Tensor};
use features::Config;

/// The number of files that are classified at once; a smaller last batch needs another program.
const BATCH: usize = 16;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("usage: file_types FOLDER FILE...")?;
    let folder = Path::new(&folder);
    let config: Config = serde_json::from_slice(&std::fs::read(folder.join("config.min.json"))?)?;
    let device = Device::open(FeatureLevel::HIGHEST)?;
    let session = Session::new(&device, Model::read(folder.join("model.onnx"))?);
    let mut files = Vec::new();
    for file in arguments {
        match config.features(Path::new(&file))? {
            Some(features) => files.push((file, features)),
            None => println!("{file}: too short to tell"),
        }
    }
    for batch in files.chunks(BATCH) {
        let features: Vec<i32> = batch.iter().flat_map(|(_, it)| it).copied().collect();
        for ((file, _), scores) in batch.iter().zip(scores(&session, batch.len(), &features)?) {
            let best = (0..scores.len()).max_by(|a, b| scores[*a].total_cmp(&scores[*b]));
            let best = best.ok_or("the model has no scores")?;
            println!("{file}: {} {:.6}", config.target_labels_space[best], scores[best]);
        }
    }
    Ok(())
}

/// The probability of each type, for each file.
fn scores(
    session: &Session,
    files: usize,
    features: &[i32],
) -> Result<Vec<Vec<f32>>, Box<dyn Error>> {
    let shape = [files as u64, (features.len() / files) as u64];
    let bytes: Vec<u8> = features.iter().flat_map(|feature| feature.to_le_bytes()).collect();
    let features = Tensor::new(ElementType::Dml(dml::DataType::Int32), shape, bytes)?;
    let outputs = session.run(&Inputs::new().with_tensor("bytes", features))?;
    let (words, _) = outputs[0].tensor.bytes().as_chunks();
    let scores: Vec<f32> = words.iter().map(|word| f32::from_le_bytes(*word)).collect();
    Ok(scores.chunks(scores.len() / files).map(<[f32]>::to_vec).collect())
}
