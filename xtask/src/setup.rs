//! `cargo xtask setup` and `cargo xtask env`: a Vulkan loader, two CPU drivers, the validation layer
//! and spirv-val, unpacked below `target/setup` and found through environment variables.

mod backports;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use dml_file::{eprintln, print, println};
use xshell::{Shell, cmd};

use crate::environment::{Environment, joined};
use crate::packages::{self, Packages, Tree};

pub(crate) use backports::{environment as backports, radv};

/// Make sure of a Vulkan loader, both CPU drivers, the validation layer and spirv-val
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Also install the loader, lavapipe and spirv-tools on this system (needs root)
    #[arg(long)]
    system: bool,
}

const SYSTEM_PACKAGES: [&str; 3] = ["mesa-vulkan-drivers", "libvulkan1", "spirv-tools"];

/// SwiftShader and the newer validation layer are in Chromium's package, whose dependencies (a desktop) they
/// do not need. Ubuntu does not have it as a package; the packaged layer is the replacement there.
const CHROMIUM: (&str, Option<&str>) = ("chromium-common", Some("vulkan-validationlayers"));

const WITHOUT_APT: &str = "\
apt, so nothing can be set up automatically. Please install:
  - a Vulkan loader (libvulkan.so.1, vulkan-1.dll or libvulkan.dylib),
  - a Vulkan driver; without a GPU: Mesa's lavapipe, and SwiftShader for the tests,
  - for the tests, the Khronos validation layer (VK_LAYER_KHRONOS_validation) 1.4 or newer,
  - for `build-shaders`, spirv-val (SPIRV-Tools).
Where they lie in unusual places, point VK_DRIVER_FILES and VK_LAYER_PATH there.";

/// The drivers and tools after a set-up.
pub(crate) struct Setup {
    environment: Environment,
    /// The manifests of the CPU drivers.
    drivers: Vec<PathBuf>,
    /// The parts that could not be obtained.
    missing: Vec<&'static str>,
}

impl Setup {
    /// Only the CPU drivers: the system's own are hidden, so that every machine has the same devices. A newer
    /// loader reads VK_DRIVER_FILES, an older one VK_ICD_FILENAMES.
    pub(crate) fn environment(self) -> Result<Environment> {
        self.announced(&["VK_DRIVER_FILES", "VK_ICD_FILENAMES"])
    }

    /// The CPU drivers in addition to the system's own.
    pub(crate) fn environment_beside_system(self) -> Result<Environment> {
        self.announced(&["VK_ADD_DRIVER_FILES"])
    }

    /// The libraries of the CPU drivers, lavapipe's first.
    pub(crate) fn libraries(&self) -> Result<Vec<PathBuf>> {
        self.drivers.iter().map(|manifest| library_of(manifest)).collect()
    }

    fn announced(self, variables: &[&'static str]) -> Result<Environment> {
        if self.drivers.is_empty() {
            return Ok(self.environment);
        }
        let drivers = joined(&self.drivers)?;
        Ok(variables.iter().fold(self.environment, |it, name| it.with(name, &drivers)))
    }
}

/// Runs `cargo xtask setup`.
pub(crate) fn run(sh: &Shell, args: &Args) -> Result<()> {
    if args.system {
        let is_root = cmd!(sh, "id -u").quiet().read()? == "0";
        ensure!(is_root, "`setup --system` installs packages on this system, which needs root");
        cmd!(sh, "apt-get update -q").run()?;
        cmd!(sh, "apt-get install -y --no-install-recommends {SYSTEM_PACKAGES...}").run()?;
    }
    ensure!(make_sure(sh)?.missing.is_empty(), "the set-up is incomplete, see above");
    println!("To use them in this shell: eval \"$(cargo xtask env)\"");
    Ok(())
}

/// Prints lines for `eval "$(cargo xtask env)"`.
pub(crate) fn print_environment(sh: &Shell) -> Result<()> {
    print!("{}", make_sure(sh)?.environment()?.exports());
    Ok(())
}

/// Makes sure of everything that this system can offer. Missing parts are printed; in CI, where nobody reads
/// warnings, they are an error.
pub(crate) fn make_sure(sh: &Shell) -> Result<Setup> {
    let setup = if packages::are_available() {
        let request = Packages::new("root", &SYSTEM_PACKAGES);
        let tree = Packages { alone: &[CHROMIUM], finish, ..request }.ensure(sh)?;
        // The versions may change, so every log of a run has to state them.
        eprintln!("setup: unpacked are {}", tree.versions);
        contents(sh, &tree)?
    } else {
        Setup { environment: Environment::system(), drivers: vec![], missing: vec![WITHOUT_APT] }
    };
    if !setup.missing.is_empty() {
        let missing = setup.missing.join("\n");
        ensure!(!in_ci(), "the set-up is incomplete, missing are:\n{missing}");
        eprintln!("setup: incomplete, missing are:\n{missing}");
    }
    Ok(setup)
}

/// Whether this runs in CI.
pub(crate) fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| matches!(value.as_str(), "true" | "1"))
}

const LAVAPIPE: &str = "icd/lvp_icd.json";
const SWIFTSHADER: &str = "usr/lib/chromium/vk_swiftshader_icd.json";
const LAYER: &str = "layers/VkLayer_khronos_validation.json";

/// Chromium's package has the validation layer without a manifest. It is newer than the packaged one, which
/// misses most hazards between dispatches. Loaders compare the first two numbers of `api_version` with the
/// version that an application requests.
const CHROMIUM_LAYER: &str = include_str!("setup/validation-layer.json");

/// The parts in the unpacked packages.
fn contents(sh: &Shell, tree: &Tree) -> Result<Setup> {
    let has = |file: &str| tree.root.join(file).is_file();
    let has_loader = tree.libraries(sh)?.iter().any(|it| it.join("libvulkan.so.1").is_file());
    let parts = [
        (has_loader, "a Vulkan loader"),
        (has(LAVAPIPE), "lavapipe"),
        (has(SWIFTSHADER), "SwiftShader"),
        (has(LAYER), "the validation layer"),
        (has("usr/bin/spirv-val"), "spirv-val"),
    ];
    let missing = parts.into_iter().filter(|(is_there, _)| !is_there).map(|(_, message)| message);
    let drivers = [LAVAPIPE, SWIFTSHADER].into_iter().filter(|it| has(it));
    Ok(Setup {
        environment: tree.environment(sh)?.with("VK_LAYER_PATH", tree.root.join("layers")),
        drivers: drivers.map(|driver| tree.root.join(driver)).collect(),
        missing: missing.collect(),
    })
}

/// Writes manifests for the loader, in folders with no other driver or layer; SwiftShader's own is suitable. Only
/// spirv-tools' programs are kept: lavapipe's package depends on Python, which must not be on PATH.
fn finish(sh: &Shell, root: &Path) -> Result<()> {
    let begins = |path: &Path, start: &str| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start))
    };
    for program in sh.read_dir(root.join("usr/bin")).unwrap_or_default() {
        if !begins(&program, "spirv-") {
            sh.remove_path(program)?;
        }
    }
    // Debian's name is lvp_icd.ARCHITECTURE.json.
    for manifest in sh.read_dir(root.join("usr/share/vulkan/icd.d")).unwrap_or_default() {
        if begins(&manifest, "lvp_icd.") {
            sh.write_file(root.join(LAVAPIPE), moved(&sh.read_file(manifest)?))?;
        }
    }
    let packaged = root.join("usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json");
    if root.join("usr/lib/chromium/libVkLayer_khronos_validation.so").is_file() {
        sh.write_file(root.join(LAYER), CHROMIUM_LAYER)?;
    } else if packaged.is_file() {
        sh.write_file(root.join(LAYER), moved(&sh.read_file(packaged)?))?;
    }
    Ok(())
}

/// The library that a driver's manifest names by a path.
fn library_of(manifest: &Path) -> Result<PathBuf> {
    let text = std::fs::read_to_string(manifest).with_context(|| manifest.display().to_string())?;
    let content: serde_json::Value = serde_json::from_str(&text)?;
    let path = content["ICD"]["library_path"].as_str().filter(|path| path.contains('/'));
    let folder = manifest.parent().context("a manifest lies in a folder")?;
    Ok(folder.join(path.with_context(|| format!("{} names no path", manifest.display()))?))
}

/// A manifest for a folder of the tree: the loader resolves a library's path relative to the manifest's
/// folder, so that a checkout may be moved. A bare name is found through LD_LIBRARY_PATH.
fn moved(manifest: &str) -> String {
    manifest.replace("\"/usr/", "\"../usr/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup() -> Setup {
        let environment = Environment::of_folders(vec!["lib".into()], vec!["bin".into()]).unwrap();
        Setup {
            environment: environment.with("VK_LAYER_PATH", "layers"),
            drivers: vec!["icd/a.json".into(), "icd/b.json".into()],
            missing: Vec::new(),
        }
    }

    #[test]
    fn exports_hide_the_systems_drivers_from_old_and_new_loaders() {
        assert_eq!(
            setup().environment().unwrap().exports(),
            "export VK_LAYER_PATH='layers'\n\
             export VK_DRIVER_FILES='icd/a.json:icd/b.json'\n\
             export VK_ICD_FILENAMES='icd/a.json:icd/b.json'\n\
             export LD_LIBRARY_PATH='lib'\"${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\"\n\
             export PATH='bin'\"${PATH:+:$PATH}\"\n"
        );
    }

    #[test]
    fn beside_the_system_nothing_is_hidden() {
        let text = setup().environment_beside_system().unwrap().exports();
        assert!(text.contains("VK_ADD_DRIVER_FILES"));
        assert!(!text.contains("VK_DRIVER_FILES") && !text.contains("VK_ICD_FILENAMES"));
    }

    #[test]
    fn without_packages_nothing_changes() {
        let nothing = Setup { environment: Environment::system(), drivers: vec![], ..setup() };
        assert_eq!(nothing.environment().unwrap(), Environment::system());
    }

    #[test]
    fn a_manifest_names_its_library_from_its_own_folder_on() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = folder.path().join("icd.json");
        let library = |path: &str| {
            std::fs::write(&manifest, format!(r#"{{"ICD": {{"library_path": "{path}"}}}}"#))
                .unwrap();
            library_of(&manifest).map_err(|error| error.to_string())
        };
        assert_eq!(library("../a.so"), Ok(folder.path().join("../a.so")));
        assert_eq!(library("/usr/a.so"), Ok(PathBuf::from("/usr/a.so")));
        assert!(library("a.so").unwrap_err().ends_with("icd.json names no path"));
    }

    #[test]
    fn a_driver_manifest_keeps_all_but_its_path() {
        let text = r#"{"ICD": {"api_version": "1.1.230", "library_path": "/usr/lib/a.so"}}"#;
        let expected = r#"{"ICD": {"api_version": "1.1.230", "library_path": "../usr/lib/a.so"}}"#;
        assert_eq!(moved(text), expected);
        assert_eq!(moved(r#""liba.so""#), r#""liba.so""#);
    }
}
