//! The step `c-api` of `ci`: the C and C++ examples, built against an installed library in a clean
//! prefix, run on both CPU drivers under the validation layer.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use anyhow::{Context, Result, bail, ensure};
use xshell::{Cmd, Shell, cmd};

use crate::bundle::{Bare, Bundle};
use crate::environment::{Announced, Environment};
use crate::install_capi;
use crate::process::find_program;
use crate::{apt, build_tools, contents, devices, generated, setup, test, workspace};

/// A program of crates/dml-capi/examples/c.
pub(crate) struct Example {
    pub(crate) source: &'static str,
    /// Whether it calls Vulkan itself.
    pub(crate) vulkan: bool,
    /// Whether it is linked with libdmlvk.a.
    pub(crate) is_static: bool,
    /// A definition for the preprocessor.
    pub(crate) define: Option<&'static str>,
    /// Whether whoever watches has something to say: the positive control.
    pub(crate) is_reported: bool,
}

pub(crate) const PLAIN: Example =
    Example { source: "", vulkan: false, is_static: false, define: None, is_reported: false };

const EXAMPLES: [Example; 6] = [
    Example { source: "layout.c", ..PLAIN },
    Example { source: "owning.c", ..PLAIN },
    Example { source: "owning.c", is_static: true, ..PLAIN },
    Example { source: "fill_descs.cpp", ..PLAIN },
    Example { source: "bring_your_own.c", vulkan: true, ..PLAIN },
    Example {
        source: "bring_your_own.c",
        vulkan: true,
        define: Some("-DOMIT_BARRIER"),
        is_reported: true,
        ..PLAIN
    },
];

/// What the programs are built with.
pub(crate) struct Tools {
    /// pkg-config and a C++ compiler are on PATH.
    environment: Environment,
    /// The folder of `vulkan/vulkan.h`.
    headers: PathBuf,
    prefix: PathBuf,
    output: PathBuf,
}

/// Runs the step.
pub(crate) fn run(sh: &Shell) -> Result<()> {
    let Prepared { tools, drivers, library, devices } = prepare(sh, "c-api")?;
    check_symbols(sh, &tools.prefix)?;
    tools.check_headers(sh)?;
    let environment = test::under_validation(drivers).and(library);
    for example in &EXAMPLES {
        let program = tools.build(sh, example)?;
        for device in 0..devices.len() {
            execute(sh, &environment, example, &program, device)?;
        }
    }
    Ok(())
}

/// What it takes to build and run the programs.
pub(crate) struct Prepared {
    pub(crate) tools: Tools,
    /// Only the CPU drivers.
    pub(crate) drivers: Environment,
    /// The shared library is found.
    pub(crate) library: Environment,
    /// The devices' names, in their order.
    pub(crate) devices: Vec<String>,
}

/// Installs the library below `target/NAME`, and makes sure of the drivers and the tools.
pub(crate) fn prepare(sh: &Shell, name: &str) -> Result<Prepared> {
    let work = workspace::root().join("target").join(name);
    sh.remove_path(&work)?;
    let (prefix, output) = (work.join("prefix"), work.join("bin"));
    sh.create_dir(&output)?;
    install_capi::run(sh, &install_capi::Args { prefix: prefix.clone(), debug: true })?;
    let drivers = setup::make_sure(sh)?.environment()?;
    let devices = devices::of_cpu_drivers(sh, &drivers)?;
    let tools = tools(sh, prefix, output)?;
    let library = Announced { libraries: vec![tools.prefix.join("lib")], ..Announced::default() };
    Ok(Prepared { tools, drivers, library: Environment::only(library)?, devices })
}

impl Tools {
    /// Builds one program and returns its path.
    pub(crate) fn build(&self, sh: &Shell, example: &Example) -> Result<PathBuf> {
        let source = workspace::root().join("crates/dml-capi/examples/c").join(example.source);
        let kind = if example.is_static { "static" } else { "shared" };
        let define = example.define;
        let program =
            self.output.join(format!("{}-{kind}{}", example.source, define.unwrap_or_default()));
        let is_cpp = example.source.ends_with(".cpp");
        let compiler = compiler(is_cpp);
        let standard = if is_cpp { "-std=c++14" } else { "-std=c11" };
        let flags = self.pkg_config(sh, example.is_static)?;
        let mut command = cmd!(
            sh,
            "{compiler} {standard} -Wall -Wextra -Werror {define...} {source} -o {program} {flags...}"
        );
        if example.vulkan {
            let (headers, loader) = (&self.headers, workspace::setup_dir().join("lib"));
            command = command.arg("-isystem").arg(headers);
            command = command.arg("-L").arg(loader).arg("-l:libvulkan.so.1");
        }
        self.environment.apply(command).run()?;
        Ok(program)
    }

    /// Each header by itself is strict C99 and C++11, whatever its includer asks of the compiler.
    fn check_headers(&self, sh: &Shell) -> Result<()> {
        let flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"];
        let include = self.prefix.join("include");
        for header in ["dmlvk/dmlvk.h", "dmlvk/directml_types.h"] {
            for (is_cpp, language, standard) in
                [(false, "c", "-std=c99"), (true, "c++", "-std=c++11")]
            {
                let compiler = compiler(is_cpp);
                let program = format!("#include <{header}>\n#include <{header}>\n");
                let command = cmd!(sh, "{compiler} -x {language} {standard} {flags...}")
                    .arg("-I")
                    .arg(&include)
                    .arg("-");
                self.environment.apply(command).stdin(program).run()?;
            }
        }
        Ok(())
    }

    /// What pkg-config says about the installed library.
    fn pkg_config(&self, sh: &Shell, is_static: bool) -> Result<Vec<String>> {
        let libraries = if is_static { "--variable=static_libs" } else { "--libs" };
        let mut flags = Vec::new();
        for question in ["--cflags", libraries] {
            let command = cmd!(sh, "pkg-config {question} dmlvk")
                .env("PKG_CONFIG_PATH", self.prefix.join("lib/pkgconfig"));
            let answer = self.environment.apply(command).read()?;
            flags.extend(answer.split_whitespace().map(str::to_owned));
        }
        Ok(flags)
    }
}

fn execute(
    sh: &Shell,
    environment: &Environment,
    example: &Example,
    program: &Path,
    device: usize,
) -> Result<()> {
    let device = device.to_string();
    let (status, text) = outcome(environment.apply(cmd!(sh, "{program} {device}")))?;
    let name = program.file_name().unwrap_or_default().display();
    ensure!(status.success(), "{name} on device {device}: {status}\n{text}");
    match (is_reported(&text), example.is_reported) {
        (true, false) => bail!("{name} on device {device}: the layer reports\n{text}"),
        (false, true) => {
            bail!("{name} on device {device}: the layer reports nothing: it is not on")
        }
        _ => Ok(()),
    }
}

/// How a program ends, and all that it prints.
pub(crate) fn outcome(command: Cmd<'_>) -> Result<(ExitStatus, String)> {
    let output = command.ignore_status().output()?;
    let text = [output.stdout, output.stderr].concat();
    Ok((output.status, String::from_utf8_lossy(&text).into_owned()))
}

/// The user's choice, or what is usual.
fn compiler(is_cpp: bool) -> String {
    let (variable, usual) = if is_cpp { ("CXX", "g++") } else { ("CC", "cc") };
    std::env::var(variable).unwrap_or_else(|_| usual.to_owned())
}

/// Where nobody asks for the layer's messages it prints them.
fn is_reported(text: &str) -> bool {
    ["Validation Error", "Validation Warning", "VUID-", "SYNC-HAZARD"]
        .iter()
        .any(|it| text.contains(it))
}

/// The shared library exports the header's functions and nothing else.
fn check_symbols(sh: &Shell, prefix: &Path) -> Result<()> {
    let library = prefix.join("lib/libdmlvk.so");
    let symbols =
        cmd!(sh, "nm --dynamic --defined-only --format=posix {library}").quiet().read()?;
    let mut exported: Vec<&str> =
        symbols.lines().filter_map(|line| line.split_whitespace().next()).collect();
    exported.sort_unstable();
    let header = sh.read_file(prefix.join("include/dmlvk/dmlvk.h"))?;
    let mut declared = declared(&header);
    declared.sort_unstable();
    ensure!(
        exported == declared,
        "the library exports {exported:?}, the header declares {declared:?}"
    );
    Ok(())
}

/// The functions that the header declares.
fn declared(header: &str) -> Vec<&str> {
    let code = header.lines().filter(|line| !line.trim_start().starts_with("//"));
    let name = |line: &'_ str| -> Option<(usize, usize)> {
        let start = line.find("dmlvk_")?;
        let length = line[start..].find('(')?;
        Some((start, length))
    };
    code.filter(|line| !line.starts_with([' ', '*', '/', '#']))
        .filter_map(|line| name(line).map(|(start, length)| &line[start..start + length]))
        .collect()
}

/// The system's tools, and unpacked packages for those that it lacks.
fn tools(sh: &Shell, prefix: PathBuf, output: PathBuf) -> Result<Tools> {
    ensure!(apt::present(), "the headers of Vulkan come from a package, and there is no apt");
    // It holds the same lock.
    let compiler = build_tools::ensure(sh).context("preparing the C++ compiler")?;
    let folder = workspace::setup_dir();
    let _lock = setup::lock(sh, &folder)?;
    let pkg_config = find_program("pkg-config").is_none().then(|| "pkgconf".to_owned());
    let bundle = Bundle {
        folder: "c-api",
        packages: pkg_config.into_iter().collect(),
        bare: vec![Bare { name: "libvulkan-dev", instead: None }],
        companions: |_| Vec::new(),
    };
    let tree = bundle.ensure(sh, &folder)?;
    let headers = tree.root.join("usr/include");
    ensure!(headers.join("vulkan/vulkan.h").is_file(), "libvulkan-dev has no vulkan.h");
    let links = folder.join("c-api-lib");
    generated::sync_links(sh, &links, &contents::libraries(sh, &tree)?)?;
    let programs = vec![tree.root.join("usr/bin")];
    let announced = Announced { libraries: vec![links], programs, ..Announced::default() };
    let environment = compiler.and(Environment::only(announced)?);
    Ok(Tools { environment, headers, prefix, output })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_in_declarations_only() {
        let header = "// See dmlvk_a().\n * dmlvk_last_message() tells why\nHRESULT dmlvk_b(int a,\n\
            \x20                dmlvk_c(x));\nconst char *dmlvk_d(void);\n#define dmlvk_e() 1\n";
        assert_eq!(declared(header), ["dmlvk_b", "dmlvk_d"]);
    }

    #[test]
    fn messages_of_the_layer_are_told_from_a_programs_own() {
        assert!(is_reported("Validation Error: [ SYNC-HAZARD-WRITE-AFTER-WRITE ]"));
        assert!(!is_reported("1 1 1 1\n2 1 1 1\n"));
    }
}
