//! Keeps the library loaded after ONNX Runtime has unregistered it.
#![allow(clippy::print_stdout, reason = "a build script speaks to cargo")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Kernels that were linked, and Vulkan's driver, live as long as the process. An unloaded library would
    // lose them, and make all of them anew when it is registered again.
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|it| it == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
