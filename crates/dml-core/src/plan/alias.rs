//! Which inputs of an execution are the same memory as an output.

use super::slot::Slot;

/// Inputs that are bound to exactly the bytes of an output, each with that output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aliases {
    /// (input, output), in ascending order.
    pairs: Vec<(u32, u32)>,
}

impl Aliases {
    /// No aliases: every tensor has its own bytes.
    pub const NONE: Self = Self { pairs: Vec::new() };

    /// Inputs with the outputs whose bytes they are bound to, in any order.
    pub fn new(pairs: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut pairs: Vec<(u32, u32)> = pairs.into_iter().collect();
        pairs.sort_unstable();
        pairs.dedup();
        Self { pairs }
    }

    /// Whether no input shares the bytes of an output.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The pairs (input, output) that share bytes, in ascending order.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        self.pairs.iter().copied()
    }

    /// Whether an input is paired with two outputs, which is impossible because outputs share no bytes.
    pub fn has_input_twice(&self) -> bool {
        self.pairs.windows(2).any(|pair| pair[0].0 == pair[1].0)
    }

    /// The slot that stands for the memory of `slot`: the output's slot for an input that shares its bytes,
    /// else `slot` itself.
    pub fn slot(&self, slot: Slot) -> Slot {
        let Slot::Input(input) = slot else { return slot };
        let found = self.pairs.iter().find(|pair| pair.0 == input);
        found.map_or(slot, |pair| Slot::Output(pair.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_that_is_an_output_has_the_output_s_slot() {
        let aliases = Aliases::new([(2, 1), (0, 0), (2, 1)]);
        assert_eq!(aliases.pairs().collect::<Vec<_>>(), [(0, 0), (2, 1)]);
        let slots = [0, 1, 2].map(|index| aliases.slot(Slot::Input(index)));
        assert_eq!(slots, [Slot::Output(0), Slot::Input(1), Slot::Output(1)]);
        assert_eq!(aliases.slot(Slot::Temporary), Slot::Temporary);
        assert!(!aliases.has_input_twice() && Aliases::new([(0, 0), (0, 1)]).has_input_twice());
    }
}
