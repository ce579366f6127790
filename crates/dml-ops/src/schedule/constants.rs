//! The constant block while it is being filled.

use std::collections::HashMap;
use std::ops::Range;

use dml_core::plan::UNIFORM_ALIGNMENT;

/// The contents of [`dml_core::plan::Slot::Constants`] for a plan.
#[derive(Default)]
pub(crate) struct Constants {
    pub(crate) bytes: Vec<u8>,
    /// The ranges of bytes that are stored once: boxes of one tensor often have equal uniform blocks, and
    /// similar operators of a graph equal tables.
    shared: HashMap<Vec<u8>, Range<u64>>,
}

impl Constants {
    /// Adds `bytes`, and returns their range. It starts at a multiple of 4.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> Range<u64> {
        let start = self.bytes.len() as u64;
        self.bytes.extend(bytes);
        let end = self.bytes.len() as u64;
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        start..end
    }

    /// Adds `bytes` at a multiple of `alignment`, and returns their range.
    pub(crate) fn add_aligned(&mut self, bytes: &[u8], alignment: u64) -> Range<u64> {
        let start = (self.bytes.len() as u64).next_multiple_of(alignment);
        self.bytes.resize(usize::try_from(start).expect("in memory"), 0);
        self.add(bytes)
    }

    /// Adds bytes unless they are present at a multiple of `alignment`, and returns their range.
    pub(crate) fn add_shared(&mut self, bytes: Vec<u8>, alignment: u64) -> Range<u64> {
        let known = self.shared.get(&bytes).filter(|it| it.start.is_multiple_of(alignment));
        if let Some(range) = known {
            return range.clone();
        }
        let range = self.add_aligned(&bytes, alignment);
        self.shared.insert(bytes, range.clone());
        range
    }

    /// Adds the bytes of a uniform block unless they are present, and returns their range. It starts at a
    /// multiple of [`UNIFORM_ALIGNMENT`].
    pub(crate) fn add_uniform(&mut self, bytes: Vec<u8>) -> Range<u64> {
        self.add_shared(bytes, UNIFORM_ALIGNMENT)
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

    #[test]
    fn shared_bytes_are_there_once_for_each_alignment() {
        let mut constants = Constants::default();
        assert_eq!(constants.add(&[1; 4]), 0..4);
        assert_eq!(constants.add_shared(vec![2; 4], 4), 4..8);
        assert_eq!(constants.add_shared(vec![2; 4], 4), 4..8);
        assert_eq!(constants.add_shared(vec![2; 4], 16), 16..20);
        assert_eq!(constants.add_shared(vec![2; 4], 4), 16..20);
    }
}
