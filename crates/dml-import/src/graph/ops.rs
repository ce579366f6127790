//! The operations of nodes: one type for each operation that the formats share.
//!
//! An operation infers the types and shapes of its outputs (*infer*); computes them on the host if that is
//! necessary or cheap (*fold*), or describes them as views of existing elements; otherwise it adds DirectML
//! operators that compute them (*lower*). [`NodeInputs::place`] alone decides between the host and the device.

mod accumulate;
mod affine;
mod arithmetic;
mod attention;
mod bits;
mod body;
mod branch;
mod broadcast;
mod cached;
mod caches;
mod cast;
mod clip;
mod columns;
mod composed;
mod compress;
mod concat;
mod conclusions;
mod contraction;
mod convolution;
mod deformable;
mod determinant;
mod double;
mod dynamic;
mod einsum;
mod element_wise;
mod experts;
mod fourier;
mod function;
mod gated;
mod gelu;
mod grid;
mod halves;
mod index;
mod integer_product;
mod linear_attention;
mod local_response;
mod matrix;
mod mish;
mod movement;
mod nonzero;
mod normalize;
mod operands;
mod packed;
mod pad;
mod pooling;
mod power;
mod product;
mod quantize;
mod random_numbers;
mod range;
mod recurrent;
mod reduce;
mod regions;
mod repeat;
mod resample;
mod resize;
mod resized;
mod rotary;
mod scalar;
mod scan;
mod scatter;
mod schedule;
mod sequence_values;
mod sequences;
mod shape;
mod slice;
mod softmax;
mod split;
mod suppression;
mod table;
mod tile;
mod top_k;
mod trace;
mod transform;
mod transpose;
mod unique;
mod values;
mod weigh;
mod widened;
mod window;

use std::fmt::Debug;

use crate::error::Result;
use crate::graph::value::Value;

pub(crate) use accumulate::Accumulate;
pub(crate) use affine::AffineGrid;
pub(crate) use arithmetic::{
    ADD, AND, BIT_AND, BIT_XOR, CEIL, DIVIDE, EQUAL, FLOOR, FLOOR_DIVIDE, FLOOR_REMAINDER, GELU,
    GREATER, GREATER_OR_EQUAL, IS_NAN, LESS, LESS_OR_EQUAL, MAXIMUM, MINIMUM, MULTIPLY, NEGATE,
    NOT, OR, POWER, REMAINDER, SUBTRACT, WHERE, XOR,
};
pub(crate) use attention::{Attention, Stage};
pub(crate) use bits::BitShift;
pub(crate) use body::Body;
pub(crate) use branch::Branch;
pub(crate) use cached::{CachedAttention, KeyMask};
pub(crate) use caches::{CacheUpdate, CausalConvolution};
pub(crate) use cast::{BitCast, Cast, CastLike};
pub(crate) use clip::{Bounds, Clip};
pub(crate) use columns::Columns;
pub(crate) use composed::{ABSOLUTE, NEVER_INFINITE, PARAMETERIZED_RELU, RELU, SIGN};
pub(crate) use compress::Compress;
pub(crate) use concat::Concat;
pub(crate) use convolution::{Convolution, ConvolutionForm, INTEGER, QUANTIZED, REAL};
pub(crate) use deformable::DeformableConvolution;
pub(crate) use determinant::Determinant;
pub(crate) use dynamic::DynamicQuantize;
pub(crate) use einsum::{Einsum, Equation};
pub(crate) use element_wise::{Broadcasting, ElementWise, Mean};
pub(crate) use experts::{ExpertFactors, ExpertWeights};
pub(crate) use fourier::{Fourier, ShortTimeFourier};
pub(crate) use function::{Function, Types};
pub(crate) use gated::SwiGlu;
pub(crate) use gelu::ApproximateGelu;
pub(crate) use grid::{CUBIC, GridSample, LINEAR, NEAREST, Padding, Sampling};
pub(crate) use halves::DequantizeHalves;
pub(crate) use index::{Gather, GatherElements, GatherNd};
pub(crate) use linear_attention::{LinearAttention, UpdateRule};
pub(crate) use local_response::LocalResponse;
pub(crate) use matrix::{Eye, EyeLike, Trilu};
pub(crate) use mish::Mish;
pub(crate) use nonzero::NonZero;
pub(crate) use normalize::{
    BatchNormalize, BatchTraining, Common, NormOfRow, Normalize, PRODUCTS, Running, SUMS,
    Standardize,
};
pub(crate) use operands::{Budget, NodeInputs};
pub(crate) use pad::{CenterCropPad, Margins, Pad};
pub(crate) use pooling::{AutoPad, GlobalPool, Pool, Pooling};
pub(crate) use power::Power;
pub(crate) use product::{Gemm, MatrixProduct, Turned};
pub(crate) use quantize::{Direction, Quantize};
pub(crate) use random_numbers::{Bernoulli, Distribution, RandomNumbers, Source};
pub(crate) use range::Range;
pub(crate) use recurrent::{Cell, Recurrent};
pub(crate) use reduce::{Extreme, GREATEST, LEAST, Reduce};
pub(crate) use regions::{MaxRoiPool, RoiAlign};
pub(crate) use repeat::Repeat;
pub(crate) use resize::{Aspect, Interpolation, Resize, Scales};
pub(crate) use resized::{Coordinates, Nearest};
pub(crate) use rotary::RotaryEmbedding;
pub(crate) use scan::{Along, Scan};
pub(crate) use scatter::{MaxUnpool, Scatter};
pub(crate) use schedule::{Context, demanded, evaluate_nodes, found};
pub(crate) use sequence_values::{
    AtPosition, ConcatFromSequence, OptionalOf, SequenceLength, SequenceMap, SequenceOf,
    SplitToSequence,
};
pub(crate) use sequences::{OneHot, ReverseSequence};
pub(crate) use shape::{Flatten, Reshape, ShapeOf, Size, Squeeze, Unsqueeze, Zero};
pub(crate) use slice::Slice;
pub(crate) use softmax::{HARDMAX, LOG_SOFTMAX, RowOperators, SOFTMAX, Softmax};
pub(crate) use split::{Equal, Parts, Split};
pub(crate) use suppression::NonMaxSuppression;
pub(crate) use tile::{Blocks, Tile};
pub(crate) use top_k::TopK;
pub(crate) use trace::{Conclusions, Trace};
pub(crate) use transpose::Transpose;
pub(crate) use unique::Unique;
pub(crate) use values::{
    Broadcast, ConstantOfShape, Dropout, ElementOf, HasElement, Identity, Literal,
};
pub(crate) use weigh::{Filter, Weighing};
pub(crate) use window::{MelWeights, Window};

/// How an operation depends on an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// The type and the shape.
    Shape,
    /// The elements, if the outputs' elements are needed.
    Elements,
    /// The elements, on the host if possible.
    Wanted,
    /// The elements on the host: types, shapes or attributes depend on them.
    Host,
}

/// Whether the host needs a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Demand {
    /// No: the device may compute the value.
    #[default]
    None,
    /// The host computes the value if possible.
    Wanted,
    /// The host has to compute the value: shapes or attributes depend on it.
    Needed,
}

/// An operation.
pub(crate) trait Op: Debug + Send + Sync {
    /// The need for the input with this number.
    fn need(&self, _input: usize) -> Need {
        Need::Elements
    }

    /// Whether this output is FLOAT32 also for inputs of bfloat16.
    fn keeps_single(&self, _output: usize) -> bool {
        false
    }

    /// Evaluates the outputs for these operands: at least as many as the node has.
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>>;
}
