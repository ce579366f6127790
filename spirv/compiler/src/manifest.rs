//! Checks that the checked-in SPIR-V belongs to the kernels' sources.
//!
//! `manifest.toml`, the [`Manifest`], has the hashes of all sources and of all generated files. [`check()`]
//! compares it with the files, without a compiler. It is a test of `dml-spirv` and a part of
//! `cargo xtask build-shaders --check`; the same command without `--check` writes all generated files.

mod check;

use std::path::{Path, PathBuf};

pub use check::{Finding, Manifest, check, hash};

/// The command that the messages of the check name.
pub const BUILD_COMMAND: &str = "cargo xtask build-shaders";

/// The paths of sources and generated files.
#[derive(Clone, Debug)]
pub struct Tree {
    root: PathBuf,
    lock: PathBuf,
}

impl Tree {
    /// The tree of `workspace`: `spirv/` in it, and its `Cargo.lock`, which selects the compiler.
    pub fn of_workspace(workspace: &Path) -> Self {
        Self { root: workspace.join("spirv"), lock: workspace.join("Cargo.lock") }
    }

    /// The folder of `dml-spirv`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The name of a file in the manifest: its path relative to the folder, with `/`.
    pub fn name_of(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy().replace('\\', "/")
    }

    /// `kernels.toml`: the list of kernels.
    pub fn intent(&self) -> PathBuf {
        self.root.join("kernels.toml")
    }

    /// `manifest.toml`: see [`Manifest`].
    pub fn manifest(&self) -> PathBuf {
        self.root.join("manifest.toml")
    }

    /// `src/kernels.rs`: the typed table of kernels.
    pub fn table(&self) -> PathBuf {
        self.root.join("src").join("kernels.rs")
    }

    /// `kernels/`: the GLSL sources and their includes.
    pub fn kernels(&self) -> PathBuf {
        self.root.join("kernels")
    }

    /// `compiled/`: the SPIR-V.
    pub fn compiled(&self) -> PathBuf {
        self.root.join("compiled")
    }

    /// The SPIR-V of one variant.
    pub fn spirv(&self, variant: &str) -> PathBuf {
        self.compiled().join(format!("{variant}.spv"))
    }

    /// The relocations of a skeleton or a library: which words of its SPIR-V are ids.
    pub fn relocations(&self, variant: &str) -> PathBuf {
        self.compiled().join(format!("{variant}.ids"))
    }

    /// The GLSL compiler that Cargo.lock selects, as name and version.
    ///
    /// # Errors
    /// Cargo.lock cannot be read or has no package shaderc.
    pub fn compiler(&self) -> Result<String, Error> {
        let text = read_text(&self.lock)?;
        let lock: Lock = toml::from_str(&text)
            .map_err(|error| Error::Malformed { path: self.lock.clone(), error })?;
        let shaderc = lock.package.iter().find(|package| package.name == "shaderc");
        shaderc
            .map(|package| format!("shaderc {}", package.version))
            .ok_or_else(|| Error::NoCompiler { path: self.lock.clone() })
    }
}

#[derive(serde::Deserialize)]
struct Lock {
    package: Vec<LockedPackage>,
}

#[derive(serde::Deserialize)]
struct LockedPackage {
    name: String,
    version: String,
}

/// The reason why the check could not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder cannot be read.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        error: std::io::Error,
    },
    /// A file is not the TOML that it must be.
    #[error("{}: {error}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Line and reason.
        error: toml::de::Error,
    },
    /// Cargo.lock selects no GLSL compiler.
    #[error("{}: names no shaderc", path.display())]
    NoCompiler {
        /// Cargo.lock.
        path: PathBuf,
    },
}

/// `text` with line feeds only, so that a checkout with other line ends is the same.
pub fn lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// The text of a file.
///
/// # Errors
/// [`Error::Unreadable`].
pub fn read_text(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path)
        .map_err(|error| Error::Unreadable { path: path.to_owned(), error })
}
