//! The checked-in SPIR-V is what the sources say, and a check that cannot fail would prove nothing:
//! every kind of change is tried on a copy.
#![allow(clippy::unwrap_used, reason = "a failure is what a test reports")]

use std::fs;
use std::path::{Path, PathBuf};

use dml_spirv_compiler::manifest::{Manifest, Tree, check};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn the_checked_in_kernels_are_what_the_sources_say() {
    let findings = check(&Tree::of_workspace(&workspace())).unwrap();
    let list: String = findings.iter().map(|finding| format!("  {finding}\n")).collect();
    assert!(findings.is_empty(), "\n{list}Run `cargo xtask build-shaders`.");
}

/// A copy of everything that the check looks at.
struct Copy {
    _folder: tempfile::TempDir,
    root: PathBuf,
    tree: Tree,
}

impl Copy {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("spirv");
        for name in ["kernels.toml", "manifest.toml", "kernels", "compiled", "src/kernels.rs"] {
            copy(&workspace().join("spirv").join(name), &root.join(name));
        }
        copy(&workspace().join("Cargo.lock"), &folder.path().join("Cargo.lock"));
        let tree = Tree::of_workspace(folder.path());
        Self { root, tree, _folder: folder }
    }

    /// Replaces the first `from` in a file.
    fn replace(&self, name: &str, from: &str, to: &str) {
        let path = self.root.join(name);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{name} has no {from:?}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
    }

    #[track_caller]
    fn assert_findings(&self, expected: &[&str]) {
        let findings = check(&self.tree).unwrap();
        let list: Vec<String> = findings.iter().map(ToString::to_string).collect();
        for part in expected {
            assert!(list.iter().any(|finding| finding.contains(part)), "{part:?} not in {list:#?}");
        }
        assert_eq!(list.is_empty(), expected.is_empty(), "{list:#?}");
    }
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            copy(&entry.path(), &to.join(entry.file_name()));
        }
        return;
    }
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::copy(from, to).unwrap();
}

#[test]
fn a_copy_is_in_order_whatever_its_line_ends() {
    let copy = Copy::new();
    copy.assert_findings(&[]);
    for name in ["kernels/diagonal_write.comp", "kernels.toml", "manifest.toml", "src/kernels.rs"] {
        let path = copy.root.join(name);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace('\n', "\r\n")).unwrap();
    }
    copy.assert_findings(&[]);
}

#[test]
fn a_changed_input_is_named() {
    for (name, from) in [
        ("kernels/diagonal_write.comp", "matrices.width"),
        ("kernels/include/dispatch.glsl", "count"),
        ("kernels.toml", "specialization = {"),
    ] {
        let copy = Copy::new();
        copy.replace(name, from, "changed");
        copy.assert_findings(&[&format!("{name}: has changed since the kernels were compiled")]);
    }
}

#[test]
fn inputs_that_come_and_go_are_named() {
    let copy = Copy::new();
    fs::write(copy.root.join("kernels/include/new.glsl"), []).unwrap();
    fs::remove_file(copy.root.join("kernels/include/band.glsl")).unwrap();
    copy.assert_findings(&[
        "kernels/include/new.glsl: is new since the kernels were compiled",
        "kernels/include/band.glsl: is gone since the kernels were compiled",
    ]);
}

#[test]
fn a_changed_output_is_named() {
    let copy = Copy::new();
    let path = copy.tree.spirv("diagonal_scatter_b32");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).unwrap();
    let name = "compiled/diagonal_scatter_b32.spv";
    copy.assert_findings(&[&format!("{name}: is not what was generated")]);
    fs::remove_file(&path).unwrap();
    copy.assert_findings(&[&format!("{name}: is missing")]);

    let copy = Copy::new();
    copy.replace("src/kernels.rs", "\"stride0\", 20", "\"stride0\", 24");
    copy.assert_findings(&["src/kernels.rs: is not what was generated"]);
}

#[test]
fn outputs_that_nothing_generates_are_named() {
    let copy = Copy::new();
    fs::write(copy.root.join("compiled/old_b8.spv"), []).unwrap();
    copy.assert_findings(&["compiled/old_b8.spv: was not generated"]);
}

#[test]
fn each_changed_hash_of_the_manifest_is_noticed() {
    let copy = Copy::new();
    let manifest = Manifest::read(&copy.tree).unwrap();
    let files: Vec<_> = manifest.inputs.iter().chain(&manifest.outputs).collect();
    for (name, hash) in &files {
        // Two files may have one hash.
        let line = |hash: &str| format!("\"{name}\" = \"{hash}\"");
        copy.replace("manifest.toml", &line(hash), &line("0"));
    }
    let names: Vec<String> = files.iter().map(|(name, _)| format!("{name}: ")).collect();
    copy.assert_findings(&names.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn another_compiler_is_named() {
    let copy = Copy::new();
    let compiler = copy.tree.compiler().unwrap();
    copy.replace("manifest.toml", &compiler, "shaderc 0.0.1");
    let problem = format!("was written with shaderc 0.0.1, but Cargo.lock selects {compiler}");
    copy.assert_findings(&[&problem]);
}
