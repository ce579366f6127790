//! `kernels.toml`: the kernels, skeletons and libraries to compile.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use dml_spirv_compiler::manifest::read_text;
use serde::Deserialize;

/// The names of the element widths and their bits, in the order of the generated table.
pub(crate) const ELEMENT_WIDTHS: [(&str, u32); 5] =
    [("b4", 4), ("b8", 8), ("b16", 16), ("b32", 32), ("b64", 64)];

/// The element widths that kernels write: a kernel with all of them has one entry in the generated table.
pub(crate) fn written_widths() -> impl Iterator<Item = &'static str> {
    ELEMENT_WIDTHS.iter().filter(|(_, bits)| *bits >= 8).map(|(name, _)| *name)
}

/// The contents of `kernels.toml`.
#[derive(Clone, Debug)]
pub(crate) struct Intent {
    /// The kernels by name.
    pub(crate) kernels: BTreeMap<String, KernelIntent>,
}

/// The kind of module that a source is compiled to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// A complete kernel.
    #[default]
    Kernel,
    /// A kernel that declares functions, which are linked to it later.
    Skeleton,
    /// Functions that are linked to skeletons.
    Library,
}

/// One kernel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KernelIntent {
    /// One line of documentation.
    pub(crate) summary: String,
    /// The GLSL file, relative to `kernels/`.
    pub(crate) source: String,
    /// The kind of module that the source is compiled to.
    #[serde(default)]
    pub(crate) kind: Kind,
    /// The element widths that it is compiled for. A skeleton or a library without element widths is compiled
    /// once, under its own name.
    #[serde(default)]
    pub(crate) element_widths: Vec<String>,
    /// Macros of every variant.
    #[serde(default)]
    pub(crate) defines: BTreeMap<String, String>,
    /// Name and `constant_id` of every specialization constant.
    #[serde(default)]
    pub(crate) specialization: BTreeMap<String, u32>,
}

/// One source for one element width.
#[derive(Clone, Debug)]
pub(crate) struct VariantIntent<'a> {
    /// Kernel and element width, such as `copy_b32`.
    pub(crate) name: String,
    /// The kernel's name.
    pub(crate) kernel: &'a str,
    /// The kernel's entry.
    pub(crate) entry: &'a KernelIntent,
    /// The element width's name; empty if the variant has none.
    pub(crate) element_width: &'static str,
    /// All macros, the element width's included.
    pub(crate) defines: BTreeMap<String, String>,
}

impl Intent {
    /// Reads and checks `kernels.toml`.
    ///
    /// # Errors
    /// The file is missing, is not the expected TOML, or has an entry that is not valid.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let kernels: BTreeMap<String, KernelIntent> =
            toml::from_str(&read_text(path)?).with_context(|| path.display().to_string())?;
        for (name, kernel) in &kernels {
            kernel.validate(name).map_err(|it| anyhow!("kernels.toml: [{name}]: {it}"))?;
        }
        Ok(Self { kernels })
    }

    /// Every variant, by kernel and then by width.
    pub(crate) fn variants(&self) -> impl Iterator<Item = VariantIntent<'_>> {
        self.kernels.iter().flat_map(|(kernel, entry)| entry.variants(kernel))
    }
}

impl KernelIntent {
    fn variants<'a>(&'a self, kernel: &'a str) -> Vec<VariantIntent<'a>> {
        let variant = |name, element_width, defines| VariantIntent {
            name,
            kernel,
            entry: self,
            element_width,
            defines,
        };
        if self.element_widths.is_empty() {
            return vec![variant(kernel.to_owned(), "", self.defines.clone())];
        }
        let is_named = |it: &(&str, u32)| self.element_widths.iter().any(|named| named == it.0);
        let for_width = |(element_width, bits): (&'static str, u32)| {
            let mut defines = self.defines.clone();
            defines.insert("ELEMENT_BITS".to_owned(), bits.to_string());
            variant(format!("{kernel}_{element_width}"), element_width, defines)
        };
        ELEMENT_WIDTHS.into_iter().filter(is_named).map(for_width).collect()
    }

    /// Whether the entry is a kernel with every element width.
    pub(crate) fn has_every_width(&self) -> bool {
        self.kind == Kind::Kernel
            && written_widths()
                .all(|name| self.element_widths.iter().any(|element_width| element_width == name))
    }

    fn validate(&self, name: &str) -> Result<(), String> {
        if !is_snake_case(name) {
            return Err("a kernel's name has lower-case letters, digits and '_'".to_owned());
        }
        if self.summary.is_empty() || self.summary.contains('\n') {
            return Err("summary must be one line".to_owned());
        }
        if self.element_widths.is_empty() && self.kind == Kind::Kernel {
            return Err("element_widths is empty".to_owned());
        }
        let mut seen = BTreeSet::new();
        for element_width in &self.element_widths {
            if !ELEMENT_WIDTHS.iter().any(|(known, _)| known == element_width) {
                return Err(format!(
                    "unknown width {element_width:?} (known: b4, b8, b16, b32, b64)"
                ));
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

    fn read(text: &str) -> Result<Intent> {
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
            let message = read(&format!("{KERNEL}{rest}")).unwrap_err();
            let message = format!("{message:#}");
            assert!(message.contains(expected), "{rest}: {message}");
        }
    }
}
