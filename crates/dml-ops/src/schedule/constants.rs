//! The constant block while it is being filled.

use std::collections::HashMap;
use std::ops::Range;

use dml_core::plan::UNIFORM_ALIGNMENT;

/// What a plan finds in [`dml_core::plan::Slot::Constants`].
#[derive(Default)]
pub(crate) struct Constants {
    pub(crate) bytes: Vec<u8>,
    /// Where uniform blocks are that were added before: boxes of one tensor seldom differ in them.
    uniforms: HashMap<Vec<u8>, Range<u64>>,
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

    /// The same, starting at a multiple of `alignment`.
    pub(crate) fn add_aligned(&mut self, bytes: &[u8], alignment: u64) -> Range<u64> {
        let start = (self.bytes.len() as u64).next_multiple_of(alignment);
        self.bytes.resize(usize::try_from(start).expect("in memory"), 0);
        self.add(bytes)
    }

    /// Adds the bytes of a uniform block unless they are there, and returns where they are. They start
    /// at a multiple of [`UNIFORM_ALIGNMENT`].
    pub(crate) fn add_uniform(&mut self, bytes: Vec<u8>) -> Range<u64> {
        if let Some(range) = self.uniforms.get(&bytes) {
            return range.clone();
        }
        let range = self.add_aligned(&bytes, UNIFORM_ALIGNMENT);
        self.uniforms.insert(bytes, range.clone());
        range
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uniform_block_is_aligned_and_there_once() {
        let mut constants = Constants::default();
        assert_eq!(constants.add(&[1; 5]), 0..5);
        assert_eq!(constants.add_uniform(vec![2; 8]), 256..264);
        assert_eq!(constants.add_uniform(vec![3; 8]), 512..520);
        assert_eq!(constants.add_uniform(vec![2; 8]), 256..264);
        assert_eq!(constants.bytes.len(), 520);
    }
}
