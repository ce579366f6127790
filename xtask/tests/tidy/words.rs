//! Words that must not come back: odd uses, riddles, and names that say nothing.
//!
//! `docs/glossary.md` has the words that this project uses in a sense of its own.

/// What is looked for, and what is said instead. Written with a `~` where there is a space, so that
/// this file does not break its own rule.
const WORDS: &[(&str, &str)] = &[
    ("one~behind~the~other", "one after the other"),
    ("right~behind", "right after"),
    ("Behind~the", "After the"),
    ("behind~the~last", "after the last"),
    ("behind~the~first", "after the first"),
    ("behind~the~one~before", "after the one before"),
    ("behind~the~part", "after the part"),
    ("behind~the~others", "after the others"),
    ("behind~every~row", "after every row"),
    ("behind~all~of", "after all of"),
    ("behind~them.", "after them"),
    ("behind~its~size", "after its size"),
    ("behind~its~last", "after its last"),
    ("lies~behind~it", "lies after it"),
    ("the~word~behind", "the word after"),
    ("says~behind~each", "says after each"),
    ("order~themselves~behind", "wait for"),
    ("steps~behind~the~one", "steps after the one"),
    ("is~their~number", "is the wrong number"),
    ("is~its~type;", "is the wrong type"),
    ("\"is~its~type\"", "\"is the wrong type\""),
    ("\"is~its~shape\"", "\"is the wrong shape\""),
    ("0~is~their~number", "there are none"),
    ("which~Count~does~not~say", "that is not what Count says"),
    ("leaves~the~part~open", "does not say which part"),
    ("decided~shapes~when", "shapes depend on"),
    ("is~its~counterpart", "has no operator for it"),
    ("and~none~is~run", "which this runtime does not run"),
    ("by~what~a~file~nests", "as deep as a file nests"),
    ("which~is~none~of~them", "not including it"),
    ("is~so~for~any", "holds for any"),
    ("is~so~for~all", "holds for all"),
    ("struct~Needed~{", "a noun: Requirement"),
    ("enum~Needed~{", "a noun: Requirement"),
    ("enum~Given~{", "a noun: DeclaredType"),
    ("enum~Runs~{", "a noun: NodeSupport"),
    ("struct~Named<", "a noun: Assignment"),
    ("struct~Stated~{", "a noun that says what it is"),
    ("struct~Touched~{", "a noun that says what it is"),
    ("struct~Shown~{", "a noun that says what it is"),
    ("struct~Around~{", "a noun that says what it is"),
    ("struct~LookedUp", "a noun that says what it is"),
    ("struct~Loaded~{", "a noun that says what it is"),
    ("struct~Watched~{", "a noun that says what it is"),
    ("struct~Varied~{", "a noun that says what it is"),
    ("struct~Prepared~{", "a noun that says what it is"),
    ("struct~Announced~{", "a noun that says what it is"),
    ("struct~Compared~{", "a noun that says what it is"),
    ("struct~Measured~{", "a noun that says what it is"),
    ("struct~Looked", "a noun that says what it is"),
    ("struct~Executed~{", "a noun that says what it is"),
    ("enum~Stated", "a noun that says what it is"),
    ("enum~Around", "a noun that says what it is"),
    ("struct~Traits", "Tuning"),
    ("enum~Family", "ElementWidth"),
    ("included~behind", "included after"),
];

/// Where `text` has one of the words.
pub(crate) fn odd(text: &str) -> Vec<String> {
    let words: Vec<(String, &str)> =
        WORDS.iter().map(|(odd, better)| (odd.replace('~', " "), *better)).collect();
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for (odd, better) in words.iter().filter(|(odd, _)| line.contains(odd.as_str())) {
            found.push(format!("line {number}: \"{odd}\" ({better})"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_words_are_found_with_their_line() {
        let (word, better) = WORDS[0];
        let text = format!("fine\nhere it is {} again", word.replace('~', " "));
        assert_eq!(odd(&text), [format!("line 2: \"{}\" ({better})", word.replace('~', " "))]);
        assert!(odd("behind a lock, behind a feature").is_empty());
    }
}
