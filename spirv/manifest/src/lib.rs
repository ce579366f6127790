//! What connects the kernels' sources to the SPIR-V that is checked in.
//!
//! - `kernels.toml`, the [`Intent`], says which kernels and variants there are.
//! - `manifest.toml`, the [`Manifest`], records for each variant what it was compiled from and what
//!   came out.
//! - `src/kernels.rs` is [rendered](render_table) from both.
//!
//! [`check()`] compares the three, the GLSL and the SPIR-V by hashes, without a compiler. It is a test
//! of `dml-spirv` and a part of `cargo xtask build-shaders --check`; the same command without
//! `--check` writes everything anew.
#![forbid(unsafe_code)]

mod check;
mod hash;
mod intent;
mod manifest;
mod sources;
mod table;

use std::path::{Path, PathBuf};

pub use check::{Finding, check};
pub use hash::{lf, sha256};
pub use intent::{ELEMENT_WIDTHS, Intent, KernelIntent, VariantIntent};
pub use manifest::{Binding, Manifest, Specialization, VariantEvidence};
pub use sources::{includes_of, input_lines};
pub use table::render_table;

/// Raised when the meaning of an input or the layout of `manifest.toml` changes.
pub const SCHEMA: u32 = 1;
/// The environment that every kernel is compiled and validated for.
pub const TARGET: &str = "vulkan1.1 spirv1.3";
/// How every kernel is optimised.
pub const OPTIMIZATION: &str = "performance";
/// The entry point of every kernel.
pub const ENTRY_POINT: &str = "main";
/// What brings the generated files up to date.
pub const BUILD_COMMAND: &str = "cargo xtask build-shaders";

/// Where the files of `dml-spirv` are.
#[derive(Clone, Debug)]
pub struct Tree {
    root: PathBuf,
    lock: PathBuf,
}

impl Tree {
    /// The tree below `root`, the folder of `dml-spirv`; `lock` is the workspace's `Cargo.lock`,
    /// which decides the compiler's version.
    pub fn new(root: impl Into<PathBuf>, lock: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), lock: lock.into() }
    }

    /// The tree inside the workspace at `workspace`.
    pub fn of_workspace(workspace: &Path) -> Self {
        Self::new(workspace.join("spirv"), workspace.join("Cargo.lock"))
    }

    /// The folder of `dml-spirv`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `kernels.toml`.
    pub fn intent(&self) -> PathBuf {
        self.root.join("kernels.toml")
    }

    /// `manifest.toml`.
    pub fn manifest(&self) -> PathBuf {
        self.root.join("manifest.toml")
    }

    /// The generated table of kernels.
    pub fn table(&self) -> PathBuf {
        self.root.join("src").join("kernels.rs")
    }

    /// The folder of the GLSL sources.
    pub fn kernels(&self) -> PathBuf {
        self.root.join("kernels")
    }

    /// The folder of the compiled kernels.
    pub fn compiled(&self) -> PathBuf {
        self.root.join("compiled")
    }

    /// The compiled kernel of one variant.
    pub fn spirv(&self, variant: &str) -> PathBuf {
        self.compiled().join(format!("{variant}.spv"))
    }

    /// The compiler that `Cargo.lock` selects, such as `shaderc 0.10.1`.
    ///
    /// # Errors
    /// Where `Cargo.lock` cannot be read or names no shaderc.
    pub fn compiler(&self) -> Result<String, Error> {
        let text = read_text(&self.lock)?;
        let lock: Lock = toml::from_str(&text)
            .map_err(|error| Error::Malformed { path: self.lock.clone(), error })?;
        lock.package
            .iter()
            .find(|package| package.name == "shaderc")
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

/// What can be wrong with the files themselves.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that cannot be read.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A file that is not the TOML it should be; the message gives line and column.
    #[error("{}: {error}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where and why.
        error: toml::de::Error,
    },
    /// An entry of `kernels.toml` that says something impossible.
    #[error("kernels.toml: [{kernel}]: {problem}")]
    InvalidKernel {
        /// The entry.
        kernel: String,
        /// What is wrong.
        problem: String,
    },
    /// An `#include` that leads nowhere.
    #[error("{includer}:{line}: cannot include \"{name}\": there is no such file in kernels/")]
    MissingInclude {
        /// The file with the directive, relative to `kernels/`.
        includer: String,
        /// Its line.
        line: usize,
        /// What it names.
        name: String,
    },
    /// A `Cargo.lock` without the compiler.
    #[error("{}: names no shaderc", path.display())]
    NoCompiler {
        /// The file.
        path: PathBuf,
    },
}

fn read_text(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path)
        .map_err(|error| Error::Unreadable { path: path.to_owned(), error })
}
