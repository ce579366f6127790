//! Debian packages, unpacked below `target/setup` without root: nothing changes on the system.
//!
//! Only the folders that apt writes to are replaced. The list of installed packages stays the system's, so
//! that these are not fetched again. A tree appears in one rename when it is complete, with a stamp inside
//! that says what it was made from; an interrupted run leaves a work folder, which the next run removes.

mod backports;

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use backports::Backports;
use xshell::{Cmd, Shell, cmd};

use crate::environment::Environment;
use crate::process::find_program;
use crate::workspace;

/// The packages to unpack.
pub(crate) struct Packages<'a> {
    /// The tree's name below `target/setup`.
    pub(crate) folder: &'static str,
    /// Packages, even if the system has them, and their dependencies that the system lacks.
    pub(crate) names: &'a [&'a str],
    /// Packages without dependencies, of which only some files are needed; and the replacement, with
    /// dependencies, if the package sources do not have the package.
    pub(crate) alone: &'a [(&'a str, Option<&'a str>)],
    /// Packages that must be beside a package, by that package's name, even if the system has them.
    pub(crate) beside: fn(&str) -> Vec<String>,
    /// Whether `names` are taken from the distribution's backports.
    pub(crate) backports: bool,
    /// Adds to the tree, in the folder that stands for `/`.
    pub(crate) finish: fn(&Shell, &Path) -> Result<()>,
}

/// Unpacked packages.
pub(crate) struct Tree {
    /// The folder that stands for `/`.
    pub(crate) root: PathBuf,
    /// The unpacked packages: `name_version_architecture` of each, separated by spaces.
    pub(crate) versions: String,
}

/// The list of installed packages.
const STATUS: &str = "/var/lib/dpkg/status";

/// Packages that every system has, and of which a second copy on LD_LIBRARY_PATH breaks every program that is
/// started with it. apt may want newer ones because of others.
const NEVER_UNPACKED: [&str; 7] =
    ["libc6", "libc-bin", "libc-dev-bin", "libc6-dev", "libgcc-s1", "libstdc++6", "linux-libc-dev"];

/// Whether this system has the tools for it.
pub(crate) fn are_available() -> bool {
    let programs = ["apt-get", "apt-cache", "dpkg-deb"];
    programs.iter().all(|name| find_program(name).is_some()) && Path::new(STATUS).is_file()
}

impl<'a> Packages<'a> {
    /// `names`, and their dependencies.
    pub(crate) fn new(folder: &'static str, names: &'a [&'a str]) -> Self {
        Self {
            folder,
            names,
            alone: &[],
            beside: |_| Vec::new(),
            backports: false,
            finish: |_, _| Ok(()),
        }
    }

    /// Makes sure that they are unpacked. Waits for other processes that unpack in this checkout.
    pub(crate) fn ensure(&self, sh: &Shell) -> Result<Tree> {
        let wanted = self.names.iter().chain(self.alone.iter().map(|(name, _)| name));
        let wanted = wanted.copied().collect::<Vec<_>>().join(" ");
        ensure!(are_available(), "this system has no apt; please install: {wanted}");
        let setup = workspace::setup_dir();
        sh.create_dir(&setup)?;
        let lock = File::create(setup.join("lock"))?;
        lock.lock().context("locking target/setup")?;
        // Installed packages were left out. Newer versions in the sources do not make a tree stale; the
        // number is increased when `finish` makes other files.
        let status = std::fs::read(STATUS).context("reading dpkg's list")?;
        let made_from = format!("1: {wanted}\n{}", String::from_utf8_lossy(&status));
        let root = setup.join(self.folder);
        if let Some(tree) = Tree::read(&root, &made_from) {
            return Ok(tree);
        }
        let work = setup.join("work");
        sh.remove_path(&work)?;
        let mut debs = self.download(sh, &setup.join("apt"), &work.join("archives"))?;
        debs.retain(|deb| !NEVER_UNPACKED.contains(&name_of(deb)));
        ensure!(!debs.is_empty(), "apt has no package of these: {wanted}");
        let fresh = work.join("root");
        sh.create_dir(&fresh)?;
        for deb in &debs {
            cmd!(sh, "dpkg-deb --extract {deb} {fresh}").quiet().run()?;
        }
        let versions = debs.iter().filter_map(|deb| deb.file_stem()?.to_str());
        let versions = versions.collect::<Vec<_>>().join(" ");
        (self.finish)(sh, &fresh)?;
        sh.write_file(fresh.join(STAMP), format!("{versions}\n{made_from}"))?;
        if root.exists() {
            std::fs::rename(&root, work.join("old")).context("moving the old tree away")?;
        }
        std::fs::rename(&fresh, &root).context("moving the unpacked packages into place")?;
        sh.remove_path(&work)?;
        Ok(Tree { root, versions })
    }

    /// Downloads everything into `archives` and returns the files; apt checks the signatures. Lists and
    /// caches are kept in `state`.
    fn download(&self, sh: &Shell, state: &Path, archives: &Path) -> Result<Vec<PathBuf>> {
        for folder in [state.join("state/lists/partial"), archives.join("partial")] {
            sh.create_dir(folder)?;
        }
        let config = state.join("apt.conf");
        sh.write_file(&config, configuration(state, archives))?;
        let apt = |tool: &str, arguments: &[&str]| -> Cmd<'_> {
            let command = cmd!(sh, "{tool} -c {config} -qq").env("LC_ALL", "C").args(arguments);
            command.ignore_stdout().quiet()
        };
        eprintln!("setup: fetching the packages of target/setup/{}", self.folder);
        let unavailable =
            |what: &str| format!("apt cannot get {what}; is there a network connection?");
        let update = || apt("apt-get", &["update"]).run().with_context(|| unavailable("its lists"));
        update()?;
        let mut options =
            vec!["--download-only", "--reinstall", "--no-install-recommends", "--yes"];
        let release = if self.backports { Some(add_backports(sh, state, &config)?) } else { None };
        if let Some(release) = &release {
            update()?;
            options.extend(["--target-release", release]);
        }
        let (mut names, mut alone) = (self.names.to_vec(), Vec::new());
        for (name, instead) in self.alone {
            if apt("apt-cache", &["show", name]).ignore_stderr().run().is_ok() {
                alone.push((*name).to_owned());
            } else {
                eprintln!("setup: the package sources offer no {name}");
                names.extend(instead);
            }
        }
        if !names.is_empty() {
            let install = apt("apt-get", &["install"]).args(options).args(&names);
            install.run().with_context(|| unavailable(&names.join(" ")))?;
        }
        let debs = |sh: &Shell| -> Result<Vec<PathBuf>> {
            let mut files = sh.read_dir(archives)?;
            files.retain(|file| file.extension().is_some_and(|extension| extension == "deb"));
            Ok(files)
        };
        alone.extend(debs(sh)?.iter().flat_map(|it| (self.beside)(name_of(it))));
        if !alone.is_empty() {
            let _there = sh.push_dir(archives);
            let download = apt("apt-get", &["download"]).args(&alone);
            download.run().with_context(|| unavailable(&alone.join(" ")))?;
        }
        debs(sh)
    }
}

/// Adds the distribution's backports to `config`, and returns their release.
fn add_backports(sh: &Shell, state: &Path, config: &Path) -> Result<String> {
    let format = backports::FORMAT;
    let targets = cmd!(sh, "apt-get -c {config} indextargets --format {format}").quiet().read()?;
    let Backports { release, source } =
        Backports::among(&targets).context("the package sources have no backports")?;
    if let Some(source) = source {
        let list = state.join("sources.list");
        let own = sh.read_file("/etc/apt/sources.list").unwrap_or_default();
        sh.write_file(&list, format!("{own}\n{source}"))?;
        let more = format!("Dir::Etc::sourcelist \"{}\";\n", list.display());
        sh.write_file(config, sh.read_file(config)? + &more)?;
    }
    Ok(release)
}

const STAMP: &str = ".stamp";

impl Tree {
    /// The tree at `root`, if it is complete and was made from this.
    fn read(root: &Path, made_from: &str) -> Option<Self> {
        let stamp = std::fs::read_to_string(root.join(STAMP)).ok()?;
        let (versions, rest) = stamp.split_once('\n')?;
        (rest == made_from).then(|| Self { root: root.to_owned(), versions: versions.to_owned() })
    }

    /// The folders of shared libraries, such as `usr/lib/x86_64-linux-gnu`.
    pub(crate) fn libraries(&self, sh: &Shell) -> Result<Vec<PathBuf>> {
        let mut folders = Vec::new();
        for parent in ["usr/lib", "lib"].map(|it| self.root.join(it)) {
            folders.extend(if parent.is_dir() { sh.read_dir(parent)? } else { Vec::new() });
        }
        let is_multiarch = |name: &OsStr| name.to_string_lossy().contains("-linux-gnu");
        folders.retain(|folder| folder.file_name().is_some_and(is_multiarch));
        Ok(folders)
    }

    /// An environment in which the unpacked libraries and programs are found, before the system's.
    pub(crate) fn environment(&self, sh: &Shell) -> Result<Environment> {
        Environment::of_folders(self.libraries(sh)?, vec![self.root.join("usr/bin")])
    }
}

/// The name of the package in the file `NAME_VERSION_ARCHITECTURE.deb`.
fn name_of(deb: &Path) -> &str {
    let file = deb.file_name().and_then(|file_name| file_name.to_str()).unwrap_or_default();
    file.split('_').next().unwrap_or_default()
}

/// The hooks are cleared because they belong to the system's apt (Ubuntu's expect root).
fn configuration(state: &Path, archives: &Path) -> String {
    format!(
        "Dir::State \"{state}/state\";\n\
         Dir::State::status \"{STATUS}\";\n\
         Dir::Cache \"{state}/cache\";\n\
         Dir::Cache::archives \"{}\";\n\
         APT::Sandbox::User \"root\";\n\
         Debug::NoLocking \"1\";\n\
         Acquire::Retries \"3\";\n\
         #clear APT::Update::Pre-Invoke;\n\
         #clear APT::Update::Post-Invoke;\n\
         #clear APT::Update::Post-Invoke-Success;\n",
        archives.display(),
        state = state.display(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_counts_only_with_the_stamp_of_the_same_request() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Tree::read(folder.path(), "request\n").is_none(), "no stamp");
        std::fs::write(folder.path().join(STAMP), "a_1_amd64 b_2_all\nrequest\n").unwrap();
        let tree = Tree::read(folder.path(), "request\n").unwrap();
        assert_eq!(tree.versions, "a_1_amd64 b_2_all");
        assert!(Tree::read(folder.path(), "another request\n").is_none(), "stale stamp");
        assert!(Tree::read(folder.path(), "req").is_none(), "stale stamp");
    }

    #[test]
    fn base_packages_are_never_unpacked() {
        let is_unpacked = |deb: &str| !NEVER_UNPACKED.contains(&name_of(Path::new(deb)));
        assert!(
            !is_unpacked("a/libc6_2.36-9_amd64.deb") && !is_unpacked("libstdc++6_12_amd64.deb")
        );
        assert!(is_unpacked("a/mesa-vulkan-drivers_22.3.6-1_amd64.deb"));
    }

    #[test]
    fn configuration_keeps_apt_out_of_the_system() {
        let text = configuration(Path::new("private"), Path::new("work"));
        assert!(text.contains("Dir::State \"private/state\";"));
        assert!(text.contains("Dir::Cache \"private/cache\";"));
        assert!(text.contains("Dir::Cache::archives \"work\";"));
        assert!(text.contains("#clear APT::Update::Post-Invoke;"));
    }
}
