//! A resource that grows part by part, and is divided where one buffer would be larger than the device allows.

use dml_core::plan::DIVISION_ALIGNMENT;

/// The alignment in bytes of parts of the temporary and of the persistent resource. A descriptor of one part then
/// covers no bytes of another, steps on different parts do not wait for each other, and a resource may be divided
/// before every part.
pub(crate) const PART_ALIGNMENT: u64 = DIVISION_ALIGNMENT;

/// The size of the temporary or of the persistent resource so far, and its divisions.
#[derive(Clone, Default)]
pub(crate) struct Resource {
    /// The size in bytes.
    pub(crate) size: u64,
    /// See [`dml_core::plan::Divisions`].
    pub(crate) divisions: Vec<u64>,
}

impl Resource {
    /// Adds a part of so many bytes and returns its first byte. The part begins a new piece if the last piece would
    /// exceed `most` bytes with it. A part that is larger by itself has a piece for itself, which no device of that
    /// limit has a buffer for.
    pub(crate) fn add(&mut self, bytes: u64, most: u64) -> u64 {
        let start = self.size.next_multiple_of(PART_ALIGNMENT);
        let end = start.saturating_add(bytes);
        let piece = self.divisions.last().copied().unwrap_or(0);
        if end - piece > most && start > piece {
            self.divisions.push(start);
        }
        self.size = end;
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_exceeds_the_piece_begins_the_next() {
        let mut resource = Resource::default();
        let starts = [100, 600, 500, 4000, 8].map(|bytes| resource.add(bytes, 1024));
        assert_eq!(starts, [0, 256, 1024, 1536, 5632]);
        assert_eq!(resource.divisions, [1024, 1536, 5632]);
        assert_eq!(resource.size, 5640);
    }

    #[test]
    fn nothing_is_divided_below_the_limit() {
        let mut resource = Resource::default();
        for _ in 0..4 {
            resource.add(256, 1024);
        }
        assert_eq!((resource.size, resource.divisions), (1024, vec![]));
    }
}
