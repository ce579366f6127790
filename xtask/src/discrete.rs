//! `cargo xtask discrete`: checks on a CPU driver that answers as a discrete card does.

use std::path::Path;

use anyhow::{Result, ensure};
use xshell::{Shell, cmd};

use crate::environment::Environment;
use crate::wrapping_driver::{self, Mode};
use crate::{devices, models, process, programs, setup, test};

/// Run the conformance suite, and tests that move bytes, on CPU drivers that answer as discrete cards do: the host
/// sees no device memory, and its own is not coherent
#[derive(clap::Args)]
pub(crate) struct Args {
    /// On both CPU drivers, and with all models; without it on lavapipe, with small ones
    #[arg(long)]
    pub(crate) full: bool,
}

/// Test files, whichever crates have them, that transfer bytes in all the ways that there are. None of them has
/// a caller with memory of its own: callers take coherent memory, which Vulkan promises and these cards lack.
const TESTS: [&str; 7] =
    ["graphs", "transfers", "execute", "roundtrip", "streaming", "uploads", "steady_transfers"];

/// Runs of the suite. Kernels are chosen as for a GPU, so rows have work groups, but in the last run. Together with the
/// runs of `cargo xtask ci` on the drivers as they are, every two of schedule, robust access, the range that a descriptor
/// shows, and whether the host sees device memory occur in every combination.
const SUITE: [&[&str]; 3] = [
    &["--robust-access", "off"],
    &["--profile", "storage-range-1-mib", "--filter", FEW_TYPES],
    &[
        "--profile",
        "storage-range-1-mib",
        "--robust-access",
        "off",
        "--strategy",
        "kernel",
        "--filter",
        FEW_TYPES,
    ],
];

/// How operands are shown depends on the widths of elements alone: others are nightly.
pub(crate) const FEW_TYPES: &str = "*/*{float32,uint8}*/rank*";

/// Runs the command and returns its exit code.
pub(crate) fn run(sh: &Shell, args: &Args) -> Result<i32> {
    let setup = setup::make_sure(sh)?;
    let libraries = setup.libraries()?;
    ensure!(
        libraries.len() == devices::CPU_DRIVERS.len(),
        "a CPU driver is missing, see `cargo xtask setup`"
    );
    let environment = setup.environment()?;
    let models = match args.full {
        true => models::lay_out_all(sh)?,
        false => models::make_sure(sh, |name| models::QUICK.contains(&name))?,
    };
    let count = if args.full { libraries.len() } else { 1 };
    let mut codes = Vec::new();
    for (library, name) in libraries.iter().zip(devices::CPU_DRIVERS).take(count) {
        let card = wrapping_driver::around(sh, library, Mode::Discrete, environment.clone())?;
        for options in SUITE {
            let arguments = [&["run", "--feature-level", "6_4"], options].concat();
            codes.push(conformance(sh, &card, &arguments, None)?);
        }
        codes.push(conformance(sh, &card, &["onnx", "--whole-models"], Some(&models))?);
        codes.push(tests(sh, card, name)?);
    }
    Ok(codes.into_iter().find(|code| *code != 0).unwrap_or(0))
}

fn conformance(
    sh: &Shell,
    card: &Environment,
    arguments: &[&str],
    folder: Option<&Path>,
) -> Result<i32> {
    let program = programs::build(sh, "dml-conformance", "dml-conformance")?;
    process::exit_code(card.apply(cmd!(sh, "{program} {arguments...} {folder...}")))
}

fn tests(sh: &Shell, card: Environment, name: &str) -> Result<i32> {
    let targets = TESTS.iter().flat_map(|test| ["--test", test]);
    // As `cargo xtask test` builds them.
    let command = cmd!(sh, "cargo test --locked --workspace --features dml-core/json {targets...}");
    let card = test::under_validation(card).with("DML_TEST_DEVICES", name);
    process::exit_code(card.apply(command))
}
