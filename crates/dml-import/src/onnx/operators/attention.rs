//! Attention, and what precedes it: what their attributes say.

use super::build::Built;
use super::{Row, row};
use crate::error::Result;
use crate::graph::{Attention, RotaryEmbedding};
use crate::onnx::attributes::{Attributes, Kind};

const ATTENTION: [(&str, Kind); 7] = [
    ("is_causal", Kind::Int),
    ("kv_num_heads", Kind::Int),
    ("q_num_heads", Kind::Int),
    ("qk_matmul_output_mode", Kind::Int),
    ("scale", Kind::Float),
    ("softcap", Kind::Float),
    // All between inputs and outputs is float.
    ("softmax_precision", Kind::Int),
];

const ROTARY: [(&str, Kind); 3] =
    [("interleaved", Kind::Int), ("num_heads", Kind::Int), ("rotary_embedding_dim", Kind::Int)];

/// Every version. Lengths of sequences are there from 24 on.
pub(super) static ROWS: &[Row] = &[
    Row { outputs: 1..=4, ..row("Attention", 23, &ATTENTION, 3..=6, attention) },
    Row { outputs: 1..=4, ..row("Attention", 24, &ATTENTION, 3..=7, attention) },
    row("RotaryEmbedding", 23, &ROTARY, 3..=4, rotary_embedding),
];

fn rotary_embedding(it: &Attributes<'_>) -> Built {
    Ok(Box::new(rotary(it)?))
}

pub(super) fn rotary(it: &Attributes<'_>) -> Result<RotaryEmbedding> {
    let name = "rotary_embedding_dim";
    let turned = it.int(name).filter(|turned| *turned != 0).map(|turned| {
        let (path, problem) = (format!("attribute {name}"), "is no number of elements");
        u64::try_from(turned).map_err(|_| it.node.invalid(path, turned, problem, "0 and more"))
    });
    Ok(RotaryEmbedding {
        is_interleaved: it.flag("interleaved", false),
        heads: it.int("num_heads"),
        turned: turned.transpose()?,
        follows_cache: false,
    })
}

fn attention(it: &Attributes<'_>) -> Built {
    if it.float("softcap").is_some_and(|cap| cap != 0.0) {
        return Err(it.node.not_supported("DirectML's attention limits no scores"));
    }
    if it.outputs > 3 {
        return Err(it.node.not_supported("DirectML's attention gives no scores"));
    }
    Ok(Box::new(Attention {
        is_causal: it.flag("is_causal", false),
        heads: ["q_num_heads", "kv_num_heads"].map(|name| it.int(name)),
        scale: it.float("scale"),
        outputs: it.outputs,
    }))
}
