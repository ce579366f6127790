//! Device profiles: what real devices have, and a few extremes, as [`CapabilityCap`]s.
//!
//! A profile is a TOML file, `docs/profiles.md` states its keys. Those in the folders `devices` and
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
    /// Its file's name without the ending.
    pub name: String,
    /// What it stands for.
    pub origin: Origin,
    /// What a device under it is treated as.
    pub cap: CapabilityCap,
}

/// What a profile stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A real device.
    Device {
        /// Its name.
        device: String,
        /// The version of its driver, and the system that it ran on.
        driver: String,
        /// Where the facts are from.
        source: String,
    },
    /// A device that somebody thought of, and what for.
    MadeUp(String),
}

impl Profile {
    /// Reads a profile from the text of `file`; its name is that of the file without the ending.
    ///
    /// # Errors
    /// [`Error::Syntax`] where the text is no TOML or a key stands twice; [`Error::Key`] where a key
    /// is unknown, missing, or has a value that is not accepted.
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

    /// What it stands for, in a line.
    pub fn about(&self) -> String {
        match &self.origin {
            Origin::Device { device, driver, .. } => format!("{device}, driver {driver}"),
            Origin::MadeUp(about) => about.clone(),
        }
    }

    /// Whether it is of a real device.
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

/// The profile with this name, or with the one name that contains this text (capital letters do not matter,
/// and spaces stand for hyphens), or in the file with this path (something with a folder or the ending `.toml`).
///
/// # Errors
/// [`Error::Unknown`] where no name fits, [`Error::Ambiguous`] where several do; as [`Profile::read`]
/// for a path.
pub fn find(text: &str) -> Result<Profile> {
    let path = Path::new(text);
    if path.extension().is_some_and(|it| it == "toml") || path.components().count() > 1 {
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

/// The profile that the environment variable [`VARIABLE`] names; `None` where it is unset or empty.
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
