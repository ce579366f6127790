//! `cargo xtask setup`: Vulkan loader, two CPU drivers, the validation layer and spirv-val.
//!
//! Nothing changes on the user's system: packages are unpacked below `target/setup` and found
//! through environment variables. A second run finds its own stamp and costs nothing.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use xshell::Shell;

use crate::apt;
use crate::bundle::{Bare, Bundle};
use crate::contents::Contents;
use crate::environment::{Announced, Environment};
use crate::workspace;

/// Make sure of a Vulkan loader, both CPU drivers, the validation layer and spirv-val
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Also install the loader, lavapipe and spirv-tools on this system (needs root)
    #[arg(long)]
    system: bool,
}

const SYSTEM_PACKAGES: [&str; 3] = ["mesa-vulkan-drivers", "libvulkan1", "spirv-tools"];

const WITHOUT_APT: &str = "\
This system has no apt, so nothing can be set up automatically. Please install:
  - a Vulkan loader (libvulkan.so.1, vulkan-1.dll or libvulkan.dylib),
  - a Vulkan driver; without a GPU: Mesa's lavapipe, and SwiftShader for the tests,
  - for the tests, the Khronos validation layer (VK_LAYER_KHRONOS_validation) 1.4 or newer,
  - for `build-shaders`, spirv-val (SPIRV-Tools).
Where they lie in unusual places, point VK_DRIVER_FILES and VK_LAYER_PATH there.";

/// What there is after a set-up.
pub(crate) struct Setup {
    announced: Announced,
    /// One line for each thing that is there.
    found: Vec<String>,
    /// One line for each thing that could not be had.
    missing: Vec<String>,
    /// What was unpacked, with versions.
    packages: Vec<String>,
}

impl Setup {
    /// Only the CPU drivers.
    pub(crate) fn environment(self) -> Result<Environment> {
        Environment::only(self.announced)
    }

    /// The CPU drivers beside the system's own.
    pub(crate) fn environment_beside_system(self) -> Result<Environment> {
        Environment::beside_system(self.announced)
    }
}

/// Runs the command.
pub(crate) fn run(sh: &Shell, args: &Args) -> Result<()> {
    if args.system {
        apt::install_on_system(sh, &SYSTEM_PACKAGES)?;
    }
    let setup = make_sure(sh)?;
    for line in &setup.found {
        println!("{line}");
    }
    if !setup.found.is_empty() {
        println!("\nTo use them in this shell: eval \"$(cargo xtask env)\"");
    }
    ensure!(setup.missing.is_empty(), "the set-up is incomplete, see above");
    Ok(())
}

/// Makes sure of everything that this system can offer. What is missing is printed; in CI, where
/// nobody reads warnings, it is an error.
pub(crate) fn make_sure(sh: &Shell) -> Result<Setup> {
    let setup = if apt::present() {
        let folder = workspace::setup_dir();
        let _lock = lock(sh, &folder)?;
        let tree = drivers().ensure(sh, &folder)?;
        let contents = Contents::of(sh, &tree)?;
        let announced = contents.write(sh, &folder)?;
        let Contents { found, missing, .. } = contents;
        Setup { announced, found, missing, packages: tree.packages }
    } else {
        let missing = vec![WITHOUT_APT.to_owned()];
        Setup { announced: Announced::default(), found: vec![], missing, packages: vec![] }
    };
    if !setup.packages.is_empty() {
        // They change under us: whoever reads a log of this run has to know what ran.
        eprintln!("setup: unpacked are {}", setup.packages.join(" "));
    }
    if !setup.missing.is_empty() {
        let missing = setup.missing.join("\n");
        if in_ci() {
            bail!("the set-up is incomplete:\n{missing}");
        }
        eprintln!("setup: incomplete:\n{missing}");
    }
    Ok(setup)
}

/// Waits for other processes that set up the same checkout. The lock ends with the returned file.
pub(crate) fn lock(sh: &Shell, folder: &Path) -> Result<File> {
    sh.create_dir(folder)?;
    let file = File::create(folder.join("lock"))?;
    file.lock().context("locking target/setup")?;
    Ok(file)
}

pub(crate) fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| matches!(value.as_str(), "true" | "1"))
}

/// SwiftShader and the newer validation layer lie in Chromium, whose dependencies (a desktop) they
/// do not need. On Ubuntu it is no package; the packaged layer is better than none there.
fn drivers() -> Bundle {
    Bundle {
        folder: "root",
        packages: SYSTEM_PACKAGES.map(str::to_owned).to_vec(),
        bare: vec![Bare { name: "chromium-common", instead: Some("vulkan-validationlayers") }],
        companions: |_| Vec::new(),
    }
}
