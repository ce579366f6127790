//! Operators of ai.onnx that are refused in every version.

const RANDOM: &str = "its results are random, and would differ from another runtime's";
const SEQUENCES: &str = "sequences of tensors are not run";
const STRINGS: &str = "strings are not run";
/// The reason of an operator that has none of its own.
pub(super) const UNKNOWN: &str = "this runtime has no operator for it";

/// The operators and the reasons.
pub(super) const REFUSED: [(&str, &str); 25] = [
    ("Bernoulli", RANDOM),
    ("CausalConvWithState", UNKNOWN),
    ("ConcatFromSequence", SEQUENCES),
    ("DeformConv", UNKNOWN),
    ("ImageDecoder", "compressed images are not decoded"),
    ("LinearAttention", UNKNOWN),
    ("Multinomial", RANDOM),
    ("RandomNormal", RANDOM),
    ("RandomNormalLike", RANDOM),
    ("RandomUniform", RANDOM),
    ("RandomUniformLike", RANDOM),
    ("RegexFullMatch", STRINGS),
    ("SequenceAt", SEQUENCES),
    ("SequenceConstruct", SEQUENCES),
    ("SequenceEmpty", SEQUENCES),
    ("SequenceErase", SEQUENCES),
    ("SequenceInsert", SEQUENCES),
    ("SequenceLength", SEQUENCES),
    ("SequenceMap", SEQUENCES),
    ("SplitToSequence", SEQUENCES),
    ("StringConcat", STRINGS),
    ("StringNormalizer", STRINGS),
    ("StringSplit", STRINGS),
    ("TensorScatter", UNKNOWN),
    ("TfIdfVectorizer", STRINGS),
];
