//! The tests of the crates with `unsafe`, the C library and `dml-vk`, under AddressSanitizer on both CPU
//! drivers: no freed or out-of-bounds memory may be accessed. Drivers are not instrumented.
//!
//! Leaks are found by another step, `leaks`.

use anyhow::{Result, ensure};
use xshell::{Cmd, Shell, cmd};

use crate::environment::Environment;
use crate::process::succeed;
use crate::{c_api, devices, setup, workspace};

/// The positive control: a test that reads a variable through a dangling pointer.
const CONTROL: [&str; 5] =
    ["--test", "dangling", "--", "--ignored", "a_struct_that_is_gone_is_read"];
/// AddressSanitizer's message for it.
const FOUND: &str = "ERROR: AddressSanitizer: stack-use-after-scope";

/// No leak detection, because drivers and their compilers keep memory until the process ends.
const OPTIONS: &str = "detect_leaks=0:detect_stack_use_after_return=1";

/// Runs the tests, then the positive control.
pub(crate) fn run(sh: &Shell) -> Result<()> {
    let drivers = setup::make_sure(sh)?.environment()?;
    let environment = drivers
        .with("DML_PIPELINE_CACHE", "off")
        .with("DML_TEST_DEVICES", devices::CPU_DRIVERS.join(","));
    succeed(test(sh, &environment, &["--lib", "--tests"]))?;
    let (status, text) = c_api::outcome(test(sh, &environment, &CONTROL))?;
    ensure!(
        !status.success() && text.contains(FOUND),
        "AddressSanitizer is not on: it does not find a struct that is gone ({status})\n{text}"
    );
    eprintln!("sanitizer: a struct that is gone was found, as it must be");
    Ok(())
}

/// `cargo test` of both crates, instrumented; on the stable toolchain that needs RUSTC_BOOTSTRAP. A target is
/// given so that build scripts and macros are not instrumented.
fn test<'a>(sh: &'a Shell, environment: &Environment, arguments: &[&str]) -> Cmd<'a> {
    let folder = workspace::root().join("target/sanitizer");
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let command = cmd!(sh, "cargo test --locked -p dml-capi -p dml-vk --target {target}")
        .arg("--target-dir")
        .arg(folder)
        .args(arguments)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", "-Zsanitizer=address")
        .env("ASAN_OPTIONS", OPTIONS);
    environment.apply(command)
}
