//! The checked-in SPIR-V is what the sources say, and a check that cannot fail would prove nothing:
//! every kind of change is tried on a copy.
#![allow(clippy::unwrap_used, reason = "a failure is what a test reports")]

use std::fs;
use std::path::{Path, PathBuf};

use dml_spirv_manifest::{Manifest, Tree, check};

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
fn a_changed_source_is_named_with_its_variants() {
    let copy = Copy::new();
    copy.replace("kernels/diagonal_write.comp", "matrices.width", "matrices.widtH");
    copy.assert_findings(&[
        "diagonal_write_b8: its input moved since it was compiled: kernels/diagonal_write.comp",
        "diagonal_write_b64: its input moved since it was compiled: kernels/diagonal_write.comp",
    ]);
    let findings = check(&copy.tree).unwrap();
    assert!(findings.iter().all(|finding| finding.subject.starts_with("diagonal_write_")));
}

#[test]
fn a_changed_include_is_named_with_every_variant() {
    let copy = Copy::new();
    copy.replace("kernels/include/dispatch.glsl", "count", "cOunt");
    copy.assert_findings(&[
        "diagonal_scatter_b16: its input moved since it was compiled: kernels/include/dispatch.glsl",
        "diagonal_write_b32: its input moved since it was compiled: kernels/include/dispatch.glsl",
    ]);
}

#[test]
fn a_changed_define_is_named() {
    let copy = Copy::new();
    copy.replace(
        "kernels.toml",
        "specialization = {",
        "defines = { N = \"1\" }\nspecialization = {",
    );
    copy.assert_findings(&[
        "diagonal_band_b8: its input moved since it was compiled: define N",
        "diagonal_band_b8: its input moved since it was compiled: [diagonal_band] in kernels.toml",
        "kernels.toml: moved",
    ]);
}

#[test]
fn a_changed_kernels_toml_is_named_even_where_no_entry_changed() {
    let copy = Copy::new();
    copy.replace("kernels.toml", "# The", "# the");
    copy.assert_findings(&["kernels.toml: moved since the kernels were compiled"]);
}

#[test]
fn variants_that_come_and_go_are_named() {
    let copy = Copy::new();
    copy.replace("kernels.toml", "\"b16\", ", "");
    copy.assert_findings(&["diagonal_band_b16: is in manifest.toml but no longer"]);

    let copy = Copy::new();
    copy.replace("kernels.toml", "[diagonal_write]", "[diagonal_rewrite]");
    copy.assert_findings(&["diagonal_rewrite_b8: is in kernels.toml but was never compiled"]);
}

#[test]
fn a_changed_byte_of_spirv_is_named() {
    let copy = Copy::new();
    let path = copy.tree.spirv("diagonal_scatter_b32");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).unwrap();
    copy.assert_findings(&["compiled/diagonal_scatter_b32.spv: is not the SPIR-V"]);
    fs::remove_file(&path).unwrap();
    copy.assert_findings(&["compiled/diagonal_scatter_b32.spv: is missing"]);
}

#[test]
fn any_changed_value_of_the_manifest_is_noticed() {
    let (manifest, _) = Manifest::read(&workspace().join("spirv/manifest.toml")).unwrap();
    let digest = manifest.digest.as_str();
    let record = manifest.variants[0].record.as_str();
    let edits = [
        (digest, "0"),
        (record, "0"),
        ("# Generated", "# generated"),
        ("revision 1", "revision 2"),
        ("push_constant_bytes = 44", "push_constant_bytes = 48"),
        ("capabilities = [\"Shader\"]", "capabilities = [\"Shader\", \"Int64\"]"),
        ("access = \"ReadWrite\"", "access = \"Read\""),
    ];
    for (from, to) in edits {
        let copy = Copy::new();
        copy.replace("manifest.toml", from, to);
        copy.assert_findings(&["manifest.toml: was edited"]);
    }
}

#[test]
fn a_manifest_with_a_fresh_digest_still_has_to_agree() {
    let copy = Copy::new();
    let (mut manifest, _) = Manifest::read(&copy.tree.manifest()).unwrap();
    manifest.variants[0].push_constant_bytes += 4;
    fs::write(copy.tree.manifest(), manifest.render()).unwrap();
    copy.assert_findings(&["src/kernels.rs: is not what"]);
}

#[test]
fn another_compiler_is_named() {
    let copy = Copy::new();
    let compiler = copy.tree.compiler().unwrap();
    let (mut manifest, _) = Manifest::read(&copy.tree.manifest()).unwrap();
    manifest.compiler = "shaderc 0.0.1".to_owned();
    fs::write(copy.tree.manifest(), manifest.render()).unwrap();
    copy.assert_findings(&[&format!(
        "was written with shaderc 0.0.1, but Cargo.lock selects {compiler}"
    )]);
}

#[test]
fn a_changed_byte_of_the_table_is_noticed() {
    let copy = Copy::new();
    copy.replace("src/kernels.rs", "push_constant_size: 44", "push_constant_size: 45");
    copy.assert_findings(&["src/kernels.rs: is not what"]);
}

#[test]
fn files_that_nothing_refers_to_are_named() {
    let copy = Copy::new();
    fs::write(copy.root.join("compiled/old_b8.spv"), []).unwrap();
    fs::write(copy.root.join("kernels/include/old.glsl"), []).unwrap();
    copy.assert_findings(&[
        "compiled/old_b8.spv: belongs to no variant",
        "kernels/include/old.glsl: no kernel uses it",
    ]);
}
