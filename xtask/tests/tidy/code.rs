//! Rules over Rust sources.

use proc_macro2::{TokenStream, TokenTree};

/// Where one of `identifiers` is used in the Rust source `text`. Comments and strings do not count:
/// they may say that something is absent.
pub(crate) fn forbidden_identifiers(text: &str, identifiers: &[&str]) -> Vec<String> {
    match text.parse::<TokenStream>() {
        Ok(tokens) => {
            let mut found = Vec::new();
            collect(tokens, identifiers, &mut found);
            found
        }
        Err(error) => vec![format!("is not a Rust source: {error}")],
    }
}

fn collect(tokens: TokenStream, identifiers: &[&str], found: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => collect(group.stream(), identifiers, found),
            TokenTree::Ident(ident) if identifiers.iter().any(|identifier| ident == identifier) => {
                found.push(format!("line {}: `{ident}`", ident.span().start().line));
            }
            _ => {}
        }
    }
}

/// Where one of `names` (`DIAGONAL_MATRIX` or `diagonal_matrix`) is named in `text`, in any usual
/// spelling. Comments and strings count: data tells operators and kernels apart, also for readers.
///
/// A name of one word is looked for in capitals only, and not as a part of a longer name, unless
/// after `DML_OPERATOR_`: words such as `slice`, `gather` or `join` have their own meaning, in
/// Vulkan's names too.
pub(crate) fn named(text: &str, names: &[String]) -> Vec<String> {
    let spellings: Vec<String> = names.iter().flat_map(|name| spellings(name)).collect();
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for spelling in spellings.iter().filter(|spelling| contains_word(line, spelling)) {
            found.push(format!("line {number}: names {spelling}"));
        }
    }
    found
}

fn spellings(name: &str) -> Vec<String> {
    let upper = name.to_ascii_uppercase();
    if !name.contains('_') {
        return vec![format!("DML_OPERATOR_{upper}"), upper];
    }
    let lower = name.to_ascii_lowercase();
    let capitalize = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    let camel = lower.split('_').filter(|it| !it.is_empty()).map(capitalize).collect();
    vec![upper, lower, camel]
}

/// Whether `word` stands in `line` with no letter or digit around it. An underscore may be around
/// one that has underscores itself: a name that is part of a longer name is still named.
fn contains_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + word.len()..].chars().next();
        let camel = word.chars().any(char::is_lowercase) && word.chars().any(char::is_uppercase);
        let one_word = !word.contains('_');
        let joins = |it: char| it.is_alphanumeric() || (one_word && it == '_');
        let free = |it: Option<char>| !it.is_some_and(joins);
        camel || (free(before) && free(after))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forbidden_identifiers_are_found_in_code_only() {
        let text = "//! No unsafe here.\n/* ash */ const A: &str = \"unsafe\";\n\
            #![forbid(unsafe_code)]\nfn a() {\n    let hash = unsafe { vk::f() };\n}\n";
        assert_eq!(
            forbidden_identifiers(text, &["ash", "vk", "unsafe"]),
            ["line 5: `unsafe`", "line 5: `vk`"]
        );
        assert_eq!(forbidden_identifiers("use ash::Entry;", &["ash"]), ["line 1: `ash`"]);
        assert!(forbidden_identifiers("fn a() {}", &["unsafe"]).is_empty());
    }

    #[test]
    fn what_cannot_be_read_is_no_pass() {
        assert_eq!(forbidden_identifiers("fn a( {", &["unsafe"]).len(), 1);
    }

    #[test]
    fn names_are_found_in_every_spelling() {
        let names = ["DIAGONAL_MATRIX".to_owned()];
        for text in [
            "// for DIAGONAL_MATRIX",
            "let x = \"DML_OPERATOR_DIAGONAL_MATRIX\";",
            "fn record_diagonal_matrix() {}",
            "struct DiagonalMatrixKernel;",
        ] {
            assert_eq!(named(text, &names).len(), 1, "{text}");
        }
        assert!(named("fn diagonal() -> Matrix {}", &names).is_empty());
    }

    #[test]
    fn names_of_one_word_are_found_in_capitals() {
        let names = ["GATHER".to_owned()];
        assert_eq!(named("match GATHER {", &names), ["line 1: names GATHER"]);
        assert_eq!(named("DML_OPERATOR_GATHER", &names), ["line 1: names DML_OPERATOR_GATHER"]);
        assert!(named("fn gather(FORGATHERING: u32) {}", &names).is_empty());
        assert!(named("SHADER_IMAGE_GATHER_EXTENDED", &names).is_empty());
    }
}
