//! `cargo xtask generate-header`: the functions of `crates/dml-capi` to its checked-in C header.
//!
//! cbindgen is an optional feature: nothing else needs it. The xtask that has it lies in a target
//! directory of its own, otherwise every switch between the two would rebuild both.

use anyhow::Result;
use xshell::{Shell, cmd};

/// Generates dmlvk.h from the functions of crates/dml-capi.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail where the checked-in header is not what the sources say
    #[arg(long)]
    check: bool,
}

/// Runs the command and returns its exit code.
#[cfg(feature = "cbindgen")]
pub(crate) fn run(_: &Shell, args: Args) -> Result<i32> {
    use anyhow::{Context, bail};

    const HEADER: &str = "crates/dml-capi/include/dmlvk/dmlvk.h";
    let root = crate::workspace::root();
    let sources = root.join("crates/dml-capi");
    let config = cbindgen::Config::from_file(sources.join("cbindgen.toml"))
        .map_err(|problem| anyhow::anyhow!("cbindgen.toml: {problem}"))?;
    let bindings = cbindgen::Builder::new()
        .with_crate(&sources)
        .with_config(config)
        .generate()
        .context("reading the sources of dml-capi")?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    let text = tidy(&String::from_utf8(text)?);
    let path = root.join(HEADER);
    if std::fs::read_to_string(&path).is_ok_and(|found| found == text) {
        eprintln!("generate-header: {HEADER} is what the sources say");
        return Ok(0);
    }
    if args.check {
        bail!("{HEADER} is not what the sources say; run `cargo xtask generate-header`");
    }
    std::fs::write(&path, text).with_context(|| format!("writing {HEADER}"))?;
    eprintln!("generate-header: wrote {HEADER}");
    Ok(0)
}

/// C has no use for Markdown's headings and references.
#[cfg(feature = "cbindgen")]
fn tidy(text: &str) -> String {
    let line = |line: &str| {
        let line = line.trim_end().replace("# Safety", "Safety:").replace(['`', '[', ']'], "");
        // Brackets are part of arrays too, but no struct of the interface has one.
        line + "\n"
    };
    text.trim_start().lines().map(line).collect()
}

/// Where the xtask with cbindgen is built.
const TARGET: &str = "target/cbindgen";

/// Runs the command in an xtask that has cbindgen.
#[cfg(not(feature = "cbindgen"))]
pub(crate) fn run(sh: &Shell, args: Args) -> Result<i32> {
    let check = args.check.then_some("--check");
    let command = cmd!(
        sh,
        "cargo run --locked --package xtask --features cbindgen --target-dir {TARGET} --
         generate-header {check...}"
    );
    crate::process::exit_code(command)
}

/// Lints what only the xtask with cbindgen has.
pub(crate) fn lint(sh: &Shell) -> Result<()> {
    crate::process::succeed(cmd!(
        sh,
        "cargo clippy --locked --package xtask --features cbindgen --all-targets
         --target-dir {TARGET} -- -D warnings"
    ))
}
