//! What `setup` writes beside the unpacked packages: manifests for the Vulkan loader that point
//! there, and folders of links that hold nothing else.
//!
//! Made anew on every run, so that a checkout may be moved. A file whose content is right already
//! is left alone, because other processes may be reading it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use xshell::Shell;

/// The layer of Debian's `chromium-common` states this version of itself; loaders compare only the
/// first two numbers with what an application asks for. The package holds no manifest to take it
/// from.
const CHROMIUM_LAYER_API: &str = "1.4.364";

/// The driver manifest `original`, with the path of its library replaced.
pub(crate) fn driver_manifest(original: &str, library: &Path) -> Result<String> {
    let mut manifest: Value = serde_json::from_str(original).context("a driver's manifest")?;
    let icd = manifest.get_mut("ICD").context("a driver's manifest without the key ICD")?;
    icd["library_path"] = json!(library);
    Ok(format!("{manifest:#}\n"))
}

/// The layer manifest `original`, with the path of its library replaced.
pub(crate) fn layer_manifest(original: &str, library: &Path) -> Result<String> {
    let mut manifest: Value = serde_json::from_str(original).context("a layer's manifest")?;
    let layer = manifest.get_mut("layer").context("a layer's manifest without the key layer")?;
    layer["library_path"] = json!(library);
    Ok(format!("{manifest:#}\n"))
}

/// A manifest for the validation layer that Chromium brings without one.
pub(crate) fn chromium_layer_manifest(library: &Path) -> String {
    let extension =
        |name: &str, version: u32| json!({ "name": name, "spec_version": version.to_string() });
    let manifest = json!({
        "file_format_version": "1.2.0",
        "layer": {
            "name": "VK_LAYER_KHRONOS_validation",
            "type": "GLOBAL",
            "library_path": library,
            "api_version": CHROMIUM_LAYER_API,
            "implementation_version": "1",
            "description": "Khronos Validation Layer",
            "instance_extensions": [
                extension("VK_EXT_debug_report", 10),
                extension("VK_EXT_debug_utils", 2),
                extension("VK_EXT_validation_features", 6),
                extension("VK_EXT_layer_settings", 2),
            ],
        },
    });
    format!("{manifest:#}\n")
}

/// Gives `folder` exactly these files, by name and content.
pub(crate) fn sync_files(
    sh: &Shell,
    folder: &Path,
    files: &BTreeMap<OsString, String>,
) -> Result<()> {
    sh.create_dir(folder)?;
    for (name, text) in files {
        let path = folder.join(name);
        if std::fs::read_to_string(&path).is_ok_and(|old| old == *text) {
            continue;
        }
        let fresh = temporary(folder);
        sh.write_file(&fresh, text)?;
        std::fs::rename(&fresh, &path).with_context(|| format!("writing {}", path.display()))?;
    }
    remove_others(sh, folder, |name| files.contains_key(name))
}

/// Gives `folder` exactly these links, by name and target.
#[cfg(unix)]
pub(crate) fn sync_links(
    sh: &Shell,
    folder: &Path,
    links: &BTreeMap<OsString, PathBuf>,
) -> Result<()> {
    sh.create_dir(folder)?;
    for (name, target) in links {
        let path = folder.join(name);
        if std::fs::read_link(&path).is_ok_and(|old| old == *target) {
            continue;
        }
        let fresh = temporary(folder);
        sh.remove_path(&fresh)?;
        std::os::unix::fs::symlink(target, &fresh)
            .and_then(|()| std::fs::rename(&fresh, &path))
            .with_context(|| format!("linking {}", path.display()))?;
    }
    remove_others(sh, folder, |name| links.contains_key(name))
}

/// apt, the only source of things to link to, exists on Unix only.
#[cfg(not(unix))]
pub(crate) fn sync_links(_: &Shell, _: &Path, _: &BTreeMap<OsString, PathBuf>) -> Result<()> {
    anyhow::bail!("links are made on Unix only")
}

/// In the same folder, so that a rename replaces the old file in one step.
fn temporary(folder: &Path) -> PathBuf {
    folder.join(".new")
}

fn remove_others(sh: &Shell, folder: &Path, wanted: impl Fn(&OsString) -> bool) -> Result<()> {
    for path in sh.read_dir(folder)? {
        if path.file_name().is_some_and(|name| !wanted(&name.to_owned())) {
            sh.remove_path(path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_manifest_keeps_all_but_its_path() {
        let original = r#"{"ICD":{"api_version":"1.1.230","library_path":"/usr/lib/a.so"},
            "file_format_version":"1.0.0"}"#;
        let text = driver_manifest(original, Path::new("here/a.so")).unwrap();
        let manifest: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(manifest["ICD"]["library_path"], "here/a.so");
        assert_eq!(manifest["ICD"]["api_version"], "1.1.230");
        assert!(driver_manifest("{}", Path::new("a")).is_err());
    }

    #[test]
    fn folders_hold_exactly_what_is_asked_for() {
        let sh = Shell::new().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let names = |sh: &Shell| -> Vec<OsString> {
            let paths = sh.read_dir(folder.path()).unwrap();
            paths.iter().map(|it| it.file_name().unwrap().to_owned()).collect()
        };
        let files = BTreeMap::from([("a".into(), "1".to_owned()), ("b".into(), "2".to_owned())]);
        sync_files(&sh, folder.path(), &files).unwrap();
        assert_eq!(names(&sh), ["a", "b"]);
        let links = BTreeMap::from([("b".into(), PathBuf::from("elsewhere"))]);
        sync_links(&sh, folder.path(), &links).unwrap();
        sync_links(&sh, folder.path(), &links).unwrap();
        assert_eq!(names(&sh), ["b"]);
        assert_eq!(std::fs::read_link(folder.path().join("b")).unwrap(), Path::new("elsewhere"));
    }
}
