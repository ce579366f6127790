//! Suggestions of known names for misspelt ones, for messages.

use std::fmt::Write as _;

/// The most names of a suggestion.
const MOST: usize = 4;
/// The most changed letters of a misspelt name.
const MOST_CHANGES: usize = 3;
/// The longest text that is compared, in bytes; a longer one is not a misspelt name, and comparing takes long.
const LONGEST: usize = 100;

/// At most four names of `known` that `given` may stand for, the likeliest first, and of equal ones the shortest.
///
/// These are names that contain `given`, the shortest first. If there are none, they are names that become
/// `given`, as a whole or in some of their words, by changing at most a third of its letters, and at most
/// three. Case and punctuation do not matter.
pub fn similar_names<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let letters = letters(given);
    if letters.len() < 2 || given.len() > LONGEST {
        return Vec::new();
    }
    let known: Vec<&str> = known.into_iter().collect();
    let mut found = containing(&letters, &known);
    if found.is_empty() {
        found = misspelt(&letters, &known);
    }
    found.sort_by_key(|(difference, name)| (*difference, name.len()));
    found.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// A question for a message, to append to `given`: ` (did you mean GEMM?)`. Empty if no name of `known` is
/// similar.
pub fn suggestion<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let names = similar_names(given, known);
    let Some((last, others)) = names.split_last() else { return String::new() };
    let mut text = " (did you mean ".to_owned();
    if !others.is_empty() {
        // Writing to a String cannot fail.
        let _ = write!(text, "{} or ", others.join(", "));
    }
    text + last + "?)"
}

/// Names that contain `letters`, each with the number of its other letters.
fn containing<'a>(letters: &str, known: &[&'a str]) -> Vec<(usize, &'a str)> {
    let has_letters = |name: &&'a str| {
        let of_name = self::letters(name);
        of_name.contains(letters).then(|| (of_name.len() - letters.len(), *name))
    };
    known.iter().filter_map(has_letters).collect()
}

/// Names that become `letters` by few changes, each with the number of changes.
fn misspelt<'a>(letters: &str, known: &[&'a str]) -> Vec<(usize, &'a str)> {
    let most = MOST_CHANGES.min(letters.len() / 3);
    let with_distance = |name: &&'a str| (distance(letters, name), *name);
    known.iter().map(with_distance).filter(|(distance, _)| *distance <= most).collect()
}

/// The least number of changes that turns consecutive words of `name` into `letters`.
fn distance(letters: &str, name: &str) -> usize {
    let words: Vec<String> =
        name.split(|it: char| !it.is_ascii_alphanumeric()).map(self::letters).collect();
    let mut least = usize::MAX;
    for first in 0..words.len() {
        for end in first + 1..=words.len() {
            let part = words[first..end].concat();
            least = least.min(strsim::osa_distance(letters, &part));
        }
    }
    least
}

/// The letters and digits of a name, in upper case.
fn letters(name: &str) -> String {
    let kept = name.chars().filter(char::is_ascii_alphanumeric);
    kept.map(|kept| kept.to_ascii_uppercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capabilities::Feature;
    use crate::operators::OPERATORS;
    use crate::types::{DataType, Strategy};

    fn operators(given: &str) -> Vec<&'static str> {
        similar_names(given, OPERATORS.iter().map(|it| it.name))
    }

    #[test]
    fn names_that_contain_the_text_come_shortest_first() {
        assert_eq!(
            operators("SOFTMAX"),
            [
                "ACTIVATION_SOFTMAX",
                "ACTIVATION_SOFTMAX1",
                "ACTIVATION_LOG_SOFTMAX",
                "ACTIVATION_LOG_SOFTMAX1"
            ]
        );
        assert_eq!(operators("RELU")[..2], ["ACTIVATION_RELU", "ACTIVATION_RELU_GRAD"]);
        assert_eq!(operators("DIAGONAL"), ["DIAGONAL_MATRIX", "DIAGONAL_MATRIX1"]);
        assert_eq!(operators("LeakyRelu"), ["ACTIVATION_LEAKY_RELU"]);
        assert_eq!(operators("leaky-relu"), ["ACTIVATION_LEAKY_RELU"]);
    }

    #[test]
    fn misspelt_names_are_found_as_a_whole_and_by_their_words() {
        assert_eq!(operators("DIAGNOAL_MATRIX")[0], "DIAGONAL_MATRIX");
        assert_eq!(operators("SOFTMX")[0], "ACTIVATION_SOFTMAX");
        assert_eq!(operators("CONVOLUTOIN")[0], "CONVOLUTION");
        assert_eq!(operators("GEM"), ["GEMM"]);
        assert_eq!(operators("GENM"), ["GEMM"]);
        let types = |given| similar_names(given, DataType::ALL.map(DataType::name));
        assert_eq!(types("FLOT32")[0], "FLOAT32");
        assert_eq!(types("float"), ["FLOAT32", "FLOAT16", "FLOAT64"]);
        let strategies = |given| similar_names(given, Strategy::ALL.map(Strategy::name));
        assert_eq!(strategies("fil"), ["fill", "fill-and-scatter"]);
        let features = |given| similar_names(given, Feature::ALL.map(Feature::name));
        assert_eq!(features("shaderint16")[0], "shaderInt16");
    }

    #[test]
    fn unlike_short_and_long_texts_have_no_similar_names() {
        for given in ["", "x", "??", "NO_SUCH_OPERATOR", &"A".repeat(200)] {
            assert_eq!(operators(given), [""; 0], "{given}");
        }
    }

    #[test]
    fn a_suggestion_is_a_question_in_parentheses() {
        let known = ["GEMM", "GEMM1", "GEMM12", "FOLD"];
        let of = |given, count| suggestion(given, known.into_iter().take(count));
        assert_eq!(of("gem", 1), " (did you mean GEMM?)");
        assert_eq!(of("gem", 2), " (did you mean GEMM or GEMM1?)");
        assert_eq!(of("gem", 4), " (did you mean GEMM, GEMM1 or GEMM12?)");
        assert_eq!(of("split", 4), "");
    }
}
