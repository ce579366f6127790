//! Answers a question with SmolLM2-135M-Instruct, whose keys and values stay on the device.
//!
//! `cargo xtask example chat QUESTION` fetches the model and runs this.
//!
//! ```text
//! chat MODEL.onnx VOCABULARY.gguf QUESTION [FOLDER]
//! ```
//!
//! `xtask/src/models/smollm2.py` writes the model from the GGUF file, which has the vocabulary. The tokens of the prompt
//! and of the answer are written to the folder as .npy files, if one is given.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line program prints")]

#[path = "chat/decoder.rs"]
mod decoder;
#[path = "chat/gguf.rs"]
mod gguf;
#[path = "chat/tokenizer.rs"]
mod tokenizer;

use std::error::Error;
use std::fs::File;
use std::io::{Write, stdout};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use dml::{Device, FeatureLevel};
use dml_import::{ElementType, Tensor, npy};

use decoder::Decoder;
use gguf::Metadata;
use tokenizer::{Token, Tokenizer};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("chat: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next =
        || arguments.next().ok_or("usage: chat MODEL.onnx VOCABULARY.gguf QUESTION [FOLDER]");
    let (model, vocabulary, question) = (next()?, next()?, next()?);
    if question.trim().is_empty() {
        return Err(
            "the question is empty; give one such as 'What is the capital of France?'".into()
        );
    }
    let metadata = Metadata::read(vocabulary.as_ref())?;
    let tokenizer = Tokenizer::new(&metadata)?;
    let prompt = prompt(&tokenizer, &question)?;
    let device = Device::open(FeatureLevel::HIGHEST)?;
    let mut decoder = Decoder::new(&device, model.as_ref(), &metadata)?;
    let answer = answer(&tokenizer, &mut decoder, &prompt)?;
    if let Some(folder) = arguments.next() {
        for (name, tokens) in [("prompt.npy", &prompt), ("answer.npy", &answer)] {
            let mut file = File::create(Path::new(&folder).join(name))?;
            npy::write(&mut file, &integers(&[tokens.len() as u64], tokens)?)?;
        }
    }
    Ok(())
}

/// The tokens of a conversation that begins with a question, in the form that the model was trained with.
fn prompt(tokenizer: &Tokenizer, question: &str) -> Result<Vec<Token>, Box<dyn Error>> {
    let system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face";
    let (begin, end) = (tokenizer.control("<|im_start|>")?, tokenizer.control("<|im_end|>")?);
    let mut tokens = Vec::new();
    for (role, message) in [("system", system), ("user", question)] {
        tokens.push(begin);
        tokens.extend(tokenizer.tokens(&format!("{role}\n{message}")));
        tokens.push(end);
        tokens.extend(tokenizer.tokens("\n"));
    }
    tokens.push(begin);
    tokens.extend(tokenizer.tokens("assistant\n"));
    Ok(tokens)
}

/// Decodes and prints an answer: always the most likely token, up to the end of the message or of the caches.
fn answer(
    tokenizer: &Tokenizer,
    decoder: &mut Decoder,
    prompt: &[Token],
) -> Result<Vec<Token>, Box<dyn Error>> {
    let end = tokenizer.control("<|im_end|>")?;
    let start = Instant::now();
    let mut token = decoder.next(prompt)?;
    let (of_prompt, start) = (start.elapsed(), Instant::now());
    let (mut tokens, mut text) = (Vec::new(), Vec::new());
    while token != end {
        tokens.push(token);
        text.extend_from_slice(tokenizer.bytes(token));
        show(&mut text)?;
        if decoder.is_full() {
            break;
        }
        token = decoder.next(&[token])?;
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("\n\n{} tokens on {}", tokens.len(), decoder.device());
    println!("prompt of {} tokens: {:.1} s", prompt.len(), of_prompt.as_secs_f64());
    println!("answer: {:.1} tokens a second", tokens.len() as f64 / seconds);
    Ok(tokens)
}

/// Prints the characters that are complete, and keeps the others.
fn show(text: &mut Vec<u8>) -> std::io::Result<()> {
    let complete = match std::str::from_utf8(text) {
        Ok(_) => text.len(),
        // No token will complete a wrong byte.
        Err(error) => error.error_len().map_or(error.valid_up_to(), |_| text.len()),
    };
    print!("{}", String::from_utf8_lossy(&text[..complete]));
    text.drain(..complete);
    stdout().flush()
}

fn integers(shape: &[u64], tokens: &[Token]) -> dml_import::Result<Tensor> {
    let bytes: Vec<u8> = tokens.iter().flat_map(|token| i64::from(*token).to_le_bytes()).collect();
    Tensor::new(ElementType::INT64, shape, bytes)
}
