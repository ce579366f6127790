//! Everything that `build-shaders` generates, in memory, and how it gets to the disk.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, ensure};
use dml_spirv_manifest::{
    ENTRY_POINT, Intent, Manifest, SCHEMA, Specialization, Tree, VariantEvidence, VariantIntent,
    input_lines, render_table, sha256,
};

use crate::compile::compile;
use crate::reflect::{Reflection, reflect};
use crate::validate::validate;

/// The generated files and their contents.
pub(crate) type Generated = BTreeMap<PathBuf, Vec<u8>>;

/// Compiles, validates and reflects every variant. Nothing is written.
pub(crate) fn generate(tree: &Tree) -> Result<Generated> {
    let intent = Intent::read(&tree.intent())?;
    let variants: Vec<VariantIntent<'_>> = intent.variants().collect();
    let built = in_parallel(&variants, |variant| {
        build(tree, variant).with_context(|| variant.name.clone())
    })?;

    let mut generated = Generated::new();
    let mut evidence = Vec::with_capacity(built.len());
    for (spirv, variant) in built {
        generated.insert(tree.spirv(&variant.name), spirv);
        evidence.push(variant);
    }
    let manifest = Manifest {
        digest: String::new(),
        schema: SCHEMA,
        compiler: tree.compiler()?,
        compiler_spirv: compiler_spirv(),
        intent: intent.sha256.clone(),
        variants: evidence,
    };
    generated.insert(tree.table(), render_table(&intent, &manifest).into_bytes());
    generated.insert(tree.manifest(), manifest.render().into_bytes());
    Ok(generated)
}

/// Writes what differs from the disk and removes compiled kernels that are no longer generated.
/// Returns the files that it changed.
pub(crate) fn write(tree: &Tree, generated: &Generated) -> Result<Vec<PathBuf>> {
    std::fs::create_dir_all(tree.compiled())
        .with_context(|| format!("could not create {}", tree.compiled().display()))?;
    let differing = differences(tree, generated)?;
    for path in &differing {
        match generated.get(path) {
            Some(contents) => std::fs::write(path, contents),
            None => std::fs::remove_file(path),
        }
        .with_context(|| format!("could not replace {}", path.display()))?;
    }
    Ok(differing)
}

/// The files that [`write()`] would change.
pub(crate) fn differences(tree: &Tree, generated: &Generated) -> Result<Vec<PathBuf>> {
    let mut differing = orphans(tree, generated)?;
    let stale = generated
        .iter()
        .filter(|(path, contents)| !std::fs::read(path).is_ok_and(|current| current == **contents));
    differing.extend(stale.map(|(path, _)| path.clone()));
    Ok(differing)
}

fn orphans(tree: &Tree, generated: &Generated) -> Result<Vec<PathBuf>> {
    let folder = tree.compiled();
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let list = || -> std::io::Result<Vec<PathBuf>> {
        std::fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect()
    };
    let mut found = list().with_context(|| format!("could not list {}", folder.display()))?;
    found.retain(|path| !generated.contains_key(path));
    found.sort();
    Ok(found)
}

fn build(tree: &Tree, variant: &VariantIntent<'_>) -> Result<(Vec<u8>, VariantEvidence)> {
    let spirv = compile(tree, variant)?;
    validate(&spirv)?;
    let reflection = reflect(&spirv)?;
    let inputs = input_lines(&tree.kernels(), variant)?;
    let evidence = VariantEvidence {
        name: variant.name.clone(),
        kernel: variant.kernel.to_owned(),
        element_width: variant.element_width.to_owned(),
        record: VariantEvidence::record_of(&inputs),
        inputs,
        spirv: sha256(&spirv),
        bytes: spirv.len() as u64,
        entry_point: ENTRY_POINT.to_owned(),
        local_size: reflection.local_size,
        specialization: specialization(variant, &reflection)?,
        bindings: reflection.bindings,
        push_constant_bytes: reflection.push_constant_bytes,
        capabilities: reflection.capabilities,
        required_features: reflection.required_features,
    };
    Ok((spirv, evidence))
}

/// The reflected constants with the names that `kernels.toml` gives them; the ids must be the same.
fn specialization(
    variant: &VariantIntent<'_>,
    reflection: &Reflection,
) -> Result<Vec<Specialization>> {
    let names: BTreeMap<u32, &String> =
        variant.entry.specialization.iter().map(|(name, id)| (*id, name)).collect();
    ensure!(
        names.keys().eq(reflection.specialization.keys()),
        "kernels.toml names the specialization constants {:?}, the SPIR-V has {:?}",
        names.keys(),
        reflection.specialization.keys()
    );
    let constants = names.iter().zip(reflection.specialization.values());
    Ok(constants
        .map(|((id, name), default)| Specialization {
            id: *id,
            name: (*name).clone(),
            default: *default,
        })
        .collect())
}

fn compiler_spirv() -> String {
    let (version, revision) = shaderc::get_spirv_version();
    let [_, major, minor, _] = version.to_be_bytes();
    format!("{major}.{minor} revision {revision}")
}

/// `work` on every item, on all cores, with the results in the items' order. Every failure is
/// reported, not only the first.
fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let share = items.len().div_ceil(threads).max(1);
    let work = &work;
    let (done, failed): (Vec<_>, Vec<_>) = std::thread::scope(|scope| {
        let shares = items.chunks(share);
        let workers: Vec<_> = shares
            .map(|items| scope.spawn(move || Vec::from_iter(items.iter().map(work))))
            .collect();
        let results = workers.into_iter().map(|it| it.join().expect("its panic is printed"));
        results.flatten().partition(Result::is_ok)
    });
    if failed.is_empty() {
        return done.into_iter().collect();
    }
    let messages: Vec<String> =
        failed.into_iter().filter_map(Result::err).map(|error| format!("{error:#}")).collect();
    Err(anyhow!("{}", messages.join("\n")))
}
