//! `generate-schema`: the operators in `crates/dml-core/schema/*.toml` to checked-in Rust.

use anyhow::{Result, bail};

use crate::schema::Folders;
use crate::workspace;

/// Generate the operator tables and descriptors from crates/dml-core/schema/*.toml
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail where the checked-in files are not what the TOML files say
    #[arg(long)]
    check: bool,
}

/// Runs the command.
pub(crate) fn run(args: Args) -> Result<()> {
    let folders = Folders::of_workspace(workspace::root());
    let generated = folders.generate(&folders.read()?)?;
    if !args.check {
        let written = folders.write(&generated)?;
        eprintln!("generate-schema: {} files, {} changed", generated.len(), written.len());
        written.iter().for_each(|path| eprintln!("  {path}"));
        return Ok(());
    }
    let stale = folders.stale(&generated);
    if !stale.is_empty() {
        bail!("{}\nRun `cargo xtask generate-schema`.", stale.join("\n"));
    }
    eprintln!("generate-schema: the checked-in files are what the TOML files say");
    Ok(())
}
