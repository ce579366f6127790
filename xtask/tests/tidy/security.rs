//! The statements of docs/security.md that the sources can confirm.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};

use toml::{Table, Value};

use crate::manifests;

/// Whether a Rust source reads the environment.
pub(crate) fn reads_environment(text: &str) -> bool {
    // The functions of `std::env`; `env!` is read by the compiler.
    ["env::var(", "env::var_os(", "env::vars", "env_logger::init", "env_logger::Env"]
        .iter()
        .any(|call| text.contains(call))
}

/// The environment variables that a Rust source names, if it reads the environment: its string literals in
/// the form of such names. Its tests do not count.
pub(crate) fn variables(text: &str) -> BTreeSet<String> {
    let product = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = BTreeSet::new();
    if reads_environment(product)
        && let Ok(tokens) = product.parse::<TokenStream>()
    {
        add_variables(tokens, &mut found);
    }
    found
}

fn add_variables(tokens: TokenStream, found: &mut BTreeSet<String>) {
    let is_name = |name: &&str| {
        let is_allowed = |it: char| it.is_ascii_uppercase() || it.is_ascii_digit() || it == '_';
        // Cargo's variables are read by the compiler.
        name.contains('_') && !name.starts_with("CARGO_") && name.chars().all(is_allowed)
    };
    for token in tokens {
        match token {
            TokenTree::Group(group) => add_variables(group.stream(), found),
            TokenTree::Literal(literal) => {
                let literal = literal.to_string();
                let name = literal.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
                found.extend(name.filter(is_name).map(str::to_owned));
            }
            _ => {}
        }
    }
}

/// The rows of the table below the heading `title`, without its head: the cells' texts, without backquotes.
pub(crate) fn table(document: &str, title: &str) -> Vec<Vec<String>> {
    let section = document.split(&format!("\n## {title}\n")).nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with('|'));
    let cells = |line: &str| {
        let cells = line.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().replace('`', "")).collect::<Vec<_>>()
    };
    rows.skip(2).map(cells).collect()
}

/// The variables of the table, each with every file in its row.
pub(crate) fn listed_variables(document: &str) -> BTreeSet<(String, String)> {
    let mut listed = BTreeSet::new();
    for row in table(document, "Environment variables") {
        let [names, files, ..] = row.as_slice() else { continue };
        for name in names.split(", ") {
            listed.extend(files.split(", ").map(|file| (name.to_owned(), file.to_owned())));
        }
    }
    listed
}

/// The direct dependencies of crates, by name, each with the crates that have it.
pub(crate) fn dependencies(manifests: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for text in manifests {
        let Ok(manifest) = text.parse::<Table>() else { continue };
        let name = manifest.get("package").and_then(|it| it.get("name")).and_then(Value::as_str);
        let name = name.unwrap_or_default();
        let shipped = manifests::dependencies(&manifest).filter(|it| it.0 != "dev-dependencies");
        for (_, package) in shipped {
            all.entry(package.to_owned()).or_default().insert(name.to_owned());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_found_by_their_heading() {
        let document =
            "# A\n\n## B\n\n| x | y |\n|---|---|\n| `1` | two |\n\n## C\n| z |\n|-|\n| 3 |\n";
        assert_eq!(table(document, "B"), [["1", "two"]]);
        assert_eq!(table(document, "C"), [["3"]]);
        assert!(table(document, "D").is_empty());
    }

    #[test]
    fn dependencies_are_those_of_every_section_but_tests() {
        let text = "[package]\nname = \"a\"\n[dependencies]\nb.workspace = true\n\
            [dev-dependencies]\nc = \"1\"\n[target.'cfg(unix)'.dependencies]\nd = \"1\"\n\
            [build-dependencies]\ne = \"1\"\n";
        let found = dependencies(&[text]);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["b", "d", "e"]);
        assert!(found["b"].contains("a"));
    }

    #[test]
    fn reading_the_environment_is_found() {
        assert!(reads_environment("let a = std::env::var_os(NAME);"));
        assert!(!reads_environment("let a = env!(\"CARGO_PKG_VERSION\");"));
    }

    #[test]
    fn variables_are_the_names_in_a_file_that_reads_them() {
        let text = "const A: &str = \"DML_A\";\nfn b() { env::var(A); env::var_os(\"DML_B\"); c(\"on\") }\n";
        let found = variables(text);
        assert_eq!(found.iter().collect::<Vec<_>>(), ["DML_A", "DML_B"]);
        assert!(variables(&text.replace("env::", "file::")).is_empty());
        assert!(variables(&format!("#[cfg(test)]\nmod tests {{ {text} }}")).is_empty());
    }
}
