//! The checked-in C header of `dml-capi`, from that crate's functions.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use dml_core::capabilities::Feature;

/// The crate whose functions are declared, from the workspace's root.
const CRATE: &str = "crates/dml-capi";

/// Where the header is, in the workspace at `root`.
pub fn path(root: &Path) -> PathBuf {
    root.join(CRATE).join("include/dmlvk/dmlvk.h")
}

/// What the header of the workspace at `root` should be.
///
/// # Errors
///
/// The sources cannot be read or parsed, or cbindgen.toml is wrong.
pub fn generate(root: &Path) -> Result<String> {
    let sources = root.join(CRATE);
    let mut config = cbindgen::Config::from_file(sources.join("cbindgen.toml"))
        .map_err(|problem| anyhow!("cbindgen.toml: {problem}"))?;
    let includes = config.after_includes.unwrap_or_default();
    config.after_includes = Some(includes + &features());
    let bindings = cbindgen::Builder::new()
        .with_crate(&sources)
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

/// C has no use for Markdown's headings and references.
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
