//! Whether everything that is checked in belongs together, judged by hashes.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use crate::{
    Error, Intent, Manifest, SCHEMA, Tree, VariantEvidence, VariantIntent, includes_of,
    input_lines, lf, read_text, render_table, sha256,
};

/// One thing that does not belong together with the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// A variant or a file.
    pub subject: String,
    /// What is wrong with it.
    pub problem: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.subject, self.problem)
    }
}

fn finding(subject: &str, problem: impl Into<String>) -> Finding {
    Finding { subject: subject.to_owned(), problem: problem.into() }
}

/// Compares sources, `kernels.toml`, `manifest.toml`, the SPIR-V and the table of kernels.
/// Everything is in order where nothing is found.
///
/// # Errors
/// Where a file cannot be read or understood, so that nothing can be compared.
pub fn check(tree: &Tree) -> Result<Vec<Finding>, Error> {
    let intent = Intent::read(&tree.intent())?;
    let (manifest, text) = Manifest::read(&tree.manifest())?;
    let mut findings = Vec::new();
    for variant in intent.variants() {
        findings.extend(check_inputs(tree, &manifest, &variant)?);
    }
    for variant in &manifest.variants {
        findings.extend(check_spirv(tree, variant));
    }
    findings.extend(check_manifest(tree, &intent, &manifest, &text)?);
    findings.extend(check_folders(tree, &intent, &manifest)?);
    if lf(&read_text(&tree.table())?) != render_table(&intent, &manifest) {
        let problem = "is not what kernels.toml and manifest.toml generate";
        findings.push(finding("src/kernels.rs", problem));
    }
    Ok(findings)
}

fn check_inputs(
    tree: &Tree,
    manifest: &Manifest,
    variant: &VariantIntent<'_>,
) -> Result<Vec<Finding>, Error> {
    let Some(evidence) = manifest.variant(&variant.name) else {
        return Ok(vec![finding(&variant.name, "is in kernels.toml but was never compiled")]);
    };
    let now = input_lines(&tree.kernels(), variant)?;
    if VariantEvidence::record_of(&now) == evidence.record {
        return Ok(Vec::new());
    }
    let recorded: BTreeSet<&str> = evidence.inputs.iter().map(String::as_str).collect();
    let current: BTreeSet<&str> = now.iter().map(String::as_str).collect();
    let moved: BTreeSet<String> =
        current.symmetric_difference(&recorded).map(|line| input_name(line)).collect();
    if moved.is_empty() {
        let problem = "manifest.toml: the record is not the hash of its inputs";
        return Ok(vec![finding(&variant.name, problem)]);
    }
    let moved: Vec<Finding> = moved
        .into_iter()
        .map(|input| {
            finding(&variant.name, format!("its input moved since it was compiled: {input}"))
        })
        .collect();
    Ok(moved)
}

/// An input without its value: what a person calls it.
fn input_name(line: &str) -> String {
    let mut words = line.split(' ');
    let kind = words.next().unwrap_or_default();
    let name = words.next().unwrap_or_default();
    match kind {
        "source" | "include" => format!("kernels/{name}"),
        "define" => format!("define {}", name.split('=').next().unwrap_or_default()),
        "entry" => format!("[{name}] in kernels.toml"),
        _ => kind.to_owned(),
    }
}

fn check_spirv(tree: &Tree, variant: &VariantEvidence) -> Option<Finding> {
    let subject = format!("compiled/{}.spv", variant.name);
    let Ok(bytes) = std::fs::read(tree.spirv(&variant.name)) else {
        return Some(finding(&subject, "is missing or cannot be read"));
    };
    let same = bytes.len() as u64 == variant.bytes && sha256(&bytes) == variant.spirv;
    (!same).then(|| finding(&subject, "is not the SPIR-V that manifest.toml records"))
}

fn check_manifest(
    tree: &Tree,
    intent: &Intent,
    manifest: &Manifest,
    text: &str,
) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    if manifest.render() != text {
        findings.push(finding("manifest.toml", "was edited: its digest is not that of its text"));
    }
    if manifest.schema != SCHEMA {
        let problem = format!("has schema {}, this tool writes {SCHEMA}", manifest.schema);
        findings.push(finding("manifest.toml", problem));
    }
    if manifest.intent != intent.sha256 {
        findings.push(finding("kernels.toml", "moved since the kernels were compiled"));
    }
    let compiler = tree.compiler()?;
    if manifest.compiler != compiler {
        let problem =
            format!("was written with {}, but Cargo.lock selects {compiler}", manifest.compiler);
        findings.push(finding("manifest.toml", problem));
    }
    let wanted: BTreeSet<String> = intent.variants().map(|variant| variant.name).collect();
    for variant in &manifest.variants {
        if !wanted.contains(&variant.name) {
            let problem = "is in manifest.toml but no longer in kernels.toml";
            findings.push(finding(&variant.name, problem));
        }
    }
    Ok(findings)
}

/// Files that nothing refers to.
fn check_folders(tree: &Tree, intent: &Intent, manifest: &Manifest) -> Result<Vec<Finding>, Error> {
    let mut used = BTreeSet::new();
    for kernel in intent.kernels.values() {
        used.insert(kernel.source.clone());
        used.extend(includes_of(&tree.kernels(), &kernel.source)?.into_keys());
    }
    let compiled: BTreeSet<String> =
        manifest.variants.iter().map(|variant| format!("{}.spv", variant.name)).collect();

    let mut findings = Vec::new();
    for name in files_below(&tree.kernels())? {
        if !used.contains(&name) {
            findings.push(finding(&format!("kernels/{name}"), "no kernel uses it"));
        }
    }
    for name in files_below(&tree.compiled())? {
        if !compiled.contains(&name) {
            findings.push(finding(&format!("compiled/{name}"), "belongs to no variant"));
        }
    }
    Ok(findings)
}

/// The files below `folder`, relative to it and with `/` between their parts.
fn files_below(folder: &Path) -> Result<BTreeSet<String>, Error> {
    let unreadable = |path: &Path, error| Error::Unreadable { path: path.to_owned(), error };
    let mut found = BTreeSet::new();
    let mut pending = vec![(folder.to_owned(), String::new())];
    while let Some((folder, prefix)) = pending.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|error| unreadable(&folder, error))?;
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(&folder, error))?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                pending.push((entry.path(), format!("{name}/")));
            } else {
                found.insert(name);
            }
        }
    }
    Ok(found)
}
