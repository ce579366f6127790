//! Which Vulkan devices answer, as the `dml` command sees them.

use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use xshell::{Shell, cmd};

use crate::environment::Environment;
use crate::programs;

/// `dml devices` ends with this code where there is no device (or no loader).
const NO_DEVICE: i32 = 3;

/// The names of the usable devices that answer in `environment`. Builds `dml` first.
pub(crate) fn names(sh: &Shell, environment: &Environment) -> Result<Vec<String>> {
    let dml = programs::build(sh, "dml-cli", "dml")?;
    let command = environment.apply(cmd!(sh, "{dml} devices --json"));
    let output = Command::from(command).output().context("starting dml")?;
    match output.status.code() {
        Some(0) => parse(&String::from_utf8_lossy(&output.stdout)),
        // Why there is none is no news to a caller that is about to set one up.
        Some(NO_DEVICE) => Ok(Vec::new()),
        _ => {
            let error = String::from_utf8_lossy(&output.stderr);
            bail!("`dml devices --json` failed: {}\n{error}", output.status)
        }
    }
}

/// Whether a device works under the validation layer in `environment`. Builds `dml` first.
pub(crate) fn have_validation_layer(sh: &Shell, environment: &Environment) -> Result<bool> {
    let dml = programs::build(sh, "dml-cli", "dml")?;
    let command = environment.apply(cmd!(sh, "{dml} diag --sizes 1,1 --validation"));
    let output = Command::from(command).output().context("starting dml")?;
    Ok(output.status.success())
}

/// The same, where both CPU drivers must answer.
pub(crate) fn of_cpu_drivers(sh: &Shell, environment: &Environment) -> Result<Vec<String>> {
    let names = names(sh, environment)?;
    for driver in CPU_DRIVERS {
        let is_there = names.iter().any(|name| name.contains(driver));
        ensure!(is_there, "{driver} does not answer, see `cargo xtask setup`; {names:?} do");
    }
    Ok(names)
}

/// Whether `name` is one of the CPU drivers that `setup` brings.
pub(crate) fn is_cpu_driver(name: &str) -> bool {
    CPU_DRIVERS.iter().any(|driver| name.contains(driver))
}

/// How the CPU drivers' devices are called.
pub(crate) const CPU_DRIVERS: [&str; 2] = ["llvmpipe", "SwiftShader"];

/// A device of which `dml` says why it cannot be used is as good as none.
fn parse(json: &str) -> Result<Vec<String>> {
    let devices: Vec<Value> =
        serde_json::from_str(json).context("`dml devices --json` printed no JSON array")?;
    let name = |device: &Value| device["name"].as_str().map(str::to_owned);
    let usable = devices.iter().filter(|device| device.get("unusable").is_none());
    let names: Option<_> = usable.map(name).collect();
    names.context("`dml devices --json` printed a device without a name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_the_array() {
        let json = r#"[{"name":"llvmpipe (LLVM 15.0.6, 256 bits)","index":0},{"name":"A GPU"},
            {"name":"old","unusable":"it is Vulkan 1.0"}]"#;
        let names = parse(json).unwrap();
        assert_eq!(names, ["llvmpipe (LLVM 15.0.6, 256 bits)", "A GPU"]);
        assert!(is_cpu_driver(&names[0]) && !is_cpu_driver(&names[1]));
        assert!(parse("[{}]").is_err() && parse("{}").is_err());
    }
}
