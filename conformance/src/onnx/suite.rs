//! Finds the tests of the `onnx` package.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use super::given::{TestValue, ValueKind};
use super::outline::{Outline, Value};
use crate::pattern::Pattern;

/// A folder with a model, and with inputs and outputs.
#[derive(Clone, Debug)]
pub struct Test {
    /// Its path from the folder that was searched, with `/`: `node/test_abs`.
    pub id: String,
    /// The test's folder.
    pub folder: PathBuf,
    /// The operators of the model; empty if it cannot be read.
    pub operators: BTreeSet<String>,
}

impl fmt::Display for Test {
    /// Writes the folder, which is sent to a worker.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.folder.display())
    }
}

/// The file that marks a folder as a test.
const MODEL: &str = "model.onnx";

/// The depth of folders that is searched.
const DEPTH: usize = 4;

/// The tests below `root` whose id `filter` matches, by id.
///
/// # Errors
/// A folder cannot be read, or there is no test below `root`.
pub fn find(root: &Path, filter: Option<&Pattern>) -> anyhow::Result<Vec<Test>> {
    let absolute = root.canonicalize().with_context(|| root.display().to_string())?;
    let mut tests = Vec::new();
    search(&absolute, "", 0, &mut tests)?;
    ensure!(!tests.is_empty(), "{}: no folder below it has a {MODEL}", root.display());
    tests.retain(|test| filter.is_none_or(|filter| filter.is_match(&test.id)));
    tests.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(tests)
}

fn search(folder: &Path, id: &str, depth: usize, tests: &mut Vec<Test>) -> anyhow::Result<()> {
    if folder.join(MODEL).is_file() {
        let outline = fs::read(folder.join(MODEL)).ok().and_then(|it| Outline::read(it).ok());
        let operators = outline.map(|outline| outline.operators).unwrap_or_default();
        tests.push(Test { id: id.to_owned(), folder: folder.to_owned(), operators });
        return Ok(());
    }
    if depth == DEPTH {
        return Ok(());
    }
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let name = entry.file_name();
        // Ids must be lines of text.
        let name = name.to_str().filter(|to_str| !to_str.contains(char::is_control));
        if let Some(name) = name.filter(|_| entry.path().is_dir()) {
            let id = if id.is_empty() { name.to_owned() } else { format!("{id}/{name}") };
            search(&entry.path(), &id, depth + 1, tests)?;
        }
    }
    Ok(())
}

/// The contents of a test's folder.
pub(super) struct Contents {
    pub(super) model: PathBuf,
    pub(super) outline: Outline,
    /// Sets of inputs and expected outputs.
    pub(super) sets: Vec<Set>,
}

/// The inputs of a model and its expected outputs, which are read when they are needed.
pub(super) struct Set {
    inputs: Vec<PathBuf>,
    outputs: Vec<PathBuf>,
}

impl Contents {
    /// The contents of the test in `folder`.
    pub(super) fn read(folder: &Path) -> anyhow::Result<Self> {
        let model = folder.join(MODEL);
        let bytes = fs::read(&model).with_context(|| model.display().to_string())?;
        let outline = Outline::read(bytes).with_context(|| model.display().to_string())?;
        let mut sets = Vec::new();
        for number in 0.. {
            let folder = folder.join(format!("test_data_set_{number}"));
            if !folder.is_dir() {
                break;
            }
            sets.push(Set {
                inputs: numbered(&folder, "input"),
                outputs: numbered(&folder, "output"),
            });
        }
        ensure!(!sets.is_empty(), "{}: there is no test_data_set_0", folder.display());
        Ok(Self { model, outline, sets })
    }
}

impl Set {
    /// The inputs, which the model declares so.
    pub(super) fn inputs(&self, declared: &[Value]) -> dml_import::Result<Vec<TestValue>> {
        given(&self.inputs, declared)
    }

    /// The expected outputs, which the model declares so.
    pub(super) fn outputs(&self, declared: &[Value]) -> dml_import::Result<Vec<TestValue>> {
        given(&self.outputs, declared)
    }
}

/// The files `input_0.pb`, `input_1.pb`, and so on, as far as they exist; or `input_0.npy`.
fn numbered(folder: &Path, name: &str) -> Vec<PathBuf> {
    let path = |number: u32| {
        let of = |extension| folder.join(format!("{name}_{number}.{extension}"));
        ["pb", "npy"].map(of).into_iter().find(|it| it.is_file())
    };
    (0..).map_while(path).collect()
}

/// The values in files; one that the model does not declare is a tensor.
fn given(files: &[PathBuf], declared: &[Value]) -> dml_import::Result<Vec<TestValue>> {
    let kinds = declared.iter().map(|it| it.kind).chain(std::iter::repeat(ValueKind::Tensor));
    files.iter().zip(kinds).map(|(path, kind)| TestValue::read(path, kind)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::outline::samples;
    use super::*;

    #[test]
    fn tests_are_folders_with_a_model_at_any_depth() {
        let root = tempfile::tempdir().unwrap();
        for (id, op_type) in [("node/test_b", "Abs"), ("node/test_a", "Neg"), ("c", "Relu")] {
            fs::create_dir_all(root.path().join(id)).unwrap();
            fs::write(root.path().join(id).join(MODEL), samples::model(op_type, &["x"])).unwrap();
        }
        fs::create_dir(root.path().join("empty")).unwrap();
        let ids = |filter: Option<&str>| {
            let filter = filter.map(|filter| filter.parse().unwrap());
            let tests = find(root.path(), filter.as_ref()).unwrap();
            tests.iter().map(|test| (test.id.clone(), test.operators.clone())).collect::<Vec<_>>()
        };
        let expected =
            |id: &str, operator: &str| (id.to_owned(), BTreeSet::from([operator.to_owned()]));
        let all =
            [expected("c", "Relu"), expected("node/test_a", "Neg"), expected("node/test_b", "Abs")];
        assert_eq!(ids(None), all);
        assert_eq!(ids(Some("node/*_b")), all[2..]);
        let error = find(&root.path().join("empty"), None).unwrap_err().to_string();
        assert!(error.contains("no folder below it has a model.onnx"), "{error}");
    }

    #[test]
    fn data_sets_are_numbered() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join(MODEL), samples::model("Abs", &["x"])).unwrap();
        assert!(Contents::read(root.path()).is_err());
        for set in ["test_data_set_0", "test_data_set_1", "test_data_set_3"] {
            fs::create_dir(root.path().join(set)).unwrap();
            fs::write(root.path().join(set).join("input_0.pb"), [0x10, 0x08]).unwrap();
        }
        let contents = Contents::read(root.path()).unwrap();
        assert_eq!(contents.sets.len(), 2);
        assert!(contents.sets[0].outputs(&[]).unwrap().is_empty());
        let error = contents.sets[0].inputs(&[]).unwrap_err().to_string();
        assert_eq!(error, "string is not a supported tensor type");
    }
}
