//! Matrix products and convolutions, and their attributes.

use crate::error::Result;
use crate::graph::{
    Convolution, ConvolutionForm, Gemm, INTEGER, MatrixProduct, Op, QUANTIZED, REAL,
};
use crate::onnx::attributes::{Attributes, Kind};
use crate::onnx::operators::pooling::auto_pad;

type Built = Result<Box<dyn Op>>;

pub(super) const GEMM: [(&str, Kind); 4] =
    [("alpha", Kind::Float), ("beta", Kind::Float), ("transA", Kind::Int), ("transB", Kind::Int)];
/// Early versions have `broadcast`, which is ignored: the third input is always broadcast, as from version 7
/// on.
pub(super) const GEMM_1: [(&str, Kind); 5] = [
    ("alpha", Kind::Float),
    ("beta", Kind::Float),
    ("broadcast", Kind::Int),
    ("transA", Kind::Int),
    ("transB", Kind::Int),
];
pub(super) const CONVOLUTION: [(&str, Kind); 6] = [
    ("auto_pad", Kind::Text),
    ("dilations", Kind::Ints),
    ("group", Kind::Int),
    ("kernel_shape", Kind::Ints),
    ("pads", Kind::Ints),
    ("strides", Kind::Ints),
];
pub(super) const TRANSPOSED: [(&str, Kind); 8] = [
    ("auto_pad", Kind::Text),
    ("dilations", Kind::Ints),
    ("group", Kind::Int),
    ("kernel_shape", Kind::Ints),
    ("pads", Kind::Ints),
    ("strides", Kind::Ints),
    ("output_padding", Kind::Ints),
    ("output_shape", Kind::Ints),
];

pub(super) fn matrices(_: &Attributes<'_>) -> Built {
    Ok(Box::new(MatrixProduct::REAL))
}

pub(super) fn matrices_of_integers(_: &Attributes<'_>) -> Built {
    Ok(Box::new(MatrixProduct::INTEGER))
}

pub(super) fn quantized_matrices(_: &Attributes<'_>) -> Built {
    Ok(Box::new(MatrixProduct::QUANTIZED))
}

pub(super) fn gemm(it: &Attributes<'_>) -> Built {
    let [alpha, beta] = ["alpha", "beta"].map(|name| it.float(name).unwrap_or(1.0));
    Ok(Box::new(Gemm {
        transposed: ["transA", "transB"].map(|it_is| it.flag(it_is, false)),
        alpha,
        beta,
    }))
}

pub(super) fn convolution(it: &Attributes<'_>) -> Built {
    built(it, &REAL, false)
}

pub(super) fn transposed_convolution(it: &Attributes<'_>) -> Built {
    built(it, &REAL, true)
}

pub(super) fn convolution_of_integers(it: &Attributes<'_>) -> Built {
    built(it, &INTEGER, false)
}

pub(super) fn quantized_convolution(it: &Attributes<'_>) -> Built {
    built(it, &QUANTIZED, false)
}

fn built(it: &Attributes<'_>, form: &'static ConvolutionForm, is_transposed: bool) -> Built {
    let list = |name: &str| it.ints(name).unwrap_or_default();
    Ok(Box::new(Convolution {
        form,
        is_transposed,
        auto_pad: auto_pad(it)?,
        groups: it.int("group").unwrap_or(1),
        dilations: list("dilations"),
        kernel: list("kernel_shape"),
        pads: list("pads"),
        strides: list("strides"),
        output_padding: list("output_padding"),
        output_shape: list("output_shape"),
    }))
}
