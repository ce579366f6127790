//! The profile files, embedded in the program, so that it runs without its source tree.

use include_dir::{Dir, include_dir};

/// Synthetic profiles, each with one extreme value.
static EXTREMES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/profiles/extremes");

/// Profiles of real devices.
static DEVICES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/profiles/devices");

/// The names and the texts of the extremes, by ascending name.
pub(crate) fn extremes() -> impl Iterator<Item = (&'static str, &'static str)> {
    texts(&EXTREMES)
}

/// The names and the texts of the devices, by ascending name.
pub(crate) fn devices() -> impl Iterator<Item = (&'static str, &'static str)> {
    texts(&DEVICES)
}

fn texts(folder: &'static Dir<'_>) -> impl Iterator<Item = (&'static str, &'static str)> {
    folder.files().filter_map(|file| {
        let name = file.path().file_stem()?.to_str()?;
        Some((name, file.contents_utf8()?))
    })
}
