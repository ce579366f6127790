//! `cargo xtask node-tests`: ONNX's own tests of its operators, with the importer on every device.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use xshell::{Shell, cmd};

use crate::{conformance, pip, process, programs, workspace};

/// Run ONNX's node tests; fetches them, and sets up CPU drivers where no Vulkan device answers
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run on the CPU drivers too, even if there are other devices
    #[arg(long)]
    pub(crate) cpu_drivers: bool,
    /// For `dml-conformance onnx`: --filter GLOB, --device D, --record, --json FILE and so on
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
}

/// The last version that has the tests of nodes as files.
const ONNX: &str = "1.22.0";

/// The folders of the package's tests that are kept: nodes, and small models exported by PyTorch.
const FOLDERS: [&str; 3] = ["node", "pytorch-converted", "pytorch-operator"];

/// The folder in which `fetch` leaves them.
const KEPT: &str = "kept";

/// The tests that have to pass, relative to the workspace.
const PASSING: &str = "conformance/expectations/onnx-passing.txt";

/// The operators that tests need, relative to the workspace.
const REQUIREMENTS: &str = "conformance/expectations/onnx-operators.txt";

/// Runs the command and returns the runner's exit code.
pub(crate) fn run(sh: &Shell, args: &Args) -> Result<i32> {
    let tests = make_sure(sh)?;
    let environment = conformance::environment(sh, args.cpu_drivers)?;
    let program = programs::build(sh, "dml-conformance", "dml-conformance")?;
    let more = &args.args;
    let [passing, requirements] = [PASSING, REQUIREMENTS].map(|it| workspace::root().join(it));
    let expected = ["--passing".into(), passing, "--requirements".into(), requirements];
    let command = cmd!(sh, "{program} onnx {tests} {expected...} {more...}");
    process::exit_code(environment.apply(command))
}

/// The folder of the tests, in the user's cache folder. Waits for other processes that fetch them.
fn make_sure(sh: &Shell) -> Result<PathBuf> {
    let tools = workspace::tools_dir();
    let tests = tools.join(format!("onnx-tests-{ONNX}"));
    sh.create_dir(&tools)?;
    let lock = File::create(tools.join("onnx-tests.lock"))?;
    lock.lock().context("locking the folder of ONNX's tests")?;
    // It appears in one rename when it is complete.
    if !tests.is_dir() {
        let work = tools.join("onnx-tests.work");
        sh.remove_path(&work)?;
        fetch(sh, &work)?;
        std::fs::rename(work.join(KEPT), &tests).context("moving ONNX's tests into place")?;
        sh.remove_path(&work)?;
    }
    Ok(tests)
}

/// Fetches the package into `work`.
fn fetch(sh: &Shell, work: &Path) -> Result<()> {
    eprintln!("node-tests: fetching onnx {ONNX}");
    let package = work.join("package");
    pip::unpack(sh, &format!("onnx=={ONNX}"), &package)?;
    let kept = work.join(KEPT);
    sh.create_dir(&kept)?;
    for folder in FOLDERS {
        let tests = package.join("onnx/backend/test/data").join(folder);
        ensure!(tests.is_dir(), "onnx {ONNX} has no tests in {}", tests.display());
        std::fs::rename(tests, kept.join(folder)).context("taking the tests from the package")?;
    }
    Ok(())
}
