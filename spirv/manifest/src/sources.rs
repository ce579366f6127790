//! What a variant is compiled from.

use std::collections::BTreeMap;
use std::path::Path;

use crate::{
    ENTRY_POINT, Error, OPTIMIZATION, SCHEMA, TARGET, VariantIntent, lf, read_text, sha256,
};

/// The files that `source` includes, directly or not, with their text. All names are relative to
/// `kernels`, the folder with the sources, and so is every `#include`.
///
/// Directives under a false `#if` count as well: the result holds at least what a compiler reads.
///
/// # Errors
/// Where a file cannot be read.
pub fn includes_of(kernels: &Path, source: &str) -> Result<BTreeMap<String, String>, Error> {
    let mut found = BTreeMap::new();
    let mut pending = vec![(source.to_owned(), read_source(kernels, source)?)];
    while let Some((includer, text)) = pending.pop() {
        for (line, name) in directives(&text) {
            if name == source || found.contains_key(name) {
                continue;
            }
            if !kernels.join(name).is_file() {
                let (includer, name) = (includer.clone(), name.to_owned());
                return Err(Error::MissingInclude { includer, line, name });
            }
            let included = read_source(kernels, name)?;
            found.insert(name.to_owned(), included.clone());
            pending.push((name.to_owned(), included));
        }
    }
    Ok(found)
}

/// The canonical record of everything that decides what a variant compiles to, one line per input.
///
/// # Errors
/// Where a source cannot be read.
pub fn input_lines(kernels: &Path, variant: &VariantIntent<'_>) -> Result<Vec<String>, Error> {
    let source = &variant.entry.source;
    let file = |kind: &str, name: &str, text: &str| {
        format!("{kind} {name} sha256 {}", sha256(text.as_bytes()))
    };
    let mut lines = vec![file("source", source, &read_source(kernels, source)?)];
    for (name, text) in includes_of(kernels, source)? {
        lines.push(file("include", &name, &text));
    }
    lines.extend(variant.defines.iter().map(|(name, value)| format!("define {name}={value}")));
    lines.push(file("entry", variant.kernel, &variant.entry.canonical()));
    lines.push(format!("entry-point {ENTRY_POINT}"));
    lines.push(format!("target {TARGET}"));
    lines.push(format!("optimization {OPTIMIZATION}"));
    lines.push(format!("schema {SCHEMA}"));
    Ok(lines)
}

fn read_source(kernels: &Path, name: &str) -> Result<String, Error> {
    Ok(lf(&read_text(&kernels.join(name))?))
}

/// Line number and name of each `#include` directive.
fn directives(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter_map(|(index, line)| {
        let directive = line.trim_start().strip_prefix('#')?.trim_start();
        let rest = directive.strip_prefix("include")?.trim_start();
        let close = match rest.chars().next()? {
            '"' => '"',
            '<' => '>',
            _ => return None,
        };
        let (name, _) = rest[1..].split_once(close)?;
        Some((index + 1, name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn includes_are_followed_and_cycles_end() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
        };
        write("a.comp", "#version 450\n#include \"b.glsl\"\r\n// #include \"no.glsl\"\n");
        write("b.glsl", "  #  include <c.glsl>\n");
        write("c.glsl", "#include \"b.glsl\"\n#include \"a.comp\"\n");
        let found = includes_of(folder.path(), "a.comp").unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), ["b.glsl", "c.glsl"]);

        write("c.glsl", "\n#include \"missing.glsl\"\n");
        let message = includes_of(folder.path(), "a.comp").unwrap_err().to_string();
        assert!(message.starts_with("c.glsl:2: cannot include \"missing.glsl\""), "{message}");
    }
}
