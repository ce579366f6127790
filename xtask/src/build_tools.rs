//! What it takes to build shaderc from source: cmake with make, a C++ compiler and Python. libFuzzer
//! takes the compiler alone.

use std::path::PathBuf;

use anyhow::{Result, bail};
use xshell::Shell;

use crate::apt;
use crate::bundle::{Bundle, Tree};
use crate::contents;
use crate::environment::{Announced, Environment};
use crate::generated;
use crate::process::find_program;
use crate::setup;
use crate::workspace;

/// A tool: the programs of which any one will do, and the package that has it.
struct Tool {
    programs: &'static [&'static str],
    package: &'static str,
}

/// cmake looks for these names itself.
const COMPILER: Tool = Tool { programs: &["c++", "g++", "clang++"], package: "g++" };

const TOOLS: [Tool; 4] = [
    Tool { programs: &["cmake"], package: "cmake" },
    // What cmake writes its build files for; cmake's package only recommends it.
    Tool { programs: &["make"], package: "make" },
    COMPILER,
    Tool { programs: &["python3"], package: "python3" },
];

/// The environment in which C++ can be built: the system's compiler, or that with which shaderc is
/// built, so that it is unpacked once.
pub(crate) fn compiler(sh: &Shell) -> Result<Environment> {
    let is_here = COMPILER.programs.iter().any(|name| find_program(name).is_some());
    if is_here { Ok(Environment::system()) } else { ensure(sh) }
}

/// The environment in which shaderc can be built: the system's tools, and unpacked packages for
/// those that it lacks.
pub(crate) fn ensure(sh: &Shell) -> Result<Environment> {
    let missing: Vec<&str> = missing_packages(|name| find_program(name).is_some());
    if missing.is_empty() {
        return Ok(Environment::system());
    }
    if !apt::present() {
        bail!("building C++ needs these tools, please install them: {}", missing.join(", "));
    }
    let folder = workspace::setup_dir();
    let _lock = setup::lock(sh, &folder)?;
    let tree = bundle(&missing).ensure(sh, &folder)?;
    let links = folder.join("build-tools-lib");
    generated::sync_links(sh, &links, &contents::libraries(sh, &tree)?)?;
    let environment = Environment::only(Announced {
        libraries: vec![links],
        // Not links: g++ and python3 look for their own files beside themselves.
        programs: vec![tree.root.join("usr/bin")],
        ..Announced::default()
    })?;
    // The name `c++` is made by the package's installation script, which does not run here.
    let compiler = missing.contains(&"g++").then_some("g++");
    let Some(compiler) = compiler else { return Ok(environment) };
    // Rust links with the system's gcc, which does not look there for the C++ library.
    let libraries = std::env::join_paths(compiler_folders(sh, &tree)?)?;
    Ok(environment.with("CXX", compiler).with("LIBRARY_PATH", libraries))
}

/// Where g++ keeps its libraries: `usr/lib/gcc/x86_64-linux-gnu/12`.
fn compiler_folders(sh: &Shell, tree: &Tree) -> Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for target in tree.files(sh, "usr/lib/gcc")? {
        folders.extend(sh.read_dir(target)?);
    }
    Ok(folders)
}

fn missing_packages(there: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let lacking = TOOLS.iter().filter(|tool| !tool.programs.iter().any(|name| there(name)));
    lacking.map(|tool| tool.package).collect()
}

fn bundle(packages: &[&str]) -> Bundle {
    Bundle {
        folder: "build-tools",
        packages: packages.iter().map(|&it| it.to_owned()).collect(),
        bare: Vec::new(),
        companions: compiler_parts,
    }
}

/// g++ finds its headers and start files beside itself only, so the parts that gcc's packages have
/// must lie there too, even where the system has them installed.
fn compiler_parts(package: &str) -> Vec<String> {
    let Some(version) = package.strip_prefix("g++-") else {
        return Vec::new();
    };
    if !version.bytes().all(|byte| byte.is_ascii_digit()) {
        return Vec::new();
    }
    ["gcc-N", "cpp-N", "libgcc-N-dev"].map(|name| name.replace('N', version)).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_one_compiler_will_do() {
        assert_eq!(missing_packages(|_| false), ["cmake", "make", "g++", "python3"]);
        assert_eq!(missing_packages(|name| name != "cmake" && name != "c++"), ["cmake"]);
        assert!(missing_packages(|name| name != "g++").is_empty());
    }

    #[test]
    fn only_the_versioned_compiler_has_parts() {
        assert_eq!(compiler_parts("g++-12"), ["gcc-12", "cpp-12", "libgcc-12-dev"]);
        assert!(compiler_parts("g++").is_empty());
        assert!(compiler_parts("g++-12-multilib").is_empty());
    }
}
