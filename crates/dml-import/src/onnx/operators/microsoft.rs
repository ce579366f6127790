//! The operators of com.microsoft that become a single operation, and those that only definitions use.

use super::build::{self, Built};
use super::element_wise::swish;
use super::{INTERNAL, MICROSOFT, OperatorVersion, quantization, recurrent, row, states};
use crate::graph::{
    Attention, CachedAttention, DequantizeHalves, ExpertFactors, ExpertWeights, KeyMask,
    MatrixProduct, RotaryEmbedding, Turned,
};
use crate::onnx::attributes::{Attributes, Kind};

const AXIS: [(&str, Kind); 1] = [("axis", Kind::Int)];
const FUSED: [(&str, Kind); 5] = [
    ("alpha", Kind::Float),
    ("transA", Kind::Int),
    ("transB", Kind::Int),
    ("transBatchA", Kind::Int),
    ("transBatchB", Kind::Int),
];
const TRANSPOSED: [(&str, Kind); 3] =
    [("alpha", Kind::Float), ("transA", Kind::Int), ("transB", Kind::Int)];
const ROTARY: [(&str, Kind); 3] =
    [("interleaved", Kind::Int), ("num_heads", Kind::Int), ("rotary_embedding_dim", Kind::Int)];
const CACHED: [(&str, Kind); 5] = [
    ("kv_num_heads", Kind::Int),
    ("num_heads", Kind::Int),
    ("scale", Kind::Float),
    ("smooth_softmax", Kind::Int),
    ("softcap", Kind::Float),
];

const HALVES: [(&str, Kind); 2] = [("N", Kind::Int), ("block_size", Kind::Int)];

/// An operator of com.microsoft.
const fn of(row: OperatorVersion) -> OperatorVersion {
    OperatorVersion { domain: MICROSOFT, ..row }
}

/// An operator that only definitions use.
const fn internal(row: OperatorVersion) -> OperatorVersion {
    OperatorVersion { domain: INTERNAL, ..row }
}

pub(super) static ROWS: &[OperatorVersion] = &[
    of(row("Gelu", 1, &[], 1..=1, build::gelu)),
    of(swish("QuickGelu", 1, &[1.702])),
    of(row("QuantizeLinear", 1, &AXIS, 2..=3, quantization::quantize)),
    of(row("DequantizeLinear", 1, &AXIS, 2..=3, quantization::dequantize)),
    of(row("FusedMatMul", 1, &FUSED, 2..=2, matrices)),
    of(row("TransposeMatMul", 1, &TRANSPOSED, 2..=2, matrices)),
    of(OperatorVersion {
        outputs: 0..=3,
        ..row("DynamicQuantizeLSTM", 1, &recurrent::QUANTIZED, 12..=12, recurrent::quantized)
    }),
    of(OperatorVersion {
        outputs: 1..=2,
        ..row(
            "LinearAttention",
            1,
            &states::RUNTIME_LINEAR_ATTENTION,
            3..=6,
            states::runtime_linear_attention,
        )
    }),
    of(OperatorVersion {
        outputs: 1..=2,
        ..row("CausalConvWithState", 1, &states::RUNTIME_CAUSAL, 2..=4, states::runtime_causal)
    }),
    of(row("Trilu", 1, &[("upper", Kind::Int)], 1..=2, build::trilu)),
    of(row("Pad", 1, &[("mode", Kind::Text)], 2..=3, |it| {
        build::pad(it, &build::PADDING_MODES[..3])
    })),
    internal(row("_DequantizeHalves", 1, &HALVES, 2..=3, |it| {
        Ok(Box::new(DequantizeHalves { rows: it.int("N"), block: it.int("block_size") }))
    })),
    internal(row("_ExpertWeights", 1, &[], 3..=3, |_| Ok(Box::new(ExpertWeights)))),
    internal(row("_ExpertFactors", 1, &[], 3..=3, |_| Ok(Box::new(ExpertFactors)))),
    internal(row("_KeyMask", 1, &[], 3..=3, |_| Ok(Box::new(KeyMask)))),
    internal(row("_Rotary", 1, &ROTARY, 3..=4, rotary)),
    internal(OperatorVersion {
        outputs: 1..=3,
        ..row("_CachedAttention", 1, &CACHED, 8..=10, cached)
    }),
];

fn matrices(it: &Attributes<'_>) -> Built {
    let turned =
        |matrix, batch| Turned { matrix: it.flag(matrix, false), batch: it.flag(batch, false) };
    let turned = [turned("transA", "transBatchA"), turned("transB", "transBatchB")];
    Ok(Box::new(MatrixProduct::fused(turned, it.float("alpha").unwrap_or(1.0))))
}

fn rotary(it: &Attributes<'_>) -> Built {
    Ok(Box::new(RotaryEmbedding { follows_cache: true, ..super::attention::rotary(it)? }))
}

fn cached(it: &Attributes<'_>) -> Built {
    Ok(Box::new(CachedAttention(Attention {
        has_zero_sink: it.int("smooth_softmax").is_some_and(|smooth| smooth > 0),
        ..super::attention::plain(it, ["num_heads", "kv_num_heads"])?
    })))
}
