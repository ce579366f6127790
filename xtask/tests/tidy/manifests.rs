//! Rules over Cargo.toml files.

use toml::{Table, Value};

/// Where the manifest `text` depends on one of `forbidden`, under whatever name.
pub(crate) fn forbidden_dependencies(text: &str, forbidden: &[&str]) -> Vec<String> {
    let manifest: Table = match text.parse() {
        Ok(manifest) => manifest,
        Err(error) => return vec![format!("is not a manifest: {error}")],
    };
    dependencies(&manifest)
        .filter(|(_, package)| forbidden.contains(package))
        .map(|(section, package)| format!("[{section}] has {package}"))
        .collect()
}

/// Every dependency of a manifest, for whatever target and under whatever name: its section and its
/// package.
pub(crate) fn dependencies(manifest: &Table) -> impl Iterator<Item = (&'static str, &str)> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let targets = targets.into_iter().flat_map(Table::values).filter_map(Value::as_table);
    let sections = ["dependencies", "dev-dependencies", "build-dependencies"];
    std::iter::once(manifest).chain(targets).flat_map(move |table| {
        sections.into_iter().flat_map(move |section| {
            let named = table.get(section).and_then(Value::as_table);
            named.into_iter().flatten().map(move |(name, value)| {
                (section, value.get("package").and_then(Value::as_str).unwrap_or(name))
            })
        })
    })
}

/// Which statements the manifest of a crate lacks.
pub(crate) fn missing_statements(text: &str) -> Vec<String> {
    let manifest: Table = match text.parse() {
        Ok(manifest) => manifest,
        Err(error) => return vec![format!("is not a manifest: {error}")],
    };
    let package = manifest.get("package").and_then(Value::as_table);
    let mut missing: Vec<String> = ["license", "rust-version", "edition", "description"]
        .iter()
        .filter(|key| !package.is_some_and(|package| package.contains_key(**key)))
        .map(|key| format!("[package] lacks {key}"))
        .collect();
    let lints = manifest.get("lints").and_then(|it| it.get("workspace"));
    if lints.and_then(Value::as_bool) != Some(true) {
        missing.push("[lints] lacks workspace = true".to_owned());
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_found_in_every_section() {
        for text in [
            "[dependencies]\nash.workspace = true",
            "[dev-dependencies]\nash = \"0.38\"",
            "[build-dependencies]\nash = { version = \"0.38\" }",
            "[target.'cfg(unix)'.dependencies]\nash = \"0.38\"",
            "[dependencies]\nvulkan = { package = \"ash\", version = \"0.38\" }",
        ] {
            assert_eq!(forbidden_dependencies(text, &["ash"]).len(), 1, "{text}");
        }
        assert!(forbidden_dependencies("[dependencies]\nhalf = \"2\"", &["ash"]).is_empty());
        assert_eq!(forbidden_dependencies("[", &["ash"]).len(), 1);
    }

    #[test]
    fn every_missing_statement_is_reported() {
        let complete = "[package]\nlicense.workspace = true\nrust-version.workspace = true\n\
            edition.workspace = true\ndescription = \"A\"\n[lints]\nworkspace = true\n";
        assert!(missing_statements(complete).is_empty());
        for line in ["license.workspace = true\n", "rust-version.workspace = true\n"] {
            assert_eq!(missing_statements(&complete.replace(line, "")).len(), 1);
        }
        let own_lints = complete.replace("[lints]\nworkspace = true", "[lints.rust]");
        assert_eq!(missing_statements(&own_lints), ["[lints] lacks workspace = true"]);
        assert_eq!(missing_statements("").len(), 5);
    }
}
