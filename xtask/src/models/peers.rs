//! Libraries that run whole models on the same device, for `models --peers`.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde::Serialize;
use xshell::Shell;

use crate::{peers, workspace};

/// A library's name; the name of its script and its requirements; and the package there that has its version.
const LIBRARIES: [(&str, &str, &str); 3] = [
    ("ncnn", "ncnn", "ncnn"),
    ("IREE", "iree", "iree-base-compiler"),
    ("ONNX Runtime WebGPU", "onnxruntime-webgpu", "onnxruntime-webgpu"),
];

/// Additional packages of the scripts.
const TOOLS: [&str; 1] = ["pnnx"];

/// The script, relative to the workspace; its arguments are the folder of packages, and a library.
const SCRIPT: &str = "crates/dml-bench/peers/whole.py";

/// A library in the format of `dml-conformance onnx --peers`.
#[derive(Serialize)]
struct Library<'a> {
    name: String,
    command: [&'a str; 4],
}

/// Installs them, and returns the file that lists them. A library that could not be installed reports that
/// when it is run.
pub(super) fn file(sh: &Shell) -> Result<PathBuf> {
    let names: Vec<&str> = LIBRARIES.iter().map(|it| it.1).chain(TOOLS).collect();
    let folder = peers::make_sure(sh, &names)?;
    let script = workspace::root().join(SCRIPT);
    let (script, folder) = (script.to_string_lossy(), folder.to_string_lossy());
    let list = LIBRARIES.map(|(name, library, package)| {
        let requirements = sh.read_file(peers::requirements(library))?;
        let name = format!("{name} {}", version(&requirements, package)?);
        Ok(Library { name, command: ["python3", &script, &folder, library] })
    });
    let list = list.into_iter().collect::<Result<Vec<_>>>()?;
    let file = workspace::root().join("target/models-peers.json");
    sh.write_file(&file, serde_json::to_string_pretty(&list)?)?;
    Ok(file)
}

/// The fixed version of `package` among requirements.
fn version<'a>(requirements: &'a str, package: &str) -> Result<&'a str> {
    let mut lines = requirements.lines().map(str::trim);
    let version = lines.find_map(|line| line.strip_prefix(package)?.strip_prefix("=="));
    version.with_context(|| format!("the requirements fix no version of {package}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_library_has_a_script_and_a_version() {
        for (name, library, package) in LIBRARIES {
            let requirements = std::fs::read_to_string(peers::requirements(library)).unwrap();
            assert!(!version(&requirements, package).unwrap().is_empty(), "{name}");
            let script = workspace::root().join(SCRIPT).with_file_name("models");
            assert!(script.join(format!("{library}.py")).is_file(), "{name}");
        }
        assert!(TOOLS.iter().all(|it| peers::requirements(it).is_file()));
    }

    #[test]
    fn a_version_is_that_of_the_package_alone() {
        let requirements = "one-more==1.0\none==2.0\n";
        assert_eq!(version(requirements, "one").unwrap(), "2.0");
        assert!(version(requirements, "more").is_err());
    }
}
