//! The constant block while it is being filled.

use std::ops::Range;

/// What a plan finds in [`dml_core::plan::Slot::Constants`].
#[derive(Default)]
pub(crate) struct Constants {
    pub(crate) bytes: Vec<u8>,
}

impl Constants {
    /// Adds `bytes`, and returns where they are. They start at a multiple of 4.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> Range<u64> {
        let start = self.bytes.len() as u64;
        self.bytes.extend(bytes);
        let end = self.bytes.len() as u64;
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        start..end
    }
}
