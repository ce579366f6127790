//! `cargo xtask generate-header`: writes the header into the workspace.
#![allow(clippy::print_stderr, reason = "a command line program prints")]

use std::path::Path;

use anyhow::{Context, Result};

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let path = dml_c_header::path(&root);
    let text = dml_c_header::generate(&root)?;
    let shown = path.strip_prefix(&root).unwrap_or(&path).display();
    std::fs::write(&path, text).with_context(|| format!("writing {shown}"))?;
    eprintln!("generate-header: wrote {shown}");
    Ok(())
}
