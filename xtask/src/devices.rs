//! Lists the Vulkan devices that the `dml` command finds.

use std::process::{Command, Output};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use xshell::Shell;

use crate::environment::Environment;
use crate::programs;

/// Parts of the names of the CPU drivers' devices that `setup` provides.
pub(crate) const CPU_DRIVERS: [&str; 2] = ["llvmpipe", "SwiftShader"];

/// The exit code of `dml devices` without a device (or without a loader).
const NO_DEVICE: i32 = 3;

/// The fields of `dml devices --json` that are used.
#[derive(Deserialize)]
struct Device {
    name: String,
    /// The reason why it cannot be used; such a device is ignored.
    unusable: Option<String>,
}

/// The names of the usable devices that answer in `environment`. Builds `dml` first.
pub(crate) fn names(sh: &Shell, environment: &Environment) -> Result<Vec<String>> {
    let output = dml(sh, environment, &["devices", "--json"])?;
    match output.status.code() {
        Some(0) => names_in(&output.stdout),
        // The reason is of no interest to a caller that is about to set up a device.
        Some(NO_DEVICE) => Ok(Vec::new()),
        _ => {
            let error = String::from_utf8_lossy(&output.stderr);
            bail!("`dml devices --json` failed: {}\n{error}", output.status)
        }
    }
}

/// The names of the usable devices; fails unless both CPU drivers answer.
pub(crate) fn of_cpu_drivers(sh: &Shell, environment: &Environment) -> Result<Vec<String>> {
    let names = names(sh, environment)?;
    for driver in CPU_DRIVERS {
        let is_there = names.iter().any(|name| name.contains(driver));
        ensure!(is_there, "{driver} does not answer, see `cargo xtask setup`; {names:?} do");
    }
    Ok(names)
}

/// Whether a device works under the validation layer in `environment`. Builds `dml` first.
pub(crate) fn have_validation_layer(sh: &Shell, environment: &Environment) -> Result<bool> {
    let output = dml(sh, environment, &["diag", "--sizes", "1,1", "--validation"])?;
    Ok(output.status.success())
}

/// Whether `name` is that of a CPU driver's device.
pub(crate) fn is_cpu_driver(name: &str) -> bool {
    CPU_DRIVERS.iter().any(|driver| name.contains(driver))
}

fn dml(sh: &Shell, environment: &Environment, arguments: &[&str]) -> Result<Output> {
    let dml = programs::build(sh, "dml-cli", "dml")?;
    let command = environment.apply(sh.cmd(dml).args(arguments));
    Command::from(command).output().context("starting dml")
}

fn names_in(json: &[u8]) -> Result<Vec<String>> {
    let devices: Vec<Device> =
        serde_json::from_slice(json).context("`dml devices --json` printed no list of devices")?;
    let usable = devices.into_iter().filter(|device| device.unusable.is_none());
    Ok(usable.map(|device| device.name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_the_array() {
        let json = r#"[{"name":"llvmpipe (LLVM 15.0.6, 256 bits)","index":0},{"name":"A GPU"},
            {"name":"old","unusable":"it is Vulkan 1.0"}]"#;
        let names = names_in(json.as_bytes()).unwrap();
        assert_eq!(names, ["llvmpipe (LLVM 15.0.6, 256 bits)", "A GPU"]);
        assert!(is_cpu_driver(&names[0]) && !is_cpu_driver(&names[1]));
        assert!(names_in(b"[{}]").is_err() && names_in(b"{}").is_err());
    }
}
