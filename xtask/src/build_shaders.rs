//! `build-shaders`: GLSL kernels to checked-in SPIR-V, its manifest, and the typed kernel table.
//!
//! `--check` proves by hashes that what is checked in belongs together and needs no compiler.
//!
//! All else is done by `dml-spirv-compiler`. shaderc is C++ and takes about ten minutes to build on
//! two cores, so that program lies in a target directory of its own, which every checkout of this
//! user shares: cargo builds shaderc there once for each of its versions. What is this workspace's own
//! is built anew each time, as cargo cannot tell that of two checkouts apart, and one checkout builds
//! at a time.

use std::fs::File;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use dml_spirv_compiler::manifest::{self, BUILD_COMMAND, Tree};
use xshell::{Cmd, Shell, cmd};

use crate::environment::Environment;
use crate::process::succeed;
use crate::{build_tools, setup, workspace};

/// Compile the kernels, and write the manifest and the kernel table
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail where the checked-in files are not what the sources say
    #[arg(long)]
    pub(crate) check: bool,
    /// With --check: also compile everything and compare bytes
    #[arg(long, requires = "check")]
    pub(crate) recompile: bool,
}

/// Runs the command.
pub(crate) fn run(sh: &Shell, args: Args) -> Result<()> {
    if args.check {
        check(&Tree::of_workspace(workspace::root()))?;
        if !args.recompile {
            return Ok(());
        }
    }
    let compiler = Compiler::new(sh)?;
    let command = compiler.cargo("run").arg("--").arg(workspace::root());
    succeed(command.args(args.check.then_some("--check")))
}

/// The step `shader-recompile` of `ci`: the same bytes again, and the lints and tests of the compiler,
/// which are left out where shaderc is.
pub(crate) fn recompile(sh: &Shell) -> Result<()> {
    run(sh, Args { check: true, recompile: true })?;
    let compiler = Compiler::new(sh)?;
    succeed(compiler.cargo("clippy").args(["--all-targets", "--", "-D", "warnings"]))?;
    succeed(compiler.cargo("test"))
}

fn check(tree: &Tree) -> Result<()> {
    let findings = manifest::check(tree).with_context(|| {
        format!("nothing can be compared (`{BUILD_COMMAND}` writes what is generated)")
    })?;
    if findings.is_empty() {
        eprintln!("build-shaders: the checked-in kernels are what the sources say, by hashes");
        return Ok(());
    }
    let list: String = findings.iter().map(|finding| format!("  {finding}\n")).collect();
    bail!("the checked-in kernels are not what the sources say:\n{list}Run `{BUILD_COMMAND}`.")
}

/// The compiler's package, in the target directory that checkouts share.
struct Compiler<'a> {
    sh: &'a Shell,
    /// With spirv-val on PATH.
    environment: Environment,
    target: PathBuf,
    /// Held while commands run: another checkout would replace what they have built.
    _lock: File,
}

impl<'a> Compiler<'a> {
    fn new(sh: &'a Shell) -> Result<Self> {
        let tools = build_tools::ensure(sh).context("preparing the build of shaderc")?;
        let environment = setup::make_sure(sh)?.environment()?.and(tools);
        let target = workspace::tools_dir().join("shaderc");
        sh.create_dir(&target)?;
        let lock = File::create(target.join("in-use")).context("locking the folder of shaderc")?;
        lock.lock().context("waiting for the folder of shaderc")?;
        let own = ["--package", "dml-spirv-compiler"];
        succeed(cmd!(sh, "cargo clean --quiet --locked --release {own...} --target-dir {target}"))?;
        Ok(Self { sh, environment, target, _lock: lock })
    }

    /// `cargo COMMAND`. Optimized: cmake is told so in either case, and a development build would only
    /// add debug information to all of the C++.
    fn cargo(&self, command: &str) -> Cmd<'a> {
        let (sh, target) = (self.sh, &self.target);
        let package = ["--package", "dml-spirv-compiler", "--features", "shaderc"];
        let command =
            cmd!(sh, "cargo {command} --locked --release {package...} --target-dir {target}");
        self.environment.apply(command)
    }
}
