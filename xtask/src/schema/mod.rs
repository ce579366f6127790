//! `generate-schema`: the operators in `crates/dml-core/schema/*.toml` to checked-in Rust.
//!
//! [`source`] is the files as they are written, [`model`] what they mean; everything that can be
//! wrong with them is found on the way from one to the other ([`resolve`], [`support`],
//! [`varied`]).

mod c_descs;
mod c_header;
mod descs;
mod files;
mod model;
mod names;
mod resolve;
mod source;
mod support;
mod tables;
#[cfg(test)]
mod tests;
mod varied;

use anyhow::{Result, bail};

use crate::workspace;
use files::Tree;

/// Generates the operator tables and descriptors from crates/dml-core/schema/*.toml.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail where the checked-in files are not what the TOML files say.
    #[arg(long)]
    check: bool,
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Result<()> {
    let tree = Tree::new(workspace::root());
    let generated = tree.generate()?;
    if !args.check {
        let written = tree.write(&generated)?;
        eprintln!("generate-schema: {} files, {} changed", generated.len(), written.len());
        written.iter().for_each(|path| eprintln!("  {path}"));
        return Ok(());
    }
    let stale = tree.stale(&generated);
    if !stale.is_empty() {
        bail!("{}\nRun `cargo xtask generate-schema`.", stale.join("\n"));
    }
    eprintln!("generate-schema: the checked-in files are what the TOML files say");
    Ok(())
}
