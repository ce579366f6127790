//! The Mesa of the distribution's backports, newer than its own: some programs find no device on an old one, and
//! what a compiler says of kernels is compared between runs of one version.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use xshell::Shell;

use super::{LAVAPIPE, Setup, finish};
use crate::environment::Environment;
use crate::packages::{Packages, Tree};

const MESA: &str = "mesa-vulkan-drivers";

/// A driver without a manifest, to be opened by its path.
pub(crate) struct Library {
    /// In which the library finds others.
    pub(crate) environment: Environment,
    pub(crate) path: PathBuf,
    /// The version of its package, such as `25.0.7-2~bpo12+1`.
    pub(crate) version: String,
}

/// Its lavapipe alone, with a loader.
pub(crate) fn environment(sh: &Shell) -> Result<Environment> {
    let tree = tree(sh)?;
    let driver = tree.root.join(LAVAPIPE);
    ensure!(driver.is_file(), "the backports have no lavapipe");
    Setup { environment: tree.environment(sh)?, drivers: vec![driver], missing: vec![] }
        .environment()
}

/// Its RADV, with a loader.
pub(crate) fn radv(sh: &Shell) -> Result<Library> {
    let tree = tree(sh)?;
    let libraries = tree.libraries(sh)?.into_iter().map(|it| it.join("libvulkan_radeon.so"));
    let path = libraries.into_iter().find(|library| library.is_file());
    let path = path.context("the backports have no RADV")?;
    let version = version_of(MESA, &tree.versions).context("no package of Mesa was unpacked")?;
    Ok(Library { environment: tree.environment(sh)?, path, version })
}

fn tree(sh: &Shell) -> Result<Tree> {
    let request = Packages::new("backports", &[MESA, "libvulkan1"]);
    let tree = Packages { backports: true, finish, ..request }.ensure(sh)?;
    eprintln!("setup: unpacked are {}", tree.versions);
    Ok(tree)
}

/// The version of the package `name` among `name_version_architecture`, separated by spaces; files' names have
/// `%3a` for a colon.
fn version_of(name: &str, versions: &str) -> Option<String> {
    let mut packages = versions.split(' ').map(|package| package.split('_'));
    let mut found = packages.find(|parts| parts.clone().next() == Some(name))?;
    found.nth(1).map(|version| version.replace("%3a", ":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_the_second_part_of_its_package() {
        let versions = "libdrm2_2.4.124-1_amd64 mesa-vulkan-drivers_25.0.7-2~bpo12+1_amd64";
        assert_eq!(version_of(MESA, versions).as_deref(), Some("25.0.7-2~bpo12+1"));
        assert_eq!(version_of("libdrm2", "libdrm2_1%3a2_all").as_deref(), Some("1:2"));
        assert_eq!(version_of("libdrm", versions), None);
    }
}
