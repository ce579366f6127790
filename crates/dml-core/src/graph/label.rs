//! How messages call the elements of a graph.

use std::fmt;

/// An element of one of the graph's arrays, which messages show with its name after it where it has one.
#[derive(Clone, Copy)]
pub(super) struct Label<'a> {
    pub(super) array: &'static str,
    pub(super) index: usize,
    pub(super) name: &'a str,
}

impl fmt::Display for Label<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.array, self.index)?;
        if self.name.is_empty() { Ok(()) } else { write!(f, " ({})", self.name) }
    }
}
