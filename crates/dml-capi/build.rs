//! Names the shared library, so that programs find the version that they were linked with.
#![allow(clippy::print_stdout, reason = "a build script speaks to cargo")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let linux = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|it| it == "linux");
    let major = std::env::var("CARGO_PKG_VERSION_MAJOR").unwrap_or_default();
    if linux {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libdmlvk.so.{major}");
    }
}
