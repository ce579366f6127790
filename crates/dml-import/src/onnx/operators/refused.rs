//! Operators of ai.onnx that are refused in every version.

const STRINGS: &str = "strings are not run";
/// The reason of an operator that has none of its own.
pub(super) const UNKNOWN: &str = "this runtime has no operator for it";

/// The operators and the reasons.
pub(super) const REFUSED: [(&str, &str); 7] = [
    ("ImageDecoder", "compressed images are not decoded"),
    ("Multinomial", "draws of classes by given probabilities are not computed"),
    ("RegexFullMatch", STRINGS),
    ("StringConcat", STRINGS),
    ("StringNormalizer", STRINGS),
    ("StringSplit", STRINGS),
    ("TfIdfVectorizer", STRINGS),
];
