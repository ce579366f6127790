//! The step `c-api` of `ci`: the C and C++ examples, built against an installed library in a clean
//! prefix, run on both CPU drivers under the validation layer.

use std::path::PathBuf;
use std::process::ExitStatus;

use anyhow::{Context, Result, ensure};
use xshell::{Cmd, Shell, cmd};

use crate::environment::Environment;
use crate::packages::Packages;
use crate::process::find_program;
use crate::{build_tools, devices, install_capi, setup, test, workspace};

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

/// An installed library, and what it takes to build programs with it and to run them.
pub(crate) struct Installation {
    prefix: PathBuf,
    /// pkg-config and a C++ compiler are found.
    tools: Environment,
    /// For programs that call Vulkan themselves.
    vulkan_flags: Vec<String>,
    /// Only the CPU drivers, and the shared library is found.
    pub(crate) environment: Environment,
    /// The devices' names, in their order.
    pub(crate) devices: Vec<String>,
}

/// Runs the step.
pub(crate) fn run(sh: &Shell) -> Result<()> {
    let library = Installation::new(sh, "c-api")?;
    library.check_symbols(sh)?;
    library.check_headers(sh)?;
    let environment = test::under_validation(library.environment.clone());
    for example in &EXAMPLES {
        let program = library.build(sh, example)?;
        let name = program.file_name().unwrap_or_default().display();
        for device in 0..library.devices.len() {
            let arguments = [device.to_string()];
            let (status, text) = outcome(environment.apply(sh.cmd(&program).args(arguments)))?;
            ensure!(status.success(), "{name} on device {device}: {status}\n{text}");
            ensure!(
                is_reported(&text) == example.is_reported,
                "{name} on device {device}: the layer must report {}, and there is\n{text}",
                if example.is_reported { "the missing barrier" } else { "nothing" }
            );
        }
    }
    Ok(())
}

impl Installation {
    /// Installs the library below `target/NAME`, and makes sure of the drivers and the tools.
    pub(crate) fn new(sh: &Shell, name: &str) -> Result<Self> {
        let prefix = workspace::root().join("target").join(name);
        sh.remove_path(&prefix)?;
        install_capi::run(sh, &install_capi::Args { prefix: prefix.clone(), debug: true })?;
        let drivers = setup::make_sure(sh)?.environment()?;
        let devices = devices::of_cpu_drivers(sh, &drivers)?;
        let compiler = build_tools::ensure(sh).context("preparing the C++ compiler")?;
        let has_pkg_config = find_program("pkg-config").is_some();
        let names: &[&str] =
            if has_pkg_config { &["libvulkan1"] } else { &["libvulkan1", "pkgconf"] };
        let request = Packages::new("c-api", names);
        let vulkan = Packages { alone: &[("libvulkan-dev", None)], ..request }.ensure(sh)?;
        let mut vulkan_flags = vec![format!("-isystem{}/usr/include", vulkan.root.display())];
        vulkan_flags.extend(vulkan.libraries(sh)?.iter().map(|it| format!("-L{}", it.display())));
        vulkan_flags.push("-lvulkan".to_owned());
        let library = Environment::of_folders(vec![prefix.join("lib")], Vec::new())?;
        Ok(Self {
            prefix,
            tools: compiler.and(vulkan.environment(sh)?),
            vulkan_flags,
            environment: drivers.and(library),
            devices,
        })
    }

    /// Builds one program and returns its path.
    pub(crate) fn build(&self, sh: &Shell, example: &Example) -> Result<PathBuf> {
        let Example { source, vulkan, is_static, define, .. } = *example;
        let file = workspace::root().join("crates/dml-capi/examples/c").join(source);
        let kind = if is_static { "static" } else { "shared" };
        let name = format!("{source}-{kind}{}", define.unwrap_or_default());
        let program = self.prefix.join("bin").join(name);
        sh.create_dir(self.prefix.join("bin"))?;
        let is_cpp = source.ends_with(".cpp");
        let (compiler, standard) = (compiler(is_cpp), if is_cpp { "c++14" } else { "c11" });
        let flags = self.pkg_config(sh, is_static)?;
        let vulkan_flags = if vulkan { &*self.vulkan_flags } else { &[] };
        let command = cmd!(sh, "{compiler} -std={standard} -Wall -Wextra -Werror {define...}");
        let command = command.arg(file).arg("-o").arg(&program).args(flags).args(vulkan_flags);
        self.tools.apply(command).run()?;
        Ok(program)
    }

    /// What pkg-config says about the installed library.
    fn pkg_config(&self, sh: &Shell, is_static: bool) -> Result<Vec<String>> {
        let libraries = if is_static { "--variable=static_libs" } else { "--libs" };
        let mut flags = Vec::new();
        for question in ["--cflags", libraries] {
            let command = cmd!(sh, "pkg-config {question} dmlvk")
                .env("PKG_CONFIG_PATH", self.prefix.join("lib/pkgconfig"));
            let answer = self.tools.apply(command).read()?;
            flags.extend(answer.split_whitespace().map(str::to_owned));
        }
        Ok(flags)
    }

    /// Each header by itself is strict C99 and C++11, whatever its includer asks of the compiler.
    fn check_headers(&self, sh: &Shell) -> Result<()> {
        let flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I"];
        let include = self.prefix.join("include");
        for header in ["dmlvk/dmlvk.h", "dmlvk/directml_types.h"] {
            for (is_cpp, language, standard) in [(false, "c", "c99"), (true, "c++", "c++11")] {
                let compiler = compiler(is_cpp);
                let program = format!("#include <{header}>\n#include <{header}>\n");
                let command =
                    cmd!(sh, "{compiler} -x {language} -std={standard} {flags...} {include} -");
                self.tools.apply(command).stdin(program).run()?;
            }
        }
        Ok(())
    }

    /// The shared library exports the header's functions and nothing else.
    fn check_symbols(&self, sh: &Shell) -> Result<()> {
        let library = self.prefix.join("lib/libdmlvk.so");
        let symbols =
            cmd!(sh, "nm --dynamic --defined-only --format=posix {library}").quiet().read()?;
        let mut exported: Vec<&str> =
            symbols.lines().filter_map(|line| line.split_whitespace().next()).collect();
        exported.sort_unstable();
        let header = sh.read_file(self.prefix.join("include/dmlvk/dmlvk.h"))?;
        let mut declared = declared(&header);
        declared.sort_unstable();
        ensure!(
            exported == declared,
            "the library exports {exported:?}, the header declares {declared:?}"
        );
        Ok(())
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

/// The functions that the header declares: the first word before a parenthesis on a line that begins
/// a declaration.
fn declared(header: &str) -> Vec<&str> {
    let lines = header.lines().filter(|line| !line.starts_with([' ', '*', '/', '#']));
    let name = |line: &'_ str| -> Option<(usize, usize)> {
        let start = line.find("dmlvk_")?;
        let length = line[start..].find('(')?;
        Some((start, start + length))
    };
    lines.filter_map(|line| name(line).map(|(start, end)| &line[start..end])).collect()
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
