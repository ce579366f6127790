//! Which tests there are.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use super::json::File;
use crate::onnx::suite::Test;
use crate::pattern::Pattern;

/// No file of tests is larger.
const MOST_BYTES: u64 = 64 << 20;

/// The tests in a file, or in the .json files of a folder, whose id `filter` matches: `abs/abs float32 0D
/// scalar`, the names of the file and the test.
///
/// # Errors
/// A file cannot be read or holds something else, or there is no test.
pub fn find(path: &Path, filter: Option<&Pattern>) -> anyhow::Result<Vec<Test>> {
    let files = if path.is_dir() { files(path)? } else { vec![path.to_owned()] };
    let (mut tests, mut has_tests) = (Vec::new(), false);
    for path in &files {
        let file = read(path)?;
        has_tests |= !file.tests.is_empty();
        let stem = path.file_stem().map(|file_stem| file_stem.to_string_lossy().into_owned());
        let stem = stem.unwrap_or_default();
        let absolute = path.canonicalize().with_context(|| path.display().to_string())?;
        for (number, test) in file.tests.iter().enumerate() {
            let operators: BTreeSet<String> =
                test.graph.operators.iter().map(|operator| operator.name.clone()).collect();
            let mut source = absolute.clone().into_os_string();
            source.push(format!("{SEPARATOR}{number}"));
            tests.push(Test {
                id: format!("{stem}/{}", test.name),
                folder: source.into(),
                operators,
            });
        }
    }
    ensure!(has_tests, "{}: there is no test in it", path.display());
    tests.retain(|test| filter.is_none_or(|filter| filter.is_match(&test.id)));
    Ok(tests)
}

/// Between the file and the number of a test, as a worker is told it.
const SEPARATOR: char = '#';

/// The file of a test, and its number.
pub(super) fn parts(source: &str) -> anyhow::Result<(PathBuf, usize)> {
    let parts = source.rsplit_once(SEPARATOR);
    let (path, number) = parts.with_context(|| format!("'{source}' names no test"))?;
    Ok((path.into(), number.parse()?))
}

/// The file of a test; `None` where `source` is a folder.
pub(crate) fn file(source: &Path) -> Option<PathBuf> {
    if source.is_dir() {
        return None;
    }
    parts(source.to_str()?).ok().map(|(path, _)| path)
}

fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    ensure!(!files.is_empty(), "{}: there is no .json file in it", folder.display());
    files.sort();
    Ok(files)
}

/// Reads a file of tests.
pub(super) fn read(path: &Path) -> anyhow::Result<File> {
    let context = || path.display().to_string();
    let length = fs::metadata(path).with_context(context)?.len();
    ensure!(length <= MOST_BYTES, "{}: it has more than {MOST_BYTES} bytes", path.display());
    let text = fs::read_to_string(path).with_context(context)?;
    let mut deserializer = serde_json::Deserializer::from_str(&text);
    let file = serde_path_to_error::deserialize(&mut deserializer);
    file.with_context(|| format!("{} has no tests of WebNN", path.display()))
}
