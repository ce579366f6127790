//! A private apt: package lists and downloads of our own, nothing changed on the user's system.
//!
//! It works without root, because only the folders that apt writes to are replaced. The list of
//! installed packages stays the system's, so that what is installed is not downloaded again.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use xshell::{Cmd, Shell, cmd};

use crate::process::find_program;

/// Everybody has these installed already, and a second copy of them on LD_LIBRARY_PATH breaks
/// every program that is started with it. So they are never unpacked, even if apt would upgrade
/// them.
const NEVER_UNPACKED: &[&str] = &[
    "libc6",
    "libc-bin",
    "libc-dev-bin",
    "libc6-dev",
    "libgcc-s1",
    "libstdc++6",
    "linux-libc-dev",
];

/// The list of what is installed on the system.
pub(crate) const SYSTEM_STATUS: &str = "/var/lib/dpkg/status";

/// One package in the version that apt would install.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: String,
}

/// apt with its own folders.
pub(crate) struct Apt<'a> {
    sh: &'a Shell,
    config: PathBuf,
}

/// Whether this system has what [`Apt`] needs.
pub(crate) fn present() -> bool {
    ["apt-get", "apt-cache", "dpkg-deb"].iter().all(|name| find_program(name).is_some())
        && Path::new(SYSTEM_STATUS).is_file()
}

impl<'a> Apt<'a> {
    /// Prepares `folder` for apt's lists and caches.
    pub(crate) fn new(sh: &'a Shell, folder: &Path) -> Result<Self> {
        for needed in ["state/lists/partial", "cache/archives/partial"] {
            sh.create_dir(folder.join(needed))?;
        }
        let config = folder.join("apt.conf");
        sh.write_file(&config, configuration(folder))?;
        Ok(Self { sh, config })
    }

    fn tool(&self, name: &str) -> Cmd<'a> {
        let config = &self.config;
        cmd!(self.sh, "{name} -c {config}").env("LC_ALL", "C").quiet()
    }

    /// Fetches the lists of packages.
    pub(crate) fn update(&self) -> Result<()> {
        self.tool("apt-get")
            .args(["update", "-qq"])
            .ignore_stdout()
            .run()
            .context("apt could not fetch its package lists; is there a network connection?")
    }

    /// Whether the system's package sources offer a package called `name`.
    pub(crate) fn offers(&self, name: &str) -> Result<bool> {
        let policy = self.tool("apt-cache").args(["policy", name]).read()?;
        Ok(policy.lines().any(|line| {
            line.trim().strip_prefix("Candidate:").is_some_and(|it| it.trim() != "(none)")
        }))
    }

    /// What apt would install for `names`: these packages, their dependencies that the system
    /// lacks, and what must be upgraded for them. Of the `names` themselves those that the system
    /// has already are left out.
    pub(crate) fn resolve(&self, names: &[String]) -> Result<Vec<Package>> {
        let simulation = self
            .tool("apt-get")
            .args(["install", "--simulate", "--no-install-recommends"])
            .args(names)
            .read()
            .with_context(|| format!("apt cannot resolve {}", names.join(" ")))?;
        Ok(parse_simulation(&simulation))
    }

    /// Downloads `specs` (`name` or `name=version`) into `folder`; apt checks the signatures.
    pub(crate) fn download(&self, specs: &[String], folder: &Path) -> Result<()> {
        let _there = self.sh.push_dir(folder);
        self.tool("apt-get")
            .args(["download", "-qq"])
            .args(specs)
            .ignore_stdout()
            .run()
            .with_context(|| format!("apt could not download {}", specs.join(" ")))
    }
}

/// Installs `names` for real.
pub(crate) fn install_on_system(sh: &Shell, names: &[&str]) -> Result<()> {
    if cmd!(sh, "id -u").quiet().read()? != "0" {
        bail!("`setup --system` installs packages on this system, which needs root");
    }
    cmd!(sh, "apt-get update -q").run()?;
    cmd!(sh, "apt-get install -y --no-install-recommends {names...}").run()?;
    Ok(())
}

/// Unpacks one downloaded package below `root`.
pub(crate) fn unpack(sh: &Shell, package: &Path, root: &Path) -> Result<()> {
    cmd!(sh, "dpkg-deb --extract {package} {root}").quiet().run()?;
    Ok(())
}

/// Whether `name` may be unpacked beside the system's own copy.
pub(crate) fn may_unpack(name: &str) -> bool {
    !NEVER_UNPACKED.contains(&name)
}

/// Hooks are cleared because they belong to the real apt (Ubuntu's expect root).
fn configuration(folder: &Path) -> String {
    let mut text = String::new();
    for (key, value) in [
        ("Dir::State", folder.join("state").display().to_string()),
        ("Dir::State::status", SYSTEM_STATUS.to_owned()),
        ("Dir::Cache", folder.join("cache").display().to_string()),
        ("APT::Sandbox::User", "root".to_owned()),
        ("Debug::NoLocking", "1".to_owned()),
        ("Acquire::Retries", "3".to_owned()),
    ] {
        writeln!(text, "{key} \"{value}\";").expect("writing to a String cannot fail");
    }
    text + "#clear APT::Update::Pre-Invoke;\n\
            #clear APT::Update::Post-Invoke;\n\
            #clear APT::Update::Post-Invoke-Success;\n"
}

/// Reads the lines `Inst NAME [OLD] (NEW ORIGIN [ARCH])` of a simulated installation.
fn parse_simulation(text: &str) -> Vec<Package> {
    let parse = |line: &str| {
        let rest = line.strip_prefix("Inst ")?;
        let (name, rest) = rest.split_once(' ')?;
        let version = rest.split_once('(')?.1.split([' ', ')']).next()?;
        Some(Package { name: name.to_owned(), version: version.to_owned() })
    };
    text.lines().filter_map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simulation_lists_new_and_upgraded_packages() {
        let text = "Reading package lists...\n\
            Inst libgbm1 [22.3.6-1+deb12u1] (22.3.6-1+deb12u2 Debian:12.15/oldstable [amd64]) []\n\
            Inst libvulkan1 (1.3.239.0-1 Debian:12.15/oldstable [amd64])\n\
            Conf libvulkan1 (1.3.239.0-1 Debian:12.15/oldstable [amd64])\n";
        let package =
            |name: &str, version: &str| Package { name: name.into(), version: version.into() };
        assert_eq!(
            parse_simulation(text),
            [package("libgbm1", "22.3.6-1+deb12u2"), package("libvulkan1", "1.3.239.0-1")]
        );
    }

    #[test]
    fn base_packages_are_never_unpacked() {
        assert!(!may_unpack("libc6") && !may_unpack("libstdc++6"));
        assert!(may_unpack("mesa-vulkan-drivers"));
    }

    #[test]
    fn configuration_keeps_apt_out_of_the_system() {
        let text = configuration(Path::new("private"));
        assert!(text.contains("Dir::State \"private/state\";"));
        assert!(text.contains("Dir::Cache \"private/cache\";"));
        assert!(text.contains("#clear APT::Update::Post-Invoke;"));
    }
}
