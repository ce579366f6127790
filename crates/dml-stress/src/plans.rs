//! `plans`: PLACEHOLDER.

/// Interpret plans of random descriptors and compare them with the reference
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command; `true` where every promise held.
///
/// # Errors
///
/// Whatever kept the command from finding out.
pub fn run(_args: &Args) -> anyhow::Result<bool> {
    anyhow::bail!("placeholder")
}
