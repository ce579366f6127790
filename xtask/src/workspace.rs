//! The folders of this checkout.

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;

/// The folder that holds the workspace's Cargo.toml.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is a folder of the workspace, so it has a parent")
}

/// The folder of `setup`. Always below the checkout, whatever `CARGO_TARGET_DIR` is, so that every command
/// finds the same drivers.
pub(crate) fn setup_dir() -> PathBuf {
    root().join("target/setup")
}

/// The folder in which cargo builds.
pub(crate) fn target_dir() -> PathBuf {
    let chosen = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    root().join(chosen.unwrap_or_else(|| "target".into()))
}

/// The folder for builds that take minutes and depend on a version alone: in the user's cache folder, so that
/// every checkout finds them; below the checkout if there is no such folder.
pub(crate) fn tools_dir() -> PathBuf {
    let strategy = etcetera::base_strategy::choose_native_strategy();
    let cache =
        strategy.map(|strategy| strategy.cache_dir()).unwrap_or_else(|_| root().join("target"));
    cache.join("dml-tools")
}
