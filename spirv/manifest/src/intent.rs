//! `kernels.toml`: what there is to compile.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

use crate::{Error, lf, read_text, sha256};

/// The names of the element widths and their bits, in the order of the generated table.
pub const ELEMENT_WIDTHS: [(&str, u32); 4] = [("b8", 8), ("b16", 16), ("b32", 32), ("b64", 64)];

/// The contents of `kernels.toml`.
#[derive(Clone, Debug)]
pub struct Intent {
    /// The kernels by name.
    pub kernels: BTreeMap<String, KernelIntent>,
    /// SHA-256 of the file.
    pub sha256: String,
}

/// One kernel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelIntent {
    /// One line of documentation.
    pub summary: String,
    /// The GLSL file, relative to `kernels/`.
    pub source: String,
    /// The element widths that the kernel is compiled for.
    pub element_widths: Vec<String>,
    /// Macros of every variant.
    #[serde(default)]
    pub defines: BTreeMap<String, String>,
    /// Name and `constant_id` of every specialization constant.
    #[serde(default)]
    pub specialization: BTreeMap<String, u32>,
}

/// One kernel for one element width.
#[derive(Clone, Debug)]
pub struct VariantIntent<'a> {
    /// Kernel and element width, such as `copy_b32`.
    pub name: String,
    /// The kernel's name.
    pub kernel: &'a str,
    /// The kernel's entry.
    pub entry: &'a KernelIntent,
    /// The element width's name.
    pub element_width: &'static str,
    /// All macros, the element width's included.
    pub defines: BTreeMap<String, String>,
}

impl Intent {
    /// Reads and checks `kernels.toml`.
    ///
    /// # Errors
    /// Where the file is missing, is not the expected TOML, or says something impossible.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = lf(&read_text(path)?);
        let kernels: BTreeMap<String, KernelIntent> = toml::from_str(&text)
            .map_err(|error| Error::Malformed { path: path.to_owned(), error })?;
        for (name, kernel) in &kernels {
            kernel
                .validate(name)
                .map_err(|problem| Error::InvalidKernel { kernel: name.clone(), problem })?;
        }
        Ok(Self { kernels, sha256: sha256(text.as_bytes()) })
    }

    /// Every variant, by kernel and then by width.
    pub fn variants(&self) -> impl Iterator<Item = VariantIntent<'_>> {
        self.kernels.iter().flat_map(|(kernel, entry)| entry.variants(kernel))
    }
}

impl KernelIntent {
    fn variants<'a>(&'a self, kernel: &'a str) -> impl Iterator<Item = VariantIntent<'a>> {
        ELEMENT_WIDTHS
            .into_iter()
            .filter(|(element_width, _)| {
                self.element_widths.iter().any(|named| named == element_width)
            })
            .map(move |(element_width, bits)| {
                let mut defines = self.defines.clone();
                defines.insert("ELEMENT_BITS".to_owned(), bits.to_string());
                VariantIntent {
                    name: format!("{kernel}_{element_width}"),
                    kernel,
                    entry: self,
                    element_width,
                    defines,
                }
            })
    }

    /// Whether the kernel exists for every element width.
    pub fn has_every_width(&self) -> bool {
        self.element_widths.len() == ELEMENT_WIDTHS.len()
    }

    /// The entry in a form that neither spelling nor order in the file affects.
    pub fn canonical(&self) -> String {
        let element_widths: BTreeSet<&str> =
            self.element_widths.iter().map(String::as_str).collect();
        format!(
            "summary={:?}\nsource={:?}\nelement_widths={element_widths:?}\ndefines={:?}\nspecialization={:?}\n",
            self.summary, self.source, self.defines, self.specialization
        )
    }

    fn validate(&self, name: &str) -> Result<(), String> {
        if !is_snake_case(name) {
            return Err("a kernel's name has lower-case letters, digits and '_'".to_owned());
        }
        if self.summary.is_empty() || self.summary.contains('\n') {
            return Err("summary must be one line".to_owned());
        }
        if self.element_widths.is_empty() {
            return Err("element_widths is empty".to_owned());
        }
        let mut seen = BTreeSet::new();
        for element_width in &self.element_widths {
            if !ELEMENT_WIDTHS.iter().any(|(known, _)| known == element_width) {
                return Err(format!("unknown width {element_width:?} (known: b8, b16, b32, b64)"));
            }
            if !seen.insert(element_width) {
                return Err(format!("width {element_width:?} is named twice"));
            }
        }
        if self.defines.contains_key("ELEMENT_BITS") {
            return Err("ELEMENT_BITS is defined by the width".to_owned());
        }
        let ids: BTreeSet<u32> = self.specialization.values().copied().collect();
        if ids.len() != self.specialization.len() {
            return Err("two specialization constants have the same constant_id".to_owned());
        }
        Ok(())
    }
}

fn is_snake_case(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str = "[copy]\nsummary = \"Copies.\"\nsource = \"copy.comp\"\n";

    fn read(text: &str) -> Result<Intent, Error> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kernels.toml");
        std::fs::write(&path, text).unwrap();
        Intent::read(&path)
    }

    #[test]
    fn variants_follow_the_width_whatever_the_order_in_the_file() {
        let intent = read(&format!("{KERNEL}element_widths = [\"b32\", \"b8\"]\n")).unwrap();
        let names: Vec<String> = intent.variants().map(|variant| variant.name).collect();
        assert_eq!(names, ["copy_b8", "copy_b32"]);
        let defines = intent.variants().next().unwrap().defines;
        assert_eq!(defines.get("ELEMENT_BITS").map(String::as_str), Some("8"));
    }

    #[test]
    fn mistakes_are_refused_with_their_place() {
        let cases = [
            ("element_widths = [\"b8\"]\ncolour = 1\n", "line 5"),
            ("element_widths = [\"b8\"]\nelement_widths = [\"b8\"]\n", "line 5"),
            ("element_widths = [\"b8\"]\n[copy]\n", "line 5"),
            ("element_widths = [\"b8\", \"b12\"]\n", "unknown width \"b12\""),
            ("element_widths = [\"b8\", \"b8\"]\n", "named twice"),
            ("element_widths = []\n", "element_widths is empty"),
            ("element_widths = [\"b8\"]\ndefines = { ELEMENT_BITS = \"9\" }\n", "by the width"),
            ("element_widths = [\"b8\"]\nspecialization = { A = 0, B = 0 }\n", "same constant_id"),
        ];
        for (rest, expected) in cases {
            let message = read(&format!("{KERNEL}{rest}")).unwrap_err().to_string();
            assert!(message.contains(expected), "{rest}: {message}");
        }
    }
}
