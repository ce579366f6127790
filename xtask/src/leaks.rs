//! The step `leaks` of `nightly`: the C examples under valgrind, on both CPU drivers. No memory that the
//! library has allocated may be left at the end, lost or still reachable.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use xshell::{Shell, cmd};

use crate::c_api::{self, Installation};
use crate::environment::Environment;
use crate::packages::Packages;
use crate::process::find_program;
use crate::workspace;

/// Programs of crates/dml-capi/examples/c, and whether valgrind must find something.
const PROGRAMS: [(&str, bool); 3] = [
    ("owning", false),
    ("bring_your_own", false),
    // The positive control.
    ("owning-OMIT_DESTROY", true),
];

/// The only program that executes a kernel; the output of the others is part of the commands.
const RUNS_A_KERNEL: &str = "bring_your_own";
/// The driver whose compiled kernels have an instruction that valgrind 3.19 does not know, so that they end
/// with SIGILL under it.
const UNREADABLE: &str = "SwiftShader";

/// The exit code of valgrind with findings; the examples never end with it.
const FOUND: i32 = 99;

/// All memory that is left at the end is an error, and so is every invalid access. Stacks are recorded
/// although drivers are unloaded by then, and are deep enough for the suppressions.
const OPTIONS: [&str; 7] = [
    "--quiet",
    "--leak-check=full",
    "--show-leak-kinds=all",
    "--errors-for-leak-kinds=all",
    "--keep-debuginfo=yes",
    "--num-callers=100",
    "--error-exitcode=99",
];

/// Suppressions for the dynamic linker and the drivers, each with its reason.
const SUPPRESSIONS: &str = "xtask/src/leaks/valgrind.supp";

/// Runs the step.
pub(crate) fn run(sh: &Shell) -> Result<()> {
    let library = Installation::new(sh, "leaks")?;
    let valgrind = Valgrind::ensure(sh)?;
    let environment = library.environment.clone().with("DML_PIPELINE_CACHE", "off");
    for (program, is_wrong) in PROGRAMS {
        for (device, name) in library.devices.iter().enumerate() {
            if program == RUNS_A_KERNEL && name.contains(UNREADABLE) {
                eprintln!("leaks: {program} not on {name}: valgrind cannot run its kernels");
                continue;
            }
            valgrind.check(sh, &environment, &library.programs.join(program), device, is_wrong)?;
            eprintln!("leaks: {program} on {name}: as expected");
        }
    }
    Ok(())
}

/// The system's valgrind, or an unpacked one.
struct Valgrind {
    program: PathBuf,
    /// The folder in which the unpacked one finds its own files, and the one with the C library's debug
    /// information, without which it does not start.
    unpacked: Option<(PathBuf, PathBuf)>,
}

impl Valgrind {
    fn ensure(sh: &Shell) -> Result<Self> {
        if let Some(program) = find_program("valgrind") {
            return Ok(Self { program, unpacked: None });
        }
        let names = ["valgrind", "libc6-dbg"];
        let packages = Packages { finish: link_debug_files, ..Packages::new("valgrind", &names) };
        let root = packages.ensure(sh)?.root;
        // `usr/bin/valgrind` is a script that starts the system's valgrind.
        let program = root.join("usr/bin/valgrind.bin");
        Ok(Self {
            program,
            unpacked: Some((root.join("usr/libexec/valgrind"), root.join("debug"))),
        })
    }

    fn check(
        &self,
        sh: &Shell,
        environment: &Environment,
        program: &Path,
        device: usize,
        is_wrong: bool,
    ) -> Result<()> {
        let (valgrind, device) = (&self.program, device.to_string());
        let suppressions = workspace::root().join(SUPPRESSIONS);
        let mut command = cmd!(sh, "{valgrind} {OPTIONS...} --suppressions={suppressions}");
        if let Some((library, debug)) = &self.unpacked {
            command = command.env("VALGRIND_LIB", library);
            command = command.arg(format!("--extra-debuginfo-path={}", debug.display()));
        }
        let command = environment.apply(command.arg(program).arg(&device));
        let (status, text) = c_api::outcome(command)?;
        let name = program.file_name().unwrap_or_default().display();
        match (status.code(), is_wrong) {
            (Some(0), false) => Ok(()),
            (Some(FOUND), true) if text.contains("dml") => Ok(()),
            (Some(0), true) => bail!(
                "{name} on device {device}: valgrind reports nothing, though nothing is destroyed"
            ),
            (_, _) => bail!("{name} on device {device}: {status}\n{text}"),
        }
    }
}

/// Beside the locations that only an installed package uses, valgrind looks for a library's debug file in a
/// folder that we can choose: in the library's own folder below it, without the first two digits of the build
/// id.
fn link_debug_files(sh: &Shell, root: &Path) -> Result<()> {
    for folder in ["lib", "usr/lib"] {
        let triplet = format!("debug/{folder}/{}-linux-gnu", std::env::consts::ARCH);
        let links = sh.create_dir(root.join(triplet))?;
        for folder in sh.read_dir(root.join("usr/lib/debug/.build-id"))? {
            for file in sh.read_dir(folder)? {
                std::fs::hard_link(&file, links.join(file.file_name().unwrap_or_default()))?;
            }
        }
    }
    Ok(())
}
