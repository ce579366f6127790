//! `kernels.toml`: what there is to compile.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

use crate::{Error, lf, read_text, sha256};

/// The names of the families and their bits, in the order of the generated table.
pub const FAMILIES: [(&str, u32); 4] = [("b8", 8), ("b16", 16), ("b32", 32), ("b64", 64)];

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
    /// The families that the kernel is compiled for.
    pub families: Vec<String>,
    /// Macros of every variant.
    #[serde(default)]
    pub defines: BTreeMap<String, String>,
    /// Name and `constant_id` of every specialization constant.
    #[serde(default)]
    pub specialization: BTreeMap<String, u32>,
}

/// One kernel for one family.
#[derive(Clone, Debug)]
pub struct VariantIntent<'a> {
    /// Kernel and family, such as `copy_b32`.
    pub name: String,
    /// The kernel's name.
    pub kernel: &'a str,
    /// The kernel's entry.
    pub entry: &'a KernelIntent,
    /// The family's name.
    pub family: &'static str,
    /// All macros, the family's included.
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
        FAMILIES
            .into_iter()
            .filter(|(family, _)| self.families.iter().any(|named| named == family))
            .map(move |(family, bits)| {
                let mut defines = self.defines.clone();
                defines.insert("FAMILY_BITS".to_owned(), bits.to_string());
                VariantIntent {
                    name: format!("{kernel}_{family}"),
                    kernel,
                    entry: self,
                    family,
                    defines,
                }
            })
    }

    /// Whether the kernel exists for every family.
    pub fn has_every_family(&self) -> bool {
        self.families.len() == FAMILIES.len()
    }

    /// The entry in a form that neither spelling nor order in the file affects.
    pub fn canonical(&self) -> String {
        let families: BTreeSet<&str> = self.families.iter().map(String::as_str).collect();
        format!(
            "summary={:?}\nsource={:?}\nfamilies={families:?}\ndefines={:?}\nspecialization={:?}\n",
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
        if self.families.is_empty() {
            return Err("families is empty".to_owned());
        }
        let mut seen = BTreeSet::new();
        for family in &self.families {
            if !FAMILIES.iter().any(|(known, _)| known == family) {
                return Err(format!("unknown family {family:?} (known: b8, b16, b32, b64)"));
            }
            if !seen.insert(family) {
                return Err(format!("family {family:?} is named twice"));
            }
        }
        if self.defines.contains_key("FAMILY_BITS") {
            return Err("FAMILY_BITS is defined by the family".to_owned());
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
        let intent = read(&format!("{KERNEL}families = [\"b32\", \"b8\"]\n")).unwrap();
        let names: Vec<String> = intent.variants().map(|variant| variant.name).collect();
        assert_eq!(names, ["copy_b8", "copy_b32"]);
        let defines = intent.variants().next().unwrap().defines;
        assert_eq!(defines.get("FAMILY_BITS").map(String::as_str), Some("8"));
    }

    #[test]
    fn mistakes_are_refused_with_their_place() {
        let cases = [
            ("families = [\"b8\"]\ncolour = 1\n", "line 5"),
            ("families = [\"b8\"]\nfamilies = [\"b8\"]\n", "line 5"),
            ("families = [\"b8\"]\n[copy]\n", "line 5"),
            ("families = [\"b8\", \"b12\"]\n", "unknown family \"b12\""),
            ("families = [\"b8\", \"b8\"]\n", "named twice"),
            ("families = []\n", "families is empty"),
            ("families = [\"b8\"]\ndefines = { FAMILY_BITS = \"9\" }\n", "by the family"),
            ("families = [\"b8\"]\nspecialization = { A = 0, B = 0 }\n", "same constant_id"),
        ];
        for (rest, expected) in cases {
            let message = read(&format!("{KERNEL}{rest}")).unwrap_err().to_string();
            assert!(message.contains(expected), "{rest}: {message}");
        }
    }
}
