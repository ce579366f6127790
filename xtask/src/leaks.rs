//! The step `leaks` of `nightly`: the C examples under valgrind, on both CPU drivers. No byte that the
//! library has allocated may be left at the end, lost or still reachable.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use xshell::{Shell, cmd};

use crate::c_api::{self, Installation};
use crate::environment::Environment;
use crate::packages::Packages;
use crate::process::find_program;
use crate::workspace;

/// Programs of crates/dml-capi/examples/c, and whether valgrind has something to say.
const PROGRAMS: [(&str, bool); 3] = [
    ("owning", false),
    ("bring_your_own", false),
    // The positive control.
    ("owning-OMIT_DESTROY", true),
];

/// This program executes a kernel, and the others none: their output is part of the commands.
const RUNS_A_KERNEL: &str = "bring_your_own";
/// The code that this driver makes of a kernel has an instruction that valgrind 3.19 does not know, and
/// ends with SIGILL under it.
const UNREADABLE: &str = "SwiftShader";

/// How valgrind ends where it has found something; the examples never end with it.
const FOUND: i32 = 99;

/// Everything that is left at the end is an error, and so is every access to memory that is none.
/// Stacks are told though drivers are unloaded by then, and are deep enough for the suppressions.
const OPTIONS: [&str; 7] = [
    "--quiet",
    "--leak-check=full",
    "--show-leak-kinds=all",
    "--errors-for-leak-kinds=all",
    "--keep-debuginfo=yes",
    "--num-callers=100",
    "--error-exitcode=99",
];

/// What is the dynamic linker's and the drivers' own, each with its reason.
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
    /// Where the unpacked one finds its own files, and the debug information of the C library,
    /// without which it does not start.
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
        // `usr/bin/valgrind` is a script that starts the system's.
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

/// Beside files that only the package's own place finds, valgrind looks for a library's debug file
/// below a folder of our choice, in the library's own folder there, without the first two digits of
/// the build id.
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
