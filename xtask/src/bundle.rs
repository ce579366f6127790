//! A group of packages, unpacked together into one folder below `target/setup`.
//!
//! The folder appears in one rename when it is complete, with a stamp inside that says what it was
//! made from. An interrupted run leaves only a work folder, which the next run removes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};
use xshell::Shell;

use crate::apt::{self, Apt};

/// Counts up when the meaning of a bundle's folder changes, so that old folders are made anew.
const FORMAT: u32 = 1;

/// What a bundle's folder is to hold.
pub(crate) struct Bundle {
    /// The folder's name below `target/setup`.
    pub(crate) folder: &'static str,
    /// Packages with their dependencies. These themselves are always unpacked, the dependencies
    /// only where the system lacks them.
    pub(crate) packages: Vec<String>,
    /// Packages without their dependencies, where the package sources offer them.
    pub(crate) bare: Vec<Bare>,
    /// Further packages that must lie beside a package, by that package's name.
    pub(crate) companions: fn(&str) -> Vec<String>,
}

/// A package of which only some files are wanted, so that its dependencies do not matter.
pub(crate) struct Bare {
    /// Its name.
    pub(crate) name: &'static str,
    /// What is taken where the sources do not offer it.
    pub(crate) instead: Option<&'static str>,
}

impl Bundle {
    /// Makes sure that the bundle's folder is there below `setup`, and returns it. The caller holds
    /// the lock of `setup`.
    pub(crate) fn ensure(&self, sh: &Shell, setup: &Path) -> Result<Tree> {
        let root = setup.join(self.folder);
        let request = self.request()?;
        if let Some(tree) = Tree::read(&root, &request) {
            return Ok(tree);
        }
        let work = setup.join("work");
        sh.remove_path(&work)?;
        let fresh = work.join("root");
        sh.create_dir(&fresh)?;
        let packages = self.unpack(sh, setup, &work)?;
        sh.write_file(fresh.join(STAMP), format!("{request}{}\n", packages.join("\n")))?;
        if root.exists() {
            std::fs::rename(&root, work.join("old")).context("moving the old folder away")?;
        }
        std::fs::rename(&fresh, &root).context("moving the unpacked packages into place")?;
        sh.remove_path(&work)?;
        Ok(Tree { root, packages })
    }

    /// Downloads and unpacks everything below `work/root`; returns the packages' file names.
    fn unpack(&self, sh: &Shell, setup: &Path, work: &Path) -> Result<Vec<String>> {
        let apt = Apt::new(sh, &setup.join("apt"))?;
        eprintln!("setup: fetching package lists");
        apt.update()?;
        let specs = self.specs(&apt)?;
        let downloads = work.join("downloads");
        sh.create_dir(&downloads)?;
        eprintln!("setup: downloading {} packages", specs.len());
        apt.download(&specs, &downloads)?;
        let mut names = Vec::new();
        for package in sh.read_dir(&downloads)? {
            apt::unpack(sh, &package, &work.join("root"))?;
            names.extend(package.file_stem().map(|it| it.to_string_lossy().into_owned()));
        }
        ensure!(!names.is_empty(), "apt downloaded no package");
        names.sort();
        Ok(names)
    }

    /// What to download, as `name=version`, or `name` where the newest will do.
    fn specs(&self, apt: &Apt<'_>) -> Result<Vec<String>> {
        let mut named = self.packages.clone();
        let mut bare = Vec::new();
        for package in &self.bare {
            if apt.offers(package.name)? {
                bare.push(package.name.to_owned());
            } else {
                eprintln!("setup: the package sources offer no {}", package.name);
                named.extend(package.instead.map(str::to_owned));
            }
        }
        let resolved = apt.resolve(&named)?;
        named.retain(|name| !resolved.iter().any(|package| package.name == *name));
        let known = resolved.iter().map(|package| package.name.as_str());
        let companions: Vec<String> =
            known.chain(named.iter().map(String::as_str)).flat_map(self.companions).collect();
        let versioned = resolved
            .iter()
            .filter(|package| apt::may_unpack(&package.name))
            .map(|package| format!("{}={}", package.name, package.version));
        let mut specs: Vec<String> = versioned.chain(named).chain(bare).chain(companions).collect();
        specs.sort();
        specs.dedup();
        Ok(specs)
    }

    /// What the folder depends on: this bundle, and what the system has installed, because that is
    /// what was left out. Newer versions in the package sources do not make a folder stale.
    fn request(&self) -> Result<String> {
        let status = std::fs::read(apt::SYSTEM_STATUS).context("reading dpkg's list")?;
        let mut text = format!("format {FORMAT}\npackages {}\n", self.packages.join(" "));
        for Bare { name, instead } in &self.bare {
            writeln!(text, "bare {name} {}", instead.unwrap_or("-"))?;
        }
        text.push_str("installed ");
        for byte in Sha256::digest(status) {
            write!(text, "{byte:02x}")?;
        }
        text.push_str("\n\n");
        Ok(text)
    }
}

const STAMP: &str = ".stamp";

/// The unpacked packages.
pub(crate) struct Tree {
    /// The folder that stands for `/`.
    pub(crate) root: PathBuf,
    /// What was unpacked, as `name_version_architecture`.
    pub(crate) packages: Vec<String>,
}

impl Tree {
    /// The complete folder at `root`, if it was made for this `request`.
    fn read(root: &Path, request: &str) -> Option<Self> {
        let stamp = std::fs::read_to_string(root.join(STAMP)).ok()?;
        let packages = stamp.strip_prefix(request)?.lines().map(str::to_owned).collect();
        Some(Self { root: root.to_owned(), packages })
    }

    /// The file at `path` in the packages, if it is there.
    pub(crate) fn file(&self, path: &str) -> Option<PathBuf> {
        Some(self.root.join(path)).filter(|it| it.is_file())
    }

    /// Everything in the folder `path` of the packages; nothing where there is no such folder.
    pub(crate) fn files(&self, sh: &Shell, path: &str) -> Result<Vec<PathBuf>> {
        let folder = self.root.join(path);
        if folder.is_dir() { Ok(sh.read_dir(folder)?) } else { Ok(Vec::new()) }
    }

    /// The folders of shared libraries, such as `usr/lib/x86_64-linux-gnu`.
    pub(crate) fn library_folders(&self, sh: &Shell) -> Result<Vec<PathBuf>> {
        let mut folders = self.files(sh, "usr/lib")?;
        folders.extend(self.files(sh, "lib")?);
        folders.retain(|it| is_multiarch(it));
        Ok(folders)
    }

    /// The shared library called `name`.
    pub(crate) fn library(&self, sh: &Shell, name: &str) -> Result<Option<PathBuf>> {
        let folders = self.library_folders(sh)?;
        Ok(folders.iter().map(|it| it.join(name)).find(|it| it.is_file()))
    }
}

/// Whether `folder` is called after a Debian multiarch triplet (`x86_64-linux-gnu`).
fn is_multiarch(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.to_string_lossy().contains("-linux-gnu"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_counts_only_with_the_stamp_of_the_same_request() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Tree::read(folder.path(), "request\n").is_none(), "no stamp");
        std::fs::write(folder.path().join(STAMP), "request\na_1_amd64\nb_2_all\n").unwrap();
        let tree = Tree::read(folder.path(), "request\n").unwrap();
        assert_eq!(tree.packages, ["a_1_amd64", "b_2_all"]);
        assert!(Tree::read(folder.path(), "another request\n").is_none(), "stale stamp");
    }
}
