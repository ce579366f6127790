//! The folders of profiles are part of the crate: a file more or less is another crate.

fn main() {
    for folder in ["extremes", "devices"] {
        println!("cargo::rerun-if-changed={folder}");
    }
}
