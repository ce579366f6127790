//! Recording into command buffers, and submitting them.

pub(crate) mod access;
pub(crate) mod barrier;
pub(crate) mod batches;
pub(crate) mod pieces;
pub(crate) mod recorder;
pub(crate) mod staged;
pub(crate) mod submit;
pub(crate) mod timestamps;
pub(crate) mod uploads;
pub(crate) mod writer;
