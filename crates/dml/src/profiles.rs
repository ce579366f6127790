//! Device profiles: the capabilities of real devices, and a few extremes, as [`CapabilityCap`]s.
//!
//! A profile is a TOML file; `docs/profiles.md` states its keys. The profiles in the folders `devices` and
//! `extremes` are part of this crate and found by name; any other is found by its path.
//!
//! ```
//! let profile = dml::profiles::find("storage-range-16-kib")?;
//! let limit = dml::profiles::Limit::MaxStorageBufferRange;
//! assert_eq!(profile.cap.limit(limit), Some(16_384));
//! # Ok::<(), dml::profiles::Error>(())
//! ```

mod error;
mod files;
mod parse;

use std::path::Path;

pub use dml_core::capabilities::{ApiVersion, CapabilityCap, Limit};
pub use error::{Error, InvalidKey, Result};

/// The environment variable that names a profile for every device that a program creates.
pub const VARIABLE: &str = "DML_PROFILE";

/// A device profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The file's name without the extension.
    pub name: String,
    /// The device that the profile describes.
    pub origin: Origin,
    /// The cap that the profile puts on a device.
    pub cap: CapabilityCap,
}

/// The device that a profile describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A real device.
    Device {
        /// The device's name.
        device: String,
        /// The version of the driver, and the operating system.
        driver: String,
        /// The source of the data.
        source: String,
    },
    /// A synthetic profile, and its purpose.
    MadeUp(String),
}

impl Profile {
    /// Reads a profile from the text of `file`; its name is the file's name without the extension.
    ///
    /// # Errors
    /// [`Error::Syntax`] if the text is not TOML or has a key twice; [`Error::Key`] if a key is unknown or
    /// missing, or has a value that is not accepted.
    pub fn parse(file: &str, text: &str) -> Result<Self> {
        parse::profile(file, text)
    }

    /// Reads the profile in the file at `path`.
    ///
    /// # Errors
    /// [`Error::Read`], and as [`Profile::parse`].
    pub fn read(path: &Path) -> Result<Self> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::Read { file: file.clone(), problem: error.to_string() })?;
        Self::parse(&file, &text)
    }

    /// A line about the profile's device or purpose.
    pub fn about(&self) -> String {
        match &self.origin {
            Origin::Device { device, driver, .. } => format!("{device}, driver {driver}"),
            Origin::MadeUp(about) => about.clone(),
        }
    }

    /// Whether the profile describes a real device.
    pub fn is_device(&self) -> bool {
        matches!(self.origin, Origin::Device { .. })
    }
}

/// The names of the profiles that are part of this crate: the extremes, then the devices.
pub fn names() -> impl Iterator<Item = &'static str> {
    built_in().map(|(name, _)| name)
}

/// Every profile that is part of this crate, in the order of [`names`].
///
/// # Errors
/// None: a test reads them all.
pub fn all() -> Result<Vec<Profile>> {
    built_in().map(|(name, text)| parse_built_in(name, text)).collect()
}

/// The profile with this name, or with the only name that contains this text (ignoring case, with spaces for
/// hyphens), or in the file with this path (a text with a folder or the extension `.toml`).
///
/// # Errors
/// [`Error::Unknown`] if no name matches, [`Error::Ambiguous`] if several do; as [`Profile::read`] for
/// a path.
pub fn find(text: &str) -> Result<Profile> {
    let path = Path::new(text);
    if path.extension().is_some_and(|extension| extension == "toml")
        || path.components().count() > 1
    {
        return Profile::read(path);
    }
    if let Some((name, text)) = built_in().find(|(name, _)| *name == text) {
        return parse_built_in(name, text);
    }
    let part = text.to_lowercase().replace([' ', '_', '.'], "-");
    let matching: Vec<_> = built_in().filter(|(name, _)| name.contains(&part)).collect();
    match matching.as_slice() {
        [(name, text)] => parse_built_in(name, text),
        [] => Err(Error::unknown(text)),
        several => Err(Error::ambiguous(text, several.iter().map(|(name, _)| *name).collect())),
    }
}

/// The profile that the environment variable [`VARIABLE`] names; `None` if it is unset or empty.
///
/// # Errors
/// As [`find`].
pub fn from_environment() -> Result<Option<Profile>> {
    match std::env::var_os(VARIABLE) {
        Some(value) if !value.is_empty() => find(&value.to_string_lossy()).map(Some),
        _ => Ok(None),
    }
}

fn built_in() -> impl Iterator<Item = (&'static str, &'static str)> {
    files::extremes().chain(files::devices())
}

fn parse_built_in(name: &str, text: &str) -> Result<Profile> {
    Profile::parse(&format!("{name}.toml"), text)
}
