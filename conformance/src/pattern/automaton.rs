//! A glob that is matched byte by byte: it tells from the beginning of a name whether any name with that
//! beginning can match.

use std::cell::RefCell;

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, Config, DFA};
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input};

use super::Pattern;

/// A glob as an automaton whose states are made when they are reached.
pub(crate) struct Automaton {
    dfa: DFA,
    cache: RefCell<Cache>,
    start: LazyStateID,
}

/// The state of the match after a part of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Position {
    /// A state of the automaton.
    State(LazyStateID),
    /// The automaton became too large: the name may match, whatever follows.
    Unknown,
}

impl Automaton {
    /// `None` if the glob is too large for an automaton.
    pub(crate) fn of(pattern: &Pattern) -> Option<Self> {
        // Configured like the glob's own matcher. States are never forgotten, so that they can be compared.
        let syntax = syntax::Config::new().utf8(false).dot_matches_new_line(true);
        let config = Config::new().minimum_cache_clear_count(Some(0));
        let dfa = DFA::builder().configure(config).syntax(syntax).build(pattern.regex()).ok()?;
        let mut cache = dfa.create_cache();
        let input = Input::new("").anchored(Anchored::Yes);
        let start = dfa.start_state_forward(&mut cache, &input).ok()?;
        Some(Self { dfa, cache: RefCell::new(cache), start })
    }

    /// The position after `text`, the beginning of a name.
    pub(crate) fn after(&self, text: &str) -> Position {
        self.follow(Position::State(self.start), text)
    }

    /// The position after `text`, from the position `from`.
    pub(crate) fn follow(&self, from: Position, text: &str) -> Position {
        let Position::State(mut state) = from else { return from };
        let cache = &mut self.cache.borrow_mut();
        for byte in text.bytes() {
            match self.dfa.next_state(cache, state, byte) {
                Ok(next) if !next.is_quit() => state = next,
                _ => return Position::Unknown,
            }
            if state.is_dead() {
                break;
            }
        }
        Position::State(state)
    }

    /// Whether a name that ends here can match.
    pub(crate) fn is_match(&self, at: Position) -> bool {
        let Position::State(state) = at else { return true };
        let end = self.dfa.next_eoi_state(&mut self.cache.borrow_mut(), state);
        end.map_or(true, |end| end.is_match())
    }
}

impl Position {
    /// Whether no name with this beginning can match.
    pub(crate) fn is_dead(self) -> bool {
        matches!(self, Self::State(state) if state.is_dead())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GLOBS: [&str; 18] = [
        "*",
        "**",
        "",
        "*/b*",
        "a/b",
        "a/*/c",
        "**/c",
        "a/**",
        "?/[a-c]/*",
        "[!a]*",
        "{a,b/}*c",
        "{,a}/c",
        "a\\*b",
        "*a*b*",
        "a??",
        "[]]",
        "*.é",
        "*[^/]",
    ];

    /// All texts of up to four of these characters.
    fn texts() -> Vec<String> {
        let mut texts = vec![String::new()];
        let mut begin = 0;
        for _ in 0..4 {
            let end = texts.len();
            for at in begin..end {
                for next in ["a", "b", "c", "/", "*", "]", ".", "é"] {
                    texts.push(format!("{}{next}", texts[at]));
                }
            }
            begin = end;
        }
        texts
    }

    #[test]
    fn at_the_end_of_a_name_it_matches_what_the_glob_matches() {
        let texts = texts();
        for glob in GLOBS {
            let pattern: Pattern = glob.parse().unwrap();
            let automaton = Automaton::of(&pattern).unwrap();
            for text in &texts {
                let at = automaton.after(text);
                assert_eq!(automaton.is_match(at), pattern.is_match(text), "{glob} {text}");
                let dead =
                    text.char_indices().any(|(at, _)| automaton.after(&text[..at]).is_dead());
                assert!(!(dead && pattern.is_match(text)), "{glob} {text}");
            }
        }
    }

    #[test]
    fn a_beginning_is_dead_where_nothing_that_begins_so_matches() {
        let is_dead =
            |glob: &str, text| Automaton::of(&glob.parse().unwrap()).unwrap().after(text).is_dead();
        assert!(is_dead("5_1/*", "5_0/") && !is_dead("5_1/*", "5_"));
        assert!(!is_dead("*/{a,b}c", "x/acc"));
        assert!(is_dead("?/{a,b}c", "x/c") && !is_dead("?/{a,b}c", "x/b"));
    }

    #[test]
    fn a_glob_with_more_states_than_there_is_room_for_rules_nothing_out() {
        let glob = format!("*a{}b", "?".repeat(40));
        let pattern: Pattern = glob.parse().unwrap();
        let Some(automaton) = Automaton::of(&pattern) else { return };
        let text = |seed: u64| {
            let bit = |at: u32| {
                if (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> at) & 1 == 0 { 'a' } else { 'c' }
            };
            (0..60).map(bit).collect::<String>() + "b"
        };
        for seed in 0..2_000 {
            let text = text(seed);
            let may_match = automaton.is_match(automaton.after(&text));
            assert!(may_match || !pattern.is_match(&text), "{text}");
        }
        assert!(automaton.after(&text(2_000)) == Position::Unknown, "the room is not used up");
    }
}
