//! Where things lie in this checkout.

use std::path::{Path, PathBuf};

/// The folder that holds the workspace's Cargo.toml.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is a folder of the workspace, so it has a parent")
}

/// What `setup` makes. Always below the checkout, whatever `CARGO_TARGET_DIR` says, so that every
/// command finds the same drivers.
pub(crate) fn setup_dir() -> PathBuf {
    root().join("target/setup")
}

/// Command-line tools that `ci` installs for itself.
pub(crate) fn tools_dir() -> PathBuf {
    root().join("target/tools")
}
