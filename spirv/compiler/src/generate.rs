//! Generates all files of `build-shaders` in memory, and writes them to the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};
use dml_spirv_compiler::manifest::{Manifest, Tree, hash};

use crate::compile::{Compiled, compile};
use crate::digest::{Digest, Products, digest};
use crate::intent::{Intent, Kind, VariantIntent};
use crate::reflect::{Reflection, reflect, reflect_skeleton};
use crate::table::{Variant, render_table};
use crate::validate::validate;

/// The macro of kernels that multiply floats whose products are exact.
const EXACT_PRODUCTS: &str = "HALVES";

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
    let (mut table, mut used) = (Vec::new(), BTreeSet::new());
    for (built, variant) in built.into_iter().zip(&variants) {
        generated.insert(tree.spirv(&variant.name), built.spirv);
        generated.extend(
            built.relocations.map(|relocation| (tree.relocations(&variant.name), relocation)),
        );
        used.extend(built.sources);
        table.push(built.variant);
    }
    generated.insert(tree.table(), render_table(&intent, &table).into_bytes());
    let manifest = manifest(tree, &generated)?;
    let unused =
        |name: &&String| name.strip_prefix("kernels/").is_some_and(|name| !used.contains(name));
    if let Some(name) = manifest.inputs.keys().find(unused) {
        return Err(anyhow!("{name}: no kernel uses it"));
    }
    generated.insert(tree.manifest(), manifest.render().into_bytes());
    Ok(generated)
}

/// The manifest for the files in `generated`.
fn manifest(tree: &Tree, generated: &Generated) -> Result<Manifest> {
    let output = |(path, bytes): (&PathBuf, &Vec<u8>)| (tree.name_of(path), hash(bytes));
    Ok(Manifest { outputs: generated.iter().map(output).collect(), ..Manifest::of(tree)? })
}

struct Built {
    spirv: Vec<u8>,
    /// The relocations of a skeleton or a library.
    relocations: Option<Vec<u8>>,
    /// The files in `kernels/` that it was compiled from.
    sources: BTreeSet<String>,
    variant: Variant,
}

fn build(tree: &Tree, intent: &VariantIntent<'_>) -> Result<Built> {
    let Compiled { spirv, named, sources } = compile(tree, intent)?;
    validate(&spirv)?;
    let constants = &intent.entry.specialization;
    let reflection = match intent.entry.kind {
        Kind::Kernel => reflect(&spirv, &named, constants)?,
        Kind::Skeleton => reflect_skeleton(&spirv, constants)?,
        Kind::Library => Reflection::default(),
    };
    let variant = Variant {
        name: intent.name.clone(),
        kernel: intent.kernel.to_owned(),
        element_width: intent.element_width.to_owned(),
        reflection,
    };
    if intent.entry.kind == Kind::Kernel {
        return Ok(Built { spirv, relocations: None, sources, variant });
    }
    let has_exact_products = intent.entry.defines.contains_key(EXACT_PRODUCTS);
    let products = if has_exact_products { Products::Exact } else { Products::Rounded };
    let Digest { spirv, relocations } = digest(&spirv, products)?;
    validate(&spirv)?;
    Ok(Built { spirv, relocations: Some(relocations), sources, variant })
}

/// Writes the files that differ from the disk and removes compiled kernels that are no longer generated.
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
        let results =
            workers.into_iter().map(|worker| worker.join().expect("its panic is printed"));
        results.flatten().partition(Result::is_ok)
    });
    if failed.is_empty() {
        return done.into_iter().collect();
    }
    let messages: Vec<String> =
        failed.into_iter().filter_map(Result::err).map(|error| format!("{error:#}")).collect();
    Err(anyhow!("{}", messages.join("\n")))
}
