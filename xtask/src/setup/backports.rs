//! The lavapipe of the distribution's backports, newer than its own: some programs find no device on an old one.

use anyhow::{Result, ensure};
use xshell::Shell;

use super::{LAVAPIPE, Setup, finish};
use crate::environment::Environment;
use crate::packages::Packages;

/// It alone, with a loader.
pub(crate) fn environment(sh: &Shell) -> Result<Environment> {
    let request = Packages::new("backports", &["mesa-vulkan-drivers", "libvulkan1"]);
    let tree = Packages { backports: true, finish, ..request }.ensure(sh)?;
    eprintln!("setup: unpacked are {}", tree.versions);
    let driver = tree.root.join(LAVAPIPE);
    ensure!(driver.is_file(), "the backports have no lavapipe");
    Setup { environment: tree.environment(sh)?, drivers: vec![driver], missing: vec![] }
        .environment()
}
