//! The recorded passes of steps: digests of the inputs with which they last passed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};
use sha2::{Digest as _, Sha256};
use xshell::{Shell, cmd};

use super::Check;

const HEADER: &str = "\
# Written by `cargo xtask ci --only STEP --record`: digests of what a step depended on when it last
# passed. `cargo xtask ci` leaves a step out where they are the same.
";

/// The digest of the last recorded pass of each step.
pub(crate) struct Record(BTreeMap<String, String>);

impl Record {
    /// Reads the file of the recorded passes.
    ///
    /// # Errors
    /// The file is missing, or has another format.
    pub(crate) fn read(sh: &Shell, file: &str) -> Result<Self> {
        let text = sh.read_file(file)?;
        Ok(Self(toml::from_str(&text).with_context(|| file.to_owned())?))
    }

    /// The names of the steps that have passed.
    #[cfg(test)]
    pub(crate) fn steps(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether `step` need not run because its inputs are as recorded. If that cannot be determined, it runs.
    pub(crate) fn is_as_recorded(sh: &Shell, file: &str, step: &Check) -> bool {
        let digest = Self::digest(sh, step);
        let recorded =
            Self::read(sh, file).and_then(|record| Ok(record.has(step, digest?.as_deref())));
        recorded.unwrap_or_else(|error| {
            eprintln!("what {} depends on cannot be compared: {error:#}", step.name);
            false
        })
    }

    /// The digest of the inputs of `step`; `None` if it depends on everything.
    fn digest(sh: &Shell, step: &Check) -> Result<Option<String>> {
        if step.inputs.is_empty() { Ok(None) } else { digest(sh, step.inputs).map(Some) }
    }

    fn has(&self, step: &Check, digest: Option<&str>) -> bool {
        digest.is_some() && self.0.get(step.name).map(String::as_str) == digest
    }

    /// Records that `step` has passed; does nothing for a step without inputs.
    pub(crate) fn write(sh: &Shell, file: &str, step: &Check) -> Result<()> {
        let Some(digest) = Self::digest(sh, step)? else { return Ok(()) };
        let Self(mut steps) = Self::read(sh, file)?;
        steps.insert(step.name.to_owned(), digest);
        sh.write_file(file, format!("{HEADER}{}", toml::to_string(&steps)?))?;
        eprintln!("recorded in {file}");
        Ok(())
    }
}

/// The digest of the names and contents of the files below `inputs` that git tracks or would track. An input
/// `Cargo.lock#NAME` is the locked version of that package.
fn digest(sh: &Shell, inputs: &[&str]) -> Result<String> {
    let mut hash = Sha256::new();
    let (packages, paths): (Vec<&str>, Vec<&str>) =
        inputs.iter().partition(|input| input.contains('#'));
    for package in packages {
        hash.update(format!("{package} {}\n", locked(sh, package)?));
    }
    let listed = cmd!(sh, "git ls-files -z --cached --others --exclude-standard -- {paths...}");
    let listed = listed.quiet().read()?;
    for path in listed.split('\0').filter(|it| !it.is_empty()) {
        // A deleted file may still be in git's index.
        let Ok(bytes) = sh.read_binary_file(path) else { continue };
        hash.update(format!("{path} {}\n", bytes.len()));
        hash.update(bytes);
    }
    let mut text = String::new();
    hash.finalize().iter().try_for_each(|byte| write!(text, "{byte:02x}"))?;
    Ok(text)
}

/// The files of one input: the paths, or the locked package.
///
/// # Errors
/// A package is not locked, or git cannot be asked.
#[cfg(test)]
pub(crate) fn listed(sh: &Shell, input: &str) -> Result<String> {
    if input.contains('#') {
        return locked(sh, input);
    }
    Ok(cmd!(sh, "git ls-files -- {input}").quiet().read()?)
}

/// Every version of `Cargo.lock#NAME`, with its checksum.
fn locked(sh: &Shell, input: &str) -> Result<String> {
    let (file, name) = input.split_once('#').context("no package is named")?;
    let lock: toml::Table = toml::from_str(&sh.read_file(file)?)?;
    let packages = lock.get("package").and_then(toml::Value::as_array).context("no packages")?;
    let found: Vec<_> =
        packages.iter().filter(|package| package["name"].as_str() == Some(name)).collect();
    ensure!(!found.is_empty(), "{file} has no package {name}");
    Ok(found.iter().map(ToString::to_string).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell_in(folder: &std::path::Path) -> Shell {
        let sh = Shell::new().unwrap();
        sh.change_dir(folder);
        sh
    }

    #[test]
    fn a_digest_changes_with_contents_names_and_versions_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let sh = shell_in(folder.path());
        cmd!(sh, "git init --quiet").run().unwrap();
        let lock = |version| format!("[[package]]\nname = \"p\"\nversion = \"{version}\"\n");
        sh.write_file("Cargo.lock", lock("1.0.0")).unwrap();
        sh.write_file("a/one", "1").unwrap();
        sh.write_file("b/two", "2").unwrap();
        let inputs = ["a", "Cargo.lock#p"];
        let mut seen = vec![digest(&sh, &inputs).unwrap()];
        sh.write_file("b/two", "3").unwrap();
        assert_eq!(digest(&sh, &inputs).unwrap(), seen[0]);
        let changes: [&dyn Fn(); 3] = [
            &|| sh.write_file("a/one", "2").unwrap(),
            &|| sh.write_file("a/three", "").unwrap(),
            &|| sh.write_file("Cargo.lock", lock("1.0.1")).unwrap(),
        ];
        for change in changes {
            change();
            let now = digest(&sh, &inputs).unwrap();
            assert!(!seen.contains(&now), "a change is not seen");
            seen.push(now);
        }
        let error = digest(&sh, &["Cargo.lock#q"]).unwrap_err().to_string();
        assert_eq!(error, "Cargo.lock has no package q");
    }
}
