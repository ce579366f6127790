//! The model, and what it keeps of a conversation.

use std::error::Error;
use std::path::Path;

use dml::{DataType, Device};
use dml_import::{DeviceTensor, ElementType, Inputs, IoBinding, Model, Session, Tensor};

use super::gguf::Metadata;
use super::integers;
use super::tokenizer::Token;

/// The most tokens of a conversation: the size of the caches.
const CAPACITY: u64 = 512;

/// A conversation with a model. Keys and values of its tokens are in caches of one size, so that all tokens of an answer
/// are runs of one program.
pub(crate) struct Decoder {
    device: Device,
    session: Session,
    caches: IoBinding,
    /// The tokens in the caches.
    length: u64,
}

impl Decoder {
    /// An empty conversation.
    pub(crate) fn new(
        device: &Device,
        model: &Path,
        metadata: &Metadata,
    ) -> Result<Self, Box<dyn Error>> {
        let field = |name: &str| metadata.integer(&format!("llama.{name}"));
        let shape =
            [1, field("attention.head_count_kv")?, CAPACITY, field("rope.dimension_count")?];
        let bytes = usize::try_from(4 * shape.iter().product::<u64>())?;
        let empty = Tensor::new(ElementType::FLOAT32, shape, vec![0; bytes])?;
        let session = Session::new(device, Model::read(model)?);
        let mut caches = IoBinding::new();
        for layer in 0..field("block_count")? {
            for part in ["key", "value"] {
                let [present, past] =
                    ["present", "past"].map(|when| format!("{when}.{layer}.{part}"));
                caches = caches.with_cache(present, past, DeviceTensor::new(device, &empty)?);
            }
        }
        Ok(Self { device: device.clone(), session, caches, length: 0 })
    }

    /// Adds tokens to the conversation, and returns the most likely one to follow.
    pub(crate) fn next(&mut self, tokens: &[Token]) -> Result<Token, Box<dyn Error>> {
        let total = self.length + tokens.len() as u64;
        if total > CAPACITY {
            return Err(
                format!("the conversation has {total} tokens; accepted: up to {CAPACITY}").into()
            );
        }
        let integer = |shape: &[u64], value: u64| {
            let bytes = u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes().to_vec();
            Tensor::new(ElementType::Dml(DataType::Int32), shape, bytes)
        };
        let inputs = Inputs::new()
            .with_tensor("input_ids", integers(&[1, tokens.len() as u64], tokens)?)
            .with_tensor("seqlens_k", integer(&[1], total - 1)?)
            .with_tensor("total_sequence_length", integer(&[], total)?);
        let outputs = self.session.run_bound(&mut self.caches, &inputs)?;
        self.length = total;
        let [logits] = outputs.as_slice() else {
            return Err(format!("the model has {} outputs beside its caches", outputs.len()).into());
        };
        greatest(&logits.tensor).ok_or_else(|| "the model's logits are empty".into())
    }

    /// Whether there is no room for another token.
    pub(crate) fn is_full(&self) -> bool {
        self.length == CAPACITY
    }

    /// The device's name.
    pub(crate) fn device(&self) -> &str {
        &self.device.vulkan().physical().info().name
    }
}

/// The first of the most likely tokens after the last one of the logits' tokens.
fn greatest(logits: &Tensor) -> Option<Token> {
    let width = usize::try_from(*logits.shape().last()?).ok()?;
    let last = logits.bytes().rchunks_exact(width.checked_mul(4)?).next()?;
    let logits = last.chunks_exact(4).map(|it| it.try_into().map_or(f32::NAN, f32::from_le_bytes));
    let greater = |a: (Token, f32), b: (Token, f32)| if b.1 > a.1 { b } else { a };
    (0..).zip(logits).reduce(greater).map(|(token, _)| token)
}
