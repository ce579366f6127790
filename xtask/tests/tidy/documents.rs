//! Rules of the documents in Markdown: links, anchors and lengths.

use std::collections::{BTreeMap, BTreeSet};

use super::{Source, root, sources};

/// More than this is two pages.
const MAX_LINES: usize = 300;

/// The README is read from its first line to its last.
const MAX_LINES_OF_README: usize = 150;

/// The targets of the links in the Markdown `text` that stay within the repository.
fn local_links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|after| after.split(')').next());
    targets.filter(|it| !it.contains("://") && !it.contains(char::is_whitespace)).collect()
}

/// The lines of `text` outside of blocks of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The anchors that GitHub gives to the headings of `text`.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut counts = BTreeMap::<String, usize>::new();
    let headings = prose(text).filter(|it| it.starts_with('#'));
    headings
        .map(|heading| {
            let anchor = anchor(heading.trim_start_matches('#').trim());
            let count = counts.entry(anchor.clone()).or_default();
            *count += 1;
            if *count == 1 { anchor } else { format!("{anchor}-{}", *count - 1) }
        })
        .collect()
}

fn anchor(title: &str) -> String {
    let kept = title.chars().filter(|it| it.is_alphanumeric() || " -_".contains(*it));
    kept.flat_map(char::to_lowercase).map(|it| if it == ' ' { '-' } else { it }).collect()
}

/// The pages below `docs/` that `text` names, without those of other repositories and the placeholder `NAME.md`.
fn named_pages(text: &str) -> Vec<&str> {
    text.match_indices("docs/")
        .filter_map(|(start, _)| {
            let before = text[..start].trim_end_matches("../");
            let is_longer =
                before.ends_with(|it: char| it.is_alphanumeric() || "/_-.".contains(it));
            let rest = &text[start..];
            let end = rest.find(|it: char| !it.is_ascii_alphanumeric() && !"/_-.".contains(it));
            let name = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
            let is_page = name.ends_with(".md") && !name.ends_with("/NAME.md");
            (!is_longer && is_page).then_some(name)
        })
        .collect()
}

fn documents() -> Vec<Source> {
    let documents: Vec<Source> =
        sources().into_iter().filter(|source| source.path.ends_with(".md")).collect();
    assert!(documents.len() > 10, "the rules apply to too few documents");
    documents
}

/// The fault of `link` in the document `path`, if it has one.
fn broken(path: &str, text: &str, link: &str) -> Option<String> {
    let (file, fragment) = link.split_once('#').unwrap_or((link, ""));
    let folder = root().join(path).parent().expect("a file lies in a folder").to_owned();
    let target = if file.is_empty() { root().join(path) } else { folder.join(file) };
    if !target.exists() {
        return Some(format!("{path}: {link}: no such file"));
    }
    if fragment.is_empty() || target.extension().is_none_or(|extension| extension != "md") {
        return None;
    }
    let target_text = std::fs::read_to_string(&target).ok()?;
    let found = if file.is_empty() { anchors(text) } else { anchors(&target_text) };
    (!found.contains(fragment)).then(|| format!("{path}: {link}: no such heading"))
}

#[test]
fn links_of_documents_lead_to_files_and_headings() {
    let wrong: Vec<String> = documents()
        .iter()
        .flat_map(|Source { path, text }| {
            local_links(text).into_iter().filter_map(|link| broken(path, text, link))
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn pages_are_short() {
    let too_long = documents().into_iter().filter_map(|Source { path, text }| {
        let most = if path == "README.md" { MAX_LINES_OF_README } else { MAX_LINES };
        let lines = text.lines().count();
        (lines > most).then(|| format!("{path}: {lines} lines are more than {most}"))
    });
    let too_long: Vec<String> = too_long.collect();
    assert!(too_long.is_empty(), "\n{}", too_long.join("\n"));
}

#[test]
fn pages_that_sources_name_are_there() {
    super::check(
        |path| path != "xtask/tests/tidy/documents.rs",
        |text| {
            let missing = named_pages(text).into_iter().filter(|it| !root().join(it).exists());
            missing.map(|it| format!("{it}: no such page")).collect()
        },
    );
}

#[test]
fn local_links_are_found() {
    let text = "[a](b.md) [c](../d.md#e) [f](#g) [h](scheme://host/i) `j`";
    assert_eq!(local_links(text), ["b.md", "../d.md#e", "#g"]);
}

#[test]
fn anchors_are_those_of_github() {
    let text =
        "# What `dml run` does, in short\n```sh\n# no heading\n```\n## ONNX's tests\n## A\n## A\n";
    let expected = ["what-dml-run-does-in-short", "onnxs-tests", "a", "a-1"];
    assert_eq!(anchors(text), expected.map(str::to_owned).into());
}

#[test]
fn broken_links_are_reported() {
    let page = "# Title\n";
    for link in ["#title", "README.md", "README.md#licence", "Cargo.toml#L1"] {
        assert_eq!(broken("README.md", page, link), None, "{link}");
    }
    for link in ["#other", "none.md", "README.md#none"] {
        assert!(broken("README.md", page, link).is_some(), "{link}");
    }
}

#[test]
fn named_pages_are_found() {
    let text =
        "see docs/a.md. `../../docs/b/c.md` https://example.com/docs/d.md docs/e.tsv docs/NAME.md";
    assert_eq!(named_pages(text), ["docs/a.md", "docs/b/c.md"]);
}
