//! The tools that building shaderc from source needs: cmake with make, a C++ compiler and Python. libFuzzer
//! only needs the compiler.

use anyhow::Result;
use xshell::Shell;

use crate::environment::Environment;
use crate::packages::Packages;
use crate::process::find_program;

/// A tool: programs of which any one suffices, and the package that has it.
struct Tool {
    programs: &'static [&'static str],
    package: &'static str,
}

/// cmake looks for these names itself.
const COMPILER: Tool = Tool { programs: &["c++", "g++", "clang++"], package: "g++" };

const TOOLS: [Tool; 4] = [
    Tool { programs: &["cmake"], package: "cmake" },
    // cmake generates build files for make; cmake's package only recommends it.
    Tool { programs: &["make"], package: "make" },
    COMPILER,
    Tool { programs: &["python3"], package: "python3" },
];

/// An environment in which C++ can be built: the system's compiler, or the one with which shaderc is built,
/// so that it is unpacked once.
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
    let packages = Packages { beside: compiler_parts, ..Packages::new("build-tools", &missing) };
    let tree = packages.ensure(sh)?;
    let environment = tree.environment(sh)?;
    if !missing.contains(&"g++") {
        return Ok(environment);
    }
    // The folder of g++'s libraries: `usr/lib/gcc/x86_64-linux-gnu/12`. Rust links with the system's gcc,
    // which does not look there for the C++ library.
    let mut folders = Vec::new();
    for target in sh.read_dir(tree.root.join("usr/lib/gcc"))? {
        folders.extend(sh.read_dir(target)?);
    }
    let libraries = std::env::join_paths(folders)?;
    // The name `c++` is made by the package's installation script, which does not run here.
    Ok(environment.with("CXX", "g++").with("LIBRARY_PATH", libraries))
}

fn missing_packages(there: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let lacking = TOOLS.iter().filter(|tool| !tool.programs.iter().any(|name| there(name)));
    lacking.map(|tool| tool.package).collect()
}

/// g++ only finds headers and start files beside itself, so the parts in gcc's packages must be there too,
/// even if the system has them installed.
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
