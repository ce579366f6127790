//! The folders of profiles are part of the crate, with its feature `profiles`: a file more or less is another crate.

fn main() {
    for folder in ["profiles/extremes", "profiles/devices"] {
        println!("cargo::rerun-if-changed={folder}");
    }
}
