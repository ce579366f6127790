//! The driver of `dml-fault` that wraps another one, as the loader finds it.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::json;
use xshell::Shell;

use crate::environment::Environment;
use crate::{programs, workspace};

/// What the driver does differently.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mode {
    /// It executes nothing, and writes down what it compiles.
    Null,
    /// It answers as a discrete card does.
    Discrete,
}

/// `environment`, in which the loader finds the wrapping driver alone. It wraps the driver with this library.
/// Builds it first.
pub(crate) fn around(
    sh: &Shell,
    library: &Path,
    mode: Mode,
    environment: Environment,
) -> Result<Environment> {
    let driver = programs::example_library(sh, "dml-fault", "wrapping_driver")?;
    let driver = driver.to_str().context("the path of this checkout is no text")?;
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
    // A newer loader reads the first, an older one the second.
    Ok(environment
        .with("VK_DRIVER_FILES", &file)
        .with("VK_ICD_FILENAMES", &file)
        .with("DML_DRIVER_LIBRARY", library)
        .with("DML_DRIVER_MODE", mode)
        .with("DML_PIPELINE_CACHE", "off"))
}
