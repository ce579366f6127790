//! What operators make of windows.

/// What an operator makes of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Average,
    Maximum,
    Norm,
    Quantized,
    Response,
}
