//! The fuzz targets of `fuzz/`, which a test runs with their seeds.

mod capi;
mod descriptors;
mod graphs;
mod indices;
mod pipeline_cache;
mod plans;
mod readers;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of its program in `fuzz/fuzz_targets` and of its folder in `fuzz/seeds`.
    pub name: &'static str,
    /// Panics if a promise is broken. Returns false if the bytes are not meant for this target.
    pub run: fn(&[u8]) -> bool,
}

/// Every fuzz target.
pub const TARGETS: [Target; 10] = [
    Target { name: "descriptors", run: descriptors::run },
    Target { name: "plans", run: plans::run },
    Target { name: "indices", run: indices::run },
    Target { name: "graphs", run: graphs::run },
    Target { name: "capi", run: capi::run },
    Target { name: "pipeline_cache", run: pipeline_cache::run },
    Target { name: "onnx", run: readers::onnx },
    Target { name: "openvino", run: readers::openvino },
    Target { name: "dxdispatch", run: readers::dxdispatch },
    Target { name: "npy", run: readers::npy },
];

/// Runs the target called `name`.
///
/// # Panics
/// A promise is broken, or no target has this name.
pub fn run(name: &str, bytes: &[u8]) -> bool {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.expect("a fuzz target is called by its name").run)(bytes)
}
