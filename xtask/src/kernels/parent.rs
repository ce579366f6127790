//! Compiles the parent commit's kernels, for comparison if the checked-in table is from another compiler.

use anyhow::{Context as _, Result, ensure};
use xshell::{Shell, cmd};

use super::table::Table;
use super::{TABLE, folder, read};
use crate::{process, workspace};

/// The table of the parent commit with this compiler, Mesa of this version; `None` if there is no such
/// commit, as in a clone without history.
///
/// It is built in its own work tree and build folder, so that this checkout's programs stay. A run takes minutes.
///
/// # Errors
/// The commit does not build, or was compiled by another version.
pub(super) fn table(sh: &Shell, compiler: &str) -> Result<Option<Table>> {
    let (root, tree) = (workspace::root(), folder().join("parent"));
    let parent = cmd!(sh, "git -C {root} rev-parse --verify --quiet HEAD~1");
    if parent.quiet().ignore_stdout().run().is_err() {
        return Ok(None);
    }
    let remove = || cmd!(sh, "git -C {root} worktree remove --force {tree}").quiet();
    remove().ignore_status().ignore_stderr().run()?;
    cmd!(sh, "git -C {root} worktree add --quiet --detach {tree} HEAD~1").quiet().run()?;
    let _there = sh.push_dir(&tree);
    let build = cmd!(sh, "cargo run --locked --package xtask -- kernels --write");
    // With `CI` it would build everything.
    let build = build.env_remove("CI").env("CARGO_TARGET_DIR", folder().join("parent-build"));
    let code = process::exit_code(build)?;
    // It may fail because the parent's kernels spill, which does not matter here.
    let table = read(&tree.join(TABLE));
    let table = table.with_context(|| format!("the parent commit's run ended with {code}"))?;
    ensure!(
        table.compiler == compiler,
        "the parent commit's run ended with {code}, and its table is of Mesa {}, not {compiler}",
        table.compiler
    );
    remove().run()?;
    Ok(Some(table))
}
