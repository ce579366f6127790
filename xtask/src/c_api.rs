//! The step `c-api` of `ci`: the C and C++ examples, built against an installed library in a clean
//! prefix, run on both CPU drivers under the validation layer, but for the one that forks.

use std::path::PathBuf;
use std::process::ExitStatus;

use anyhow::{Context, Result, bail, ensure};
use xshell::{Cmd, Shell, cmd};

use crate::environment::Environment;
use crate::packages::Packages;
use crate::process::find_program;
use crate::{build_tools, devices, install_capi, setup, test, workspace};

/// The programs of crates/dml-capi/examples/c, and whether the layer has something to say.
const PROGRAMS: [(&str, bool); 8] = [
    ("layout", false),
    ("owning", false),
    ("owning-static", false),
    ("graph", false),
    ("streaming", false),
    ("fill_descs", false),
    ("bring_your_own", false),
    // The positive control.
    ("bring_your_own-OMIT_BARRIER", true),
];

/// A program of crates/dml-capi/examples/c that runs without the layer, which waits in a forked child for a thread that
/// the child does not have.
const FORKING: &str = "lifecycle";

/// An installed library, and programs that were built with it.
pub(crate) struct Installation {
    /// The folder of the programs.
    pub(crate) programs: PathBuf,
    /// Only the CPU drivers, and the shared library is found.
    pub(crate) environment: Environment,
    /// The devices' names, in their order.
    pub(crate) devices: Vec<String>,
}

/// Runs the step.
pub(crate) fn run(sh: &Shell) -> Result<()> {
    let library = Installation::new(sh, "c-api")?;
    let environment = test::under_validation(library.environment.clone());
    for (name, is_wrong) in PROGRAMS {
        for device in 0..library.devices.len() {
            let program = sh.cmd(library.programs.join(name)).arg(device.to_string());
            let (status, text) = outcome(environment.apply(program))?;
            ensure!(status.success(), "{name} on device {device}: {status}\n{text}");
            match (is_reported(&text), is_wrong) {
                (true, false) => bail!("{name} on device {device}: the layer reports\n{text}"),
                (false, true) => {
                    bail!("{name} on device {device}: the layer reports nothing: it is not on")
                }
                _ => {}
            }
        }
    }
    for device in 0..library.devices.len() {
        let program = sh.cmd(library.programs.join(FORKING)).arg(device.to_string());
        let (status, text) = outcome(library.environment.apply(program))?;
        ensure!(status.success(), "{FORKING} on device {device}: {status}\n{text}");
    }
    Ok(())
}

impl Installation {
    /// Installs the library below `target/NAME`, makes sure of the drivers and the tools, builds the
    /// programs and checks headers and symbols.
    pub(crate) fn new(sh: &Shell, name: &str) -> Result<Self> {
        let prefix = workspace::root().join("target").join(name);
        sh.remove_path(&prefix)?;
        install_capi::run(sh, &install_capi::Args { prefix: prefix.clone(), debug: true })?;
        let drivers = setup::make_sure(sh)?.environment()?;
        let devices = devices::of_cpu_drivers(sh, &drivers)?;
        let programs = sh.create_dir(prefix.join("bin"))?;
        let compiler = build_tools::ensure(sh).context("preparing the C++ compiler")?;
        let mut names = vec!["libvulkan1"];
        names.extend(find_program("pkg-config").is_none().then_some("pkgconf"));
        let request = Packages::new("c-api", &names);
        let vulkan = Packages { alone: &[("libvulkan-dev", None)], ..request }.ensure(sh)?;
        let mut flags = format!("VULKAN=-isystem{}/usr/include -lvulkan", vulkan.root.display());
        for folder in vulkan.libraries(sh)? {
            flags += &format!(" -L{}", folder.display());
        }
        let build = cmd!(
            sh,
            "make -C crates/dml-capi/examples/c OUT={programs} {flags} all headers symbols"
        )
        .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
        compiler.and(vulkan.environment(sh)?).apply(build).run()?;
        let library = Environment::of_folders(vec![prefix.join("lib")], Vec::new())?;
        Ok(Self { programs, environment: drivers.and(library), devices })
    }
}

/// How a program ends, and all that it prints.
pub(crate) fn outcome(command: Cmd<'_>) -> Result<(ExitStatus, String)> {
    let output = command.ignore_status().output()?;
    let text = [output.stdout, output.stderr].concat();
    Ok((output.status, String::from_utf8_lossy(&text).into_owned()))
}

/// Where nobody asks for the layer's messages it prints them.
fn is_reported(text: &str) -> bool {
    ["Validation Error", "Validation Warning", "VUID-", "SYNC-HAZARD"]
        .iter()
        .any(|it| text.contains(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_the_layer_are_told_from_a_programs_own() {
        assert!(is_reported("Validation Error: [ SYNC-HAZARD-WRITE-AFTER-WRITE ]"));
        assert!(!is_reported("1 1 1 1\n2 1 1 1\n"));
    }
}
