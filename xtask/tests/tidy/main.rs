//! The invariants of the architecture, and rules for every file of the repository.
//!
//! Each rule is a function over text that returns violations, so that a test can show that it is able to
//! fail; the tests in this file apply the rules to the repository.

mod circles;
mod code;
mod documents;
mod layers;
mod manifests;
mod security;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use dml_core::operators::OPERATORS;

/// A file of the repository: its path relative to the root, with `/`, and its text.
struct Source {
    path: String,
    text: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the workspace")
}

/// Every text file that git tracks or would track.
fn sources() -> Vec<Source> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git lists the files of the repository");
    assert!(output.status.success(), "git ls-files failed");
    let list = String::from_utf8(output.stdout).expect("paths are UTF-8");
    let read = |path: &str| {
        // Binary files are not sources, and a deleted file may still be in git's index.
        let text = std::fs::read_to_string(root().join(path)).ok()?;
        Some(Source { path: path.to_owned(), text })
    };
    let sources: Vec<Source> =
        list.split('\0').filter(|it| !it.is_empty()).filter_map(read).collect();
    assert!(
        sources.iter().any(|source| source.path == "xtask/tests/tidy/main.rs"),
        "this file is listed"
    );
    sources
}

/// Applies `rule` to every file whose path `chosen` accepts, of which there must be at least one.
fn check(chosen: impl Fn(&str) -> bool, rule: impl Fn(&str) -> Vec<String>) {
    let sources: Vec<Source> =
        sources().into_iter().filter(|source| chosen(&source.path)).collect();
    assert!(!sources.is_empty(), "the rule applies to no file at all");
    let wrong: Vec<String> = sources
        .iter()
        .flat_map(|source| {
            rule(&source.text).into_iter().map(|it| format!("{}: {it}", source.path))
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn rust_in(folder: &'static str) -> impl Fn(&str) -> bool {
    move |path| path.starts_with(folder) && path.ends_with(".rs")
}

fn is_manifest(path: &str) -> bool {
    PathBuf::from(path).file_name().is_some_and(|name| name == "Cargo.toml")
}

/// The names in `spirv/kernels.toml`: one table each.
fn kernels() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("spirv/kernels.toml")).expect("readable");
    let table: toml::Table = text.parse().expect("spirv/kernels.toml is TOML");
    assert!(!table.is_empty(), "spirv/kernels.toml names no kernel");
    table.keys().cloned().collect()
}

#[test]
fn dml_core_names_neither_vulkan_nor_unsafe() {
    check(rust_in("crates/dml-core/"), |text| {
        code::forbidden_identifiers(text, &["ash", "vk", "unsafe"])
    });
}

#[test]
fn dml_core_names_no_kernel() {
    let kernels = kernels();
    check(rust_in("crates/dml-core/"), |text| code::named(text, &kernels));
}

#[test]
fn dml_vk_names_no_operator() {
    let operators: Vec<String> = OPERATORS.iter().map(|it| it.name.to_owned()).collect();
    assert!(!operators.is_empty());
    check(|path| path.starts_with("crates/dml-vk/"), |text| code::named(text, &operators));
}

#[test]
fn dml_ops_is_safe_and_knows_no_vulkan() {
    check(rust_in("crates/dml-ops/"), |text| {
        code::forbidden_identifiers(text, &["ash", "vk", "unsafe"])
    });
}

/// The file in which `dml` vouches for the plans and kernels that it compiles.
const COMPILING: &str = "crates/dml/src/device/compile.rs";

/// The compiler's lint `unsafe_code` can be allowed anywhere; this rule cannot. An example that owns its
/// Vulkan objects shows the calls that such a program needs.
#[test]
fn unsafe_is_in_dml_vk_its_test_tools_and_the_c_boundaries_only() {
    let allowed = [
        "crates/dml-vk/",
        "crates/dml-fault/",
        "crates/dml-capi/",
        "crates/dml-ort/",
        "crates/dml/examples/",
        COMPILING,
    ];
    check(
        |path| path.ends_with(".rs") && !allowed.iter().any(|it| path.starts_with(it)),
        |text| code::forbidden_identifiers(text, &["unsafe"]),
    );
}

/// No safe function of `dml` takes a plan to compile: it lowers operators itself, and vouches for the plans once.
#[test]
fn dml_has_one_unsafe_block_and_that_compiles() {
    let but_one_compilation = |text: &str| {
        let calls = text.matches("unsafe { self.vulkan.compile(").count();
        let found = code::forbidden_identifiers(text, &["unsafe"]);
        if (calls, found.len()) == (1, 1) { vec![] } else { found }
    };
    let one = "fn a() { let b = unsafe { self.vulkan.compile(c) }; }";
    assert!(but_one_compilation(one).is_empty());
    assert_eq!(but_one_compilation(&format!("{one}\n{one}")).len(), 2);
    assert_eq!(but_one_compilation("unsafe fn a() {}").len(), 1);
    check(|path| path == COMPILING, but_one_compilation);
}

#[test]
fn only_dml_vk_depends_on_vulkan_bindings() {
    check(
        |path| is_manifest(path) && path != "crates/dml-vk/Cargo.toml" && path != "Cargo.toml",
        |text| manifests::forbidden_dependencies(text, &["ash", "gpu-allocator"]),
    );
}

/// These crates must not know all crates below them.
#[test]
fn crates_know_no_more_than_they_need() {
    let unknown: [(&str, &[&str]); 3] = [
        ("crates/dml-vk/Cargo.toml", &["dml-spirv"]),
        // Models are read, inspected and bound without a device.
        ("crates/dml-import/Cargo.toml", &["dml-vk", "dml-spirv"]),
        // Its tests create their own device, so they know `dml-vk`.
        ("crates/dml-capi/Cargo.toml", &["dml-spirv", "dml-ops"]),
    ];
    for (manifest, crates) in unknown {
        check(|path| path == manifest, |text| manifests::forbidden_dependencies(text, crates));
    }
}

/// Every crate has a layer, and only depends on lower ones.
#[test]
fn crates_depend_downwards() {
    let manifests = sources().into_iter().filter(|source| is_manifest(&source.path));
    let in_workspace = manifests
        .filter(|manifest| manifest.path != "Cargo.toml" && manifest.path != "fuzz/Cargo.toml");
    let texts: Vec<String> = in_workspace.map(|in_workspace| in_workspace.text).collect();
    let wrong = layers::upward(&texts);
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// A module can be read, tested and moved without its users.
#[test]
fn modules_have_no_circles() {
    let mut crates: BTreeMap<String, circles::Crate> = BTreeMap::new();
    for source in sources().into_iter().filter(|source| source.path.ends_with(".rs")) {
        if let Some((folder, path)) = source.path.split_once("/src/") {
            crates.entry(folder.to_owned()).or_default().add(path, &source.text);
        }
    }
    assert!(crates.contains_key("crates/dml-core"), "{:?}", crates.keys());
    let named = |(folder, it): (&String, &circles::Crate)| {
        it.circles().into_iter().map(|circle| format!("{folder}: {circle}")).collect::<Vec<_>>()
    };
    let found: Vec<String> = crates.iter().flat_map(named).collect();
    assert!(found.is_empty(), "{found:#?}");
}

/// Families of operators define the computation; the schedule decides how it is executed.
#[test]
fn what_is_computed_does_not_name_the_schedule() {
    let says_what = |path: &str| {
        let path = path.strip_prefix("crates/dml-ops/src/").unwrap_or_default();
        let of = |name: &str| path.strip_prefix(name).is_some_and(|it| it.starts_with(['/', '.']));
        !path.contains("/tests") && ["families", "ir", "lowering"].into_iter().any(of)
    };
    check(says_what, |text| code::forbidden_identifiers(text, &["schedule"]));
}

/// Operators are distinguished by data: the runner asks the registry, and so do its cases.
#[test]
fn the_conformance_runner_names_no_operator() {
    // ONNX, to which WebNN's operations are translated, has these names too.
    let of_onnx = ["GRU", "LSTM", "RNN"];
    let operators: Vec<String> = OPERATORS
        .iter()
        .filter(|it| it.implemented && !of_onnx.contains(&it.name))
        .flat_map(|it| [format!("\"{}\"", it.name), pascal_case(it.name) + "Desc"])
        .collect();
    let without_tests = |text: &str| {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        operators.iter().filter(|name| code.contains(name.as_str())).cloned().collect::<Vec<_>>()
    };
    assert_eq!(without_tests("match name { \"DIAGONAL_MATRIX\" => 1 }").len(), 1);
    assert_eq!(without_tests("DiagonalMatrixDesc { offset }").len(), 1);
    check(rust_in("conformance/src/"), without_tests);
}

fn pascal_case(name: &str) -> String {
    let word = |word: &str| word[..1].to_owned() + &word[1..].to_lowercase();
    name.split('_').map(word).collect()
}

#[test]
fn every_crate_states_license_lints_and_rust_version() {
    check(|path| is_manifest(path) && path != "Cargo.toml", manifests::missing_statements);
}

#[test]
fn sources_are_short() {
    let extensions = [".rs", ".comp", ".glsl", ".sh", ".h", ".py"];
    check(|path| extensions.iter().any(|extension| path.ends_with(extension)), text::too_long);
}

/// Cargo.lock names the default registry in every entry.
#[test]
fn no_file_knows_the_machine_it_was_written_on() {
    check(
        |path| path != "Cargo.lock",
        |text| [text::machine_paths(text), text::registry_hosts(text)].concat(),
    );
}

/// Whether users get the file: everything except development tools.
fn is_shipped(path: &str) -> bool {
    let tools = ["xtask/", "spirv/compiler/", "crates/dml-bench/", "crates/dml-stress/", "fuzz/"];
    !tools.iter().any(|tool| path.starts_with(tool))
}

/// Whether the file is a test or a build script.
fn is_no_product(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs") || path.ends_with("/build.rs")
}

fn security_document() -> String {
    std::fs::read_to_string(root().join("docs/security.md")).expect("docs/security.md is readable")
}

/// Fails with the lines that the table lacks, and those that it has in excess.
fn assert_rows(title: &str, found: &[Vec<String>], expected: &[Vec<String>]) {
    let lines = |rows: &[Vec<String>], others: &[Vec<String>], what: &str| {
        let odd = rows.iter().filter(|row| !others.contains(row));
        odd.map(|row| format!("{what}: | {} |", row.join(" | "))).collect::<Vec<_>>()
    };
    let missing = lines(expected, found, "missing");
    let stale = lines(found, expected, "stale");
    let all = [missing, stale].concat();
    assert!(all.is_empty(), "docs/security.md, {title}:\n{}", all.join("\n"));
}

/// Every file with `unsafe` in it, and its justification.
#[test]
fn unsafe_code_is_accounted_for() {
    let is_listed =
        |it: &Source| it.path.ends_with(".rs") && is_shipped(&it.path) && !is_no_product(&it.path);
    let files = sources().into_iter().filter(is_listed);
    let files =
        files.filter(|file| !code::forbidden_identifiers(&file.text, &["unsafe"]).is_empty());
    let expected: Vec<Vec<String>> = files.map(|file| vec![file.path]).collect();
    let rows = security::table(&security_document(), "Unsafe code");
    // The first table of the section explains the kinds.
    let is_file = |row: &Vec<String>| row.first().is_some_and(|cell| cell.contains('/'));
    let (rows, explained): (Vec<_>, Vec<_>) = rows.into_iter().partition(is_file);
    let (kinds, found): (Vec<_>, Vec<_>) =
        rows.into_iter().map(|mut row| (row.pop().unwrap_or_default(), row)).unzip();
    assert_rows("Unsafe code", &found, &expected);
    for kind in kinds.iter().flat_map(|kind| kind.split(", ")) {
        let is_explained = explained.iter().any(|row| row[0] == kind);
        assert!(is_explained, "docs/security.md explains no '{kind}'");
    }
}

/// Every direct dependency of shipped crates has a reason.
#[test]
fn dependencies_are_accounted_for() {
    let manifests = sources()
        .into_iter()
        .filter(|source| is_manifest(&source.path) && is_shipped(&source.path));
    let manifests: Vec<String> = manifests.map(|manifest| manifest.text).collect();
    let manifests: Vec<&str> = manifests.iter().map(String::as_str).collect();
    let expected: Vec<Vec<String>> = security::dependencies(&manifests)
        .into_iter()
        .filter(|(name, _)| !is_own(name))
        .map(|(name, users)| vec![name, users.into_iter().collect::<Vec<_>>().join(", ")])
        .collect();
    let rows = security::table(&security_document(), "Dependencies");
    let (reasons, found): (Vec<_>, Vec<_>) =
        rows.into_iter().map(|mut row| (row.pop().unwrap_or_default(), row)).unzip();
    assert_rows("Dependencies", &found, &expected);
    assert!(reasons.iter().all(|reason| reason.len() > 10), "a dependency has no reason");
}

fn is_own(name: &str) -> bool {
    name == "dml" || name.starts_with("dml-")
}

/// Files that read the environment.
fn readers_of_the_environment() -> Vec<Source> {
    let is_reader = |it: &Source| {
        it.path.ends_with(".rs")
            && is_shipped(&it.path)
            && !is_no_product(&it.path)
            && security::reads_environment(&it.text)
    };
    sources().into_iter().filter(is_reader).collect()
}

/// Every variable that a file names has a row, and the row names the file.
#[test]
fn every_environment_variable_has_a_row_with_its_files() {
    let mut expected = BTreeSet::new();
    for source in readers_of_the_environment() {
        let variables = security::variables(&source.text).into_iter();
        expected.extend(variables.map(|name| (name, source.path.clone())));
    }
    let listed = security::listed_variables(&security_document());
    assert!(expected.len() > 5, "{expected:?}");
    let missing: Vec<_> = expected.difference(&listed).collect();
    assert!(missing.is_empty(), "docs/security.md, Environment variables: missing: {missing:?}");
    let is_read = |name: &str| expected.iter().any(|(read, _)| read == name);
    let own = listed.iter().map(|(name, _)| name).filter(|name| name.starts_with("DML_"));
    let stale: Vec<_> = own.filter(|name| !is_read(name)).collect();
    assert!(stale.is_empty(), "docs/security.md, Environment variables: stale: {stale:?}");
}

/// Every file that reads the environment is in the table of variables.
#[test]
fn environment_variables_are_accounted_for() {
    let expected: BTreeSet<String> =
        readers_of_the_environment().into_iter().map(|it| it.path).collect();
    let listed = security::listed_variables(&security_document()).into_iter();
    let listed: BTreeSet<String> =
        listed.map(|(_, file)| file).filter(|it| it.ends_with(".rs")).collect();
    assert_eq!(listed, expected, "docs/security.md, Environment variables");
}
