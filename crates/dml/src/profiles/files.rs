//! The profile files, as part of the program: it runs without its source tree.

use include_dir::{Dir, include_dir};

/// Profiles that each go to one extreme.
static EXTREMES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/profiles/extremes");

/// Profiles of real devices.
static DEVICES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/profiles/devices");

/// The names and the texts of the extremes, by ascending name.
pub(crate) fn extremes() -> impl Iterator<Item = (&'static str, &'static str)> {
    texts(&EXTREMES)
}

/// The same of the devices.
pub(crate) fn devices() -> impl Iterator<Item = (&'static str, &'static str)> {
    texts(&DEVICES)
}

fn texts(folder: &'static Dir<'_>) -> impl Iterator<Item = (&'static str, &'static str)> {
    folder.files().filter_map(|file| {
        let name = file.path().file_stem()?.to_str()?;
        Some((name, file.contents_utf8()?))
    })
}
