//! The checked-in C header of `dml-capi`, from that crate's functions.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};

/// The crate whose functions are declared, from the workspace's root.
const CRATE: &str = "crates/dml-capi";

/// Where the header is, in the workspace at `root`.
pub fn path(root: &Path) -> PathBuf {
    root.join(CRATE).join("include/dmlvk/dmlvk.h")
}

/// What the header of the workspace at `root` should be.
///
/// # Errors
///
/// The sources cannot be read or parsed, or cbindgen.toml is wrong.
pub fn generate(root: &Path) -> Result<String> {
    let sources = root.join(CRATE);
    let config = cbindgen::Config::from_file(sources.join("cbindgen.toml"))
        .map_err(|problem| anyhow!("cbindgen.toml: {problem}"))?;
    let bindings = cbindgen::Builder::new()
        .with_crate(&sources)
        .with_config(config)
        .generate()
        .context("reading the sources of dml-capi")?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    Ok(tidy(&String::from_utf8(text)?))
}

/// C has no use for Markdown's headings and references.
fn tidy(text: &str) -> String {
    let line = |line: &str| {
        let line = line.trim_end().replace("# Safety", "Safety:").replace(['`', '[', ']'], "");
        // Brackets are part of arrays too, but no struct of the interface has one.
        line + "\n"
    };
    text.trim_start().lines().map(line).collect()
}
