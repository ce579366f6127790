//! Why a case is not exported.

use std::fmt;

/// Why a case is not exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOut {
    /// The case is exported at a lower level.
    OtherLevel,
    /// The case is outside of the operator's sample.
    Sample,
    /// Something is refused before anything is executed.
    Refusal,
    /// Wrong bindings are refused.
    Binding,
    /// An output is the same memory as an input.
    InPlace,
    /// A tensor has elements of 4 bits, for which DxDispatch has no name.
    FourBits,
    /// An attribute is a NaN with bits of its own.
    Nan,
    /// A FLOAT64 number that readers of JSON may round in other ways.
    Rounded,
    /// Some tensors of an array are OWNED_BY_DML, and others are not.
    PartlyOwned,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherLevel => "the same as at a lower level",
            Self::Sample => "not in the sample of their operator",
            Self::Refusal => "refused before anything is executed",
            Self::Binding => "wrong bindings",
            Self::InPlace => "in place",
            Self::FourBits => "elements of 4 bits",
            Self::Nan => "a NaN that JSON has no name for",
            Self::Rounded => "a FLOAT64 number that JSON may round",
            Self::PartlyOwned => "an array that is OWNED_BY_DML in part",
        })
    }
}
