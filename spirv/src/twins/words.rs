//! What a block of push constants consists of.

/// A member of a block, as 32-bit words in the order of their addresses.
pub(super) trait Words {
    fn append(&self, words: &mut Vec<u32>);

    /// Missing words are 0.
    fn take(words: &mut impl Iterator<Item = u32>) -> Self;
}

impl Words for u32 {
    fn append(&self, words: &mut Vec<u32>) {
        words.push(*self);
    }

    fn take(words: &mut impl Iterator<Item = u32>) -> Self {
        words.next().unwrap_or_default()
    }
}

impl<const N: usize> Words for [u32; N] {
    fn append(&self, words: &mut Vec<u32>) {
        words.extend(self);
    }

    fn take(words: &mut impl Iterator<Item = u32>) -> Self {
        std::array::from_fn(|_| u32::take(words))
    }
}
