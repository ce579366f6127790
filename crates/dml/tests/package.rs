//! The library crates are complete: packaged as for a registry, they and a program outside the workspace compile,
//! without a shader compiler.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::process::Command;

/// The crates that a user of the library needs.
const CRATES: [&str; 5] = ["dml-core", "dml-spirv", "dml-vk", "dml-ops", "dml"];

const CONSUMER: &str = r#"
fn main() {
    let tensor = dml::TensorDesc::packed(dml::DataType::Float32, &[3, 3]);
    let desc = dml::DiagonalMatrixDesc { output_tensor: tensor, offset: 0, value: 1.0 };
    let level = dml::FeatureLevel::V2_0;
    println!("{}", dml::core::validate(&desc.into(), level).unwrap_err());
}
"#;

fn cargo(folder: &Path, arguments: &[&str]) {
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(folder).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {arguments:?}: {error}");
}

/// With the present time: all files of an archive have the same one, and cargo would not see that
/// they differ from those of the last run.
fn unpack(archive: &Path, folder: &Path) {
    let status = Command::new("tar").arg("-xzmf").arg(archive).arg("-C").arg(folder).status();
    assert!(status.unwrap().success(), "{}", archive.display());
}

#[test]
fn a_program_outside_the_workspace_compiles_with_the_packaged_crates() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("consumer");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let packages = folder.join("packages");
    let _ = fs::remove_dir_all(&packages);
    fs::create_dir_all(packages.join("src")).unwrap();

    let mut arguments = vec!["package", "--no-verify", "--allow-dirty", "--target-dir"];
    arguments.push(target.to_str().unwrap());
    arguments.extend(CRATES.iter().flat_map(|name| ["-p", name]));
    cargo(&workspace, &arguments);

    let version = env!("CARGO_PKG_VERSION");
    let mut manifest = "[package]\nname = \"consumer\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\ndml = \"0.2\"\n\n[patch.crates-io]\n"
        .to_owned();
    for name in CRATES {
        let archive = target.join(format!("package/{name}-{version}.crate"));
        unpack(&archive, &packages);
        manifest.push_str(&format!("{name} = {{ path = \"{name}-{version}\" }}\n"));
    }
    fs::write(packages.join("Cargo.toml"), manifest).unwrap();
    fs::write(packages.join("src/main.rs"), CONSUMER).unwrap();
    fs::copy(workspace.join("Cargo.lock"), packages.join("Cargo.lock")).unwrap();

    cargo(&packages, &["check", "--quiet", "--target-dir", target.to_str().unwrap()]);
    let lock = fs::read_to_string(packages.join("Cargo.lock")).unwrap();
    assert!(!lock.contains("shaderc"), "the library must not need a shader compiler");
}
