//! Names of operators must not occur in this crate's sources.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            found.push((path.display().to_string(), text));
        }
    }
}

#[test]
fn no_operator_is_named_here() {
    let mut found = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    assert!(!found.is_empty());
    for (path, text) in found {
        let text = text.to_uppercase();
        // A name of one word, such as slice or cast, has its own meaning here.
        let operators = dml_core::operators::OPERATORS.iter();
        for operator in operators.filter(|operator| operator.name.contains('_')) {
            // In code an operator is spelled with or without its underscores.
            for name in [operator.name.to_owned(), operator.name.replace('_', "")] {
                assert!(!text.contains(&name), "{path} names {name}");
            }
        }
    }
}
