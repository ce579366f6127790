//! The crates of the workspace by layer.

use std::collections::BTreeMap;

use toml::Table;

use crate::manifests;

/// The layers from the bottom up. A crate only depends on crates of lower layers.
const LAYERS: [&[&str]; 8] = [
    &["dml-core", "dml-file"],
    &["dml-reference", "dml-spirv", "dml-spirv-compiler"],
    &["dml-ops", "dml-vk"],
    &["dml", "dml-fault"],
    &["dml-capi", "dml-import"],
    &["dml-cli", "dml-conformance", "dml-ort"],
    &["dml-bench", "dml-stress"],
    &["xtask"],
];

/// Tests that use a tool which is made from the crate that they test.
const TESTS_WITH: [(&str, &str); 2] =
    [("dml-spirv", "dml-spirv-compiler"), ("dml-vk", "dml-fault")];

/// Dependencies of tests alone: xtask generates code of dml-core, and must build when that does not; the
/// meaning of an operator is no part of its lowering.
const IN_TESTS_ALONE: [(&str, &str); 2] = [("xtask", "dml-core"), ("dml-ops", "dml-reference")];

/// The dependencies in these manifests that violate the layers.
pub(crate) fn upward(manifests: &[String]) -> Vec<String> {
    let layers: BTreeMap<&str, usize> = LAYERS
        .iter()
        .zip(0..)
        .flat_map(|(names, at)| names.iter().map(move |it| (*it, at)))
        .collect();
    let mut wrong = Vec::new();
    for text in manifests {
        let manifest: Table = text.parse().expect("cargo has read it");
        let name = manifest["package"]["name"].as_str().expect("a name");
        let Some(layer) = layers.get(name) else {
            wrong.push(format!("{name} has no layer"));
            continue;
        };
        for (section, dependency) in manifests::dependencies(&manifest) {
            // A crate's tests may enable features of the crate itself.
            let is_for_tests = dependency == name || TESTS_WITH.contains(&(name, dependency));
            let is_tool = section == "dev-dependencies" && is_for_tests;
            let is_below = layers.get(dependency).is_none_or(|it| it < layer);
            if section == "dependencies" && IN_TESTS_ALONE.contains(&(name, dependency)) {
                wrong.push(format!("{name} depends on {dependency} beside its tests"));
            }
            if !is_below && !is_tool {
                wrong.push(format!("{name} depends on {dependency}, which is not below it"));
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(name: &str, section: &str, dependency: &str) -> String {
        format!("[package]\nname = \"{name}\"\n[{section}]\n{dependency}.workspace = true\n")
    }

    #[test]
    fn what_is_above_or_beside_is_refused() {
        let refused =
            |name, dependency| upward(&[manifest(name, "dependencies", dependency)]).len();
        assert_eq!(refused("dml-core", "dml-vk"), 1);
        assert_eq!(refused("dml-ops", "dml-vk"), 1);
        assert_eq!(refused("dml-vk", "dml-fault"), 1);
        assert_eq!(refused("dml-new", "dml-core"), 1);
        assert_eq!(refused("dml", "dml-ops"), 0);
        assert_eq!(refused("dml-core", "half"), 0);
        assert!(upward(&[manifest("dml-vk", "dev-dependencies", "dml-fault")]).is_empty());
        assert_eq!(refused("dml-reference", "dml-spirv"), 1);
        assert_eq!(refused("dml-ops", "dml-reference"), 1);
        assert_eq!(refused("xtask", "dml-core"), 1);
        assert!(upward(&[manifest("xtask", "dev-dependencies", "dml-core")]).is_empty());
    }
}
