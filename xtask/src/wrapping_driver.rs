//! The driver of `dml-fault` that wraps another one, set up so that the loader finds it.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::json;
use xshell::Shell;

use crate::environment::Environment;
use crate::{programs, workspace};

/// The behaviour of the wrapping driver.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mode {
    /// The driver executes nothing, and writes the compiled pipelines to files.
    Null,
    /// The driver behaves like a discrete card.
    Discrete,
}

/// `environment`, in which the loader only finds the wrapping driver, around the driver with this library.
/// Builds the wrapping driver first.
pub(crate) fn around(
    sh: &Shell,
    library: &Path,
    mode: Mode,
    environment: Environment,
) -> Result<Environment> {
    let driver = programs::example_library(sh, "dml-fault", "wrapping_driver")?;
    let driver = driver.to_str().context("the path of this checkout is not a text")?;
    let manifest = json!({
        "file_format_version": "1.0.0",
        "ICD": { "library_path": driver, "api_version": "1.3.0" },
    });
    let file = workspace::target_dir().join("wrapping-driver.json");
    sh.write_file(&file, manifest.to_string())?;
    let mode = match mode {
        Mode::Null => "null",
        Mode::Discrete => "discrete",
    };
    // A newer loader reads the first variable, an older one the second.
    Ok(environment
        .with("VK_DRIVER_FILES", &file)
        .with("VK_ICD_FILENAMES", &file)
        .with("DML_DRIVER_LIBRARY", library)
        .with("DML_DRIVER_MODE", mode)
        .with("DML_PIPELINE_CACHE", "off"))
}
