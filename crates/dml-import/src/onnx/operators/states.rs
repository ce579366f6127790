//! Operators with a state that the next run continues, DeformConv, and their attributes.

use super::build::{Built, choice};
use super::{OperatorVersion, row};
use crate::error::Result;
use crate::graph::{
    CacheUpdate, CausalConvolution, DeformableConvolution, LinearAttention, UpdateRule,
};
use crate::onnx::attributes::{Attributes, Kind};

const LINEAR_ATTENTION: [(&str, Kind); 5] = [
    // Steps are computed one after the other, whatever this attribute says.
    ("chunk_size", Kind::Int),
    ("kv_num_heads", Kind::Int),
    ("q_num_heads", Kind::Int),
    ("scale", Kind::Float),
    ("update_rule", Kind::Text),
];
const CAUSAL: [(&str, Kind); 1] = [("activation", Kind::Text)];
/// Attributes of com.microsoft's LinearAttention, which ONNX Runtime's builder for generation writes.
pub(super) const RUNTIME_LINEAR_ATTENTION: [(&str, Kind); 6] = [
    ("chunk_size", Kind::Int),
    ("kv_num_heads", Kind::Int),
    ("q_num_heads", Kind::Int),
    ("scale", Kind::Float),
    ("state_window", Kind::Int),
    ("update_rule", Kind::Text),
];
/// Attributes of com.microsoft's CausalConvWithState.
pub(super) const RUNTIME_CAUSAL: [(&str, Kind); 5] = [
    ("activation", Kind::Text),
    ("channels_last", Kind::Int),
    ("dilation", Kind::Int),
    ("ndim", Kind::Int),
    ("state_window", Kind::Int),
];
const SCATTER: [(&str, Kind); 2] = [("axis", Kind::Int), ("mode", Kind::Text)];
const DEFORMABLE: [(&str, Kind); 6] = [
    ("dilations", Kind::Ints),
    ("group", Kind::Int),
    ("kernel_shape", Kind::Ints),
    ("offset_group", Kind::Int),
    ("pads", Kind::Ints),
    ("strides", Kind::Ints),
];

/// All versions of these operators.
pub(super) static ROWS: &[OperatorVersion] = &[
    OperatorVersion {
        outputs: 1..=2,
        ..row("LinearAttention", 27, &LINEAR_ATTENTION, 3..=6, linear_attention)
    },
    OperatorVersion { outputs: 1..=2, ..row("CausalConvWithState", 27, &CAUSAL, 2..=4, causal) },
    row("TensorScatter", 24, &SCATTER, 2..=3, cache_update),
    row("DeformConv", 19, &DEFORMABLE, 3..=5, deformable),
];

const RULES: [(&str, UpdateRule); 4] = [
    ("linear", UpdateRule { is_gated: false, is_delta: false }),
    ("gated", UpdateRule { is_gated: true, is_delta: false }),
    ("delta", UpdateRule { is_gated: false, is_delta: true }),
    ("gated_delta", UpdateRule { is_gated: true, is_delta: true }),
];

fn linear_attention(it: &Attributes<'_>) -> Built {
    let given = it.text("update_rule").unwrap_or_else(|| "gated_delta".to_owned());
    let rule = choice(it, "update_rule", &given, &RULES)?;
    let heads = |name| -> Result<u64> {
        let given = it.int(name).ok_or_else(|| it.missing(name))?;
        u64::try_from(given).ok().filter(|heads| *heads > 0).ok_or_else(|| {
            let path = format!("attribute {name}");
            it.node.invalid(path, given, "is not a number of heads", "1 and more")
        })
    };
    let [of_queries, of_keys] = [heads("q_num_heads")?, heads("kv_num_heads")?];
    if of_queries % of_keys != 0 {
        let accepted = format!("a multiple of kv_num_heads, {of_keys}");
        return Err(it.node.invalid("attribute q_num_heads", of_queries, "does not fit", accepted));
    }
    let scale = it.float("scale").filter(|scale| *scale != 0.0);
    Ok(Box::new(LinearAttention { rule, heads: [of_queries, of_keys], scale }))
}

fn causal(it: &Attributes<'_>) -> Built {
    let given = it.text("activation").unwrap_or_else(|| "none".to_owned());
    let activations = [("none", false), ("silu", true), ("swish", true)];
    let has_swish = choice(it, "activation", &given, &activations)?;
    Ok(Box::new(CausalConvolution { has_swish }))
}

/// com.microsoft's LinearAttention: that of ai.onnx, with states of the last step alone.
pub(super) fn runtime_linear_attention(it: &Attributes<'_>) -> Built {
    only(it, "state_window", 0)?;
    linear_attention(it)
}

/// com.microsoft's CausalConvWithState, with the attributes that make it that of ai.onnx.
pub(super) fn runtime_causal(it: &Attributes<'_>) -> Built {
    for (name, default) in [("channels_last", 0), ("dilation", 1), ("ndim", 1), ("state_window", 0)]
    {
        only(it, name, default)?;
    }
    causal(it)
}

/// Refuses values of an attribute other than its default.
fn only(it: &Attributes<'_>, name: &str, default: i64) -> Result<()> {
    match it.int(name).filter(|given| *given != default) {
        Some(given) => {
            let path = format!("attribute {name}");
            Err(it.node.invalid(path, given, "is not supported", default.to_string()))
        }
        None => Ok(()),
    }
}

fn cache_update(it: &Attributes<'_>) -> Built {
    let given = it.text("mode").unwrap_or_else(|| "linear".to_owned());
    let is_circular = choice(it, "mode", &given, &[("linear", false), ("circular", true)])?;
    Ok(Box::new(CacheUpdate { axis: it.int("axis").unwrap_or(-2), is_circular }))
}

fn deformable(it: &Attributes<'_>) -> Built {
    let list = |name| it.ints(name).unwrap_or_default();
    Ok(Box::new(DeformableConvolution {
        groups: it.int("group").unwrap_or(1),
        offset_groups: it.int("offset_group").unwrap_or(1),
        kernel: it.ints("kernel_shape"),
        dilations: list("dilations"),
        pads: list("pads"),
        strides: list("strides"),
    }))
}
