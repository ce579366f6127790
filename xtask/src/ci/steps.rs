//! The steps of `ci` and `nightly`, in order, with their time budgets.

use std::time::Duration;

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::example::Name;
use crate::process::{no_failure, succeed};
use crate::step_runner::Check;
use crate::{
    budgets, build_shaders, c_api, conformance, decoding, discrete, dist, example, fuzz,
    html_report, kernels, leaks, models, node_tests, onnxruntime, random_nodes, sanitizer, stress,
    test, tools,
};

/// The budget is two to four times the step's time on two idle cores, including the build of its tools,
/// because others may use the machine as well. It finds steps that hang, and steps that have become
/// permanently slow.
const fn step(name: &'static str, minutes: u64, run: fn(&Shell) -> Result<()>) -> Check {
    Check { name, budget: Duration::from_secs(60 * minutes), inputs: &[], run }
}

const fn only_for(inputs: &'static [&'static str], step: Check) -> Check {
    Check { inputs, ..step }
}

/// In order of their significance.
pub(super) static CI: &[Check] = &[
    step("test", 50, |sh| test::to_the_end(sh, &[])),
    step("fmt", 2, |sh| succeed(cmd!(sh, "cargo fmt --all -- --check"))),
    step("clippy", 8, clippy),
    step("doc", 4, doc),
    step("typos", 12, typos),
    step("fuzz-lock", 2, fuzz::check_lock),
    step("conformance", 35, ci_conformance),
    step("discrete", 8, |sh| on_discrete_cards(sh, false)),
    step("kernels", 8, |sh| kernels(sh, kernels_of_one_family())),
    step("node-tests", 4, node_tests),
    step("stress", 12, stress::short),
    step("c-api", 8, c_api::run),
    step("dist", 8, dist::check_quickly),
    step("onnxruntime", 15, |sh| onnxruntime(sh, false)),
    step("examples", 15, examples),
    only_for(
        &["*Cargo.toml", "Cargo.lock", "deny.toml", "xtask/src/tools.rs"],
        step("deny", 12, deny),
    ),
    only_for(SHADER_BUILD, step("shader-recompile", 45, build_shaders::recompile)),
];

/// The inputs that determine the compiled kernels and their check.
const SHADER_BUILD: &[&str] = &[
    "spirv",
    "xtask/src/build_shaders.rs",
    "xtask/src/build_tools.rs",
    "xtask/src/process.rs",
    "xtask/src/workspace.rs",
    "Cargo.lock#shaderc",
    "Cargo.lock#shaderc-sys",
    "Cargo.lock#rspirv",
];

/// Steps that take too long to wait for before a merge.
pub(super) static NIGHTLY: &[Check] = &[
    step("release-test", 35, |sh| {
        // Tests that choose one driver by default then use both.
        let _every = sh.push_env("DML_TEST_EVERY_DRIVER", "1");
        test::to_the_end(sh, &["--release"])
    }),
    step("functions", 240, every_input),
    step("models", 12, |sh| whole_models(sh, &[])),
    step("random-nodes", 20, random_nodes),
    step("model-budgets", 8, model_budgets),
    step("seeded-models", 30, seeded_models),
    step("staged-models", 40, |sh| whole_models(sh, &["--staged-transfers", "on", "--validation"])),
    step("full-onnxruntime", 30, |sh| onnxruntime(sh, true)),
    step("decoding", 30, |sh| {
        no_failure("decoding", decoding::run(sh, &decoding::Args::default())?)
    }),
    step("full-dist", 20, dist::check),
    step("html-report", 4, html_report::check),
    step("leaks", 6, leaks::run),
    step("sanitizer", 15, sanitizer::run),
    step("full-conformance", 110, |sh| conformance(sh, true, &[])),
    step("full-discrete", 40, |sh| on_discrete_cards(sh, true)),
    step("all-kernels", 30, |sh| kernels(sh, kernels::Args::default())),
    step("suite-kernels", 60, |sh| {
        kernels(sh, kernels::Args { suite: true, ..kernels::Args::default() })
    }),
    step("faults", 60, |sh| stress::one(sh, &["faults"])),
    step("plans", 60, |sh| stress::one(sh, &["plans", "--count", "13000000", "--seed", "1"])),
    step("cycles", 10, |sh| stress::one(sh, &["cycles"])),
    step("soak", 30, |sh| stress::one(sh, &["soak", "--time", "10m", "--seed", "1"])),
    step("validated-soak", 10, |sh| {
        stress::one(sh, &["soak", "--time", "2m", "--seed", "2", "--validation"])
    }),
    step("fuzz", 90, fuzz),
];

/// Functions of one number, for every number: some 35 functions of 2^32.
fn every_input(sh: &Shell) -> Result<()> {
    let arguments = ["--release", "--lib", "--", "--ignored", "of_every_number"];
    succeed(cmd!(sh, "cargo test --locked -p dml-ops {arguments...}"))
}

fn clippy(sh: &Shell) -> Result<()> {
    let arguments = ["--all-targets", "--features", "dml-core/json", "--", "-D", "warnings"];
    succeed(cmd!(sh, "cargo clippy --locked --workspace {arguments...}"))
}

fn doc(sh: &Shell) -> Result<()> {
    let arguments = ["--no-deps", "--document-private-items", "--features", "dml-core/json"];
    let command = cmd!(sh, "cargo doc --locked --workspace {arguments...}");
    succeed(command.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Without advisories, which change independently of this repository and are no property of a commit.
fn deny(sh: &Shell) -> Result<()> {
    let program = tools::cargo_deny(sh)?;
    // An exception that nothing needs any more is a warning.
    let checks = ["--deny", "warnings", "bans", "licenses", "sources"];
    succeed(cmd!(sh, "{program} --locked --workspace --all-features check {checks...}"))
}

fn typos(sh: &Shell) -> Result<()> {
    let program = tools::typos(sh)?;
    succeed(cmd!(sh, "{program} --config typos.toml"))
}

/// Devices as they are at every level, under the validation layer; then, at the level that accepts most, with
/// operands that do not fit a descriptor, without robust access, which would hide stray accesses, with the
/// transfers of discrete devices, with emulated types, and with rows by work groups. [`discrete`] has the
/// other combinations of these.
fn ci_conformance(sh: &Shell) -> Result<()> {
    const CAPPED: [&str; 14] = [
        "--feature-level",
        "6_4",
        "--profile",
        "storage-range-1-mib",
        "--robust-access",
        "off",
        "--staged-transfers",
        "on",
        "--variants",
        "emulated",
        "--strategy",
        "row-groups",
        "--filter",
        discrete::FEW_TYPES,
    ];
    conformance(sh, false, &["--validation"])?;
    conformance(sh, false, &CAPPED)
}

fn conformance(sh: &Shell, full: bool, args: &[&str]) -> Result<()> {
    let args = args.iter().map(|&arg| arg.to_owned()).collect();
    let args = conformance::Args { cpu_drivers: true, full, args };
    no_failure("the conformance run", conformance::run(sh, &args)?)
}

fn on_discrete_cards(sh: &Shell, full: bool) -> Result<()> {
    no_failure("the run on discrete cards", discrete::run(sh, &discrete::Args { full })?)
}

fn kernels(sh: &Shell, args: kernels::Args) -> Result<()> {
    no_failure("the check of compiled kernels", kernels::run(sh, &args)?)
}

/// Without building the parent commit, which a new version of Mesa requires and only `nightly` does.
fn kernels_of_one_family() -> kernels::Args {
    let families = vec!["navi31".to_owned()];
    kernels::Args { families, without_parent: true, ..kernels::Args::default() }
}

fn node_tests(sh: &Shell) -> Result<()> {
    let args = node_tests::Args { cpu_drivers: true, args: Vec::new() };
    no_failure("ONNX's tests", node_tests::run(sh, &args)?)
}

/// Every night has the same random nodes, so that only a change can make a result wrong.
fn random_nodes(sh: &Shell) -> Result<()> {
    let args = random_nodes::Args {
        cpu_drivers: true,
        seed: 1,
        count: 3000,
        operator: None,
        args: Vec::new(),
    };
    no_failure("the run of random nodes", random_nodes::run(sh, &args)?)
}

fn whole_models(sh: &Shell, args: &[&str]) -> Result<()> {
    let args = args.iter().map(|&option| option.to_owned()).collect();
    let args = models::Args { cpu_drivers: true, args, ..models::Args::default() };
    no_failure("public models", models::run(sh, &args)?)
}

fn seeded_models(sh: &Shell) -> Result<()> {
    let args = models::Args { cpu_drivers: true, seeded: true, ..models::Args::default() };
    no_failure("models with seeded inputs", models::run(sh, &args)?)
}

/// The table of models; tests compare the table of single operators.
fn model_budgets(sh: &Shell) -> Result<()> {
    let args = budgets::Args { models: true, check: true, time: false };
    no_failure("the budgets of models", budgets::run(sh, args)?)
}

fn examples(sh: &Shell) -> Result<()> {
    let names = [Name::VoiceActivity, Name::FileTypes, Name::Train, Name::Chat];
    names.into_iter().try_for_each(|name| {
        let args = example::Args { name, question: None, cpu_drivers: true };
        no_failure("the example", example::run(sh, &args)?)
    })
}

fn onnxruntime(sh: &Shell, full: bool) -> Result<()> {
    no_failure("the ONNX Runtime plug-in", onnxruntime::run(sh, &onnxruntime::Args { full })?)
}

fn fuzz(sh: &Shell) -> Result<()> {
    let args = fuzz::Args { time: 600, targets: Vec::new(), jobs: 2, input: None };
    no_failure("fuzzing", fuzz::run(sh, &args)?)
}
