//! The push constants of a kernel, by name.

use std::fmt;

/// A member of a push constant block, or of a structure or array in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushField {
    /// Its name in the shader.
    pub name: &'static str,
    /// Byte offset in the block, or in the structure that it is a member of.
    pub offset: u32,
    /// Size in bytes; of an array, the size of all elements.
    pub size: u32,
    /// The members of a structure, else empty.
    pub members: &'static [PushField],
}

impl PushField {
    /// A 32-bit number.
    pub const fn word(name: &'static str, offset: u32) -> Self {
        Self { name, offset, size: 4, members: &[] }
    }

    /// Whether the field receives base words: its name ends in `word`, or in `words` for an array.
    pub fn takes_base_words(&self) -> bool {
        self.members.is_empty() && (self.name.ends_with("word") || self.name.ends_with("words"))
    }

    /// Whether a word of the field is at byte `at` of the block.
    pub fn has_word_at(&self, at: u32) -> bool {
        let within = at.checked_sub(self.offset);
        within.is_some_and(|within| within < self.size && within.is_multiple_of(4))
    }
}

impl fmt::Display for PushField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, offset, size, .. } = self;
        write!(f, "{name} at {offset}..{}", offset + size)
    }
}

/// Whether two blocks have the same members, by name, offset and size: a shader's block and its mirror on the
/// host. Tables of kernels check this at compile time.
pub const fn are_same_fields(one: &[PushField], other: &[PushField]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        let (a, b) = (&one[at], &other[at]);
        let is_same = is_same_text(a.name, b.name) && a.offset == b.offset && a.size == b.size;
        if !is_same || !are_same_fields(a.members, b.members) {
            return false;
        }
        at += 1;
    }
    true
}

const fn is_same_text(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const INNER: [PushField; 2] = [PushField::word("a", 0), PushField::word("b", 4)];
    const OTHER_INNER: [PushField; 2] = [PushField::word("a", 0), PushField::word("c", 4)];

    #[test]
    fn blocks_differ_in_names_places_sizes_and_members() {
        let field = PushField { name: "inner", offset: 8, size: 8, members: &INNER };
        assert!(are_same_fields(&[field], &[field]));
        let others = [
            PushField { name: "outer", ..field },
            PushField { name: "inners", ..field },
            PushField { offset: 12, ..field },
            PushField { size: 12, ..field },
            PushField { members: &OTHER_INNER, ..field },
            PushField { members: &[], ..field },
        ];
        for other in others {
            assert!(!are_same_fields(&[field], &[other]), "{other:?}");
        }
        assert!(!are_same_fields(&[field], &[field, field]));
    }

    #[test]
    fn base_words_go_where_a_name_says_so() {
        let array = PushField { size: 20, ..PushField::word("base_words", 4) };
        assert!(array.takes_base_words() && PushField::word("input_word", 0).takes_base_words());
        assert!(!PushField::word("words_in_all", 0).takes_base_words());
        let found: Vec<u32> = (0..30).filter(|at| array.has_word_at(*at)).collect();
        assert_eq!(found, [4, 8, 12, 16, 20]);
    }
}
