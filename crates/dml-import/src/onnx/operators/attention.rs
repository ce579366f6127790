//! Attention and RotaryEmbedding, and their attributes.

use super::build::Built;
use super::{OperatorVersion, row};
use crate::error::Result;
use crate::graph::{Attention, RotaryEmbedding, Stage};
use crate::onnx::attributes::{Attributes, Kind};

const ATTENTION: [(&str, Kind); 7] = [
    ("is_causal", Kind::Int),
    ("kv_num_heads", Kind::Int),
    ("q_num_heads", Kind::Int),
    ("qk_matmul_output_mode", Kind::Int),
    ("scale", Kind::Float),
    ("softcap", Kind::Float),
    // All intermediate results are FLOAT32, whatever this attribute says.
    ("softmax_precision", Kind::Int),
];
const ATTENTION_25: [(&str, Kind); 9] = [
    ("is_causal", Kind::Int),
    ("kv_num_heads", Kind::Int),
    ("left_window_size", Kind::Int),
    ("q_num_heads", Kind::Int),
    ("qk_matmul_output_mode", Kind::Int),
    ("right_window_size", Kind::Int),
    ("scale", Kind::Float),
    ("softcap", Kind::Float),
    ("softmax_precision", Kind::Int),
];

const ROTARY: [(&str, Kind); 3] =
    [("interleaved", Kind::Int), ("num_heads", Kind::Int), ("rotary_embedding_dim", Kind::Int)];

/// All versions. Sequence lengths and shorter masks exist from version 24 on, and windows from 25 on.
pub(super) static ROWS: &[OperatorVersion] = &[
    OperatorVersion { outputs: 1..=4, ..row("Attention", 23, &ATTENTION, 3..=6, attention) },
    OperatorVersion { outputs: 1..=4, ..row("Attention", 24, &ATTENTION, 3..=7, padded_attention) },
    OperatorVersion {
        outputs: 1..=4,
        ..row("Attention", 25, &ATTENTION_25, 3..=7, padded_attention)
    },
    row("RotaryEmbedding", 23, &ROTARY, 3..=4, rotary_embedding),
];

fn rotary_embedding(it: &Attributes<'_>) -> Built {
    Ok(Box::new(rotary(it)?))
}

pub(super) fn rotary(it: &Attributes<'_>) -> Result<RotaryEmbedding> {
    let name = "rotary_embedding_dim";
    let turned = it.int(name).filter(|turned| *turned != 0).map(|turned| {
        let (path, problem) = (format!("attribute {name}"), "is not a number of elements");
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
    Ok(Box::new(plain(it, ["q_num_heads", "kv_num_heads"])?))
}

fn padded_attention(it: &Attributes<'_>) -> Built {
    let plain = plain(it, ["q_num_heads", "kv_num_heads"])?;
    Ok(Box::new(Attention { pads_single_key: true, ..plain }))
}

/// Attention with the attributes common to all its operators, and the given names for the numbers of heads.
pub(super) fn plain(it: &Attributes<'_>, heads: [&str; 2]) -> Result<Attention> {
    Ok(Attention {
        is_causal: it.flag("is_causal", false),
        window: [window(it, "left_window_size")?, window(it, "right_window_size")?],
        heads: heads.map(|name| it.int(name)),
        scale: it.float("scale"),
        softcap: softcap(it)?,
        pads_single_key: false,
        may_hide_all: true,
        has_zero_sink: false,
        stage: stage(it)?,
        outputs: it.outputs,
    })
}

/// The size of the attention window on one side; `None` for all keys.
fn window(it: &Attributes<'_>, name: &str) -> Result<Option<u64>> {
    match it.int(name) {
        None | Some(-1) => Ok(None),
        Some(size) => u64::try_from(size).map(Some).map_err(|_| {
            let (path, problem) = (format!("attribute {name}"), "is not a number of keys");
            it.node.invalid(path, size, problem, "0 and more, or -1 for all keys")
        }),
    }
}

fn softcap(it: &Attributes<'_>) -> Result<Option<f32>> {
    match it.float("softcap") {
        Some(limit) if !(limit >= 0.0 && limit.is_finite()) => {
            let (path, problem) = ("attribute softcap", "is not a limit of scores");
            Err(it.node.invalid(path, limit, problem, "0 for none, or a number above it"))
        }
        given => Ok(given.filter(|limit| *limit > 0.0)),
    }
}

fn stage(it: &Attributes<'_>) -> Result<Stage> {
    match it.int("qk_matmul_output_mode").unwrap_or(0) {
        0 => Ok(Stage::Product),
        1 => Ok(Stage::Capped),
        2 => Ok(Stage::Masked),
        3 => Ok(Stage::Softmax),
        other => {
            let (path, problem) = ("attribute qk_matmul_output_mode", "is unknown");
            let accepted = "0 for products, 1 after softcap, 2 after masks, 3 after the softmax";
            Err(it.node.invalid(path, other, problem, accepted))
        }
    }
}
