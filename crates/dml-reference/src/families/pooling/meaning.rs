//! The functions of pooling operators.

/// The function that an operator applies to a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Average,
    Maximum,
    Norm,
    Quantized,
    Response,
}
