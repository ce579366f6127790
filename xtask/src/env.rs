//! `cargo xtask env`: the set-up's environment for a shell.

use anyhow::Result;
use xshell::Shell;

use crate::setup;

/// Prints lines for `eval "$(cargo xtask env)"`.
pub(crate) fn run(sh: &Shell) -> Result<()> {
    print!("{}", setup::make_sure(sh)?.environment()?.exports());
    Ok(())
}
