//! `cargo xtask generate-header`: writes the C header from the functions of this crate.
#![allow(clippy::print_stderr, reason = "a command line program prints")]

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use dml::core::capabilities::Feature;

/// The path of the header in the folder of this crate.
const HEADER: &str = "include/dmlvk/dmlvk.h";

fn main() -> Result<()> {
    let path = sources().join(HEADER);
    std::fs::write(&path, generate()?).with_context(|| format!("writing {HEADER}"))?;
    eprintln!("generate-header: wrote crates/dml-capi/{HEADER}");
    Ok(())
}

/// The folder of this crate.
fn sources() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The text of the header.
///
/// # Errors
///
/// The sources cannot be read or parsed, or cbindgen.toml is invalid.
fn generate() -> Result<String> {
    let sources = sources();
    let mut config = cbindgen::Config::from_file(sources.join("cbindgen.toml"))
        .map_err(|problem| anyhow!("cbindgen.toml: {problem}"))?;
    let includes = config.after_includes.unwrap_or_default();
    config.after_includes = Some(includes + &features());
    let bindings = cbindgen::Builder::new()
        .with_crate(sources)
        .with_config(config)
        .generate()
        .context("reading the sources of dml-capi")?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    Ok(tidy(&String::from_utf8(text)?))
}

/// The numbers of the optional features, one for each row of their table.
fn features() -> String {
    let number = |feature: Feature| {
        let (about, name) = (feature.name(), constant(&format!("{feature:?}")));
        format!("#define DMLVK_FEATURE_{name} {:#x}ull /* {about} */\n", 1u64 << feature as u32)
    };
    let mut features = Feature::ALL;
    features.sort_unstable_by_key(|feature| *feature as u32);
    "\n/* Optional features of Vulkan. */\n".to_owned() + &features.map(number).concat()
}

/// `StorageBuffer8BitAccess` as `STORAGE_BUFFER_8BIT_ACCESS`: words begin with a capital, and with a
/// number that more follows.
fn constant(variant: &str) -> String {
    let letters: Vec<char> = variant.chars().collect();
    let mut text = String::new();
    for (index, letter) in letters.iter().enumerate() {
        let is_digit = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
        let after_digit = index > 0 && is_digit(index - 1);
        let number_ends = (index..letters.len()).find(|at| !is_digit(*at));
        let begins = match letter {
            '0'..='9' => !after_digit && number_ends.is_some(),
            letter => index > 0 && letter.is_ascii_uppercase() && !after_digit,
        };
        if begins {
            text.push('_');
        }
        text.push(letter.to_ascii_uppercase());
    }
    text
}

/// Removes Markdown's headings and references, which mean nothing in C.
fn tidy(text: &str) -> String {
    let line = |line: &str| {
        let line = line.trim_end().replace("# Safety", "Safety:").replace(['`', '[', ']'], "");
        // Brackets are part of arrays too, but no struct of the interface has one.
        line + "\n"
    };
    text.trim_start().lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checked_in_header_is_what_the_sources_say() {
        let found = std::fs::read_to_string(sources().join(HEADER)).expect("it is checked in");
        let expected = generate().expect("the sources can be read");
        let wrong = found.lines().zip(expected.lines()).position(|(one, other)| one != other);
        assert!(
            found == expected,
            "it differs from line {}; run `cargo xtask generate-header`, and raise DMLVK_ABI_VERSION where \
             compiled programs expect something else",
            wrong.map_or_else(|| found.lines().count().min(expected.lines().count()), |it| it + 1)
        );
    }

    #[test]
    fn features_have_the_names_of_their_variants() {
        assert_eq!(constant("ShaderInt8"), "SHADER_INT8");
        assert_eq!(constant("StorageBuffer16BitAccess"), "STORAGE_BUFFER_16BIT_ACCESS");
        let text = features();
        assert_eq!(text.matches("#define").count(), Feature::ALL.len());
        assert!(
            text.contains(
                "#define DMLVK_FEATURE_TIMELINE_SEMAPHORE 0x100ull /* timelineSemaphore */\n"
            ),
            "{text}"
        );
    }
}
