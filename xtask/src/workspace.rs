//! Where things lie in this checkout.

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;

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

/// Where cargo builds.
pub(crate) fn target_dir() -> PathBuf {
    let chosen = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    root().join(chosen.unwrap_or_else(|| "target".into()))
}

/// What takes minutes to build and depends on a version alone: kept in the user's cache folder, so
/// that every checkout finds it; below the checkout where there is no such folder.
pub(crate) fn tools_dir() -> PathBuf {
    let strategy = etcetera::base_strategy::choose_native_strategy();
    let cache = strategy.map(|it| it.cache_dir()).unwrap_or_else(|_| root().join("target"));
    cache.join("dml-tools")
}
